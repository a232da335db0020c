"""Which members of an ensemble are present, and the validation of those that are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import (
    BLOCK_BYTES,
    Array,
    backend_of,
    blocks,
    first_invalid_row,
    has_values,
    namespace,
    native,
    stop_gradient,
    to_numpy,
)
from credalens._row_errors import raise_row
from credalens._row_kinds import EXACT, divide_inexact_rows

#: What to do about missing members.
MISSING = ("raise", "allow")


def present_members(members: Any, mask: Any, missing: str, name: str = "members") -> Array | None:
    """Return which members are present, ``(..., M)``; None if neither argument may exclude some.

    Parameters
    ----------
    members : array of shape (..., M, K)
        A NumPy array or a tensor.
    mask : array-like of bool, shape (M,) or (..., M), or None
        True for the members that are present.
    missing : {"raise", "allow"}
        With ``"allow"``, members of which all entries are NaN are missing.
    name : str
        The argument, for errors.
    """
    _validation.one_of(missing, "missing", MISSING)
    shape = tuple(members.shape[:-1])
    present = None if mask is None else _as_mask(mask, shape)
    if missing == "allow":
        found = ~_nan_rows(members)
        present = found if present is None else present & found
    if present is None:
        return None
    none = ~present.any(axis=-1)
    if none.any():
        where = tuple(np.argwhere(none)[0])
        at = f" at index {_validation.format_index(where)} (zero-based)" if where else ""
        _validation.raise_invalid(
            name, f"no member is present{at}", "leave out instances without a prediction"
        )
    return present


def _as_mask(mask: Any, shape: tuple[int, ...]) -> Array:
    array = to_numpy(mask, "mask")
    if array.dtype != np.bool_:
        _validation.raise_invalid(
            "mask",
            f"has dtype {array.dtype}",
            "pass booleans, True for the members that are present",
        )
    fits = array.ndim > 0 and array.shape[-1] == shape[-1]
    try:
        if fits:
            return np.broadcast_to(array, shape)
    except ValueError:
        pass
    return _validation.raise_invalid(
        "mask", f"has shape {array.shape}", f"pass one entry per member, shape {shape}"
    )


def _nan_rows(members: Any) -> Array:
    """Return the rows ``(..., M)`` of which all entries are NaN."""
    if backend_of(members).placement == "device":
        if not has_values(members):
            _validation.raise_invalid(
                "missing",
                "is 'allow', and members is traced, so that missing members cannot be found",
                "pass a mask",
            )
        xp = namespace(members)
        return to_numpy(xp.all(xp.isnan(stop_gradient(members)), axis=-1), "members")
    found = np.isnan(members[..., 0])
    flat, shape = found.reshape(-1), found.shape
    candidates = np.flatnonzero(flat)
    step = max(1, BLOCK_BYTES // (4 * members.shape[-1] * members.dtype.itemsize))
    for start in range(0, len(candidates), step):
        some = candidates[start : start + step]
        flat[some] = np.isnan(members[np.unravel_index(some, shape)]).all(axis=-1)
    return np.asarray(flat.reshape(shape))


def validate_present(
    members: Array,
    present: Array,
    *,
    normalize: bool,
    rounding: float,
    report: Callable[[str, float], None] | None,
) -> Array:
    """Return members ``(..., M, K)`` of which those `present` ``(..., M)`` are distributions.

    The same validation as in `credalens._validation.probabilities`; others are not read.
    """
    if normalize:
        whole = np.where(present[..., None], members, members.dtype.type(1 / members.shape[-1]))
        return _validation.probabilities(whole, "members", normalize=True)
    if _first_invalid(members, present, EXACT) < 0:
        return members
    bad = _first_invalid(members, present, rounding)
    whole = fill_missing(members, present)
    if bad >= 0:
        index = tuple(int(i) for i in np.unravel_index(bad, present.shape))
        raise_row(
            whole, index, "members", rounding, "ConvexHull(members, normalize=True) rescales rows"
        )
    with np.errstate(invalid="ignore"):
        sums = whole.sum(axis=-1, dtype=np.float64)
        deviation = float(np.nanmax(np.abs(sums - 1)))
        whole, _ = divide_inexact_rows(whole)
    if report is not None:
        report("members", deviation)
    return whole


def _first_invalid(members: Array, present: Array, tolerance: float) -> int:
    """Return the flat index of the first row that is present and no distribution, -1 if none."""
    flat = present.reshape(-1)
    for start, stop, (block,) in blocks((members,), (1,)):
        rows = np.flatnonzero(flat[start:stop])
        dense = block if len(rows) == len(block) else block[rows]
        bad = first_invalid_row(dense, tolerance) if len(rows) else -1
        if bad >= 0:
            return start + int(rows[bad])
    return -1


def fill_missing(members: Any, present: Array) -> Any:
    """Return a copy in which members that are missing are NaN."""
    xp = namespace(members)
    keep = native.mask_like(present, members)
    return xp.where(keep[..., None], members, xp.full_like(members, float("nan")))


def replace_missing(members: Array, present: Array) -> Array:
    """Return members with each missing one replaced by the first one that is present.

    The hull of each instance is the same.
    """
    first = np.where(present, np.arange(present.shape[-1]), present.argmax(axis=-1)[..., None])
    return np.take_along_axis(members, first[..., None], axis=-2)
