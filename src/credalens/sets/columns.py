"""Column generation: what is asked of a set that can only point to its best member.

The question is answered for the hull of a few members. The best member of the whole set, for the
test function that the answer comes with, bounds what is left to gain, and joins the few, until the
two meet. An instance that is done is left out: what the others need does not change it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from credalens import _kernels
from credalens._arrays import AS_WANTED, Array

#: Returns the members ``(a, K)`` of some instances with the largest expectation of test functions,
#: one per instance or one for all: ``best(f, instances)``.
Best = Callable[[Array, Array], Array]

#: A matrix game whose certified bounds are this close is solved, and an entropy, in nats.
SOLVED = 1e-12
EVEN = 1e-11
#: The smallest probability whose logarithm is taken.
TINY = 1e-300


def cost_game(best: Best, costs: Array, n: int) -> tuple[Array, Array]:
    """Return ``max over p of min over y of E_p[costs(., y)]`` of n instances, and its gap."""
    K = len(costs)
    top, scale = float(costs.max()), max(float(np.ptp(costs)), np.finfo(float).tiny)
    # The solver minimises a positive pay-off: costs are turned round and moved to [1, 2].
    payoff = 1.0 + (top - costs) / scale
    value, bound = np.full(n, np.inf), np.full(n, -np.inf)
    active = np.arange(n)
    members = best(-payoff.mean(axis=1), active)[:, None]
    for _ in range(20 * K + 50):
        here, gap = np.empty((2, len(active)))
        decision = np.empty((len(active), K))
        _kernels.solve_games(
            np.ascontiguousarray(members @ payoff), here, gap, None, decision, AS_WANTED
        )
        f = decision @ payoff.T
        reply = best(-f, active)
        value[active] = np.minimum(value[active], here)
        bound[active] = np.maximum(bound[active], (reply * f).sum(axis=1))
        going = value[active] - bound[active] > SOLVED
        if not going.any():
            break
        active = active[going]
        members = np.concatenate([members[going], reply[going, None]], axis=1)
    return top - (value - 1.0) * scale, np.maximum(value - bound, 0.0) * scale


def most_entropy(best: Best, n: int, K: int) -> tuple[Array, Array, Array]:
    """Return the largest entropy of n instances in nats, its gap, and where it is.

    No member q has more than ``-sum q ln p``, for whatever p: at the best p of the few it is what
    they have.
    """
    value, gap, where = np.zeros(n), np.zeros(n), np.zeros((n, K))
    active = np.arange(n)
    members = np.stack([best(f, active) for f in np.eye(K)], axis=1)
    for _ in range(20 * K + 50):
        here, own = np.empty((2, len(active)))
        p = np.empty((len(active), K))
        _kernels.max_entropy(np.ascontiguousarray(members), here, own, None, p, AS_WANTED)
        f = -np.log(np.maximum(p, TINY))
        reply = best(f, active)
        left = np.maximum((reply * f).sum(axis=1) - here, 0.0)
        value[active], gap[active], where[active] = here, left, p
        going = left > EVEN
        if not going.any():
            break
        active = active[going]
        members = np.concatenate([members[going], reply[going, None]], axis=1)
    return value, gap, where
