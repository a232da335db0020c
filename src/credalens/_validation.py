"""Input validation and the construction of its errors.

Every error about an argument is a ``ValueError`` built by `raise_invalid`: the argument, the index
and value of the first invalid entry, and what to pass instead.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens._backend import (
    Array,
    backend_of,
    first_invalid_row,
    half_kind,
    has_values,
    is_tensor,
    namespace,
    native,
    stop_gradient,
    to_numpy,
)
from credalens._errors import counted, format_index, raise_first, raise_invalid
from credalens._row_errors import raise_row
from credalens._row_kinds import (
    BFLOAT16_ROUNDING,
    EXACT,
    FLOAT16_UNDERFLOW,
    ROUNDING,
    divide_inexact_rows,
)
from credalens._warnings import warn_caller

#: Names that other modules import from here, in addition to those defined below.
__all__ = ["counted", "format_index", "raise_first", "raise_invalid"]

#: The trailing axes of the predictions of several members.
MEMBERS = ("members", "classes")


@functools.cache
def tolerance_of(dtype: np.dtype[Any]) -> float:
    """Return the tolerance of masses, bounds and shifts: the square root of the precision."""
    kind = dtype if dtype.kind == "f" else np.dtype(np.float64)
    return math.sqrt(float(np.finfo(kind).eps))


def rounding_of(x: Any) -> float:
    """Return the largest deviation of row sums from 1 that is rounding.

    1e-3, in bfloat16 1e-2; in float16 1e-3 and 3e-8 per class, since small numbers underflow.
    """
    kind = half_kind(x)
    if kind == "bfloat16":
        return BFLOAT16_ROUNDING
    return ROUNDING + (FLOAT16_UNDERFLOW * x.shape[-1] if kind and x.ndim else 0.0)


def rounding_report(x: Any) -> Callable[[str, float], None]:
    """Return `warn_of_rounding` for an array of any dtype."""
    own = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "": 0.0}[half_kind(x)]
    if own and x.ndim:
        own += FLOAT16_UNDERFLOW * x.shape[-1]
    return functools.partial(warn_of_rounding, own=own)


def half_rounding(*given: Any) -> float:
    """Return the rounding of sums of arrays in half precision, 0 if none is."""
    return max(rounding_of(x) if half_kind(x) else 0.0 for x in given)


def warn_of_rounding(name: str, deviation: float, own: float = 0.0) -> None:
    """Warn of rows whose sums differ from 1 by more than the rounding of single precision.

    The threshold is the square root of that precision, 3.5e-4: text with six digits is silent.
    `own` is the rounding of the dtype of the rows, which is silent too.
    """
    if deviation > max(tolerance_of(np.dtype(np.float32)), own):
        warn_caller(
            f"{name}: rows sum to 1 within {deviation:.2g} and are divided by their sums; "
            "normalize=True does so without this warning",
            UserWarning,
        )


def slack_of(*dtypes: np.dtype[Any]) -> float:
    """Return the default tolerance of membership: 1e-9, in single precision 1e-6."""
    return 1e-6 if min(dtype.itemsize for dtype in dtypes) <= 4 else 1e-9


def numeric(x: Any, name: str) -> Array:
    """Return `x` as a real floating array; raise if it is not numeric.

    Half precision becomes single precision.
    """
    array = to_numpy(x, name)
    kind = array.dtype.kind
    if half_kind(array):
        return array.astype(np.float32)
    if kind == "f":
        return array
    if kind in "biu":
        return array.astype(np.float64)
    if kind == "c":
        raise_invalid(name, f"is complex ({array.dtype})", "pass real probabilities")
    return raise_invalid(name, f"is not numeric (dtype {array.dtype})", "pass an array of floats")


def finite(x: Any, name: str) -> Array:
    """Return `x` as a real floating array without NaN and infinity."""
    array = numeric(x, name)
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        at = f" at index {format_index(where)} (zero-based)" if where else ""
        word = "NaN" if np.isnan(array[where]) else "infinite"
        raise_invalid(name, f"is {word}{at}", "pass finite numbers")
    return array


def logits(x: Any, name: str, present: Array | None = None) -> Array:
    """Return `x` ``(..., K)`` as a real floating array of logits; -inf is the logarithm of 0.

    Rows that are not `present` ``(...)`` are not validated.
    """
    array = numeric(x, name)
    check_axes(array, name)
    kept = True if present is None else present[..., None]
    for word, bad in (("NaN", np.isnan(array)), ("infinite", np.isposinf(array))):
        if (bad & kept).any():
            where = tuple(np.argwhere(bad & kept)[0])
            fix = "pass finite numbers"
            if word == "infinite":
                fix += ", or -inf for classes that are excluded"
            elif np.isnan(array[where[:-1]]).all():
                fix += ', or missing="allow" if the member is missing'
            raise_invalid(name, f"is {word} at index {format_index(where)} (zero-based)", fix)
    lost = np.isneginf(array).all(axis=-1) & (True if present is None else present)
    if lost.any():
        at = format_index(np.argwhere(lost)[0])
        raise_invalid(
            name,
            f"row {at} (zero-based) is -inf for every class",
            "pass a finite number for a class that is possible",
        )
    return array


def probabilities(
    x: Any,
    name: str,
    *,
    axes: tuple[str, ...] = MEMBERS,
    normalize: bool = False,
    validate: bool = True,
    rescale: str | None = None,
    rounding: float | None = None,
    report: Callable[[str, float], None] | None = None,
) -> Array:
    """Return `x` as an array of probability vectors along the last axis.

    `axes` names the required trailing axes. A row may sum to 1 within `rounding`, by default
    `rounding_of`; rows that miss 1 by more than `EXACT` are divided by their sums in a
    copy, and `report` is called with `name` and the largest deviation. ``normalize=True`` divides
    all rows by their sums first; `rescale` tells the caller how to request that, by default with
    a parameter of `ConvexHull`, or of the set that was called.
    """
    array = numeric(x, name)
    check_axes(array, name, axes)
    if not validate:
        return array
    if normalize:
        return _normalized(array, name)
    if first_invalid_row(array, EXACT) < 0:
        return array
    tolerance = rounding_of(x) if rounding is None else rounding
    bad = first_invalid_row(array, tolerance)
    if bad >= 0:
        row = np.unravel_index(bad, array.shape[:-1]) if array.ndim > 1 else ()
        integers = to_numpy(x, name).dtype.kind in "iu"
        if rescale is None:
            call = f"ConvexHull({name}, normalize=True)" if axes == MEMBERS else "normalize=True"
            rescale = f"{call} rescales rows"
        raise_row(array, tuple(int(i) for i in row), name, tolerance, rescale, integers)
    array, deviation = divide_inexact_rows(array, overwrite=half_kind(x) != "")
    if report is not None:
        report(name, deviation)
    return array


def distributions(x: Any, name: str) -> Array:
    """Return `x` as distributions ``(..., K)``, of which there are no members."""
    return probabilities(x, name, axes=("classes",), rescale="divide it by its sum")


def check_broadcastable(
    name: str, shape: tuple[int, ...], other: str, like: tuple[int, ...]
) -> None:
    """Raise if the `shape` of `name` does not broadcast with that of `other`."""
    try:
        np.broadcast_shapes(shape, like)
    except ValueError:
        raise_invalid(name, f"has shape {shape}, {other} {like}", "pass shapes that broadcast")


def check_axes(array: Any, name: str, axes: tuple[str, ...] = MEMBERS) -> None:
    """Raise if an array lacks one of the trailing `axes`, or has length 0 along it."""
    shape = tuple(array.shape)
    if array.ndim >= len(axes) and 0 not in shape[-len(axes) :]:
        return
    if array.ndim < len(axes):
        raise_invalid(
            name,
            f"has {array.ndim} axes, shape {shape}",
            f"pass an array of shape (..., {', '.join(axes)})",
        )
    for axis, size in zip(axes, shape[-len(axes) :], strict=True):
        if size == 0:
            raise_invalid(name, f"has no {axis}, shape {shape}", f"pass at least one of the {axis}")


def native_array(x: Any, name: str) -> Any:
    """Return a tensor as a real floating one on its device, possibly in half precision."""
    xp = namespace(x)
    if xp.isdtype(x.dtype, "complex floating"):
        raise_invalid(name, f"is complex ({x.dtype})", "pass real probabilities")
    return x if xp.isdtype(x.dtype, "real floating") else xp.astype(x, native.wide_dtype(x))


def native_numeric(x: Any, name: str) -> Any:
    """Return a tensor as a real floating one on its device; see `numeric`."""
    array = native_array(x, name)
    return namespace(x).astype(array, namespace(x).float32) if half_kind(array) else array


def native_logits(x: Any, name: str) -> Any:
    """Return a tensor ``(..., M, K)`` of logits, validated on its device if it has values."""
    array = native_numeric(x, name)
    check_axes(array, name)
    if has_values(x):
        xp, values = namespace(x), stop_gradient(array)
        # The largest logit of a row is NaN if one is.
        if not bool(xp.all(xp.isfinite(xp.max(values, axis=-1)))):
            logits(values, name)
    return array


def native_probabilities(
    x: Any, name: str, *, normalize: bool = False, validate: bool = True
) -> Any:
    """Return a tensor ``(..., M, K)`` of probability vectors, validated on its device.

    The same validation as in `probabilities`; one number is copied to the host.
    """
    array = native_numeric(x, name)
    check_axes(array, name)
    xp = namespace(x)
    if validate and not _has_valid_rows(array, x, name, normalize):
        probabilities(stop_gradient(x), name, normalize=normalize, report=rounding_report(x))
        if not normalize:
            array = divide_inexact_tensor_rows(array)
    return array / xp.sum(array, axis=-1, keepdims=True) if normalize else array


def divide_inexact_tensor_rows(array: Any) -> Any:
    """Return a tensor with rows divided by sums that are not 1 up to `EXACT`."""
    xp = namespace(array)
    sums = xp.sum(array, axis=-1, keepdims=True, dtype=native.wide_dtype(array))
    scaled = xp.astype(array / sums, array.dtype)
    return xp.where(xp.abs(stop_gradient(sums) - 1) > EXACT, scaled, array)


def native_pair(p: Any, q: Any) -> tuple[Any, Any]:
    """Return two arrays ``(..., K)`` of probability vectors, at least one of them a tensor."""
    pair = []
    for name, x, other in (("p", p, q), ("q", q, p)):
        if not is_tensor(x):
            x = native.asarray_like(distributions(x, name), other)
        elif has_values(x):
            native_probabilities(x[..., None, :], name)
        pair.append(native_numeric(x, name))
    if pair[0].shape[-1] != pair[1].shape[-1]:
        raise_invalid("q", f"has {pair[1].shape[-1]} classes", f"pass {pair[0].shape[-1]}, as in p")
    return pair[0], pair[1]


def _has_valid_rows(array: Any, x: Any, name: str, normalize: bool) -> bool:
    """Return whether the rows of a tensor are known to be valid without copying it."""
    backend = backend_of(x)
    if backend.traced:
        raise_invalid(
            name,
            "is traced by JAX, so that its values cannot be validated",
            f"pass ConvexHull({name}, validate=False), or use ConvexHull.from_logits",
        )
    if not has_values(x):
        raise_invalid(name, "is on meta, which has no data to validate", "pass validate=False")
    xp, rows = namespace(x), stop_gradient(array)
    if backend.kernels_can_read:
        return not normalize and first_invalid_row(to_numpy(rows, name), EXACT) < 0
    sums = xp.sum(rows, axis=-1, dtype=native.wide_dtype(rows))
    good = (sums > 0) & (sums < math.inf) if normalize else xp.abs(sums - 1) <= EXACT
    return bool(xp.all(xp.all(rows >= 0, axis=-1) & good))


def _normalized(array: Array, name: str) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        bad = ~((array >= 0) & (array < np.inf)).all(axis=-1)
        sums = array.sum(axis=-1, dtype=np.float64)
    wrong = bad | ~(sums > 0)
    if wrong.any():
        row = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise_row(array, row, name, math.inf)
    if not np.isfinite(sums).all():  # entries so large that their sum overflows
        array = array / array.max(axis=-1, keepdims=True)
        sums = array.sum(axis=-1, dtype=np.float64)
    return np.asarray(array / sums[..., None], array.dtype)


def as_test_functions(f: Any, n_classes: int, name: str = "f") -> Array:
    """Return `f` as float64 ``(K,)`` or ``(F, K)``."""
    array = finite(f, name).astype(np.float64, copy=False)
    if array.ndim not in (1, 2) or array.shape[-1] != n_classes:
        raise_invalid(
            name,
            f"has shape {array.shape}",
            f"pass one test function ({n_classes},) or many (F, {n_classes})",
        )
    return array


def event(classes: Any, n_classes: int, name: str = "event") -> Array:
    """Return an event, class indices or a boolean mask, as its indicator ``(K,)`` or ``(F, K)``."""
    if isinstance(classes, set | frozenset | range):
        classes = list(classes)
    array = to_numpy(classes, name)
    if array.dtype == np.bool_:
        if array.ndim not in (1, 2) or array.shape[-1] != n_classes:
            raise_invalid(
                name, f"is a mask of shape {array.shape}", f"pass a mask of shape ({n_classes},)"
            )
        return array.astype(np.float64)
    indicator = np.zeros(n_classes)
    if array.size == 0:
        return indicator
    if array.dtype.kind not in "iu" or array.ndim > 1:
        raise_invalid(name, f"has dtype {array.dtype} and shape {array.shape}",
               "pass class indices, [0, 2], or a boolean mask")  # fmt: skip
    outside = np.atleast_1d((array < 0) | (array >= n_classes))
    if outside.any():
        first = int(np.argmax(outside))
        raise_invalid(name, f"entry {first} (zero-based) is {np.atleast_1d(array)[first]}",
               f"classes are 0 to {n_classes - 1}")  # fmt: skip
    indicator[array] = 1.0
    return indicator


def one_of(value: Any, name: str, choices: Collection[str]) -> str:
    """Return `value` if it is one of the names in `choices`."""
    if not isinstance(value, str) or value not in choices:
        names = ", ".join(map(repr, sorted(choices)))
        raise_invalid(name, f"is {value!r}", f"choose one of {names}")
    return value


def number(value: Any, name: str, least: float) -> float:
    """Return `value` as a float that is at least `least`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not least <= float(value) < math.inf
    ):
        raise_invalid(name, f"is {value!r}", f"pass a number >= {least:g}")
    return float(value)


def fraction(value: Any, name: str, *, zero: bool = False, one: bool = False) -> float:
    """Return `value` as a float between 0 and 1; `zero` and `one` include the ends."""
    valid = isinstance(value, Real) and not isinstance(value, bool)
    if not (valid and (0 < value < 1 or (zero and value == 0) or (one and value == 1))):
        interval = f"{'[' if zero else '('}0, 1{']' if one else ')'}"
        raise_invalid(name, f"is {value!r}", f"pass a number in {interval}")
    return float(value)


def positive(value: Any, name: str) -> float:
    """Return `value` as a float that is above 0 and finite."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not 0 < number < math.inf:
        raise_invalid(name, f"is {value!r}", "pass a positive number")
    return number


def whole_number(value: Any, name: str, least: int) -> int:
    """Return `value` as an int that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise_invalid(name, f"is {value!r}", f"pass a whole number >= {least}")
    return int(value)


def vector(x: Any, name: str) -> NDArray[Any]:
    """Return `x` as a one-dimensional array of any kind of labels."""
    array = to_numpy(x, name)
    if array.ndim != 1:
        raise_invalid(name, f"has shape {array.shape}", "pass one value per instance, shape (n,)")
    return array


def seed(random_state: Any) -> int:
    """Return a 63-bit seed from scikit-learn's kinds of `random_state`."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63 - 1, dtype=np.int64))
    return whole_number(random_state, "random_state", least=0) % 2**63
