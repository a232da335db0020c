"""A classifier of several binary labels whose members are classifiers of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import ClassifierMixin
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils import Bunch, check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import _raise_for_params
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, check_consistent_length, validate_data

from credalens import _validation
from credalens._backend import Array
from credalens.decisions import decide_multilabel
from credalens.measures import Interval, Uncertainty, quantify_multilabel
from credalens.predictors import members as _members
from credalens.predictors.composition import MemberComposition
from credalens.predictors.estimator import CredalEstimator, abstained_rows, check_abstention
from credalens.predictors.forests import random_forests

#: Predictions of labels, by name.
POINTS = ("mean", "gamma_minimax")


class CredalMultilabelClassifier(MemberComposition, ClassifierMixin, CredalEstimator):  # type: ignore[misc]
    """A classifier of several binary labels that predicts an interval of probabilities per label.

    Parameters
    ----------
    estimators : list of estimators or of pairs (name, estimator), estimator, or None
        The members. Those that support one label only are wrapped in
        `sklearn.multioutput.MultiOutputClassifier`; others may model dependencies between labels,
        such as `sklearn.multioutput.ClassifierChain`. A single estimator is cloned `n_members`
        times with different ``random_state``. By default random forests with random
        hyper-parameters (`credalens.predictors.random_forests`).
    n_members : int, default=10
        Number of members, if `estimators` is not a list.
    bootstrap : bool, default=False
        Fit each member on a bootstrap sample. Required for clones of a deterministic estimator.
    point : {"mean", "gamma_minimax"}, default="mean"
        Predict the labels whose mean probability is above 1/2, or those of
        `credalens.decide_multilabel`, whose largest expected share of wrong labels is smallest.
    random_state : int, RandomState or None
        Seeds forests, clones, bootstrap samples, and estimators of a list whose ``random_state`` is
        None.
    n_jobs : int or None
        Number of parallel jobs for fitting; results do not depend on it.

    Attributes
    ----------
    estimators_ : list
        The fitted members.
    named_estimators_ : Bunch
        The fitted members by name.
    n_outputs_ : int
        Number of labels.
    classes_ : list of arrays
        The values 0 and 1 of each label.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    multioutput_members : members of a `sklearn.multioutput.MultiOutputClassifier` of credal
        classifiers.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from credalens.predictors import CredalMultilabelClassifier
    >>> X, y = make_multilabel_classification(n_labels=2, n_classes=4, random_state=0)
    >>> model = CredalMultilabelClassifier(n_members=3, random_state=0).fit(X[:80], y[:80])
    >>> model.predict_members(X[80:]).shape
    (20, 3, 4)
    >>> model.predict_uncertainty(X[80:], "labels").total.shape
    (20, 4)
    """

    members = "estimators"

    def __init__(
        self,
        estimators: Any = None,
        n_members: int = 10,
        *,
        bootstrap: bool = False,
        point: str = "mean",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.n_members = n_members
        self.bootstrap = bootstrap
        self.point = point
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Passed to the members unchanged.
        y : array-like or sparse matrix of shape (n, L)
            0 or 1 for each label, with at least two labels.
        **fit_params
            ``sample_weight``, or with metadata routing what the members request.

        Returns
        -------
        self
        """
        self._check_composition("forest")
        _validation.one_of(self.point, "point", POINTS)
        _raise_for_params(fit_params, self, "fit", allow=["sample_weight"])
        y = as_indicator(y)
        validate_data(self, X, skip_check_array=True)
        (X,) = indexable(X)
        check_consistent_length(X, y)
        rng = check_random_state(self.random_state)
        pairs = [(name, with_outputs(estimator)) for name, estimator in self._pairs(rng)]
        _members.check_probabilistic(pairs)
        params = _members.route(self, pairs, fit_params)
        rows = [label_bootstrap_rows(y, rng) if self.bootstrap else None for _ in pairs]
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_members.fit_member)(estimator, X, y, own, metadata)
            for (_, estimator), own, metadata in zip(pairs, rows, params, strict=True)
        )
        self.n_outputs_ = y.shape[1]
        self.classes_ = [np.array([0, 1])] * self.n_outputs_
        self.estimators_ = fitted
        self.named_estimators_ = Bunch(**{n: e for (n, _), e in zip(pairs, fitted, strict=True)})
        self._warn_if_identical(X)
        return self

    def _default_pairs(self, rng: np.random.RandomState) -> list[tuple[str, Any]]:
        return _members.with_names(random_forests(self.n_members, rng))

    def _default_prototype(self) -> Any:
        return random_forests(1, np.random.RandomState(0))[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output, tags.target_tags.multi_output = False, True
        tags.classifier_tags.multi_class, tags.classifier_tags.multi_label = False, True
        return tags

    def predict_members(self, X: Any) -> Array:
        """Return the probability of each label by each member, ``(n, M, L)``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        """
        self._check_features(X)
        return self._predict_members(X)

    def _predict_members(self, X: Any) -> Array:
        n = _num_samples(X)
        parts = [label_probabilities(e, X, n, self.n_outputs_) for e in self.estimators_]
        return np.stack(parts, axis=1)

    def predict_proba(self, X: Any) -> Array:
        """Return the mean probability of each label, ``(n, L)``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        """
        return np.asarray(self.predict_members(X).mean(axis=1))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return 0 or 1 for each label, ``(n, L)``, as selected by ``point``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        """
        return self._point(self.predict_members(X))

    def _point(self, members: Array) -> NDArray[np.int64]:
        if self.point == "mean":
            return np.asarray(members.mean(axis=1) > 0.5, dtype=np.int64)
        return np.asarray(decide_multilabel(members), dtype=np.int64)

    def predict_uncertainty(self, X: Any, aggregate: str = "hamming") -> Uncertainty:
        """Return total, aleatoric and epistemic uncertainty of each instance, or of each label.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        aggregate : {"hamming", "max", "labels"}, default="hamming"
            As in `credalens.quantify_multilabel`.
        """
        return quantify_multilabel(self.predict_members(X), aggregate)

    def predict_or_abstain(
        self,
        X: Any,
        *,
        reject: float | None = None,
        threshold: float | None = None,
        aggregate: str = "labels",
        component: str = "total",
        abstain_label: int = -1,
    ) -> NDArray[np.int64]:
        """Return `predict`, or a label for abstention.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        reject : float in [0, 1], optional
            Share of the labels, or of the instances, to abstain on: the most uncertain ones.
        threshold : float, optional
            Abstain if the score is above this. The score of an aleatoric interval is its lower end.
            Pass either this or `reject`.
        aggregate : {"labels", "hamming", "max"}, default="labels"
            Abstain on single labels, or on instances as a whole.
        component : {"total", "aleatoric", "epistemic"}, default="total"
            The uncertainty that is the score.
        abstain_label : int, default=-1
            What stands for abstention.

        Returns
        -------
        array of int, shape (n, L)
        """
        check_abstention(reject, threshold, component)
        if abstain_label in (0, 1):
            _validation.raise_invalid(
                "abstain_label", f"is {abstain_label!r}, a value of labels", "pass another one"
            )
        members = self.predict_members(X)
        result = self._point(members)
        u = quantify_multilabel(members, aggregate)
        entries = result.reshape(-1) if aggregate == "labels" else result
        chosen = abstained_rows(_flat(u), reject, threshold, aggregate, component)
        entries[chosen] = abstain_label
        return result


def _flat(u: Uncertainty) -> Uncertainty:
    ends = Interval(u.aleatoric.lower.reshape(-1), u.aleatoric.upper.reshape(-1))
    return Uncertainty(u.total.reshape(-1), ends, u.epistemic.reshape(-1), u.error.reshape(-1))


def as_indicator(y: Any) -> NDArray[np.int64]:
    """Return labels as integers ``(n, L)``, 0 or 1."""
    if y is None:
        _validation.raise_invalid("y", "is None", "pass 0 or 1 for each label, (n, L)")
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind != "multilabel-indicator":
        shape = np.shape(y)
        fix = "pass 0 or 1 for each of several labels, (n, L)"
        if len(shape) < 2 or shape[1] == 1:
            fix += ", or use CredalEnsembleClassifier for one label"
        _validation.raise_invalid("y", f"is a {kind} target", fix)
    array = np.asarray(y.toarray() if issparse(y) else y)
    indicator = array.astype(np.int64)
    bad = ~np.isin(array, (0, 1))
    _validation.raise_first(bad, indicator, "y", "is {:.6g}{}", "pass 0 or 1 for each label")
    return indicator


def with_outputs(estimator: Any) -> Any:
    """Return an estimator that supports several labels, wrapped if it does not by itself."""
    tags = get_tags(estimator)
    return estimator if tags.target_tags.multi_output else MultiOutputClassifier(estimator)


def label_bootstrap_rows(y: NDArray[np.int64], rng: np.random.RandomState) -> NDArray[np.intp]:
    """Draw as many rows as there are, with replacement, and one for each value that none has."""
    rows = rng.randint(len(y), size=len(y))
    for value in (0, 1):
        lost = (y == value).any(axis=0) & ~(y[rows] == value).any(axis=0)
        more = [rng.choice(np.flatnonzero(y[:, k] == value)) for k in np.flatnonzero(lost)]
        rows = np.concatenate([rows, np.array(more, dtype=rows.dtype)])
    return np.sort(rows).astype(np.intp)


def label_probabilities(member: Any, X: Any, n: int, n_labels: int) -> Array:
    """Return the probability of each label by a fitted member, ``(n, L)``.

    Its predictions are either that, or a list with the probabilities of the classes of each label.
    """
    predicted = member.predict_proba(X)
    if isinstance(predicted, list):
        parts = zip(predicted, member.classes_, strict=True)
        predicted = np.stack([_of_one(np.asarray(p), own) for p, own in parts], axis=1)
    predicted = np.asarray(predicted)
    if predicted.shape != (n, n_labels):
        _validation.raise_invalid(
            "estimators",
            f"{type(member).__name__} predicted an array of shape {predicted.shape}",
            f"predict_proba must return ({n}, {n_labels}), or a list of {n_labels} arrays",
        )
    return predicted


def _of_one(probabilities: Array, classes: Any) -> Array:
    """Return the probability of the class 1."""
    found = np.flatnonzero(np.asarray(classes) == 1)
    if len(found) == 0:
        return np.zeros(probabilities.shape[:-1], probabilities.dtype)
    return np.asarray(probabilities[..., found[0]])


def multioutput_members(model: Any, X: Any) -> Array:
    """Return the members of a fitted `sklearn.multioutput.MultiOutputClassifier`.

    Parameters
    ----------
    model : MultiOutputClassifier
        Of credal classifiers with as many members each, such as
        ``MultiOutputClassifier(CredalEnsembleClassifier())``, fitted to labels 0 and 1.
    X : array-like of shape (n, n_features)
        Inputs, as in ``fit``.

    Returns
    -------
    array of shape (n, M, L)
        The probability of each label by each member, for `credalens.quantify_multilabel`. Members
        of the same number need not be related.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.multioutput import MultiOutputClassifier
    >>> from credalens.predictors import CredalEnsembleClassifier, multioutput_members
    >>> X, y = make_multilabel_classification(n_labels=2, n_classes=4, random_state=0)
    >>> model = MultiOutputClassifier(CredalEnsembleClassifier(n_members=3, random_state=0))
    >>> multioutput_members(model.fit(X[:80], y[:80]), X[80:]).shape
    (20, 3, 4)
    """
    estimators = getattr(model, "estimators_", None)
    if estimators is None or not all(hasattr(one, "predict_members") for one in estimators):
        _validation.raise_invalid(
            "model",
            f"is a {type(model).__name__} without fitted credal classifiers",
            "pass MultiOutputClassifier(CredalEnsembleClassifier()).fit(X, y)",
        )
    parts = []
    for k, one in enumerate(estimators):
        if not np.isin(one.classes_, (0, 1)).all():
            _validation.raise_invalid(
                "model", f"label {k} has the classes {one.classes_}", "fit it to labels 0 and 1"
            )
        parts.append(_of_one(one.predict_members(X), one.classes_))
    counts = {part.shape[1] for part in parts}
    if len(counts) > 1:
        _validation.raise_invalid(
            "model", f"has {sorted(counts)} members per label", "fit as many for each label"
        )
    return np.stack(parts, axis=2)
