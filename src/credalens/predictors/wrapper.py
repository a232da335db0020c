"""The credal wrapper: the box of the members, and its intersection probability."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens._arrays import Array
from credalens.predictors.ensemble import CredalEnsembleClassifier
from credalens.sets import CredalSet, ProbabilityIntervals


class CredalWrapperClassifier(CredalEnsembleClassifier):
    """A classifier whose credal set is the box of its members' predictions.

    Each class gets the interval from the smallest to the largest probability that a member gives
    it. The point prediction is the intersection probability: the one distribution that lies at the
    same fraction of all intervals, ``p = l + b (u - l)`` with
    ``b = (1 - sum l) / (sum u - sum l)``.

    Parameters
    ----------
    estimators : list of estimators or of pairs (name, estimator), estimator, or None
        The members, as in `CredalEnsembleClassifier`: by default random forests.
    n_members : int, default=10
        Number of members, where `estimators` is not a list.
    members : {"estimators", "trees"}, default="estimators"
        ``"trees"`` makes the parts of one forest or bag the members.
    smoothing : float, default=0
        For ``members="trees"``: added to the count of each class in a leaf.
    bootstrap : bool, default=False
        Fit each member on rows drawn with replacement, as many of each class as there are.
    voting : {"soft", "majority"}, default="soft"
        Predict the most probable class of the intersection probability, or the class that most
        members put first.
    random_state : int, RandomState or None
        Seeds forests, clones and bootstrap samples.
    n_jobs : int or None
        Members fitted and asked at the same time; results do not depend on it.

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
        """Return the box of the members' predictions for each instance.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        ProbabilityIntervals
            A batch of n sets over the classes in ``classes_``.
        """
        return ProbabilityIntervals.from_members(self.predict_members(X))

    def _point(self, Q: CredalSet) -> Array:
        return intersection_probability(np.asarray(Q.lower()), np.asarray(Q.upper()))

    def _voters(self, Q: CredalSet, X: Any) -> Any:
        return self.predict_members(X)


def intersection_probability(lower: Array, upper: Array) -> Array:
    """Return the intersection probability of boxes, ``(..., K)``.

    Parameters
    ----------
    lower, upper : array of shape (..., K)
        Bounds of boxes that hold a distribution.

    Returns
    -------
    array of shape (..., K)
        In the dtype of the bounds. Where all widths are zero, the bounds themselves. The fraction
        b is kept in [0, 1] and the result divided by its sum: the rows of a near-precise ensemble
        in single precision miss 1 by more than the widths of the box, which throws b far out.

    Examples
    --------
    >>> import numpy as np
    >>> intersection_probability(np.array([0.2, 0.1, 0.3]), np.array([0.6, 0.1, 0.5]))
    array([0.46666667, 0.1       , 0.43333333])
    """
    low = lower.astype(np.float64)
    width = upper.astype(np.float64) - low
    missing = 1 - low.sum(axis=-1, keepdims=True)
    room = width.sum(axis=-1, keepdims=True)
    fraction = np.clip(np.divide(missing, room, out=np.zeros_like(room), where=room > 0), 0, 1)
    p = low + fraction * width
    return np.asarray(p / p.sum(axis=-1, keepdims=True), lower.dtype)
