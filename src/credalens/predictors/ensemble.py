"""The hull of the predictions of several estimators."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
)
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from credalens import _validation
from credalens._arrays import Array
from credalens.predictors import members as _members
from credalens.predictors import trees
from credalens.predictors.base import VOTINGS, CredalClassifier
from credalens.predictors.forests import random_forests


class CredalEnsembleClassifier(CredalClassifier, _BaseComposition):  # type: ignore[misc]
    """A classifier whose credal set is the convex hull of its members' predictions.

    Parameters
    ----------
    estimators : list of estimators or of pairs (name, estimator), estimator, or None
        The members. An estimator in `sklearn.frozen.FrozenEstimator` is prefit and stays as it is.
        One estimator stands for `n_members` clones with different ``random_state``. By default
        random forests of random hyper-parameters (`credalens.predictors.random_forests`), as in
        González-García et al. (2026).
    n_members : int, default=10
        Number of members, where `estimators` is not a list.
    members : {"estimators", "trees"}, default="estimators"
        ``"trees"`` makes the parts of one forest or bag the members: `estimators` is then one
        RandomForestClassifier, ExtraTreesClassifier or BaggingClassifier, by default a random
        forest of `n_members` trees.
    smoothing : float, default=0
        For ``members="trees"``: added to the count of each class in a leaf (Laplace's rule for 1).
        Without it leaves rule out most classes, and sets are wide.
    bootstrap : bool, default=False
        Fit each member on rows drawn with replacement, as many of each class as there are. Needed
        for clones of an estimator that draws nothing itself.
    voting : {"soft", "majority"}, default="soft"
        Predict the most probable class of the mean, or the class that most members put first, as
        in González-García et al. (2026); then there is no ``predict_proba``.
    random_state : int, RandomState or None
        Seeds forests, clones and bootstrap samples, and estimators of a list that have a
        ``random_state`` of ``None``.
    n_jobs : int or None
        Members fitted and asked at the same time; results do not depend on it.

    Attributes
    ----------
    estimators_ : list
        The fitted members.
    named_estimators_ : Bunch
        The fitted members by name; of ``members="trees"`` the forest itself, as ``"ensemble"``.
    classes_ : array of shape (K,)
        The labels in y, and those that prefit members know. A member that has not seen a class
        gives it probability 0.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    ``sample_weight`` is passed on to members as `sklearn.ensemble.VotingClassifier` does; with
    metadata routing, each member must ask for it.

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
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.n_members = n_members
        self.members = members
        self.smoothing = smoothing
        self.bootstrap = bootstrap
        self.voting = voting
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Passed on to the members as it is.
        y : array-like of shape (n,)
            The class of each instance.
        **fit_params
            ``sample_weight``, or with metadata routing what the members ask for.

        Returns
        -------
        self
        """
        _raise_for_params(fit_params, self, "fit", allow=["sample_weight"])
        self._check_parameters()
        X, y = self._check_fit(X, y)
        rng = check_random_state(self.random_state)
        pairs = self._pairs(rng)
        _members.check_probabilistic(pairs)
        params = _members.route(self, pairs, fit_params)
        rows = [_members.bootstrap_rows(y, rng) if self.bootstrap else None for _ in pairs]
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_members.fit_member)(estimator, X, y, own, given)
            for (_, estimator), own, given in zip(pairs, rows, params, strict=True)
        )
        names = [name for name, _ in pairs]
        known = [_members.classes_of(*pair, y) for pair in zip(names, fitted, strict=True)]
        self.classes_ = reduce(np.union1d, known, np.unique(y))
        columns = [np.searchsorted(self.classes_, own) for own in known]
        self.named_estimators_ = Bunch(**dict(zip(names, fitted, strict=True)))
        if self.members == "trees":
            self._whole, self.estimators_ = trees.parts_of(fitted[0])
            columns = columns * len(self.estimators_)
        else:
            self.estimators_ = fitted
        self._columns = columns
        return self

    def _ask(self, X: Any) -> Array:
        if self.members != "trees":
            return super()._ask(X)
        answers = trees.ask_parts(self._whole, self.estimators_, X, float(self.smoothing))
        return _members.stack(answers, self._columns, _num_samples(X), len(self.classes_))

    def _check_parameters(self) -> None:
        _validation.one_of(self.voting, "voting", VOTINGS)
        _validation.one_of(self.members, "members", ("estimators", "trees"))
        _validation.whole_number(self.n_members, "n_members", least=1)
        if not 0 <= float(self.smoothing) < np.inf:
            _validation.refuse("smoothing", f"is {self.smoothing!r}", "pass a number >= 0")
        if self.smoothing and self.members != "trees":
            _validation.refuse(
                "smoothing",
                f"is {self.smoothing!r}, members are 'estimators'",
                "only leaves are smoothed: pass 0, or members='trees'",
            )
        if _is_sequence(self.estimators):
            if len(self.estimators) == 0:
                _validation.refuse("estimators", "is empty", "pass at least one estimator")
            if self.members == "trees":
                _validation.refuse(
                    "estimators", "is a list, members are 'trees'", "pass one forest or bag"
                )

    def _pairs(self, rng: np.random.RandomState) -> list[tuple[str, Any]]:
        """Return the unfitted members and their names."""
        if _is_sequence(self.estimators):
            pairs = _members.with_names(self.estimators)
            self._validate_names([name for name, _ in pairs])
            return [(n, _members.seeded(e, rng, all_anew=False)) for n, e in pairs]
        if self.estimators is not None and self.members == "trees":
            return [("ensemble", _members.seeded(self.estimators, rng, all_anew=False))]
        if self.estimators is not None:
            self._check_clones_differ()
            one, count = self.estimators, self.n_members
            made = [_members.seeded(one, rng, all_anew=True) for _ in range(count)]
            return _members.with_names(made)
        if self.members == "trees":
            seed = int(rng.randint(_members.SEEDS))
            forest = RandomForestClassifier(self.n_members, random_state=seed, n_jobs=self.n_jobs)
            pairs = [("ensemble", forest)]
        else:
            pairs = _members.with_names(random_forests(self.n_members, rng))
        if _routing_enabled():  # nobody else can ask for the weights of forests made here
            for _, forest in pairs:
                forest.set_fit_request(sample_weight=True)
        return pairs

    def _check_clones_differ(self) -> None:
        seeds = any(_members.is_seed(key) for key in self.estimators.get_params(deep=True))
        if not seeds and not self.bootstrap and self.n_members > 1:
            _validation.refuse(
                "estimators",
                f"{type(self.estimators).__name__} has no random_state: its clones are all equal",
                "pass bootstrap=True, or a list of different estimators",
            )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, those of named members as ``name__parameter``."""
        if _members.named(self.estimators) is None:
            return dict(super().get_params(deep=deep))
        return dict(self._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of named members as ``name__parameter``."""
        if _members.named(params.get("estimators", self.estimators)) is None:
            super().set_params(**params)
        else:
            self._set_params("estimators", **params)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what metadata the members' ``fit`` asks for."""
        router = MetadataRouter(owner=self)
        for name, estimator in self._pairs(np.random.RandomState(0)):
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(**{name: estimator}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = self.estimators
        if members is None:
            members = RandomForestClassifier()
        inner = [e for _, e in _members.with_names(members)] if _is_sequence(members) else [members]
        each = [get_tags(estimator).input_tags for estimator in inner]
        tags.input_tags.sparse = all(own.sparse for own in each)
        tags.input_tags.allow_nan = all(own.allow_nan for own in each)
        return tags


def _is_sequence(estimators: Any) -> bool:
    return isinstance(estimators, Sequence) and not isinstance(estimators, str)
