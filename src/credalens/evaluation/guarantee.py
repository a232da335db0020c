"""Thresholds on a score with a guaranteed accuracy of the retained predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation.arguments import fraction, score_keys

#: Share of the labelled instances that selects the thresholds to test and their order.
TUNING_SHARE = 0.2
#: Number of candidate thresholds.
N_THRESHOLDS = 200
#: Relative loss of evidence that the first tested threshold may have against the best one.
EVIDENCE_SLACK = 0.1


@dataclass(frozen=True)
class Guarantee:
    """A threshold and the accuracy that it guarantees; see `guaranteed_threshold`.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.guaranteed_threshold([True] * 100, [0.5] * 100, target=0.9, random_state=0).kept
    1.0
    """

    #: Retain instances with ``score <= threshold``; None if no threshold passes the test, infinite
    #: if all instances may be retained.
    threshold: float | None
    #: Share of all instances that is retained.
    kept: float
    #: Lower confidence bound on the accuracy of the retained instances, from a single test.
    bound: float
    #: Accuracy of the retained instances in the test part.
    observed: float
    #: Number of instances in the test part.
    n_tested: int
    #: The target accuracy.
    target: float
    #: The confidence level.
    confidence: float


def guaranteed_threshold(
    correct: Any,
    score: Any,
    target: float = 0.99,
    confidence: float = 0.95,
    random_state: Any = None,
) -> Guarantee:
    """Find the largest threshold on a score at which the accuracy reaches a target.

    Parameters
    ----------
    correct : array-like of bool, shape (n,)
        Whether each prediction is correct.
    score : array-like of shape (n,)
        Larger means more uncertain.
    target : float in (0, 1), default=0.99
        Accuracy that the retained instances must reach.
    confidence : float in (0, 1), default=0.95
        Probability, over the draw of the labelled instances, that the guarantee holds.
    random_state : int, RandomState, Generator or None
        Splits the instances into a tuning and a test part.

    Returns
    -------
    Guarantee

    Notes
    -----
    If instances are independent and identically distributed, then with probability at least
    `confidence` the accuracy of ``score <= threshold`` on their distribution is at least `target`.

    A random fifth of the instances proposes candidate thresholds (its quantiles) and the first one
    to test. On the other instances each threshold is tested with its exact binomial
    (Clopper-Pearson) lower bound, in increasing order and at the full level until the first one
    fails. This fixed-sequence test controls the error of the search over thresholds.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candes, M. Jordan, L. Lei, "Learn then Test: calibrating
    predictive algorithms to achieve risk control", 2021 (split fixed-sequence testing).
    C. Clopper, E. Pearson, "The use of confidence or fiducial limits", Biometrika 26, 1934.
    Y. Geifman, R. El-Yaniv, "Selective classification for deep neural networks", NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> score = np.linspace(0, 1, 5000)
    >>> correct = np.random.default_rng(0).random(5000) > score / 5
    >>> result = cl.guaranteed_threshold(correct, score, target=0.95, random_state=0)
    >>> 0.3 < result.threshold < 0.5, result.bound >= 0.95
    (True, True)
    """
    correct = _validation.vector(correct, "correct").astype(bool)
    values = score_keys(_validation.numeric(score, "score"))[0]
    if len(correct) != len(values):
        _validation.raise_invalid("score", f"has {len(values)} entries", f"pass {len(correct)}")
    target, confidence = fraction(target, "target"), fraction(confidence, "confidence")
    tuning, testing = split_rows(len(correct), random_state)
    found = Guarantee(None, 0.0, math.nan, math.nan, len(testing), target, confidence)
    for threshold in threshold_sequence(correct[tuning], values[tuning], target):
        kept = values[testing] <= threshold
        hits, trials = int(correct[testing][kept].sum()), int(kept.sum())
        bound = clopper_pearson_lower(hits, trials, confidence)
        if bound < target:
            break
        found = replace(found, threshold=float(threshold), bound=bound, observed=hits / trials)
    if found.threshold is None:
        return found
    return replace(found, kept=float((values <= found.threshold).mean()))


def split_rows(n: int, random_state: Any) -> tuple[Array, Array]:
    """Return the indices of the tuning and of the test part of `n` instances."""
    order = np.random.default_rng(_validation.seed(random_state)).permutation(n)
    tuning, testing = np.split(order, [int(TUNING_SHARE * n)])
    return tuning, testing


def clopper_pearson_lower(hits: int, trials: int, confidence: float) -> float:
    """Return the exact one-sided lower confidence bound of a binomial proportion.

    Examples
    --------
    299 correct predictions out of 299 give 99 % accuracy with 95 % confidence, 298 do not:

    >>> clopper_pearson_lower(299, 299, 0.95) >= 0.99, clopper_pearson_lower(298, 298, 0.95) >= 0.99
    (True, False)
    """
    if hits == 0:
        return 0.0
    from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, 1 - confidence))


def least_rows(target: float, confidence: float) -> int:
    """Return the smallest sample size at which a sample without errors proves `target`.

    Examples
    --------
    >>> least_rows(0.99, 0.95)
    299
    """
    return math.ceil(math.log1p(-confidence) / math.log(target))


def threshold_sequence(correct: Array, values: Array, target: float | None) -> Array:
    """Return the thresholds to test, in increasing order; all candidates without a target.

    The first is the smallest whose evidence in the tuning part, the z-statistic of the accuracy
    against the target, is within `EVIDENCE_SLACK` of the largest; smaller thresholds retain too few
    instances to pass. Without the slack, a tuning part without errors would start at the largest
    threshold, and the first test would be the last.
    """
    if not len(values):
        return np.empty(0)
    thresholds = _candidates(values)
    if target is None:
        return thresholds
    order = np.argsort(values, kind="stable")
    trials = np.searchsorted(values[order], thresholds, side="right")
    hits = np.concatenate([[0], np.cumsum(correct[order])])[trials]
    evidence = (hits - target * trials) / np.sqrt(target * (1 - target) * trials)
    most = evidence.max()
    first = int(np.argmax(evidence >= most - EVIDENCE_SLACK * abs(most)))
    return np.asarray(thresholds[first:])


def _candidates(values: Array) -> Array:
    """Return quantiles of the scores, each moved half-way to the next larger score.

    A new score is then almost never equal to a threshold, so the floating-point precision of the
    comparison does not matter. Thresholds have nine significant digits, short enough to copy.
    """
    distinct = np.unique(values)
    above = np.append(distinct[1:], np.inf)  # the last threshold retains everything
    ranks = np.linspace(0, len(values) - 1, min(N_THRESHOLDS, len(values))).round().astype(int)
    at = np.searchsorted(distinct, np.sort(values)[ranks])
    middle = np.unique((distinct[at] + above[at]) / 2)
    return np.unique([float(f"{threshold:.9g}") for threshold in middle])
