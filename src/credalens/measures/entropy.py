"""Upper and lower entropy, the measures of Abellán and Moral."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from credalens import _validation
from credalens._backend import Array, TensorT, concrete_values
from credalens._warnings import warn_caller
from credalens.measures.rounding import cover_rounding
from credalens.sets import CredalSet, SetLike, set_function

#: Duality gaps up to this number of bits count as certified.
CERTIFIED_BITS = 1e-9


#: Unit of an entropy.
Base = float | Literal["e", "classes"]


def log_base(base: Base, n_classes: int) -> float:
    """Return the natural logarithm of a base: a number > 1, ``"e"`` or ``"classes"`` for K.

    With one class every entropy is 0 in any unit; ``"classes"`` then gives infinity, so that 0
    divided by it is 0.
    """
    if isinstance(base, str):
        if base == "e":
            return 1.0
        if base == "classes":
            return math.log(n_classes) if n_classes > 1 else math.inf
    number = isinstance(base, int | float | np.number) and not isinstance(base, bool)
    if not number or not 1 < base < math.inf:
        _validation.raise_invalid("base", f"is {base!r}", 'pass a number > 1, "e" or "classes"')
    return math.log(base)


@overload
def upper_entropy(
    Q: TensorT,
    base: Base = ...,
    *,
    return_error: Literal[False] = ...,
    return_distribution: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def upper_entropy(
    Q: SetLike,
    base: Base = ...,
    *,
    return_error: Literal[False] = ...,
    return_distribution: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def upper_entropy(
    Q: SetLike | TensorT,
    base: Base = ...,
    *,
    return_error: bool = ...,
    return_distribution: bool = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Any: ...
@set_function()
def upper_entropy(
    Q: Any,
    base: Base = 2,
    *,
    return_error: bool = False,
    return_distribution: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return the largest Shannon entropy over the set, S*.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    base : number > 1, "e" or "classes", default=2
        Unit of the result; ``"classes"`` divides by log K, for values in [0, 1].
    return_error : bool, default=False
        Also return the certified duality gap, ``(...)``.
    return_distribution : bool, default=False
        Also return the maximising distribution, ``(..., K)``.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of shape (...), or a tuple (value[, error][, distribution])
        The distribution attains the value, a lower bound; the optimum is at most the gap above.

    Warns
    -----
    RuntimeWarning
        If an instance could not be certified to 1e-9 bits.

    Notes
    -----
    For hulls an active-set Newton method on the weights of the members, for each instance. With
    ``g_m = -sum_y P_my ln p_y`` the duality gap is ``max_m g_m - H(p)``, computed from the data.
    Classes with probability zero in every member are dropped.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.upper_entropy([[0.9, 0.1], [0.2, 0.8]])
    np.float64(1.0)
    """
    value, gap, *distribution = Q.max_entropy(distribution=return_distribution)
    if not (return_error and Q.truncated):
        warn_of_gap(gap, "upper entropy")
    return _result(Q, base, value, gap, distribution, return_error)


@overload
def lower_entropy(
    Q: TensorT,
    base: Base = ...,
    *,
    return_error: Literal[False] = ...,
    return_distribution: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> TensorT: ...
@overload
def lower_entropy(
    Q: SetLike,
    base: Base = ...,
    *,
    return_error: Literal[False] = ...,
    return_distribution: Literal[False] = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Array: ...
@overload
def lower_entropy(
    Q: SetLike | TensorT,
    base: Base = ...,
    *,
    return_error: bool = ...,
    return_distribution: bool = ...,
    axis: int | None = ...,
    class_axis: int | None = ...,
) -> Any: ...
@set_function()
def lower_entropy(
    Q: Any,
    base: Base = 2,
    *,
    return_error: bool = False,
    return_distribution: bool = False,
    axis: int | None = None,
    class_axis: int | None = None,
) -> Any:
    """Return the smallest Shannon entropy over the set, S_*.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    base : number > 1, "e" or "classes", default=2
        Unit of the result; ``"classes"`` divides by log K, for values in [0, 1].
    return_error : bool, default=False
        Also return the certified error, ``(...)``: 0 for hulls.
    return_distribution : bool, default=False
        Also return the minimising distribution, ``(..., K)``.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of shape (...), or a tuple (value[, error][, distribution])
        Entropy is concave, so that a member attains the minimum over a hull: O(M K).

    Examples
    --------
    >>> import credalens as cl
    >>> cl.lower_entropy([[0.5, 0.5], [1.0, 0.0]])
    np.float64(0.0)
    """
    value, error, *distribution = Q.min_entropy(distribution=return_distribution)
    if not (return_error and Q.truncated):
        warn_of_gap(error, "lower entropy")
    return _result(Q, base, value, error, distribution, return_error)


def warn_of_gap(gap: Any, what: str) -> None:
    """Warn of instances whose gap, in nats, is above the certified limit."""
    nats = concrete_values(gap)
    if nats is not None and nats.size == 1 and nats.item() <= CERTIFIED_BITS * math.log(2):
        return  # a reduction would take longer
    if nats is not None and nats.max(initial=0.0) > CERTIFIED_BITS * math.log(2):
        bits = nats.astype(np.float64) / math.log(2)
        warn_caller(
            f"{what}: {int((bits > CERTIFIED_BITS).sum())} of {bits.size} instances could not be "
            f"certified to {CERTIFIED_BITS:g} bits; the worst error is {bits.max():.3g} bits",
            RuntimeWarning,
        )


def _result(
    Q: CredalSet, base: Any, value: Any, error: Any, distribution: list[Any], with_error: bool
) -> Any:
    unit = log_base(base, Q.n_classes)
    value = value / unit
    errors = (cover_rounding(Q, error / unit, value),) if with_error else ()
    results = (value, *errors, *distribution)
    return results[0] if len(results) == 1 else results
