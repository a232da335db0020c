"""Conformal credal sets: quantiles, sets, coverage in simulations, errors."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import credalens as cl
from credalens.validity import SCORES, conformal
from credalens.validity.conformal_sets import quantile
from credalens.validity.half_spaces import half_space_vertices


def data(n, K, rng):
    """Predictions, and frequencies of ten annotators who follow other distributions."""
    predictions = rng.dirichlet(np.ones(K), n)
    true = 0.8 * predictions + 0.2 * rng.dirichlet(np.ones(K), n)
    return predictions, np.array([rng.multinomial(10, p) for p in true]) / 10


def literal_score(t, p, score):
    if score == "tv":
        return sum(abs(a - b) for a, b in zip(t, p, strict=True)) / 2
    if score == "inner":
        return 1 - sum(a * b for a, b in zip(t, p, strict=True))
    if score == "wasserstein":
        return sum(abs(a) for a in np.cumsum(t - p)[:-1])
    return sum(a * math.log2(a / b) if b else math.inf for a, b in zip(t, p, strict=True) if a)


@pytest.mark.parametrize("score", SCORES)
def test_the_sets_are_those_of_small_scores(score):
    rng = np.random.default_rng(1)
    predictions, targets = data(40, 4, rng)
    sets = conformal(predictions, targets, score, 0.2)
    scores = [literal_score(t, p, score) for t, p in zip(targets, predictions, strict=True)]
    np.testing.assert_allclose(sets.scores, sorted(scores), rtol=0, atol=1e-12)
    assert sets.quantile == pytest.approx(sorted(scores)[math.ceil(41 * 0.8) - 1], abs=1e-12)
    assert (sets.n_calibration, sets.n_classes, sets.alpha) == (40, 4, 0.2)
    new, points = data(30, 4, rng)
    Q = sets(new)
    inside = 0
    for i in range(30):
        for t in [*rng.dirichlet(np.full(4, 0.5), 10), points[i], *np.eye(4)]:
            own = literal_score(t, new[i], score)
            if abs(own - sets.quantile) > 1e-8 and (score != "inner" or 1 - new[i].max() <= own):
                covered = bool(Q[i].contains(t))
                assert covered == (own < sets.quantile)
                inside += covered
    assert 30 < inside < 400
    # The instance that has the quantile as its score is covered.
    own = int(np.argsort(scores)[math.ceil(41 * 0.8) - 1])
    assert sets(predictions[own]).contains(targets[own])


@pytest.mark.slow
def test_quantiles():
    scores = np.arange(1.0, 10)
    assert quantile(scores, 0.1) == 9  # ceil(10 * 0.9) is 9, which rounding must not change
    assert quantile(scores, 0.09) == math.inf
    assert quantile(scores, 0.5) == 5
    for n in range(1, 400):
        for percent in range(1, 100):
            k = -(-(n + 1) * (100 - percent) // 100)
            expected = k if k <= n else math.inf
            assert quantile(np.arange(1.0, n + 1), percent / 100) == expected


@pytest.mark.parametrize("score", SCORES)
def test_few_calibration_instances_give_every_distribution(score):
    predictions, targets = data(8, 3, np.random.default_rng(2))
    sets = conformal(predictions, targets, score, 0.1)  # 9 are necessary
    assert sets.quantile == math.inf
    Q = sets(np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]))
    assert Q.contains(np.eye(3)[:, None]).all()
    np.testing.assert_allclose(cl.total_uncertainty(Q), 1)


def simulate(score, n, runs, rng, labels=False):
    """The share of covered targets in each run, and the promise for continuous scores."""
    covered = []
    for _ in range(runs):
        predictions, targets = data(n + 40, 4, rng)
        predictions = 0.99 * predictions + 0.0025
        if labels:
            targets = np.array([rng.choice(4, p=t) for t in targets])
        sets = conformal(predictions[:n], targets[:n], score, 0.1)
        new = np.eye(4)[targets[n:]] if labels else targets[n:]
        covered.append(sets(predictions[n:]).contains(new).mean())
    return np.array(covered), math.ceil((n + 1) * 0.9) / (n + 1)


@pytest.mark.slow
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("score", SCORES)
def test_coverage_over_simulated_splits(score, labels):
    for n in (30, 99):
        covered, promise = simulate(score, n, 200, np.random.default_rng(n), labels)
        error = covered.std(ddof=1) / math.sqrt(len(covered))
        assert abs(covered.mean() - promise) <= 2 * error
        assert promise >= 0.9


def test_capping_the_level_would_lose_coverage():
    # With the largest of 5 scores in place of all distributions, 5 / 6 are covered.
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(400):
        predictions, targets = data(6, 4, rng)
        sets = conformal(predictions[:5], targets[:5], "tv", 0.1)
        assert sets(predictions[5]).contains(targets[5])
        covered.append(literal_score(targets[5], predictions[5], "tv") <= sets.scores[-1])
    assert 0.77 < np.mean(covered) < 0.89


@pytest.mark.slow
def test_half_spaces_agree_with_linear_programs():
    rng = np.random.default_rng(4)
    for K in (1, 2, 3, 5):
        g = rng.dirichlet(np.ones(K), 12)
        g[3] = 1 / K
        g[4] = np.eye(K)[0]
        for least in (-math.inf, 0.0, 0.1, 0.25, 0.5, 0.9, 1.0):
            points = half_space_vertices(g, least)
            assert points.shape[1] <= K + K * K / 4
            assert (points >= 0).all()
            np.testing.assert_allclose(points.sum(axis=-1), 1, rtol=0, atol=1e-12)
            for i in range(12):
                bound = min(least, g[i].max())
                assert (points[i] @ g[i] >= bound - 1e-12).all()
                limit = None if np.isinf(bound) else [-bound + 1e-12]
                for f in rng.normal(size=(2, K)):
                    found = linprog(
                        -f, None if limit is None else [-g[i]], limit, np.ones((1, K)), [1]
                    )
                    if least > g[i].max():  # the most probable class alone
                        assert (points[i] @ f).max() == pytest.approx(f[g[i].argmax()], abs=1e-9)
                    else:
                        assert (points[i] @ f).max() == pytest.approx(-found.fun, abs=1e-8)


def test_half_spaces_of_many_classes_raise():
    with pytest.raises(ValueError, match=r"predictions: the half-spaces .* GB .* fewer instances"):
        half_space_vertices(np.tile(np.linspace(0, 2, 1000) / 1000, (50, 1)), 0.001)


def test_zero_probabilities_of_observed_classes_make_kl_sets_complete():
    predictions = np.array([[1.0, 0.0]] * 12)
    sets = conformal(predictions, np.array([0, 1] * 6), "kl", 0.1)
    assert sets.quantile == math.inf
    assert sets([0.5, 0.5]).contains([0.0, 1.0])


def test_invalid_arguments():
    p, y = np.full((5, 3), 1 / 3), np.array([0, 1, 2, 0, 1])
    for arguments, message in (
        ((p[0], y), r"^calibration_predictions: has shape \(3,\); pass one distribution per"),
        ((p * 2, y), r"^calibration_predictions: row 0 \(zero-based\) sums to 2"),
        ((p, y[:4]), r"^calibration_targets: has shape \(4,\) .*shape \(5, 3\), or class"),
        ((p, y.astype(float)), r"^calibration_targets: has shape \(5,\) and dtype float64"),
        ((p, y + 1), r"^calibration_targets: is 3 at index 2 .*pass class indices from 0 to 2"),
        ((p, p * 1.5), r"^calibration_targets: row 0"),
        ((p, y, "mmd"), r"^score: is 'mmd'; choose one of 'inner', 'kl', 'tv', 'wass"),
        ((p, y, "tv", 1.0), r"^alpha: is 1.0; pass a number in \(0, 1\)"),
        ((p, y, "tv", 10), r"^alpha: is 10; pass a number in \(0, 1\)"),
    ):
        with pytest.raises(ValueError, match=message):
            conformal(*arguments)
    with pytest.raises(ValueError, match=r"^predictions: has shape \(2,\); .* over 3 classes"):
        conformal(p, y)([0.5, 0.5])


def test_other_arrays(backend):
    rng = np.random.default_rng(5)
    predictions, targets = data(30, 3, rng)
    sets = conformal(predictions, targets, "tv")
    x = predictions[:8].astype(np.float32)
    total = cl.total_uncertainty(sets(backend.asarray(x)))
    backend.assert_same(total, cl.total_uncertainty(sets(x)), atol=1e-6)
