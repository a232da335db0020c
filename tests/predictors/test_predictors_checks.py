"""scikit-learn's own checks, for every credal classifier and every way to make its members."""

import pytest
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from credalens.predictors import (
    ConformalCredalClassifier,
    CredalEnsembleClassifier,
    CredalEnsemblingClassifier,
    CredalWrapperClassifier,
    DecalibrationClassifier,
    RelativeLikelihoodClassifier,
    RepairedEnsemble,
)

pytestmark = [
    # GaussianNB's own, on features that do not vary.
    pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:y. no held-out instance has class"),
]

TREE = DecisionTreeClassifier(max_features=1)

ESTIMATORS = [
    CredalEnsembleClassifier(TREE, 3),
    CredalWrapperClassifier(TREE, 3),
    CredalEnsemblingClassifier(TREE, 3, keep=0.6),
    RelativeLikelihoodClassifier(GaussianNB(), n_candidates=3, samples=(0.5, 1.0)),
    RepairedEnsemble(TREE, 3, random_state=0),
    ConformalCredalClassifier(TREE),
    DecalibrationClassifier(GaussianNB()),
    # Other members.
    CredalEnsembleClassifier(RandomForestClassifier(3), 2, voting="majority"),
    # Seeded: members check the rows that they are given, and one check spoils a single row.
    CredalEnsembleClassifier(
        [("nb", GaussianNB()), ("tree", TREE)], bootstrap=True, random_state=0
    ),
    CredalEnsembleClassifier([GaussianNB(), TREE], voting="majority"),
    CredalEnsembleClassifier(members="trees", n_members=4, smoothing=1),
    CredalEnsembleClassifier(BaggingClassifier(TREE, 3, max_features=0.9), members="trees"),
    CredalWrapperClassifier([GaussianNB(), TREE], voting="majority"),
    CredalEnsemblingClassifier(TREE, 3, distance="kolmogorov", representative="medoid"),
    RelativeLikelihoodClassifier(n_candidates=3, levels=2),
    RelativeLikelihoodClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()),
        n_candidates=3,
        validation=0.3,
        scale="total",
    ),
    RepairedEnsemble(members="trees", n_members=4, smoothing=1, voting="majority"),
    ConformalCredalClassifier(GaussianNB(), 0.2, nonconformity="kl"),
    ConformalCredalClassifier(nonconformity="inner"),
    ConformalCredalClassifier(TREE, nonconformity="possibility"),
    DecalibrationClassifier(TREE, 1.0, validation=0.4),
    DecalibrationClassifier(),
]
#: The default members; one forest is enough.
DEFAULTS = [CredalEnsembleClassifier(n_members=1), RelativeLikelihoodClassifier(n_candidates=4)]


@pytest.mark.slow
@parametrize_with_checks(ESTIMATORS)
@pytest.mark.filterwarnings("ignore:estimators. all . members are equal")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(DEFAULTS)
@pytest.mark.filterwarnings("ignore:estimators. all . members are equal")
def test_scikit_learns_checks_on_defaults(estimator, check):
    check(estimator)
