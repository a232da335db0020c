"""How well a score finds the errors, with bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.evaluation.rejection import RejectionCurve, rejection_curve, rejection_order

#: Shares rejected at which the accuracy of the rest is told.
REJECTED = (0.0, 0.1, 0.2, 0.5)


@dataclass(frozen=True, eq=False)
class ScoreQuality:
    """The curve of a score, and numbers with intervals.

    Each array holds the value, the lower and the upper end of its interval.
    """

    curve: RejectionCurve
    auc: Array
    monotonicity_ratio: Array
    #: Accuracy of the rest at each share of `REJECTED`, ``(len(REJECTED), 3)``.
    accuracy_at: Array


def score_quality(
    correct: Any,
    score: Any,
    *,
    n_bins: int = 30,
    n_bootstrap: int = 200,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> ScoreQuality:
    """Return area, monotonicity and accuracies of a score, with bootstrap intervals.

    Parameters
    ----------
    correct : array-like of bool, shape (n,)
        Whether each prediction was right.
    score : array-like of shape (n,), or Interval
        Larger means more uncertain; see `rejection_order`.
    n_bins : int, default=30
        Points on the curve.
    n_bootstrap : int, default=200
        Resamples of the rows; 0 leaves the intervals NaN.
    confidence : float, default=0.95
        Of the percentile intervals.
    random_state : int, RandomState, Generator or None, default=0
        Draws the resamples; the same for all scores makes these comparable.

    Returns
    -------
    ScoreQuality

    Examples
    --------
    >>> import numpy as np
    >>> score = np.linspace(0, 1, 100)
    >>> found = score_quality(score < 0.9, score)
    >>> found.accuracy_at[:, 0].round(3).tolist()
    [0.9, 1.0, 1.0, 1.0]
    """
    right = _validation.vector(correct, "correct").astype(bool)
    curve = rejection_curve(np.ones(len(right), bool), right, score, n_bins)
    order = rejection_order(score)
    ordered = right[order]
    draws = np.empty((n_bootstrap, 2 + len(REJECTED)))
    rng = np.random.default_rng(_validation.seed(random_state))
    for i in range(n_bootstrap):
        # Rows drawn twice stand side by side, so that the order needs no sorting again.
        times = np.bincount(rng.integers(len(right), size=len(right)), minlength=len(right))
        draws[i] = _numbers(np.repeat(ordered, times[order]), n_bins)
    value = _numbers(ordered, n_bins)
    tail = (1 - confidence) / 2
    if n_bootstrap:
        low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    else:
        low = high = np.full(len(value), np.nan)
    told = np.stack([value, low, high], axis=1)
    return ScoreQuality(curve, told[0], told[1], told[2:])


def _numbers(ordered: Array, n_bins: int) -> Array:
    """Return area, monotonicity and accuracies from `correct` in the order of rejection."""
    n = len(ordered)
    kept = np.cumsum(ordered[::-1])[::-1]

    def accuracy(rejected: Array) -> Array:
        return np.asarray(kept[rejected] / (n - rejected))

    bins = np.arange(n_bins)
    curve = RejectionCurve(bins / n_bins, accuracy(bins * n // n_bins))
    shares = accuracy(np.array([round(100 * share) * n // 100 for share in REJECTED]))
    return np.array([curve.auc, curve.monotonicity_ratio, *shares])
