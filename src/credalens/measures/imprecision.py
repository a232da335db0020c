"""Imprecision of the lower and upper probability of a credal set."""

from __future__ import annotations

from typing import Any, Literal, overload

from credalens._backend import Array, TensorT, native
from credalens.distances import Distance, as_distance
from credalens.measures.distance import warn_of_error
from credalens.sets import SetLike, set_function


@overload
def maximum_mean_imprecision(
    Q: TensorT,
    distance: str | Distance = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def maximum_mean_imprecision(
    Q: SetLike,
    distance: str | Distance = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def maximum_mean_imprecision(
    Q: SetLike | TensorT,
    distance: str | Distance = ...,
    *,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Any, Any]: ...
@set_function()
def maximum_mean_imprecision(
    Q: Any,
    distance: str | Distance = "tv",
    *,
    return_error: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return the largest difference of upper and lower Choquet integrals over the test functions.

    ``MMI = max over f of (int f d upper - int f d lower)``, with Choquet integrals with respect to
    the upper and lower probability of the set.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or Distance, default="tv"
        Defines the class of test functions; see `total_uncertainty`.
    return_error : bool, default=False
        Also return an upper bound of how far each value is below the maximum, ``(...)``.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of shape (...), or (array, array)
        For total variation and Kolmogorov the diameter, twice the epistemic uncertainty. For finite
        classes of test functions the largest over these. For Wasserstein and MMD, where it can
        exceed the diameter, the maximum over all pieces on which the integrals are linear, for up
        to 7 classes; beyond, the diameter, with the distance to a certified upper bound as error.

    Warns
    -----
    RuntimeWarning
        If an error above 1e-6 remains and `return_error` is False.

    Raises
    ------
    ValueError
        If a cost is not symmetric or violates the triangle inequality.

    Notes
    -----
    At least twice the epistemic uncertainty, and equal to it if the lower probability is 2-monotone
    and the set contains all distributions that dominate it, as boxes and neighbourhoods do; hulls
    in general do not. The pieces depend on the distance only and are listed once; an instance costs
    ``O(2^K (M + F))`` with about 12 000 pieces F for Wasserstein, 24 000 for MMD, at K = 7.

    References
    ----------
    González-García et al. (2026), Proposition 4.6 and Corollary 4.10; Chau et al. (2025), "Integral
    imprecise probability metrics".

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]]
    >>> round(float(cl.maximum_mean_imprecision(members)), 3)
    0.2
    >>> round(float(cl.maximum_mean_imprecision(members, "ordinal")), 3)
    0.2
    """
    value, error = as_distance(distance, Q.n_classes).imprecision(Q)
    if return_error:
        return value, error
    warn_of_error(error, "maximum mean imprecision")
    return value


@overload
def imprecision_bound(
    Q: TensorT, *, axis: int | None = ..., class_axis: int | None = ...
) -> TensorT: ...
@overload
def imprecision_bound(
    Q: SetLike, *, axis: int | None = ..., class_axis: int | None = ...
) -> Array: ...
@set_function()
def imprecision_bound(Q: Any, *, axis: int | None = None, class_axis: int | None = None) -> Any:
    """Return ``1 - sum of the lower class probabilities``, an upper bound of the MMI under TV.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of shape (...)
        In O(M K), where the exact value takes all pairs of members.

    References
    ----------
    Chau et al. (2025), "Integral imprecise probability metrics".

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.imprecision_bound([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])), 3)
    0.2
    """
    return native.complement(Q.lower_sum())
