"""Matrix games ``min over weights w of max over j of (w A)_j``, solved with a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, Array


def minimax(
    payoff: Array, *, weights: bool = False, dual: bool = False, overwrite: bool = False
) -> tuple[Any, ...]:
    """Return ``min over weights w of max over j of (w A)_j`` of each A in ``(b, M, J)``.

    `overwrite` allows to use the memory of the payoffs.

    Returns
    -------
    value, gap : arrays of shape (b,)
        A mixture attains the value; the optimum is at most `gap` below it. Both are computed from
        the payoffs, not from the tableau of the simplex method.
    weights : array of shape (b, M), if requested
        The mixture of the rows.
    dual : array of shape (b, J), if requested
        The optimal mixture of the columns.
    """
    # The solver requires positive payoffs: they are scaled to [1, 2].
    low = payoff.min(axis=(1, 2))
    span = np.maximum(payoff.max(axis=(1, 2)) - low, np.finfo(float).tiny)
    scaled = np.subtract(payoff, low[:, None, None], out=payoff if overwrite else None)
    scaled /= span[:, None, None]
    scaled += 1.0
    value, gap = np.empty((2, len(payoff)))
    w = np.empty(payoff.shape[:2]) if weights else None
    q = np.empty((len(payoff), payoff.shape[2])) if dual else None
    _kernels.solve_games(np.ascontiguousarray(scaled), value, gap, w, q, DEFAULT_THREADS)
    return low + (value - 1.0) * span, gap * span, *(x for x in (w, q) if x is not None)


def maximin(payoff: Array, **options: bool) -> tuple[Any, ...]:
    """Return ``max over weights w of min over j of (w A)_j``; see `minimax`."""
    value, *rest = minimax(-payoff, **options)
    return -value, *rest


def smallest_minimax(payoff: Array) -> tuple[Array, Array]:
    """Return the smallest value of the games ``(b, Y, M, J)`` over Y, and its certified error.

    A game lies between its largest column minimum and its smallest row maximum; games whose lower
    bound is above the upper bound of another one are not solved.
    """
    floor = payoff.min(axis=2).max(axis=2)
    ceiling = payoff.max(axis=3).min(axis=2)
    open_ = floor <= ceiling.min(axis=1, keepdims=True)
    value, bound = ceiling.copy(), floor.copy()
    solved, gap = minimax(payoff[open_])
    value[open_], bound[open_] = solved, solved - gap
    best = value.min(axis=1)
    return best, np.maximum(best - bound.min(axis=1), 0.0)
