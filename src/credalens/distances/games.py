"""Matrix games over the weights of the members, for pay-offs of any sign."""

from __future__ import annotations

import numpy as np

from credalens import _kernels
from credalens._arrays import AS_WANTED, Array


def minimax(payoff: Array) -> tuple[Array, Array, Array]:
    """Return ``min over weights w of max over j of (w A)_j`` for each A of ``(b, M, J)``.

    Returns
    -------
    value, gap, weights : arrays of shape (b,), (b,) and (b, M)
        The weights attain the value; no others do better than ``value - gap``.
    """
    low = payoff.min(axis=(1, 2))
    span = np.maximum(payoff.max(axis=(1, 2)) - low, np.finfo(float).tiny)
    # The solver wants pay-offs that are safely positive: [1, 2].
    scaled = 1.0 + (payoff - low[:, None, None]) / span[:, None, None]
    value, gap = np.empty((2, len(payoff)))
    weights = np.empty(payoff.shape[:2])
    _kernels.solve_games(np.ascontiguousarray(scaled), value, gap, weights, None, AS_WANTED)
    return low + (value - 1.0) * span, gap * span, weights


def maximin(payoff: Array) -> tuple[Array, Array, Array]:
    """Return ``max over weights w of min over j of (w A)_j``, the gap above it, and w."""
    value, gap, weights = minimax(-payoff)
    return -value, gap, weights


def least_minimax(payoff: Array) -> tuple[Array, Array]:
    """Return the least value of the games ``(b, Y, M, J)`` over Y, and its certified error.

    A game lies between its largest column minimum and its smallest row maximum; those whose lower
    bound is above another's upper bound are not solved.
    """
    floor = payoff.min(axis=2).max(axis=2)
    ceiling = payoff.max(axis=3).min(axis=2)
    open_ = floor <= ceiling.min(axis=1, keepdims=True)
    value, bound = ceiling.copy(), floor.copy()
    solved, gap, _ = minimax(payoff[open_])
    value[open_], bound[open_] = solved, solved - gap
    best = value.min(axis=1)
    return best, np.maximum(best - bound.min(axis=1), 0.0)
