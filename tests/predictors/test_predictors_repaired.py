"""The repaired ensemble: what it holds out, and what it does to its members."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import credalens as cl
from credalens.predictors import CredalEnsembleClassifier, RepairedEnsemble
from credalens.predictors.repaired import split_rows


def data(n=1200, seed=0):
    X, y = make_classification(
        n, 12, n_informative=8, n_classes=4, class_sep=0.9, flip_y=0.1, random_state=seed
    )
    return train_test_split(X, y, test_size=0.4, random_state=0)


MEMBERS = [
    LogisticRegression(max_iter=1000),
    DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    GaussianNB(),
    DummyClassifier(strategy="stratified", random_state=0),
]


@pytest.mark.parametrize("share", [0.1, 0.25, 0.7])
def test_rows_are_held_out_by_class(share):
    rng = np.random.RandomState(0)
    y = np.array(["a"] * 40 + ["b"] * 20 + ["c"])[rng.permutation(61)]
    train, held = split_rows(y, share, rng)
    assert sorted([*train, *held]) == list(range(61))
    assert [int((y[held] == c).sum()) for c in "abc"] == [round(40 * share), round(20 * share), 0]


@pytest.mark.slow
def test_predictions_are_those_of_the_repaired_members():
    X, X_new, y, _ = data()
    model = RepairedEnsemble(MEMBERS, random_state=3).fit(X, y)
    assert 3 not in model.repair_.kept
    raw = np.stack([member.predict_proba(X_new) for member in model.estimators_], axis=1)
    np.testing.assert_allclose(model.predict_members(X_new), model.repair_(raw))
    repaired = model.predict_members(X_new)
    np.testing.assert_allclose(model.predict_proba(X_new), repaired.mean(axis=1))
    np.testing.assert_array_equal(model.predict(X_new), repaired.mean(axis=1).argmax(axis=1))
    train, held = split_rows(y, 0.25, np.random.RandomState(3))
    tree = clone(MEMBERS[1]).fit(X[train], y[train])
    np.testing.assert_array_equal(model.estimators_[1].predict_proba(X), tree.predict_proba(X))
    members = np.stack([m.predict_proba(X[held]) for m in model.estimators_], axis=1)
    expected = cl.validity.repair(members, y[held])
    np.testing.assert_array_equal(model.repair_(raw), expected(raw))


@pytest.mark.slow
def test_total_uncertainty_ranks_errors_better_than_without():
    X, X_new, y, y_new = data()
    areas = {}
    for kind in (CredalEnsembleClassifier, RepairedEnsemble):
        model = kind(MEMBERS, random_state=0).fit(X, y)
        total = model.predict_uncertainty(X_new).total
        areas[kind] = cl.rejection_curve(y_new, model.predict(X_new), total).auc
    assert areas[RepairedEnsemble] > areas[CredalEnsembleClassifier] + 0.02


@pytest.mark.slow
def test_prefit_members_use_all_rows():
    X, y = load_iris(return_X_y=True)
    fitted = [GaussianNB().fit(X[::2], y[::2]), LogisticRegression(C=0.01).fit(X[::2], y[::2])]
    model = RepairedEnsemble([FrozenEstimator(m) for m in fitted], validation=1.0)
    model.fit(X[1::2], y[1::2])
    members = np.stack([m.predict_proba(X[1::2]) for m in fitted], axis=1)
    expected = cl.validity.repair(members, y[1::2])
    np.testing.assert_array_equal(model.predict_members(X), expected(np.stack(
        [m.predict_proba(X) for m in fitted], axis=1)))  # fmt: skip


def test_sample_weights_are_those_of_the_training_rows():
    X, _, y, _ = data()
    weights = np.random.default_rng(0).random(len(y))
    model = RepairedEnsemble([GaussianNB()], random_state=1).fit(X, y, sample_weight=weights)
    train, _ = split_rows(y, 0.25, np.random.RandomState(1))
    alone = GaussianNB().fit(X[train], y[train], sample_weight=weights[train])
    np.testing.assert_array_equal(model.estimators_[0].predict_proba(X), alone.predict_proba(X))


def test_invalid_parameters():
    X, _, y, _ = data(200)
    for parameters, text in [
        ({"validation": 0}, r"validation: is 0; pass a number in \(0, 1\]"),
        ({"method": "platt"}, "method: is 'platt'; choose one of"),
        ({"min_members": 0}, "min_members: is 0; pass a whole number >= 1"),
        ({"validation": 0.001}, "validation: is 0.001 and holds out 0 rows, n_samples=120"),
    ]:
        with pytest.raises(ValueError, match=text):
            RepairedEnsemble([GaussianNB()], **parameters).fit(X, y)
