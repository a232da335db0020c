"""Weights of the members of a hull, for measures that treat these as a sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array


def member_weights(weights: Any, batch_shape: tuple[int, ...], n_members: int) -> Array:
    """Return validated weights of the members, ``(..., M)``, each row divided by its sum."""
    array = _validation.finite(weights, "weights").astype(np.float64)
    if array.ndim == 0 or array.shape[-1] != n_members:
        _validation.raise_invalid(
            "weights", f"has shape {array.shape}", f"pass one per member, (..., {n_members})"
        )
    shape = (*batch_shape, n_members)
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        _validation.raise_invalid("weights", f"has shape {array.shape}", f"pass shape {shape}")
    _validation.raise_first(array < 0, array, "weights", "is {:.6g}{}", "pass weights >= 0")
    sums = array.sum(axis=-1, keepdims=True)
    _validation.raise_first(
        sums[..., 0] == 0, sums[..., 0], "weights", "sums to {:.6g}{}", "pass a positive weight"
    )
    return np.asarray(array / sums)
