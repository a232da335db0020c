"""The one door: every array that comes in is checked here and nowhere else.

Every refusal is a ``ValueError`` built by `refuse`: the argument, the first offending place
(zero-based) with its value, and what to write instead.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterable
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from credalens import _kernels
from credalens._arrays import (
    AS_WANTED,
    Array,
    blocks,
    is_native,
    lazy,
    namespace,
    native,
    origin_of,
    to_numpy,
)

#: The axes of the predictions of several models, after those of the batch.
MEMBERS = ("members", "classes")


def refuse(name: str, problem: str, fix: str) -> NoReturn:
    """Raise the one kind of error that bad input gets."""
    raise ValueError(f"{name}: {problem}; {fix}")


def place(index: Iterable[Any]) -> str:
    """Write an index as ``(3, 1)``, or ``3`` if it has one part."""
    parts = [int(i) for i in index]
    for axis, first in enumerate(lazy.FIRST.get()[: len(parts)]):
        parts[axis] += first  # a chunk counts from where it starts in the whole array
    return str(parts[0]) if len(parts) == 1 else f"({', '.join(map(str, parts))})"


def counted(count: int, noun: str, show: Callable[[int], str] = str) -> str:
    """Return a count and its noun, in the plural unless there is one.

    Examples
    --------
    >>> from credalens._validation import counted
    >>> counted(1, "row"), counted(3, "row")
    ('1 row', '3 rows')
    """
    return f"{show(count)} {noun}{'' if count == 1 else 's'}"


@functools.cache
def tolerance_of(dtype: np.dtype[Any]) -> float:
    """Return how far a row of `dtype` may sum from 1: the square root of its precision."""
    kind = dtype if dtype.kind == "f" else np.dtype(np.float64)
    return math.sqrt(float(np.finfo(kind).eps))


def slack_of(*dtypes: np.dtype[Any]) -> float:
    """Return how far a point may lie out of a set of `dtype`, by default: 1e-9, or its rounding."""
    return {2: 2e-3, 4: 1e-6}.get(min(dtype.itemsize for dtype in dtypes), 1e-9)


def numeric(x: Any, name: str) -> Array:
    """Return `x` as a real floating array, refusing what is not numeric."""
    array = to_numpy(x, name)[0]
    kind = array.dtype.kind
    if kind == "f":
        return array
    if kind in "biu":
        return array.astype(np.float64)
    if kind == "c":
        refuse(name, f"is complex ({array.dtype})", "pass real probabilities")
    refuse(name, f"is not numeric (dtype {array.dtype})", "pass an array of floats")


def finite(x: Any, name: str) -> Array:
    """Return `x` as a real floating array without NaN and infinity."""
    array = numeric(x, name)
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        at = f" at index {place(where)} (zero-based)" if where else ""
        word = "NaN" if np.isnan(array[where]) else "infinite"
        refuse(name, f"is {word}{at}", "pass finite numbers")
    return array


def probabilities(
    x: Any,
    name: str,
    *,
    axes: tuple[str, ...] = MEMBERS,
    normalize: bool = False,
    validate: bool = True,
    rescale: str = "normalize=True rescales rows",
) -> Array:
    """Return `x` as an array of probability vectors along the last axis.

    `axes` names the trailing axes that must be there. A row may sum to 1 within the square root of
    the precision of its dtype. ``normalize=True`` divides each row by its sum first. `rescale` says
    how the caller may ask for that.
    """
    array = numeric(x, name)
    check_axes(array, name, axes)
    if not validate:
        return array
    if normalize:
        return _normalized(array, name)
    tolerance = tolerance_of(array.dtype)
    for start, _, block in blocks(array, 1, large=True):
        bad = _kernels.first_bad_row(block, tolerance, AS_WANTED)
        if bad >= 0:
            row = np.unravel_index(start + bad, array.shape[:-1]) if array.ndim > 1 else ()
            integers = to_numpy(x, name)[0].dtype.kind in "iu"
            _refuse_row(array[row], tuple(int(i) for i in row), name, tolerance, rescale, integers)
    return array


def distributions(x: Any, name: str) -> Array:
    """Return `x` as distributions ``(..., K)`` that are no predictions of members."""
    return probabilities(x, name, axes=("classes",), rescale="or divide it by its sum")


def together(name: str, shape: tuple[int, ...], other: str, like: tuple[int, ...]) -> None:
    """Refuse `name` if its `shape` does not broadcast with that of `other`."""
    try:
        np.broadcast_shapes(shape, like)
    except ValueError:
        refuse(name, f"has shape {shape}, {other} {like}", "pass shapes that broadcast")


def check_axes(array: Any, name: str, axes: tuple[str, ...] = MEMBERS) -> None:
    """Refuse an array that lacks one of the trailing `axes`, or has nothing along it."""
    shape = tuple(array.shape)
    if array.ndim >= len(axes) and 0 not in shape[-len(axes) :]:
        return
    if array.ndim < len(axes):
        refuse(
            name,
            f"has {array.ndim} axes, shape {shape}",
            f"pass an array of shape (..., {', '.join(axes)})",
        )
    for axis, size in zip(axes, shape[-len(axes) :], strict=True):
        if size == 0:
            refuse(name, f"has no {axis}, shape {shape}", f"pass at least one of the {axis}")


def native_numeric(x: Any, name: str) -> Any:
    """Return a tensor as a real floating one, where it is; see `numeric`."""
    xp = namespace(x)
    if xp.isdtype(x.dtype, "complex floating"):
        refuse(name, f"is complex ({x.dtype})", "pass real probabilities")
    return x if xp.isdtype(x.dtype, "real floating") else xp.astype(x, native.wide_dtype(x))


def native_finite(x: Any, name: str) -> Any:
    """Return a tensor ``(..., M, K)`` without NaN and infinity, where it is, as it is if traced."""
    array = native_numeric(x, name)
    check_axes(array, name)
    without_values = origin_of(x).traced or _on_meta(x)
    if not without_values and not _holds(namespace(x).isfinite(native.frozen(array)), x, name):
        finite(native.frozen(x), name)  # which says where
    return array


def native_probabilities(
    x: Any, name: str, *, normalize: bool = False, validate: bool = True
) -> Any:
    """Return a tensor ``(..., M, K)`` of probability vectors, checked where it is.

    The same checks as those of `probabilities`, with one number brought to the host.
    """
    array = native_numeric(x, name)
    check_axes(array, name)
    xp = namespace(x)
    if validate:
        _check_rows(array, x, name, normalize)
    return array / xp.sum(array, axis=-1, keepdims=True) if normalize else array


def native_pair(p: Any, q: Any) -> tuple[Any, Any]:
    """Return two tensors ``(..., K)`` of probability vectors, where they are, or one of them."""
    pair = []
    for name, x, other in (("p", p, q), ("q", q, p)):
        if not is_native(x):
            x = native.constant(distributions(x, name), other)
        elif not origin_of(x).traced and not _on_meta(x):
            native_probabilities(x[..., None, :], name)
        pair.append(native_numeric(x, name))
    if pair[0].shape[-1] != pair[1].shape[-1]:
        refuse("q", f"has {pair[1].shape[-1]} classes", f"pass {pair[0].shape[-1]}, as in p")
    return pair[0], pair[1]


def _check_rows(array: Any, x: Any, name: str, normalize: bool) -> None:
    origin = origin_of(x)
    if origin.traced:
        refuse(
            name,
            "is traced by JAX, so that its values cannot be checked",
            f"pass ConvexHull({name}, validate=False), or use ConvexHull.from_logits",
        )
    near = origin.library == "torch" and x.device.type == "cpu"
    if not near:
        xp, rows = namespace(x), native.frozen(array)
        sums = native.widened(xp.sum(rows, axis=-1, dtype=native.wide_dtype(rows)))
        tolerance = tolerance_of(native.numpy_dtype(array))
        good = (sums > 0) & (sums < math.inf) if normalize else xp.abs(sums - 1) <= tolerance
        if _holds(xp.all(rows >= 0, axis=-1) & good, x, name):
            return
    # On the host already; or wrong somewhere, and found there.
    probabilities(native.frozen(x), name, normalize=normalize)


def _on_meta(x: Any) -> bool:
    return str(getattr(x, "device", "")) == "meta"


def _holds(truths: Any, x: Any, name: str) -> bool:
    """Say whether all of `truths` hold, which has to look at the data."""
    if _on_meta(x):
        refuse(name, "is on meta, where it has no data to check", "pass validate=False")
    return bool(namespace(x).all(truths))


def _normalized(array: Array, name: str) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        bad = ~((array >= 0) & (array < np.inf)).all(axis=-1)
        sums = array.sum(axis=-1, dtype=np.float64)
    wrong = bad | ~(sums > 0)
    if wrong.any():
        row = tuple(int(i) for i in np.argwhere(wrong)[0])
        _refuse_row(array[row], row, name, math.inf)
    if not np.isfinite(sums).all():  # entries so large that their sum overflows
        array = array / array.max(axis=-1, keepdims=True)
        sums = array.sum(axis=-1, dtype=np.float64)
    return np.asarray(array / sums[..., None], array.dtype)


def _refuse_row(
    row: Array,
    index: tuple[int, ...],
    name: str,
    tolerance: float,
    rescale: str = "",
    integers: bool = False,
) -> NoReturn:
    """Say what is wrong with one row, which is known to be wrong."""
    for word, bad, fix in (
        ("NaN", np.isnan(row), "drop or impute these predictions first"),
        ("infinite", np.isinf(row), "pass softmax outputs, or use ConvexHull.from_logits"),
        ("negative", row < 0, "pass softmax outputs, or use ConvexHull.from_logits"),
    ):
        if bad.any():
            y = int(np.argmax(bad))
            at = f"at index {place((*index, y))} (zero-based)"
            value = "" if word != "negative" else f": {row[y]:.6g}"
            refuse(name, f"entry {at} is {word}{value}", fix)
    at = f"row {place(index)} (zero-based)" if index else "it"
    total = float(row.sum(dtype=np.float64))
    if tolerance == math.inf:
        refuse(name, f"{at} sums to 0", "a row without any mass cannot be normalised")
    if integers:
        refuse(
            name,
            f"is not a distribution but integers: {at} sums to {total:g}",
            "pass probabilities, not labels or counts; normalize=True turns counts into shares",
        )
    digits = 10 if row.dtype.itemsize >= 8 else 6
    y = int(np.argmax(row))
    above = f" and its entry {y} is {row[y]:.6g}, above 1" if row[y] > 1 + tolerance else ""
    refuse(
        name,
        f"{at} sums to {total:.{digits}g}{above}",
        f"pass softmax outputs, or use ConvexHull.from_logits; {rescale}",
    )


def expectands(f: Any, n_classes: int, name: str = "f") -> Array:
    """Return `f` as float64 ``(K,)`` or ``(F, K)``."""
    array = finite(f, name).astype(np.float64, copy=False)
    if array.ndim not in (1, 2) or array.shape[-1] != n_classes:
        refuse(
            name,
            f"has shape {array.shape}",
            f"pass one test function ({n_classes},) or many (F, {n_classes})",
        )
    return array


def event(classes: Any, n_classes: int, name: str = "event") -> Array:
    """Return an event, class indices or a boolean mask, as its indicator ``(K,)`` or ``(F, K)``."""
    if isinstance(classes, set | frozenset | range):
        classes = list(classes)
    array = to_numpy(classes, name)[0]
    if array.dtype == np.bool_:
        if array.ndim not in (1, 2) or array.shape[-1] != n_classes:
            refuse(
                name, f"is a mask of shape {array.shape}", f"pass a mask of shape ({n_classes},)"
            )
        return array.astype(np.float64)
    indicator = np.zeros(n_classes)
    if array.size == 0:
        return indicator
    if array.dtype.kind not in "iu" or array.ndim > 1:
        refuse(name, f"has dtype {array.dtype} and shape {array.shape}",
               "pass class indices, [0, 2], or a boolean mask")  # fmt: skip
    outside = np.atleast_1d((array < 0) | (array >= n_classes))
    if outside.any():
        first = int(np.argmax(outside))
        refuse(name, f"entry {first} (zero-based) is {np.atleast_1d(array)[first]}",
               f"classes are 0 to {n_classes - 1}")  # fmt: skip
    indicator[array] = 1.0
    return indicator


def one_of(value: Any, name: str, choices: Collection[str]) -> str:
    """Return `value` if it is one of the names in `choices`."""
    if not isinstance(value, str) or value not in choices:
        names = ", ".join(map(repr, sorted(choices)))
        refuse(name, f"is {value!r}", f"choose one of {names}")
    return value


def number(value: Any, name: str, least: float) -> float:
    """Return `value` as a float that is at least `least`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not least <= float(value) < math.inf
    ):
        refuse(name, f"is {value!r}", f"pass a number >= {least:g}")
    return float(value)


def positive(value: Any, name: str) -> float:
    """Return `value` as a float that is above 0 and finite."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not 0 < number < math.inf:
        refuse(name, f"is {value!r}", "pass a positive number")
    return number


def whole_number(value: Any, name: str, least: int) -> int:
    """Return `value` as an int that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        refuse(name, f"is {value!r}", f"pass a whole number >= {least}")
    return int(value)


def vector(x: Any, name: str) -> NDArray[Any]:
    """Return `x` as a one-dimensional array of any kind of labels."""
    array = to_numpy(x, name)[0]
    if array.ndim != 1:
        refuse(name, f"has shape {array.shape}", "pass one value per instance, shape (n,)")
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
