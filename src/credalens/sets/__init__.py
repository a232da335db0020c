"""Credal sets: batches of closed convex sets of probability vectors."""

from typing import Any, Literal

from numpy import ndarray

from credalens.sets.adapters import is_probly
from credalens.sets.base import CredalSet
from credalens.sets.beliefs import BeliefFunction
from credalens.sets.capacities import LowerProbability
from credalens.sets.hull import ConvexHull
from credalens.sets.intervals import ProbabilityIntervals
from credalens.sets.neighbourhoods import Contamination, TotalVariationBall
from credalens.sets.probly import from_probly

__all__ = [
    "BeliefFunction",
    "Contamination",
    "ConvexHull",
    "CredalSet",
    "LowerProbability",
    "ProbabilityIntervals",
    "TotalVariationBall",
    "as_credal_set",
    "from_probly",
]


def as_credal_set(x: Any, *, validate: bool | Literal["later"] = True) -> CredalSet:
    """Return `x` if it is a credal set, else the hull of an array ``(..., M, K)``.

    Parameters
    ----------
    x : CredalSet, object of probly, frames, or array-like of shape (..., M, K)
        Objects of probly go through `from_probly`. Frames in a sequence, and frames or arrays in a
        dict, are one per model, as in `ConvexHull`. A list of arrays is an array, as everywhere in
        NumPy: ``ConvexHull(arrays, axis=0)`` takes it as one per model.
    validate : bool or "later", default=True
        As in `ConvexHull`.

    Returns
    -------
    CredalSet

    Examples
    --------
    >>> import credalens as cl
    >>> cl.as_credal_set([[0.5, 0.5], [0.9, 0.1]])
    ConvexHull(batch_shape=(), n_members=2, n_classes=2, dtype=float64)
    """
    if type(x) is not ndarray:
        if isinstance(x, CredalSet):
            return x
        if is_probly(x):
            return from_probly(x)
    return ConvexHull(x, validate=validate)
