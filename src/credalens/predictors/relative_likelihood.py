"""Relative likelihood: the models whose likelihood is close to that of the best."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _check_sample_weight

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation.arguments import fraction
from credalens.evaluation.likelihood import SCALES, check_levels, relative_likelihood
from credalens.predictors import members as _members
from credalens.predictors.base import VOTINGS, CredalClassifier


class RelativeLikelihoodClassifier(CredalClassifier):
    """A classifier whose credal set is the hull of the models of high relative likelihood.

    Candidates of one model family are fitted; members are those whose likelihood on the data is at
    least `alpha` times that of the best.

    Parameters
    ----------
    estimator : estimator or None
        The model family: a classifier with ``predict_proba``. By default logistic regression on
        standardised features.
    alpha : float in (0, 1], default=0.2
        Smallest relative likelihood of a member.
    levels : int, sequence of floats in (0, 1], or None
        Instead of all candidates above `alpha`, the members are the best candidate and one per
        level, at or just above it. An integer L stands for L equally spaced levels from `alpha` to
        1, without 1. See Notes.
    reach : {"selection", "training"}, default="selection"
        Whether the members of the levels are selected from the candidates or trained up to them.
    n_candidates : int, default=20
        Number of candidates; with ``reach="training"`` it is the number of levels plus one.
    param_distributions : dict or None
        Parameters to draw for each candidate but the first, as in
        `sklearn.model_selection.RandomizedSearchCV`.
    samples : pair of floats in (0, 1], or None, default=(0.05, 1.0)
        Each candidate but the first is fitted on a stratified bootstrap sample. The sample sizes,
        as shares of the data, decrease geometrically from the second number to the first, so that
        candidates range from good to poor fits. None fits all candidates on all rows.
    validation : float in (0, 1) or None
        Share of the data to hold out for the likelihoods, stratified if each class has two
        instances; by default likelihoods are computed on the training data.
    scale : {"mean", "total"}, default="mean"
        ``"mean"``: ``exp(mean ll - mean ll of the best)``, per instance. ``"total"``: the ratio of
        the likelihoods; for large data few candidates besides the best reach it.
    max_epochs : int, default=200
        Largest number of passes over the data for a member that is trained up to its level.
    voting : {"soft", "majority"}, default="soft"
        As in `CredalEnsembleClassifier`.
    random_state : int, RandomState or None
        Seeds candidates, bootstrap samples and the held-out share.
    n_jobs : int or None
        Number of parallel jobs; results do not depend on it.

    Attributes
    ----------
    relative_likelihoods_ : array of shape (n_candidates,)
        1 for the best candidate; 0 for one that gives probability 0 to an observed label.
    log_likelihoods_ : array of shape (n_candidates,)
        Mean or sum, depending on `scale`.
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
    The first candidate is the estimator as passed, fitted on all rows; the others differ from it
    in their random states, rows and drawn parameters. With `levels`, members are

    - selected: the best candidate, and for each level the candidate of smallest relative
      likelihood at or above it; one candidate may serve several levels;
    - or trained, for estimators with ``partial_fit`` (e.g. MLPClassifier, SGDClassifier): the first
      candidate by ``fit``, then one per level by passes over all rows until its relative likelihood
      reaches the level. A level that is not reached within `max_epochs` is omitted with a warning.

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
        """Fit the candidates and select the members.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Passed to the candidates unchanged.
        y : array-like of shape (n,)
            The class of each instance.
        **fit_params
            ``sample_weight``, which also weights the likelihoods, or with metadata routing what the
            estimator requests.

        Returns
        -------
        self
        """
        levels = self._check_parameters()
        X, y, rng, ((_, family),), (params,) = self._prepare_fit(X, y, fit_params)
        data = self._split(X, y, params, fit_params.get("sample_weight"), rng)
        if levels is not None and self.reach == "training":
            candidates = self._candidates(family, data, [None] * len(levels), rng)
            models, logs = self._run(_fit_candidate, candidates[:1], data)
            relative_to_best(logs)  # raises if the best model has likelihood 0
            goals, epochs = logs[0] + np.log(levels), [self.max_epochs] * len(levels)
            trained, others = self._run(_train_candidate, candidates[1:], data, goals, epochs)
            models, logs = models + trained, np.concatenate([logs, others])
        else:
            candidates = self._candidates(family, data, self._shares(), rng)
            models, logs = self._run(_fit_candidate, candidates, data)
        self.levels_ = levels
        self.log_likelihoods_ = logs
        self.relative_likelihoods_ = relative_to_best(logs)
        self.kept_ = self._select(levels)
        self.classes_ = np.unique(y)
        self.estimators_ = [m for m, kept in zip(models, self.kept_, strict=True) if kept]
        self._columns = [np.searchsorted(self.classes_, m.classes_) for m in self.estimators_]
        self._warn_if_identical(X)
        return self

    def _check_parameters(self) -> Array | None:
        """Validate the parameters; return the levels or None."""
        _validation.one_of(self.voting, "voting", VOTINGS)
        _validation.one_of(self.scale, "scale", SCALES)
        if _validation.one_of(self.reach, "reach", ("selection", "training")) == "training":
            if self.levels is None:
                _validation.raise_invalid(
                    "reach", "is 'training' without levels", "pass levels, e.g. 9"
                )
            if not hasattr(self._family(), "partial_fit"):
                _validation.raise_invalid(
                    "reach",
                    f"is 'training' but {type(self._family()).__name__} has no partial_fit",
                    "pass 'selection', or an estimator with partial_fit",
                )
        _validation.whole_number(self.n_candidates, "n_candidates", least=1)
        _validation.whole_number(self.max_epochs, "max_epochs", least=1)
        fraction(self.alpha, "alpha", one=True)
        if self.samples is not None:
            if np.shape(self.samples) != (2,):
                _validation.raise_invalid(
                    "samples", f"is {self.samples!r}", "pass two numbers in (0, 1], or None"
                )
            for share in self.samples:
                fraction(share, "samples", one=True)
        if self.validation is not None:
            fraction(self.validation, "validation")
        if self.levels is None:
            return None
        if np.ndim(self.levels) == 0:
            count = _validation.whole_number(self.levels, "levels", least=1)
            return np.linspace(float(self.alpha), 1, count, endpoint=False)
        return np.array(check_levels(self.levels))

    def _shares(self) -> list[float | None]:
        """Return the sample size of each candidate but the first, as a share of the rows."""
        if self.samples is None:
            return [None] * (self.n_candidates - 1)
        low, high = self.samples
        return [float(s) for s in np.geomspace(high, low, self.n_candidates - 1)]

    def _pairs(self, rng: np.random.RandomState) -> list[tuple[str, Any]]:
        return [("estimator", self._family())]

    def _family(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        # Without convergence a fit does not maximise the likelihood.
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))

    def _split(
        self, X: Any, y: Array, params: Any, weights: Any, rng: np.random.RandomState
    ) -> _Data:
        if weights is not None:
            weights = _check_sample_weight(weights, X)
        if self.validation is None:
            return _Data(X, y, params, X, y, weights, self.scale)
        train, test = _members.split_rows(y, float(self.validation), rng)
        own = None if weights is None else weights[test]
        params = _check_method_params(X, params, indices=train)
        rest = _safe_indexing(X, train), y[train], params
        return _Data(*rest, _safe_indexing(X, test), y[test], own, self.scale)

    def _candidates(
        self, family: Any, data: _Data, shares: list[float | None], rng: np.random.RandomState
    ) -> list[tuple[Any, NDArray[np.intp] | None]]:
        """Return unfitted candidates and the rows that each is fitted on."""
        space = self.param_distributions or {}
        candidates: list[tuple[Any, NDArray[np.intp] | None]]
        candidates = [(_members.seeded(family, rng, reseed=False), None)]
        for share in shares:
            # Drawn one by one: a single sampler draws from lists without replacement.
            (parameters,) = ParameterSampler(space, 1, random_state=rng)
            candidate = _members.seeded(clone(family).set_params(**parameters), rng, reseed=True)
            rows = None if share is None else _members.bootstrap_rows(data.y, rng, share)
            candidates.append((candidate, rows))
        return candidates

    def _run(self, step: Any, candidates: Any, data: _Data, *each: Any) -> tuple[list[Any], Array]:
        """Return fitted models and their log-likelihoods."""
        done = Parallel(n_jobs=self.n_jobs)(
            delayed(step)(*candidate, data, *rest)
            for candidate, *rest in zip(candidates, *each, strict=True)
        )
        return [model for model, _ in done], np.array([log for _, log in done])

    def _select(self, levels: Array | None) -> NDArray[np.bool_]:
        relative = self.relative_likelihoods_
        if levels is None:
            return np.asarray(relative >= self.alpha)
        if self.reach == "selection":
            chosen = np.where(relative >= levels[:, None], relative, np.inf).argmin(axis=1)
            return np.isin(np.arange(len(relative)), [*chosen, relative.argmax()])
        # The first candidate has no level; if a trained one is better, it needs the smallest.
        kept = relative >= np.concatenate([[levels.min()], levels])
        missed = levels[~kept[1:]]
        if len(missed):
            text = ", ".join(f"{level:.3g}" for level in missed)
            warnings.warn(
                f"levels: {text} not reached within max_epochs={self.max_epochs}; the members are "
                "omitted",
                UserWarning,
                stacklevel=3,
            )
        return np.asarray(kept)


@dataclass(frozen=True)
class _Data:
    """Data for the fit, and data for the likelihoods."""

    X: Any
    y: Array
    params: Any
    X_likelihood: Any
    y_likelihood: Array
    weights: Array | None
    scale: str

    def log_likelihood(self, model: Any) -> float:
        data = self.X_likelihood, self.y_likelihood
        return log_likelihood(model, *data, self.weights, self.scale)


def _fit_candidate(model: Any, rows: NDArray[np.intp] | None, data: _Data) -> tuple[Any, float]:
    model = _members.fit_member(model, data.X, data.y, rows, data.params)
    return model, data.log_likelihood(model)


def _train_candidate(
    model: Any, rows: None, data: _Data, goal: float, max_epochs: int
) -> tuple[Any, float]:
    """Train on all rows until the log-likelihood reaches `goal`."""
    log = -np.inf
    for epoch in range(max_epochs):
        first = {"classes": np.unique(data.y)} if epoch == 0 else {}
        model.partial_fit(data.X, data.y, **first, **data.params)
        log = data.log_likelihood(model)
        if log >= goal:
            break
    return model, log


def log_likelihood(model: Any, X: Any, y: Array, weights: Array | None, scale: str) -> float:
    """Return the log-likelihood of labels under a fitted model, minus infinity if one is ruled out.

    The mean over the instances for ``scale="mean"``, the sum for ``"total"``; instances of weight
    0 are ignored.
    """
    classes = np.asarray(model.classes_)
    at = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    predicted = np.asarray(model.predict_proba(X), np.float64)[np.arange(len(y)), at]
    predicted = np.where(classes[at] == y, predicted, 0.0)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
    counts = weights > 0
    with np.errstate(divide="ignore"):
        logs = np.log(predicted[counts])
    total = float(weights[counts] @ logs)
    return total / float(weights.sum()) if scale == "mean" else total


def relative_to_best(logs: Array) -> Array:
    """Return ``exp(logs - max(logs))``: 1 for the best, 0 for likelihood 0.

    Examples
    --------
    >>> import numpy as np
    >>> relative_to_best(np.array([-100000.0, -100000.5, -np.inf])).round(4)
    array([1.    , 0.6065, 0.    ])
    """
    if logs.max() == -np.inf:
        _validation.raise_invalid(
            "estimator",
            "every candidate gives probability 0 to an observed label, so all likelihoods are 0",
            "pass estimators without zero probabilities (smoothed or calibrated)",
        )
    return relative_likelihood(logs, 1, "total")
