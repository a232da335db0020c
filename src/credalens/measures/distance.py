"""The paper's measures: total, aleatoric and epistemic uncertainty by distances."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from credalens import _validation
from credalens._backend import Array, TensorT, concrete_values, native
from credalens._warnings import warn_caller
from credalens.distances import Distance, TotalVariation
from credalens.distances.real_wasserstein import DEFAULT, distance_on
from credalens.measures import traced
from credalens.measures.results import Interval
from credalens.measures.rounding import cover_rounding
from credalens.sets import SetLike, real_or_set_function
from credalens.sets.hull import tv_of_array

#: Certified errors above this raise a warning.
CERTIFIED = 1e-6


def _total_of_array(members: Array) -> Any:
    found = tv_of_array(members, ((), None, None, None, None))
    return found and found[0]


def _aleatoric_of_array(members: Array) -> Any:
    found = tv_of_array(members, ((), (), (), None, ()))
    if found is None:
        return None
    _, lower, upper, _, error = found
    warn_of_error(error, "aleatoric uncertainty")
    return Interval(lower, upper)


def _epistemic_of_array(members: Array) -> Any:
    found = tv_of_array(members, (None, None, None, (), None))
    return found and found[3]


@overload
def total_uncertainty(
    Q: TensorT,
    distance: str | Distance = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def total_uncertainty(
    Q: SetLike,
    distance: str | Distance = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def total_uncertainty(
    Q: SetLike | TensorT,
    distance: str | Distance = ...,
    *,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Any, Any]: ...
@real_or_set_function(numpy_fast_path=_total_of_array, traced=traced.total)
def total_uncertainty(
    Q: Any,
    distance: str | Distance = DEFAULT,
    *,
    return_error: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return the distance of the set from full certainty, ``min_y max_{p in Q} d(p, delta_y)``.

    Parameters
    ----------
    Q : credal set, RealHull, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or Distance, default="tv"
        The distance between distributions, or its name (`credalens.distances.as_distance`), such as
        ``"tv"`` or ``"ordinal"`` (Wasserstein on 0, ..., K-1). A `RealHull` has ``"wasserstein"``,
        which is its default.
    return_error : bool, default=False
        Also return the certified error, ``(...)``: 0 except for truncated predictions
        (`ConvexHull.from_topk`) and for a `RealHull`, where it is that of a convex minimum over one
        variable.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of shape (...), or (array, array)
        For total variation ``1 - max_y lower({y})``, in O(M K). Exact for every distance: a
        distance is convex in p, so that an extreme point attains the maximum.

    References
    ----------
    González-García et al. (2026), equation (1) and Proposition 4.7.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.total_uncertainty([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])
    np.float64(0.5)

    On ordered classes the size of an error matters:

    >>> round(float(cl.total_uncertainty([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]], "ordinal")), 3)
    0.6
    """
    geometry = distance_on(Q, distance)
    value, error = geometry.total_and_error(Q)
    if return_error:
        found = native.zeros_like(value) if error is None else error
        return value, cover_rounding(Q, found, value)
    if error is not None:
        warn_of_error(geometry.relative_error(error, value), "total uncertainty")
    return value


@overload
def aleatoric_uncertainty(
    Q: SetLike | TensorT,
    distance: str | Distance = ...,
    *,
    end: Literal["both"] = ...,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Interval: ...
@overload
def aleatoric_uncertainty(
    Q: TensorT,
    distance: str | Distance = ...,
    *,
    end: Literal["both"] = ...,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Interval, TensorT]: ...
@overload
def aleatoric_uncertainty(
    Q: SetLike,
    distance: str | Distance = ...,
    *,
    end: Literal["both"] = ...,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Interval, Array]: ...
@overload
def aleatoric_uncertainty(
    Q: TensorT,
    distance: str | Distance = ...,
    *,
    end: Literal["lower"],
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def aleatoric_uncertainty(
    Q: SetLike,
    distance: str | Distance = ...,
    *,
    end: Literal["lower"],
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def aleatoric_uncertainty(
    Q: SetLike | TensorT,
    distance: str | Distance = ...,
    *,
    end: Literal["lower"],
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Any, Any]: ...
@real_or_set_function(numpy_fast_path=_aleatoric_of_array, traced=traced.aleatoric)
def aleatoric_uncertainty(
    Q: Any,
    distance: str | Distance = DEFAULT,
    *,
    end: Literal["both", "lower"] = "both",
    return_error: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return the interval of ``min_y d(p, delta_y)`` over the members p of the set.

    Parameters
    ----------
    Q : credal set, RealHull, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or Distance, default="tv"
        The distance between distributions; see `total_uncertainty`.
    end : {"both", "lower"}, default="both"
        With ``"lower"``, return the lower end only, which for total variation is a closed form, the
        uncertainty of the most certain member.
    return_error : bool, default=False
        Also return the certified error of the ends, ``(...)``: the larger of the distances of the
        lower end from the minimum and of the upper end from the maximum.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    Interval, array of shape (...) for the lower end, or one of them and an array
        Both ends are attained by members of the set, not only by its generators: where the
        generators disagree on the most probable class, the upper end is the value of a matrix game,
        solved by an exact simplex method for each instance. For MMD and finite classes of test
        functions the upper end is not a convex problem and is computed by branch and bound.

    Warns
    -----
    RuntimeWarning
        If an error above 1e-6 remains and `return_error` is False.

    References
    ----------
    González-García et al. (2026), equation (3), Propositions 4.7 and 4.9, and Algorithm 4.

    Examples
    --------
    Two members that are certain of different classes have a mixture with equal probabilities:

    >>> import credalens as cl
    >>> cl.aleatoric_uncertainty([[0.9, 0.1], [0.2, 0.8]]).upper
    np.float64(0.5)
    """
    _validation.one_of(end, "end", ("both", "lower"))
    geometry = distance_on(Q, distance)
    if end == "lower" and type(geometry) is TotalVariation:
        lower = Q.tv_closed_forms(epistemic=False)[1]
        if not return_error:
            return lower
        return lower, cover_rounding(Q, native.zeros_like(lower), lower)
    lower, upper, error = geometry.aleatoric(Q)
    if end == "lower":
        return (lower, cover_rounding(Q, error, lower)) if return_error else lower
    if return_error:
        return Interval(lower, upper), cover_rounding(Q, error, upper)
    warn_of_error(geometry.relative_error(error, upper), "aleatoric uncertainty")
    return Interval(lower, upper)


@overload
def epistemic_uncertainty(
    Q: TensorT,
    distance: str | Distance = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def epistemic_uncertainty(
    Q: SetLike,
    distance: str | Distance = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def epistemic_uncertainty(
    Q: SetLike | TensorT,
    distance: str | Distance = ...,
    *,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Any, Any]: ...
@real_or_set_function(numpy_fast_path=_epistemic_of_array, traced=traced.epistemic)
def epistemic_uncertainty(
    Q: Any,
    distance: str | Distance = DEFAULT,
    *,
    return_error: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return half the diameter of the set, ``max_{p, q in Q} d(p, q) / 2``.

    Parameters
    ----------
    Q : credal set, RealHull, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or Distance, default="tv"
        The distance between distributions; see `total_uncertainty`.
    return_error : bool, default=False
        Also return an upper bound of how far each value is below the maximum, ``(...)``: 0 for
        hulls. For truncated predictions how far it is from the maximum, on either side.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of shape (...), or (array, array)
        For hulls half the largest distance between two members, in O(M^2 K); with total variation
        in O(M 2^K) if that is less, and with fewer than M^2 pairs for many members close to each
        other. For probability intervals over more than 40 classes only bounds may be certified:
        then the lower one, with its error.

    Raises
    ------
    ValueError
        If a cost is not symmetric or violates the triangle inequality, or if only bounds are
        certified and `return_error` is False.

    References
    ----------
    González-García et al. (2026), equation (4) and Proposition 4.7.

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.epistemic_uncertainty([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])), 3)
    0.1
    """
    geometry = distance_on(Q, distance)
    errors = geometry.component_errors(Q)
    if errors is not None:
        value = geometry.epistemic(Q)
        if not return_error:
            warn_of_error(errors[3], "epistemic uncertainty")
        return (value, cover_rounding(Q, errors[3], value)) if return_error else value
    if not return_error:
        return geometry.epistemic(Q)
    lower, upper = geometry.diameter_bounds_of(Q)
    return lower / 2, cover_rounding(Q, (upper - lower) / 2, upper)


def warn_of_error(error: Any, what: str) -> None:
    """Warn of instances with an error above `CERTIFIED`."""
    values: Any = error if isinstance(error, np.ndarray | np.generic) else concrete_values(error)
    if values is None:  # traced
        return
    if values.size == 1 and values.item() <= CERTIFIED:  # a reduction would take longer
        return
    count = int(np.count_nonzero(values > CERTIFIED))
    if count:
        warn_caller(
            f"{what}: {count} of {values.size} instances are certified only to "
            f"{float(np.max(values)):.3g}; pass return_error=True for the error of each",
            RuntimeWarning,
        )
