"""Transport of mass between ordered classes within a budget."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from credalens._backend import Array


def event_upper(center: Array, radius: Array, inside: Array) -> Array:
    """Return the largest probability of one event over balls ``(n, K)``.

    Mass moves into the event from the nearest classes first.
    """
    K = len(inside)
    total = center[:, inside].sum(axis=1)
    if not inside.any():
        return np.asarray(total)
    places = np.flatnonzero(inside)
    away = np.abs(np.arange(K)[:, None] - places).min(axis=1)
    left = radius.astype(np.float64, copy=True)
    for distance in range(1, int(away.max()) + 1):
        mass = center[:, away == distance].sum(axis=1)
        moved = np.minimum(mass, left / distance)
        left -= moved * distance
        total = total + moved
    return np.asarray(np.minimum(total, 1.0))


def transported(center: Array, f: Array, radius: Array) -> Array:
    """Return the members ``(n, K)`` with the largest expectation of functions f ``(n, K)``.

    For a price t per unit of cost, mass of class y moves to the class z with the largest
    ``f_z - t |y - z|``. The cost decreases with t and is constant between breakpoints, the slopes
    of f between two classes. The mass at the breakpoint where the cost passes the radius is a
    mixture of that on both sides.
    """
    n, K = center.shape
    if K == 1:
        return center.copy()
    rows = np.arange(n)
    distance = np.abs(np.subtract.outer(np.arange(K), np.arange(K))).astype(np.float64)
    # Slopes between z and z' for mass of y: (f_z - f_z') / (|y - z| - |y - z'|), if positive.
    gain = f[:, :, None] - f[:, None, :]
    lengths = np.arange(1, K)
    prices = (gain[:, :, :, None] / lengths).reshape(n, -1)
    prices = np.sort(np.where(prices > 0, prices, 0.0), axis=1)
    prices = np.concatenate([prices, 2 * prices[:, -1:] + 1.0], axis=1)

    def plan(index: Array) -> tuple[Array, Array]:
        """Return masses and costs at the price in the middle of interval `index`."""
        price = (prices[rows, index] + prices[rows, index + 1]) / 2
        worth = f[:, None, :] - price[:, None, None] * distance
        target = worth.argmax(axis=2)
        cost = (center * np.abs(target - np.arange(K))).sum(axis=1)
        mass = np.zeros((n, K))
        np.add.at(mass, (rows[:, None], target), center)
        return mass, cost

    # Interval 0 has the smallest price; the last has cost 0.
    low, high = np.zeros(n, np.intp), np.full(n, prices.shape[1] - 2)
    best, cost = plan(low)
    enough = cost <= radius
    while (high - low > 1).any():
        middle = (low + high) // 2
        fits = plan(middle)[1] <= radius
        high, low = np.where(fits, middle, high), np.where(fits, low, middle)
    (dear, spent), (cheap, more) = plan(high), plan(low)
    share = np.clip((radius - spent) / np.where(more > spent, more - spent, 1.0), 0.0, 1.0)
    mixed = (1 - share)[:, None] * dear + share[:, None] * cheap
    return np.where(enough[:, None], best, mixed)


@functools.cache
def _monotone_maps(K: int) -> Array:
    """Return the non-decreasing maps of K classes to K classes, ``(V, K)``."""
    return np.array(list(itertools.combinations_with_replacement(range(K), K)))


def vertex_candidates(center: Array, radius: float) -> Array:
    """Return members of one ball ``(K,)``, all of its extreme points among them.

    Optimal transport on a line is monotone. At an extreme point, the mass of every class moves to
    one class, but for one class whose mass is divided between two, so that the cost is the radius.
    """
    K = len(center)
    classes = np.arange(K)
    maps = _monotone_maps(K)
    cost = np.abs(maps - classes) @ center
    fits = cost <= radius + 1e-12
    maps, cost = maps[fits], cost[fits]
    points = (center[:, None] * (maps[:, :, None] == classes)).sum(axis=1)
    # Class y moves to z instead.
    more = center[:, None] * (
        np.abs(classes[:, None] - classes) - np.abs(maps - classes)[:, :, None]
    )
    which, y, z = np.nonzero(cost[:, None, None] + more > radius)
    keep = more[which, y, z] > 0
    which, y, z = which[keep], y[keep], z[keep]
    share = np.clip((radius - cost[which]) / more[which, y, z], 0.0, 1.0)
    mixed = points[which]
    moved, rows = share * center[y], np.arange(len(which))
    mixed[rows, maps[which, y]] -= moved
    mixed[rows, z] += moved
    return np.asarray(np.maximum(np.concatenate([points, mixed]), 0.0))
