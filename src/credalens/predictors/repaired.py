"""An ensemble that is recalibrated and trimmed on held-out data."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from credalens import _validation
from credalens._backend import Array
from credalens.predictors.ensemble import CredalEnsembleClassifier
from credalens.validity import Repair, repair
from credalens.validity.scaling import SCALINGS

#: Number of folds of the repair, if there are as many held-out rows.
N_FOLDS = 5


class RepairedEnsemble(CredalEnsembleClassifier):
    """An ensemble whose members are recalibrated, and the worst left out, on held-out data.

    Parameters
    ----------
    estimators, n_members, members, smoothing, bootstrap, voting, random_state, n_jobs
        As in `CredalEnsembleClassifier`; `random_state` also draws the held-out rows.
    validation : float in (0, 1], default=0.25
        Share of the rows of each class to hold out for the repair; at least one row of each class
        is used to fit the members. 1 uses all rows for both, for prefit members that have not seen
        them.
    method : {"temperature", "vector", "isotonic"} or None, default="temperature"
        The recalibration, as in `credalens.validity.repair`.
    min_members : int, default=2
        Smallest number of members to keep.

    Attributes
    ----------
    repair_ : credalens.validity.Repair
        The repair, with the kept members and a report.
    estimators_, named_estimators_, classes_, n_features_in_, feature_names_in_
        As in `CredalEnsembleClassifier`; members that are left out are included.

    Notes
    -----
    ``sample_weight`` is used to fit the members, not for the repair.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from credalens.predictors import RepairedEnsemble
    >>> X, y = load_digits(return_X_y=True)
    >>> linear = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))
    >>> members = [linear, GaussianNB(), DummyClassifier()]
    >>> model = RepairedEnsemble(members, random_state=0).fit(X[::2], y[::2])
    >>> model.repair_.kept.tolist(), model.predict_members(X[1::2]).shape
    ([0, 1], (898, 2, 10))
    """

    repair_: Repair | None

    def __init__(
        self,
        estimators: Any = None,
        n_members: int = 10,
        *,
        members: str = "estimators",
        smoothing: float = 0.0,
        bootstrap: bool = False,
        validation: float = 0.25,
        method: str | None = "temperature",
        min_members: int = 2,
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
        self.validation = validation
        self.method = method
        self.min_members = min_members

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the members on one part of the data and the repair on the other.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Passed to the members unchanged.
        y : array-like of shape (n,)
            The class of each instance.
        **fit_params
            ``sample_weight``, or with metadata routing what the members request.

        Returns
        -------
        self
        """
        share = _validation.fraction(self.validation, "validation", one=True)
        if self.method is not None:
            _validation.one_of(self.method, "method", SCALINGS)
        _validation.whole_number(self.min_members, "min_members", least=1)
        self._check_parameters()
        X, y, rng, _, _ = self._prepare_fit(X, y, fit_params)
        train, held = split_rows(y, share, rng)
        if len(held) < 2:
            _validation.raise_invalid(
                "validation",
                f"is {share:g} and holds out {len(held)} rows, n_samples={len(y)}",
                "pass more rows, or a larger share",
            )
        self.repair_ = None
        params = _check_method_params(X, fit_params, indices=train)
        super().fit(_safe_indexing(X, train), y[train], **params)
        labels = np.searchsorted(self.classes_, y[held])
        self.repair_ = repair(
            super()._predict_members(_safe_indexing(X, held)),
            labels,
            method=self.method,
            min_members=self.min_members,
            n_folds=min(N_FOLDS, len(held)),
            names=[f"member {m}" for m in range(len(self.estimators_))],
        )
        return self

    def _predict_members(self, X: Any) -> Array:
        members = super()._predict_members(X)
        return members if self.repair_ is None else self.repair_(members)


def split_rows(
    y: Array, share: float, rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to fit the members on, and those that are held out, by class.

    Examples
    --------
    >>> import numpy as np
    >>> train, held = split_rows(np.array([0] * 8 + [1]), 0.25, np.random.RandomState(0))
    >>> len(train), len(held), 8 in train
    (7, 2, True)
    """
    if share == 1.0:
        return np.arange(len(y)), np.arange(len(y))
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    sizes = np.unique(y, return_counts=True)[1]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place = np.arange(len(y)) - np.repeat(starts, sizes)
    held = place < np.repeat(np.minimum(np.round(share * sizes), sizes - 1), sizes)
    return np.sort(order[~held]), np.sort(order[held])
