"""Classes at the nodes of a tree: input validation, and its edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._edges import Edges


def on_tree(parents: Any, lengths: Any, classes: Any) -> tuple[Edges, tuple[int, int] | None]:
    """Return the edges of classes at nodes of a tree, by default its leaves.

    The second result is the first pair of classes whose distance is 0, if there is one.
    """
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
    return _tree_edges(parent, length, preorder, nodes), _equal_pair(
        parent, length, preorder, nodes
    )


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


def _equal_pair(
    parent: Array, length: Array, preorder: list[int], nodes: Array
) -> tuple[int, int] | None:
    """Return the first two classes that edges of length 0 connect, ``None`` if there are none."""
    merged = np.arange(len(parent))
    for v in preorder[1:]:
        if length[v] == 0:
            merged[v] = merged[parent[v]]
    place = merged[nodes]
    _, first, where = np.unique(place, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[where] < np.arange(len(nodes)))
    if len(again) == 0:
        return None
    pairs = [(int(first[where[y]]), int(y)) for y in again]
    return min(pairs)


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
