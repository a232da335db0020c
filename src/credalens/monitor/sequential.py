"""A sequential test of an error rate, which may be checked after every batch of labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._validation import fraction

#: Parameters of the beta distribution over the error rates that are tested against.
_A, _B = 0.5, 0.5


def log_evidence(trials: Any, errors: Any, rate: float) -> Array:
    """Return the logarithm of the evidence of counts against an error rate of at most `rate`.

    The evidence is the likelihood ratio of error rates above `rate`, averaged over a beta(1/2, 1/2)
    distribution restricted to them, against `rate`. It is the wealth of a bet on every instance
    that is fair or unfavourable while the error rate is at most `rate`.

    Parameters
    ----------
    trials, errors : array-like of int
    rate : float in (0, 1)

    Returns
    -------
    array of float

    Examples
    --------
    >>> log_evidence([100, 100], [2, 20], 0.05).round(1).tolist()
    [-3.8, 11.6]
    """
    from scipy.special import betaincc, betaln

    n, s = np.asarray(trials, np.float64), np.asarray(errors, np.float64)
    with np.errstate(divide="ignore"):  # no error in many trials: no evidence
        own = betaln(s + _A, n - s + _B) + np.log(betaincc(s + _A, n - s + _B, rate))
    prior = betaln(_A, _B) + np.log(betaincc(_A, _B, rate))
    return np.asarray(own - prior - s * np.log(rate) - (n - s) * np.log1p(-rate))


def evidence_over_time(trials: Any, errors: Any, rate: float) -> Array:
    """Return the evidence against an error rate of at most `rate` after each batch.

    Parameters
    ----------
    trials, errors : array-like of int, shape (batches,)
        Number of instances and of errors in each batch, in the order in which labels arrived.
    rate : float in (0, 1)
        The largest error rate that is allowed.

    Returns
    -------
    array of float, shape (batches,)
        An e-process: if every instance is an error with a probability of at most `rate`, given the
        instances before it, then the probability that the evidence ever reaches ``1 / level`` is at
        most `level`, after however many batches.

    Notes
    -----
    The evidence is an average of that of tests that start at each batch k, with the weights
    ``1 / (k (k + 1))``, so that a change is found soon after a long time without one.

    References
    ----------
    J. Ville, "Etude critique de la notion de collectif", 1939 (the bound).
    I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal
    of the Royal Statistical Society B 86, 2024.
    J. Shin, A. Ramdas, A. Rinaldo, "E-detectors: a nonparametric framework for sequential change
    detection", New England Journal of Statistics in Data Science 2, 2024.

    Examples
    --------
    Two batches with 1 % of errors, and two with 8 %, against a rate of 2 %:

    >>> evidence_over_time([1000] * 4, [10, 10, 80, 80], 0.02).round(1).tolist()[:2]
    [0.5, 0.3]
    >>> bool(evidence_over_time([1000] * 4, [10, 10, 80, 80], 0.02)[2] > 1e6)
    True
    """
    fraction(rate, "rate")
    n, s = np.asarray(trials, np.int64), np.asarray(errors, np.int64)
    if n.shape != s.shape or n.ndim != 1 or (s < 0).any() or (s > n).any():
        _validation.raise_invalid(
            "errors", "is not a number from 0 to the trials of each batch", "pass counts (batches,)"
        )
    found = np.empty(len(n))
    for t in range(len(n)):
        # Sums of the batches k, ..., t for every start k.
        since_n, since_s = (np.cumsum(one[t::-1])[::-1] for one in (n, s))
        k = np.arange(1, t + 2)
        weights = 1 / (k * (k + 1.0))
        with np.errstate(over="ignore"):
            found[t] = weights @ np.exp(log_evidence(since_n, since_s, rate)) + 1 / (t + 2)
    return found
