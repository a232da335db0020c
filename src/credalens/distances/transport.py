"""Exact optimal transport for a general ground metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens._arrays import Array
from credalens.distances.base import BLOCK_FLOATS, refuse_many


def lipschitz_functions(metric: Array, *, ties: bool) -> Array:
    """Return the corners of the set of 1-Lipschitz functions with ``f(0) = 0``, up to sign.

    By duality, ``W1(p, q)`` is the largest ``f . (p - q)`` over these, ``(F, K)``; there are at
    most ``C(2K-2, K-1) / 2`` of them (462 for 7 classes). With `ties`, the corners of the pieces
    into which the hyperplanes ``f(i) = f(j)`` cut that set: a Choquet integral, which is linear in
    f for a given order of its values, is largest at one of these (about 12 000 for 7 classes).

    A function is a corner if the pairs with ``|f(i) - f(j)| = metric(i, j)``, or ``f(i) = f(j)``
    with `ties`, connect all classes. So corners grow class by class along such pairs, as long as
    they stay Lipschitz.
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
                    # A class without value yet is NaN, which is not larger than anything.
                    far = np.abs(f - f[:, new : new + 1]) > metric[new] + slack
                    longer.append(f[~far.any(axis=1)])
        grown = _distinct(np.concatenate(longer), unit)
    first = np.argmax(np.abs(grown) > 1e-9 * unit, axis=1)
    return np.asarray(grown[grown[np.arange(len(grown)), first] >= 0])


def _distinct(functions: Array, unit: float) -> Array:
    """Return the rows that differ by more than rounding."""
    keys = np.nan_to_num(np.rint(functions * (1e9 / unit)), nan=-1e12) + 0.0
    _, first = np.unique(keys, axis=0, return_index=True)
    return functions[first]


def transport_costs(cost: Array, p: Array, q: Array) -> Array:
    """Return the least cost of moving each row of `p` to that of `q`, ``(n, K)`` each."""
    emd2 = _solver()
    value = np.empty(len(p))
    for i, (a, b) in enumerate(zip(p, q, strict=True)):
        value[i] = _cost(emd2, cost, a, b)
    return value


def widest_pair(metric: Array, rows: Array) -> tuple[Array, tuple[Array, Array]]:
    """Return the largest ``W1`` between two rows of each instance ``(b, M, K)``, and the rows.

    What two rows have in common stays where it is. For the rest, sending everything through one
    class, or every bit of mass everywhere in proportion, gives upper bounds, and the functions
    ``metric(., y)`` lower bounds; pairs are solved from the largest upper bound down until none is
    above the best.
    """
    refuse_many(rows.shape[1], "a Wasserstein distance, which")
    emd2 = _solver()
    first, second = np.triu_indices(rows.shape[1], 1)
    result, pairs = np.zeros(len(rows)), np.zeros(len(rows), np.intp)
    if len(first) == 0:
        return result, (pairs, pairs)
    chunk = max(1, BLOCK_FLOATS // (len(first) * rows.shape[2]))
    for start in range(0, len(rows), chunk):
        part = rows[start : start + chunk]
        lower, upper = _pair_bounds(metric, part, first, second)
        best, widest = lower.max(axis=1), lower.argmax(axis=1)
        for i, bounds in enumerate(upper):
            open_ones = np.flatnonzero(bounds > best[i])
            for pair in open_ones[np.argsort(-bounds[open_ones], kind="stable")]:
                if bounds[pair] <= best[i]:
                    break
                d = part[i, first[pair]] - part[i, second[pair]]
                cost = _cost(emd2, metric, np.maximum(d, 0), np.maximum(-d, 0))
                if cost > best[i]:
                    best[i], widest[i] = cost, pair
        result[start : start + chunk], pairs[start : start + chunk] = best, widest
    return result, (first[pairs], second[pairs])


def potentials(metric: Array, p: Array, q: Array) -> Array:
    """Return 1-Lipschitz functions f with ``f . (p - q) = W1(p, q)`` for rows ``(n, K)``.

    A dual solution g on the classes that receive mass gives ``f(z) = min over these y of
    g(y) + metric(z, y)``, which is Lipschitz, and optimal: no less than the dual at the sources,
    no more at the others.
    """
    from ot import emd

    functions = np.zeros(p.shape)
    for i, d in enumerate(p - q):
        sources, sinks = np.flatnonzero(d > 0), np.flatnonzero(d < 0)
        if len(sources) == 0 or len(sinks) == 0:
            continue
        supply, demand = d[sources] / d[sources].sum(), d[sinks] / d[sinks].sum()
        block = np.ascontiguousarray(metric[np.ix_(sources, sinks)])
        _, log = emd(supply, demand, block, numItermax=10_000_000, log=True)
        functions[i] = (metric[:, sinks] - log["v"]).min(axis=1)
    return functions


def _pair_bounds(metric: Array, rows: Array, first: Array, second: Array) -> tuple[Array, Array]:
    """Return `_bounds` of pairs of rows of each instance, ``(b, pairs)`` each, block by block."""
    lower, upper = np.empty((2, len(rows), len(first)))
    step = max(1, BLOCK_FLOATS // (len(rows) * rows.shape[2]))
    for at in range(0, len(first), step):
        some = slice(at, at + step)
        apart = rows[:, first[some]] - rows[:, second[some]]
        lower[:, some], upper[:, some] = _bounds(metric, apart)
    return lower, upper


def _bounds(metric: Array, difference: Array) -> tuple[Array, Array]:
    """Return lower and upper bounds on the cost of ``(b, pairs, K)`` differences."""
    gain, loss = np.maximum(difference, 0), np.maximum(-difference, 0)
    from_gain, from_loss = gain @ metric, loss @ metric
    through = (from_gain + from_loss).min(axis=2)
    mass = np.maximum(gain.sum(axis=2), np.finfo(float).tiny)
    spread = (from_gain * loss).sum(axis=2) / mass
    lower = np.abs(from_gain - from_loss).max(axis=2)
    return lower, np.minimum(through, spread)


def _cost(emd2: Any, cost: Array, a: Array, b: Array) -> float:
    """Return the cost of moving a to b, which have the same mass up to rounding."""
    sources, sinks = np.flatnonzero(a), np.flatnonzero(b)
    if len(sources) == 0 or len(sinks) == 0:
        return 0.0
    supply, demand = a[sources], b[sinks]
    mass = float(supply.sum())
    supply, demand = supply / mass, demand / demand.sum()
    block = np.ascontiguousarray(cost[np.ix_(sources, sinks)])
    if len(sources) == 1 or len(sinks) == 1:  # only one plan
        return mass * float(supply @ block @ demand)
    # Both sum to 1 already, and nobody asks for the dual: the checks took half of the time.
    options = {"numItermax": 10_000_000, "check_marginals": False, "center_dual": False}
    return mass * float(emd2(supply, demand, block, **options))


def _solver() -> Any:
    try:
        from ot import emd2
    except ImportError:
        raise ImportError(
            "Wasserstein with a general cost needs POT: pip install 'credalens[wasserstein]'"
        ) from None
    return emd2
