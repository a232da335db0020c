"""Validation of truncated predictions: lists of classes and of their probabilities."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, as_contiguous, to_numpy
from credalens._errors import format_index
from credalens._row_kinds import EXACT, ROUNDING

AXES = ("members", "listed classes")


def validate_lists(
    ids: Any, probs: Any, n_classes: int, *, log: bool, validate: bool
) -> tuple[Array, Array]:
    """Return `ids` as integers and `probs` as probabilities, both contiguous ``(..., M, k)``."""
    classes = _integers(ids)
    values = _validation.numeric(probs, "probs")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    _validation.check_axes(classes, "ids", AXES)
    if classes.shape != values.shape:
        _validation.raise_invalid(
            "probs",
            f"has shape {values.shape}, ids {classes.shape}",
            "pass one probability for each id, padded alike",
        )
    if log:
        listed = classes != -1
        if validate:
            _validation.raise_first(
                listed & (values > EXACT), values, "probs", "is {:.6g}{}, and log=True",
                "pass logarithms of probabilities, which are at most 0, or leave out log=True",
            )  # fmt: skip
        with np.errstate(invalid="ignore", over="ignore"):
            values = np.exp(values, where=listed, out=np.zeros_like(values))
    values = as_contiguous(values, values.dtype.newbyteorder("="))
    if validate and classes.size:
        row = _kernels.topk_first_invalid(
            classes.reshape(-1, *classes.shape[-2:]), values.reshape(-1, *values.shape[-2:]),
            n_classes, ROUNDING, DEFAULT_THREADS,
        )  # fmt: skip
        if row >= 0:
            _raise_row(classes, values, np.unravel_index(row, classes.shape[:-1]), n_classes, log)
    return classes, values


def _integers(ids: Any) -> Array:
    array = to_numpy(ids, "ids")
    if array.dtype.kind not in "iu":
        _validation.raise_invalid(
            "ids", f"has dtype {array.dtype}", "pass class indices as integers, -1 for padding"
        )
    kind = np.int32 if array.dtype.kind == "i" and array.dtype.itemsize == 4 else np.int64
    return as_contiguous(array, kind)


def _raise_row(
    ids: Array, probs: Array, index: tuple[Any, ...], n_classes: int, log: bool
) -> NoReturn:
    """Raise the error for the member at `index`, whose list is invalid."""
    own, values = ids[index], probs[index].astype(np.float64)
    listed = own != -1

    def at(position: Any = None) -> str:
        where = index if position is None else (*index, position)
        return f" at index {format_index(where)} (zero-based)" if where else ""

    outside = (own < -1) | (own >= n_classes)
    if outside.any():
        j = int(outside.argmax())
        _validation.raise_invalid(
            "ids", f"is {own[j]}{at(j)}", f"pass classes 0 to {n_classes - 1}, or -1 for padding"
        )
    if not listed.any():
        _validation.raise_invalid(
            "ids", f"lists no class{at()}", "list at least one, or leave the member out"
        )
    known, counts = np.unique(own[listed], return_counts=True)
    if (counts > 1).any():
        _validation.raise_invalid(
            "ids", f"lists class {known[counts.argmax()]} twice{at()}", "list each class once"
        )
    bad = listed & ~((values >= 0) & (values <= 1 + ROUNDING))
    if bad.any():
        j = int(bad.argmax())
        fix = "pass probabilities in [0, 1]"
        if not log and (values[listed] <= 0).all():
            fix = "pass log=True for log-probabilities"
        _validation.raise_invalid("probs", f"is {values[j]:.6g}{at(j)}", fix)
    _raise_sum(values[listed], at(), n_classes)


def _raise_sum(values: Array, at: str, n_classes: int) -> NoReturn:
    """Raise the error for a list whose probabilities do not fit together."""
    total, smallest, others = values.sum(), values.min(), n_classes - len(values)
    if total > 1:
        problem = f"sums to {total:.6g}{at}"
        fix = "pass the probabilities of one distribution, at most 1 in total"
    elif not others:
        problem = f"lists all {n_classes} classes, and sums to {total:.6g}{at}"
        fix = "divide the probabilities by their sum"
    else:
        problem = (
            f"sums to {total:.6g}{at}, and {others} other classes cannot have the rest if none has "
            f"more than the smallest listed probability, {smallest:.6g}"
        )
        fix = "list the largest probabilities of each member, or pass the right n_classes"
    _validation.raise_invalid("probs", problem, fix)
