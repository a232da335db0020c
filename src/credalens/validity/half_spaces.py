"""Extreme points of half-spaces of the simplex."""

from __future__ import annotations

import numpy as np

from credalens import _validation
from credalens._backend import Array

#: Largest number of bytes of the extreme points of a batch.
MAX_BYTES = 1 << 32


def half_space_vertices(g: Array, least: float) -> Array:
    """Return the extreme points of ``{p : sum_y g_y p_y >= least}`` in the simplex.

    The Dirac measures of the m classes with ``g_y >= least``, and on each edge to another class the
    point with equality. If there is no such class, the set is that of the largest g.

    Parameters
    ----------
    g : array of shape (..., K)
        One function per instance.
    least : float
        The smallest expectation; minus infinity for all distributions.

    Returns
    -------
    array of shape (..., V, K)
        ``V = m + m (K - m)`` for the instance with most, at most about ``K^2 / 4 + K``; instances
        with fewer repeat their first one.
    """
    lead, K = g.shape[:-1], g.shape[-1]
    rows = g.reshape(-1, K).astype(np.float64)
    order = np.argsort(-rows, axis=1, kind="stable")
    falling = np.take_along_axis(rows, order, axis=1)
    inside = np.maximum((falling >= least).sum(axis=1), 1)
    counts = inside + inside * (K - inside)
    V = int(counts.max(initial=1))
    nbytes = len(rows) * V * K * g.itemsize
    if nbytes > MAX_BYTES:
        _validation.raise_invalid(
            "predictions",
            f"the half-spaces have up to {V} extreme points, {nbytes / 1e9:.3g} GB for this batch",
            "pass fewer instances at once, or use score='tv' or 'kl'",
        )
    points = np.zeros((len(rows), V, K))
    for m in np.unique(inside):
        some = np.flatnonzero(inside == m)
        ranked = np.zeros((len(some), V, K))
        ranked[:, :, 0] = 1.0
        ranked[:, :m, :m] = np.eye(m)
        i, j = np.repeat(np.arange(m), K - m), np.tile(np.arange(m, K), m)
        high, low = falling[some][:, i], falling[some][:, j]
        share = np.clip((high - least) / np.maximum(high - low, np.finfo(float).tiny), 0.0, 1.0)
        edge = m + np.arange(len(i))
        ranked[:, edge, 0] = 0.0
        ranked[:, edge, i] = 1 - share
        ranked[:, edge, j] = share
        back = np.broadcast_to(order[some][:, None], ranked.shape)
        moved = np.empty_like(ranked)
        np.put_along_axis(moved, back, ranked, axis=2)
        points[some] = moved
    return points.reshape(*lead, V, K).astype(g.dtype, copy=False)
