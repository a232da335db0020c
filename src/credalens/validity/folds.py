"""Cross-fitting of maps of predictions, with their log-losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array, blocks
from credalens.evaluation.labels import class_indices
from credalens.evaluation.likelihood import label_probabilities, member_array
from credalens.sets import ConvexHull
from credalens.validity.scaling import Scaling, log_probabilities


def labelled_members(
    members: Any, y: Any, least: int = 2, names: tuple[str, str] = ("members", "y")
) -> tuple[ConvexHull, Array, NDArray[np.intp]]:
    """Return predictions ``(n, M, K)`` as a hull and as an array, and the labels ``(n,)``."""
    hull, points = member_array(members)
    if points.ndim != 3 or len(points) < least:
        _validation.raise_invalid(
            names[0],
            f"has shape {points.shape}",
            f"pass (n, members, classes) with at least {_validation.counted(least, 'instance')}",
        )
    return hull, points, class_indices(y, hull.batch_shape, hull.n_classes, names[1])


def stratified_folds(labels: NDArray[np.intp], n_folds: int) -> NDArray[np.intp]:
    """Return the fold of each row; the rows of a class are dealt to the folds in turn.

    Examples
    --------
    >>> import numpy as np
    >>> stratified_folds(np.array([0, 0, 1, 1, 0, 1]), 2)
    array([0, 1, 1, 0, 0, 1])
    """
    folds = np.empty(len(labels), np.intp)
    folds[np.argsort(labels, kind="stable")] = np.arange(len(labels)) % n_folds
    return folds


def apply_in_blocks(scaling: Scaling, points: Array, n_members: int | None = None) -> Array:
    """Return mapped members ``(..., M, K)`` in their dtype, computed block by block.

    `n_members` is the number of members of the result, if it differs.
    """
    *lead, M, K = points.shape
    result = np.empty((*lead, M if n_members is None else n_members, K), points.dtype)
    flat = result.reshape(-1, *result.shape[-2:])
    for start, stop, (block,) in blocks((points,), (2,)):
        flat[start:stop] = scaling(block)
    return result


def cross_fitted(
    fit: Callable[[Array, NDArray[np.intp]], Scaling],
    points: Array,
    labels: NDArray[np.intp],
    folds: NDArray[np.intp],
) -> Array:
    """Return the members of each fold, recalibrated by a map that is fitted to the other folds."""
    result = np.empty_like(points)
    for fold in np.unique(folds):
        held = folds == fold
        result[held] = fit(points[~held], labels[~held])(points[held])
    return result


def log_losses(points: Array, labels: NDArray[np.intp]) -> Array:
    """Return the mean log-loss of each member ``(M,)``, of probabilities as in `scaling`."""
    picked = label_probabilities(points, labels).astype(points.dtype)
    return np.asarray(-log_probabilities(picked).mean(axis=0))
