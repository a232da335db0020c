"""The extreme points of boxes ``{x : low <= x <= high, sum x = total}``."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.sets.events import event_sums

#: Largest number of extreme points that are listed.
MAX_VERTICES = 1_000_000
ROUNDING = 1e-13


def box_vertices(low: Array, high: Array, instance: int, total: float = 1.0) -> Array:
    """List the extreme points of ``{x : low <= x <= high, sum x = total}``, class by class.

    A state records which classes so far are at low (0), at high (1) or between (2, at most one).
    States that can no longer reach the total are pruned, so that the number of states stays close
    to the number of extreme points. `instance` is used in error messages.
    """
    width, room = high - low, total - low.sum()
    moving = np.flatnonzero(width > ROUNDING)
    if 17 <= len(moving) <= 32:  # fewer have less than a million; more take too long to count
        count = _count_vertices(width[moving], room)
        if count > MAX_VERTICES:
            _raise_too_many(f"{count:,} extreme points, ", instance)
    rest = np.append(np.cumsum(width[moving][::-1])[::-1], 0.0)
    widest = np.append(np.maximum.accumulate(width[moving][::-1])[::-1], 0.0)
    state = np.zeros((1, len(moving)), np.int8)
    used, free = np.zeros(1), np.full(1, -1.0)  # free: width of the class between, -1 if none
    for k, w in enumerate(width[moving]):
        none = free < 0
        state = np.concatenate([state, state, state[none]])
        state[len(used) : 2 * len(used), k] = 1
        state[2 * len(used) :, k] = 2
        used = np.concatenate([used, used + w, used[none]])
        free = np.concatenate([free, free, np.full(none.sum(), w)])
        slack = np.where(free < 0, widest[k + 1], free)
        keep = (used <= room + ROUNDING) & (used + rest[k + 1] + slack >= room - ROUNDING)
        state, used, free = state[keep], used[keep], free[keep]
        if len(used) > 2 * MAX_VERTICES:
            _raise_too_many("", instance)
    # A class between its bounds that has reached one is listed as a class at that bound.
    left = room - used
    done = np.where(
        free < 0, np.abs(left) <= ROUNDING, (left > ROUNDING) & (left < free - ROUNDING)
    )
    state, left = state[done], left[done]
    if len(state) > MAX_VERTICES:
        _raise_too_many(f"{len(state):,} extreme points, ", instance)
    points = np.repeat(low[None], max(len(state), 1), axis=0)
    if len(state):
        points[:, moving] += np.where(state == 2, left[:, None], state * width[moving])
    return points


def _raise_too_many(count: str, instance: int) -> NoReturn:
    _validation.raise_invalid(
        "extreme_points",
        f"instance {instance} (zero-based) has {count}more than {MAX_VERTICES:,}",
        "query the set itself: total variation, entropies and Hartley need no extreme points",
    )


def _count_vertices(width: Array, room: float) -> int:
    """Count the extreme points by meet in the middle, for each class that is between its bounds."""

    def subsets(widths: Array, least: float, most: float) -> int:
        first, second = (np.sort(event_sums(half)) for half in np.array_split(widths, 2))
        above = np.searchsorted(second, most - first, side="right")
        below = np.searchsorted(second, least - first, side="left")
        return int(np.maximum(above - below, 0).sum())

    inside = (
        subsets(np.delete(width, j), room + ROUNDING - w, room - ROUNDING)
        for j, w in enumerate(width)
    )
    return subsets(width, room - ROUNDING, room + ROUNDING) + sum(inside)
