"""Minimum-norm points of convex hulls, for a batch of hulls (Wolfe 1976)."""

from __future__ import annotations

import numpy as np

from credalens._backend import Array


def minimum_norm(points: Array) -> tuple[Array, Array]:
    """Return the distance of the origin to the hull of each ``(b, M, r)``, and its error.

    Wolfe's active-set method: the minimum-norm point of the affine hull of the active points is
    computed. If it is outside of their convex hull, the step ends at the boundary and a point is
    removed; otherwise the point with the smallest inner product is added. The method terminates
    after finitely many steps, usually about as many as there are active points at the optimum.

    Returns
    -------
    value, error : arrays of shape (b,)
        The norm of a point x of the hull, and a bound of its difference to the minimum: every point
        of the hull has at least the norm ``min over m of x . a_m / |x|``.
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
    solved = np.ones(n, bool)  # whether the weights are optimal for their active set
    for _ in range(10 * M + 20):
        if len(todo) == 0:
            break
        w, A, G = weights[todo], active[todo], gram[todo]
        slope = np.einsum("nmk,nk->nm", G, w)
        done = solved[todo] & _add_point(A, slope)
        w, full = _step(w, A, G)
        weights[todo], active[todo], solved[todo] = w, A, full
        todo = todo[~done]
    # The certificate is computed from the points and not from the Gram matrix.
    better, gap = _certify(points, weights)
    improved = better <= value
    return np.where(improved, better, value), np.where(improved, gap, error)


def _certify(points: Array, weights: Array) -> tuple[Array, Array]:
    x = np.einsum("nm,nmr->nr", weights, points)
    value = np.sqrt(np.einsum("nr,nr->n", x, x))
    along = np.einsum("nmr,nr->nm", points, x).min(axis=1)
    bound = along / np.maximum(value, np.finfo(float).tiny)
    # A norm is not negative, which bounds the error if x is close to the origin.
    return value, np.clip(value - bound, 0.0, value)


def _add_point(active: Array, slope: Array) -> Array:
    """Add the best point to each active set, in place; return whether there is none."""
    rows = np.arange(len(slope))
    inside = np.where(active, slope, np.inf).min(axis=1)
    outside = np.where(active, np.inf, slope)
    best = outside.argmin(axis=1)
    # Smaller differences are due to rounding, and the point would be removed again.
    none = ~(outside[rows, best] < inside - 1e-15)
    active[rows[~none], best[~none]] = True
    return np.asarray(none)


def _step(w: Array, active: Array, gram: Array) -> tuple[Array, Array]:
    """Move to the solution of each active set, or to the boundary, where a point is removed.

    The minimiser of ``|sum w a|^2`` subject to ``sum w = 1`` is the normalised solution of
    ``(G + 1 1^T) z = 1``.
    """
    M = w.shape[1]
    pairs = active[:, :, None] & active[:, None, :]
    system = np.where(pairs, gram + 1.0, 0.0)
    # The ridge makes the system regular if points are repeated; the certificate includes its error.
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
