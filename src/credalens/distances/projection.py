"""Nearest points of convex hulls to the origin, for a batch of hulls at once."""

from __future__ import annotations

import numpy as np

from credalens._arrays import Array


def nearest(points: Array) -> tuple[Array, Array]:
    """Return the distance of the origin from the hull of each ``(b, M, r)``, and its error.

    An active-set method: a set of points is solved as if weights could be negative; a step that
    would leave the hull stops at its boundary and drops a point; else the point furthest on the
    side of the origin comes in. It ends at the optimum after finitely many steps, in practice about
    as many as the points that are needed.

    Returns
    -------
    value, error : arrays of shape (b,)
        The distance of a point of the hull, and how much nearer the nearest one may be: x being
        that point, nothing in the hull is nearer than ``min over m of x . a_m / |x|``.
    """
    n, M, _ = points.shape
    size = np.einsum("nmr,nmr->nm", points, points)
    scale = np.maximum(size.max(axis=1), np.finfo(float).tiny)
    gram = np.einsum("nmr,nkr->nmk", points, points) / scale[:, None, None]
    start = size.argmin(axis=1)
    weights = np.zeros((n, M))
    weights[np.arange(n), start] = 1.0
    active = weights > 0
    value, error = _certify(points, weights)
    todo = np.flatnonzero(error > 0)
    settled = np.ones(n, bool)  # whether the weights solve their active set
    for _ in range(10 * M + 20):
        if len(todo) == 0:
            break
        w, A, G = weights[todo], active[todo], gram[todo]
        slope = np.einsum("nmk,nk->nm", G, w)
        done = settled[todo] & _enter(A, slope)
        w, full = _step(w, A, G)
        weights[todo], active[todo], settled[todo] = w, A, full
        todo = todo[~done]
    # Whatever the search did, the answer is certified on the points themselves.
    better, gap = _certify(points, weights)
    improved = better <= value
    return np.where(improved, better, value), np.where(improved, gap, error)


def _certify(points: Array, weights: Array) -> tuple[Array, Array]:
    x = np.einsum("nm,nmr->nr", weights, points)
    value = np.sqrt(np.einsum("nr,nr->n", x, x))
    along = np.einsum("nmr,nr->nm", points, x).min(axis=1)
    bound = along / np.maximum(value, np.finfo(float).tiny)
    # A distance is not negative, which also bounds the error where x is almost the origin.
    return value, np.clip(value - bound, 0.0, value)


def _enter(active: Array, slope: Array) -> Array:
    """Let the best new point into each active set, in place; return where there is none."""
    rows = np.arange(len(slope))
    inside = np.where(active, slope, np.inf).min(axis=1)
    outside = np.where(active, np.inf, slope)
    best = outside.argmin(axis=1)
    # Below this, the difference is rounding, and the point would be dropped again.
    none = ~(outside[rows, best] < inside - 1e-15)
    active[rows[~none], best[~none]] = True
    return np.asarray(none)


def _step(w: Array, active: Array, gram: Array) -> tuple[Array, Array]:
    """Move to the solution of each active set, or to the boundary, where a point is dropped.

    Minimising ``|sum w a|^2`` with ``sum w = 1`` is solving ``(G + 1 1^T) z = 1`` and scaling.
    """
    M = w.shape[1]
    pairs = active[:, :, None] & active[:, None, :]
    system = np.where(pairs, gram + 1.0, 0.0)
    # A touch of ridge keeps repeated points from making it singular; w is certified anyway.
    diagonal = np.arange(M)
    system[:, diagonal, diagonal] += np.where(active, 1e-14, 1.0)
    z = np.linalg.solve(system, active.astype(np.float64)[..., None])[..., 0]
    z = np.where(active, z, 0.0)
    z /= z.sum(axis=1, keepdims=True)
    leaving = active & (z <= 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(leaving, w / (w - z), np.inf)
    ratio = np.where(np.isnan(ratio), 0.0, ratio)
    length = np.minimum(ratio.min(axis=1), 1.0)
    full = np.logical_not(leaving.any(axis=1))
    moved = np.maximum(w + length[:, None] * (z - w), 0.0)
    drop = leaving & (ratio <= length[:, None])
    active &= ~drop
    moved[drop] = 0.0
    return moved / moved.sum(axis=1, keepdims=True), np.asarray(full)
