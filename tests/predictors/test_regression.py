"""The distributions of a regressor's members, its predictions, abstention and errors."""

import re

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge, QuantileRegressor, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import credalens as cl
from credalens.predictors import CredalEnsembleRegressor
from credalens.predictors.predictive import LeafTargets

X, y = load_diabetes(return_X_y=True)
X, y, X_test, y_test = X[:200], y[:200], X[200:260], y[200:260]


def forest_quantile(trees, x, targets, weights, level):
    """The quantile of a quantile regression forest at one instance, by its definition."""
    share = np.zeros(len(targets))
    for tree in trees:
        same = tree.apply(X.astype(np.float32)) == tree.apply(x[None].astype(np.float32))
        share += same * weights / (same * weights).sum() / len(trees)
    order = np.argsort(targets, kind="stable")
    return targets[order][np.argmax(np.cumsum(share[order]) >= level - 1e-12)]


@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_are_those_of_quantile_regression_forests(weighted):
    weights = np.random.default_rng(0).random(len(y)) if weighted else np.ones(len(y))
    model = CredalEnsembleRegressor(
        [RandomForestRegressor(4, min_samples_leaf=7), DecisionTreeRegressor(min_samples_leaf=9)],
        n_samples=8, random_state=0,
    ).fit(X, y, **({"sample_weight": weights} if weighted else {}))  # fmt: skip
    members = np.asarray(model.predict_credal(X_test[:4]).members)
    assert members.shape == (4, 2, 8)
    forest, tree = model.estimators_
    for i, x in enumerate(X_test[:4]):
        for m, trees in enumerate((forest.estimators_, [tree])):
            expected = [forest_quantile(trees, x, y, weights, (k + 0.5) / 8) for k in range(8)]
            assert_array_equal(members[i, m], expected)


def test_trees_of_one_forest_are_members():
    forest = ExtraTreesRegressor(5, min_samples_leaf=6, random_state=1)
    model = CredalEnsembleRegressor(forest, members="trees", n_samples=6).fit(X, y)
    members = np.asarray(model.predict_credal(X_test[:3]).members)
    assert len(model.estimators_) == members.shape[1] == 5
    for m, tree in enumerate(model.estimators_):
        expected = [forest_quantile([tree], X_test[2], y, np.ones(200), (k + 0.5) / 6)
                    for k in range(6)]  # fmt: skip
        assert_array_equal(members[2, m], expected)
    # In blocks of a few rows as well.
    model._leaves[0]._table = None
    assert_array_equal(np.asarray(model.predict_credal(X_test[:3]).members), members)


def test_residuals_are_out_of_fold():
    folds = KFold(4)
    model = CredalEnsembleRegressor(
        [Ridge(0.1), DecisionTreeRegressor(max_depth=3, random_state=0)],
        cv=folds, n_samples=len(y), distribution="residuals",
    ).fit(X, y)  # fmt: skip
    residuals = np.empty(len(y))
    for train, test in folds.split(X):
        residuals[test] = y[test] - Ridge(0.1).fit(X[train], y[train]).predict(X[test])
    expected = Ridge(0.1).fit(X, y).predict(X_test)[:, None] + np.sort(residuals)
    assert_allclose(np.asarray(model.predict_credal(X_test).members)[:, 0], expected)
    u = model.predict_uncertainty(X_test)
    assert np.ptp(u.aleatoric.lower) < 1e-9 < np.ptp(u.total)


def test_quantile_losses_and_standard_errors():
    levels = (0.1, 0.5, 0.9)
    template = GradientBoostingRegressor(loss="quantile", n_estimators=5, random_state=3)
    model = CredalEnsembleRegressor([template, QuantileRegressor(alpha=0.01)], levels=levels)
    Q = model.fit(X, y).predict_credal(X_test)
    assert model.distribution_ == "quantiles"
    for level, fitted in zip(levels, model.estimators_[0], strict=True):
        assert (fitted.alpha, fitted.random_state) == (level, 3)
    assert [one.quantile for one in model.estimators_[1]] == list(levels)
    raw = np.stack([e.predict(X_test) for e in model.estimators_[0]], axis=1)
    assert_array_equal(np.asarray(Q.members)[:, 0], np.sort(raw, axis=1))
    normal = CredalEnsembleRegressor([BayesianRidge(), BayesianRidge(lambda_1=9)]).fit(X, y)
    mean, std = BayesianRidge().fit(X, y).predict(X_test, return_std=True)
    own = normal.predict_credal(X_test)
    assert_allclose(own.mean[:, 0], mean)
    assert_allclose(own.std[:, 0], std)


def test_predictions_intervals_and_abstention():
    options = {"n_members": 3, "n_samples": 40, "random_state": 0, "weights": [1, 2, 0.5]}
    forest = RandomForestRegressor(10, min_samples_leaf=8)
    model = CredalEnsembleRegressor(forest, **options).fit(X, y)
    Q = model.predict_credal(X_test)
    assert_array_equal(model.predict(X_test), Q.center())
    for point, expected in {"median": Q.quantiles(0.5), "minimax": Q.minimax().prediction}.items():
        model.point = point
        assert_array_equal(model.predict(X_test), expected)
    model.point = "mean"
    assert_array_equal(model.predict_quantiles(X_test, [0.2, 0.8]), Q.quantiles([0.2, 0.8]))
    inner, outer = (model.predict_interval(X_test, 0.8, of=of) for of in ("mixture", "set"))
    assert ((outer[:, 0] <= inner[:, 0]) & (inner[:, 1] <= outer[:, 1])).all()
    assert_array_equal(outer[:, 0], Q.quantile_bounds(0.1)[0])
    u = cl.quantify(Q)
    answers = model.predict_or_abstain(X_test, reject=0.25)
    worst = np.argsort(-u.total, kind="stable")[:15]
    assert_array_equal(np.flatnonzero(np.isnan(answers)), np.sort(worst))
    limit = float(np.median(u.epistemic))
    some = model.predict_or_abstain(X_test, threshold=limit, component="epistemic")
    assert_array_equal(np.isnan(some), u.epistemic > limit)
    assert_array_equal(some[~np.isnan(some)], model.predict(X_test)[~np.isnan(some)])
    with parallel_config("threading"):
        again = CredalEnsembleRegressor(forest, n_jobs=2, **options).fit(X, y)
    assert_array_equal(again.predict(X_test), model.predict(X_test))


def test_pipelines():
    scale = StandardScaler()
    for last, kind in (
        (DecisionTreeRegressor(max_depth=2, random_state=0), "leaves"),
        (QuantileRegressor(alpha=0.01), "quantiles"),
        (BayesianRidge(), "normal"),
    ):
        model = CredalEnsembleRegressor([make_pipeline(scale, last)], levels=(0.2, 0.7))
        own = np.asarray(model.fit(X, y).predict_credal(X_test).members)
        assert model.distribution_ == kind
        alone = CredalEnsembleRegressor([last], levels=(0.2, 0.7)).fit(scale.fit_transform(X), y)
        assert_allclose(own, alone.predict_credal(scale.transform(X_test)).members, rtol=1e-6)


def test_frozen_members_use_the_rows_that_fit_is_given():
    ridge, forest = (
        Ridge().fit(X_test, y_test),
        RandomForestRegressor(5, random_state=0).fit(X_test, y_test),
    )
    model = CredalEnsembleRegressor(
        [FrozenEstimator(ridge), FrozenEstimator(Ridge(9.0).fit(X_test, y_test))],
        n_samples=len(y),
    ).fit(X, y)
    expected = np.sort(y - ridge.predict(X)) + ridge.predict(X_test[:1])
    assert_allclose(np.asarray(model.predict_credal(X_test[:1]).members)[0, 0], expected)
    leaves = CredalEnsembleRegressor([FrozenEstimator(forest)], n_samples=7).fit(X, y)
    assert np.isin(np.asarray(leaves.predict_credal(X_test).members), y).all()


def test_leaves_without_training_targets_do_not_count():
    leaves, targets = np.array([[1, 5], [1, 5], [2, 7]]), np.array([3.0, 1.0, 2.0])
    forest = LeafTargets(leaves, targets, None, 2)
    # The second tree does not know leaf 6, the first one does not know leaf 3.
    assert forest.samples(np.array([[1, 6], [3, 7]])).tolist() == [[1, 3], [2, 2]]
    everything = forest.samples(np.array([[0, 9]])).tolist()
    assert everything == [np.quantile(targets, [0.25, 0.75], method="inverted_cdf").tolist()]
    tree = LeafTargets(leaves[:, :1], targets, None, 2)
    assert tree.samples(np.array([[1], [2], [9], [0]])).tolist() == [
        [1, 3], [2, 2], *2 * everything
    ]  # fmt: skip


def test_identical_members_are_reported():
    with pytest.warns(UserWarning, match="all 2 members predict the same"):
        CredalEnsembleRegressor([Ridge(), Ridge()]).fit(X, y)


ERRORS = {
    "estimators: BayesianRidge has no random_state": {"estimators": BayesianRidge()},
    "estimators: is a list, members are 'trees'; pass one RandomForestRegressor": {
        "estimators": [Ridge()], "members": "trees"},
    "distribution: is 'normal', members are 'trees'": {
        "members": "trees", "distribution": "normal"},
    "estimators: ridge-0 (Ridge) has no leaves, distribution is 'leaves'": {
        "estimators": [Ridge()], "distribution": "leaves"},
    "has no predict(X, return_std=True)": {"estimators": [Ridge()], "distribution": "normal"},
    "distribution: is 'quantiles', which Ridge does not support": {
        "estimators": [Ridge()], "distribution": "quantiles"},
    "levels: is (0.5, 0.1)": {"levels": (0.5, 0.1)},
    "levels: is 5 at index 0": {"levels": (5, 95)},
    "point: is 'mode'": {"point": "mode"},
    "n_samples: is 0": {"n_samples": 0},
    "cv: is 1": {"estimators": [Ridge()], "cv": 1},
    "weights: has shape (2,)": {"estimators": [Ridge()], "weights": [1, 2]},
}  # fmt: skip


@pytest.mark.parametrize("message", ERRORS)
def test_errors(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        CredalEnsembleRegressor(**ERRORS[message]).fit(X, y)


def test_errors_of_arguments():
    model = CredalEnsembleRegressor([Ridge(), Ridge(9.0)]).fit(X, y)
    for call, message in (
        (lambda: model.predict_or_abstain(X), "reject: neither of reject and threshold"),
        (lambda: model.predict_or_abstain(X, reject=2), "reject: is 2"),
        (lambda: model.predict_interval(X, 90), "coverage: is 90"),
        (lambda: model.predict_interval(X, of="hull"), "of: is 'hull'"),
        (lambda: model.predict_uncertainty(X, "entropy"), "measure: is 'entropy'"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            call()
    with pytest.raises(ValueError, match="n_samples=1"):
        CredalEnsembleRegressor([Ridge()]).fit(X[:1], y[:1])
