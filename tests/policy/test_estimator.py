"""Policies around estimators."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from credalens.policy import Policy, PolicyEstimator, ThresholdRule, fit_policy
from credalens.predictors import CredalEnsembleClassifier, random_forests

X, Y = load_iris(return_X_y=True)
POLICY = Policy(n_classes=3, member_names=["a", "b", "c"], rule=ThresholdRule(0.3))


def trees():
    return [DecisionTreeClassifier(max_depth=d + 1).fit(X[::2], Y[::2]) for d in range(3)]


def test_a_list_and_a_function():
    models = trees()
    members = np.stack([model.predict_proba(X) for model in models], axis=1)
    expected = POLICY.apply(members)
    for estimator in (models, tuple(models), lambda rows: members[: len(rows)]):
        wrapped = PolicyEstimator(estimator, POLICY)
        assert wrapped.predict(X).tolist() == expected.action.tolist()
        np.testing.assert_array_equal(wrapped.apply(X).score, expected.score)
    assert 0 < expected.keep.sum() < len(X)


@pytest.mark.slow
def test_predictors():
    forests = random_forests(3, random_state=0)
    ensemble = CredalEnsembleClassifier(forests).fit(X[::2], Y[::2])
    members = PolicyEstimator(ensemble, POLICY).members(X[1::2])
    policy = fit_policy(np.asarray(getattr(members, "members", members)), Y[1::2],
                        target_accuracy=0.8, random_state=0)  # fmt: skip
    found = PolicyEstimator(ensemble, policy).apply(X)
    assert len(found) == len(X)
    assert found.prediction.tolist() == ensemble.predict(X).tolist()


def test_estimators_that_do_not_fit():
    names = Policy(n_classes=3, member_names=["a"], class_names=["x", "y", "z"], rule=None)
    with pytest.raises(ValueError, match="estimator: predicts the classes 0, 1, 2; pass one for"):
        PolicyEstimator(trees(), names)
    with pytest.raises(ValueError, match="estimator: is a DecisionTreeClassifier without"):
        PolicyEstimator(trees()[0], POLICY).predict(X)
    with pytest.raises(ValueError, match="members: has 2 members, the policy is for 3"):
        PolicyEstimator(trees()[:2], POLICY).predict(X)
