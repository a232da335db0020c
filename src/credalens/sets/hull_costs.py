"""Expected costs of a convex hull: risks, matrix games, and ordered classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _kernels, _matrix_game
from credalens._backend import DEFAULT_THREADS, Array, map_instances, primitive, rows_in_cache
from credalens._edges import Edges, Line, expected_costs, tails
from credalens.sets import _hull_native
from credalens.sets.base import CredalSet
from credalens.sets.hull_decisions import HullDecisions


class HullCosts(HullDecisions):
    """The queries of `ConvexHull` about the risks of decisions."""

    @primitive("Q->(),()", native=_hull_native.minimax_and_minimin_risk)
    def minimax_and_minimin_risk(self, cost: Array | Edges) -> tuple[Any, Any]:
        """Return the minimum over y of the largest, and of the smallest, ``E_p[cost(., y)]``.

        One matrix product over the members of all instances in a block; for classes on a line or
        tree O(M K), without a matrix of costs.
        """
        if isinstance(cost, Edges) and cost.line is not None:
            worst, best, _, _ = self._on_line(cost.line, ends=False)
            return worst, best

        def kernel(block: Array, worst: Array, best: Array) -> None:
            _risks(_gains(block, cost), worst, best)

        worst, best = map_instances(kernel, self._members, [(), ()], rows=self._cost_rows())
        return worst, best

    @primitive("Q->(),(),(),()", native=CredalSet.cost_uncertainty)
    def cost_uncertainty(self, cost: Array | Edges) -> tuple[Any, Any, Any, Any]:
        """Return the minimax and the minimin risk, the maximin risk between them, and its gap.

        One matrix product serves all of them. On a line the maximin risk is the minimum over real
        y of the largest ``E_p|x - y|``, which is found without a game.
        """
        if isinstance(cost, Edges) and cost.line is not None:
            return self._on_line(cost.line, ends=True)

        def kernel(block: Array, worst: Array, best: Array, middle: Array, gap: Array) -> None:
            gains = _gains(block, cost)
            _risks(gains, worst, best)
            value, gap[:] = _matrix_game.minimax(gains, overwrite=True)
            # Both inequalities hold by definition; rounding may break them.
            np.minimum(best, worst, out=best)
            np.clip(0.0 - value, best, worst, out=middle)

        worst, best, middle, gap = map_instances(
            kernel, self._members, [()] * 4, rows=self._cost_rows()
        )
        return worst, best, middle, gap

    def _on_line(self, line: Line, *, ends: bool) -> tuple[Any, Any, Any, Any]:
        def kernel(block: Array, worst: Array, best: Array, middle: Any, gap: Any) -> None:
            _kernels.hull_line(
                block, line.order, line.positions, worst, best, middle, gap, None, None,
                DEFAULT_THREADS,
            )  # fmt: skip

        last = () if ends else None
        worst, best, middle, gap = map_instances(
            kernel, self._members, [(), (), last, last], large=True
        )
        return worst, best, middle, gap

    @primitive("Q->(),(),()")
    def kolmogorov_aleatoric(self) -> tuple[Any, Any, Any]:
        """Return the ends of ``{min over y of max(p(< y), p(> y))}`` and their largest error.

        The lower end is the smallest value of K games between the members and the two tails.
        """

        def kernel(block: Array, lower: Array, upper: Array, error: Array) -> None:
            below, above = tails(block)
            games = np.stack([below, above], axis=-1).transpose(0, 2, 1, 3)
            lower[:], error[:] = _matrix_game.smallest_minimax(games)
            # F(k) takes all values in [least, most]; the one nearest to 1/2 is the maximiser.
            least, most = below[..., 1:].min(axis=1), below[..., 1:].max(axis=1)
            nearest = np.clip(0.5, least, most)
            np.minimum(nearest, 1 - nearest).max(axis=1, out=upper, initial=0.0)
            np.minimum(lower, upper, out=lower)  # can be violated by rounding only

        rows = rows_in_cache(self.n_members * self.n_classes)
        lower, upper, error = map_instances(kernel, self._members, [()] * 3, rows=rows)
        return lower, upper, error

    def _cost_rows(self) -> int | None:
        """Return the number of instances per matrix product, to bound the extra memory."""
        members = self._members
        # A single-precision block is held twice more in double precision, before and after.
        return max(1, members[..., 0, 0].size // 16) if members.dtype != np.float64 else None


def _gains(block: Array, cost: Array | Edges) -> Array:
    """Return the negative expected costs ``(b, M, D)`` of members ``(b, M, K)``."""
    gains = expected_costs(block, cost)
    return np.subtract(0.0, gains, out=gains)


def _risks(gains: Array, worst: Array, best: Array) -> None:
    """Write the minimax and the minimin risk of expected gains ``(b, M, D)``, negative costs."""
    _kernels.closed_forms(gains, worst, best, None, None, DEFAULT_THREADS)
    np.subtract(0.0, worst, out=worst)  # not -worst, which may be -0.0
    np.subtract(0.0, best, out=best)
