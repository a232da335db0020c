"""Weights of the members of a hull, for measures that treat these as a sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array


def member_weights(
    weights: Any, batch_shape: tuple[int, ...], n_members: int, present: Array | None = None
) -> Array:
    """Return validated weights of the members, broadcast to ``(..., M)``, as they are given.

    Those of members that are not `present` ``(..., M)`` are not read.
    """
    array = _validation.numeric(weights, "weights")
    if array.ndim == 0 or array.shape[-1] != n_members:
        _validation.raise_invalid(
            "weights", f"has shape {array.shape}", f"pass one per member, (..., {n_members})"
        )
    shape = (*batch_shape, n_members)
    try:
        whole = np.broadcast_to(array, shape)
    except ValueError:
        _validation.raise_invalid("weights", f"has shape {array.shape}", f"pass shape {shape}")
    if present is not None and array.ndim > 1:
        whole = array = np.where(present, whole, whole.dtype.type(0))
    _validation.finite(array, "weights")
    _validation.raise_first(array < 0, array, "weights", "is {:.6g}{}", "pass weights >= 0")
    with np.errstate(over="ignore"):
        if present is not None and array.ndim == 1:
            sums = np.einsum("...m,m->...", present, array, dtype=np.float64)
        else:
            sums = np.broadcast_to(array.sum(axis=-1, dtype=np.float64), batch_shape)
    _validation.raise_first(
        sums == 0, sums, "weights", "sums to {:.6g}{}", "pass a positive weight"
    )
    _validation.raise_first(
        np.isinf(sums), sums, "weights", "sums to {:.6g}{}", "pass smaller weights"
    )
    return whole


def shares(weights: Array) -> Array:
    """Return validated weights ``(..., M)`` divided by their sums, float64."""
    wide = weights.astype(np.float64, copy=False)
    return np.asarray(wide / wide.sum(axis=-1, keepdims=True))
