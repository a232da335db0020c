"""A regressor whose credal sets are hulls of the members' predictive distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils import Bunch, check_random_state, indexable
from sklearn.utils.metadata_routing import _raise_for_params
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_y,
    _num_samples,
    check_consistent_length,
    validate_data,
)

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation.arguments import fraction
from credalens.evaluation.real_scores import POINTS, predictions
from credalens.measures import quantify
from credalens.predictors import members as _members
from credalens.predictors import predictive
from credalens.predictors.composition import MemberComposition
from credalens.predictors.estimator import CredalEstimator, abstained_rows, check_abstention
from credalens.sets import RealHull
from credalens.sets.member_weights import member_weights
from credalens.sets.real_validation import as_levels

#: Default levels of members that are quantile regressions.
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Hyper-parameters that the default forests are drawn from.
MIN_SAMPLES_LEAF = (5, 10, 20)
MAX_FEATURES = (1 / 3, 2 / 3, 1.0)


class CredalEnsembleRegressor(MemberComposition, RegressorMixin, CredalEstimator):  # type: ignore[misc]
    """A regressor whose credal set is the hull of its members' predictive distributions.

    Parameters
    ----------
    estimators : list of estimators or of pairs (name, estimator), estimator, or None
        The members. An estimator in `sklearn.frozen.FrozenEstimator` is prefit and not refitted:
        its leaves or residuals are those of the data that are passed to `fit`, which it should not
        have seen. A single estimator is cloned `n_members` times with different ``random_state``.
        By default random forests of 100 trees, with ``min_samples_leaf`` from 5, 10 and 20 and
        ``max_features`` from 1/3, 2/3 and 1.
    n_members : int, default=10
        Number of members, if `estimators` is not a list.
    members : {"estimators", "trees"}, default="estimators"
        With ``"trees"`` the members are the trees of one forest: `estimators` is then a
        RandomForestRegressor or ExtraTreesRegressor.
    distribution : {"auto", "leaves", "quantiles", "normal", "residuals"}, default="auto"
        How a member becomes a distribution; see Notes. By default what all members support, in this
        order.
    levels : sequence of float, default=(0.05, 0.25, 0.5, 0.75, 0.95)
        For ``"quantiles"``: increasing levels at which each member is fitted.
    n_samples : int, default=100
        For ``"leaves"`` and ``"residuals"``: number of equally probable values that represent a
        distribution.
    cv : int or splitter, default=5
        For ``"residuals"``: folds.
    bootstrap : bool, default=False
        Fit each member on a bootstrap sample. Required for clones of a deterministic estimator,
        which would all be equal; `fit` warns if the members predict the same.
    point : {"mean", "median", "minimax"}, default="mean"
        What `predict` returns: mean or median of the mixture of the members, or the prediction
        whose largest expected absolute error over the members is smallest.
    weights : array-like of shape (n_members,), optional
        Weights of the members in the mixture; the set does not depend on them. By default equal.
    random_state : int, RandomState or None
        Seeds forests, clones, bootstrap samples, folds, and estimators of a list whose
        ``random_state`` is None.
    n_jobs : int or None
        Number of parallel jobs for fitting; results do not depend on it.

    Attributes
    ----------
    estimators_ : list
        The fitted members; for ``"quantiles"`` a list of estimators for each, one per level.
    named_estimators_ : Bunch
        The fitted members by name; for ``members="trees"`` the forest, named ``"ensemble"``.
    distribution_ : str
        The kind of the distributions.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Aleatoric uncertainty is only as good as the members' distributions, which assume:

    ``"leaves"``
        Forests and trees: the training targets in the leaves of the instance, as in quantile
        regression forests. Targets in a leaf must have similar distributions; trees that are grown
        until leaves have one target are certain of it, so that ``min_samples_leaf`` should be 5 or
        more. Leaves hold all training rows, those included that the tree was grown on.
    ``"quantiles"``
        Estimators with ``loss="quantile"`` and `QuantileRegressor`: one fit for each level.
        Quantiles that cross are sorted; beyond the outer levels there is no mass.
    ``"normal"``
        Estimators with ``predict(X, return_std=True)``: the error is normal. For Gaussian processes
        the standard deviation includes what the model does not know, which is then aleatoric.
    ``"residuals"``
        Any regressor: its prediction plus its out-of-fold residuals. The error is assumed to have
        the same distribution for all inputs. The spread then does not depend on the input, and
        lower aleatoric uncertainty ranks nothing; total and epistemic uncertainty vary with the
        disagreement of the members. Residuals are those of models of fewer rows, so that they are
        slightly too large rather than too small.

    ``sample_weight`` is passed to the members as in `sklearn.ensemble.VotingRegressor`, and weights
    targets of leaves and residuals; with metadata routing, each member must request it.

    References
    ----------
    N. Meinshausen, "Quantile regression forests", JMLR 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from credalens.predictors import CredalEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CredalEnsembleRegressor(n_members=3, random_state=0).fit(X[:300], y[:300])
    >>> model.predict_credal(X[300:])
    RealHull(samples, batch_shape=(142,), n_members=3, n_samples=100, dtype=float64)
    >>> model.predict_interval(X[300:], 0.9).shape
    (142, 2)
    """

    def __init__(
        self,
        estimators: Any = None,
        n_members: int = 10,
        *,
        members: str = "estimators",
        distribution: str = "auto",
        levels: Sequence[float] = LEVELS,
        n_samples: int = 100,
        cv: Any = 5,
        bootstrap: bool = False,
        point: str = "mean",
        weights: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.n_members = n_members
        self.members = members
        self.distribution = distribution
        self.levels = levels
        self.n_samples = n_samples
        self.cv = cv
        self.bootstrap = bootstrap
        self.point = point
        self.weights = weights
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the members and their distributions.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Passed to the members unchanged.
        y : array-like of shape (n,)
            The target of each instance.
        **fit_params
            ``sample_weight``, or with metadata routing what the members request.

        Returns
        -------
        self
        """
        levels = self._check_parameters()
        _raise_for_params(fit_params, self, "fit", allow=["sample_weight"])
        if y is not None:
            y = _check_y(y, y_numeric=True, estimator=self).astype(np.float64)
        validate_data(self, X, y, skip_check_array=True)
        (X,) = indexable(X)
        check_consistent_length(X, y)
        rng = check_random_state(self.random_state)
        pairs = self._pairs(rng)
        self.distribution_ = self._kind(pairs)
        predictive.check_supported(pairs, self.distribution_)
        params = _members.route(self, pairs, fit_params)
        names, templates = zip(*pairs, strict=True)
        if self.distribution_ == "quantiles":
            templates = tuple(predictive.at_level(e, u) for e in templates for u in levels)
            params = [own for own in params for _ in levels]
        n, repeats = _num_samples(X), len(templates) // len(pairs)
        rows = [np.sort(rng.randint(n, size=n)) if self.bootstrap else None for _ in pairs]
        rows = [own for own in rows for _ in range(repeats)]
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_members.fit_member)(estimator, X, y, own, metadata)
            for estimator, own, metadata in zip(templates, rows, params, strict=True)
        )
        if self.distribution_ == "quantiles":
            step = len(levels)
            fitted = [fitted[i : i + step] for i in range(0, len(fitted), step)]
        self.named_estimators_ = Bunch(**dict(zip(names, fitted, strict=True)))
        self.estimators_ = self._trees(fitted) if self.members == "trees" else fitted
        self._fit_distributions(X, y, templates, params, fit_params.get("sample_weight"), rng)
        if self.weights is not None:
            member_weights(self.weights, (), len(self.estimators_))  # validates
        self._warn_if_identical(X)
        return self

    def _fit_distributions(
        self, X: Any, y: Array, templates: Any, params: Any, weights: Any, rng: Any
    ) -> None:
        """Store the targets of leaves, or the residuals, of each member."""
        if self.distribution_ == "residuals":
            folds = predictive.make_folds(self.cv, _num_samples(X), rng)
            split = folds if not hasattr(folds, "split") else list(folds.split(X, y))
            levels = predictive.middle_levels(self.n_samples)
            self._residuals = np.array(Parallel(n_jobs=self.n_jobs)(
                delayed(predictive.residual_quantiles)(
                    estimator, X, y, weights, metadata, split, levels
                )
                for estimator, metadata in zip(templates, params, strict=True)
            ))  # fmt: skip
        elif self.distribution_ == "leaves":
            found = [leaves for one in self._wholes() for leaves in self._by_member(one, X)]
            self._leaves = [
                predictive.LeafTargets(leaves, y, weights, self.n_samples) for leaves in found
            ]

    def _wholes(self) -> list[Any]:
        """Return what predicts leaves: the members, or the forest whose trees are members."""
        return list(self.named_estimators_.values())

    def _by_member(self, estimator: Any, X: Any) -> list[Array]:
        """Return the leaves of instances, for each member that an estimator has."""
        leaves = predictive.leaves_of(estimator, X)
        if self.members != "trees":
            return [leaves]
        return [leaves[:, m : m + 1] for m in range(leaves.shape[1])]

    def predict_credal(self, X: Any) -> RealHull:
        """Return the hull of the members' predictive distributions for each instance.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        RealHull
            A batch of n sets: of samples, quantiles or normal distributions.
        """
        self._check_features(X)
        members = self._predict_members(X)
        if self.distribution_ == "normal":
            return RealHull.from_normal(members[..., 0], members[..., 1], weights=self.weights)
        if self.distribution_ == "quantiles":
            return RealHull.from_quantiles(
                self.levels, members, crossing="sort", weights=self.weights
            )
        return RealHull.from_samples(members, weights=self.weights)

    def _predict_members(self, X: Any) -> Array:
        """Return samples, quantiles, or means and standard deviations, ``(n, M, ...)``."""
        kind = self.distribution_
        if kind == "leaves":
            leaves = [own for one in self._wholes() for own in self._by_member(one, X)]
            parts = [one.samples(own) for one, own in zip(self._leaves, leaves, strict=True)]
        elif kind == "quantiles":
            parts = [
                np.stack([model.predict(X) for model in one], axis=1) for one in self.estimators_
            ]
        elif kind == "normal":
            parts = [np.stack(e.predict(X, return_std=True), axis=1) for e in self.estimators_]
        else:
            parts = [
                np.asarray(e.predict(X), np.float64).reshape(-1, 1) + residuals
                for e, residuals in zip(self.estimators_, self._residuals, strict=True)
            ]
        return np.stack(parts, axis=1).astype(np.float64, copy=False)

    def _point(self, Q: RealHull) -> Array:
        return predictions(Q, self.point)

    def predict(self, X: Any) -> Array:
        """Return one number for each instance, as selected by ``point``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        array of shape (n,)
        """
        return self._point(self.predict_credal(X))

    def predict_uncertainty(self, X: Any, measure: Any = "wasserstein") -> Any:
        """Return total, aleatoric and epistemic uncertainty of each instance.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        measure : {"wasserstein", "variance"}, or a sequence of these, default="wasserstein"
            As in `credalens.quantify`.

        Returns
        -------
        Uncertainty, or a dict of them for a sequence of measures
        """
        return quantify(self.predict_credal(X), measure)

    def predict_quantiles(self, X: Any, levels: Any = LEVELS) -> Array:
        """Return quantiles of the mixture of the members, ``(n, L)``, or ``(n,)`` for one level.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        levels : float or sequence of float
            Levels between 0 and 1.
        """
        return np.asarray(self.predict_credal(X).quantiles(levels))

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, of: Literal["mixture", "set"] = "mixture"
    ) -> Array:
        """Return intervals ``(n, 2)`` that contain the target with a given probability.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        coverage : float in (0, 1), default=0.9
            The probability; the interval leaves out half of the rest on each side.
        of : {"mixture", "set"}, default="mixture"
            The probability of the mixture of the members, or the smallest one over the set: from
            the smallest lower to the largest upper quantile of a member. Either is the probability
            that the members predict: whether it is right can be seen on held-out data only.
        """
        _validation.one_of(of, "of", ("mixture", "set"))
        tail = (1 - fraction(coverage, "coverage")) / 2
        Q = self.predict_credal(X)
        if of == "mixture":
            return np.asarray(Q.quantiles([tail, 1 - tail]))
        return np.stack([Q.quantile_bounds(tail)[0], Q.quantile_bounds(1 - tail)[1]], axis=-1)

    def predict_or_abstain(
        self,
        X: Any,
        *,
        reject: float | None = None,
        threshold: float | None = None,
        measure: Any = "wasserstein",
        component: str = "total",
        abstain_value: float = np.nan,
    ) -> Array:
        """Return `predict` of each instance, or NaN for abstention.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        reject : float in [0, 1], optional
            Share of the instances in `X` to abstain on: the ``floor(reject * n)`` most uncertain.
        threshold : float, optional
            Abstain if the score is above this, in the unit of the target for ``"wasserstein"``. The
            score of an aleatoric interval is its lower end. Pass either this or `reject`.
        measure : {"wasserstein", "variance"}, default="wasserstein"
            As in `credalens.quantify`.
        component : {"total", "aleatoric", "epistemic"}, default="total"
            The uncertainty that is the score.
        abstain_value : float, default=NaN
            What stands for abstention.

        Returns
        -------
        array of shape (n,)
        """
        check_abstention(reject, threshold, component)
        Q = self.predict_credal(X)
        result = self._point(Q).copy()
        u = quantify(Q, measure)
        result[abstained_rows(u, reject, threshold, measure, component)] = abstain_value
        return result

    def _check_parameters(self) -> Array:
        self._check_composition("RandomForestRegressor or ExtraTreesRegressor")
        _validation.one_of(self.distribution, "distribution", ("auto", *predictive.DISTRIBUTIONS))
        _validation.one_of(self.point, "point", POINTS)
        _validation.whole_number(self.n_samples, "n_samples", least=1)
        levels = np.atleast_1d(as_levels(self.levels))
        if len(levels) == 0 or (np.diff(levels) <= 0).any():
            _validation.raise_invalid("levels", f"is {self.levels!r}", "pass increasing levels")
        return levels

    def _kind(self, pairs: Sequence[tuple[str, Any]]) -> str:
        if self.members == "trees":
            if self.distribution not in ("auto", "leaves"):
                _validation.raise_invalid(
                    "distribution",
                    f"is {self.distribution!r}, members are 'trees'",
                    "pass 'leaves', or members='estimators'",
                )
            return "leaves"
        if self.distribution != "auto":
            return self.distribution
        kinds = {predictive.supported(estimator) for _, estimator in pairs}
        return kinds.pop() if len(kinds) == 1 else "residuals"

    def _trees(self, fitted: list[Any]) -> list[Any]:
        return list(predictive.last_step(fitted[0])[0].estimators_)

    def _default_pairs(self, rng: np.random.RandomState) -> list[tuple[str, Any]]:
        count = 1 if self.members == "trees" else self.n_members
        trees = self.n_members if self.members == "trees" else 100
        forests = [
            RandomForestRegressor(
                trees,
                min_samples_leaf=MIN_SAMPLES_LEAF[rng.randint(len(MIN_SAMPLES_LEAF))],
                max_features=MAX_FEATURES[rng.randint(len(MAX_FEATURES))],
                random_state=int(rng.randint(_members.SEEDS)),
            )
            for _ in range(count)
        ]
        return [("ensemble", forests[0])] if self.members == "trees" else (
            _members.with_names(forests))  # fmt: skip

    def _default_prototype(self) -> Any:
        return RandomForestRegressor()
