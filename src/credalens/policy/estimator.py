"""Estimators with a policy: from inputs to actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.policy.application import PolicyResult
from credalens.policy.policy import Policy
from credalens.sets import ConvexHull


class PolicyEstimator:
    """A fitted estimator, or several, whose predictions a policy keeps or hands over.

    Parameters
    ----------
    estimator : object, sequence of estimators, or callable
        An estimator with ``predict_members``, such as those of `credalens.predictors`, or with
        ``predict_credal``; a sequence of estimators with ``predict_proba``, one per member; or a
        function that returns predictions ``(n, M, K)``.
    policy : Policy
        The policy. If classes are known (``classes_``), they must be those of the policy.

    See Also
    --------
    fit_policy : choose a policy from labelled predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from credalens.policy import Policy, PolicyEstimator, ThresholdRule
    >>> X, y = load_iris(return_X_y=True)
    >>> models = [GaussianNB().fit(X, y), DecisionTreeClassifier(max_depth=2).fit(X, y)]
    >>> policy = Policy(n_classes=3, member_names=["bayes", "tree"], rule=ThresholdRule(0.3))
    >>> PolicyEstimator(models, policy).predict(X[[0, 77]]).tolist()
    ['keep', 'hand over']
    """

    def __init__(self, estimator: Any, policy: Policy) -> None:
        self.estimator, self.policy = estimator, policy
        several = estimator if isinstance(estimator, Sequence) else [estimator]
        for one in several:
            self._check_classes(one)

    def _check_classes(self, estimator: Any) -> None:
        classes = getattr(estimator, "classes_", None)
        if classes is None:
            return
        own, found = self.policy.class_names, tuple(map(str, np.asarray(classes).tolist()))
        if len(found) != self.policy.n_classes or (own is not None and own != found):
            _validation.raise_invalid(
                "estimator",
                f"predicts the classes {', '.join(found)}",
                f"pass one for those of the policy: {', '.join(self.policy.labels)}",
            )

    def members(self, X: Any) -> Array | ConvexHull:
        """Return the predictions of the members, ``(n, M, K)``."""
        estimator = self.estimator
        if isinstance(estimator, Sequence):
            return np.stack([np.asarray(one.predict_proba(X)) for one in estimator], axis=1)
        for name in ("predict_members", "predict_credal"):
            if hasattr(estimator, name):
                found: Array | ConvexHull = getattr(estimator, name)(X)
                return found
        if callable(estimator):
            return np.asarray(estimator(X))
        return _validation.raise_invalid(
            "estimator",
            f"is a {type(estimator).__name__} without predict_members and predict_credal",
            "pass an estimator of credalens.predictors, a list of estimators, one per member, or "
            "a function",
        )

    def apply(self, X: Any) -> PolicyResult:
        """Return actions, kept inputs, predictions and scores; see `Policy.apply`."""
        return self.policy.apply(self.members(X))

    def predict(self, X: Any) -> Array:
        """Return the action of each input, ``(n,)``."""
        return self.apply(X).action
