"""Thresholds with a guarantee: how much can be kept at a promised accuracy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array

#: Share of the labelled rows that chooses which thresholds to test, and in which order.
TUNING_SHARE = 0.2
#: Number of thresholds that are tried.
N_THRESHOLDS = 200
#: How much less sure than the surest threshold the first may be, as a share.
NEARLY = 0.1


@dataclass(frozen=True)
class Guarantee:
    """The answer of `guaranteed_threshold`."""

    #: Keep what scores at most this; ``None`` if no threshold is sure enough, infinite if all may
    #: be kept.
    threshold: float | None
    #: Share of all rows that is kept.
    kept: float
    #: Lower confidence bound on the accuracy of what is kept, at the level of a single test.
    bound: float
    #: Accuracy of what is kept among the rows that tested the threshold.
    observed: float
    #: Rows that tested the thresholds.
    n_tested: int
    target: float
    confidence: float


def guaranteed_threshold(
    correct: Any,
    score: Any,
    target: float = 0.99,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> Guarantee:
    """Find the largest threshold on a score that keeps the accuracy at a target.

    Parameters
    ----------
    correct : array-like of bool, shape (n,)
        Whether each prediction was right.
    score : array-like of shape (n,)
        Larger means more uncertain.
    target : float in (0, 1)
        Accuracy that is to be reached by the rows that are kept.
    confidence : float in (0, 1)
        Probability, over the draw of the labelled rows, with which the promise holds.
    random_state : int, RandomState, Generator or None, default=0
        Splits the rows.

    Returns
    -------
    Guarantee

    Notes
    -----
    If rows are independent draws of one distribution, then with probability at least `confidence`
    the accuracy of ``score <= threshold`` on that distribution is at least `target`.

    One fifth of the rows, drawn at random, proposes thresholds, its quantiles, and where to start.
    On the other rows, which know nothing of that choice, the number of right ones among those kept
    is binomial, and each threshold is tested by its exact (Clopper-Pearson) lower bound. They are
    tested one after the other, each keeping more than the one before, at the full level, up to the
    first that fails: fixed-sequence testing, which pays for the search over thresholds.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candes, M. Jordan, L. Lei, "Learn then Test: calibrating
    predictive algorithms to achieve risk control", 2021 (split fixed-sequence testing).
    C. Clopper, E. Pearson, "The use of confidence or fiducial limits", Biometrika 26, 1934.
    Y. Geifman, R. El-Yaniv, "Selective classification for deep neural networks", NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> score = np.linspace(0, 1, 5000)
    >>> right = np.random.default_rng(0).random(5000) > score / 5
    >>> found = guaranteed_threshold(right, score, target=0.95)
    >>> 0.3 < found.threshold < 0.5, found.bound >= 0.95
    (True, True)
    """
    right, values = _checked(correct, score)
    for name, value in (("target", target), ("confidence", confidence)):
        if not 0 < value < 1:
            _validation.refuse(name, f"is {value:g}", "pass a number between 0 and 1")
    order = np.random.default_rng(_validation.seed(random_state)).permutation(len(right))
    cut = int(TUNING_SHARE * len(right))
    tuning, testing = order[:cut], order[cut:]
    best: tuple[float, float, float] | None = None
    for threshold in _sequence(right[tuning], values[tuning], target):
        kept = values[testing] <= threshold
        hits, trials = int(right[testing][kept].sum()), int(kept.sum())
        bound = clopper_pearson_lower(hits, trials, confidence)
        if bound < target:
            break
        best = float(threshold), bound, hits / trials
    if best is None:
        return Guarantee(None, 0.0, math.nan, math.nan, len(testing), target, confidence)
    share = float((values <= best[0]).mean())
    return Guarantee(best[0], share, best[1], best[2], len(testing), target, confidence)


def clopper_pearson_lower(hits: int, trials: int, confidence: float) -> float:
    """Return the exact lower confidence bound on the chance of a hit, one-sided.

    Examples
    --------
    Of 299 predictions all right, 99 % accuracy follows with 95 % confidence, of 298 it does not:

    >>> clopper_pearson_lower(299, 299, 0.95) >= 0.99, clopper_pearson_lower(298, 298, 0.95) >= 0.99
    (True, False)
    """
    if hits == 0:
        return 0.0
    from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, 1 - confidence))


def least_rows(target: float, confidence: float) -> int:
    """Return how many rows, all predicted right, it takes to be sure of `target`.

    Examples
    --------
    >>> least_rows(0.99, 0.95)
    299
    """
    return math.ceil(math.log1p(-confidence) / math.log(target))


def _sequence(right: Array, values: Array, target: float) -> Array:
    """Return thresholds to test, each keeping more than the one before.

    Starts where the tuning rows are nearly most sure that the target is reached: before, too few
    rows are kept to show it. Where they are all right, the surest threshold keeps everything, and
    the first test would be the last.
    """
    if not len(values):
        return np.empty(0)
    thresholds = _proposed(values)
    order = np.argsort(values, kind="stable")
    trials = np.searchsorted(values[order], thresholds, side="right")
    hits = np.concatenate([[0], np.cumsum(right[order])])[trials]
    # The signed root of the likelihood ratio would do as well; this needs no special function.
    evidence = (hits - target * trials) / np.sqrt(target * (1 - target) * trials)
    most = evidence.max()
    return np.asarray(thresholds[int(np.argmax(evidence >= most - NEARLY * abs(most))) :])


def _proposed(values: Array) -> Array:
    """Return quantiles of the scores, each moved half-way to the next larger score.

    So a new score is hardly ever equal to a threshold, and it does not matter in which precision
    they are compared. Nine digits can be copied by hand.
    """
    different = np.unique(values.astype(np.float64))
    above = np.append(different[1:], np.inf)  # the last threshold keeps everything
    ranks = np.linspace(0, len(values) - 1, min(N_THRESHOLDS, len(values))).round().astype(int)
    at = np.searchsorted(different, np.sort(values)[ranks])
    middle = np.unique((different[at] + above[at]) / 2)
    return np.unique([float(f"{threshold:.9g}") for threshold in middle])


def _checked(correct: Any, score: Any) -> tuple[Array, Array]:
    right = _validation.vector(correct, "correct").astype(bool)
    values = _validation.vector(_validation.numeric(score, "score"), "score")
    if len(right) != len(values):
        _validation.refuse("score", f"has {len(values)} entries", f"pass {len(right)}")
    if np.isnan(values).any():
        first = int(np.argmax(np.isnan(values)))
        _validation.refuse("score", f"is NaN at index {first} (zero-based)", "score every row")
    return right, values
