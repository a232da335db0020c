"""Classifiers of several binary labels."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import hamming_loss
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import credalens as cl
from credalens.predictors import (
    CredalEnsembleClassifier,
    CredalMultilabelClassifier,
    multioutput_members,
)

X, Y = make_multilabel_classification(120, 6, n_classes=4, n_labels=2, random_state=0)
TRAIN, TEST = slice(0, 80), slice(80, None)
MEMBERS = [
    LogisticRegression(C=0.1, max_iter=500),
    ClassifierChain(LogisticRegression(max_iter=500), order=[3, 1, 0, 2]),
    KNeighborsClassifier(5),
    DecisionTreeClassifier(max_depth=3, random_state=0),
]


def by_label(member):
    """The probability of each label, from the predictions of scikit-learn."""
    predicted = member.predict_proba(X[TEST])
    if not isinstance(predicted, list):
        return predicted
    return np.stack([p[:, list(c).index(1)] for p, c in zip(predicted, member.classes_)], axis=1)  # noqa: B905


def test_members_of_every_kind():
    model = CredalMultilabelClassifier(MEMBERS).fit(X[TRAIN], Y[TRAIN])
    found = model.predict_members(X[TEST])
    one = MultiOutputClassifier(MEMBERS[0]).fit(X[TRAIN], Y[TRAIN])
    others = [clone(e).fit(X[TRAIN], Y[TRAIN]) for e in MEMBERS[1:]]
    for m, member in enumerate([one, *others]):
        assert_allclose(found[:, m], by_label(member), atol=1e-12)
    assert_allclose(model.predict_proba(X[TEST]), found.mean(axis=1))
    assert_array_equal(model.predict(X[TEST]), found.mean(axis=1) > 0.5)
    model.set_params(point="gamma_minimax")
    assert_array_equal(model.predict(X[TEST]), cl.decide_multilabel(found))
    for aggregate in ("hamming", "max", "labels"):
        ours = model.predict_uncertainty(X[TEST], aggregate)
        assert_array_equal(ours.total, cl.quantify_multilabel(found, aggregate).total)
    assert 1 - hamming_loss(Y[TEST], model.predict(X[TEST])) > 0.7
    assert list(model.named_estimators_)[2] == "kneighborsclassifier-2"


def test_single_credal_classifiers_in_a_multioutput_classifier():
    members = [LogisticRegression(C=c, max_iter=500) for c in (0.01, 100)]
    model = MultiOutputClassifier(CredalEnsembleClassifier(members)).fit(X[TRAIN], Y[TRAIN])
    found = multioutput_members(model, X[TEST])
    together = CredalMultilabelClassifier(members).fit(X[TRAIN], Y[TRAIN])
    assert_allclose(found, together.predict_members(X[TEST]), atol=1e-12)


def test_labels_that_only_some_or_no_rows_have():
    y = Y[TRAIN].copy()
    y[:, 1], y[:, 2] = 0, 1
    y[:, 3] = 0
    y[5, 3] = 1
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = CredalMultilabelClassifier(tree, 5, bootstrap=True, random_state=0).fit(X[TRAIN], y)
    found = model.predict_members(X[TEST])
    assert not found[:, :, 1].any()
    assert (found[:, :, 2] == 1).all()
    assert all(len(e.classes_[3]) == 2 for e in model.estimators_)
    assert model.predict_uncertainty(X[TEST], "labels").epistemic[:, 1:3].max() == 0


def test_abstention():
    model = CredalMultilabelClassifier(MEMBERS).fit(X[TRAIN], Y[TRAIN])
    predicted, u = model.predict(X[TEST]), model.predict_uncertainty(X[TEST], "labels")
    by_label = model.predict_or_abstain(X[TEST], threshold=0.4)
    assert_array_equal(by_label == -1, u.total > 0.4)
    assert_array_equal(by_label[u.total <= 0.4], predicted[u.total <= 0.4])
    rows = model.predict_or_abstain(X[TEST], reject=0.25, aggregate="hamming", abstain_label=9)
    left_out = (rows == 9).all(axis=1)
    assert left_out.sum() == 10
    assert not (rows[~left_out] == 9).any()
    worst = model.predict_uncertainty(X[TEST]).total
    assert worst[left_out].min() >= worst[~left_out].max()
    with pytest.raises(ValueError, match="abstain_label: is 1, a value of labels"):
        model.predict_or_abstain(X[TEST], reject=0.1, abstain_label=1)
    with pytest.raises(ValueError, match="reject: neither of reject and threshold given"):
        model.predict_or_abstain(X[TEST])


@pytest.mark.slow
def test_default_forests_are_reproducible_and_estimators_of_scikit_learn():
    model = CredalMultilabelClassifier(n_members=2, random_state=0).fit(X[TRAIN], Y[TRAIN])
    again = clone(model).fit(X[TRAIN], csr_matrix(Y[TRAIN]))
    found = model.predict_members(X[TEST])
    assert_array_equal(found, again.predict_members(X[TEST]))
    assert_array_equal(found, pickle.loads(pickle.dumps(model)).predict_members(X[TEST]))
    assert (found[:, 0] != found[:, 1]).any()


def test_pipelines_weights_and_search():
    members = [("a", LogisticRegression(max_iter=500)), ("b", KNeighborsClassifier(9))]
    frozen = FrozenEstimator(MultiOutputClassifier(LogisticRegression()).fit(X[TRAIN], Y[TRAIN]))
    model = CredalMultilabelClassifier([*members, ("c", frozen)])
    search = GridSearchCV(model, {"a__C": [0.1, 1.0]}, cv=2, scoring="accuracy")
    pipe = make_pipeline(StandardScaler(), search).fit(X[TRAIN], Y[TRAIN])
    assert pipe.predict(X[TEST]).shape == (40, 4)
    weights = np.r_[np.ones(40), np.zeros(40)]
    logistic = [LogisticRegression(C=c, max_iter=500) for c in (0.1, 1)]
    weighted = CredalMultilabelClassifier(logistic).fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    half = CredalMultilabelClassifier(logistic).fit(X[:40], Y[:40])
    assert_allclose(weighted.predict_proba(X[TEST]), half.predict_proba(X[TEST]), atol=1e-3)


def test_errors_and_warnings():
    with pytest.raises(ValueError, match=r"y: is a binary target; .* CredalEnsembleClassifier"):
        CredalMultilabelClassifier(MEMBERS).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match=r"y: is a multiclass-multioutput target"):
        CredalMultilabelClassifier(MEMBERS).fit(X, 2 * Y + np.arange(4))
    with pytest.raises(ValueError, match=r"y: is -1 at index \(0, \d\)"):
        CredalMultilabelClassifier(MEMBERS).fit(X, 2 * Y - 1)
    with pytest.raises(ValueError, match=r"y: has shape .*CredalMultilabelClassifier"):
        CredalEnsembleClassifier(n_members=2).fit(X, Y)
    with pytest.raises(ValueError, match="point: is 'vote'; choose one of"):
        CredalMultilabelClassifier(MEMBERS, point="vote").fit(X, Y)
    with pytest.raises(ValueError, match="model: is a MultiOutputClassifier without fitted"):
        multioutput_members(MultiOutputClassifier(KNeighborsClassifier()).fit(X, Y), X)
    with pytest.raises(ValueError, match="has no random_state: its clones are all equal"):
        CredalMultilabelClassifier(KNeighborsClassifier()).fit(X, Y)
    with pytest.warns(UserWarning, match="all 2 members predict the same"):
        CredalMultilabelClassifier([KNeighborsClassifier(), KNeighborsClassifier()]).fit(X, Y)
