"""Classifiers that put a set round one model's prediction: conformal sets and decalibration."""

import math
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

import credalens as cl
from credalens.predictors import ConformalCredalClassifier, DecalibrationClassifier
from credalens.predictors.conformal import CONFORMAL_SCORES
from credalens.predictors.decalibration import plausible_shifts, shifted_bounds
from credalens.predictors.members import split_rows


def blobs(n, seed):
    return make_blobs(n, centers=[[0, 0], [2, 0], [0, 2]], cluster_std=1.2, random_state=seed)


@pytest.mark.parametrize("nonconformity", CONFORMAL_SCORES)
def test_conformal_sets_are_calibrated_on_other_rows(nonconformity):
    X, y = blobs(200, 0)
    names = np.array(["a", "b", "c"])[y]
    model = ConformalCredalClassifier(
        GaussianNB(), 0.1, nonconformity=nonconformity, calibration=0.25, random_state=3
    ).fit(X, names)
    train, test = split_rows(names, 0.25, check_random_state(3), stratify=False)
    own = GaussianNB().fit(X[train], names[train])
    np.testing.assert_array_equal(model.predict_proba(X), own.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), own.predict(X))
    assert len(model.calibration_scores_) == len(test) == 50
    Q = model.predict_credal(X[:20])
    if nonconformity == "possibility":
        predicted = own.predict_proba(X[test])[np.arange(50), y[test]]
        expected = cl.Possibility.from_conformal(1 - predicted, 1 - own.predict_proba(X[:20]))
        np.testing.assert_allclose(Q.contour, expected.contour)
    else:
        sets = cl.validity.conformal(own.predict_proba(X[test]), y[test], nonconformity, 0.1)
        assert model.conformal_.quantile == sets.quantile
        np.testing.assert_allclose(Q.lower(), sets(own.predict_proba(X[:20])).lower())
    kept = model.predict_or_abstain(X, threshold=2.0)
    np.testing.assert_array_equal(kept, own.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("nonconformity", CONFORMAL_SCORES)
def test_conformal_sets_cover_the_labels(nonconformity):
    covered = []
    for seed in range(100):
        X, y = blobs(400, seed)
        model = ConformalCredalClassifier(
            GaussianNB(), 0.2, nonconformity=nonconformity, calibration=0.3, random_state=seed
        ).fit(X[:130], y[:130])
        Q = model.predict_credal(X[130:])
        if nonconformity == "possibility":
            inside = Q.upper()[np.arange(270), y[130:]] > 0.2
        else:
            inside = Q.contains(np.eye(3)[y[130:]])
        covered.append(inside.mean())
    error = np.std(covered, ddof=1) / math.sqrt(100)
    promise = math.ceil(40 * 0.8) / 40  # 39 calibration instances
    assert abs(np.mean(covered) - promise) <= 2 * error


def test_conformal_arguments():
    X, y = blobs(40, 0)
    for options, message in (
        ({"alpha": 0}, r"^alpha: is 0; pass a number in \(0, 1\)"),
        ({"calibration": 1.0}, r"^calibration: is 1.0; pass a number in \(0, 1\)"),
        ({"nonconformity": "l2"}, r"^nonconformity: is 'l2'; choose one of"),
    ):
        with pytest.raises(ValueError, match=message):
            ConformalCredalClassifier(**options).fit(X, y)
    few = ConformalCredalClassifier(GaussianNB(), 0.01, random_state=0).fit(X, y)
    assert few.conformal_.quantile == math.inf
    assert few.predict_set(X[:3]).all()


def literal_change(predictions, labels, k, x):
    """Mean log-likelihood with a shifted logit, minus that without."""
    total = 0.0
    for p, y in zip(predictions, labels, strict=True):
        odds = p * np.where(np.arange(len(p)) == k, math.exp(x), 1.0)
        total += math.log((odds / odds.sum())[y] / p[y])
    return total / len(labels)


def literal_bounds(p, shifts):
    """Bounds over many shifts of each logit."""
    found = [p]
    for k, (low, high) in enumerate(shifts):
        for x in np.linspace(max(low, -40), min(high, 40), 9):
            odds = p * np.where(np.arange(len(p)) == k, math.exp(x), 1.0)
            found.append(odds / odds.sum())
    return np.min(found, axis=0), np.max(found, axis=0)


@pytest.mark.parametrize("alpha", [0.3, 0.8, 0.99, 1.0])
def test_shifts_have_the_relative_likelihood(alpha):
    rng = np.random.default_rng(0)
    predictions = rng.dirichlet(np.ones(4), 60)
    labels = np.array([rng.choice(4, p=p) for p in predictions])
    shifts = plausible_shifts(predictions, labels, np.full(60, 1 / 60), alpha)
    for k in range(4):
        for side in (0, 1):
            x = shifts[k, side]
            assert literal_change(predictions, labels, k, x) >= math.log(alpha) - 1e-9
            further = x + (1e-4 if side else -1e-4)
            assert literal_change(predictions, labels, k, further) < math.log(alpha)
        assert shifts[k, 0] <= 0 <= shifts[k, 1]


@pytest.mark.parametrize("K", [1, 2, 3, 6])
def test_bounds_are_those_of_all_shifts(K):
    rng = np.random.default_rng(K)
    predictions = rng.dirichlet(np.full(K, 0.7), 25)
    predictions[0] = np.eye(K)[0]
    shifts = np.sort(rng.normal(size=(K, 2)) * 2, axis=1)
    shifts[:, 0], shifts[:, 1] = np.minimum(shifts[:, 0], 0), np.maximum(shifts[:, 1], 0)
    for infinite in ((), (0,), (1,), (0, 1)):
        for side in infinite:
            shifts[0, side] = math.inf if side else -math.inf
        low, high = shifted_bounds(predictions, shifts)
        for i in range(25):
            expected = literal_bounds(predictions[i], shifts)
            np.testing.assert_allclose(low[i], expected[0], rtol=0, atol=1e-9)
            np.testing.assert_allclose(high[i], expected[1], rtol=0, atol=1e-9)


def test_decalibration_sets_grow_as_alpha_decreases():
    X, y = blobs(120, 1)
    models = [DecalibrationClassifier(GaussianNB(), a).fit(X, y) for a in (1.0, 0.9, 0.6, 0.2)]
    own = GaussianNB().fit(X, y)
    sets = [model.predict_credal(X[:30]) for model in models]
    for small, large in pairwise(sets):
        assert (small <= large).all()
    assert all(Q.contains(own.predict_proba(X[:30])).all() for Q in sets)
    np.testing.assert_array_equal(models[2].predict(X), own.predict(X))
    assert (models[3].shifts_[:, 1] > models[2].shifts_[:, 1]).all()
    # A weight is as good as a copy.
    weights = np.r_[np.full(60, 2.0), np.ones(60)]
    one = DecalibrationClassifier(GaussianNB(), 0.5).fit(X, y, sample_weight=weights)
    two = DecalibrationClassifier(GaussianNB(), 0.5).fit(
        np.r_[X, X[:60]], np.r_[y, y[:60]]
    )  # fmt: skip
    np.testing.assert_allclose(one.shifts_, two.shifts_, rtol=1e-6)


def test_a_class_that_is_absent_may_be_impossible():
    X, y = blobs(60, 2)
    model = DecalibrationClassifier(DecisionTreeClassifier(max_depth=2), 0.5)
    with pytest.warns(UserWarning, match="no held-out instance has class 1, .*validation=None"):
        model.fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    assert model.shifts_[1, 0] == -math.inf
    assert (model.predict_credal(X).lower()[:, 1] == 0).all()
    with pytest.raises(ValueError, match=r"^alpha: is 0"):
        DecalibrationClassifier(alpha=0).fit(X, y)
    with pytest.raises(ValueError, match=r"^validation: is 1"):
        DecalibrationClassifier(validation=1).fit(X, y)
