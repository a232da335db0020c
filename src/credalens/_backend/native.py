"""Closed forms in the array API, for tensors that stay on their device.

The member, pair or class that attains a minimum or maximum is found without recording a gradient;
only its term is evaluated with one. So little memory is needed beyond the input, and where choices
tie, the gradient is that of one of them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from credalens._backend.backend import Array, backend_of, is_tensor, namespace, stop_gradient

#: Numbers that a step over a block of instances may hold at once.
BLOCK_NUMBERS = 1 << 24


def wide_dtype(x: Any) -> Any:
    """Return the dtype for sums: double precision if the library and the device support it."""
    xp = namespace(x)
    if is_jax(x):
        return xp.float64 if sys.modules["jax"].config.jax_enable_x64 else xp.float32
    return xp.float32 if x.device.type == "mps" else xp.float64


def is_jax(x: Any) -> bool:
    """Return whether `x` is an array of JAX."""
    return backend_of(x).library == "jax"


def widen(x: Any) -> Any:
    """Return `x` in the dtype for sums."""
    return namespace(x).astype(x, wide_dtype(x), copy=False)


def numpy_dtype(x: Any) -> np.dtype[Any]:
    """Return the NumPy dtype of a floating tensor."""
    return np.dtype(str(x.dtype).rpartition(".")[2])


def asarray_like(array: Any, like: Any) -> Any:
    """Return a NumPy array on the device of `like`, in the dtype for sums; tensors as they are."""
    if is_tensor(array) or not is_tensor(like):
        return array
    device = {} if is_jax(like) else {"device": like.device}
    # A copy: PyTorch warns of read-only memory.
    return namespace(like).asarray(np.array(array), dtype=wide_dtype(like), **device)


def mask_like(mask: Array, like: Any) -> Any:
    """Return a NumPy array of booleans on the device of `like`."""
    if not is_tensor(like):
        return mask
    device = {} if backend_of(like).library == "jax" else {"device": like.device}
    return namespace(like).asarray(np.array(mask), **device)


def complement(p: Any) -> Any:
    """Return one minus probabilities that rounding may have left above 1."""
    if not is_tensor(p):  # numpy.clip takes several times as long for a few instances
        return np.maximum(1.0 - p, 0.0)
    return namespace(p).clip(1.0 - p, 0.0, None)


def clip_values(x: Any, low: Any, high: Any) -> Any:
    """Return `x` clipped to [low, high]; the gradient is that of `x`."""
    if not is_tensor(x):
        return np.minimum(np.maximum(x, low), high)
    return x + stop_gradient(namespace(x).clip(x, low, high) - x)


def zeros_like(value: Any) -> Any:
    """Return the error of exact values: zeros without a gradient."""
    if is_tensor(value):
        return 0 * stop_gradient(value)
    return np.zeros(value.shape, value.dtype)  # numpy.zeros_like takes three times as long


def copy(x: Any) -> Any:
    """Return a copy with the gradient of `x`; JAX arrays are immutable and are not copied."""
    return x.clone() if hasattr(x, "clone") else x


def map_blocks(function: Callable[[Any], Any], x: Any, numbers: int) -> Any:
    """Run `function` over blocks of the instances of ``(..., M, K)`` and concatenate the results.

    `numbers` is the size of its temporaries per instance.
    """
    xp, lead = namespace(x), tuple(x.shape[:-2])
    flat = xp.reshape(x, (math.prod(lead), *x.shape[-2:]))
    step = max(1, BLOCK_NUMBERS // max(1, numbers))
    parts = [function(flat[i : i + step]) for i in range(0, max(1, flat.shape[0]), step)]
    whole = parts[0] if len(parts) == 1 else xp.concat(parts)
    return xp.reshape(whole, (*lead, *whole.shape[1:]))


def take_rows(x: Any, index: Any) -> Any:
    """Return row ``index[b]`` of each ``(b, M, K)``."""
    xp = namespace(x)
    index = xp.broadcast_to(index[:, None, None], (x.shape[0], 1, x.shape[2]))
    return xp.take_along_axis(x, index, axis=1)[:, 0, :]


def norm(x: Any, order: float) -> Any:
    """Return the 1, 2 or infinity norm along the last axis, with gradient 0 at 0."""
    xp = namespace(x)
    if order == 2:
        square = xp.sum(x * x, axis=-1)
        positive = square > 0
        root = xp.sqrt(xp.where(positive, square, xp.ones_like(square)))
        return xp.where(positive, root, 0.0 * square)
    return xp.sum(xp.abs(x), axis=-1) if order == 1 else xp.max(xp.abs(x), axis=-1)


def matmul(x: Any, matrix: Array | None) -> Any:
    """Return ``x @ matrix`` in the dtype for sums; None stands for the identity."""
    return widen(x) if matrix is None else namespace(x).matmul(widen(x), asarray_like(matrix, x))


def _group_size(n_members: int, n_features: int) -> int:
    """Return how many rows to compare at a time: at most 16 steps, each one a launch."""
    return min(n_members, max(-(-n_members // 16), (1 << 12) // max(1, n_members * n_features)))


def _widest_pair(x: Any, order: float) -> tuple[Any, Any]:
    """Return the two rows of each ``(b, M, F)`` with the largest distance; O(M^2 F) operations."""
    xp, x = namespace(x), stop_gradient(x)
    best = xp.zeros_like(x[:, 0, 0])
    first = second = xp.zeros_like(xp.argmax(x[:, 0, :], axis=-1))
    step = _group_size(*x.shape[1:])
    for start in range(0, x.shape[1], step):
        stop = min(x.shape[1], start + step)
        distance = norm(x[:, start:stop, None, :] - x[:, None, :stop, :], order)
        flat = xp.reshape(distance, (x.shape[0], (stop - start) * stop))
        top, index = xp.max(flat, axis=1), xp.argmax(flat, axis=1)
        larger = top > best
        best = xp.where(larger, top, best)
        first = xp.where(larger, start + index // stop, first)
        second = xp.where(larger, index % stop, second)
    return first, second


def diameter(
    x: Any, order: float, features: Callable[[Any], Any] = widen, n_features: int | None = None
) -> Any:
    """Return the largest norm of ``features(p - q)`` between two rows of each ``(..., M, K)``.

    `features` is linear; by default it returns the probabilities themselves.
    """
    xp, M = namespace(x), x.shape[-2]
    F = x.shape[-1] if n_features is None else n_features
    if F == 0:  # no features: all distances are 0
        return xp.sum(features(x), axis=(-2, -1))

    def spread(block: Any) -> Any:
        means = features(block)
        return xp.max(xp.max(means, axis=1) - xp.min(means, axis=1), axis=-1)

    def pairs(block: Any) -> Any:
        first, second = _widest_pair(features(stop_gradient(block)), order)
        difference = widen(take_rows(block, first)) - widen(take_rows(block, second))
        return norm(features(difference), order)

    if order == math.inf:
        return map_blocks(spread, x, 3 * M * F)
    return map_blocks(pairs, x, 3 * M * F * _group_size(M, F))


def radius(x: Any, order: float, matrix: Array) -> Any:
    """Return ``min over y of max over rows p of |(p - delta_y) matrix|`` of ``(..., M, K)``."""
    xp = namespace(x)
    if matrix.shape[1] == 0:
        return xp.sum(matmul(x, matrix), axis=(-2, -1))
    vertices = asarray_like(matrix, x)

    def of_block(block: Any) -> Any:
        means = matmul(stop_gradient(block), matrix)
        worst = [xp.max(norm(means - vertex, order), axis=1) for vertex in vertices]
        nearest = xp.take(vertices, xp.argmin(xp.stack(worst, axis=-1), axis=-1), axis=0)
        member = xp.argmax(norm(means - nearest[:, None, :], order), axis=1)
        return norm(matmul(take_rows(block, member), matrix) - nearest, order)

    return map_blocks(of_block, x, 3 * x.shape[-2] * matrix.shape[1])


def entropy(p: Any) -> Any:
    """Return the entropy of ``(..., K)`` in nats, normalised; ``0 ln 0 = 0``, with gradient 0."""
    xp, p = namespace(p), widen(p)
    p = p / xp.sum(p, axis=-1, keepdims=True)
    return -xp.sum(p * xp.log(xp.where(p > 0, p, xp.ones_like(p))), axis=-1)


def softmax(logits: Any, temperature: float) -> Any:
    """Return the softmax along the last axis, in the dtype of `logits`."""
    xp = namespace(logits)
    largest = stop_gradient(xp.max(logits, axis=-1, keepdims=True))
    x = xp.exp((logits - largest) / temperature)
    return x / xp.sum(x, axis=-1, keepdims=True)
