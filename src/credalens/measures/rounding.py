"""Errors of results in single precision, which cover the rounding of the results."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from credalens._backend import Array, is_tensor, namespace, stop_gradient
from credalens._backend.native import asarray_like
from credalens.measures.results import ComponentErrors, Interval, Uncertainty

#: Spacing of single precision relative to the value. Rounding changes a value by half of it.
EPSILON = float(np.finfo(np.float32).eps)
#: Most spacings, of the largest component, by which rounding changes a result: queries are computed
#: in double precision and rounded once, and at most four operations combine them.
SPACINGS = 4
#: Values that are processed at a time.
BLOCK = 1 << 15


def cover_rounding(Q: Any, error: Any, *values: Any, shift: float = 0.0) -> Any:
    """Return `error` plus a bound of what rounding to the dtype of the results changes.

    Parameters
    ----------
    Q : CredalSet
        The set, whose dtype the results have. Errors in double precision are returned unchanged.
    error : array
        The error before rounding.
    *values : arrays or Intervals
        The results, whose errors `error` is, and others that they are differences of.
    shift : float, default=0.0
        A number from which rounded numbers were subtracted, such as 1.

    Returns
    -------
    array
    """
    if Q.dtype.itemsize > 4:
        return error
    parts = [stop_gradient(part) for value in values for part in _ends(value)]
    if all(type(part) is np.ndarray and part.shape == np.shape(error) for part in parts):
        return _cover_arrays(np.asarray(error), parts, shift)
    # A solver may have computed some of the results of tensors on the host.
    like = next((part for part in (*parts, error) if is_tensor(part)), parts[0])
    xp, slack = namespace(like), asarray_like(error * (1 + 2 * EPSILON), like)
    sizes = (xp.abs(asarray_like(part, like)) for part in parts)
    # An infinite divergence is exact.
    finite = (xp.where(xp.isfinite(size), size, xp.zeros_like(size)) for size in sizes)
    # One after the other, to hold few arrays at a time.
    return slack + SPACINGS * EPSILON * (functools.reduce(xp.maximum, finite) + shift)


def _cover_arrays(error: Array, parts: list[Array], shift: float) -> Array:
    """Return the same for NumPy arrays, block by block, without temporaries of their size."""
    covered = np.empty(error.shape, np.result_type(error, np.float32))
    flat, errors, values = covered.reshape(-1), error.reshape(-1), [x.reshape(-1) for x in parts]
    for start in range(0, flat.size, BLOCK):
        at = slice(start, start + BLOCK)
        size = np.abs(values[0][at])
        for one in values[1:]:
            np.maximum(size, np.abs(one[at]), out=size)
        if not np.isfinite(size.max()):
            size = functools.reduce(np.maximum, (_finite(np.abs(one[at])) for one in values))
        size += shift
        size *= SPACINGS * EPSILON
        np.multiply(errors[at], 1 + 2 * EPSILON, out=flat[at])
        flat[at] += size
    return covered


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 0)


def _ends(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return (value.lower, value.upper) if isinstance(value, Interval) else (value,)


def with_rounding(
    Q: Any, u: Uncertainty, shift: float = 0.0, *, bounded: bool = False
) -> Uncertainty:
    """Return a result whose errors cover rounding; `bounded` if no component exceeds the total."""
    if Q.dtype.itemsize > 4:
        return u
    values = (u.total, u.aleatoric, u.epistemic)
    sizes = (u.total,) if bounded else values
    errors = u.errors
    if errors is not None:
        found = (errors.total, errors.aleatoric, errors.epistemic)
        errors = ComponentErrors(*(_covered(Q, error, sizes, shift) for error in found))
    return Uncertainty(*values, _covered(Q, u.error, sizes, shift), errors)


def _covered(Q: Any, error: Any, values: tuple[Any, ...], shift: float) -> Any:
    if isinstance(error, Interval):
        return Interval(*(cover_rounding(Q, end, *values, shift=shift) for end in _ends(error)))
    return None if error is None else cover_rounding(Q, error, *values, shift=shift)
