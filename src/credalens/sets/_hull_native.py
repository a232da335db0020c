"""Queries of a convex hull in the array API, for tensors that stay on their device."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import namespace, native, stop_gradient
from credalens._edges import Edges
from credalens.sets.member_weights import shares


def lower(Q: Any, f: Any = None) -> Any:
    """See `ConvexHull.lower`."""
    return _extreme(Q, f, namespace(Q._arrays[0]).min)


def upper(Q: Any, f: Any = None) -> Any:
    """See `ConvexHull.upper`."""
    return _extreme(Q, f, namespace(Q._arrays[0]).max)


def _extreme(Q: Any, f: Any, reduce: Any) -> Any:
    members = Q._arrays[0]
    if f is None:
        return reduce(members, axis=-2)
    functions = _validation.as_test_functions(f, Q.n_classes)
    many = np.atleast_2d(functions)
    numbers = members.shape[-2] * (len(many) + Q.n_classes)
    values = native.map_blocks(
        lambda block: reduce(native.matmul(block, many.T), axis=1), members, numbers
    )
    return values if functions.ndim == 2 else values[..., 0]


def center(Q: Any) -> Any:
    """See `ConvexHull.center`."""
    members = Q._arrays[0]
    xp = namespace(members)
    if Q._weights is not None:
        share = native.asarray_like(shares(Q._weights), members)
        return xp.sum(native.widen(members) * share[..., None], axis=-2)
    total = xp.sum(members, axis=-2, dtype=native.wide_dtype(members))
    return total / members.shape[-2]


def minimax_and_minimin_risk(Q: Any, cost: Any) -> tuple[Any, Any]:
    """See `ConvexHull.minimax_and_minimin_risk`."""
    members = Q._arrays[0]
    xp = namespace(members)

    def of_block(block: Any) -> Any:
        if isinstance(cost, Edges):
            expected = cost.native_expected(block)
        else:
            expected = native.matmul(block, cost)
        worst, best = xp.max(expected, axis=1), xp.min(expected, axis=1)
        return xp.stack([xp.min(worst, axis=-1), xp.min(best, axis=-1)], axis=-1)

    n_actions = Q.n_classes if isinstance(cost, Edges) else cost.shape[1]
    both = native.map_blocks(of_block, members, members.shape[-2] * (n_actions + Q.n_classes))
    return both[..., 0], both[..., 1]


def tv_closed_forms(Q: Any, *, epistemic: bool) -> tuple[Any, Any, Any]:
    """See `ConvexHull.tv_closed_forms`."""
    members = Q._arrays[0]
    xp = namespace(members)
    low = xp.max(xp.min(members, axis=-2), axis=-1)
    high = xp.max(xp.max(members, axis=-2), axis=-1)
    half = native.diameter(members, 1) / 4 if epistemic else None
    return native.complement(low), native.complement(high), half


def tv_uncertainty(Q: Any, *, epistemic: bool = True) -> tuple[Any, ...]:
    """See `ConvexHull.tv_uncertainty`."""
    total, lower, half = Q.tv_closed_forms(epistemic=epistemic)
    upper, gap = Q.maximin()
    return total, lower, native.clip_values(upper, lower, total), half, gap


def tv_diameter(Q: Any) -> Any:
    """See `ConvexHull.tv_diameter`."""
    return native.diameter(Q._arrays[0], 1) / 2


def vertex_diameter(Q: Any, distance: Any) -> Any:
    """See `ConvexHull.vertex_diameter`."""
    norm = distance.seminorm(Q.n_classes)
    if norm is None:
        return NotImplemented
    size = norm.n_features(Q.n_classes)
    return norm.scale * native.diameter(Q._arrays[0], norm.order, norm.features, size)


def minimax_dirac_distance(Q: Any, distance: Any) -> Any:
    """See `ConvexHull.minimax_dirac_distance`."""
    norm = distance.seminorm(Q.n_classes)
    matrix = None if norm is None else norm.dense()
    if matrix is None:
        return NotImplemented
    return norm.scale * native.radius(Q._arrays[0], norm.order, matrix)


def min_entropy(Q: Any, *, distribution: bool = False) -> Any:
    """See `ConvexHull.min_entropy`."""
    if distribution:
        return NotImplemented
    members = Q._arrays[0]
    xp = namespace(members)

    def of_block(block: Any) -> Any:
        index = xp.argmin(native.entropy(stop_gradient(block)), axis=1)
        return native.entropy(native.take_rows(block, index))

    value = native.map_blocks(of_block, members, 4 * members.shape[-2] * members.shape[-1])
    return xp.clip(value, min=0.0), native.zeros_like(value)
