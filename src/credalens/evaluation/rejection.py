"""Selective prediction: the accuracy of what is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._arrays import Array
from credalens.evaluation.labels import is_missing
from credalens.measures import Interval


def rejection_order(score: Any) -> NDArray[np.intp]:
    """Return the order in which instances are rejected, the most uncertain first.

    Parameters
    ----------
    score : array-like of shape (n,), or Interval
        Larger means more uncertain. Intervals are ordered by the lower end, then the upper end.

    Returns
    -------
    array of int, shape (n,)
        Positions; equal scores keep their original order.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.rejection_order([0.1, 0.9, 0.9, 0.5])
    array([1, 2, 3, 0])
    """
    if isinstance(score, Interval):
        keys = [_score(score.upper, "score.upper"), _score(score.lower, "score.lower")]
        if keys[0].shape != keys[1].shape:
            _validation.refuse(
                "score",
                f"has ends of lengths {len(keys[1])} and {len(keys[0])}",
                "pass an Interval whose ends belong together",
            )
    else:
        keys = [_score(score, "score")]
    return np.lexsort([-key for key in keys])


def _score(x: Any, name: str) -> Array:
    score = _validation.vector(_validation.numeric(x, name), name).astype(np.float64)
    if np.isnan(score).any():
        first = int(np.argmax(np.isnan(score)))
        _validation.refuse(
            name, f"is NaN at index {first} (zero-based)", "give every instance a score"
        )
    return score


@dataclass(frozen=True, eq=False)
class RejectionCurve:
    """Accuracy on what is kept, for a growing share of rejected instances.

    Examples
    --------
    >>> import credalens as cl
    >>> curve = cl.rejection_curve([0, 1, 1, 0], [0, 1, 0, 0], [0.1, 0.2, 0.9, 0.3], n_bins=4)
    >>> curve.accuracy.tolist(), curve.auc, curve.monotonicity_ratio
    ([0.75, 1.0, 1.0, 1.0], 0.9583333333333334, 1.0)
    """

    #: Share of instances rejected, ``b / n_bins`` for b = 0 .. n_bins - 1.
    rejection: Array
    #: Accuracy on the rest.
    accuracy: Array

    @property
    def auc(self) -> float:
        """Area under the curve divided by its length: 1 for a perfect curve."""
        heights = (self.accuracy[:-1] + self.accuracy[1:]) / 2
        return math.fsum(heights) / len(heights)

    @property
    def area(self) -> float:
        """Area under the curve over ``[0, (n_bins - 1) / n_bins]``.

        González-García et al. (2026) print this one.
        """
        return self.auc * float(self.rejection[-1])

    @property
    def monotonicity_ratio(self) -> float:
        """Share of the steps that do not decrease."""
        return float(np.mean(np.diff(self.accuracy) >= 0))

    def __repr__(self) -> str:
        return (
            f"RejectionCurve(n_bins={len(self.rejection)}, auc={self.auc:.4f}, "
            f"monotonicity_ratio={self.monotonicity_ratio:.4f})"
        )


def rejection_curve(y_true: Any, y_pred: Any, score: Any, n_bins: int = 30) -> RejectionCurve:
    """Return the accuracy-rejection curve of a score.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Labels and predictions: integers or strings, of the same kind.
    score : array-like of shape (n,), or Interval
        Larger means more uncertain; see `rejection_order`.
    n_bins : int, default=30
        Number of points on the curve, at least 2. At point b, ``b * n // n_bins`` instances are
        rejected.

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
    """
    truth, predicted = _labels(y_true, "y_true"), _labels(y_pred, "y_pred")
    bins = _validation.whole_number(n_bins, "n_bins", least=2)
    order = rejection_order(score)
    for name, size in (("y_pred", len(predicted)), ("score", len(order))):
        if size != len(truth):
            _validation.refuse(name, f"has {size} entries", f"pass {len(truth)}, as in y_true")
    if len(truth) == 0:
        _validation.refuse("y_true", "is empty", "a curve needs at least one instance")
    if (truth.dtype.kind in "biuf") != (predicted.dtype.kind in "biuf"):
        _validation.refuse(
            "y_pred",
            f"has dtype {predicted.dtype}, y_true has {truth.dtype}",
            "pass labels of the same kind",
        )
    kept_correct = np.cumsum((truth == predicted)[order][::-1])[::-1]
    rejected = np.array([b * len(truth) // bins for b in range(bins)])
    accuracy = kept_correct[rejected] / (len(truth) - rejected)
    return RejectionCurve(np.arange(bins) / bins, accuracy)


def _labels(y: Any, name: str) -> Array:
    labels = _validation.vector(y, name)
    if labels.dtype.kind == "S":
        return np.char.decode(labels, "utf-8")
    kind = labels.dtype.kind
    if kind == "O":
        missing = np.array([is_missing(label) for label in labels], bool)
    else:
        missing = np.isnan(labels) if kind == "f" else np.zeros(1, bool)
    if missing.any():
        first = int(np.argmax(missing))
        word = str(labels[first]).replace("nan", "NaN")
        _validation.refuse(name, f"is {word} at index {first} (zero-based)", "drop unlabelled rows")
    if kind == "O" and any(all(isinstance(y, one) for y in labels) for one in (str, Number)):
        return np.array(labels.tolist())  # as what they all are
    return labels
