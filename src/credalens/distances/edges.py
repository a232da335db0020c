"""Lines and trees with classes on them, where moving mass has a closed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array

#: Up to this many classes a matrix product is faster than running sums.
DENSE_CLASSES = 32


@dataclass(frozen=True, eq=False)
class Edges:
    """A line or a tree on which the classes lie, as sums over runs of consecutive classes.

    With the classes in `order`, edge e has the classes ``order[start[e]:stop[e]]`` on one side, and
    moving p to q takes ``length[e] |p(side) - q(side)|`` across it. Edges come by the size of that
    side, smallest first.
    """

    order: Array
    start: Array
    stop: Array
    length: Array

    @cached_property
    def _matrix(self) -> Array | None:
        """What `masses` multiplies with for few classes."""
        return self.matrix if len(self.order) <= DENSE_CLASSES else None

    @cached_property
    def matrix(self) -> Array:
        """The lengths of the edges that have each class on their side, else 0: ``(K, E)``."""
        K = len(self.order)
        place = np.empty(K, np.intp)
        place[self.order] = np.arange(K)
        inside = (self.start <= place[:, None]) & (place[:, None] < self.stop)
        return np.where(inside, self.length, 0.0)

    def masses(self, p: Array) -> Array:
        """Return the mass across each edge times its length, ``(..., E)``, in float64."""
        if self._matrix is not None:
            flat = p.reshape(-1, p.shape[-1]).astype(np.float64, copy=False)
            return np.asarray(flat @ self._matrix).reshape(*p.shape[:-1], len(self.length))
        if not np.array_equal(self.order, np.arange(len(self.order))):
            p = np.take(p, self.order, axis=-1)
        sums = np.cumsum(p, axis=-1, dtype=np.float64)
        K = len(self.order)
        if not self.start.any() and np.array_equal(self.stop, np.arange(1, K)):
            # A line, whose edge e has the first e + 1 classes before it.
            sums[..., :-1] *= self.length
            sums[..., -1] = 0.0
            return sums
        across = np.empty((*p.shape[:-1], len(self.length)))
        # Edges to leaves, which come first, are most of a tree and need no sums.
        alone = int(np.searchsorted(self.stop - self.start, 2))
        across[..., :alone] = np.take(p, self.start[:alone], axis=-1)
        inner = np.take(sums, self.stop[alone:] - 1, axis=-1)
        before = np.take(sums, np.maximum(self.start[alone:] - 1, 0), axis=-1)
        before *= self.start[alone:] > 0
        np.subtract(inner, before, out=across[..., alone:])
        across *= self.length
        return across


def on_line(positions: Array) -> tuple[Array, Edges]:
    """Return the metric and the edges of classes at `positions` on a line."""
    order = np.argsort(positions, kind="stable")
    ends = np.arange(1, len(positions))
    edges = Edges(order, np.zeros_like(ends), ends, np.diff(positions[order]))
    return np.abs(positions[:, None] - positions), edges


def on_tree(parents: Any, lengths: Any, classes: Any) -> tuple[Array, Edges]:
    """Return the metric and the edges of classes at nodes of a tree, by default its leaves."""
    parent = _nodes(parents, "parents", least=-1)
    n = len(parent)
    length = _validation.finite(lengths, "lengths").astype(np.float64)
    if length.shape != (n,):
        _validation.refuse("lengths", f"has shape {length.shape}", f"pass one per node, ({n},)")
    if (length < 0).any():
        v = int(np.argmax(length < 0))
        _validation.refuse(
            "lengths", f"entry {v} (zero-based) is {length[v]:.6g}", "pass lengths >= 0"
        )
    leaves = np.setdiff1d(np.arange(n), parent)
    nodes = leaves if classes is None else _nodes(classes, "classes", least=0, most=n - 1)
    if len(np.unique(nodes)) < len(nodes):
        _validation.refuse("classes", "names a node twice", "pass a node of its own for each class")
    preorder = _preorder(parent)
    metric = _tree_metric(parent, length, preorder)[np.ix_(nodes, nodes)]
    return metric, _tree_edges(parent, length, preorder, nodes)


def _nodes(x: Any, name: str, *, least: int, most: int | None = None) -> Array:
    """Return `x` checked as a vector of node numbers."""
    array = np.asarray(_validation.vector(x, name))
    if array.dtype.kind not in "iu" or array.size == 0:
        _validation.refuse(name, f"has dtype {array.dtype} and size {array.size}",
                           "pass node numbers, [1, 2, -1]")  # fmt: skip
    top = len(array) - 1 if most is None else most
    outside = (array < least) | (array > top)
    if outside.any():
        v = int(np.argmax(outside))
        _validation.refuse(name, f"entry {v} (zero-based) is {array[v]}",
                           f"nodes are {least} to {top}")  # fmt: skip
    return array.astype(np.intp)


def _preorder(parent: Array) -> list[int]:
    """Return the nodes with each subtree in one run, parents first."""
    roots = np.flatnonzero(parent < 0)
    if len(roots) != 1:
        _validation.refuse("parents", f"has {len(roots)} roots", "mark exactly one root with -1")
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
        _validation.refuse("parents", f"node {v} (zero-based) does not hang on the root",
                           "a node must not be its own ancestor")  # fmt: skip
    return order


def _tree_metric(parent: Array, length: Array, preorder: list[int]) -> Array:
    """Return the lengths of the paths between all nodes."""
    path = np.zeros((len(parent), len(parent)))
    for i, v in enumerate(preorder[1:], start=1):
        seen = preorder[:i]
        path[v, seen] = path[seen, v] = path[parent[v], seen] + length[v]
    return path


def _tree_edges(parent: Array, length: Array, preorder: list[int], nodes: Array) -> Edges:
    """Return the edges as runs of classes, those that no class or every class is below left out."""
    size = np.zeros(len(parent), np.intp)
    size[nodes] = 1
    rank = np.empty(len(parent), np.intp)
    rank[preorder] = np.arange(len(preorder))
    order = np.argsort(rank[nodes], kind="stable")
    for v in reversed(preorder[1:]):
        size[parent[v]] += size[v]
    # The classes below v start where v itself would be inserted among the classes in preorder.
    place = np.searchsorted(rank[nodes][order], rank)
    use = np.flatnonzero((size > 0) & (size < len(nodes)) & (parent >= 0) & (length > 0))
    use = use[np.argsort(size[use], kind="stable")]
    return Edges(order, place[use], place[use] + size[use], length[use])
