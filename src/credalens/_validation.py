"""The one door: every array that comes in is checked here and nowhere else.

Every refusal is a ``ValueError`` built by `refuse`: the argument, the first offending place
(zero-based) with its value, and what to write instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from credalens import _kernels
from credalens._arrays import Array, blocks, num_threads, to_numpy


def refuse(name: str, problem: str, fix: str) -> NoReturn:
    """Raise the one kind of error that bad input gets."""
    raise ValueError(f"{name}: {problem}; {fix}")


def place(index: Iterable[Any]) -> str:
    """Write an index as ``(3, 1)``, or ``3`` if it has one part."""
    parts = [int(i) for i in index]
    return str(parts[0]) if len(parts) == 1 else f"({', '.join(map(str, parts))})"


def tolerance_of(dtype: np.dtype[Any]) -> float:
    """Return how far a row of `dtype` may sum from 1: the square root of its precision."""
    kind = dtype if dtype.kind == "f" else np.dtype(np.float64)
    return math.sqrt(float(np.finfo(kind).eps))


def numeric(x: Any, name: str) -> Array:
    """Return `x` as a real floating array, refusing what is not numeric."""
    array = to_numpy(x, name)[0]
    if array.dtype.kind == "c":
        refuse(name, f"is complex ({array.dtype})", "pass real probabilities")
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        refuse(name, f"is not numeric (dtype {array.dtype})", "pass an array of floats")
    return array


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
    axes: tuple[str, ...] = ("members", "classes"),
    normalize: bool = False,
    validate: bool = True,
) -> Array:
    """Return `x` as an array of probability vectors along the last axis.

    `axes` names the trailing axes that must be there. A row may sum to 1 within the square root of
    the precision of its dtype. ``normalize=True`` divides each row by its sum first.
    """
    array = numeric(x, name)
    if array.ndim < len(axes):
        refuse(
            name,
            f"has {array.ndim} axes, shape {array.shape}",
            f"pass an array of shape (..., {', '.join(axes)})",
        )
    for axis, size in zip(axes, array.shape[-len(axes) :], strict=True):
        if size == 0:
            refuse(name, f"has no {axis}, shape {array.shape}", f"pass at least one of the {axis}")
    if not validate:
        return array
    if normalize:
        return _normalized(array, name)
    tolerance = tolerance_of(array.dtype)
    for start, _, block in blocks(array, 1, large=True):
        bad = _kernels.first_bad_row(block, tolerance, num_threads())
        if bad >= 0:
            row = np.unravel_index(start + bad, array.shape[:-1]) if array.ndim > 1 else ()
            integers = to_numpy(x, name)[0].dtype.kind in "iu"
            _refuse_row(array[row], tuple(int(i) for i in row), name, tolerance, integers)
    return array


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
    row: Array, index: tuple[int, ...], name: str, tolerance: float, integers: bool = False
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
        "pass softmax outputs, or use ConvexHull.from_logits; normalize=True rescales rows",
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
        classes = sorted(classes)
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
        refuse(name, f"entry {first} is {np.atleast_1d(array)[first]}",
               f"classes are 0 to {n_classes - 1}")  # fmt: skip
    indicator[array] = 1.0
    return indicator


def one_of(value: Any, name: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of the names in `choices`."""
    names = sorted(choices)
    if not isinstance(value, str) or value not in names:
        refuse(name, f"is {value!r}", f"choose one of {', '.join(map(repr, names))}")
    return value


def whole_number(value: Any, name: str, least: int) -> int:
    """Return `value` as an int that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        refuse(name, f"is {value!r}", f"pass a whole number >= {least}")
    return int(value)


def vector(x: Any, name: str) -> NDArray[Any]:
    """Return `x` as a one-dimensional array of any kind of labels."""
    array = to_numpy(x, name)[0]
    if array.ndim != 1:
        refuse(name, f"has shape {array.shape}", "pass one value an instance, shape (n,)")
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
