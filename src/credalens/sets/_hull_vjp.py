"""Vector-Jacobian products of the solvers for convex hulls, by Danskin's theorem.

The optimal value over weights of members, decisions, events or transport plans has the gradient of
the objective at the optimal choice. So the solution provides the gradient, and nothing is
differentiated through the iterations of a solver. Where several choices are optimal, the result is
the gradient of one of them, a generalised gradient.

Entropy and Hartley measure divide each row by its sum first, and so do their gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credalens import _kernels, _matrix_game
from credalens._backend import DEFAULT_THREADS, Array, blocks
from credalens._backend.host_callback import VJP
from credalens._edges import Edges, Line, costs_of_decisions, expected_costs
from credalens.sets.zero_one import zero_one_choice


def _blockwise(pull: Callable[..., None], rows: Callable[[int, int], int] | int | None) -> VJP:
    """Return a VJP that runs ``pull(block, gradient, *cotangents)`` over blocks of instances."""

    def vjp(members: Array, *cotangents: Array | None) -> Array:
        M, K = members.shape[-2:]
        limit = rows(M, K) if callable(rows) else rows
        result = np.empty(members.shape, members.dtype.newbyteorder("="))
        flat = result.reshape(-1, M, K)
        rates = [
            None if x is None else np.ascontiguousarray(x, np.float64).reshape(-1)
            for x in cotangents
        ]
        for start, stop, (block,) in blocks((members,), (2,), rows=limit, large=True):
            part = flat[start:stop]
            gradient = part if part.dtype == block.dtype else np.empty_like(block)
            pull(block, gradient, *(None if rate is None else rate[start:stop] for rate in rates))
            if gradient is not part:  # half precision
                part[...] = gradient
        return result

    return vjp


def _pull_tv(
    block: Array,
    gradient: Array,
    total: Array | None,
    lower: Array | None,
    upper: Array | None,
    epistemic: Array | None,
) -> None:
    # One minus the largest lower and upper class probability, and one minus the value of the game
    # min_w max_y (w P)_y, whose gradient is w_m q_y; the L1 diameter divided by 4.
    n, M, K = block.shape
    low, high, value = (None if x is None else -x for x in (total, lower, upper))
    wide = None if epistemic is None else epistemic / 4
    pairs = weights = dual = None
    if wide is not None:
        pairs = np.empty((n, 2), np.int64)
        _kernels.closed_forms(block, None, None, np.empty(n), None, DEFAULT_THREADS, pairs=pairs)
    if value is not None:
        weights, dual = np.empty((n, M)), np.empty((n, K))
        _kernels.solve_games(block, np.empty(n), np.empty(n), weights, dual, DEFAULT_THREADS)
    _kernels.tv_vjp(block, low, high, wide, value, pairs, weights, dual, gradient, DEFAULT_THREADS)


def tv_uncertainty(*, epistemic: bool = True) -> VJP | None:
    """Return the VJP of `ConvexHull.tv_uncertainty`."""
    return _blockwise(_pull_tv, None) if epistemic else None


def maximin(cost: Any = None) -> VJP:
    """Return the VJP of `ConvexHull.maximin`: ``w_m (cost q)_z`` for weights w, decision q."""
    if cost is None:
        return _blockwise(lambda b, g, loss: _pull_tv(b, g, None, None, loss, None), None)
    if isinstance(cost, Edges) and cost.line is not None:
        line = cost.line
        return _blockwise(lambda b, g, loss: _pull_line(b, g, loss, line), None)

    def pull(block: Array, gradient: Array, loss: Array) -> None:
        payoff = expected_costs(block, cost)
        _, _, weights, decision = _matrix_game.maximin(payoff, weights=True, dual=True)
        rates = loss[:, None] * costs_of_decisions(decision, cost)
        np.multiply(weights[:, :, None], rates[:, None, :], out=gradient, casting="same_kind")

    return _blockwise(pull, 1 << 14)


def _pull_line(block: Array, gradient: Array, loss: Array, line: Line) -> None:
    # E_p|x - y| at the mixture p of the members and the real decision y.
    n, M, K = block.shape
    weights, at = np.empty((n, M)), np.empty(n)
    value, gap = np.empty((2, n))
    _kernels.hull_line(
        block, line.order, line.positions, None, None, value, gap, weights, at, DEFAULT_THREADS
    )
    rates = np.empty((n, K))
    rates[:, line.order] = loss[:, None] * np.abs(line.positions - at[:, None])
    np.multiply(weights[:, :, None], rates[:, None, :], out=gradient, casting="same_kind")


def max_entropy(*, distribution: bool = False) -> VJP | None:
    """Return the VJP of `ConvexHull.max_entropy`: ``-w_m ln p_y`` at the maximiser p."""
    return None if distribution else _blockwise(_pull_entropy, 1 << 14)


def _pull_entropy(block: Array, gradient: Array, loss: Array) -> None:
    n, M, K = block.shape
    weights, p = np.empty((n, M)), np.empty((n, K))
    _kernels.max_entropy(block, np.empty(n), np.empty(n), weights, p, DEFAULT_THREADS)
    # The derivative by a class without mass is infinite; it is set to 0.
    rates = -loss[:, None] * np.log(p, out=np.zeros_like(p), where=p > 0)
    rates = weights[:, :, None] * rates[:, None, :]
    sums = block.sum(axis=2, keepdims=True, dtype=np.float64)
    mean = (rates * block).sum(axis=2, keepdims=True) / sums
    gradient[...] = (rates - mean) / sums


def min_norm_point(*, distribution: bool = False) -> VJP | None:
    """Return the VJP of `ConvexHull.min_norm_point`: ``2 w_m p_y`` at the minimiser p."""
    return None if distribution else _blockwise(_pull_square_norm, 1 << 14)


def _pull_square_norm(block: Array, gradient: Array, loss: Array) -> None:
    n, M, K = block.shape
    weights, p = np.empty((n, M)), np.empty((n, K))
    _kernels.min_norm_point(block, np.empty(n), np.empty(n), weights, p, DEFAULT_THREADS)
    rates = 2 * loss[:, None] * p
    np.multiply(weights[:, :, None], rates[:, None, :], out=gradient, casting="same_kind")


def max_zero_one_divergence() -> VJP:
    """Return the VJP of `ConvexHull.max_zero_one_divergence`: that of one difference."""

    def pull(block: Array, gradient: Array, loss: Array) -> None:
        _, member, best, mode = zero_one_choice(block)
        each = np.arange(len(block))
        gradient[...] = 0
        gradient[each, member, best] += loss
        gradient[each, member, mode] -= loss

    return _blockwise(pull, 1 << 12)


def hartley_exact(w: Array) -> VJP:
    """Return the VJP of `ConvexHull.hartley_exact`: the weight of each event at its minimiser."""

    def pull(block: Array, gradient: Array, loss: Array) -> None:
        _kernels.hartley_vjp(block, np.asarray(w), loss, gradient, DEFAULT_THREADS)

    return _blockwise(pull, lambda M, K: max(1, (1 << 28) // (M << K)))


def vertex_diameter(distance: Any) -> VJP | None:
    """Return the VJP of `ConvexHull.vertex_diameter` for distances that solve a problem per pair.

    The gradient is the optimal test function at one end of the widest pair, and minus the function
    at the other end. A distance that is a norm of features is differentiated automatically.
    """
    if not hasattr(distance, "diameter_witness") or distance.seminorm(distance.n_classes):
        return None

    def pull(block: Array, gradient: Array, loss: Array) -> None:
        first, second, f = distance.diameter_witness(block.astype(np.float64, copy=False))
        gradient[...] = 0
        index = np.arange(len(block))
        gradient[index, first] += (loss[:, None] * f).astype(gradient.dtype)
        gradient[index, second] -= (loss[:, None] * f).astype(gradient.dtype)

    return _blockwise(pull, 1 << 10)
