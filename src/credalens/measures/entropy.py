"""Upper and lower entropy, the measures of Abellan and Moral."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays.host import glimpse
from credalens.sets import CredalSet
from credalens.sets.anywhere import anywhere

#: A duality gap up to this many bits counts as certified.
CERTIFIED_BITS = 1e-9


def log_base(base: Any, n_classes: int) -> float:
    """Return the natural logarithm of a base: a number > 1, ``"e"`` or ``"classes"`` for K.

    With one class every entropy is 0, whatever the unit; ``"classes"`` then gives infinity, so
    that 0 divided by it stays 0.
    """
    if isinstance(base, str):
        if base == "e":
            return 1.0
        if base == "classes":
            return math.log(n_classes) if n_classes > 1 else math.inf
    number = isinstance(base, int | float | np.number) and not isinstance(base, bool)
    if not number or not 1 < base < math.inf:
        _validation.refuse("base", f"is {base!r}", 'pass a number > 1, "e" or "classes"')
    return math.log(base)


@anywhere
def upper_entropy(
    Q: Any, base: Any = 2, *, return_error: bool = False, return_distribution: bool = False
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

    Returns
    -------
    array of shape (...), or a tuple (value[, error][, distribution])
        The value is attained by the distribution, so that it is a lower bound; the optimum is at
        most the gap above it.

    Warns
    -----
    RuntimeWarning
        If an instance could not be certified to 1e-9 bits.

    Notes
    -----
    For hulls an active-set Newton method on the weights of the members, each instance on its own.
    With ``g_m = -sum_y P_my ln p_y`` the gap is ``max_m g_m - H(p)``, computed from the data. A
    class that is zero in every member plays no part.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.upper_entropy([[0.9, 0.1], [0.2, 0.8]])
    np.float64(1.0)
    """
    value, gap, distribution = Q.plain().max_entropy(distribution=return_distribution)
    certify(gap, "upper entropy")
    return _answer(Q, base, value, gap, distribution, return_error)


@anywhere
def lower_entropy(
    Q: Any, base: Any = 2, *, return_error: bool = False, return_distribution: bool = False
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

    Returns
    -------
    array of shape (...), or a tuple (value[, error][, distribution])
        Entropy is concave, so that the minimum over a hull is at a member: O(M K).

    Examples
    --------
    >>> import credalens as cl
    >>> cl.lower_entropy([[0.5, 0.5], [1.0, 0.0]])
    np.float64(0.0)
    """
    value, error, distribution = Q.plain().min_entropy(distribution=return_distribution)
    certify(error, "lower entropy")
    return _answer(Q, base, value, error, distribution, return_error)


def certify(gap: Any, what: str) -> None:
    """Warn of instances whose gap, in nats, is above the certified limit."""
    seen = glimpse(gap)
    if seen is None:  # traced: nobody knows yet
        return
    if seen.max(initial=0.0) > CERTIFIED_BITS * math.log(2):
        bits = seen.astype(np.float64) / math.log(2)
        warnings.warn(
            f"{what}: {int((bits > CERTIFIED_BITS).sum())} of {bits.size} instances could not be "
            f"certified to {CERTIFIED_BITS:g} bits; the worst error is {bits.max():.3g} bits",
            RuntimeWarning,
            stacklevel=4,
        )


def _answer(
    Q: CredalSet,
    base: Any,
    value: Any,
    error: Any,
    distribution: Any,
    with_error: bool,
) -> Any:
    unit = log_base(base, Q.n_classes)
    answer = [Q.answer(value / unit)]
    if with_error:
        answer.append(Q.answer(error / unit))
    if distribution is not None:
        answer.append(Q.answer(distribution))
    return answer[0] if len(answer) == 1 else tuple(answer)
