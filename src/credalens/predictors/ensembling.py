"""Credal ensembling: the members closest to a representative distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.distances import Distance, TotalVariation, Wasserstein, as_distance
from credalens.evaluation.arguments import fraction
from credalens.predictors.ensemble import CredalEnsembleClassifier
from credalens.sets import ConvexHull, CredalSet

Between = Callable[[Array, Array], Array]

#: Number of floats per block of the comparison of members, so that a block fits in the cache.
BLOCK_FLOATS = 1 << 16


class CredalEnsemblingClassifier(CredalEnsembleClassifier):
    """A classifier whose credal set is the hull of the members closest to a representative.

    For each instance the members farthest from a representative of the ensemble are excluded, so
    that outliers do not determine the set.

    Parameters
    ----------
    estimators, n_members
        As in `CredalEnsembleClassifier`.
    distance : "euclidean", "tv", "ordinal", "kolmogorov", or a distance, default="tv"
        ``"euclidean"`` is the squared Euclidean distance, whose representative is the mean.
    keep : float in (0, 1], default=0.8
        Share of the members to keep: the ``ceil(keep * M)`` closest. Ties, to 12 decimals, are
        broken by their order.
    representative : {"minimizer", "medoid"}, default="minimizer"
        The distribution of smallest summed distance to all members, which is exact and available
        for ``"euclidean"``, total variation and Wasserstein on a line; or the member of smallest
        sum, for any distance.
    members, smoothing, bootstrap, voting, random_state, n_jobs
        As in `CredalEnsembleClassifier`; with ``voting="majority"``, the kept members vote.

    Notes
    -----
    A duplicated member counts twice, both in the representative and in the share.

    References
    ----------
    V.-L. Nguyen, H. Zhang, S. Destercke, "Credal ensembling in multi-class classification", 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from credalens.predictors import CredalEnsemblingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CredalEnsemblingClassifier(members="trees", keep=0.7, random_state=0).fit(X, y)
    >>> model.predict_credal(X)
    ConvexHull(batch_shape=(150,), n_members=7, n_classes=3, dtype=float64)
    """

    def __init__(
        self,
        estimators: Any = None,
        n_members: int = 10,
        *,
        distance: Any = "tv",
        keep: float = 0.8,
        representative: str = "minimizer",
        members: str = "estimators",
        smoothing: float = 0.0,
        bootstrap: bool = False,
        voting: str = "soft",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            estimators,
            n_members,
            members=members,
            smoothing=smoothing,
            bootstrap=bootstrap,
            voting=voting,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.distance = distance
        self.keep = keep
        self.representative = representative

    def _check_parameters(self) -> None:
        super()._check_parameters()
        fraction(self.keep, "keep", one=True)

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the members; see `CredalEnsembleClassifier.fit`."""
        super().fit(X, y, **fit_params)
        representative_of(self.distance, self.representative, len(self.classes_))  # validates
        return self

    def predict_credal(self, X: Any) -> CredalSet:
        """Return the hull of the ``ceil(keep * M)`` members closest to the representative."""
        members = np.asarray(ConvexHull(self.predict_members(X)).members)
        n, M, K = members.shape
        center, between = representative_of(self.distance, self.representative, K)
        # As a decimal fraction: 0.8 of 10 members are 8, not 9.
        n_kept = math.ceil(Fraction(str(self.keep)) * M)
        kept = np.empty((n, n_kept, K), members.dtype)
        step = max(1, BLOCK_FLOATS // (M * K))
        for start in range(0, n, step):
            block = members[start : start + step]
            kept[start : start + step] = nearest_members(block, center, between, n_kept)
        return ConvexHull(kept, validate=False)


def nearest_members(members: Array, center: Any, between: Any, n_kept: int) -> Array:
    """Return the `n_kept` rows of each ``(n, M, K)`` that are closest to their representative."""
    rows = members.astype(np.float64, copy=False)
    apart = between(rows, center(rows)[:, None, :])
    # Rounded, so that rounding errors do not break ties.
    order = np.argsort(apart.round(12), axis=1, kind="stable")[:, :n_kept]
    return np.asarray(np.take_along_axis(members, np.sort(order, axis=1)[..., None], axis=1))


def squared_euclidean(p: Array, q: Array) -> Array:
    """Return ``|p - q|^2``."""
    return np.asarray(((p - q) ** 2).sum(axis=-1))


def mean(members: Array) -> Array:
    """Return the minimiser of the summed squared Euclidean distance."""
    # Sorted, so that rounding does not depend on the order of the members.
    return np.asarray(np.sort(members, axis=-2).mean(axis=-2))


def total_variation_median(members: Array) -> Array:
    """Return an exact minimiser of the summed total variation distance to the rows.

    The sum is a convex, piecewise linear function of each class probability, with slope
    ``2 j - M`` between the j-th and the (j+1)-th smallest member value of that class. With a
    Lagrange multiplier for ``sum p = 1``, every class lies between its j-th and (j+1)-th value for
    one j shared by all classes: the j for which the sums of these values enclose 1. All
    distributions in that box are optimal; the one at the same fraction of all sides is returned,
    which does not depend on the order of members and classes. O(M K log M).

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
    """Return an exact minimiser of the summed Wasserstein distance on a line.

    The sum is a weighted sum of ``|F(k) - F_m(k)|`` over classes k with cumulative distribution
    functions F. The median of the F_m at each k is optimal there; as a median of increasing
    functions it is increasing, hence a distribution function.
    """
    order = np.argsort(positions, kind="stable")
    cumulative = np.cumsum(members[..., order], axis=-1)
    medians = np.median(cumulative, axis=-2)
    result = np.empty_like(medians)
    result[..., order] = np.diff(medians, axis=-1, prepend=0.0)
    return np.asarray(np.maximum(result, 0.0))


def medoid(members: Array, between: Between) -> Array:
    """Return the first member of smallest summed distance to all.

    For a metric its sum is less than twice the minimum. O(M^2) distances.
    """
    M = members.shape[-2]
    sums = [between(members, members[..., m : m + 1, :]).sum(axis=-1) for m in range(M)]
    nearest = np.stack(sums, axis=-1).round(12).argmin(axis=-1)[..., None, None]
    return np.asarray(np.take_along_axis(members, nearest, axis=-2)[..., 0, :])


def representative_of(
    distance: Any, kind: str, n_classes: int
) -> tuple[Callable[[Array], Array], Between]:
    """Return a function from members to their representative, and the distance to it.

    `kind` is ``"minimizer"``, which raises ValueError for distances without one, or ``"medoid"``.
    """
    _validation.one_of(kind, "representative", ("minimizer", "medoid"))
    between: Between = squared_euclidean
    minimizer: Callable[[Array], Array] | None = mean
    if not (isinstance(distance, str) and distance == "euclidean"):
        if not isinstance(distance, Distance | str):
            _validation.raise_invalid("distance", f"is {distance!r}", "pass a distance or its name")
        metric = as_distance(distance, n_classes)
        between, minimizer = metric.between, None
        positions = _positions(metric)
        if isinstance(metric, TotalVariation):
            minimizer = total_variation_median
        elif positions is not None:
            minimizer = partial(ordinal_median, positions=positions)
    if kind == "medoid":
        return partial(medoid, between=between), between
    if minimizer is None:
        _validation.raise_invalid(
            "representative",
            f"is 'minimizer', which is not known for {distance!r}",
            "pass 'medoid', the member with the least summed distance",
        )
    return minimizer, between


def _positions(distance: Distance) -> Array | None:
    """Return the positions of the classes, if the distance is Wasserstein on a line."""
    if not isinstance(distance, Wasserstein):
        return None
    cost = distance.cost
    # On a line, the class farthest from any class is an end point.
    at = cost[int(cost[0].argmax())]
    on_line = np.allclose(np.abs(at[:, None] - at), cost, rtol=1e-12, atol=0.0)
    return at if on_line else None
