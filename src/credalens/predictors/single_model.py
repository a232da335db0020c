"""Base class of credal classifiers that put a set round the prediction of one model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _check_sample_weight

from credalens._backend import Array
from credalens.predictors import members as _members
from credalens.predictors.base import CredalClassifier


class SingleModelClassifier(CredalClassifier):
    """One fitted model, whose prediction is the point prediction of each credal set."""

    voting = "soft"
    n_jobs = None
    estimator: Any

    def _pairs(self, rng: np.random.RandomState) -> list[tuple[str, Any]]:
        default = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        return [("estimator", default if self.estimator is None else self.estimator)]

    def _fit_and_predict(
        self,
        X: Any,
        y: Any,
        held_out: float | None,
        fit_params: dict[str, Any],
        *,
        stratify: bool = True,
    ) -> tuple[Array, NDArray[np.intp], Array]:
        """Fit the model; return predictions, class indices and weights of other instances.

        These are the share `held_out` of the data, or all of the training data if it is None.
        """
        X, y, rng, ((_, family),), (params,) = self._prepare_fit(X, y, fit_params)
        weights = fit_params.get("sample_weight")
        weights = np.ones(len(y)) if weights is None else _check_sample_weight(weights, X)
        train = test = np.arange(len(y))
        if held_out is not None:
            train, test = _members.split_rows(y, held_out, rng, stratify=stratify)
            params = _check_method_params(X, params, indices=train)
        model = _members.seeded(family, rng, reseed=False)
        model.fit(X if held_out is None else _safe_indexing(X, train), y[train], **params)
        self.classes_ = np.unique(y)
        self.estimators_ = [model]
        self.estimator_ = model
        self._columns = [np.searchsorted(self.classes_, model.classes_)]
        other = X if held_out is None else _safe_indexing(X, test)
        labels = np.searchsorted(self.classes_, y[test])
        return self._predict_members(other)[:, 0], labels, weights[test]

    def predict_proba(self, X: Any) -> Array:
        """Return the prediction of the model.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        array of shape (n, K)
        """
        return np.asarray(self.predict_members(X)[:, 0])

    def _classify(self, Q: Any, X: Any) -> Array:
        chosen = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def predict(self, X: Any) -> Array:
        """Return the most probable class of the model for each instance.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        array of shape (n,)
        """
        return self._classify(None, X)
