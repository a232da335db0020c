"""Ensembles with missing members: instances with equally many members are computed together.

The members that are present are copied, block by block, to dense arrays ``(b, m, K)``, so that
every function of a dense ensemble serves one with missing members, and returns the same bits as for
the members that are present.
"""

from __future__ import annotations

import contextvars
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from credalens._backend.backend import Array, is_tensor, namespace, tree_map
from credalens._backend.batching import BLOCK_BYTES, SMALL_BYTES

#: Flat index of each instance of the current block, and the shape of the batch, by which error
#: messages replace the index of an instance.
INSTANCES: contextvars.ContextVar[tuple[Array, tuple[int, ...]] | None] = contextvars.ContextVar(
    "instances", default=None
)


def group_blocks(mask: Array, rows: Callable[[int], int]) -> Iterator[tuple[Array, Array]]:
    """Cut instances into blocks with equally many members.

    Parameters
    ----------
    mask : array of bool, shape (n, M)
        The members that are present, at least one for each instance.
    rows : callable
        The largest number of instances in a block, from their number of members.

    Yields
    ------
    instances : array of int, shape (b,)
        Increasing.
    members : array of int, shape (b, m)
        The members of each that are present, increasing.
    """
    counts = np.count_nonzero(mask, axis=1)
    for count in np.flatnonzero(np.bincount(counts)) if len(counts) else [mask.shape[1]]:
        instances = np.flatnonzero(counts == count)
        step = max(1, rows(int(count)))
        for start in range(0, max(1, len(instances)), step):
            some = instances[start : start + step]
            yield some, np.nonzero(mask[some])[1].reshape(len(some), int(count))


def map_groups(
    function: Callable[..., Any],
    build: Callable[..., Any],
    mask: Array,
    members: Any,
    weights: Array | None = None,
    arguments: Sequence[Array] = (),
) -> Any:
    """Return ``function(build(members, weights), *arguments)`` of the members that are present.

    Parameters
    ----------
    function, build : callable
        `build` makes a set of dense arrays ``(b, m, K)`` and ``(b, m)``.
    mask : array of bool, shape (..., M)
        The members that are present.
    members : array of shape (..., M, K)
        A NumPy array or a tensor.
    weights : array of shape (..., M), optional
        The weights of the members.
    arguments : sequence of arrays of shape (..., K)
        Arguments with one row per instance, which broadcast.

    Returns
    -------
    arrays of shape (...), or tuples, dicts and dataclasses of these
    """
    lead = np.broadcast_shapes(mask.shape[:-1], *(x.shape[:-1] for x in arguments))
    if lead != mask.shape[:-1]:
        mask = np.broadcast_to(mask, lead + mask.shape[-1:])
        members = np.broadcast_to(members, lead + members.shape[-2:])
        weights = None if weights is None else np.broadcast_to(weights, lead + weights.shape[-1:])
    rows = [np.broadcast_to(x, lead + x.shape[-1:]) for x in arguments]
    M, K = members.shape[-2:]
    n = math.prod(lead)
    limit = min(BLOCK_BYTES, max(n * M * K * members.dtype.itemsize // 6, SMALL_BYTES))
    results = _Results(n)
    # Indices take three integers per member.
    size = K * members.dtype.itemsize + 24
    for instances, present in group_blocks(mask.reshape(n, M), lambda m: limit // max(1, m * size)):
        at = np.unravel_index(instances, lead) if lead else ()
        token = INSTANCES.set((instances, lead))
        try:
            dense = build(
                _take_members(members, at, present),
                None if weights is None else _take_members(weights, at, present),
            )
            results.add(instances, function(dense, *(x[at].reshape(-1, K) for x in rows)))
        finally:
            INSTANCES.reset(token)
    return results.assemble(lead)


def _take_members(array: Any, at: tuple[Array, ...], present: Array) -> Any:
    """Return the rows ``(b, m, ...)`` of the members `present` ``(b, m)`` of the instances `at`."""
    if is_tensor(array) and hasattr(array, "index_select"):  # PyTorch
        as_index = array.new_tensor
        at = tuple(as_index(i, dtype=_int64(array)) for i in at)
        return array[(*(i[:, None] for i in at), as_index(present, dtype=_int64(array)))]
    return array[(*(i[:, None] for i in at), present)]


def _int64(tensor: Any) -> Any:
    return namespace(tensor).int64


class _Results:
    """The results of the blocks, in the order of the instances."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.template: Any = None
        #: Of each array of the result: what is assembled, or for tensors the parts.
        self.whole: list[Any] = []
        self.instances: list[Array] = []

    def add(self, instances: Array, result: Any) -> None:
        """Add the result of a block."""
        leaves: list[Any] = []
        tree_map(leaves.append, result)
        if not self.instances:
            self.template = result
            self.whole = [
                [] if is_tensor(x) else np.empty((self.n, *np.shape(x)[1:]), np.asarray(x).dtype)
                for x in leaves
            ]
        self.instances.append(instances)
        for i, leaf in enumerate(leaves):
            if isinstance(self.whole[i], list):
                self.whole[i].append(leaf)
                continue
            if self.whole[i].shape[1:] != np.shape(leaf)[1:]:  # numbers of extreme points
                most = max(self.whole[i].shape[1], np.shape(leaf)[1])
                self.whole[i], leaf = (_padded(x, most) for x in (self.whole[i], leaf))
            self.whole[i][instances] = leaf

    def assemble(self, lead: tuple[int, ...]) -> Any:
        """Return the results of all instances, ``(*lead, ...)``."""
        order = np.argsort(np.concatenate(self.instances), kind="stable")
        arrays = iter(self.whole)

        def finish(_: Any) -> Any:
            array = next(arrays)
            if isinstance(array, list):
                xp = namespace(array[0])
                array = _take_rows(xp.concat(array), order)
                return xp.reshape(array, (*lead, *array.shape[1:]))
            return array.reshape((*lead, *array.shape[1:]))[()]

        return tree_map(finish, self.template)


def _take_rows(tensor: Any, order: Array) -> Any:
    index = tensor.new_tensor(order, dtype=_int64(tensor)) if hasattr(tensor, "new_tensor") else (
        order)  # fmt: skip
    return tensor[index]


def _padded(points: Array, count: int) -> Array:
    """Return points ``(n, V, K)`` with the first one repeated up to `count`."""
    return np.concatenate(
        [points, np.repeat(points[:, :1], count - points.shape[1], axis=1)], axis=1
    )
