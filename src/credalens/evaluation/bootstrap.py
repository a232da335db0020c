"""How well a score finds the errors, with bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.evaluation.rejection import RejectionCurve, rejection_curve, rejection_order

#: Points of curves that are resampled at once.
BLOCK = 1 << 18
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
    n_bootstrap: int = 2000,
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
    n_bootstrap : int, default=2000
        Resamples of the rows; 0 leaves the intervals NaN.
    confidence : float, default=0.95
        Of the percentile intervals.
    random_state : int, RandomState, Generator or None, default=0
        Draws the resamples.

    Returns
    -------
    ScoreQuality

    Notes
    -----
    The rows are sorted once, in O(n log n). A resample then costs O(n_bins), whatever n: of its
    rows, only those at the points of the curve are drawn one by one, and how many of the rows
    between two of them are right is a binomial number.

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
    ordered = right[rejection_order(score)]
    n = len(ordered)
    rejected = np.array([b * n // n_bins for b in range(n_bins)]
                        + [round(100 * share) * n // 100 for share in REJECTED])  # fmt: skip
    value = _numbers(np.cumsum(ordered[::-1])[::-1][rejected] / (n - rejected))
    value[0] = curve.auc  # summed without rounding
    low = high = np.full(len(value), np.nan)
    if n_bootstrap:
        rng = np.random.default_rng(_validation.seed(random_state))
        # Drawn by itself, and first, so that the accuracy on all rows is the same for every score.
        everything = rng.binomial(n, ordered.mean(), n_bootstrap) / n
        block = max(1, BLOCK // len(rejected))
        sizes = [min(block, n_bootstrap - done) for done in range(0, n_bootstrap, block)]
        draws = np.concatenate(
            [_numbers(_resampled(ordered, rejected, size, rng) / (n - rejected)) for size in sizes]
        )
        draws[:, 2] = everything
        tail = (1 - confidence) / 2
        low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    told = np.stack([value, low, high], axis=1)
    return ScoreQuality(curve, told[0], told[1], told[2:])


def _numbers(accuracy: Array) -> Array:
    """Return area, monotonicity and the accuracies at `REJECTED`, which stand behind the curve."""
    curve, shares = accuracy[..., : -len(REJECTED)], accuracy[..., -len(REJECTED) :]
    area = (curve[..., :-1] + curve[..., 1:]).mean(axis=-1) / 2
    rising = (np.diff(curve) >= 0).mean(axis=-1)
    return np.concatenate([area[..., None], rising[..., None], shares], axis=-1)


def _resampled(ordered: Array, rejected: Array, size: int, rng: Any) -> Array:
    """Return how many of the rows that are kept are right, ``(size, len(rejected))``.

    A resample is n numbers that are uniform between 0 and n, and row k of `ordered` stands for
    those from k to k + 1. The sorted ones at chosen places are partial sums of gamma numbers, and
    those between two neighbours among them are uniform there: the share of the right rows between
    the two is the chance of each of them to be right.
    """
    n = len(ordered)
    places = np.unique(rejected)  # the first is 0
    steps = rng.standard_gamma(np.diff(places, prepend=-1, append=n), (size, len(places) + 1))
    at = np.cumsum(steps, axis=1)
    at *= n / at[:, -1:]
    at[:, -1] = n
    row = np.minimum(at.astype(np.intp), n - 1)
    before = np.concatenate([[0], np.cumsum(ordered)])
    right_up_to = before[row] + (at - row) * ordered[row]
    width = np.diff(at)
    chance = np.diff(right_up_to) / np.where(width > 0, width, 1)
    between = rng.binomial(np.diff(places, append=n) - 1, np.clip(chance, 0, 1))
    kept = np.cumsum((ordered[row[:, :-1]] + between)[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(kept[:, np.searchsorted(places, rejected)])
