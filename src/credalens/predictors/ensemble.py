"""Classifiers whose credal sets are hulls, or intervals, of the predictions of estimators."""

from __future__ import annotations

from functools import reduce
from typing import Any, Self

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import Bunch
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from credalens import _validation
from credalens._backend import Array
from credalens.predictors import members as _members
from credalens.predictors.base import VOTINGS, CredalClassifier
from credalens.predictors.composition import MemberComposition
from credalens.predictors.forests import (
    base_estimators,
    predict_base_estimators,
    random_forests,
)
from credalens.sets import ConvexHull, CredalSet, ProbabilityIntervals
from credalens.sets.member_weights import member_weights


class CredalEnsembleClassifier(MemberComposition, CredalClassifier):
    """A classifier whose credal set is the convex hull of its members' predictions.

    Parameters
    ----------
    estimators : list of estimators or of pairs (name, estimator), estimator, or None
        The members. An estimator in `sklearn.frozen.FrozenEstimator` is prefit and not refitted.
        A single estimator is cloned `n_members` times with different ``random_state``. By default
        random forests with random hyper-parameters (`credalens.predictors.random_forests`), as in
        González-García et al. (2026).
    n_members : int, default=10
        Number of members, if `estimators` is not a list.
    members : {"estimators", "trees"}, default="estimators"
        With ``"trees"`` the members are the base estimators of one ensemble: `estimators` is then
        a RandomForestClassifier, ExtraTreesClassifier or BaggingClassifier, by default a random
        forest of `n_members` trees.
    smoothing : float, default=0
        For ``members="trees"``: added to the count of each class in a leaf (1 is Laplace
        smoothing). Without it leaves give probability 0 to most classes, and sets are large.
    bootstrap : bool, default=False
        Fit each member on a stratified bootstrap sample. Required for clones of a deterministic
        estimator, which would all be equal; `fit` warns if the members predict the same.
    voting : {"soft", "majority"}, default="soft"
        Predict the most probable class of the mean, or the majority vote of the members, as in
        González-García et al. (2026); ``predict_proba`` is then not available.
    weights : array-like of shape (n_members,), optional
        Weights of the members in the mean, in votes and in measures of the members as a sample;
        the set does not depend on them. By default equal.
    random_state : int, RandomState or None
        Seeds forests, clones, bootstrap samples, and estimators of a list whose ``random_state`` is
        None.
    n_jobs : int or None
        Number of parallel jobs for fitting and prediction; results do not depend on it.

    Attributes
    ----------
    estimators_ : list
        The fitted members.
    named_estimators_ : Bunch
        The fitted members by name; for ``members="trees"`` the forest, named ``"ensemble"``.
    classes_ : array of shape (K,)
        The labels in y and the classes of prefit members. A member predicts probability 0 for
        classes that it was not fitted to.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    ``sample_weight`` is passed to the members as in `sklearn.ensemble.VotingClassifier`; with
    metadata routing, each member must request it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from credalens.predictors import CredalEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CredalEnsembleClassifier(members="trees", smoothing=1, random_state=0).fit(X, y)
    >>> model.predict_credal(X[:2])
    ConvexHull(batch_shape=(2,), n_members=10, n_classes=3, dtype=float64)
    >>> model.predict_or_abstain(X[50:56], threshold=0.3)
    array([ 1, -1, -1,  1, -1,  1])
    """

    def __init__(
        self,
        estimators: Any = None,
        n_members: int = 10,
        *,
        members: str = "estimators",
        smoothing: float = 0.0,
        bootstrap: bool = False,
        voting: str = "soft",
        weights: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.n_members = n_members
        self.members = members
        self.smoothing = smoothing
        self.bootstrap = bootstrap
        self.voting = voting
        self.weights = weights
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the members.

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
        self._check_parameters()
        X, y, rng, pairs, params = self._prepare_fit(X, y, fit_params)
        rows = [_members.bootstrap_rows(y, rng) if self.bootstrap else None for _ in pairs]
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_members.fit_member)(estimator, X, y, own, metadata)
            for (_, estimator), own, metadata in zip(pairs, rows, params, strict=True)
        )
        names = [name for name, _ in pairs]
        classes = [_members.classes_of(*pair, y) for pair in zip(names, fitted, strict=True)]
        self.classes_ = reduce(np.union1d, classes, np.unique(y))
        columns = [np.searchsorted(self.classes_, own) for own in classes]
        self.named_estimators_ = Bunch(**dict(zip(names, fitted, strict=True)))
        if self.members == "trees":
            self._whole, self.estimators_ = base_estimators(fitted[0])
            columns = columns * len(self.estimators_)
        else:
            self.estimators_ = fitted
        self._columns = columns
        if self.weights is not None:
            member_weights(self.weights, (), len(self.estimators_))  # validates
        self._warn_if_identical(X)
        return self

    def predict_credal(self, X: Any) -> CredalSet:
        """Return the convex hull of the members' predictions for each instance, with `weights`."""
        return self._hull(X)

    def _hull(self, X: Any) -> ConvexHull:
        members = self.predict_members(X)
        if self.weights is None:
            return ConvexHull(members)
        return ConvexHull(members, weights=self.weights)

    def _predict_members(self, X: Any) -> Array:
        if self.members != "trees":
            return super()._predict_members(X)
        predictions = predict_base_estimators(
            self._whole, self.estimators_, X, float(self.smoothing)
        )
        return _members.stack(predictions, self._columns, _num_samples(X), len(self.classes_))

    def _check_parameters(self) -> None:
        _validation.one_of(self.voting, "voting", VOTINGS)
        self._check_composition("forest or bagging classifier")
        _validation.number(self.smoothing, "smoothing", least=0)
        if self.smoothing and self.members != "trees":
            _validation.raise_invalid(
                "smoothing",
                f"is {self.smoothing!r}, members are 'estimators'",
                "pass 0, or members='trees'",
            )

    def _default_pairs(self, rng: np.random.RandomState) -> list[tuple[str, Any]]:
        """Return forests and their names."""
        if self.members == "trees":
            seed = int(rng.randint(_members.SEEDS))
            forest = RandomForestClassifier(self.n_members, random_state=seed, n_jobs=self.n_jobs)
            return [("ensemble", forest)]
        return _members.with_names(random_forests(self.n_members, rng))

    def _default_prototype(self) -> Any:
        return RandomForestClassifier()


class CredalWrapperClassifier(CredalEnsembleClassifier):
    """A classifier whose credal sets are the probability intervals of its members' predictions.

    The interval of a class ranges from the smallest to the largest probability of a member. The
    point prediction is the intersection probability ``p = l + b (u - l)`` with
    ``b = (1 - sum l) / (sum u - sum l)``, at the same fraction of all intervals.

    Parameters
    ----------
    estimators, n_members, members, smoothing, bootstrap, voting, weights, random_state, n_jobs
        As in `CredalEnsembleClassifier`; with ``voting="soft"``, `predict` returns the most
        probable class of the intersection probability, which does not depend on `weights`.

    Attributes
    ----------
    estimators_, named_estimators_, classes_, n_features_in_, feature_names_in_
        As in `CredalEnsembleClassifier`.

    References
    ----------
    K. Wang, F. Cuzzolin, K. Shariatmadar, D. Moens, H. Hallez, "Credal wrapper of model averaging
    for uncertainty estimation in classification", 2025.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from credalens.predictors import CredalWrapperClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [LogisticRegression(C=C, max_iter=1000) for C in (0.01, 1.0)]
    >>> model = CredalWrapperClassifier(members).fit(X, y)
    >>> Q = model.predict_credal(X[70:71])
    >>> Q.lower().round(2), Q.upper().round(2)
    (array([[0.  , 0.4 , 0.45]]), array([[0.15, 0.44, 0.56]]))
    >>> model.predict_proba(X[70:71]).round(2)
    array([[0.07, 0.42, 0.51]])
    """

    def predict_credal(self, X: Any) -> CredalSet:
        """Return the `ProbabilityIntervals` of the members' predictions for each instance."""
        return ProbabilityIntervals.from_members(self.predict_members(X))

    def _point(self, Q: CredalSet) -> Array:
        center = super()._point(Q)
        # Rows in single precision may not sum to 1.
        return np.asarray(center / center.sum(axis=-1, keepdims=True), center.dtype)

    def _voters(self, Q: CredalSet, X: Any) -> Any:
        return self._hull(X)
