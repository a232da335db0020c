"""Exact optimal transport for a general ground metric, and the dual Lipschitz functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from credalens._backend import Array, rows_in_cache
from credalens.distances.base import raise_too_many


def lipschitz_vertices(metric: Array, *, ties: bool) -> Array:
    """Return the vertices of the set of 1-Lipschitz functions with ``f(0) = 0``, up to sign.

    By Kantorovich-Rubinstein duality, ``W1(p, q)`` is the largest ``f . (p - q)`` over these
    functions, ``(F, K)``; their number is at most ``C(2K-2, K-1) / 2`` (462 for 7 classes). With
    `ties`, the vertices of the cells into which the hyperplanes ``f(i) = f(j)`` divide that set: a
    Choquet integral, which is linear in f for a fixed order of its values, is maximal at one of
    these (about 12 000 for 7 classes).

    A function is a vertex if the pairs with ``|f(i) - f(j)| = metric(i, j)``, or ``f(i) = f(j)``
    with `ties`, connect all classes. The vertices are therefore enumerated by adding one class at
    a time along such pairs and removing functions that are not Lipschitz.
    """
    K = len(metric)
    slack = 1e-12 * metric.max()
    unit = max(float(metric.max()), np.finfo(float).tiny)
    grown = np.full((1, K), np.nan)
    grown[0, 0] = 0.0
    for _ in range(K - 1):
        longer = []
        for new in range(1, K):
            for known in range(K):
                some = grown[np.isnan(grown[:, new]) & ~np.isnan(grown[:, known])]
                for sign in (1, -1, 0) if ties else (1, -1):
                    f = some.copy()
                    f[:, new] = f[:, known] + sign * metric[known, new]
                    # Classes without a value are NaN, for which the comparison is false.
                    far = np.abs(f - f[:, new : new + 1]) > metric[new] + slack
                    longer.append(f[~far.any(axis=1)])
        grown = _distinct(np.concatenate(longer), unit)
    first = np.argmax(np.abs(grown) > 1e-9 * unit, axis=1)
    return np.asarray(grown[grown[np.arange(len(grown)), first] >= 0])


def _distinct(functions: Array, unit: float) -> Array:
    """Return the distinct rows, up to rounding."""
    keys = np.nan_to_num(np.rint(functions * (1e9 / unit)), nan=-1e12) + 0.0
    _, first = np.unique(keys, axis=0, return_index=True)
    return functions[first]


def transport_costs(cost: Array, p: Array, q: Array) -> Array:
    """Return the optimal transport cost between the rows of `p` and `q`, ``(n, K)`` each."""
    solve = _solver()
    value = np.empty(len(p))
    for i, (a, b) in enumerate(zip(p, q, strict=True)):
        value[i] = solve(cost, a, b)[0]
    return value


def farthest_pair(metric: Array, rows: Array) -> tuple[Array, Array, tuple[Array, Array]]:
    """Return certified bounds of the largest ``W1`` between two rows of each ``(b, M, K)``.

    Also returns the rows that attain the lower bounds. The common mass of two rows is not
    transported. Two feasible plans for the remaining mass, all through one class and the
    independent coupling, give upper bounds; the Lipschitz functions ``metric(., y)`` give lower
    bounds. Pairs are solved in decreasing order of their upper bounds until no bound exceeds the
    best value. Then the plans of the solved pairs bound the distance from above, and the dual
    solution of the best one, which is made Lipschitz (`potential`), from below.
    """
    raise_too_many(rows.shape[1], "the Wasserstein distance of a general cost")
    solve = _solver()
    first, second = np.triu_indices(rows.shape[1], 1)
    least, most = np.zeros((2, len(rows)))
    pairs = np.zeros(len(rows), np.intp)
    if len(first) == 0:
        return least, most, (pairs, pairs)
    chunk = rows_in_cache(len(first) * rows.shape[2])
    for start in range(0, len(rows), chunk):
        part, some = rows[start : start + chunk], slice(start, start + chunk)
        lower, upper = _pair_bounds(metric, part, first, second)
        least[some], pairs[some] = lower.max(axis=1), lower.argmax(axis=1)
        most[some] = least[some]
        for i, bounds in enumerate(upper):
            at = start + i
            candidates = np.flatnonzero(bounds > most[at])
            for pair in candidates[np.argsort(-bounds[candidates], kind="stable")]:
                if bounds[pair] <= most[at]:
                    break
                d = part[i, first[pair]] - part[i, second[pair]]
                cost, dual = solve(metric, np.maximum(d, 0), np.maximum(-d, 0))
                most[at] = max(most[at], min(cost, bounds[pair]))
                reached = float(potential(metric, d, dual) @ d)
                if reached > least[at]:
                    least[at], pairs[at] = reached, pair
    return np.minimum(least, most), most, (first[pairs], second[pairs])


def potential(metric: Array, d: Array, dual: Array) -> Array:
    """Return a 1-Lipschitz function f with a large ``f . d``, from a dual solution.

    A dual solution g on the sinks, where ``d < 0``, gives ``f(z) = min over sinks y of
    metric(z, y) - g(y)``. It is Lipschitz for any g; for an optimal g it is optimal: at least the
    dual solution at the sources and at most -g at the sinks.
    """
    sinks = np.flatnonzero(d < 0)
    if len(sinks) == 0:
        return np.zeros(len(d))
    return np.asarray((metric[:, sinks] - dual).min(axis=1))


def potentials(metric: Array, p: Array, q: Array) -> Array:
    """Return 1-Lipschitz functions f with ``f . (p - q) = W1(p, q)`` for rows ``(n, K)``."""
    solve = _solver()
    functions = np.zeros(p.shape)
    for i, d in enumerate(p - q):
        functions[i] = potential(metric, d, solve(metric, np.maximum(d, 0), np.maximum(-d, 0))[1])
    return functions


def _pair_bounds(metric: Array, rows: Array, first: Array, second: Array) -> tuple[Array, Array]:
    """Return `_bounds` of pairs of rows of each instance, ``(b, pairs)`` each, block by block."""
    lower, upper = np.empty((2, len(rows), len(first)))
    step = rows_in_cache(len(rows) * rows.shape[2])
    for at in range(0, len(first), step):
        some = slice(at, at + step)
        difference = rows[:, first[some]] - rows[:, second[some]]
        lower[:, some], upper[:, some] = _bounds(metric, difference)
    return lower, upper


def _bounds(metric: Array, difference: Array) -> tuple[Array, Array]:
    """Return lower and upper bounds of the cost of ``(b, pairs, K)`` differences."""
    gain, loss = np.maximum(difference, 0), np.maximum(-difference, 0)
    from_gain, from_loss = gain @ metric, loss @ metric
    through = (from_gain + from_loss).min(axis=2)
    mass = np.maximum(gain.sum(axis=2), np.finfo(float).tiny)
    spread = (from_gain * loss).sum(axis=2) / mass
    lower = np.abs(from_gain - from_loss).max(axis=2)
    return lower, np.minimum(through, spread)


def _transport(emd2: Any, cost: Array, a: Array, b: Array) -> tuple[float, Array]:
    """Return the transport cost between a and b, of equal mass up to rounding, and the dual.

    The dual solution is that of the classes with a positive b. The solver works with absolute
    tolerances: costs are scaled to 1 and masses to a sum of 1.
    """
    sources, sinks = np.flatnonzero(a), np.flatnonzero(b)
    if len(sources) == 0 or len(sinks) == 0:
        return 0.0, np.zeros(len(sinks))
    supply, demand = a[sources], b[sinks]
    mass = float(supply.sum())
    block = np.ascontiguousarray(cost[np.ix_(sources, sinks)])
    if len(sources) == 1:  # only one coupling
        return mass * float(block[0] @ demand) / float(demand.sum()), block[0]
    if len(sinks) == 1:
        return float(supply @ block[:, 0]), np.zeros(1)
    unit = float(block.max()) or 1.0
    # The marginals are normalised: the checks take half of the time.
    options = {"numItermax": 10_000_000, "check_marginals": False, "center_dual": False}
    value, log = emd2(
        supply / mass, demand / demand.sum(), block / unit, log=True, **options
    )  # fmt: skip
    return mass * unit * float(value), unit * log["v"]


def _solver() -> Callable[[Array, Array, Array], tuple[float, Array]]:
    try:
        from ot import emd2
    except ImportError:
        from credalens._extras import install_command

        raise ImportError(
            f"Wasserstein with a general cost needs POT; run {install_command('wasserstein')}"
        ) from None
    return partial(_transport, emd2)
