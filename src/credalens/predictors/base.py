"""What every credal classifier does with its members: predict, quantify, abstain."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from credalens import _validation
from credalens._arrays import Array
from credalens.evaluation import majority_vote, rejection_order
from credalens.measures import Interval, quantify
from credalens.measures.quantify import COMPONENTS
from credalens.predictors.members import ask
from credalens.sets import ConvexHull, CredalSet

VOTINGS = ("soft", "majority")


def _is_soft(classifier: Any) -> bool:
    if classifier.voting == "majority":
        raise AttributeError("predict_proba is not available with voting='majority'")
    return True


class CredalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that predicts credal sets.

    A subclass has ``voting`` and ``n_jobs``, and sets in ``fit`` what is declared here; it may
    make another set (`predict_credal`) or another point prediction of them.
    """

    voting: str
    n_jobs: int | None
    classes_: Array
    #: The fitted members.
    estimators_: list[Any]
    #: The positions in ``classes_`` of the classes that each predicts.
    _columns: list[Any]

    def predict_members(self, X: Any) -> Array:
        """Return the prediction of each member.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        array of shape (n, M, K)
            Classes as in ``classes_``.
        """
        self._check_features(X)
        return self._ask(X)

    def _ask(self, X: Any) -> Array:
        return ask(self.estimators_, self._columns, X, len(self.classes_), self.n_jobs)

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

    def _decide(self, Q: CredalSet, X: Any) -> Array:
        """Return a class for each set of `X`."""
        if self.voting == "majority":
            chosen = np.asarray(majority_vote(self._voters(Q, X)))
        else:
            chosen = self._point(Q).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @available_if(_is_soft)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return one distribution of each credal set, ``(n, K)``.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        array of shape (n, K)
            The mean of the set's members, or what the class says. Not available with
            ``voting="majority"``.
        """
        return self._point(self.predict_credal(X))

    def predict(self, X: Any) -> Array:
        """Return a class for each instance.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        array of shape (n,)
            The most probable class of `predict_proba`, or the majority vote of the members.
        """
        return self._decide(self.predict_credal(X), X)

    def predict_uncertainty(self, X: Any, measure: Any = "tv", **options: Any) -> Any:
        """Return total, aleatoric and epistemic uncertainty of each instance.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        measure : str, distance, or a sequence of these, default="tv"
            As in `credalens.quantify`, which also takes the further options.

        Returns
        -------
        Uncertainty, or a dict of them for a sequence of measures
        """
        return quantify(self.predict_credal(X), measure, **options)

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
        """Return a class for each instance, or a label that says "I abstain".

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.
        reject : float in [0, 1], optional
            Share of the instances in `X` to abstain on: the ``floor(reject * n)`` most uncertain,
            in the order of `credalens.rejection_order` (of equal scores, the first in `X` go
            first; intervals by their lower end, then their upper end).
        threshold : float, optional
            Abstain where the score is above this, whatever else is in `X`. For an aleatoric
            interval the score is its lower end. Give either this or `reject`.
        measure : str or distance, default="tv"
            As in `credalens.quantify`.
        component : {"total", "aleatoric", "epistemic"}, default="total"
            Which uncertainty is the score.
        abstain_label : optional
            By default -1 if the classes are numbers or booleans and ``"abstain"`` otherwise. A
            label that is a class is refused.

        Returns
        -------
        array of shape (n,)
            Classes of `predict` and the label, in a dtype that holds both: booleans beside -1 are
            0 and 1, words beside a number are of dtype object. Whatever the label,
            ``numpy.isin(answer, model.classes_)`` is true where there is an answer.
        """
        check_is_fitted(self)
        if (reject is None) == (threshold is None):
            given = "neither" if reject is None else "both"
            _validation.refuse(
                "reject", f"{given} of reject and threshold given", "pass one: reject=0.1, say"
            )
        _validation.one_of(component, "component", COMPONENTS)
        label = self._abstain_label(abstain_label)
        share = None if reject is None else _share(reject)
        Q = self.predict_credal(X)
        score = getattr(quantify(Q, measure), component)
        if share is not None:
            order = rejection_order(score)
            doubtful = order[: math.floor(share * len(order))]
        else:
            values = score.lower if isinstance(score, Interval) else score
            doubtful = np.flatnonzero(np.asarray(values) > _number(threshold, "threshold"))
        predicted = self._decide(Q, X)
        answer = predicted.astype(_common_dtype(predicted.dtype, label))
        answer[doubtful] = label
        return np.asarray(answer)

    def _abstain_label(self, label: Any) -> Any:
        numbers = self.classes_.dtype.kind in "biuf"
        chosen = label if label is not None else (-1 if numbers else "abstain")
        same = [y for y in self.classes_.tolist() if type(y == chosen) is bool and y == chosen]
        if same:
            _validation.refuse(
                "abstain_label", f"{chosen!r} is a class", "pass a label that is not one"
            )
        return chosen

    def _check_fit(self, X: Any, y: Any) -> tuple[Any, Array]:
        """Return `X` as it is and the checked labels; members check the values of `X`."""
        if y is not None:
            y = validate_data(self, y=y)
            check_classification_targets(y)
        validate_data(self, X, y, skip_check_array=True)
        (X,) = indexable(X)
        check_consistent_length(X, y)
        return X, np.asarray(y)

    def _check_features(self, X: Any) -> None:
        check_is_fitted(self)
        axes = np.ndim(X[:1]) if isinstance(X, list | tuple) else getattr(X, "ndim", 2)
        if axes == 1:
            _validation.refuse(
                "X", "has one axis", "Reshape your data: X.reshape(1, -1) is one instance"
            )
        validate_data(self, X, reset=False, skip_check_array=True)


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(float(value)):
        _validation.refuse(name, f"is {value!r}", "pass a number")
    return float(value)


def _share(reject: Any) -> Fraction:
    """Return a share as the decimal number that was written: 0.29 of 100 are 29, not 28."""
    if not 0 <= _number(reject, "reject") <= 1:
        _validation.refuse("reject", f"is {reject!r}", "pass a share between 0 and 1")
    return Fraction(str(reject))


def _common_dtype(classes: np.dtype[Any], label: Any) -> np.dtype[Any]:
    """Return a dtype that holds classes and label as they are."""
    other = np.asarray(label).dtype
    numbers = (classes.kind in "biuf", other.kind in "biuf")
    if all(numbers) or (classes.kind == "U" and other.kind == "U"):
        return np.result_type(classes, other)
    return np.dtype(object)
