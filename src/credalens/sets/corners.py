"""Which points are mixtures of others: membership in a hull, and its corners."""

from __future__ import annotations

import numpy as np

from credalens import _kernels
from credalens._arrays import AS_WANTED, Array, blocks


def distance_to_hull(members: Array, target: Array) -> Array:
    """Return the largest coordinate difference of `target` to the nearest mixture of members.

    It is the value of a matrix game between the weights of the members ``(..., M, K)`` and the
    signed coordinates of the difference to ``(..., K)``; the shapes broadcast.
    """
    lead = np.broadcast_shapes(members.shape[:-2], target.shape[:-1])
    M, K = members.shape[-2:]
    goals = np.broadcast_to(target, (*lead, K)).reshape(-1, 1, K).astype(np.float64)
    result = np.empty(len(goals))
    for start, stop, block in blocks(np.broadcast_to(members, (*lead, M, K)), 2, np.float64):
        difference = block - goals[start:stop]
        payoff = np.concatenate([1.0 + difference, 1.0 - difference], axis=2)
        value, gap = np.empty((2, stop - start))
        _kernels.solve_games(payoff, value, gap, None, None, AS_WANTED)
        result[start:stop] = value - 1.0
    return result.reshape(lead)


def corners(members: Array, limit: float) -> Array:
    """Return the members ``(..., M, K)`` that are not within `limit` of mixtures of others.

    ``(..., V, K)`` with V the largest number over the batch; an instance with fewer repeats its
    first one. Of equal members the first stays.
    """
    M, K = members.shape[-2:]
    flat = members.reshape(-1, M, K)
    alive = np.ones(flat.shape[:2], bool)
    for m in reversed(range(M)):
        others = alive.copy()
        others[:, m] = False
        some = others.any(axis=1)
        if not some.any():
            continue
        rest = flat[some].copy()
        stand_in = others[some].argmax(axis=1)
        hole = ~others[some]
        rest[hole] = np.repeat(rest[np.arange(len(rest)), stand_in], hole.sum(axis=1), axis=0)
        near = distance_to_hull(rest, flat[some, m]) <= limit
        alive[np.flatnonzero(some)[near], m] = False
    count = max(int(alive.sum(axis=1).max(initial=1)), 1)
    # A stable sort brings the members that stay to the front, in their order.
    order = np.argsort(~alive, axis=1, kind="stable")[:, :count]
    stays = np.take_along_axis(alive, order, axis=1)
    order = np.where(stays, order, order[:, :1])
    kept = np.take_along_axis(flat, order[..., None], axis=1)
    return kept.reshape(*members.shape[:-2], count, K)
