"""What solvers find for a hull, with the gradient by its members that the solution gives.

A value that is the best over some choices, weights of members, a decision, an event, a plan, has
the gradient of the objective at the best choice (Danskin's theorem). So one solution gives both,
and nothing is differentiated through the steps of a solver. Where several choices are best, the
gradient is that of the one that was found, a generalised gradient.

Entropy and Hartley measure divide each row by its sum first, and so do their gradients: what would
move all classes of a member alike has no effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credalens import _kernels
from credalens._arrays import AS_WANTED, NUMPY, Array, blocks
from credalens._arrays.host import HostFunction
from credalens.sets.hull import ConvexHull
from credalens.sets.members import CostGame


def _hull(members: Array) -> ConvexHull:
    return ConvexHull._of(members, NUMPY)


def _gradient(
    members: Array,
    losses: tuple[Array | None, ...],
    pull: Callable[..., None],
    rows: int | None = None,
) -> Array:
    """Run ``pull(block, gradient, *losses)`` over blocks of instances; gradients are written."""
    result = np.empty((*members.shape,), members.dtype.newbyteorder("="))
    flat = result.reshape(-1, *members.shape[-2:])
    rates = [None if x is None else np.ascontiguousarray(x, np.float64).reshape(-1) for x in losses]
    for start, stop, block in blocks(members, 2, rows=rows, large=True):
        here = [None if rate is None else rate[start:stop] for rate in rates]
        if flat.dtype == block.dtype:
            pull(block, flat[start:stop], *here)
        else:  # half precision, which the kernels do not read
            gradient = np.empty(block.shape, block.dtype)
            pull(block, gradient, *here)
            flat[start:stop] = gradient
    return result


# ---------------------------------------------------------------- total variation


def _tv_pull(
    block: Array,
    gradient: Array,
    total: Array | None,
    lower: Array | None,
    upper: Array | None,
    epistemic: Array | None,
) -> None:
    n, M, K = block.shape
    low, high, value = [None if x is None else -x for x in (total, lower, upper)]
    wide = None if epistemic is None else epistemic / 4
    pairs = weights = dual = None
    if wide is not None:
        pairs = np.empty((n, 2), np.int64)
        _kernels.closed_forms(block, None, None, np.empty(n), None, AS_WANTED, pairs=pairs)
    if value is not None:
        weights, dual = np.empty((n, M)), np.empty((n, K))
        _kernels.solve_games(block, np.empty(n), np.empty(n), weights, dual, AS_WANTED)
    _kernels.tv_pullback(block, low, high, wide, value, pairs, weights, dual, gradient, AS_WANTED)


#: `tv_uncertainty`: one minus the largest lower and upper class probability and the value of
#: the game ``min_w max_y (w P)_y``, whose gradient is ``w_m q_y``; the L1 diameter by 4; the gap.
TV_UNCERTAINTY = HostFunction(
    lambda members: _hull(members).tv_uncertainty(),
    lambda members, *losses: _gradient(members, losses, _tv_pull),
    5,
)


def _tv_maximin_pull(block: Array, gradient: Array, loss: Array) -> None:
    _tv_pull(block, gradient, None, None, loss, None)


TV_MAXIMIN = HostFunction(
    lambda members: _hull(members).maximin(),
    lambda members, *losses: _gradient(members, losses, _tv_maximin_pull),
    2,
)


# ---------------------------------------------------------------- games with costs


def maximin(cost: Array) -> HostFunction:
    """Return the game ``max over w of min over y of (w P cost)_y`` and its gap.

    With the optimal weights w and decision q its gradient is ``w_m (cost q)_z``.
    """
    game = CostGame(cost)

    def pull(block: Array, gradient: Array, loss: Array) -> None:
        n, M, K = block.shape
        weights, decision = np.empty((n, M)), np.empty((n, K))
        _kernels.solve_games(
            game.payoff(block), np.empty(n), np.empty(n), weights, decision, AS_WANTED
        )
        rates = loss[:, None] * (decision @ cost.T)
        np.multiply(weights[:, :, None], rates[:, None, :], out=gradient, casting="same_kind")

    return HostFunction(
        lambda members: _hull(members).maximin(cost),
        lambda members, *losses: _gradient(members, losses, pull, rows=1 << 14),
        2,
    )


# ---------------------------------------------------------------- entropy and Hartley measure


def _normalised(rates: Array, block: Array) -> Array:
    """Return gradients by rows from those by rows divided by their sums."""
    sums = block.sum(axis=2, keepdims=True, dtype=np.float64)
    mean = (rates * block).sum(axis=2, keepdims=True) / sums
    return np.asarray((rates - mean) / sums)


def _entropy_pull(block: Array, gradient: Array, loss: Array) -> None:
    n, M, K = block.shape
    weights, p = np.empty((n, M)), np.empty((n, K))
    _kernels.max_entropy(block, np.empty(n), np.empty(n), weights, p, AS_WANTED)
    # A class without mass in any member that counts has an infinite derivative; it is left out.
    rates = -loss[:, None] * np.log(p, out=np.zeros_like(p), where=p > 0)
    gradient[...] = _normalised(weights[:, :, None] * rates[:, None, :], block)


def _max_entropy(members: Array) -> tuple[Array, Array]:
    value, gap, _ = _hull(members).max_entropy()
    return value, gap


#: The upper entropy in nats and its gap: ``-w_m ln p_y`` at the maximising p, of weights w.
MAX_ENTROPY = HostFunction(
    _max_entropy, lambda members, *losses: _gradient(members, losses, _entropy_pull, 1 << 14), 2
)


def hartley(w: Array) -> HostFunction:
    """Return the exact sum over all events, in bits, and an error of 0.

    Each event takes its weight from the member that gives it the least.
    """

    def forward(members: Array) -> tuple[Array, Array]:
        value = _hull(members).hartley_exact(w)
        return value, np.zeros_like(value)

    def pull(block: Array, gradient: Array, loss: Array) -> None:
        _kernels.hartley_pullback(block, np.asarray(w), loss, gradient, AS_WANTED)

    def pullback(members: Array, loss: Array) -> Array:
        M, K = members.shape[-2:]
        return _gradient(members, (loss,), pull, rows=max(1, (1 << 28) // (M << K)))

    return HostFunction(forward, pullback, 2)


# ---------------------------------------------------------------- distances with a solver


def diameter(distance: Any) -> HostFunction:
    """Return the largest distance between two members, for one that solves a problem per pair.

    Its gradient is the optimal test function at one end of the widest pair, minus it at the other.
    """

    def forward(members: Array) -> tuple[Array, Array]:
        value = distance.diameter(members)
        return value, np.zeros_like(value)

    def pull(block: Array, gradient: Array, loss: Array) -> None:
        first, second, f = distance.widest_functions(block.astype(np.float64, copy=False))
        gradient[...] = 0
        each = np.arange(len(block))
        gradient[each, first] += (loss[:, None] * f).astype(gradient.dtype)
        gradient[each, second] -= (loss[:, None] * f).astype(gradient.dtype)

    return HostFunction(
        forward, lambda members, *losses: _gradient(members, losses, pull, rows=1 << 10), 2
    )
