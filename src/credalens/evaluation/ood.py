"""How well a score tells inputs of another distribution from those that were trained on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.evaluation.rejection import rejection_order
from credalens.measures import Interval

#: Which of the two is to be found.
POSITIVES = ("out", "in")


@dataclass(frozen=True, eq=False)
class OODScores:
    """How well a score separates; see `ood_scores`.

    Examples
    --------
    >>> import credalens as cl
    >>> found = cl.ood_scores([0.1, 0.2, 0.3], [0.25, 0.8])
    >>> round(found.auroc, 3), found.n_in, found.n_out
    (0.833, 3, 2)
    """

    #: Number of inputs from the distribution that was trained on.
    n_in: int
    #: Number of other inputs.
    n_out: int
    #: Area under the ROC curve: the chance that an outside input scores higher, ties by half.
    auroc: float
    #: Area under the precision-recall curve as a sum of steps (average precision).
    aupr: float
    #: Smallest false positive rate among the thresholds that reach `tpr`.
    fpr: float
    #: The true positive rate at which `fpr` is taken.
    tpr: float
    #: "out" or "in": which of the two counts as found.
    positive: str
    #: First coordinates of the ROC curve, one per threshold, from 0 to 1.
    false_positive_rate: Array = field(repr=False)
    #: Second coordinates of the ROC curve, one per threshold, from 0 to 1.
    true_positive_rate: Array = field(repr=False)
    #: Share of positives among what is called so at each threshold, 1 at the first point.
    precision: Array = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"OODScores(auroc={self.auroc:.4f}, aupr={self.aupr:.4f}, "
            f"fpr at {self.tpr:.0%} tpr={self.fpr:.4f}, positive={self.positive!r}, "
            f"n_in={self.n_in}, n_out={self.n_out})"
        )


def ood_scores(
    score_in: Any, score_out: Any, *, tpr: float = 0.95, positive: str = "out"
) -> OODScores:
    """Return AUROC, AUPR and the false positive rate of a score as a detector of outside inputs.

    Parameters
    ----------
    score_in, score_out : array-like of shape (n,), or Interval
        The score of inputs from the distribution that was trained on, and of others. Larger means
        more uncertain. Intervals are ordered by the lower end, then the upper end; `summarize`
        turns them to single numbers first where another order is wanted.
    tpr : float in (0, 1], default=0.95
        True positive rate at which the false positive rate is told.
    positive : {"out", "in"}, default="out"
        Which is to be found. With ``"out"`` the false positive rate is the share of the inputs
        from inside that raise an alarm where 95 % of those from outside do; with ``"in"`` the share
        from outside that pass where 95 % of those from inside do. Both are in use; AUROC is the
        same, AUPR and FPR are not.

    Returns
    -------
    OODScores

    Notes
    -----
    Exact, from one sort, O(n log n): inputs of equal score are taken together, no threshold comes
    between them and nothing is interpolated. AUPR is the sum of precision times step in recall. Its
    value for a useless score is the share of positives, so that it depends on the two sizes.

    Examples
    --------
    >>> import credalens as cl
    >>> found = cl.ood_scores([0.1, 0.2, 0.4, 0.3], [0.9, 0.4, 0.8])
    >>> round(found.auroc, 4), round(found.aupr, 4), found.fpr
    (0.9583, 0.9167, 0.25)
    """
    _validation.one_of(positive, "positive", POSITIVES)
    if isinstance(tpr, bool) or not isinstance(tpr, Real) or not 0 < tpr <= 1:
        _validation.refuse("tpr", f"is {tpr!r}", "pass a number above 0 and up to 1")
    inside, outside = _counts(score_in, score_out)
    hits, alarms = outside, inside
    if positive == "in":  # the least uncertain are found first
        hits, alarms = inside[::-1], outside[::-1]
    tp, fp = np.cumsum(hits), np.cumsum(alarms)
    precision, recall = tp / (tp + fp), tp / tp[-1]
    # Twice the area in whole numbers: false positives of a step times true ones up to its middle.
    doubled = int(alarms @ (2 * tp - hits))
    return OODScores(
        n_in=int(inside.sum()),
        n_out=int(outside.sum()),
        auroc=doubled / (2 * int(tp[-1]) * int(fp[-1])),
        aupr=math.fsum(precision * hits) / int(tp[-1]),
        fpr=float((fp / fp[-1])[np.argmax(recall >= tpr)]),
        tpr=float(tpr),
        positive=positive,
        false_positive_rate=np.concatenate([[0.0], fp / fp[-1]]),
        true_positive_rate=np.concatenate([[0.0], recall]),
        precision=np.concatenate([[1.0], precision]),
    )


def _counts(score_in: Any, score_out: Any) -> tuple[Array, Array]:
    """Return how many of each have each different score, the largest score first."""
    if isinstance(score_in, Interval) != isinstance(score_out, Interval):
        _validation.refuse(
            "score_out",
            "is not of the kind of score_in",
            "pass two Intervals or two arrays; see cl.summarize",
        )
    ends = []
    for name, score in (("score_in", score_in), ("score_out", score_out)):
        parts = tuple(score) if isinstance(score, Interval) else (score,)
        columns = [_validation.vector(_validation.numeric(part, name), name) for part in parts]
        if not len(columns[0]):
            _validation.refuse(name, "is empty", "pass at least one score")
        if len({len(column) for column in columns}) > 1:
            _validation.refuse(name, "has ends of different lengths", "pass a whole Interval")
        if any(np.isnan(column).any() for column in columns):
            _validation.refuse(name, "has a NaN", "give every input a score")
        ends.append(np.stack([column.astype(np.float64) for column in columns], axis=1))
    both = np.concatenate(ends)
    score = Interval(both[:, 0], both[:, 1]) if both.shape[1] == 2 else both[:, 0]
    order = rejection_order(score)
    new = (both[order][1:] != both[order][:-1]).any(axis=1)
    group = np.concatenate([[0], np.cumsum(new)])
    is_out = order >= len(ends[0])
    outside = np.bincount(group, weights=is_out).astype(np.int64)
    return np.bincount(group) - outside, outside
