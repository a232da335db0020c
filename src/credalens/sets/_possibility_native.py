"""Closed forms of possibility distributions in the array API, for NumPy arrays and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens._backend import Array, is_tensor, namespace, native


def _wide(Q: Any) -> Any:
    contour = Q._arrays[0]
    return native.widen(contour) if is_tensor(contour) else contour.astype(np.float64, copy=False)


def _constant(values: Array, like: Any) -> Any:
    return native.asarray_like(values, like)


def second_largest(contour: Any) -> Any:
    """Return the second largest entry of each row, 0 for one class."""
    K = contour.shape[-1]
    if K == 1:
        return 0 * contour[..., 0]
    if not is_tensor(contour):
        return np.partition(contour, K - 2, axis=-1)[..., K - 2]
    return namespace(contour).sort(native.widen(contour), axis=-1)[..., K - 2]


def minimax(Q: Any) -> tuple[Any, Any]:
    """Return ``min over p of max over y of p_y`` and 0; see `SupportSet._minimax`.

    The i most possible classes have at least the probability that the others cannot have.
    """
    contour = _wide(Q)
    xp, K = namespace(contour), Q.n_classes
    rising = xp.sort(contour, axis=-1)
    others = xp.concat([xp.zeros_like(rising[..., :1]), rising[..., :-1]], axis=-1)
    value = xp.max((1.0 - others) / _constant(np.arange(K, 0.0, -1.0), contour), axis=-1)
    return value, native.zeros_like(value)


def hartley(Q: Any, w: Array) -> Any:
    """Return the generalized Hartley measure in bits; see `Possibility.hartley_exact`."""
    contour = _wide(Q)
    xp, K = namespace(contour), Q.n_classes
    sizes = np.arange(K, 1.0, -1.0)
    weights = np.append(np.log2(sizes / (sizes - 1)), 0.0)
    rising = xp.sort(contour, axis=-1)
    return xp.sum(rising * _constant(weights, contour), axis=-1)


def center(Q: Any) -> Any:
    """Return the pignistic probability; see `Possibility.center`.

    ``sum over i >= rank of (c_i - c_{i+1}) / i``, with a tie shared equally.
    """
    contour = _wide(Q)
    xp, K = namespace(contour), Q.n_classes
    order = xp.argsort(-contour, axis=-1)
    falling = xp.take_along_axis(contour, order, axis=-1)
    below = xp.concat([falling[..., 1:], xp.zeros_like(falling[..., :1])], axis=-1)
    share = (falling - below) / _constant(np.arange(1.0, K + 1), contour)
    total = xp.sum(share, axis=-1, keepdims=True) - xp.cumulative_sum(share, axis=-1) + share
    return xp.take_along_axis(total, xp.argsort(order, axis=-1), axis=-1)
