"""Ordered classes: the Wasserstein distance on a line and the Kolmogorov distance."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credalens._backend import DEFAULT_THREADS, Array, primitive, rows_in_cache
from credalens._edges import Edges, Line
from credalens.sets import column_generation
from credalens.sets.base import CredalSet

if TYPE_CHECKING:
    from credalens._protocols import DistanceLike

#: Results of the kernels for 2-monotone sets on a line.
RESULTS = ("total", "lower", "upper", "gap", "diameter")


class LineQueries(CredalSet):
    """Queries about ordered classes that need no extreme points.

    A 2-monotone set that contains all distributions above its lower probability has a member that
    attains the lower probabilities of all events of a chain, such as the initial sections of an
    order and the intervals round a class. A kernel computes all measures from these. Other sets
    maximise one functional for each class, and the upper aleatoric end by column generation.
    """

    if TYPE_CHECKING:

        @property
        def _parts(self) -> tuple[Array, ...]: ...
        def _map(
            self,
            kernel: Callable[..., Any],
            shapes: Sequence[tuple[int, ...] | None],
            dtype: Any = ...,
        ) -> list[Any]: ...
        def _maximiser_of(self, parts: list[Array]) -> column_generation.Maximiser: ...

    @abstractmethod
    def _line_kernel(self) -> Callable[..., None] | None:
        """Return the kernel for 2-monotone sets; None if the set is not known to be one.

        It is called with the distance, the parts, the line and the outputs.
        """

    def _chain_results(self, run: Callable[..., None], line: Line, *wanted: str) -> list[Any]:
        """Return some of `RESULTS`, in float64, from the kernel of a 2-monotone set."""

        def kernel(*parts: Any) -> None:
            inputs, outputs = parts[: -len(RESULTS)], parts[-len(RESULTS) :]
            run(line.kolmogorov, *inputs, line.order, line.positions, *outputs, DEFAULT_THREADS)

        found = self._map(kernel, [() if name in wanted else None for name in RESULTS])
        return [found[RESULTS.index(name)] for name in wanted]

    # ---- Wasserstein

    @primitive("Q->(),()", native=CredalSet.minimax_and_minimin_risk)
    def minimax_and_minimin_risk(self, cost: Array | Edges) -> tuple[Any, Any]:
        """Return the minimum over y of the largest, and of the smallest, ``E_p[cost(., y)]``.

        On a line O(K) to O(K^2) for 2-monotone sets. On lines and trees no matrix of all costs.
        """
        if not isinstance(cost, Edges):
            return CredalSet.minimax_and_minimin_risk(self, cost)
        kernel = self._line_kernel()
        if cost.line is not None and kernel is not None:
            total, lower = self._chain_results(kernel, cost.line, "total", "lower")
            return total, lower
        worst, best, _ = self._risks_by_class(cost)
        return worst, best

    def _risks_by_class(self, edges: Edges) -> tuple[Array, Array, Array]:
        """Return both risks, and the class of the first one, from the costs of some classes."""
        K = self.n_classes
        worst, best = np.full((2, *self.batch_shape), np.inf)
        which = np.zeros(self.batch_shape, np.intp)
        step = rows_in_cache(K)
        for start in range(0, K, step):
            functions = edges.columns(np.arange(start, min(K, start + step))).T
            high = np.asarray(self.upper(functions), np.float64)
            better = high.min(axis=-1) < worst
            which = np.where(better, start + high.argmin(axis=-1), which)
            worst = np.minimum(worst, high.min(axis=-1))
            best = np.minimum(best, np.asarray(self.lower(functions), np.float64).min(axis=-1))
        return worst, best, which

    @primitive("Q->(),(),(),()", native=CredalSet.cost_uncertainty)
    def cost_uncertainty(self, cost: Array | Edges) -> tuple[Any, Any, Any, Any]:
        """Return the minimax and the minimin risk, the maximin risk between them, and its gap.

        On a line the maximin risk is the minimum over real y of the largest ``E_p|x - y|``: a
        kernel for 2-monotone sets, otherwise column generation with one variable.
        """
        if not isinstance(cost, Edges):
            return CredalSet.cost_uncertainty(self, cost)
        line, kernel = cost.line, self._line_kernel()
        if line is not None and kernel is not None:
            total, lower, upper, gap = self._chain_results(kernel, line, *RESULTS[:4])
            return total, lower, upper, gap
        total, lower, which = self._risks_by_class(cost)
        lower = np.minimum(lower, total)  # rounding may break it
        if line is None:
            upper, gap = self.maximin(cost)
        else:
            upper, gap = self._line_game(line, np.argsort(line.order)[which], total)
        return total, lower, np.clip(upper, lower, total), gap

    def _line_game(self, line: Line, rank: Array, total: Array) -> tuple[Array, Array]:
        ranks, totals = rank.reshape(-1), np.asarray(total).reshape(-1)
        start = 0

        def kernel(*parts: Array) -> None:
            nonlocal start
            *inputs, value, gap = parts
            some = slice(start, start + len(value))
            start += len(value)
            value[:], gap[:] = column_generation.line_game(
                self._maximiser_of(inputs), line, ranks[some], totals[some]
            )

        value, gap = self._map(kernel, [(), ()])
        return value, gap

    @primitive("Q->()")
    def vertex_diameter(self, distance: DistanceLike) -> Any:
        """Return the largest distance between two members.

        In closed form for 2-monotone sets and ordered classes: two members attain the upper and
        the lower probability of all initial sections at once. For finitely many test functions the
        largest difference of their expectations. Otherwise by pairs of extreme points.
        """
        line = distance.line(self.n_classes)
        if line is not None:
            kernel = self._line_kernel()
            if kernel is not None:
                return self._chain_results(kernel, line, "diameter")[0]
            if line.kolmogorov:
                low, high = self._section_bounds(line)
                return (high - low).max(axis=-1, initial=0.0)
        functions = self._test_functions(distance)
        if functions is not None:
            return self.widths(functions).max(axis=-1, initial=0.0)
        return CredalSet.vertex_diameter(self, distance)

    def _test_functions(self, distance: DistanceLike) -> Array | None:
        """Return functions with ``d(p, q) = max |E_p[f] - E_q[f]|``, None if there are too many."""
        norm = distance.seminorm(self.n_classes)
        if norm is None or norm.order != math.inf:
            return None
        return np.asarray(norm.scale * norm.dense().T, np.float64)

    # ---- Kolmogorov

    def _section_bounds(self, line: Line) -> tuple[Array, Array]:
        """Return the lower and upper probabilities of the first 1, ..., K - 1 classes."""
        low = np.asarray(self.lower_prefixes(line.order), np.float64)[..., :-1]
        rest = np.asarray(self.lower_prefixes(line.order[::-1]), np.float64)[..., :-1]
        high = 1 - rest[..., ::-1]
        return np.minimum(low, high), high

    @primitive("Q->()")
    def minimax_dirac_distance(self, distance: DistanceLike) -> Any:
        """Return ``min over y of max over p of d(p, delta_y)``; see `vertex_diameter`."""
        line = distance.line(self.n_classes)
        if line is not None and line.kolmogorov:
            kernel = self._line_kernel()
            if kernel is not None:
                return self._chain_results(kernel, line, "total")[0]
            low, high = self._section_bounds(line)
            return _larger_tail(high, 1 - low).min(axis=-1)
        functions = self._test_functions(distance)
        if functions is None:
            return CredalSet.minimax_dirac_distance(self, distance)
        low, high = np.asarray(self.lower(functions)), np.asarray(self.upper(functions))
        worst = np.maximum(high[..., None] - functions, functions - low[..., None])
        return worst.max(axis=-2, initial=0.0).min(axis=-1)

    @primitive("Q->(),(),()")
    def kolmogorov_aleatoric(self) -> tuple[Any, Any, Any]:
        """Return the ends of ``{min over y of max(p(< y), p(> y))}`` and their largest error.

        In closed form for 2-monotone sets, otherwise a small game for each class.
        """
        K = self.n_classes
        line = Line(np.arange(K), np.arange(K, dtype=np.float64), kolmogorov=True)
        kernel = self._line_kernel()
        if kernel is not None:
            lower, upper, gap = self._chain_results(kernel, line, "lower", "upper", "gap")
            return lower, upper, gap
        low, high = self._section_bounds(line)
        nearest = np.clip(0.5, low, high)
        upper = np.minimum(nearest, 1 - nearest).max(axis=-1, initial=0.0)
        others = 1 - np.asarray(self.upper(), np.float64)
        floor = np.maximum(_larger_tail(low, 1 - high), others / 2)
        lower, error = self._smallest_tail_game(floor, _larger_tail(high, 1 - low))
        return np.minimum(lower, upper), upper, error

    def _smallest_tail_game(self, floor: Array, ceiling: Array) -> tuple[Array, Array]:
        """Return ``min over y and p of max(p(< y), p(> y))``, from bounds for each y."""
        best, bound = ceiling.min(axis=-1), np.full(self.batch_shape, np.inf)
        classes = np.arange(self.n_classes)
        for y in classes:
            open_ = floor[..., y] < best
            if not open_.any():
                bound = np.minimum(bound, floor[..., y])
                continue
            both = np.stack([classes < y, classes > y], axis=1).astype(np.float64)
            value, gap = self[open_].maximin(-both) if open_.ndim else self.maximin(-both)
            value, least = -np.asarray(value), -np.asarray(value) - np.asarray(gap)
            bound[~open_] = np.minimum(bound, floor[..., y])[~open_]
            best[open_] = np.minimum(best[open_], value)
            bound[open_] = np.minimum(bound[open_], np.maximum(least, floor[open_, y]))
        return best, np.maximum(best - bound, 0.0)


def _larger_tail(below: Array, above: Array) -> Array:
    """Return ``max(below(< y), above(> y))`` for each class, from sections ``(..., K - 1)``."""
    none = np.zeros((*below.shape[:-1], 1))
    first, second = np.concatenate([none, below], axis=-1), np.concatenate([above, none], axis=-1)
    return np.asarray(np.maximum(first, second))
