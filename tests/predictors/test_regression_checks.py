"""scikit-learn's own checks, for every way in which a regressor predicts distributions."""

import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from credalens.predictors import CredalEnsembleRegressor

FOREST = RandomForestRegressor(3, min_samples_leaf=2)
QUICK = [CredalEnsembleRegressor(DecisionTreeRegressor(min_samples_leaf=2), 2, n_samples=20)]
OTHERS = [
    CredalEnsembleRegressor([FOREST, DecisionTreeRegressor(min_samples_leaf=2)], random_state=0),
    CredalEnsembleRegressor(members="trees", n_members=4, point="minimax"),
    CredalEnsembleRegressor(
        GradientBoostingRegressor(loss="quantile", n_estimators=8), 2, levels=(0.2, 0.5, 0.8),
        point="median",
    ),
    CredalEnsembleRegressor(make_pipeline(StandardScaler(), BayesianRidge()), 2, bootstrap=True),
    CredalEnsembleRegressor([("ridge", Ridge()), ("forest", FOREST)], cv=2, random_state=0),
]  # fmt: skip


@parametrize_with_checks(QUICK)
@pytest.mark.filterwarnings("ignore:estimators. all . members predict the same")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
@pytest.mark.filterwarnings("ignore:estimators. all . members predict the same")
def test_scikit_learns_checks_on_other_members(estimator, check):
    check(estimator)
