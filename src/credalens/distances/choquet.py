"""Choquet integrals with respect to the lower and upper probability of a credal set.

With ``f(1) >= ... >= f(K)`` and ``A_i`` the first i classes in that order, the integral is
``int f dv = f(K) + sum_i (f(i) - f(i+1)) v(A_i)``. The difference between the upper and the lower
integral is therefore ``sum_i (f(i) - f(i+1)) w(A_i)`` with ``w(A) = upper(A) - lower(A)``, which is
equal for an event and its complement.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from credalens._backend import Array, rows_in_cache
from credalens._edges import Edges
from credalens._protocols import CredalSetLike

#: Largest number of classes for which the linear cells of Wasserstein and MMD balls are enumerated.
FEW_CLASSES = 7


def event_widths(Q: CredalSetLike) -> Array:
    """Return ``upper(A) - lower(A)``, ``(..., 2**(K-1))``, of the events without the last class.

    Bit y of the index of an event is set if it contains class y; its complement has the same width.
    """
    K = Q.n_classes
    events = (np.arange(1 << (K - 1))[:, None] >> np.arange(K)) & 1
    return Q.widths(events)


def event_index(masks: Array, K: int) -> Array:
    """Return the positions in `event_widths` of events given by bit masks."""
    return np.where(masks >> (K - 1), (1 << K) - 1 - masks, masks)


def level_sets(functions: Array) -> tuple[Array, Array]:
    """Return the steps ``(F, K-1)`` of functions ``(F, K)``, and the order of the classes."""
    order = np.argsort(-functions, axis=1, kind="stable")
    decreasing = np.take_along_axis(functions, order, axis=1)
    return decreasing[:, :-1] - decreasing[:, 1:], order


def finite_imprecision(functions: Array, Q: CredalSetLike) -> Array:
    """Return the largest width of the Choquet integrals of `functions` ``(F, K)``."""
    F, K = functions.shape
    steps, order = level_sets(functions)
    best = np.zeros(np.shape(Q.widths(np.zeros(K))))
    chunk = rows_in_cache(K * (K - 1) * max(1, best.size // K))
    for start in range(0, F if K > 1 else 0, chunk):
        part = slice(start, start + chunk)
        # Class order[i] is in the level sets i, i + 1, ...
        rank = np.argsort(order[part], axis=1)
        sets = rank[:, None, :] <= np.arange(K - 1)[:, None]
        events = sets.reshape(-1, K).astype(np.float64)
        integrals = (Q.widths(events).reshape(*best.shape, len(rank), K - 1) * steps[part]).sum(
            axis=-1
        )
        best = np.maximum(best, integrals.max(axis=-1))
    return best


def step_table(functions: Array) -> Array:
    """Return the matrix ``(F, 2**(K-1))`` that maps event widths to widths of integrals."""
    F, K = functions.shape
    steps, order = level_sets(functions)
    masks = np.cumsum(1 << order, axis=1)[:, :-1]
    table = np.zeros((F, 1 << (K - 1)))
    np.add.at(table, (np.arange(F)[:, None], event_index(masks, K)), steps)
    return table


def largest_integral(table: Array, widths: Array) -> Array:
    """Return the largest entry of ``table @ widths`` for widths ``(..., 2**(K-1))``."""
    flat = widths.reshape(-1, widths.shape[-1])
    chunk = rows_in_cache(len(table))
    best = np.empty(len(flat))
    for start in range(0, len(flat), chunk):
        part = slice(start, start + chunk)
        best[part] = (flat[part] @ table.T).max(axis=1)
    return best.reshape(widths.shape[:-1])


def lipschitz_bound(Q: CredalSetLike, metric: Array | Edges) -> Array:
    """Return an upper bound of the imprecision for functions with ``|f_i - f_j| <= metric_ij``.

    ``w(A)`` is at most T, the total variation diameter of the set, which gives the bound T times
    the largest distance. ``w(A)`` is also at most the sum of the widths of the classes in A or in
    its complement; with the one that does not contain class y, this gives the cost of transporting
    all widths to y, minimised over y.
    """
    widths = Q.widths()
    if isinstance(metric, Edges):
        moved, most = metric.expected(widths.reshape(1, -1, Q.n_classes)), metric.diameter
        moved = moved.reshape(widths.shape)
    else:
        moved, most = widths @ metric, metric.max()
    tv = 2 * np.asarray(Q.tv_closed_forms(epistemic=True)[2], np.float64)
    return np.asarray(np.minimum(tv * most, moved.min(axis=-1)))


@cache
def ordered_partitions(K: int) -> tuple[Array, ...]:
    """Return the ordered partitions of K classes into 2, ..., K blocks, each up to reversal.

    ``labels[i, y]`` is the block of class y in partition i, ``(n, K)``.
    """

    def surjections(b: int) -> Array:
        labels = np.stack(np.unravel_index(np.arange(b**K), (b,) * K), axis=1).astype(np.int8)
        onto = np.logical_and.reduce([(labels == j).any(axis=1) for j in range(b)])
        # The reversed partition has the complements of the same events.
        return np.asarray(labels[onto & (2 * labels[:, 0] <= b - 1)])

    return tuple(surjections(b) for b in range(2, K + 1))


def ball_faces(vertices: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the faces for maximising over ``f(y) = theta . vertices[y]`` with ``|theta| <= 1``.

    An ordered partition with b blocks has a chain of b - 1 events and a cone of theta for which f
    is constant on blocks and decreases from block to block. Over the span of that cone and
    ``|theta| <= 1``, ``sum_i g_i w_i`` with the steps ``g`` of f is maximal at ``g`` proportional
    to ``S w``, with the value ``sqrt(w S w)``. The maximum over all f is one of these values with
    ``g >= 0``.

    Yields the positions of the chains ``(n, b-1)`` in `event_widths` and the matrices S.
    """
    K = len(vertices)
    for labels in ordered_partitions(K):
        b = int(labels.max()) + 1
        first = np.stack([(labels == j).argmax(axis=1) for j in range(b)], axis=1)
        drops = vertices[first[:, :-1]] - vertices[first[:, 1:]]
        own = np.take_along_axis(first, labels.astype(np.intp), axis=1)
        rest = np.argsort(own == np.arange(K), axis=1, kind="stable")[:, : K - b]
        flat = vertices[rest] - vertices[np.take_along_axis(own, rest, axis=1)]
        if b < K:  # constant on blocks: theta is orthogonal to the differences within them
            drops = drops - (drops @ np.linalg.pinv(flat, rcond=1e-10)) @ flat
        masks = np.stack(
            [((labels <= i) << np.arange(K)).sum(axis=1) for i in range(b - 1)], axis=1
        )
        yield event_index(masks, K), drops @ drops.transpose(0, 2, 1)


def largest_on_faces(faces: list[tuple[Array, Array]], widths: Array) -> Array:
    """Return the largest ``sqrt(w S w)`` with ``S w >= 0`` over the faces of `ball_faces`."""
    flat = widths.reshape(-1, widths.shape[-1])
    best = np.zeros(len(flat))
    for positions, S in faces:
        chunk = rows_in_cache(positions.size)
        for start in range(0, len(flat), chunk):
            w = flat[start : start + chunk][:, positions]
            steps = np.einsum("cij,ncj->nci", S, w)
            square = (w * steps).sum(axis=2)
            decreasing = steps.min(axis=2) >= -1e-12 * np.abs(steps).max(axis=2)
            here = np.where(decreasing, square, 0.0).max(axis=1)
            np.maximum(best[start : start + chunk], here, out=best[start : start + chunk])
    return np.asarray(np.sqrt(best)).reshape(widths.shape[:-1])
