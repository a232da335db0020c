"""Validation of class probability bounds, and tightening to reachable ones."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, as_contiguous


def broadcast_bounds(low: Array, high: Array) -> tuple[Array, Array]:
    """Return bounds broadcast to the same shape, ``(..., K)``."""
    for name, bound in (("lower", low), ("upper", high)):
        if bound.ndim < 1 or bound.shape[-1] == 0:
            _validation.raise_invalid(
                name, f"has shape {bound.shape}", "pass an array (..., classes)"
            )
    if low.shape[-1] != high.shape[-1]:
        _validation.raise_invalid(
            "upper", f"has {high.shape[-1]} classes", f"pass {low.shape[-1]}, as in lower"
        )
    _validation.check_broadcastable("upper", high.shape, "lower", low.shape)
    low, high = np.broadcast_arrays(low, high)
    return low, high


@functools.cache
def _slack(dtype: np.dtype[Any]) -> float:
    """Return the rounding error of a bound of `dtype`."""
    return 8 * float(np.finfo(dtype).eps)


def reachable_bounds(
    low: Array, high: Array, strict: bool, rounding: float = 0.0
) -> tuple[Array, Array, Array]:
    """Return reachable bounds and the largest ones ``(..., 2)``; raise if they are invalid.

    `strict` raises for bounds that are not reachable instead of tightening them. `rounding` is that
    of bounds in half precision.
    """
    dtype, shape = low.dtype, low.shape
    slack = max(_slack(dtype), rounding)
    tolerance = max(_validation.tolerance_of(dtype), rounding)
    kind = np.float32 if dtype == np.float32 else np.float64
    lows, highs = as_contiguous(low, kind), as_contiguous(high, kind)
    if len(shape) != 2:
        lows, highs = lows.reshape(-1, shape[-1]), highs.reshape(-1, shape[-1])
    tops, loose = np.empty((len(lows), 2), kind), np.empty(len(lows), bool)
    if _kernels.check_bounds(lows, highs, slack, tolerance, tops, loose, DEFAULT_THREADS) >= 0:
        _raise_bounds(low, high, slack, tolerance)
    if np.count_nonzero(loose):
        given = low, high
        low, high = _tightened(lows, highs, slack, tolerance, tops, loose)
        low, high = (end.reshape(shape).astype(dtype, copy=False) for end in (low, high))
        if strict:
            fix = "no distribution attains it; strict=False tightens it"
            text, (first, second) = "is {:.6g}{}", given
            _validation.raise_first(low > first + tolerance, first, "lower", text, fix)
            _validation.raise_first(high < second - tolerance, second, "upper", text, fix)
    tops.setflags(write=False)
    return low, high, tops if len(shape) == 2 else tops.reshape(*shape[:-1], 2)


def _tightened(
    lows: Array, highs: Array, slack: float, tolerance: float, tops: Array, loose: Array
) -> tuple[Array, Array]:
    """Return bounds ``(n, K)``, tightened for loose instances, and update their `tops`.

    The others are unchanged: an instance does not depend on its batch.
    """
    if loose.all():
        tight = np.empty_like(lows), np.empty_like(highs)
        _kernels.reachable_bounds(lows, highs, slack, tolerance, *tight, tops, DEFAULT_THREADS)
        return tight
    own = tops[loose]
    some = _tightened(lows[loose], highs[loose], slack, tolerance, own, loose[loose])
    tops[loose], lows, highs = own, lows.copy(), highs.copy()
    lows[loose], highs[loose] = some
    return lows, highs


def _raise_bounds(low: Array, high: Array, slack: float, tolerance: float) -> None:
    """Raise if the bounds are invalid by more than the rounding of a sum."""
    low = _validation.finite(low, "lower").astype(np.float64)
    high = _validation.finite(high, "upper").astype(np.float64)
    fix = "pass probabilities in [0, 1]"
    raise_first = _validation.raise_first
    raise_first(low < -slack, low, "lower", "is {:.6g}{}", fix)
    raise_first(high > 1 + slack, high, "upper", "is {:.6g}{}", fix)
    above = "is {:.6g}{}, above upper"
    raise_first(low > high + slack, low, "lower", above, "pass lower <= upper")
    sums = np.clip(low, 0.0, 1.0).sum(axis=-1), np.clip(high, 0.0, 1.0).sum(axis=-1)
    empty = "the set is empty: pass bounds with sum(lower) <= 1 <= sum(upper)"
    raise_first(sums[0] > 1 + tolerance, sums[0], "lower", "sums to {:.6g}{}", empty)
    raise_first(sums[1] < 1 - tolerance, sums[1], "upper", "sums to {:.6g}{}", empty)
