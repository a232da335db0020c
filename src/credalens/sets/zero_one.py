"""The largest divergence of the zero-one score over a convex hull."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _matrix_game
from credalens._backend import Array


def mode_tolerance(dtype: np.dtype[Any]) -> float:
    """Return how much less than the largest a probability may be, by rounding, to be a mode."""
    return 16 * float(np.finfo(dtype).eps)


def zero_one_choice(block: Array) -> tuple[Array, Array, Array, Array]:
    """Return the largest zero-one divergence of each ``(n, M, K)``, and where it is attained.

    Returns
    -------
    value, member, best, mode : arrays of shape (n,)
        ``value = P[member, best] - P[member, mode]``; `mode` is an argmax of a point of the hull.
    """
    rows = block.astype(np.float64, copy=False)
    slack, each = mode_tolerance(block.dtype), np.arange(len(rows))
    top = rows.max(axis=2, keepdims=True)
    losses = top - rows
    regrets = losses.max(axis=1)
    # Classes that some member ranks first; then, in decreasing order of the regret, others.
    decided = (losses <= slack).any(axis=1)
    mode = np.where(decided, regrets, -1.0).argmax(axis=1)
    open_ = ~decided & (regrets > regrets[each, mode][:, None])
    active = np.flatnonzero(open_.any(axis=1))
    while len(active):
        y = np.where(open_[active], regrets[active], -1.0).argmax(axis=1)
        own = np.take_along_axis(rows[active], y[:, None, None], axis=2)
        leads, gap, dual = _matrix_game.maximin(own - rows[active], dual=True)
        possible = leads + gap >= -slack
        mode[active[possible]] = y[possible]
        # A mixture of classes that is above y in every member is often above others too.
        above = (rows[active] @ dual[:, :, None]) - slack
        open_[active] &= (rows[active] >= above).any(axis=1)
        open_[active, y] = False
        active = active[~possible & open_[active].any(axis=1)]
    member = losses[each, :, mode].argmax(axis=1)
    return regrets[each, mode], member, rows[each, member].argmax(axis=1), mode
