"""Exact confidence intervals of binomial proportions."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens._backend import Array


def clopper_pearson(hits: Any, trials: Any, confidence: Any) -> tuple[Array, Array]:
    """Return the exact two-sided confidence intervals of binomial proportions.

    The lower end is the proportion at which `hits` or more have probability
    ``(1 - confidence) / 2``, the upper end that at which `hits` or fewer have; 0 without hits, and
    1 without failures.

    Examples
    --------
    >>> low, high = clopper_pearson(8, 10, 0.95)
    >>> round(float(low), 3), round(float(high), 3)
    (0.444, 0.975)
    """
    from scipy.special import betaincinv

    hits, trials = np.asarray(hits, np.float64), np.asarray(trials, np.float64)
    tail = (1 - np.asarray(confidence, np.float64)) / 2
    misses = trials - hits
    low = betaincinv(np.maximum(hits, 1), misses + 1, tail)
    high = betaincinv(hits + 1, np.maximum(misses, 1), 1 - tail)
    return np.where(hits > 0, low, 0.0), np.where(misses > 0, high, 1.0)
