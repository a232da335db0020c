"""Points that are mixtures of others: membership in a hull, and its extreme points."""

from __future__ import annotations

import numpy as np

from credalens import _matrix_game
from credalens._backend import Array, blocks


def distance_to_hull(members: Array, target: Array) -> Array:
    """Return the largest coordinate difference of `target` to the nearest mixture of members.

    It is the value of a matrix game between the weights of the members ``(..., M, K)`` and the
    signed coordinates of the difference to ``(..., K)``; the shapes broadcast.
    """
    lead = np.broadcast_shapes(members.shape[:-2], target.shape[:-1])
    M, K = members.shape[-2:]
    goals = np.broadcast_to(target, (*lead, K)).reshape(-1, 1, K).astype(np.float64)
    result = np.empty(len(goals))
    whole = np.broadcast_to(members, (*lead, M, K))
    for start, stop, (block,) in blocks((whole,), (2,), np.float64):
        difference = block - goals[start:stop]
        payoff = np.concatenate([difference, -difference], axis=2)
        result[start:stop] = _matrix_game.minimax(payoff)[0]
    return result.reshape(lead)


def extreme_members(members: Array, limit: float) -> Array:
    """Return the members ``(..., M, K)`` that are not within `limit` of mixtures of others.

    ``(..., V, K)`` with V the largest number over the batch; an instance with fewer repeats its
    first one. The first of equal members is kept.
    """
    M, K = members.shape[-2:]
    flat = members.reshape(-1, M, K)
    kept = np.ones(flat.shape[:2], bool)
    for m in reversed(range(M)):
        others = kept.copy()
        others[:, m] = False
        some = others.any(axis=1)
        if not some.any():
            continue
        # Members that are left out are replaced by one that is kept.
        points = flat[some].copy()
        first = others[some].argmax(axis=1)
        removed = ~others[some]
        points[removed] = np.repeat(
            points[np.arange(len(points)), first], removed.sum(axis=1), axis=0
        )
        near = distance_to_hull(points, flat[some, m]) <= limit
        kept[np.flatnonzero(some)[near], m] = False
    count = max(int(kept.sum(axis=1).max(initial=1)), 1)
    # A stable sort moves the kept members to the front, in their order.
    order = np.argsort(~kept, axis=1, kind="stable")[:, :count]
    order = np.where(np.take_along_axis(kept, order, axis=1), order, order[:, :1])
    result = np.take_along_axis(flat, order[..., None], axis=1)
    return result.reshape(*members.shape[:-2], count, K)


def pad_points(
    points: list[Array], batch_shape: tuple[int, ...], n_classes: int, dtype: np.dtype[np.floating]
) -> Array:
    """Return lists of points as one array; an instance with fewer repeats its first one."""
    count = max((len(own) for own in points), default=1)
    result = np.empty((len(points), count, n_classes), dtype)
    for row, own in zip(result, points, strict=True):
        row[: len(own)], row[len(own) :] = own, own[0]
    return result.reshape(*batch_shape, count, n_classes)
