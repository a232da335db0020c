"""One distribution that stands for M: the minimiser of the summed distance to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.distances import Distance, TotalVariation, Wasserstein, as_distance

Between = Callable[[Array, Array], Array]


def squared_euclidean(p: Array, q: Array) -> Array:
    """Return ``|p - q|^2``."""
    return np.asarray(((p - q) ** 2).sum(axis=-1))


def mean(members: Array) -> Array:
    """Return the distribution with the least summed squared Euclidean distance."""
    # Sorted first, so that rounding does not depend on the order of the members.
    return np.asarray(np.sort(members, axis=-2).mean(axis=-2))


def total_variation_median(members: Array) -> Array:
    """Return a distribution with the least summed total variation to the rows, exactly.

    Parameters
    ----------
    members : float64 array of shape (..., M, K)

    Returns
    -------
    array of shape (..., K)

    Notes
    -----
    The sum is one convex, piecewise linear function of each class probability, whose slope is
    ``2 j - M`` between the j-th and the (j+1)-th smallest member value of that class. With a
    multiplier for ``sum p = 1``, every class is therefore between its j-th and (j+1)-th value for
    one j that all classes share: the j for which the sums of these values enclose 1. All
    distributions in that box are optimal; the one at the same fraction of all its sides is
    returned, which does not depend on the order of members and classes. O(M K log M).

    Examples
    --------
    >>> import numpy as np
    >>> total_variation_median(np.array([[0.6, 0.4, 0.0], [0.6, 0.0, 0.4], [0.0, 0.5, 0.5]]))
    array([0.42857143, 0.28571429, 0.28571429])
    """
    values = np.sort(members, axis=-2)
    sums = values.sum(axis=-1)
    M = members.shape[-2]
    below = np.clip((sums <= 1).sum(axis=-1) - 1, 0, max(M - 2, 0))[..., None, None]
    low = np.take_along_axis(values, below, axis=-2)[..., 0, :]
    high = np.take_along_axis(values, np.minimum(below + 1, M - 1), axis=-2)[..., 0, :]
    start, stop = low.sum(axis=-1, keepdims=True), high.sum(axis=-1, keepdims=True)
    room = stop - start
    fraction = np.divide(1 - start, room, out=np.zeros_like(room), where=room > 0)
    return np.asarray(low + np.clip(fraction, 0, 1) * (high - low))


def ordinal_median(members: Array, positions: Array) -> Array:
    """Return a distribution with the least summed Wasserstein distance on a line, exactly.

    The sum is a weighted one of ``|F(k) - F_m(k)|`` over classes k with F cumulative
    probabilities. The median of the F_m in each k is optimal there and, as a median of increasing
    functions, increasing: it belongs to a distribution.
    """
    order = np.argsort(positions, kind="stable")
    cumulative = np.cumsum(members[..., order], axis=-1)
    medians = np.median(cumulative, axis=-2)
    result = np.empty_like(medians)
    result[..., order] = np.diff(medians, axis=-1, prepend=0.0)
    return np.asarray(np.maximum(result, 0.0))


def medoid(members: Array, between: Between) -> Array:
    """Return the member with the least summed distance to all, the first of several.

    For a metric its sum is less than twice the least possible one. O(M^2) distances.
    """
    total = np.stack(
        [
            between(members, members[..., m : m + 1, :]).sum(axis=-1)
            for m in range(members.shape[-2])
        ],
        axis=-1,
    )
    nearest = total.round(12).argmin(axis=-1)[..., None, None]
    return np.asarray(np.take_along_axis(members, nearest, axis=-2)[..., 0, :])


def representative_of(
    distance: Any, kind: str, n_classes: int
) -> tuple[Callable[[Array], Array], Between]:
    """Return how to find the representative of members, and the distance to it.

    `kind` is ``"minimizer"``, refused for distances that have none here, or ``"medoid"``.
    """
    _validation.one_of(kind, "representative", ("minimizer", "medoid"))
    if isinstance(distance, str) and distance == "euclidean":
        between: Between = squared_euclidean
        minimizer: Callable[[Array], Array] | None = mean
    else:
        metric = _metric(distance, n_classes)
        between = metric.between
        minimizer = None
        positions = _positions(metric)
        if isinstance(metric, TotalVariation):
            minimizer = total_variation_median
        elif positions is not None:

            def minimizer(members: Array) -> Array:
                return ordinal_median(members, positions)

    if kind == "medoid":
        return (lambda members: medoid(members, between)), between
    if minimizer is None:
        _validation.refuse(
            "representative",
            f"is 'minimizer', which is not known for {distance!r}",
            "pass 'medoid', the member with the least summed distance",
        )
    return minimizer, between


def _metric(distance: Any, n_classes: int) -> Distance:
    if not isinstance(distance, Distance | str):
        _validation.refuse("distance", f"is {distance!r}", "pass a distance or its name")
    return as_distance(distance, n_classes)


def _positions(distance: Distance) -> Array | None:
    """Return where the classes lie, if the distance is Wasserstein's on a line."""
    if not isinstance(distance, Wasserstein):
        return None
    cost = distance.cost
    # The class farthest from any one is an end of the line, if there is one.
    end = int(cost[0].argmax())
    at = cost[end]
    on_line = np.allclose(np.abs(at[:, None] - at), cost, rtol=1e-12, atol=0.0)
    return at if on_line else None
