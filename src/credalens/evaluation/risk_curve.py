"""The mean loss of the retained instances, for real-valued targets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from credalens._backend import Array
from credalens._results import TableResult, check_slice
from credalens.evaluation.losses import Loss, instance_losses
from credalens.evaluation.rejection import points_of_curve


@dataclass(frozen=True, eq=False, repr=False)
class RiskCurve(TableResult):
    """Mean loss of the retained instances as a function of the rejected share; see `risk_curve`.

    ``len(curve)`` is the number of points; a slice such as ``curve[:10]`` is the curve at these
    points.

    Examples
    --------
    >>> import credalens as cl
    >>> curve = cl.risk_curve([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 3.0, 2.0], [3, 2, 1, 4], n_bins=4)
    >>> curve
    RiskCurve(n_bins=4, risk=0.625, mean=0.1597)
    >>> curve[:2].to_pandas().round(4)
       rejection    risk
    0       0.00  0.6250
    1       0.25  0.1667
    """

    #: Share of instances rejected, ``b / n_bins`` for b = 0 .. n_bins - 1.
    rejection: Array
    #: Mean loss of the retained instances, in the unit of the loss.
    risk: Array

    _repr_rows: ClassVar[int] = 0

    @property
    def mean(self) -> float:
        """Area under the curve divided by its length: the mean risk, smaller is better."""
        if len(self) == 1:
            return float(self.risk[0])
        heights = (self.risk[:-1] + self.risk[1:]) / 2
        return math.fsum(heights) / len(heights)

    @property
    def monotonicity_ratio(self) -> float:
        """Share of the steps that do not increase."""
        return float(np.mean(np.diff(self.risk) <= 0))

    def __getitem__(self, points: slice) -> RiskCurve:
        points = check_slice(points, self)
        return RiskCurve(self.rejection[points], self.risk[points])

    def _columns(self) -> dict[str, Array]:
        return {"rejection": self.rejection, "risk": self.risk}

    def _summary(self) -> str:
        return f"RiskCurve(n_bins={len(self)}, risk={self.risk[0]:.4g}, mean={self.mean:.4g})"


def risk_curve(
    y_true: Any,
    y_pred: Any,
    score: Any,
    n_bins: int = 30,
    *,
    loss: Loss = "absolute",
    sample_weight: Any = None,
    ties: str = "average",
) -> RiskCurve:
    """Return the risk-rejection curve of a score, for predictions of real-valued targets.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Targets and predictions.
    score : array-like of shape (n,), or Interval
        Larger means more uncertain; see `rejection_order`.
    n_bins : int, default=30
        Number of points on the curve, at least 2. At point b, ``b * n // n_bins`` instances are
        rejected.
    loss : {"absolute", "squared"}, array-like (n,) or callable, default="absolute"
        The loss of each instance, as in `selective_metrics`.
    sample_weight, ties
        As in `rejection_curve`.

    Returns
    -------
    RiskCurve

    See Also
    --------
    selective_metrics : AURC and prediction-rejection ratio of the same curve at all coverages.
    rejection_curve : accuracy, for classes.

    Examples
    --------
    >>> import credalens as cl
    >>> y, predicted, score = [1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 3.0, 2.0], [3, 2, 1, 4]
    >>> cl.risk_curve(y, predicted, score, n_bins=4).risk.round(4)
    array([0.625 , 0.1667, 0.    , 0.    ])
    >>> cl.risk_curve(y, predicted, score, n_bins=4, loss="squared").risk.round(4)
    array([1.0625, 0.0833, 0.    , 0.    ])
    """
    losses = instance_losses(y_true, y_pred, loss, ("y_true", "y_pred"))
    curve, retained = points_of_curve(losses, score, n_bins, sample_weight, ties)
    return RiskCurve(np.arange(n_bins) / n_bins, curve.loss_at(retained) / retained)
