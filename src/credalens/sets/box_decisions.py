"""Admissible labels of boxes, i.e. sets that are given by reachable bounds of the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from credalens._backend import Array, namespace, native
from credalens.sets.decision_queries import DecisionQueries, tie_tolerance


class BoxDecisions(DecisionQueries):
    """Closed forms for 0-1 costs, with reachable bounds l and u of the class probabilities.

    Label j is maximal if ``u_j >= max_k l_k``, as for interval dominance, and E-admissible if, in
    addition, ``sum_k min(u_k, u_j) >= 1``: then some distribution has j as its mode.
    """

    if TYPE_CHECKING:

        def _class_bounds(self) -> tuple[Any, Any]: ...

    def maximal_actions(self, cost: Array | None = None) -> Any:
        if cost is not None:
            return super().maximal_actions(cost)
        low, high = self._class_bounds()
        return high >= namespace(low).max(low, axis=-1, keepdims=True) - tie_tolerance(None)

    def e_admissible_actions(self, cost: Array | None = None) -> tuple[Any, Any]:
        if cost is not None:
            return super().e_admissible_actions(cost)
        _, high = self._class_bounds()
        xp = namespace(high)
        columns = [
            xp.sum(xp.minimum(high, high[..., j : j + 1]), axis=-1) for j in range(high.shape[-1])
        ]
        possible = xp.stack(columns, axis=-1) >= 1 - tie_tolerance(None)
        return possible & self.maximal_actions(), native.zeros_like(high)
