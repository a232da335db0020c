"""Decisions with truncated predictions, among the classes that a member lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from credalens import _matrix_game, _validation
from credalens._backend import Array
from credalens.sets import ConvexHull, TopKHull
from credalens.sets.decision_queries import tie_tolerance
from credalens.sets.topk_hull import BLOCK_NUMBERS

#: Ties of expected 0-1 costs.
TIE = tie_tolerance(None)
#: Whether a class may be admissible, and by how much it may miss that, ``(b, L)`` each.
Bounds = tuple[Array, Array]


def decide_listed(
    Q: TopKHull, criterion: Callable[[ConvexHull, float], Any], alpha: float
) -> Array:
    """Return the listed class with the smallest criterion of a decision rule, ``(...)``.

    The criterion is computed with probability 0 for unlisted classes. Classes with equal values are
    compared with the largest probabilities that they may have; of equal ones the first is chosen.
    """
    chosen = np.empty(math.prod(Q.batch_shape), np.int64)
    for rows, classes, lower, upper in Q.union_blocks():
        listed = classes >= 0
        possible = listed
        for bounds in (np.where(listed[:, None], lower, 0.0), upper):
            value = np.asarray(criterion(ConvexHull(bounds, validate=False), alpha), np.float64)
            value = np.where(possible, value, np.inf)
            possible = possible & (value <= value.min(axis=-1, keepdims=True) + TIE)
        first = possible.argmax(axis=-1)[:, None]
        chosen[rows] = np.take_along_axis(classes, first, axis=-1)[:, 0]
    return chosen.reshape(Q.batch_shape)


def admissible_listed(Q: TopKHull, rule: str = "e_admissible") -> tuple[Array, Array, Array]:
    """Return which of the listed classes are admissible, with 0-1 costs.

    Parameters
    ----------
    Q : TopKHull
        Truncated predictions.
    rule : {"e_admissible", "maximal", "interval_dominance"}
        As in `credalens.admissible`.

    Returns
    -------
    classes : array of int, shape (..., L)
        The classes that a member lists, in ascending order, then -1. The first -1 stands for every
        class that no member lists.
    mask : array of bool, shape (..., L)
        Whether a class is admissible. Undecided classes are, but not if no member lists them.
    error : array of shape (..., L)
        0 if the mask is certain, whatever the probabilities of the unlisted classes are; otherwise
        by how much a class may miss being admissible, in probability.

    Notes
    -----
    Needs O(M k) numbers per instance; `credalens.admissible` returns a mask of all K classes.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.TopKHull([[3, 7], [9, 3]], [[0.8, 0.15], [0.6, 0.35]], n_classes=1000)
    >>> classes, mask, error = cl.decisions.admissible_listed(Q)
    >>> classes, mask
    (array([ 3,  7,  9, -1]), array([ True, False,  True, False]))
    >>> error.max() > 0
    np.False_
    """
    _validation.one_of(rule, "rule", _RULES)
    found = [
        (classes, *_admissible(_RULES[rule], Q.n_classes, classes, lower, upper))
        for _, classes, lower, upper in Q.union_blocks()
    ]
    if not found:
        shape = (*Q.batch_shape, 1)
        return np.empty(shape, np.int64), np.empty(shape, bool), np.empty(shape)
    parts = [np.concatenate(part) for part in zip(*found, strict=True)]
    length = int((parts[0] >= 0).sum(axis=1).max()) + 1
    classes, mask, error = (x[:, :length].reshape(*Q.batch_shape, length) for x in parts)
    return classes, mask, error


def dense_mask(Q: TopKHull, classes: Array, values: Array) -> Array:
    """Return values ``(..., L)`` of listed classes as ``(..., K)``.

    The value of the first -1 is that of all classes that are not listed.
    """
    flat, own = classes.reshape(-1, classes.shape[-1]), values.reshape(-1, values.shape[-1])
    n, length = flat.shape
    unlisted = (flat >= 0).sum(axis=1)  # the position of the first -1, if there is one
    rest = np.where(
        unlisted < length, own[np.arange(n), np.minimum(unlisted, length - 1)], own.dtype.type(0)
    )
    result = np.repeat(rest[:, None], Q.n_classes, axis=1)
    rows, columns = np.nonzero(flat >= 0)
    result[rows, flat[rows, columns]] = own[rows, columns]
    return result.reshape(*Q.batch_shape, Q.n_classes)


def _admissible(
    rule: Any, n_classes: int, classes: Array, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """Return the mask and the errors ``(b, L)`` of a block of `TopKHull.union_blocks`."""
    listed = classes >= 0
    lower = np.where(listed[:, None], lower, 0.0)  # without the rest
    possible, error = rule(lower, upper)
    count = listed.sum(axis=1, keepdims=True)
    outside = (np.arange(classes.shape[1]) == count) & (count < n_classes)
    mask = possible & (listed | (outside & (error == 0)))
    return mask, np.where(possible & (listed | outside), error, 0.0)


def _interval_dominance(lower: Array, upper: Array) -> Bounds:
    """Keep a class if its largest probability is at least the largest lower one of a class."""
    least = lower.min(axis=1).max(axis=1, keepdims=True)
    most = upper.min(axis=1).max(axis=1, keepdims=True)
    possible = upper.max(axis=1) >= least - TIE
    missing = most - lower.max(axis=1)
    return possible, np.where(missing > TIE, missing, 0.0)


def _maximal(lower: Array, upper: Array) -> Bounds:
    """Keep a class unless another one is more probable for every member."""
    dominated = np.zeros(lower[:, 0].shape, bool)
    missing = np.zeros(dominated.shape)
    for other in range(lower.shape[2]):
        if lower[:, :, other].all(axis=1).any():  # others have probability 0 for a member
            dominated |= (lower[:, :, [other]] - upper).min(axis=1) > TIE
        advantage = (upper[:, :, [other]] - lower).min(axis=1)
        advantage[:, other] = 0.0
        np.maximum(missing, advantage, out=missing)
    return ~dominated, np.where(missing > TIE, missing, 0.0)


def _e_admissible(lower: Array, upper: Array) -> Bounds:
    """Keep a class that is the most probable one for some mixture of the members."""
    certain = (lower >= lower.max(axis=2, keepdims=True) - TIE).any(axis=1)
    possible, missing = _maximal(lower, upper)
    rows, own = np.nonzero(possible & ~certain)
    if len(rows):
        best, gap = _advantage(lower, upper, rows, own)
        possible[rows, own] = best - gap <= TIE
        worst, _ = _advantage(upper, lower, rows, own)
        missing[rows, own] = np.where(worst > TIE, worst, 0.0)
    missing[certain] = 0.0
    return possible, missing


def _advantage(others: Array, own: Array, rows: Array, classes: Array) -> tuple[Array, Array]:
    """Return the smallest advantage of the best other class over mixtures, and its gap."""
    value, gap = np.empty((2, len(rows)))
    # An instance may have as many games as classes.
    step = max(1, BLOCK_NUMBERS // others[0].size)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        at, y = rows[part], classes[part]
        payoff = others[at] - own[at, :, y][:, :, None]
        payoff[np.arange(len(at)), :, y] = 0.0
        value[part], gap[part] = _matrix_game.minimax(payoff, overwrite=True)
    return value, gap


#: Rules by name: whether a class may be admissible, and by how much it may miss it, from bounds of
#: the probabilities ``(b, M, L)``. The column after the listed classes has those of a class that no
#: member lists.
_RULES: dict[str, Callable[[Array, Array], Bounds]] = {
    "e_admissible": _e_admissible,
    "maximal": _maximal,
    "interval_dominance": _interval_dominance,
}
