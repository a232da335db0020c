"""Relative likelihood: the models that explain the data nearly as well as the best."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterSampler, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _raise_for_params
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _check_sample_weight

from credalens import _validation
from credalens._arrays import Array
from credalens.evaluation.likelihood import SCALES
from credalens.predictors import members as _members
from credalens.predictors.base import VOTINGS, CredalClassifier
from credalens.predictors.likelihood import log_likelihood, relative_to_best


class RelativeLikelihoodClassifier(CredalClassifier):
    """A classifier whose credal set is the hull of the models of high relative likelihood.

    Candidates of one family are fitted, and those stay whose likelihood on the data is at least
    `alpha` times that of the best.

    Parameters
    ----------
    estimator : estimator or None
        The family: any classifier with ``predict_proba``. By default logistic regression on
        standardised features.
    alpha : float in (0, 1], default=0.2
        Smallest relative likelihood of a member.
    levels : int, sequence of floats in (0, 1], or None
        Instead of all candidates above `alpha`, take the best one and for each level one member
        that lies at it or just above. A number L stands for L levels from `alpha` to 1, evenly
        spread, 1 left out. See Notes.
    reach : {"selection", "training"}, default="selection"
        How members come to lie at their levels: chosen from the candidates, or trained up to them.
    n_candidates : int, default=20
        Number of models to choose from; with ``reach="training"`` there are as many as levels, and
        one more.
    param_distributions : dict or None
        Parameters to draw for each candidate but the first, as in
        `sklearn.model_selection.RandomizedSearchCV`.
    samples : pair of floats in (0, 1], or None, default=(0.05, 1.0)
        Each candidate but the first is fitted on rows drawn with replacement, a share of those of
        each class. The shares go from the second number to the first in even ratios, so that
        candidates reach from the best fit down to poor ones, and `alpha` says where to stop.
        ``None`` fits all on all rows.
    validation : float in (0, 1) or None
        Share of the data to hold out for the likelihoods, stratified where each class has two
        instances; by default they are those on the training data.
    scale : {"mean", "total"}, default="mean"
        ``"mean"``: ``exp(mean ll - mean ll of the best)``, per instance. ``"total"``: the ratio of
        the likelihoods themselves, which for large data leaves little but the best.
    max_epochs : int, default=200
        Most passes over the data for a member that is trained up to its level.
    voting : {"soft", "majority"}, default="soft"
        As in `CredalEnsembleClassifier`.
    random_state : int, RandomState or None
        Seeds candidates, bootstrap samples and the held-out share.
    n_jobs : int or None
        Candidates fitted at the same time; results do not depend on it.

    Attributes
    ----------
    relative_likelihoods_ : array of shape (n_candidates,)
        Of each candidate, 1 for the best; 0 for one that rules out a label that occurred.
    log_likelihoods_ : array of shape (n_candidates,)
        Mean or sum, as `scale` says.
    kept_ : array of bool, shape (n_candidates,)
        Which candidates are members.
    estimators_ : list
        The members.
    levels_ : array or None
        The levels.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The first candidate is the estimator as it is, fitted on all rows; the others differ from it
    in their random states, rows and drawn parameters. With `levels`, members are

    - selected: the best candidate, and for each level the one of the least relative likelihood at
      or above it; one candidate may serve several levels;
    - or trained, if the estimator learns by passes over the data (``partial_fit``, as that of
      MLPClassifier and SGDClassifier): the first candidate by ``fit``, then one for each level by
      one pass after the other, over all rows, until its relative likelihood reaches the level. A
      level that is not reached within `max_epochs` is left out, with a warning.

    References
    ----------
    T. Löhr, P. Hofman, F. Mohr, E. Hüllermeier, "Credal prediction based on relative likelihood",
    2026.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from credalens.predictors import RelativeLikelihoodClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RelativeLikelihoodClassifier(alpha=0.8, random_state=0).fit(X, y)
    >>> int(model.kept_.sum()), bool(model.relative_likelihoods_[model.kept_].min() >= 0.8)
    (12, True)
    """

    estimators_: list[Any]

    def __init__(
        self,
        estimator: Any = None,
        alpha: float = 0.2,
        *,
        levels: Any = None,
        reach: str = "selection",
        n_candidates: int = 20,
        param_distributions: Any = None,
        samples: tuple[float, float] | None = (0.05, 1.0),
        validation: float | None = None,
        scale: str = "mean",
        max_epochs: int = 200,
        voting: str = "soft",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.levels = levels
        self.reach = reach
        self.n_candidates = n_candidates
        self.param_distributions = param_distributions
        self.samples = samples
        self.validation = validation
        self.scale = scale
        self.max_epochs = max_epochs
        self.voting = voting
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the candidates and choose the members.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Passed on to the candidates as it is.
        y : array-like of shape (n,)
            The class of each instance.
        **fit_params
            ``sample_weight``, which also weighs the likelihoods, or with metadata routing what the
            estimator asks for.

        Returns
        -------
        self
        """
        _raise_for_params(fit_params, self, "fit", allow=["sample_weight"])
        levels = self._check_parameters()
        X, y = self._check_fit(X, y)
        rng = check_random_state(self.random_state)
        family = self._family()
        pairs = [("estimator", family)]
        _members.check_probabilistic(pairs)
        (params,) = _members.route(self, pairs, fit_params)
        data = self._split(X, y, params, fit_params.get("sample_weight"), rng)
        if levels is not None and self.reach == "training":
            candidates = self._candidates(family, data, [None] * len(levels), rng)
            models, logs = self._train(candidates, data, levels)
        else:
            candidates = self._candidates(family, data, self._shares(), rng)
            models, logs = self._run(_fit_candidate, candidates, data)
        self.levels_ = levels
        self.log_likelihoods_ = logs
        self.relative_likelihoods_ = relative_to_best(logs)
        self.kept_ = self._choose(levels)
        self.classes_ = np.unique(y)
        self.estimators_ = [m for m, kept in zip(models, self.kept_, strict=True) if kept]
        self._columns = [np.searchsorted(self.classes_, m.classes_) for m in self.estimators_]
        return self

    def _check_parameters(self) -> Array | None:
        """Return the levels, checked, or ``None``."""
        _validation.one_of(self.voting, "voting", VOTINGS)
        _validation.one_of(self.scale, "scale", SCALES)
        self._check_reach()
        _validation.whole_number(self.n_candidates, "n_candidates", least=1)
        _validation.whole_number(self.max_epochs, "max_epochs", least=1)
        _check_share(self.alpha, "alpha", one=True)
        if self.samples is not None:
            if np.shape(self.samples) != (2,):
                _validation.refuse("samples", f"is {self.samples!r}", "pass two shares or None")
            for share in self.samples:
                _check_share(share, "samples", one=True)
        if self.validation is not None:
            _check_share(self.validation, "validation", one=False)
        if self.levels is None:
            return None
        if np.ndim(self.levels) == 0:
            count = _validation.whole_number(self.levels, "levels", least=1)
            return np.linspace(float(self.alpha), 1, count, endpoint=False)
        levels = _validation.vector(_validation.finite(self.levels, "levels"), "levels")
        bad = (levels <= 0) | (levels > 1)
        if len(levels) == 0 or bad.any():
            problem = f"has {levels[bad.argmax()]:.6g}" if len(levels) else "is empty"
            _validation.refuse("levels", problem, "pass levels above 0 and at most 1")
        return levels.astype(np.float64)

    def _shares(self) -> list[float | None]:
        """Return the share of the rows for each candidate but the first."""
        if self.samples is None:
            return [None] * (self.n_candidates - 1)
        low, high = self.samples
        return [float(s) for s in np.geomspace(high, low, self.n_candidates - 1)]

    def _check_reach(self) -> None:
        if _validation.one_of(self.reach, "reach", ("selection", "training")) == "selection":
            return
        if self.levels is None:
            _validation.refuse("reach", "is 'training' without levels", "pass levels, say 9")
        if not hasattr(self._family(), "partial_fit"):
            _validation.refuse(
                "reach",
                f"is 'training' but {type(self._family()).__name__} has no partial_fit",
                "pass 'selection', or an estimator that has",
            )

    def _family(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        # A fit that stops before it has converged is no maximum of the likelihood.
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))

    def _split(
        self, X: Any, y: Array, params: Any, weights: Any, rng: np.random.RandomState
    ) -> _Data:
        if weights is not None:
            weights = _check_sample_weight(weights, X)
        if self.validation is None:
            return _Data(X, y, params, X, y, weights, self.scale)
        counts = np.unique(y, return_counts=True)[1]
        held = int(np.ceil(float(self.validation) * len(y)))
        fair = counts.min() > 1 and len(counts) <= min(held, len(y) - held)
        train, test = train_test_split(
            np.arange(len(y)),
            test_size=float(self.validation),
            stratify=y if fair else None,
            random_state=rng,
        )
        own = None if weights is None else weights[test]
        params = _check_method_params(X, params, indices=train)
        rest = _safe_indexing(X, train), y[train], params
        return _Data(*rest, _safe_indexing(X, test), y[test], own, self.scale)

    def _candidates(
        self, family: Any, data: _Data, shares: list[float | None], rng: np.random.RandomState
    ) -> list[tuple[Any, NDArray[np.intp] | None]]:
        """Return unfitted candidates and the rows that each is fitted on."""
        space = self.param_distributions or {}
        made: list[tuple[Any, NDArray[np.intp] | None]]
        made = [(_members.seeded(family, rng, all_anew=False), None)]
        for share in shares:
            # Drawn one by one: a small space of lists may be drawn from more than once.
            (parameters,) = ParameterSampler(space, 1, random_state=rng)
            candidate = _members.seeded(clone(family).set_params(**parameters), rng, all_anew=True)
            rows = None if share is None else _members.bootstrap_rows(data.y, rng, share)
            made.append((candidate, rows))
        return made

    def _run(self, step: Any, candidates: Any, data: _Data, *each: Any) -> tuple[list[Any], Array]:
        """Return fitted models and their log-likelihoods."""
        done = Parallel(n_jobs=self.n_jobs)(
            delayed(step)(*candidate, data, *rest)
            for candidate, *rest in zip(candidates, *each, strict=True)
        )
        return [model for model, _ in done], np.array([log for _, log in done])

    def _train(self, candidates: Any, data: _Data, levels: Any) -> tuple[list[Any], Array]:
        best, first = self._run(_fit_candidate, candidates[:1], data)
        relative_to_best(first)  # refuses a best model that rules out what occurred
        goals = first[0] + np.log(levels)
        epochs = [self.max_epochs] * len(levels)
        models, logs = self._run(_train_candidate, candidates[1:], data, goals, epochs)
        return best + models, np.concatenate([first, logs])

    def _choose(self, levels: Array | None) -> NDArray[np.bool_]:
        relative = self.relative_likelihoods_
        if levels is None:
            return np.asarray(relative >= self.alpha)
        if self.reach == "selection":
            chosen = np.where(relative >= levels[:, None], relative, np.inf).argmin(axis=1)
            kept = np.zeros(len(relative), bool)
            kept[chosen] = True
            kept[relative.argmax()] = True
            return kept
        # The best model, and members that reached their level. Should a member be the best, the
        # first one has no level to reach but stays if it has the smallest one.
        needed = np.concatenate([[levels.min()], levels])
        kept = relative >= needed
        missed = levels[~kept[1:]]
        if len(missed):
            text = ", ".join(f"{level:.3g}" for level in missed)
            warnings.warn(
                f"levels: {text} not reached within max_epochs={self.max_epochs}; the members are "
                "left out",
                UserWarning,
                stacklevel=3,
            )
        return np.asarray(kept)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what metadata the candidates' ``fit`` asks for."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self._family(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = get_tags(self._family()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = own.sparse, own.allow_nan
        return tags


@dataclass(frozen=True)
class _Data:
    """What candidates are fitted to, and what their likelihood is computed on."""

    X: Any
    y: Array
    params: Any
    X_judge: Any
    y_judge: Array
    weights: Array | None
    scale: str

    def judge(self, model: Any) -> float:
        return log_likelihood(model, self.X_judge, self.y_judge, self.weights, self.scale)


def _fit_candidate(model: Any, rows: NDArray[np.intp] | None, data: _Data) -> tuple[Any, float]:
    model = _members.fit_member(model, data.X, data.y, rows, data.params)
    return model, data.judge(model)


def _train_candidate(
    model: Any, rows: NDArray[np.intp] | None, data: _Data, goal: float, max_epochs: int
) -> tuple[Any, float]:
    """Train until the log-likelihood reaches `goal`."""
    X, y, params = data.X, data.y, data.params
    if rows is not None:
        params = _check_method_params(X, params, indices=rows)
        X, y = _safe_indexing(X, rows), y[rows]
    log = -np.inf
    for epoch in range(max_epochs):
        first = {"classes": np.unique(data.y)} if epoch == 0 else {}
        model.partial_fit(X, y, **first, **params)
        log = data.judge(model)
        if log >= goal:
            break
    return model, log


def _check_share(value: Any, name: str, *, one: bool) -> None:
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 < float(value) <= 1 or (not one and float(value) == 1):
        end = "at most 1" if one else "below 1"
        _validation.refuse(name, f"is {value!r}", f"pass a share above 0 and {end}")
