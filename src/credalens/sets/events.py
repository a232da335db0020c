"""Events of classes: class y is bit y of an event."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, Array, blocks


def by_event(x: Any, name: str, *, finite: bool) -> Array:
    """Return `x` checked as one number per event; `finite` checks the values, too."""
    array = _validation.finite(x, name) if finite else _validation.numeric(x, name)
    size = array.shape[-1] if array.ndim else 0
    if size < 2 or size & (size - 1):
        _validation.refuse(
            name, f"has shape {array.shape}", "pass one number per event, (..., 2**classes)"
        )
    return array


def event_count(n_classes: int, batch_shape: tuple[int, ...] = ()) -> int:
    """Return ``2**K``, refused where a number for each event takes too much memory."""
    size = math.prod(batch_shape) * 2.0**n_classes * 8
    if n_classes > 40 or size > 1 << 32:
        _validation.refuse(
            "events",
            f"{n_classes} classes have 2**{n_classes} events, {size / 1e9:.3g} GB for this batch",
            "pass fewer classes or a smaller batch; no measure needs the values of all events",
        )
    return 1 << n_classes


def event_sums(x: Array) -> Array:
    """Return the sum of ``(..., K)`` over every event, ``(..., 2**K)``: class y is bit y."""
    K = x.shape[-1]
    sums = np.zeros((*x.shape[:-1], event_count(K, x.shape[:-1])))
    for y in range(K):
        np.add(sums[..., : 1 << y], x[..., y : y + 1], out=sums[..., 1 << y : 2 << y])
    return sums


def two_monotone(values: Array, tolerance: float | None = None) -> Array:
    """Say of set functions ``(..., 2**K)`` whether they are 2-monotone.

    It is enough that ``v(A + i + j) + v(A) >= v(A + i) + v(A + j)`` for all A without i and j.
    """
    limit = _validation.slack_of(values.dtype) if tolerance is None else tolerance
    holds = np.empty(math.prod(values.shape[:-1]), bool)
    for start, stop, block in blocks(values, 1, large=True):
        _kernels.check_capacities(block, np.inf, limit, holds[start:stop], AS_WANTED)
    return holds.reshape(values.shape[:-1])
