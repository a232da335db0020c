"""Majority vote of an ensemble."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, TensorT, blocks, map_instances
from credalens.sets import ConvexHull, CredalSet, SetLike, TopKHull, set_function

#: Votes by weights that differ by at most this share of their sum are equal up to rounding.
ROUNDING = 1e-12


@overload
def majority_vote(members: TensorT, *, weights: Any = ...) -> TensorT: ...
@overload
def majority_vote(members: SetLike, *, weights: Any = ...) -> NDArray[np.intp]: ...
def majority_vote(members: Any, *, weights: Any = None) -> Any:
    """Return the most probable class of most members.

    Parameters
    ----------
    members : array-like of shape (..., M, K), or credal set
        M predictions over K classes for each instance. For a set that is not a hull, the most
        probable class of its center.
    weights : array-like of shape (M,) or (..., M), optional
        A member counts as many votes as its weight. By default the weights of the hull; equal
        ones for an array.

    Returns
    -------
    array of int, shape (...)
        Ties within a member go to the smallest index; ties between classes to the larger mean
        probability, then to the smallest index. Missing members have no vote.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.majority_vote([[[0.6, 0.4], [0.1, 0.9]], [[0.6, 0.4], [0.9, 0.1]]])
    array([1, 0])
    >>> cl.majority_vote([[0.6, 0.4], [0.1, 0.9]], weights=[2, 1])
    np.int64(0)
    """
    return _vote(members if weights is None else _with_weights(members, weights))


def _with_weights(members: Any, weights: Any) -> ConvexHull:
    if isinstance(members, ConvexHull):
        return members.with_weights(weights)
    if isinstance(members, CredalSet):
        _validation.raise_invalid(
            "weights",
            f"is passed with a {type(members).__name__}, which has no members",
            "pass the predictions (..., M, K), or leave it out",
        )
    return ConvexHull(members, weights=weights)


@set_function()
def _vote(members: Any) -> Any:
    sets = members.to_numpy_backed()
    if isinstance(sets, TopKHull):
        return sets.majority_vote()
    if not isinstance(sets, ConvexHull):
        return np.asarray(sets.center()).argmax(axis=-1)
    weights = sets.weights
    if weights is None:
        points = np.asarray(sets.members)
        lead = points.shape[:-2]
        counted = np.empty(math.prod(lead), np.int64)
        for start, stop, (block,) in blocks((points,), (2,), large=True):
            _kernels.majority_vote(block, counted[start:stop], None, DEFAULT_THREADS)
        return counted.astype(np.intp, copy=False).reshape(lead)
    (winner,) = map_instances(
        _weigh_votes, (sets.members, weights), [()], (2, 1), dtype=np.float64,
        block_dtype=np.float64,
    )  # fmt: skip
    return winner.astype(np.intp)


def _weigh_votes(block: Array, weights: Array, output: Array) -> None:
    votes = weighted_votes(block.argmax(axis=2), weights, block.shape[2])
    most = votes >= votes.max(axis=1, keepdims=True) - ROUNDING * weights.sum(axis=1, keepdims=True)
    output[:] = most.argmax(axis=1)
    tied = most.sum(axis=1) > 1
    mass = np.sort(block[tied] * weights[tied][:, :, None], axis=1).sum(axis=1)
    output[tied] = np.where(most[tied], mass, -1.0).argmax(axis=1)


def weighted_votes(top: Array, weights: Array, n_classes: int) -> Array:
    """Return the sums ``(b, K)`` of the weights ``(b, M)`` of members with the top class ``y``."""
    flat = top + np.arange(len(top))[:, None] * n_classes
    size = len(top) * n_classes
    return np.bincount(flat.ravel(), weights=weights.ravel(), minlength=size).reshape(-1, n_classes)
