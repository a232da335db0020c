"""Majority vote of an ensemble."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from credalens._backend import Array, TensorT, map_instances
from credalens.sets import ConvexHull, SetLike, set_function


@overload
def majority_vote(members: TensorT) -> TensorT: ...
@overload
def majority_vote(members: SetLike) -> NDArray[np.intp]: ...
@set_function()
def majority_vote(members: Any) -> Any:
    """Return the most probable class of most members.

    Parameters
    ----------
    members : array-like of shape (..., M, K), or credal set
        M predictions over K classes for each instance. For a set that is not a hull, the most
        probable class of its center.

    Returns
    -------
    array of int, shape (...)
        Ties within a member go to the smallest index; ties between classes to the larger mean
        probability, then to the smallest index.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.majority_vote([[[0.6, 0.4], [0.1, 0.9]], [[0.6, 0.4], [0.9, 0.1]]])
    array([1, 0])
    """
    sets = members.to_numpy_backed()
    if not isinstance(sets, ConvexHull):
        return np.asarray(sets.center()).argmax(axis=-1)
    K = sets.n_classes

    def kernel(block: Array, output: Array) -> None:
        top = block.argmax(axis=2) + np.arange(len(block))[:, None] * K
        votes = np.bincount(top.ravel(), minlength=len(block) * K).reshape(-1, K)
        most = votes == votes.max(axis=1, keepdims=True)
        output[:] = most.argmax(axis=1)
        tied = most.sum(axis=1) > 1
        # Sorted, so that the rounding of the sum does not depend on the order of the members.
        mass = np.sort(block[tied], axis=1).sum(axis=1, dtype=np.float64)
        output[tied] = np.where(most[tied], mass, -1.0).argmax(axis=1)

    (winner,) = map_instances(kernel, sets.members, [()], dtype=np.float64)
    return winner.astype(np.intp)
