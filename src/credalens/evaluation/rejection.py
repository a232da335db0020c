"""Rejection order and accuracy-rejection curves of a score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult, check_slice
from credalens.evaluation.arguments import score_keys
from credalens.evaluation.losses import (
    Loss,
    check_length,
    drop_weightless,
    instance_losses,
    instance_weights,
)
from credalens.evaluation.risk_coverage import TIES, RiskCoverage, retention_order


def rejection_order(score: Any) -> NDArray[np.intp]:
    """Return the order in which instances are rejected, the most uncertain first.

    Parameters
    ----------
    score : array-like of shape (n,), or Interval
        Larger means more uncertain. Intervals are ordered by the lower end, then the upper end.

    Returns
    -------
    array of int, shape (n,)
        Indices of the instances; equal scores keep their original order.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.rejection_order([0.1, 0.9, 0.9, 0.5])
    array([1, 2, 3, 0])
    """
    return np.lexsort([-key for key in reversed(score_keys(score))])


@dataclass(frozen=True, eq=False, repr=False)
class RejectionCurve(TableResult):
    """Accuracy of the retained instances as a function of the rejected share.

    ``len(curve)`` is the number of points; a slice such as ``curve[:10]`` is the curve at these
    points.

    Examples
    --------
    >>> import credalens as cl
    >>> curve = cl.rejection_curve([0, 1, 1, 0], [0, 1, 0, 0], [0.1, 0.2, 0.9, 0.3], n_bins=4)
    >>> curve.accuracy.tolist(), curve.auc, curve.monotonicity_ratio
    ([0.75, 1.0, 1.0, 1.0], 0.9583333333333334, 1.0)
    >>> curve[:2].to_pandas()
       rejection  accuracy
    0       0.00      0.75
    1       0.25      1.00
    """

    #: Share of instances rejected, ``b / n_bins`` for b = 0 .. n_bins - 1.
    rejection: Array
    #: Accuracy of the retained instances, 1 minus their mean loss.
    accuracy: Array

    _repr_rows: ClassVar[int] = 0

    @property
    def auc(self) -> float:
        """Area under the curve divided by its length: 1 for a perfect curve."""
        if len(self) == 1:
            return float(self.accuracy[0])
        heights = (self.accuracy[:-1] + self.accuracy[1:]) / 2
        return math.fsum(heights) / len(heights)

    @property
    def area(self) -> float:
        """Area under the curve over ``[0, (n_bins - 1) / n_bins]``.

        This is the value reported by González-García et al. (2026).
        """
        return self.auc * float(self.rejection[-1] - self.rejection[0])

    @property
    def monotonicity_ratio(self) -> float:
        """Share of the steps that do not decrease."""
        return float(np.mean(np.diff(self.accuracy) >= 0))

    def __getitem__(self, points: slice) -> RejectionCurve:
        points = check_slice(points, self)
        return RejectionCurve(self.rejection[points], self.accuracy[points])

    def _columns(self) -> dict[str, Array]:
        return {"rejection": self.rejection, "accuracy": self.accuracy}

    def _summary(self) -> str:
        return (
            f"RejectionCurve(n_bins={len(self)}, auc={self.auc:.4f}, "
            f"monotonicity_ratio={self.monotonicity_ratio:.4f})"
        )


def rejection_curve(
    y_true: Any,
    y_pred: Any,
    score: Any,
    n_bins: int = 30,
    *,
    loss: Loss = None,
    sample_weight: Any = None,
    ties: str = "average",
) -> RejectionCurve:
    """Return the accuracy-rejection curve of a score.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels and predictions, both integers or both strings. With another loss as in
        `selective_metrics`.
    score : array-like of shape (n,), or Interval
        Larger means more uncertain; see `rejection_order`.
    n_bins : int, default=30
        Number of points on the curve, at least 2. At point b, ``b * n // n_bins`` instances are
        rejected.
    loss, sample_weight : optional
        As in `selective_metrics`. The accuracy is 1 minus the mean loss. With weights of sum W,
        the rejected weight at point b is ``b * W / n_bins``, rounded down if W is a whole number.
    ties : {"average", "first"}, default="average"
        ``"average"``: the expectation over random orders of instances of equal score.
        ``"first"``: these are rejected in their original order, as in the tables of the paper.

    Returns
    -------
    RejectionCurve

    Examples
    --------
    >>> import credalens as cl
    >>> curve = cl.rejection_curve([0, 1, 1, 0], [0, 1, 0, 0], [0.1, 0.2, 0.9, 0.3], n_bins=4)
    >>> curve.accuracy
    array([0.75, 1.  , 1.  , 1.  ])
    >>> curve
    RejectionCurve(n_bins=4, auc=0.9583, monotonicity_ratio=1.0000)
    >>> cl.rejection_curve([0, 1, 1, 0], [0, 1, 0, 0], [1, 1, 1, 1], n_bins=4).accuracy
    array([0.75, 0.75, 0.75, 0.75])
    """
    losses = instance_losses(y_true, y_pred, loss, ("y_true", "y_pred"))
    curve, retained = points_of_curve(losses, score, n_bins, sample_weight, ties)
    return RejectionCurve(np.arange(n_bins) / n_bins, curve.quality_at(retained))


def points_of_curve(
    losses: Array, score: Any, n_bins: int, sample_weight: Any, ties: str
) -> tuple[RiskCoverage, Array]:
    """Return the risk-coverage curve of a score, and the weight that is retained at each point."""
    bins = _validation.whole_number(n_bins, "n_bins", least=2)
    _validation.one_of(ties, "ties", TIES)
    keys = score_keys(score)
    check_length(keys[0].shape, "score", len(losses), "y_true")
    weights = instance_weights(sample_weight, len(losses))
    losses, weights, keys = drop_weightless(losses, weights, keys)
    curve = RiskCoverage.from_instances(losses, weights, *retention_order(keys, ties))
    total = float(curve.end_weight[-1])
    return curve, total - rejected_counts(int(total) if total.is_integer() else total, bins)


def rejected_counts(n: float, n_bins: int) -> NDArray[Any]:
    """Return the weight that is rejected at each point of a curve, whole numbers if n is one."""
    if isinstance(n, int):
        return np.array([b * n // n_bins for b in range(n_bins)])
    return np.arange(n_bins) * n / n_bins
