"""Column generation for sets that maximise any linear functional in closed form.

A problem is solved over the hull of a few members of the set. The member that maximises the
functional of the solution bounds the remaining improvement and is added to the few, until both
bounds agree. Instances that are solved are removed, so that others do not change them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credalens import _kernels, _matrix_game
from credalens._backend import DEFAULT_THREADS, Array

#: Returns the members ``(a, K)`` of some instances that maximise the expectation of test functions,
#: one per instance or one for all: ``maximiser(f, instances)``.
Maximiser = Callable[[Array, Array], Array]

#: Duality gaps at which a game, relative to the range of its costs, an entropy, in nats, and a
#: nearest point, relative to the square of its norm, are solved.
GAME_GAP = 1e-12
ENTROPY_GAP = 1e-11
NORM_GAP = 1e-12
#: The smallest probability in a logarithm.
TINY = 1e-300


def cost_game(maximiser: Maximiser, costs: Array, n: int) -> tuple[Array, Array]:
    """Return ``max over p of min over y of E_p[costs(., y)]`` of n instances, and its gap."""
    gains = -costs
    tolerance = GAME_GAP * max(float(np.ptp(costs)), np.finfo(float).tiny)
    value, bound = np.full(n, np.inf), np.full(n, -np.inf)
    active = np.arange(n)
    members = maximiser(-gains.mean(axis=1), active)[:, None]
    for _ in range(20 * len(costs) + 50):
        own, _, decision = _matrix_game.minimax(members @ gains, dual=True)
        f = decision @ gains.T
        reply = maximiser(-f, active)
        value[active] = np.minimum(value[active], own)
        bound[active] = np.maximum(bound[active], (reply * f).sum(axis=1))
        unsolved = value[active] - bound[active] > tolerance
        if not unsolved.any():
            break
        active = active[unsolved]
        members = np.concatenate([members[unsolved], reply[unsolved, None]], axis=1)
    return -value, np.maximum(value - bound, 0.0)


def largest_entropy(maximiser: Maximiser, n: int, K: int) -> tuple[Array, Array, Array]:
    """Return the largest entropy of n instances in nats, its gap, and the maximiser.

    No member q has an entropy above ``-sum q ln p``, for any p.
    """
    value, gap, where = np.zeros(n), np.zeros(n), np.zeros((n, K))
    active = np.arange(n)
    members = np.stack([maximiser(f, active) for f in np.eye(K)], axis=1)
    for _ in range(20 * K + 50):
        own, _ = np.empty((2, len(active)))
        p = np.empty((len(active), K))
        _kernels.max_entropy(np.ascontiguousarray(members), own, _, None, p, DEFAULT_THREADS)
        f = -np.log(np.maximum(p, TINY))
        reply = maximiser(f, active)
        left = np.maximum((reply * f).sum(axis=1) - own, 0.0)
        value[active], gap[active], where[active] = own, left, p
        unsolved = left > ENTROPY_GAP
        if not unsolved.any():
            break
        active = active[unsolved]
        members = np.concatenate([members[unsolved], reply[unsolved, None]], axis=1)
    return value, gap, where


def nearest_origin(maximiser: Maximiser, n: int, K: int) -> tuple[Array, Array, Array]:
    """Return the smallest ``|p|^2`` of n instances, ``max_q <p, p - q>``, and the minimiser p."""
    value, gap, where = np.zeros(n), np.zeros(n), np.zeros((n, K))
    active = np.arange(n)
    members = np.stack([maximiser(f, active) for f in np.eye(K)], axis=1)
    for _ in range(20 * K + 50):
        own, _ = np.empty((2, len(active)))
        p = np.empty((len(active), K))
        _kernels.min_norm_point(np.ascontiguousarray(members), own, _, None, p, DEFAULT_THREADS)
        reply = maximiser(-p, active)
        left = np.maximum(own - (reply * p).sum(axis=1), 0.0)
        value[active], gap[active], where[active] = own, left, p
        unsolved = left > NORM_GAP * own
        if not unsolved.any():
            break
        active = active[unsolved]
        members = np.concatenate([members[unsolved], reply[unsolved, None]], axis=1)
    return value, gap, where
