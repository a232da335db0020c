"""Base class of the credal classifiers: predict, quantify, abstain."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.metadata_routing import _raise_for_params
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from credalens import _validation
from credalens._backend import Array
from credalens._warnings import warn_caller
from credalens.decisions import admissible
from credalens.decisions.rules import AdmissibilityRule
from credalens.evaluation import majority_vote
from credalens.measures import quantify
from credalens.predictors.estimator import (
    COMPARED_ROWS,
    CredalEstimator,
    abstained_rows,
    check_abstention,
)
from credalens.predictors.members import (
    check_probabilistic,
    have_equal_state,
    mixed_rows,
    predict_all,
    route,
)
from credalens.sets import ConvexHull, CredalSet

VOTINGS = ("soft", "majority")


def _is_soft(classifier: Any) -> bool:
    if classifier.voting == "majority":
        raise AttributeError("predict_proba is not available with voting='majority'")
    return True


class CredalClassifier(ClassifierMixin, CredalEstimator):  # type: ignore[misc]
    """A classifier that predicts credal sets.

    Subclasses have ``voting``, ``random_state`` and ``n_jobs``, implement `_pairs` and ``fit``,
    which sets the other attributes, and may override `predict_credal` and `_point`.
    """

    voting: str
    classes_: Array
    #: For each member, the indices in ``classes_`` of the classes that it predicts.
    _columns: list[Any]

    def predict_members(self, X: Any) -> Array:
        """Return the predictions of all members.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        array of shape (n, M, K)
            Classes are ordered as in ``classes_``.
        """
        self._check_features(X)
        return self._predict_members(X)

    def _predict_members(self, X: Any) -> Array:
        return predict_all(self.estimators_, self._columns, X, len(self.classes_), self.n_jobs)

    def predict_credal(self, X: Any) -> CredalSet:
        """Return the credal set of each instance: the convex hull of the members' predictions.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        CredalSet
            A batch of n sets over the classes in ``classes_``.
        """
        return ConvexHull(self.predict_members(X))

    def _point(self, Q: CredalSet) -> Array:
        """Return one distribution of each set."""
        return np.asarray(Q.center())

    def _voters(self, Q: CredalSet, X: Any) -> Any:
        """Return the members that vote, a hull or ``(n, M, K)``."""
        return Q

    def _classify(self, Q: CredalSet, X: Any) -> Array:
        """Return the predicted class of each set; `Q` is the prediction for `X`."""
        if self.voting == "majority":
            chosen = np.asarray(majority_vote(self._voters(Q, X)))
        else:
            chosen = self._point(Q).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @available_if(_is_soft)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return one distribution of each credal set; not available with ``voting="majority"``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        array of shape (n, K)
            The mean of the members, unless the class documents another distribution.
        """
        return self._point(self.predict_credal(X))

    def predict(self, X: Any) -> Array:
        """Return the predicted class of each instance.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        array of shape (n,)
            The most probable class of `predict_proba`, or the majority vote of the members.
        """
        return self._classify(self.predict_credal(X), X)

    def predict_uncertainty(self, X: Any, measure: Any = "tv", **options: Any) -> Any:
        """Return total, aleatoric and epistemic uncertainty of each instance.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        measure : str, distance, or a sequence of these, default="tv"
            As in `credalens.quantify`, which also accepts the further options.

        Returns
        -------
        Uncertainty, or a dict of them for a sequence of measures
        """
        return quantify(self.predict_credal(X), measure, **options)

    def predict_set(
        self, X: Any, rule: AdmissibilityRule = "e_admissible", *, cost: Any = None
    ) -> Array:
        """Return a set of labels for each instance: those that are not excluded.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        rule : {"e_admissible", "maximal", "interval_dominance"}
            The criterion of `credalens.admissible`.
        cost : array-like of shape (K, D), optional
            Costs of D actions, by default the 0-1 costs of predicting a class.

        Returns
        -------
        array of bool, shape (n, K), or (n, D) with costs
            One column per class in ``classes_``, or per action.

        See Also
        --------
        credalens.set_metrics : metrics of such predictions.
        """
        return np.asarray(admissible(self.predict_credal(X), cost, rule))

    def predict_or_abstain(
        self,
        X: Any,
        *,
        reject: float | None = None,
        threshold: float | None = None,
        measure: Any = "tv",
        component: str = "total",
        abstain_label: Any = None,
    ) -> Array:
        """Return the predicted class of each instance, or a label for abstention.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        reject : float in [0, 1], optional
            Share of the instances in `X` to abstain on: the ``floor(reject * n)`` most uncertain,
            in the order of `credalens.rejection_order`.
        threshold : float, optional
            Abstain if the score is above this, independently of the other instances. The score of
            an aleatoric interval is its lower end. Pass either this or `reject`.
        measure : str or distance, default="tv"
            As in `credalens.quantify`.
        component : {"total", "aleatoric", "epistemic"}, default="total"
            The uncertainty that is the score.
        abstain_label : optional
            Must not be a class. By default -1 if the classes are numbers or booleans and
            ``"abstain"`` otherwise.

        Returns
        -------
        array of shape (n,)
            Classes of `predict` and the label, in a dtype that can represent both: booleans with
            -1 become 0 and 1, strings with a number have dtype object.
            ``numpy.isin(result, model.classes_)`` is true for predicted classes.
        """
        check_is_fitted(self)
        check_abstention(reject, threshold, component)
        label = self._abstain_label(abstain_label)
        Q = self.predict_credal(X)
        abstained = abstained_rows(quantify(Q, measure), reject, threshold, measure, component)
        predicted = self._classify(Q, X)
        result = predicted.astype(_common_dtype(predicted.dtype, label))
        result[abstained] = label
        return np.asarray(result)

    def _abstain_label(self, label: Any) -> Any:
        numbers = self.classes_.dtype.kind in "biuf"
        chosen = label if label is not None else (-1 if numbers else "abstain")
        # `==` of some labels, e.g. arrays, is not a bool.
        if any(type(y == chosen) is bool and y == chosen for y in self.classes_.tolist()):
            _validation.raise_invalid(
                "abstain_label", f"{chosen!r} is a class", "pass a label that is not one"
            )
        return chosen

    def _prepare_fit(
        self, X: Any, y: Any, fit_params: dict[str, Any]
    ) -> tuple[Any, Array, np.random.RandomState, list[tuple[str, Any]], list[Any]]:
        """Return X, y, the random generator, the pairs of `_pairs`, and the metadata of each.

        `X` is unchanged: the members validate its values.
        """
        _raise_for_params(fit_params, self, "fit", allow=["sample_weight"])
        shape: tuple[int, ...] = getattr(y, "shape", ())
        if len(shape) == 2 and shape[1] > 1:
            fix = "pass one class per instance, or several labels to CredalMultilabelClassifier"
            _validation.raise_invalid("y", f"has shape {shape}", fix)
        if y is not None:
            y = validate_data(self, y=y)
            check_classification_targets(y)
        validate_data(self, X, y, skip_check_array=True)
        (X,) = indexable(X)
        check_consistent_length(X, y)
        rng = check_random_state(self.random_state)
        pairs = self._pairs(rng)
        check_probabilistic(pairs)
        return X, np.asarray(y), rng, pairs, route(self, pairs, fit_params)

    def _warn_if_identical(self, X: Any) -> None:
        """Warn if all members are equal.

        They are if they predict the same for training rows and for rows with mixed features. If the
        features are not in columns, their fitted state is compared instead of these. Members that
        predict the same for all rows, such as those of a single class, are not reported.
        """
        if len(self.estimators_) < 2 or len(self.classes_) < 2:
            return
        rows = np.unique(np.linspace(0, _num_samples(X) - 1, COMPARED_ROWS).astype(np.intp))
        some = _safe_indexing(X, rows)
        if not self._predict_the_same(some):
            return
        mixed = mixed_rows(some)
        equal = have_equal_state(self.estimators_) if mixed is None else (
            self._predict_the_same(mixed))  # fmt: skip
        if equal:
            warn_caller(
                f"estimators: all {len(self.estimators_)} members predict the same, so that "
                "epistemic uncertainty is 0; pass bootstrap=True where it is a parameter, or "
                "different estimators",
                UserWarning,
            )

    def _predict_the_same(self, X: Any) -> bool:
        members = self._predict_members(X)
        return bool((members == members[:, :1]).all() and (members != members[:1]).any())


def _common_dtype(classes: np.dtype[Any], label: Any) -> np.dtype[Any]:
    """Return a dtype that represents classes and label without conversion."""
    other = np.asarray(label).dtype
    numbers = (classes.kind in "biuf", other.kind in "biuf")
    if all(numbers) or (classes.kind == "U" and other.kind == "U"):
        return np.result_type(classes, other)
    return np.dtype(object)
