"""Scorers in cross-validation, searches and pipelines of scikit-learn."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import credalens as cl
from credalens.evaluation.curve_metrics import METRICS
from credalens.predictors import CredalEnsembleClassifier


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        400, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, flip_y=0.2, random_state=0
    )
    return X[:200], np.array(["a", "b", "c"])[y[:200]], X[200:], np.array(["a", "b", "c"])[y[200:]]


def forests(**options):
    return CredalEnsembleClassifier(
        RandomForestClassifier(5, max_depth=3), n_members=4, random_state=0, **options
    )


@pytest.mark.slow
def test_values_are_those_of_the_metrics(data):
    X, y, X_test, y_test = data
    model = forests().fit(X, y)
    u = model.predict_uncertainty(X_test)
    scores = {"tv": u.total, "tv epistemic": u.epistemic, "tv aleatoric": u.aleatoric}
    weight = np.arange(len(y_test)) % 3
    for measure, score in scores.items():
        expected = cl.selective_metrics(
            y_test, model.predict(X_test), score, sample_weight=weight, max_rejection=0.5
        )
        for metric, larger in METRICS.items():
            scorer = cl.make_selective_scorer(metric, measure=measure, max_rejection=0.5)
            found = scorer(model, X_test, y_test, sample_weight=weight)
            assert found == (1 if larger else -1) * getattr(expected, metric)
            assert scorer.greater_is_better is larger
    function = cl.make_selective_scorer("auroc", measure=cl.upper_entropy)
    entropy = cl.upper_entropy(model.predict_credal(X_test))
    wrong = y_test != model.predict(X_test)
    assert function(model, X_test, y_test) == cl.selective_metrics(~wrong, None, entropy).auroc


def test_any_classifier_with_probabilities(data):
    X, y, X_test, y_test = data
    model = LogisticRegression().fit(X, y)
    P = model.predict_proba(X_test)
    scorer = cl.make_selective_scorer("aurc", measure="confidence")
    expected = cl.selective_metrics(y_test, model.predict(X_test), 1 - P.max(axis=1))
    assert scorer(model, X_test, y_test) == pytest.approx(-expected.aurc, rel=1e-12)
    # A single distribution: total uncertainty is the same number.
    one = cl.make_selective_scorer("aurc", measure="tv")(model, X_test, y_test)
    assert one == pytest.approx(-expected.aurc, rel=1e-12)
    index = np.searchsorted(model.classes_, y_test)
    brier = cl.make_selective_scorer("aurc", measure="confidence", loss="brier")
    expected = cl.selective_metrics(index, P, 1 - P.max(axis=1), loss="brier")
    assert brier(model, X_test, y_test) == pytest.approx(-expected.aurc, rel=1e-12)
    cost = cl.make_selective_scorer("aurc", measure="confidence", loss=lambda y, p: 3.0 * (y != p))
    assert cost(model, X_test, y_test) == pytest.approx(3 * scorer(model, X_test, y_test))


@pytest.mark.slow
def test_pipelines_and_searches(data):
    X, y, X_test, y_test = data
    scorer = cl.make_selective_scorer("augrc", measure="tv")
    pipe = make_pipeline(StandardScaler(), "passthrough", forests())
    search = GridSearchCV(
        pipe, {"credalensembleclassifier__n_members": [1, 4]}, scoring=scorer, cv=3
    ).fit(X, y)
    each = search.cv_results_["mean_test_score"]
    assert (each < 0).all()
    assert search.best_score_ == each.max()
    fitted = search.best_estimator_
    Z = fitted[0].transform(X_test)
    direct = -cl.selective_metrics(
        y_test, fitted.predict(X_test), fitted[-1].predict_uncertainty(Z).total
    ).augrc
    # Of the search, of its pipeline and of the last step: the same number.
    for estimator in (search, fitted):
        assert scorer(estimator, X_test, y_test) == pytest.approx(direct, rel=1e-14)
    assert scorer(fitted[-1], Z, y_test) == pytest.approx(direct, rel=1e-14)


@pytest.mark.slow
def test_cross_validation_in_processes(data):
    X, y, _, _ = data
    scoring = {m: cl.make_selective_scorer(m, measure="confidence") for m in ("aurc", "auroc")}
    found = cross_validate(LogisticRegression(), X, y, scoring=scoring, cv=3)
    assert (found["test_aurc"] < 0).all()
    assert (found["test_auroc"] > 0.5).all()
    again = pickle.loads(pickle.dumps(scoring["aurc"]))
    assert again == scoring["aurc"]
    assert_allclose(
        cross_val_score(LogisticRegression(), X, y, scoring=again, cv=3), found["test_aurc"]
    )


def test_undefined_metrics_are_nan(data):
    X, y, _, _ = data
    model = LogisticRegression().fit(X, y)
    sure = model.predict(X) == y
    scorer = cl.make_selective_scorer("auroc", measure="confidence")
    assert np.isnan(scorer(model, X[sure], y[sure]))
    assert cl.make_selective_scorer("aurc", measure="confidence")(model, X[sure], y[sure]) == 0


def test_refused(data):
    X, y, X_test, y_test = data
    for options, message in (
        ({"metric": "auc2"}, "metric: is 'auc2'; choose one of"),
        ({"measure": "tv2"}, "measure: is 'tv2'; pass one of"),
        ({"loss": "log"}, "loss: is 'log'; choose one of 'brier', 'zero_one'"),
        ({"max_rejection": 0}, "max_rejection: is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            cl.make_selective_scorer(**options)
    svm = SVC().fit(X, y)
    for measure in ("tv", "confidence"):
        with pytest.raises(ValueError, match="estimator: SVC has neither predict_credal nor pred"):
            cl.make_selective_scorer(measure=measure)(svm, X_test, y_test)
