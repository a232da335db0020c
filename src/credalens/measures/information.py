"""Entropies of the members as a sample: the information-theoretic decomposition."""

from __future__ import annotations

from typing import Any, Literal, overload

from credalens._backend import Array, TensorT, native
from credalens.measures.distance import warn_of_error
from credalens.measures.entropy import Base, log_base
from credalens.measures.rounding import cover_rounding
from credalens.sets import CredalSet, SetLike, set_function


def _part(Q: CredalSet, base: Base, part: int, what: str, return_error: bool) -> Any:
    unit = log_base(base, Q.n_classes)
    value, errors = Q.second_order("log")[part] / unit, Q.second_order_errors("log")
    if return_error:
        error = native.zeros_like(value) if errors is None else errors[part] / unit
        return value, cover_rounding(Q, error, value)
    if errors is not None:
        warn_of_error(errors[part] / unit, what)
    return value


@overload
def predictive_entropy(
    Q: TensorT,
    base: Base = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def predictive_entropy(
    Q: SetLike,
    base: Base = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def predictive_entropy(
    Q: SetLike | TensorT,
    base: Base = ...,
    *,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Any, Any]: ...
@set_function()
def predictive_entropy(
    Q: Any,
    base: Base = 2,
    *,
    return_error: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return the Shannon entropy of the mean of the members, ``H(mean_m p_m)``.

    Parameters
    ----------
    Q : ConvexHull, or array-like of shape (..., M, K)
        M predictions, a sample of a distribution over distributions: a member that occurs twice
        counts twice.
    base : number > 1, "e" or "classes", default=2
        Unit of the result; ``"classes"`` divides by log K, for values in [0, 1].
    return_error : bool, default=False
        Also return the certified error, ``(...)``: 0 except for truncated predictions
        (`ConvexHull.from_topk`).
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of shape (...), or (array, array)
        The sum of `expected_entropy` and `mutual_information`, in O(M K).

    Raises
    ------
    ValueError
        If the set has no members.

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.predictive_entropy([[0.9, 0.1], [0.1, 0.9]])), 3)
    1.0
    """
    return _part(Q, base, 0, "predictive entropy", return_error)


@overload
def expected_entropy(
    Q: TensorT,
    base: Base = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def expected_entropy(
    Q: SetLike,
    base: Base = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def expected_entropy(
    Q: SetLike | TensorT,
    base: Base = ...,
    *,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Any, Any]: ...
@set_function()
def expected_entropy(
    Q: Any,
    base: Base = 2,
    *,
    return_error: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return the mean of the Shannon entropies of the members, ``mean_m H(p_m)``.

    Parameters
    ----------
    Q : ConvexHull, or array-like of shape (..., M, K)
        M predictions; see `predictive_entropy`.
    base : number > 1, "e" or "classes", default=2
        Unit of the result.
    return_error : bool, default=False
        Also return the certified error, ``(...)``: 0 except for truncated predictions
        (`ConvexHull.from_topk`).
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of shape (...), or (array, array)
        In O(M K).

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.expected_entropy([[0.9, 0.1], [0.1, 0.9]])), 3)
    0.469
    """
    return _part(Q, base, 1, "expected entropy", return_error)


@overload
def mutual_information(
    Q: TensorT,
    base: Base = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def mutual_information(
    Q: SetLike,
    base: Base = ...,
    *,
    return_error: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def mutual_information(
    Q: SetLike | TensorT,
    base: Base = ...,
    *,
    return_error: Literal[True],
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> tuple[Any, Any]: ...
@set_function()
def mutual_information(
    Q: Any,
    base: Base = 2,
    *,
    return_error: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return the mutual information of the label and the member, ``H(mean) - mean H``.

    Also known as the Jensen-Shannon divergence of the members, and as BALD.

    Parameters
    ----------
    Q : ConvexHull, or array-like of shape (..., M, K)
        M predictions; see `predictive_entropy`.
    base : number > 1, "e" or "classes", default=2
        Unit of the result.
    return_error : bool, default=False
        Also return the certified error, ``(...)``: 0 except for truncated predictions
        (`ConvexHull.from_topk`).
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of shape (...), or (array, array)
        Not negative, 0 if all members are equal; in O(M K).

    References
    ----------
    Houlsby et al. (2011), "Bayesian active learning for classification and preference learning";
    Depeweg et al. (2018), "Decomposition of uncertainty in Bayesian deep learning".

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.mutual_information([[0.9, 0.1], [0.1, 0.9]])), 3)
    0.531
    """
    return _part(Q, base, 2, "mutual information", return_error)
