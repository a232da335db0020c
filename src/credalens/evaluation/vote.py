"""The point prediction of an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens._arrays import Array, per_instance
from credalens.sets.anywhere import anywhere


@anywhere
def majority_vote(members: Any) -> Any:
    """Return the class that most members put first.

    Parameters
    ----------
    members : array-like of shape (..., M, K), or ConvexHull
        M predictions over K classes for each instance.

    Returns
    -------
    array of int, shape (...)
        Ties inside a member go to the first index; ties between classes to the larger mean
        probability, then to the smaller index.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.majority_vote([[[0.6, 0.4], [0.1, 0.9]], [[0.6, 0.4], [0.9, 0.1]]])
    array([1, 0])
    """
    hull = members.on_host().to_hull()
    K = hull.n_classes

    def kernel(block: Array, output: Array) -> None:
        first = block.argmax(axis=2) + np.arange(len(block))[:, None] * K
        votes = np.bincount(first.ravel(), minlength=len(block) * K).reshape(-1, K)
        most = votes == votes.max(axis=1, keepdims=True)
        output[:] = most.argmax(axis=1)
        tied = most.sum(axis=1) > 1
        # Sorted first, so that the rounding of a sum does not depend on the order of the members.
        mass = np.sort(block[tied], axis=1).sum(axis=1, dtype=np.float64)
        output[tied] = np.where(most[tied], mass, -1.0).argmax(axis=1)

    (winner,) = per_instance(hull.members, kernel, [()], dtype=np.float64)
    return members.origin.wrap(winner.astype(np.intp))
