"""Events of classes: class y is bit y of an event."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, blocks


def by_event(x: Any, name: str, *, finite: bool) -> Array:
    """Return `x` validated as one number per event; `finite` validates the values, too."""
    array = _validation.finite(x, name) if finite else _validation.numeric(x, name)
    size = array.shape[-1] if array.ndim else 0
    if size < 2 or size & (size - 1):
        _validation.raise_invalid(
            name, f"has shape {array.shape}", "pass one number per event, (..., 2**classes)"
        )
    return array


def event_count(n_classes: int, batch_shape: tuple[int, ...] = ()) -> int:
    """Return ``2**K``; raise if a number for each event takes more than 4 GB."""
    size = math.prod(batch_shape) * 2.0**n_classes * 8
    if n_classes > 40 or size > 1 << 32:
        _validation.raise_invalid(
            "events",
            f"{n_classes} classes have 2**{n_classes} events, {size / 1e9:.3g} GB for this batch",
            "pass fewer classes or a smaller batch; no measure needs the values of all events",
        )
    return 1 << n_classes


def event_sums(x: Array) -> Array:
    """Return the sum of ``(..., K)`` over every event, ``(..., 2**K)``."""
    K = x.shape[-1]
    sums = np.zeros((*x.shape[:-1], event_count(K, x.shape[:-1])))
    for y in range(K):
        np.add(sums[..., : 1 << y], x[..., y : y + 1], out=sums[..., 1 << y : 2 << y])
    return sums


@functools.cache
def event_sizes(n_classes: int) -> Array:
    """Return the number of classes of every event."""
    sizes = event_sums(np.ones(n_classes)).astype(np.int64)
    sizes.flags.writeable = False
    return sizes


def two_monotone(values: Array, tolerance: float | None = None) -> Array:
    """Return whether set functions ``(..., 2**K)`` are 2-monotone.

    It suffices that ``v(A + i + j) + v(A) >= v(A + i) + v(A + j)`` for all A without i and j.
    """
    limit = _validation.slack_of(values.dtype) if tolerance is None else tolerance
    holds = np.empty(math.prod(values.shape[:-1]), bool)
    for start, stop, (block,) in blocks((values,), (1,), large=True):
        _kernels.check_capacities(block, np.inf, limit, holds[start:stop], DEFAULT_THREADS)
    return holds.reshape(values.shape[:-1])
