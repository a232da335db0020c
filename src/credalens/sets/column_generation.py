"""Column generation for sets that maximise any linear functional in closed form.

A problem is solved over the hull of a few members of the set. The member that maximises the
functional of the solution bounds the remaining improvement and is added to the few, until both
bounds agree. Instances that are solved are removed, so that others do not change them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credalens import _kernels, _matrix_game
from credalens._backend import DEFAULT_THREADS, Array
from credalens._edges import Edges, Line, costs_of_decisions, expected_costs


class Maximiser:
    """Members ``(a, K)`` of some instances that maximise the expectation of test functions.

    ``maximiser(f, instances)`` takes one function per instance, or one for all. The function that
    finds them may also return how much larger an expectation can be; `slack` is that of the last
    call, 0 if the maximum is exact.
    """

    def __init__(self, function: Callable[[Array, Array], Any]) -> None:
        self._function = function
        self.slack: Array | float = 0.0

    def __call__(self, f: Array, instances: Array) -> Array:
        found = self._function(f, instances)
        if isinstance(found, tuple):
            found, self.slack = found
        return np.asarray(found)


#: Duality gaps at which a game, relative to the range of its costs, an entropy, in nats, and a
#: nearest point, relative to the square of its norm, are solved.
GAME_GAP = 1e-12
ENTROPY_GAP = 1e-11
NORM_GAP = 1e-12
#: The smallest probability in a logarithm.
TINY = 1e-300


def cost_game(maximiser: Maximiser, costs: Array | Edges, n: int) -> tuple[Array, Array]:
    """Return ``max over p of min over y of E_p[costs(., y)]`` of n instances, and its gap."""
    D = costs.n_classes if isinstance(costs, Edges) else costs.shape[1]
    spread = costs.diameter if isinstance(costs, Edges) else float(np.ptp(costs))
    tolerance = GAME_GAP * max(spread, np.finfo(float).tiny)
    value, bound = np.full(n, np.inf), np.full(n, -np.inf)
    active = np.arange(n)
    members = maximiser(costs_of_decisions(np.full((1, D), 1 / D), costs)[0], active)[:, None]
    for _ in range(20 * members.shape[2] + 50):
        payoff = expected_costs(members, costs)
        own, _, decision = _matrix_game.minimax(-payoff, dual=True, overwrite=True)
        f = -costs_of_decisions(decision, costs)
        reply = maximiser(-f, active)
        value[active] = np.minimum(value[active], own)
        least = (reply * f).sum(axis=1) - maximiser.slack
        bound[active] = np.maximum(bound[active], least)
        unsolved = value[active] - bound[active] > tolerance
        if not unsolved.any():
            break
        active = active[unsolved]
        members = np.concatenate([members[unsolved], reply[unsolved, None]], axis=1)
    return -value, np.maximum(value - bound, 0.0)


def line_game(maximiser: Maximiser, line: Line, rank: Array, total: Array) -> tuple[Array, Array]:
    """Return ``max over p of min over y of E_p|x - y|`` of instances on a line, and its gap.

    The minimum over real y of the largest ``E_p|x - y|``, next to the class of the given `rank`,
    whose largest expected distance is `total`. Between two neighbouring classes each member is a
    line; the crossing of two lines, one of each sign of the slope, is the next y.
    """
    K = len(line.order)
    value, bound = total.astype(np.float64), total.astype(np.float64)
    tolerance = GAME_GAP * max(float(line.positions[-1]), np.finfo(float).tiny)
    # Classes at the same position are one decision.
    at = line.positions[rank]
    first = np.searchsorted(line.positions, at, "left") - 1
    last = np.searchsorted(line.positions, at, "right") - 1
    for left in (first, last):
        inside = np.flatnonzero((left >= 0) & (left + 1 < K))
        if not len(inside):
            continue
        lower, upper = _segment(maximiser, line, inside, left[inside], tolerance)
        value[inside] = np.minimum(value[inside], lower)
        bound[inside] = np.minimum(bound[inside], upper)
    return value, np.maximum(bound - value, 0.0)


def _segment(
    maximiser: Maximiser, line: Line, instances: Array, left: Array, tolerance: float
) -> tuple[Array, Array]:
    """Return bounds of the minimum over the segment from rank `left` to the next one."""
    K, x = len(line.order), line.positions
    before = np.arange(K) <= left[:, None]

    def cut(y: Array, some: Array) -> tuple[Array, Array, Array | float]:
        """Return the largest expected distance from y, the slope of its maximiser, and slack."""
        f = np.empty((len(some), K))
        f[:, line.order] = np.abs(x - y[:, None])
        p = maximiser(f, instances[some])[:, line.order]
        value = (p * np.abs(x - y[:, None])).sum(axis=1)
        return value, np.where(before[some], p, -p).sum(axis=1), maximiser.slack

    every = np.arange(len(instances))
    ends = np.stack([x[left], x[left + 1]])
    cuts = [cut(y, every) for y in ends]
    values, slopes = np.stack([c[0] for c in cuts]), np.stack([c[1] for c in cuts])
    upper = np.min([value + slack for value, _, slack in cuts], axis=0)
    # A minimum at an end is solved; the others have one line of each sign.
    lower = np.where(slopes[0] >= 0, values[0], np.where(slopes[1] <= 0, values[1], -np.inf))
    active = np.flatnonzero(np.isneginf(lower))
    for _ in range(100):
        if not len(active):
            break
        at, value, slope = ends[:, active], values[:, active], slopes[:, active]
        offset = value - slope * at
        y = np.clip((offset[0] - offset[1]) / (slope[1] - slope[0]), at[0], at[1])
        lower[active] = np.max(value + slope * (y - at), axis=0)
        here, rate, slack = cut(y, active)
        upper[active] = np.minimum(upper[active], here + slack)
        side = (rate > 0).astype(np.intp)
        stuck = (y == at[0]) | (y == at[1])
        ends[side, active], values[side, active], slopes[side, active] = y, here, rate
        level = rate == 0
        lower[active[level]] = here[level]
        active = active[~stuck & ~level & (upper[active] - lower[active] > tolerance)]
    return np.minimum(lower, upper), upper


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
        left = np.maximum((reply * f).sum(axis=1) + maximiser.slack - own, 0.0)
        value[active], gap[active], where[active] = own, left, p
        unsolved = left > ENTROPY_GAP
        if not unsolved.any():
            break
        active = active[unsolved]
        members = np.concatenate([members[unsolved], reply[unsolved, None]], axis=1)
    return value, gap, where


def nearest_in_total_variation(maximiser: Maximiser, target: Array) -> tuple[Array, Array]:
    """Return the total variation distance of `target` ``(n, K)`` to the sets, and its error.

    ``min over q of max over events A of target(A) - q(A)``, a game of which both members and events
    are generated: the event at whose classes the target exceeds a mixture of the members, and the
    member with the largest expectation of a mixture of the events.
    """
    n = len(target)
    active = np.arange(n)
    members = maximiser(target, active)[:, None]
    apart = target - members[:, 0]
    events = (apart > 0)[:, None].astype(np.float64)
    distance, bound = np.maximum(apart, 0.0).sum(axis=1), np.zeros(n)
    for _ in range(40 * target.shape[1] + 50):
        unsolved = distance[active] - bound[active] > GAME_GAP
        if not unsolved.any():
            break
        active, members, events = active[unsolved], members[unsolved], events[unsolved]
        goal = target[active]
        payoff = (goal[:, None] - members) @ np.swapaxes(events, 1, 2)
        _, _, weights, dual = _matrix_game.minimax(payoff, weights=True, dual=True, overwrite=True)
        apart = goal - (weights[:, None] @ members)[:, 0]
        distance[active] = np.minimum(distance[active], np.maximum(apart, 0.0).sum(axis=1))
        f = (dual[:, None] @ events)[:, 0]
        reply = maximiser(f, active)
        least = ((goal - reply) * f).sum(axis=1) - maximiser.slack
        bound[active] = np.maximum(bound[active], least)
        members = np.concatenate([members, reply[:, None]], axis=1)
        events = np.concatenate([events, (apart > 0)[:, None]], axis=1)
    return distance, np.maximum(distance - bound, 0.0)


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
        left = np.maximum(own - (reply * p).sum(axis=1) + maximiser.slack, 0.0)
        value[active], gap[active], where[active] = own, left, p
        unsolved = left > NORM_GAP * own
        if not unsolved.any():
            break
        active = active[unsolved]
        members = np.concatenate([members[unsolved], reply[unsolved, None]], axis=1)
    return value, gap, where
