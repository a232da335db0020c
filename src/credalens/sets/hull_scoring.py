"""Second-order measures and scoring rules of a convex hull."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, Array, map_instances, primitive, rows_in_cache
from credalens.sets import _hull_scoring_native, _hull_vjp
from credalens.sets.hull_queries import HullQueries
from credalens.sets.member_weights import member_weights, shares
from credalens.sets.scoring_queries import LOSSES
from credalens.sets.zero_one import zero_one_choice

#: Rounds of games per call of the solver: instances whose largest regret is not decided.
GAME_ROWS = 1 << 14


class HullScoring(HullQueries):
    """The queries of `ConvexHull` about its members as a sample, and about scoring rules."""

    @primitive("Q->(),(),()", native=_hull_scoring_native.second_order)
    def second_order(self, loss: str, weights: Any = None) -> tuple[Any, Any, Any]:
        kernel = partial(_kernels.second_order, loss=LOSSES.index(loss))
        return tuple(self._run_on_sample(kernel, [(), (), ()], weights))

    @primitive("Q->(k),(k),(k)", native=_hull_scoring_native.second_order_by_class)
    def second_order_by_class(self, loss: str, weights: Any = None) -> tuple[Any, Any, Any]:
        kernel = partial(_kernels.labelwise, loss=LOSSES.index(loss))
        shapes = [(self.n_classes,)] * 3
        return tuple(self._run_on_sample(kernel, shapes, weights))

    @primitive("Q->()", native=_hull_scoring_native.median_distance)
    def median_distance(self, weights: Any = None) -> Any:
        return self._run_on_sample(_kernels.median_distance, [()], weights)[0]

    def _run_on_sample(
        self, kernel: Callable[..., int], shapes: Sequence[tuple[int, ...]], weights: Any
    ) -> list[Any]:
        if weights is not None:
            weights = member_weights(weights, self.batch_shape, self.n_members)
        elif self._weights is None:
            return self._run_validating_kernel(kernel, shapes, np.float64)
        else:
            weights = self._weights

        def run(block: Array, some: Array, *outputs: Array) -> None:
            kernel(block, *outputs, DEFAULT_THREADS, -1.0, weights=shares(some))

        return map_instances(
            run, (self._members, weights), shapes, (2, 1), dtype=np.float64, block_dtype=np.float64
        )

    @primitive("Q->(),()", vjp=_hull_vjp.min_norm_point)
    def min_norm_point(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest ``|p|^2`` over the hull, its gap and, if requested, the minimiser.

        By the algorithm of Wolfe (1976), "Finding the nearest point in a polytope".
        """

        def kernel(block: Array, value: Array, gap: Array, *rest: Any) -> int:
            point, *options = rest if distribution else (None, *rest)
            return _kernels.min_norm_point(block, value, gap, None, point, *options)

        shapes: list[tuple[int, ...]] = [(), (), *([(self.n_classes,)] if distribution else [])]
        return tuple(self._run_validating_kernel(kernel, shapes, np.float64))

    @primitive("Q->()", native=_hull_scoring_native.max_square_norm)
    def max_square_norm(self) -> Any:
        def kernel(block: Array, square: Array) -> None:
            rows = block.astype(np.float64, copy=False)
            np.einsum("nmk,nmk->nm", rows, rows).max(axis=1, out=square)

        (square,) = map_instances(
            kernel, self._members, [()], dtype=np.float64, rows=self._rows_in_cache()
        )
        return square

    @primitive("Q->()", native=_hull_scoring_native.max_divergence)
    def max_divergence(self, loss: str) -> Any:
        """Return the largest divergence between two members; O(M^2 K)."""
        kernel = partial(_kernels.pair_divergence, kind=LOSSES.index(loss))
        return self._run_validating_kernel(kernel, [()], np.float64)[0]

    @primitive("Q->()", vjp=_hull_vjp.max_zero_one_divergence)
    def max_zero_one_divergence(self) -> Any:
        """Return ``max over p, q of max_z p_z - p_y``, where y is an argmax of q.

        The regrets ``max over members of max_z p_z - p_y`` are tried in decreasing order, until y
        is the argmax of a member, or of a mixture: a matrix game.
        """

        def kernel(block: Array, value: Array) -> None:
            value[:] = zero_one_choice(block)[0]

        rows = min(self._rows_in_cache(), GAME_ROWS)
        return map_instances(kernel, self._members, [()], dtype=np.float64, rows=rows)[0]

    def _rows_in_cache(self) -> int:
        return rows_in_cache(2 * self.n_members * self.n_classes)

    @abstractmethod
    def _run_validating_kernel(
        self,
        kernel: Callable[..., int],
        shapes: Sequence[tuple[int, ...] | None],
        dtype: Any = None,
        rows: int | None = None,
    ) -> list[Any]: ...
