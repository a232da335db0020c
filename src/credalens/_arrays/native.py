"""Closed forms in the array API's words, for tensors that stay where they are.

What is chosen, a member, a pair, a class, is found without recording a gradient; only the chosen
terms are then evaluated with one. So memory stays small beside the input, and where choices tie,
the gradient is that of one of them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from credalens._arrays import Array, is_native, namespace

#: Numbers that a step over a block of instances may hold at once.
BLOCK_NUMBERS = 1 << 24


def wide_dtype(x: Any) -> Any:
    """Return the dtype for sums: double precision where the library has it for the device."""
    xp = namespace(x)
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(x, jax.Array):
        return xp.float64 if jax.config.jax_enable_x64 else xp.float32
    return xp.float32 if x.device.type == "mps" else xp.float64


def row_sums(x: Any) -> Any:
    """Return the sums of rows ``(..., K)``, in double precision where there is one."""
    return namespace(x).sum(x, axis=-1, dtype=wide_dtype(x))


def numpy_dtype(x: Any) -> np.dtype[Any]:
    """Return NumPy's dtype for `x`, single precision for what NumPy does not know."""
    name = str(x.dtype).rpartition(".")[2]
    return np.dtype(name if name in ("float16", "float32", "float64") else "float32")


def widened(x: Any) -> Any:
    """Return `x` in the dtype for sums."""
    return namespace(x).astype(x, wide_dtype(x), copy=False)


def constant(array: Array, like: Any) -> Any:
    """Return a NumPy array where `like` is, in the dtype for sums."""
    xp = namespace(like)
    array = np.array(array)  # memory is not shared: PyTorch would warn of what is read-only
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(like, jax.Array):
        return xp.asarray(array, dtype=wide_dtype(like))
    return xp.asarray(array, dtype=wide_dtype(like), device=like.device)


def beside(array: Any, like: Any) -> Any:
    """Return `array` where `like` is; both may be NumPy's."""
    return constant(array, like) if is_native(like) and not is_native(array) else array


def rest(p: Any) -> Any:
    """Return one minus probabilities, which rounding may have left above 1, with the gradient."""
    return namespace(p).clip(1.0 - p, min=0.0)


def no_error(value: Any) -> Any:
    """Return the error of exact values: 0 each, without a gradient."""
    return 0 * frozen(value) if is_native(value) else np.zeros_like(value)


def copied(x: Any) -> Any:
    """Return `x`, copied where it could be written to, with its gradient."""
    return x.clone() if hasattr(x, "clone") else x


def frozen(x: Any) -> Any:
    """Return `x` cut off from gradients."""
    return x.detach() if hasattr(x, "detach") else sys.modules["jax"].lax.stop_gradient(x)


def each(x: Any, function: Callable[..., Any], numbers: int) -> Any:
    """Run `function` over blocks of the instances of ``(..., M, K)``.

    `numbers` is what it holds at once for an instance. It returns a tuple of arrays with one entry
    an instance, which come back with the leading axes of `x`.
    """
    xp = namespace(x)
    lead = x.shape[:-2]
    flat = xp.reshape(x, (math.prod(lead), *x.shape[-2:]))
    step = max(1, BLOCK_NUMBERS // max(1, numbers))
    parts = [function(flat[i : i + step]) for i in range(0, max(1, flat.shape[0]), step)]
    whole = parts[0] if len(parts) == 1 else [xp.concat(part) for part in zip(*parts, strict=True)]
    return tuple(xp.reshape(value, (*lead, *value.shape[1:])) for value in whole)


def rows_at(x: Any, index: Any) -> Any:
    """Return row ``index[b]`` of each ``(b, M, K)``."""
    xp = namespace(x)
    places = xp.broadcast_to(index[:, None, None], (x.shape[0], 1, x.shape[2]))
    return xp.take_along_axis(x, places, axis=1)[:, 0, :]


def norm(x: Any, order: float) -> Any:
    """Return the 1, 2 or infinity norm along the last axis, with gradient 0 at 0."""
    xp = namespace(x)
    if order == 1:
        return xp.sum(xp.abs(x), axis=-1)
    if order == 2:
        square = xp.sum(x * x, axis=-1)
        some = square > 0
        return xp.where(some, xp.sqrt(xp.where(some, square, xp.ones_like(square))), 0.0 * square)
    return xp.max(xp.abs(x), axis=-1)


def group_size(n_members: int, n_features: int) -> int:
    """Return how many rows to compare with all before them at a time.

    Each step is a launch on a device and a piece to compile for JAX: at most 16, and one if that
    takes few numbers.
    """
    few = (1 << 12) // max(1, n_members * n_features)
    return min(n_members, max(-(-n_members // 16), few))


def widest_pair(x: Any, order: float) -> tuple[Any, Any]:
    """Return the two rows of each ``(b, M, F)`` that are farthest apart in a norm.

    O(M^2 F) steps, with `group_size` times as many numbers at once as in `x`.
    """
    xp = namespace(x)
    x = frozen(x)
    best = xp.zeros_like(x[:, 0, 0])
    first = xp.zeros_like(xp.argmax(x[:, 0, :], axis=-1))
    second = first
    step = group_size(*x.shape[1:])
    for start in range(0, x.shape[1], step):
        stop = min(x.shape[1], start + step)
        apart = norm(x[:, start:stop, None, :] - x[:, None, :stop, :], order)
        flat = xp.reshape(apart, (x.shape[0], (stop - start) * stop))
        top, place = xp.max(flat, axis=1), xp.argmax(flat, axis=1)
        more = top > best
        best = xp.where(more, top, best)
        first = xp.where(more, start + place // stop, first)
        second = xp.where(more, place % stop, second)
    return first, second


def mapped(x: Any, matrix: Array | None) -> Any:
    """Return ``x @ matrix`` in the dtype for sums; ``None`` stands for the identity."""
    return widened(x) if matrix is None else namespace(x).matmul(widened(x), constant(matrix, x))


def diameter(x: Any, order: float, matrix: Array | None) -> Any:
    """Return the largest ``|(p - q) matrix|`` between two rows of each ``(..., M, K)``."""
    xp = namespace(x)

    if matrix is not None and matrix.shape[1] == 0:  # nothing is told apart
        return xp.sum(mapped(x, matrix), axis=(-2, -1))

    def spread(block: Any) -> tuple[Any]:
        means = mapped(block, matrix)
        return (xp.max(xp.max(means, axis=1) - xp.min(means, axis=1), axis=-1),)

    def pairs(block: Any) -> tuple[Any]:
        first, second = widest_pair(mapped(frozen(block), matrix), order)
        difference = widened(rows_at(block, first)) - widened(rows_at(block, second))
        return (norm(mapped(difference, matrix), order),)

    M, F = x.shape[-2], x.shape[-1] if matrix is None else matrix.shape[1]
    if order == math.inf:
        return each(x, spread, 3 * M * F)[0]
    return each(x, pairs, 3 * M * F * group_size(M, F))[0]


def radius(x: Any, order: float, matrix: Array) -> Any:
    """Return ``min over y of max over rows p of |(p - delta_y) matrix|``, ``(..., M, K)``."""
    xp = namespace(x)
    if matrix.shape[1] == 0:
        return xp.sum(mapped(x, matrix), axis=(-2, -1))
    corners = constant(matrix, x)

    def ball(block: Any) -> tuple[Any]:
        means = mapped(frozen(block), matrix)
        worst = [xp.max(norm(means - corner, order), axis=1) for corner in corners]
        y = xp.argmin(xp.stack(worst, axis=-1), axis=-1)
        nearest = xp.take(corners, y, axis=0)
        member = xp.argmax(norm(means - nearest[:, None, :], order), axis=1)
        return (norm(mapped(rows_at(block, member), matrix) - nearest, order),)

    return each(x, ball, 3 * x.shape[-2] * matrix.shape[1])[0]


def entropy(p: Any) -> Any:
    """Return the entropy in nats of ``(..., K)``, normalised; ``0 ln 0 = 0``, with gradient 0."""
    xp = namespace(p)
    p = widened(p)
    p = p / xp.sum(p, axis=-1, keepdims=True)
    logs = xp.log(xp.where(p > 0, p, xp.ones_like(p)))
    return -xp.sum(p * logs, axis=-1)


def least_entropy(x: Any) -> Any:
    """Return the smallest entropy of a row of each ``(..., M, K)``, in nats."""
    xp = namespace(x)

    def least(block: Any) -> tuple[Any]:
        return (entropy(rows_at(block, xp.argmin(entropy(frozen(block)), axis=1))),)

    value = each(x, least, 4 * math.prod(x.shape[-2:]))[0]
    return xp.clip(value, min=0.0)


def softmax(logits: Any, temperature: float) -> Any:
    """Return the softmax along the last axis, in the dtype of `logits`."""
    xp = namespace(logits)
    single = xp.finfo(logits.dtype).bits < 32
    x = xp.astype(logits, xp.float32) if single else logits
    x = (x - frozen(xp.max(x, axis=-1, keepdims=True))) / temperature
    shares = xp.exp(x)
    shares = shares / xp.sum(shares, axis=-1, keepdims=True)
    return xp.astype(shares, logits.dtype, copy=False)
