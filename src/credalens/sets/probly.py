"""Objects of the library probly, known by their attributes: probly is not imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from credalens import _validation
from credalens.sets.adapters import as_members, is_probly
from credalens.sets.base import CredalSet
from credalens.sets.hull import ConvexHull
from credalens.sets.intervals import ProbabilityIntervals
from credalens.sets.total_variation_ball import TotalVariationBall


def from_probly(obj: Any) -> CredalSet:
    """Return a credal set, sample or distribution of the library probly as a credal set.

    Parameters
    ----------
    obj : object of probly, or array-like of shape (..., M, K)
        Known by its attributes, so that probly is not imported:

        =============================  =========================================================
        convex and discrete sets       `ConvexHull` of their distributions (``array``,
                                       ``tensor``); that of a discrete set fills its gaps
        singletons, distributions      `ConvexHull` of one member (``probabilities``)
        samples (of an ensemble)       `ConvexHull` of ``samples`` with a positive weight
        probability intervals          `ProbabilityIntervals` (``lower_bounds``,
                                       ``upper_bounds``)
        distance-based sets            `TotalVariationBall` (``nominal``, ``radius``)
        ``CredalRepresentation``       by its ``structure``: hull, or box round the members
        =============================  =========================================================

        What ``predict_representation`` of probly 0.3 returns is an array of members and taken as
        it is.

    Returns
    -------
    ConvexHull, ProbabilityIntervals or TotalVariationBall
        Data of PyTorch and JAX stay there.

    Raises
    ------
    ValueError
        For objects that are no polytopes (Dirichlet level sets, second-order distributions), and
        for models, which have to predict first.

    Notes
    -----
    Written against probly 0.3.0 and 0.9.1, both of which were seen to run, the latter with its
    NumPy-backed classes.

    Examples
    --------
    >>> import credalens as cl
    >>> from types import SimpleNamespace
    >>> intervals = SimpleNamespace(lower_bounds=[0.1, 0.5], upper_bounds=[0.5, 0.9])
    >>> cl.from_probly(intervals)
    ProbabilityIntervals(batch_shape=(), n_classes=2, dtype=float64)
    """
    if isinstance(obj, CredalSet):
        return obj
    if hasattr(obj, "lower_bounds") and hasattr(obj, "upper_bounds"):
        return ProbabilityIntervals(obj.lower_bounds, obj.upper_bounds)
    if hasattr(obj, "nominal") and hasattr(obj, "radius"):
        return TotalVariationBall(_distributions(obj.nominal), obj.radius)
    if hasattr(obj, "structure") and hasattr(obj, "data"):
        return _representation(obj)
    if hasattr(obj, "samples") and hasattr(obj, "sample_size"):
        return ConvexHull(_sample_members(obj))
    held: Any = getattr(obj, "array", getattr(obj, "tensor", None))
    if hasattr(held, "probabilities"):
        alone = 0 in getattr(obj, "protected_axes", {}).values()
        return ConvexHull(_one_member(held) if alone else held.probabilities)
    if hasattr(obj, "probabilities"):
        return ConvexHull(_one_member(obj))
    if is_probly(obj) or not (hasattr(obj, "__array__") or isinstance(obj, Sequence)):
        _refuse_object(obj)
    return ConvexHull(obj)


def _distributions(x: Any) -> Any:
    return x.probabilities if hasattr(x, "probabilities") else x


def _one_member(distribution: Any) -> Any:
    return distribution.probabilities[..., None, :]


def _representation(obj: Any) -> CredalSet:
    """Return what ``CredalRepresentation`` of probly 0.3 stands for."""
    if getattr(obj, "problem", "classification") != "classification":
        _validation.raise_invalid("obj", f"is about {obj.problem}", "pass one about classification")
    structure = getattr(obj.structure, "value", obj.structure)
    _validation.one_of(structure, "obj.structure", ("convex_hull", "interval", "finite"))
    box = structure == "interval"
    return ProbabilityIntervals.from_members(obj.data) if box else ConvexHull(obj.data)


def _sample_members(sample: Any) -> Any:
    """Return the distributions of a sample as members; its samples come on the first axis."""
    drawn = sample.samples
    if isinstance(drawn, Sequence):
        drawn = [_distributions(one) for one in drawn]
        members = as_members(drawn, 0, "obj.samples")
    else:
        members = as_members(_distributions(drawn), 0, "obj.samples")
    if getattr(sample, "weights", None) is None:
        return members
    weighted = np.flatnonzero(np.asarray(sample.weights) > 0)
    return members if len(weighted) == members.shape[-2] else members[..., weighted, :]


def _refuse_object(obj: Any) -> NoReturn:
    name = type(obj).__name__
    if any(hasattr(obj, method) for method in ("predict_representation", "represent")):
        _validation.raise_invalid(
            "obj",
            f"is a {name}, which has to predict first",
            "pass what its predict_representation(x), or represent(x), returns",
        )
    _validation.raise_invalid(
        "obj",
        f"is a {name}, which is not understood",
        "pass a convex, discrete, singleton, probability-interval or distance-based credal set, a "
        "sample or distribution of class probabilities, or an array (..., members, classes)",
    )
