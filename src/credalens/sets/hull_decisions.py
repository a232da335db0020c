"""Decision queries of a convex hull."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _kernels, _matrix_game
from credalens._backend import DEFAULT_THREADS, Array, map_instances, primitive, rows_in_cache
from credalens.sets.decision_queries import tie_tolerance
from credalens.sets.hull_scoring import HullScoring

#: Status of an action: better actions exist for all members; not so; optimal for a member.
DOMINATED, MAXIMAL, OPTIMAL_FOR_MEMBER = range(3)


class HullDecisions(HullScoring):
    """The queries of `ConvexHull` about actions and their costs."""

    @primitive("Q->(d)")
    def max_regret(self, cost: Array | None = None) -> Any:
        """Return the largest regret of each action, attained at a member; O(M K D)."""

        def kernel(block: Array, regret: Array) -> None:
            utilities = member_utilities(block, cost)
            np.subtract(utilities.max(axis=2, keepdims=True), utilities).max(axis=1, out=regret)

        return self._map_actions(kernel, cost, np.float64)

    @primitive("Q->(d)")
    def maximal_actions(self, cost: Array | None = None) -> Any:
        tolerance = tie_tolerance(cost)

        def kernel(block: Array, mask: Array) -> None:
            mask[:] = action_status(member_utilities(block, cost), tolerance) != DOMINATED

        return self._map_actions(kernel, cost, bool)

    @primitive("Q->(d),(d)")
    def e_admissible_actions(self, cost: Array | None = None) -> tuple[Any, Any]:
        tolerance = tie_tolerance(cost)
        D = self._n_actions(cost)

        def kernel(block: Array, mask: Array, error: Array) -> None:
            mask[:], error[:] = e_admissible(member_utilities(block, cost), tolerance)

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
        members = self.to_numpy_backed().generators
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


def member_utilities(block: Array, cost: Array | None) -> Array:
    """Return the negative expected costs ``(b, M, D)`` of members ``(b, M, K)``.

    With 0-1 costs the probabilities, which differ by a constant, without a copy.
    """
    return block if cost is None else block.astype(np.float64, copy=False) @ -cost


def action_status(utilities: Array, tolerance: float) -> Array:
    """Return the status ``(b, D)`` of the actions of utilities ``(b, M, D)``."""
    status = np.empty((len(utilities), utilities.shape[2]), np.uint8)
    _kernels.maximal_actions(np.ascontiguousarray(utilities), tolerance, status, DEFAULT_THREADS)
    return status


def e_admissible(utilities: Array, tolerance: float) -> tuple[Array, Array]:
    """Return which actions are optimal for a mixture of the members, and the errors.

    Only actions that are maximal, but optimal for no member, need a matrix game.
    """
    status = action_status(utilities, tolerance)
    mask = status == OPTIMAL_FOR_MEMBER
    error = np.zeros(mask.shape)
    rows, actions = np.nonzero(status == MAXIMAL)
    if len(rows):
        others = utilities[rows].astype(np.float64, copy=False)
        others -= utilities[rows, :, actions][:, :, None]
        # The action itself is a column of zeros, so that the smallest advantage is at least 0.
        advantage, gap = _matrix_game.minimax(others, overwrite=True)
        possible = advantage - gap <= tolerance
        mask[rows, actions] = possible
        error[rows, actions] = np.where(possible & (advantage > tolerance), gap, 0.0)
    return mask, error
