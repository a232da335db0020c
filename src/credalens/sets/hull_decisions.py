"""Decision queries of a convex hull."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _matrix_game
from credalens._backend import Array, map_instances, primitive, rows_in_cache
from credalens.sets.decision_queries import tie_tolerance
from credalens.sets.hull_scoring import HullScoring


class HullDecisions(HullScoring):
    """The queries of `ConvexHull` about actions and their costs."""

    @primitive("Q->(d)")
    def max_regret(self, cost: Array | None = None) -> Any:
        """Return the largest regret of each action, attained at a member; O(M K D)."""

        def kernel(block: Array, regret: Array) -> None:
            costs = member_costs(block, cost)
            costs -= costs.min(axis=2, keepdims=True)
            costs.max(axis=1, out=regret)

        return self._map_actions(kernel, cost, np.float64)

    @primitive("Q->(d)")
    def maximal_actions(self, cost: Array | None = None) -> Any:
        slack = -tie_tolerance(cost)

        def kernel(block: Array, mask: Array) -> None:
            mask[:] = maximal_of(member_costs(block, cost), slack)

        return self._map_actions(kernel, cost, bool)

    @primitive("Q->(d),(d)")
    def e_admissible_actions(self, cost: Array | None = None) -> tuple[Any, Any]:
        slack = -tie_tolerance(cost)
        D = self._n_actions(cost)

        def kernel(block: Array, mask: Array, error: Array) -> None:
            mask[:], error[:] = e_admissible_of(member_costs(block, cost), slack)

        mask, error = map_instances(
            kernel, self._members, [(D,), (D,)], dtype=np.float64, rows=self._action_rows(D)
        )
        return mask.astype(bool), error

    @primitive("Q,(k)->(k)")
    def lower_prefixes(self, order: Array) -> Any:
        members = self._members
        shape = np.broadcast_shapes(members.shape, (*order.shape[:-1], 1, order.shape[-1]))
        whole = np.broadcast_to(members, shape)
        taken = np.take_along_axis(whole, np.broadcast_to(order[..., None, :], shape), axis=-1)
        return taken.cumsum(axis=-1, dtype=np.float64).min(axis=-2)

    def probes(self) -> list[Array]:
        members = self.to_numpy_backed()._members
        return [np.asarray(members[..., m, :], np.float64) for m in range(self.n_members)]

    def _n_actions(self, cost: Array | None) -> int:
        return self.n_classes if cost is None else int(cost.shape[1])

    def _action_rows(self, D: int) -> int:
        return rows_in_cache(self.n_members * max(D, self.n_classes) * 4)

    def _map_actions(self, kernel: Any, cost: Array | None, dtype: Any) -> Any:
        D = self._n_actions(cost)
        (result,) = map_instances(
            kernel, self._members, [(D,)], dtype=np.float64, rows=self._action_rows(D)
        )
        return result.astype(dtype)


def member_costs(block: Array, cost: Array | None) -> Array:
    """Return the expected costs ``(b, M, D)`` of members ``(b, M, K)``, float64.

    With 0-1 costs they are the negative probabilities, which differ by a constant.
    """
    rows = block.astype(np.float64)
    return -rows if cost is None else rows @ cost


def maximal_of(costs: Array, slack: float) -> Array:
    """Return which actions of expected costs ``(b, M, D)`` no other one dominates."""
    maximal = np.ones((len(costs), costs.shape[2]), bool)
    for d in range(costs.shape[2]):
        worst = (costs - costs[:, :, [d]]).max(axis=1)  # of each other action against d
        maximal[:, d] = ~(worst < slack).any(axis=1)
    return maximal


def e_admissible_of(costs: Array, slack: float) -> tuple[Array, Array]:
    """Return which actions are optimal for a mixture of the members, and the errors."""
    best = costs.min(axis=2, keepdims=True)
    mask = (costs - best <= -slack).any(axis=1)  # optimal for a member
    error = np.zeros(mask.shape)
    rows, actions = np.nonzero(maximal_of(costs, slack) & ~mask)
    if len(rows):
        own = costs[rows, :, actions][:, :, None]
        value, gap = _matrix_game.maximin(costs[rows] - own)
        # The action itself is a column of zeros, so that the value is at most 0.
        possible = value + gap >= slack
        mask[rows, actions] = possible
        error[rows, actions] = np.where(possible & (value < slack), gap, 0.0)
    return mask, error
