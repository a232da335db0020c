"""Credal sets: batches of closed convex sets of probability vectors."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

# The representations of RealHull register themselves.
import credalens.sets.real_normals
import credalens.sets.real_quantiles
import credalens.sets.real_samples  # noqa: F401
from credalens import _backend, _validation
from credalens.sets.adapters import as_members, is_probly
from credalens.sets.base import CredalSet
from credalens.sets.beliefs import BeliefFunction
from credalens.sets.capacities import LowerProbability
from credalens.sets.contamination import Contamination
from credalens.sets.hull import ConvexHull
from credalens.sets.intervals import ProbabilityIntervals
from credalens.sets.kl_ball import KLBall
from credalens.sets.ordinal_ball import OrdinalBall
from credalens.sets.possibility import Possibility
from credalens.sets.probly import from_probly
from credalens.sets.real_hull import RealHull
from credalens.sets.real_validation import raise_not_real
from credalens.sets.topk_hull import TopKHull
from credalens.sets.total_variation_ball import TotalVariationBall

#: What measures accept besides arrays of PyTorch, JAX and Dask: a set, an array-like of shape
#: ``(..., M, K)``, or one frame or array per member.
SetLike = CredalSet | RealHull | ArrayLike | Sequence[Any] | Mapping[Any, Any]

__all__ = [
    "BeliefFunction",
    "Contamination",
    "ConvexHull",
    "CredalSet",
    "KLBall",
    "LowerProbability",
    "OrdinalBall",
    "Possibility",
    "ProbabilityIntervals",
    "RealHull",
    "TopKHull",
    "TotalVariationBall",
    "as_credal_set",
    "from_probly",
]


def as_credal_set(
    x: Any,
    *,
    axis: int | None = None,
    class_axis: int | None = None,
    validate: bool | Literal["later"] = True,
) -> CredalSet:
    """Return `x` if it is a credal set, otherwise the hull of an array ``(..., M, K)``.

    Parameters
    ----------
    x : CredalSet, probly object, frames, or array-like of shape (..., M, K)
        Objects of probly are converted by `from_probly`. A sequence of frames, and a dict of frames
        or arrays, hold one member each, as in `ConvexHull`. A list of arrays ``(..., K)`` raises,
        because it may be one per member, ``numpy.stack(arrays, axis=-2)``, or one per instance,
        ``numpy.stack(arrays)``.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in `ConvexHull`.
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
    if axis is not None or class_axis is not None:
        x = arrange(x, axis, class_axis)
    if isinstance(x, CredalSet):
        return x
    if is_probly(x):
        return from_probly(x)
    if isinstance(x, RealHull):
        raise_not_real("this function")
    return ConvexHull(x, validate=validate)


def arrange(x: Any, axis: int | None, class_axis: int | None) -> Any:
    """Return an array as a view ``(..., M, K)``; raise for a set, which has no such axes."""
    if isinstance(x, CredalSet | RealHull):
        _validation.raise_invalid(
            "axis" if class_axis is None else "class_axis",
            f"is given for a {type(x).__name__}",
            "pass the axes of an array when the set is created",
        )
    return as_members(x, axis, class_axis=class_axis)


def as_hull_or_set(x: Any, *, validate: bool | Literal["later"] = True) -> CredalSet | RealHull:
    """Return `x` if it is a `RealHull`, otherwise as `as_credal_set`."""
    return x if isinstance(x, RealHull) else as_credal_set(x, validate=validate)


#: Decorator of functions of credal sets; see `credalens._backend.dispatch`.
set_function = _backend.set_function(ConvexHull, as_credal_set, arrange, _validation.seed)
#: The same for functions that are also defined for real-valued targets.
real_or_set_function = _backend.set_function(ConvexHull, as_hull_or_set, arrange, _validation.seed)
