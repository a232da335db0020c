"""The volume of a credal set."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from credalens import _validation
from credalens._backend import Array, TensorT, map_instances
from credalens.sets import SetLike, set_function

#: Most classes for which the hull of the extreme points is triangulated.
MAX_CLASSES = 8


@overload
def volume(Q: TensorT, *, axis: int | None = ..., class_axis: int | None = ...) -> TensorT: ...
@overload
def volume(Q: SetLike, *, axis: int | None = ..., class_axis: int | None = ...) -> Array: ...
@set_function()
def volume(Q: Any, *, axis: int | None = None, class_axis: int | None = None) -> Any:
    """Return the volume of the set, in the coordinates of all classes but the last.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    axis, class_axis : int, optional
        Axes of the members and of the classes of an array, if not the last two, as in
        `ConvexHull`.

    Returns
    -------
    array of shape (...)
        The (K-1)-dimensional volume; 0 for a set of lower dimension, such as a hull of fewer than K
        members, and for K = 1. The simplex of all distributions has ``1 / (K-1)!``. In the
        hyperplane ``sum p = 1`` itself, all volumes are sqrt(K) times larger.

    Raises
    ------
    ValueError
        If a set of positive volume has more than 8 classes, or if a gradient is requested.

    Notes
    -----
    A weak measure of epistemic uncertainty, offered for comparison: with fewer members than classes
    it is 0 however far these are apart, and it decreases exponentially with the number of classes.
    Instances are processed one by one by Qhull, in ``O(M^floor((K-1)/2))``.

    References
    ----------
    Sale, Caprio and Hüllermeier (2023), "Is the volume of a credal set a good measure for epistemic
    uncertainty?".

    Examples
    --------
    >>> import credalens as cl
    >>> cl.volume([[0.9, 0.1], [0.2, 0.8]])   # the length of an interval
    np.float64(0.7)
    >>> cl.volume([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.float64(0.5)
    """
    K = Q.n_classes
    points = np.asarray(Q.detached("volume").to_hull().generators)[..., :-1]
    if K == 2:
        return np.ptp(points[..., 0].astype(np.float64), axis=-1)
    if K == 1 or points.shape[-2] < K:
        return np.zeros(points.shape[:-2])

    def kernel(block: Array, value: Array) -> None:
        value[:] = [hull_volume(rows) for rows in block.astype(np.float64, copy=False)]

    return map_instances(kernel, points, [()], dtype=np.float64)[0]


def hull_volume(points: Array) -> float:
    """Return the volume of the hull of points ``(V, d)`` with d >= 2; 0 if they are flat."""
    from scipy.spatial import ConvexHull, QhullError

    offsets = points - points[0]
    scale, dimension = float(np.abs(offsets).max()), points.shape[1]
    # Qhull cannot start from points that are flat up to rounding.
    if scale == 0 or np.linalg.matrix_rank(offsets, tol=1e-15 + 1e-12 * scale) < dimension:
        return 0.0
    if dimension >= MAX_CLASSES:
        _validation.raise_invalid(
            "Q",
            f"has {dimension + 1} classes, too many to triangulate a hull",
            f"pass at most {MAX_CLASSES}, or use epistemic_uncertainty, for any number",
        )
    try:
        return float(ConvexHull(offsets / scale).volume * scale**dimension)
    except QhullError:
        return 0.0
