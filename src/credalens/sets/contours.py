"""Contours of possibility distributions in decreasing order, and distributions below them."""

from __future__ import annotations

import numpy as np

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, Array, rows_in_cache


def falling(contour: Array) -> tuple[Array, Array]:
    """Return the order of decreasing possibility, and the contour in it, which begins with 1."""
    order = np.argsort(-contour, axis=-1, kind="stable")
    return order, np.take_along_axis(contour, order, axis=-1)


def shifted(rows: Array) -> Array:
    """Return rows ``(..., K)`` without their first entry, with a 0 at the end."""
    result = np.zeros_like(rows)
    result[..., :-1] = rows[..., 1:]
    return result


def unsorted(rows: Array, order: Array) -> Array:
    """Return rows in the order of the classes."""
    result = np.empty_like(rows)
    np.put_along_axis(result, order, rows, axis=-1)
    return result


def most_uniform(contour: Array) -> Array:
    """Return the distribution that every member majorises, for float64 contours ``(n, K)``."""
    order, degrees = falling(contour)
    mass = np.ascontiguousarray(degrees - shifted(degrees))
    best = np.empty_like(mass)
    _kernels.antitonic_regression(mass, best, DEFAULT_THREADS)
    return unsorted(best, order)


def extreme_points(contours: Array) -> Array:
    """Return the 2^(K-1) extreme points of each of ``(n, K)``, in the dtype of the contours.

    For each set of classes that contains the most possible one: in the order of decreasing
    possibility, a class has the difference of its degree and that of the next.
    """
    K = contours.shape[1]
    chosen = (np.arange(1 << (K - 1))[:, None] << 1 | 1) >> np.arange(K) & 1
    order, degrees = falling(contours.astype(np.float64))
    points = np.empty((len(order), len(chosen), K), contours.dtype)
    step = rows_in_cache(3 * len(chosen) * K)
    for start in range(0, len(order), step):
        part = slice(start, start + step)
        kept = np.where(chosen, degrees[part, None], 0.0)
        later = np.maximum.accumulate(kept[..., ::-1], axis=-1)[..., ::-1]
        mass = np.where(chosen, kept - shifted(later), 0.0)
        points[part] = unsorted(mass, np.broadcast_to(order[part, None], mass.shape))
    return points
