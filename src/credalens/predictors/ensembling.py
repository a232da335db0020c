"""Credal ensembling: for each query, the members nearest to a representative."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any, Self

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.predictors.ensemble import CredalEnsembleClassifier
from credalens.predictors.representatives import representative_of
from credalens.sets import ConvexHull, CredalSet

#: Numbers that are held at once while members are compared: they stay in the cache.
BLOCK_FLOATS = 1 << 16


class CredalEnsemblingClassifier(CredalEnsembleClassifier):
    """A classifier whose credal set is the hull of the members nearest to a representative.

    For each query the members that are farthest from what the ensemble says as a whole are left
    out, so that a few odd ones do not decide the set.

    Parameters
    ----------
    estimators, n_members
        As in `CredalEnsembleClassifier`.
    distance : "euclidean", "tv", "ordinal", "kolmogorov", or a distance, default="tv"
        ``"euclidean"`` is the squared Euclidean distance, whose representative is the mean.
    keep : float in (0, 1], default=0.8
        Share of the members that stay: the ``ceil(keep * M)`` nearest. Members at equal distance,
        to 12 decimals, stay in their order.
    representative : {"minimizer", "medoid"}, default="minimizer"
        The distribution with the least summed distance to all members, which is exact and known
        for ``"euclidean"``, total variation and Wasserstein on a line; or the member with the
        least sum, for any distance.
    members, smoothing, bootstrap, voting, random_state, n_jobs
        As in `CredalEnsembleClassifier`; with ``voting="majority"``, those that stay vote.

    Notes
    -----
    A member that is given twice counts twice, both in the representative and in the share.

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
        keep = self.keep
        if isinstance(keep, bool) or not isinstance(keep, Real) or not 0 < float(keep) <= 1:
            _validation.refuse("keep", f"is {keep!r}", "pass a share above 0 and at most 1")

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the members; see `CredalEnsembleClassifier.fit`."""
        super().fit(X, y, **fit_params)
        representative_of(self.distance, self.representative, len(self.classes_))  # refused early
        return self

    def predict_credal(self, X: Any) -> CredalSet:
        """Return the hull of the members nearest to the representative, for each instance.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        ConvexHull
            Of ``ceil(keep * M)`` members, which are others for each instance.
        """
        members = np.asarray(ConvexHull(self.predict_members(X)).members)
        n, M, K = members.shape
        center, between = representative_of(self.distance, self.representative, K)
        # The decimal that was written: 0.8 of 10 are 8, not 9.
        stay = math.ceil(Fraction(str(self.keep)) * M)
        kept = np.empty((n, stay, K), members.dtype)
        step = max(1, BLOCK_FLOATS // (M * K))
        for start in range(0, n, step):
            block = members[start : start + step]
            kept[start : start + step] = nearest_members(block, center, between, stay)
        return ConvexHull(kept, validate=False)


def nearest_members(members: Array, center: Any, between: Any, stay: int) -> Array:
    """Return the `stay` rows of each ``(n, M, K)`` that are nearest to their representative."""
    rows = members.astype(np.float64, copy=False)
    apart = between(rows, center(rows)[:, None, :])
    # Rounded, so that rounding errors do not decide between members at equal distance.
    order = np.argsort(apart.round(12), axis=1, kind="stable")[:, :stay]
    return np.asarray(np.take_along_axis(members, np.sort(order, axis=1)[..., None], axis=1))
