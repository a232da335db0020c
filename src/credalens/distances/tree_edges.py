"""Classes on lines and trees, for which optimal transport has a closed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array

#: Up to this number of classes a matrix product is faster than cumulative sums.
DENSE_CLASSES = 32


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

    @cached_property
    def _matrix(self) -> Array | None:
        """The matrix of `masses` for few classes, otherwise None."""
        return self.matrix if len(self.order) <= DENSE_CLASSES else None

    @cached_property
    def matrix(self) -> Array:
        """Length of each edge that has the class on its side, otherwise 0: ``(K, E)``."""
        K = len(self.order)
        place = np.empty(K, np.intp)
        place[self.order] = np.arange(K)
        inside = (self.start <= place[:, None]) & (place[:, None] < self.stop)
        return np.where(inside, self.length, 0.0)

    @cached_property
    def is_line(self) -> bool:
        """Whether edge e has the first e + 1 classes on its side."""
        stops = np.arange(1, len(self.order))
        return not self.start.any() and np.array_equal(self.stop, stops)

    def masses(self, p: Array) -> Array:
        """Return the mass on the side of each edge times its length, ``(..., E)``, in float64."""
        if self._matrix is not None:
            flat = p.reshape(-1, p.shape[-1]).astype(np.float64, copy=False)
            return np.asarray(flat @ self._matrix).reshape(*p.shape[:-1], len(self.length))
        if not np.array_equal(self.order, np.arange(len(self.order))):
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


def on_line(positions: Array) -> Edges:
    """Return the edges between classes at `positions` on a line."""
    order = np.argsort(positions, kind="stable")
    ends = np.arange(1, len(positions))
    return Edges(order, np.zeros_like(ends), ends, np.diff(positions[order]))


def on_tree(parents: Any, lengths: Any, classes: Any) -> tuple[Array, Edges]:
    """Return the metric and the edges of classes at nodes of a tree, by default its leaves."""
    parent = _nodes(parents, "parents", least=-1)
    n = len(parent)
    length = _validation.finite(lengths, "lengths").astype(np.float64)
    if length.shape != (n,):
        _validation.raise_invalid(
            "lengths", f"has shape {length.shape}", f"pass one per node, ({n},)"
        )
    if (length < 0).any():
        v = int(np.argmax(length < 0))
        _validation.raise_invalid(
            "lengths", f"entry {v} (zero-based) is {length[v]:.6g}", "pass lengths >= 0"
        )
    leaves = np.setdiff1d(np.arange(n), parent)
    nodes = leaves if classes is None else _nodes(classes, "classes", least=0, most=n - 1)
    if len(np.unique(nodes)) < len(nodes):
        _validation.raise_invalid(
            "classes", "contains a node twice", "pass a different node for each class"
        )
    preorder = _preorder(parent)
    metric = _tree_metric(parent, length, preorder)[np.ix_(nodes, nodes)]
    return metric, _tree_edges(parent, length, preorder, nodes)


def _nodes(x: Any, name: str, *, least: int, most: int | None = None) -> Array:
    """Return `x` validated as a vector of node numbers."""
    array = np.asarray(_validation.vector(x, name))
    if array.dtype.kind not in "iu" or array.size == 0:
        _validation.raise_invalid(name, f"has dtype {array.dtype} and size {array.size}",
                           "pass node numbers, [1, 2, -1]")  # fmt: skip
    top = len(array) - 1 if most is None else most
    outside = (array < least) | (array > top)
    if outside.any():
        v = int(np.argmax(outside))
        _validation.raise_invalid(name, f"entry {v} (zero-based) is {array[v]}",
                           f"nodes are {least} to {top}")  # fmt: skip
    return array.astype(np.intp)


def _preorder(parent: Array) -> list[int]:
    """Return the nodes in preorder."""
    roots = np.flatnonzero(parent < 0)
    if len(roots) != 1:
        _validation.raise_invalid(
            "parents", f"has {len(roots)} roots", "mark exactly one root with -1"
        )
    children: list[list[int]] = [[] for _ in parent]
    for v, u in enumerate(parent):
        if u >= 0:
            children[u].append(v)
    order, stack = [], [int(roots[0])]
    while stack:
        v = stack.pop()
        order.append(v)
        stack += reversed(children[v])
    if len(order) < len(parent):
        v = int(np.setdiff1d(np.arange(len(parent)), order)[0])
        _validation.raise_invalid(
            "parents",
            f"node {v} (zero-based) is not a descendant of the root",
            "a node must not be its own ancestor",
        )
    return order


def _tree_metric(parent: Array, length: Array, preorder: list[int]) -> Array:
    """Return the lengths of the paths between all nodes."""
    path = np.zeros((len(parent), len(parent)))
    for i, v in enumerate(preorder[1:], start=1):
        seen = preorder[:i]
        path[v, seen] = path[seen, v] = path[parent[v], seen] + length[v]
    return path


def _tree_edges(parent: Array, length: Array, preorder: list[int], nodes: Array) -> Edges:
    """Return the edges with at least one class on both sides."""
    size = np.zeros(len(parent), np.intp)
    size[nodes] = 1
    rank = np.empty(len(parent), np.intp)
    rank[preorder] = np.arange(len(preorder))
    order = np.argsort(rank[nodes], kind="stable")
    for v in reversed(preorder[1:]):
        size[parent[v]] += size[v]
    # The first class below v is at the insertion point of v in the preorder of the classes.
    place = np.searchsorted(rank[nodes][order], rank)
    use = np.flatnonzero((size > 0) & (size < len(nodes)) & (parent >= 0) & (length > 0))
    use = use[np.argsort(size[use], kind="stable")]
    return Edges(order, place[use], place[use] + size[use], length[use])
