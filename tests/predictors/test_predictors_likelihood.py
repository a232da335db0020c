"""Relative likelihood: which candidates stay, and how levels are reached."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from credalens.predictors import RelativeLikelihoodClassifier
from credalens.predictors.relative_likelihood import log_likelihood, relative_to_best

X, y = load_iris(return_X_y=True)
X = scale(X)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]
FAMILY = GaussianNB(var_smoothing=0.1)


def literal_log_likelihood(model, X, y, weights=None):
    """The sum of the logs, one instance after the other."""
    weights = np.ones(len(y)) if weights is None else weights
    total = 0.0
    for row, label, weight in zip(model.predict_proba(X), y, weights, strict=True):
        if weight == 0:
            continue
        p = row[model.classes_.tolist().index(label)]
        total += -np.inf if p == 0 else weight * np.log(p)
    return total


# ---------------------------------------------------------------- the likelihood


def test_against_the_literal_sum():
    weights = np.arange(150) % 3
    model = FAMILY.fit(X, NAMES)
    for w in (None, weights):
        expected = literal_log_likelihood(model, X, NAMES, w)
        assert_allclose(log_likelihood(model, X, NAMES, w, "total"), expected)
        size = 150 if w is None else w.sum()
        assert_allclose(log_likelihood(model, X, NAMES, w, "mean"), expected / size)


def test_a_label_that_is_ruled_out_has_no_likelihood():
    tree = DecisionTreeClassifier(random_state=0).fit(X[:100], y[:100])  # has never seen class 2
    assert log_likelihood(tree, X, y, None, "mean") == -np.inf
    assert log_likelihood(tree, X, y, np.arange(150) < 100, "mean") == 0
    dirac = DummyClassifier(strategy="constant", constant=1).fit(X, y)
    assert log_likelihood(dirac, X, y, None, "total") == -np.inf
    assert_array_equal(relative_to_best(np.array([-5.0, -np.inf])), [1, 0])


def test_long_data_do_not_underflow():
    # Likelihoods of exp(-1e6), whose ratio is exp(-1).
    assert_allclose(relative_to_best(np.array([-1e6, -1e6 - 1])), [1, np.exp(-1)])


# ---------------------------------------------------------------- the cut


@pytest.mark.parametrize("scale_", ["mean", "total"])
@pytest.mark.parametrize("weights", [None, 1 + np.arange(150) % 2])
def test_members_are_those_above_alpha(scale_, weights):
    alpha = 0.9 if scale_ == "mean" else 0.01
    model = RelativeLikelihoodClassifier(FAMILY, alpha, scale=scale_, random_state=0)
    model.fit(X, NAMES, sample_weight=weights)
    assert 1 < model.kept_.sum() < len(model.kept_) == 20
    assert len(model.estimators_) == model.kept_.sum()
    size = (150 if weights is None else weights.sum()) if scale_ == "mean" else 1
    logs = [literal_log_likelihood(m, X, NAMES, weights) / size for m in model.estimators_]
    relative = np.exp(np.array(logs) - max(logs))
    assert_allclose(relative, model.relative_likelihoods_[model.kept_], rtol=1e-9)
    assert np.all(relative >= alpha)
    assert np.all(model.relative_likelihoods_[~model.kept_] < alpha)
    assert model.relative_likelihoods_.max() == 1
    assert model.predict_credal(X).n_members == model.kept_.sum()


def test_a_smaller_alpha_gives_larger_sets():
    wide, narrow = (
        RelativeLikelihoodClassifier(FAMILY, alpha, random_state=0).fit(X, y)
        for alpha in (0.5, 0.95)
    )
    assert_array_equal(wide.relative_likelihoods_, narrow.relative_likelihoods_)
    assert wide.kept_.sum() > narrow.kept_.sum()
    assert np.all(wide.predict_credal(X).lower() <= narrow.predict_credal(X).lower())
    assert np.all(wide.predict_uncertainty(X).epistemic >= narrow.predict_uncertainty(X).epistemic)


def test_candidates_that_rule_out_a_label_are_left_out():
    model = RelativeLikelihoodClassifier(
        DecisionTreeClassifier(max_depth=4), alpha=1e-9, n_candidates=6, random_state=0
    ).fit(X, y)
    assert model.relative_likelihoods_[0] == 1  # the tree of all rows rules out nothing
    assert 0 in model.relative_likelihoods_
    assert_array_equal(model.kept_, model.relative_likelihoods_ > 0)


def test_a_family_that_rules_out_everything_is_refused():
    constant = DummyClassifier(strategy="constant", constant=1)
    with pytest.raises(
        ValueError, match="every candidate gives probability 0 to an observed label"
    ):
        RelativeLikelihoodClassifier(constant).fit(X, y)


@pytest.mark.filterwarnings("ignore:estimators. all 2 members are equal")
def test_held_out_likelihoods():
    model = RelativeLikelihoodClassifier(
        GaussianNB(), samples=None, n_candidates=2, validation=0.2, random_state=0
    )
    with pytest.warns(UserWarning, match="all 2 members predict the same"):
        model.fit(X, y)
    # All candidates are the same model, of the 120 rows that were not held out.
    assert_array_equal(model.relative_likelihoods_, [1, 1])
    assert_array_equal(model.estimators_[0].class_count_, [40, 40, 40])
    # A class with one instance cannot be stratified.
    rare = np.where(np.arange(150) == 0, 7, y)
    RelativeLikelihoodClassifier(FAMILY, 1e-6, validation=0.2, random_state=1).fit(X, rare)


def test_drawn_parameters():
    model = RelativeLikelihoodClassifier(
        FAMILY,
        0.01,
        param_distributions={"var_smoothing": [0.1, 1.0]},
        n_candidates=8,
        samples=None,
        random_state=0,
    ).fit(X, y)
    assert model.estimators_[0].var_smoothing == 0.1
    assert {m.var_smoothing for m in model.estimators_} == {0.1, 1.0}
    assert len(set(model.relative_likelihoods_.round(6))) == 2


def test_the_first_candidate_is_the_estimator_on_all_rows():
    model = RelativeLikelihoodClassifier(FAMILY, 0.2, random_state=0).fit(X, y)
    assert_array_equal(model.estimators_[0].theta_, clone(FAMILY).fit(X, y).theta_)


# ---------------------------------------------------------------- levels


def test_levels_are_served_by_the_candidate_just_above():
    levels = [0.8, 0.9, 0.95]
    model = RelativeLikelihoodClassifier(FAMILY, levels=levels, random_state=0).fit(X, y)
    relative = model.relative_likelihoods_
    expected = {int(np.argmax(relative))}
    for level in levels:
        above = [i for i in range(20) if relative[i] >= level]
        expected.add(min(above, key=lambda i: relative[i]))
    assert set(np.flatnonzero(model.kept_)) == expected
    assert len(expected) == 4


def test_a_number_of_levels_is_spread_from_alpha_to_one():
    model = RelativeLikelihoodClassifier(FAMILY, 0.2, levels=4, random_state=0).fit(X, y)
    assert_allclose(model.levels_, [0.2, 0.4, 0.6, 0.8])


MLP = MLPClassifier((8,), max_iter=300, learning_rate_init=0.01, tol=1e-3, batch_size=30)


@pytest.mark.slow
@pytest.mark.parametrize("validation", [None, 0.2])
def test_members_are_trained_up_to_their_levels(validation):
    model = RelativeLikelihoodClassifier(
        MLP, levels=[0.3, 0.6, 0.9], reach="training", validation=validation, random_state=0
    ).fit(X, NAMES)
    relative = model.relative_likelihoods_
    assert len(relative) == 4
    assert relative[0] == 1
    assert np.all(relative[1:] >= [0.3, 0.6, 0.9])
    # Stopped there, and not after: one pass earlier they were below.
    assert np.all(relative[1:] < [0.6, 0.9, 1.0])
    assert model.kept_.all()
    if validation is None:
        logs = [literal_log_likelihood(m, X, NAMES) / 150 for m in model.estimators_]
        assert_allclose(np.exp(np.array(logs) - logs[0]), relative, rtol=1e-9)


@pytest.mark.slow
def test_a_level_that_is_not_reached_is_said():
    model = RelativeLikelihoodClassifier(
        MLP, levels=[0.3, 0.99], reach="training", max_epochs=8, random_state=0
    )
    with pytest.warns(UserWarning, match="levels: 0.99 not reached within max_epochs=8"):
        model.fit(X, y)
    assert_array_equal(model.kept_, [True, True, False])
    assert len(model.estimators_) == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, r"alpha: is 0; pass a number in \(0, 1\]"),
        ({"alpha": 1.1}, "alpha: is 1.1"),
        ({"validation": 1.0}, r"validation: is 1.0; pass a number in \(0, 1\)"),
        ({"levels": []}, "levels: is empty"),
        ({"levels": [0.5, 1.5]}, r"levels\[1\]: is 1.5; pass a number in \(0, 1\]"),
        ({"levels": 0}, "levels: is 0; pass a whole number >= 1"),
        ({"scale": "sum"}, "scale: is 'sum'; choose one of 'mean', 'total'"),
        ({"reach": "luck"}, "reach: is 'luck'; choose one of 'selection', 'training'"),
        ({"reach": "training"}, "reach: is 'training' without levels"),
        (
            {"reach": "training", "levels": 3, "estimator": LogisticRegression()},
            "LogisticRegression has no partial_fit",
        ),
        ({"samples": 0.5}, "samples: is 0.5; pass two numbers"),
        ({"samples": (0, 1)}, "samples: is 0; pass a number in"),
        ({"n_candidates": 0}, "n_candidates: is 0"),
        ({"estimator": LinearSVC()}, "has no predict_proba"),
    ],
)
def test_refused_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        RelativeLikelihoodClassifier(**{"estimator": FAMILY, **parameters}).fit(X, y)
