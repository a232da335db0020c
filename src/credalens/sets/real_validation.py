"""Validation of predictive distributions on the real line."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from credalens import _validation
from credalens._backend import Array, blocks


def as_levels(levels: Any, name: str = "levels", *, ends: bool = False) -> Array:
    """Return levels of quantiles, a number or ``(L,)``, strictly between 0 and 1.

    `ends` includes 0 and 1.
    """
    array = _validation.finite(levels, name).astype(np.float64)
    if array.ndim > 1:
        _validation.raise_invalid(name, f"has shape {array.shape}", "pass a number or (L,)")
    outside = (array < 0) | (array > 1) if ends else (array <= 0) | (array >= 1)
    fix = "pass levels between 0 and 1, not percentages"
    _validation.raise_first(outside, array, name, "is {:g}{}", fix)
    return np.asarray(array)


def as_increasing_levels(levels: Any, size: int) -> Array:
    """Return the increasing levels ``(L,)`` of quantile functions; `size` is L."""
    array = as_levels(levels, ends=True)
    if array.shape != (size,):
        _validation.raise_invalid(
            "levels",
            f"has shape {array.shape}, and values have {size} quantiles",
            "pass one level for each entry of the last axis of values",
        )
    step = np.diff(array, prepend=-1.0)
    if (step <= 0).any():
        i = int(np.argmax(step <= 0))
        _validation.raise_invalid(
            "levels",
            f"is {array[i]:g} at index {i} (zero-based), after {array[i - 1]:g}",
            "pass increasing levels, and values in their order",
        )
    return array


def check_finite(
    array: Array, present: Array | None, name: str, *, one_per_member: bool = False
) -> None:
    """Raise if an entry of ``(..., M, S)``, or of ``(..., M)``, is NaN or infinite.

    Members that are not `present` ``(..., M)`` are not read.
    """
    if present is None:
        parts = blocks((array,), (1,), dtype=array.dtype)
        if all(np.isfinite(block).all() for _, _, (block,) in parts):
            return
    bad = ~np.isfinite(array)
    if present is not None:
        bad &= present.reshape(present.shape + (1,) * (array.ndim - present.ndim))
    if not bad.any():
        return
    where = tuple(np.argwhere(bad)[0])
    word, fix = "infinite", "pass finite numbers"
    if np.isnan(array[where]):
        word = "NaN"
        if one_per_member or np.isnan(array[where[:-1]]).all():
            fix += ', or missing="allow" if the member is missing'
    at = _validation.format_index(where)
    _validation.raise_invalid(name, f"is {word} at index {at} (zero-based)", fix)


def raise_not_real(what: str) -> NoReturn:
    """Raise the error for a function of distributions over classes that is given a `RealHull`."""
    _validation.raise_invalid(
        "Q",
        f"is a RealHull, whose members are distributions on the real line, and {what} needs "
        "distributions over classes",
        "use quantify(Q), quantify(Q, 'variance'), total_uncertainty, aleatoric_uncertainty or "
        "epistemic_uncertainty",
    )
