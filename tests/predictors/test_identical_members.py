"""Members that come out identical are reported: their epistemic uncertainty is 0."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from credalens.predictors import (
    CredalEnsembleClassifier,
    CredalEnsemblingClassifier,
    CredalWrapperClassifier,
    RelativeLikelihoodClassifier,
)

X, y = load_iris(return_X_y=True)
EQUAL = r"all \d members predict the same, .* epistemic uncertainty is 0; pass bootstrap=True"
LOGISTIC = LogisticRegression(max_iter=1000)
FORESTS = [CredalEnsembleClassifier, CredalEnsemblingClassifier, CredalWrapperClassifier]
WINE = load_wine(return_X_y=True)
MIXED = np.random.default_rng(1).permuted(WINE[0], axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORESTS)
def test_the_suggestion_gives_different_members(kind):
    # Logistic regression has a random_state, which its default solver does not use.
    with pytest.warns(UserWarning, match=EQUAL) as caught:
        model = kind(LOGISTIC, 5).fit(X, y)
    assert caught[0].filename == __file__
    assert model.predict_uncertainty(X).epistemic.max() == 0
    model = kind(LOGISTIC, 5, bootstrap=True, random_state=0).fit(X, y)
    assert (model.predict_uncertainty(X).epistemic > 0).mean() > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimators",
    [
        # Their fitted state differs in private seeds.
        HistGradientBoostingClassifier(max_iter=5),
        AdaBoostClassifier(n_estimators=5),
        make_pipeline(StandardScaler(), LOGISTIC),
        [GaussianNB(), GaussianNB()],
        [FrozenEstimator(GaussianNB().fit(*WINE))] * 2,
    ],
    ids=["histogram boosting", "adaboost", "pipeline", "list", "frozen"],
)
@pytest.mark.parametrize("frame", [False, True])
def test_members_that_are_identical_for_new_rows_too(estimators, frame):
    data = pd.DataFrame(WINE[0]) if frame else WINE[0]
    with pytest.warns(UserWarning, match=EQUAL):
        model = CredalEnsembleClassifier(estimators, 3, random_state=0).fit(data, WINE[1])
    assert model.predict_uncertainty(pd.DataFrame(MIXED) if frame else MIXED).epistemic.max() == 0


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(),
        GradientBoostingClassifier(n_estimators=5),
        RandomForestClassifier(5),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_trees_that_agree_on_the_training_rows_only_are_not_reported(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CredalEnsembleClassifier(estimator, 3, random_state=0).fit(*WINE)
    assert model.predict_uncertainty(MIXED).epistemic.max() > 0


@pytest.mark.parametrize("estimator", [GaussianNB(), KNeighborsClassifier()])
def test_clones_of_an_estimator_without_a_random_state_are_refused(estimator):
    message = r"its clones are all equal; pass bootstrap=True, or a list of different estimators$"
    with pytest.raises(ValueError, match=message):
        CredalEnsembleClassifier(estimator, 3).fit(X, y)
    model = CredalEnsembleClassifier(estimator, 3, bootstrap=True, random_state=0).fit(X, y)
    assert model.predict_uncertainty(X).epistemic.max() > 0


def test_features_without_columns():
    texts = [f"{word} {word} {i}" for i, word in enumerate(["cat", "dog"] * 20)]
    labels = np.arange(40) % 2
    with pytest.warns(UserWarning, match=EQUAL):
        CredalEnsembleClassifier(make_pipeline(CountVectorizer(), LOGISTIC), 3).fit(texts, labels)


@pytest.mark.slow
def test_candidates_of_relative_likelihood():
    model = RelativeLikelihoodClassifier(LOGISTIC, n_candidates=3, samples=None, alpha=0.5)
    with pytest.warns(UserWarning, match=EQUAL):
        model.fit(X, y)
