"""Classes on lines and trees, whose distances are sums over edges: O(K) numbers, no matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, Array, as_contiguous, namespace, native

#: Up to this number of classes a matrix product is faster than cumulative sums.
DENSE_CLASSES = 32


@dataclass(frozen=True, eq=False)
class Line:
    """Ordered classes, with the Wasserstein distance or the Kolmogorov distance between them."""

    order: Array
    positions: Array
    kolmogorov: bool = False


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of a line or a tree, each with the interval of classes on one side.

    With the classes in `order`, edge e has the classes ``order[start[e]:stop[e]]`` on one side, and
    contributes ``length[e] |p(side) - q(side)|`` to the transport cost. Edges are sorted by the
    size of that side.
    """

    order: Array
    start: Array
    stop: Array
    length: Array

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return len(self.order)

    @cached_property
    def _matrix(self) -> Array | None:
        """The matrix of `masses` for few classes, otherwise None."""
        return self.matrix if self.n_classes <= DENSE_CLASSES else None

    @property
    def matrix(self) -> Array:
        """Length of each edge that has the class on its side, otherwise 0: ``(K, E)``."""
        place = self._places
        inside = (self.start <= place[:, None]) & (place[:, None] < self.stop)
        return np.where(inside, self.length, 0.0)

    @cached_property
    def _places(self) -> Array:
        """The index of each class in `order`."""
        place = np.empty(self.n_classes, np.intp)
        place[self.order] = np.arange(self.n_classes)
        return place

    @cached_property
    def is_line(self) -> bool:
        """Whether edge e has the first e + 1 classes on its side."""
        stops = np.arange(1, self.n_classes)
        return not self.start.any() and np.array_equal(self.stop, stops)

    @cached_property
    def positions(self) -> Array:
        """Positions on the line of the classes in `order`, from 0 on."""
        return np.concatenate([[0.0], np.cumsum(self.length)])

    @cached_property
    def line(self) -> Line | None:
        """The classes on a line; ``None`` for a tree."""
        return Line(self.order, self.positions) if self.is_line else None

    @cached_property
    def diameter(self) -> float:
        """The largest distance between two classes."""
        if self.n_classes == 1:
            return 0.0
        if self.is_line:
            return float(self.positions[-1])
        # The class that is farthest from any one is an end of a longest path.
        return float(self.columns([int(self.columns([0]).argmax())]).max())

    # ---- expected costs

    def columns(self, classes: Any) -> Array:
        """Return the distances of all classes from some of them, ``(K, len(classes))``."""
        diracs = np.zeros((len(classes), self.n_classes))
        diracs[np.arange(len(classes)), classes] = 1.0
        return np.ascontiguousarray(self.expected(diracs[None])[0].T)

    def dense(self) -> Array:
        """Return the distances between all classes, ``(K, K)``."""
        if self.is_line:
            at = self.positions[self._places]
            return np.asarray(np.abs(at[:, None] - at))
        cost = self.columns(np.arange(self.n_classes))
        cost = (cost + cost.T) / 2  # without the rounding of sums over edges
        np.fill_diagonal(cost, 0.0)
        return cost

    def expected(self, points: Array) -> Array:
        """Return ``E_p[cost(., y)]`` of the rows p of ``(b, M, K)`` and every y, in float64."""
        dtype = np.float32 if points.dtype == np.float32 else np.float64
        rows = as_contiguous(points, dtype)
        costs = np.empty(rows.shape)
        if costs.size:
            _kernels.tree_costs(
                rows, self.order, self.start, self.stop, self.length, costs, DEFAULT_THREADS
            )
        return costs

    def native_expected(self, points: Any) -> Any:
        """Return `expected` for tensors, in the dtype for sums."""
        xp, p = namespace(points), native.widen(points)
        side = self._native_sides(p)
        total = xp.sum(p, axis=-1, keepdims=True)
        length = native.asarray_like(self.length, p)
        outside = xp.sum(side * length, axis=-1, keepdims=True)
        if len(self.length) == 0:
            return p * 0.0
        # The edges round a class are those that begin up to it, without those that end up to it.
        change = (total - 2 * side) * length
        places = np.arange(1, self.n_classes + 1)
        costs = outside
        for ends, sign in ((self.start, 1.0), (self.stop, -1.0)):
            by_end = np.argsort(ends, kind="stable")
            sums = xp.cumulative_sum(_take(change, by_end), axis=-1, include_initial=True)
            costs = costs + sign * _take(sums, np.searchsorted(ends[by_end], places - 1, "right"))
        return _take(costs, self._places)

    # ---- masses

    def masses(self, p: Array) -> Array:
        """Return the mass on the side of each edge times its length, ``(..., E)``, in float64."""
        if self._matrix is not None:
            flat = p.reshape(-1, p.shape[-1]).astype(np.float64, copy=False)
            return np.asarray(flat @ self._matrix).reshape(*p.shape[:-1], len(self.length))
        if not np.array_equal(self.order, np.arange(self.n_classes)):
            p = np.take(p, self.order, axis=-1)
        sums = np.cumsum(p, axis=-1, dtype=np.float64)
        if self.is_line:
            sums[..., :-1] *= self.length
            sums[..., -1] = 0.0
            return sums
        across = np.empty((*p.shape[:-1], len(self.length)))
        # Edges to leaves are the first ones and most of a tree; they need no sums.
        alone = int(np.searchsorted(self.stop - self.start, 2))
        across[..., :alone] = np.take(p, self.start[:alone], axis=-1)
        inner = np.take(sums, self.stop[alone:] - 1, axis=-1)
        before = np.take(sums, np.maximum(self.start[alone:] - 1, 0), axis=-1)
        before *= self.start[alone:] > 0
        np.subtract(inner, before, out=across[..., alone:])
        across *= self.length
        return across

    def native_masses(self, points: Any) -> Any:
        """Return `masses` for tensors, ``(..., E)``, in the dtype for sums."""
        if self._matrix is not None:
            return native.matmul(points, self._matrix)
        p = native.widen(points)
        return self._native_sides(p) * native.asarray_like(self.length, p)

    def _native_sides(self, p: Any) -> Any:
        """Return the mass on the side of each edge, ``(..., E)``."""
        ordered = _take(p, self.order)
        sums = namespace(p).cumulative_sum(ordered, axis=-1, include_initial=True)
        return _take(sums, self.stop) - _take(sums, self.start)


def expected_costs(points: Array, cost: Array | Edges) -> Array:
    """Return the expected costs ``(b, M, D)`` of the decisions for rows ``(b, M, K)``, float64."""
    if isinstance(cost, Edges):
        return cost.expected(points)
    flat = points.reshape(-1, points.shape[-1]).astype(np.float64, copy=False)
    # One matrix product, not a batch of small ones.
    return np.asarray(flat @ cost).reshape(*points.shape[:2], cost.shape[1])


def costs_of_decisions(weights: Array, cost: Array | Edges) -> Array:
    """Return the costs ``(b, K)`` of mixtures ``(b, D)`` of the decisions, by class."""
    if isinstance(cost, Edges):
        return cost.expected(weights[:, None])[:, 0]
    return np.asarray(weights @ cost.T)


def on_line(positions: Array) -> Edges:
    """Return the edges between classes at `positions` on a line."""
    order = np.argsort(positions, kind="stable")
    ends = np.arange(1, len(positions))
    return Edges(order, np.zeros_like(ends), ends, np.diff(positions[order]))


def tails(points: Array) -> tuple[Array, Array]:
    """Return the probability of the classes before and after each class, in float64."""
    below = np.zeros(points.shape)
    np.cumsum(points[..., :-1], axis=-1, dtype=np.float64, out=below[..., 1:])
    above = np.zeros(points.shape)
    np.cumsum(points[..., :0:-1], axis=-1, dtype=np.float64, out=above[..., -2::-1])
    return below, above


def _take(x: Any, index: Array) -> Any:
    """Return the entries of the last axis of a tensor at `index`."""
    xp = namespace(x)
    if index.size and np.array_equal(index, np.arange(x.shape[-1])):
        return x
    device = {} if not hasattr(x, "device") or native.is_jax(x) else {"device": x.device}
    return xp.take(x, xp.asarray(np.array(index, np.int64), **device), axis=-1)
