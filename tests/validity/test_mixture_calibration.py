"""The test of calibration: its parts by their definitions, its size and its power by simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import credalens as cl
from credalens.validity.instance_weights import (
    MAX_FEATURES,
    SoftmaxWeights,
    fit_softmax_weights,
    weight_features,
)
from credalens.validity.kernel_error import KernelError, draw_labels, median_distance


def draw(p, rng):
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(max=p.shape[1] - 1)


def literal_softmax(scores):
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


def calibrated(n, M, K, kind, seed):
    """Members, labels drawn from a mixture of them, and the weights to test."""
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.full(K, 0.5), (n, M))
    X = rng.standard_normal((n, 3))
    if kind == "constant":
        weights, given = np.tile(rng.dirichlet(np.full(M, 0.7)), (n, 1)), "constant"
    elif kind == "features":
        weights, given = literal_softmax(X @ rng.standard_normal((3, M))), X
    else:
        scale = 2 * rng.standard_normal(M)
        weights, given = literal_softmax(members[:, :, 0] * scale), "predictions"
    return members, draw(np.einsum("nm,nmk->nk", weights, members), rng), given


def literal_skce(p, y, bandwidth, blocks):
    """The mean of ``k_ij <e_i - p_i, e_j - p_j>`` over ordered pairs of one block."""
    total, pairs = 0.0, 0
    for rows in blocks:
        for i, j in itertools.permutations(rows, 2):
            kernel = math.exp(-sum(abs(p[i] - p[j])) / 2 / bandwidth)
            first, second = -p[i].copy(), -p[j].copy()
            first[y[i]] += 1
            second[y[j]] += 1
            total += kernel * float(first @ second)
            pairs += 1
    return total / pairs


@pytest.mark.parametrize("block_size", [30, 10])
def test_the_kernel_error_by_its_definition(block_size):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 30)
    others = rng.dirichlet(np.ones(4), (3, 30))
    y = rng.integers(4, size=(3, 30))
    error = KernelError.from_predictions(p, 0.3, block_size)
    blocks = [range(start, start + block_size) for start in range(0, 30, block_size)]
    found = error(p[None].copy(), y[:1])
    np.testing.assert_allclose(found, literal_skce(p, y[0], 0.3, blocks), atol=1e-6)
    # The kernel is that of the first predictions.
    found = error(others.copy(), y)
    for b in range(3):
        total, pairs = 0.0, 0
        for rows in blocks:
            for i, j in itertools.permutations(rows, 2):
                kernel = math.exp(-sum(abs(p[i] - p[j])) / 0.6)
                residuals = np.eye(4)[y[b]] - others[b]
                total += kernel * residuals[i] @ residuals[j]
                pairs += 1
        assert found[b] == pytest.approx(total / pairs, abs=1e-6)


def test_the_kernel_is_positive_definite_and_its_square_version_is_not():
    p = np.concatenate([np.eye(6), 1 - np.eye(6)]) / np.r_[np.ones(6), np.full(6, 5)][:, None]
    p = np.concatenate([p, np.full((1, 6), 1 / 6)])
    distance = np.abs(p[:, None] - p).sum(axis=2) / 2
    assert np.linalg.eigvalsh(np.exp(-distance / 0.5)).min() > 0
    squares = [np.linalg.eigvalsh(np.exp(-(distance**2) / b)).min() for b in (1.0, 5.0, 50.0)]
    assert min(squares) < -1e-6


def test_drawn_labels_have_their_distribution():
    p = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    labels = draw_labels(p, 20000, np.random.default_rng(0))
    shares = (labels[..., None] == np.arange(3)).mean(axis=0)
    np.testing.assert_allclose(shares, p, atol=0.012)
    assert (shares[1:] == p[1:]).all()


def test_the_bandwidth_is_the_median_distance():
    p = np.random.default_rng(0).dirichlet(np.ones(3), 40)
    distances = [sum(abs(a - b)) / 2 for a, b in itertools.combinations(p, 2)]
    assert median_distance(p) == pytest.approx(np.median(distances))
    assert median_distance(np.full((5, 3), 1 / 3)) == 1.0


def test_the_fit_is_a_maximum_and_its_information_that_of_the_labels():
    members, y, X = calibrated(60, 3, 3, "features", 0)
    features = np.hstack([np.ones((60, 1)), X])
    model = fit_softmax_weights(features, members, y)

    def objective(flat):
        weights = literal_softmax(features @ flat.reshape(4, 3))
        f = np.einsum("nm,nmk->nk", weights, members)
        return -sum(math.log(f[i, k]) for i, k in enumerate(y)) + (flat**2).sum() / 2

    assert np.abs(approx_fprime(model.theta.ravel(), objective, 1e-6)).max() < 1e-2
    # Scores by differences of logarithms, for each instance and each label.
    information = np.eye(12)
    theta = model.theta.ravel()
    for i, k in itertools.product(range(60), range(3)):

        def log_f(flat, i=i, k=k):
            weights = literal_softmax(features[i] @ flat.reshape(4, 3))
            return math.log(weights @ members[i, :, k])

        score = approx_fprime(theta, log_f, 1e-6)
        information += math.exp(log_f(theta)) * np.outer(score, score)
    np.testing.assert_allclose(model.covariance @ information, np.eye(12), atol=1e-3)


def test_refits_are_near_the_fits_to_the_drawn_labels():
    members, y, X = calibrated(3000, 3, 3, "features", 1)
    features = np.hstack([np.ones((3000, 1)), X])
    model = fit_softmax_weights(features, members, y)
    weights = model(features)
    f = np.einsum("nm,nmk->nk", weights, members)
    rng = np.random.default_rng(0)
    drawn = draw(f, rng)
    shares = weights * members[np.arange(3000), :, drawn]
    shares /= shares.sum(axis=1, keepdims=True)
    scores = features.T @ (shares - weights)
    one_step = model.changed(features, scores[None])[0]
    full = fit_softmax_weights(features, members, drawn)(features)
    moved = np.abs(full - weights).mean()
    assert np.abs(one_step - full).mean() < moved / 4


def test_features_are_principal_components_of_the_fitted_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 3)) + 5
    members = rng.dirichlet(np.ones(4), (50, 10))
    fitted = np.arange(25)
    features = weight_features(X, members, fitted)
    assert features.shape == (50, 4)
    np.testing.assert_array_equal(features[:, 0], 1.0)
    np.testing.assert_allclose(features[fitted, 1:].mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(np.cov(features[fitted, 1:].T, bias=True), np.eye(3), atol=1e-8)
    fit = np.linalg.lstsq(features, X, rcond=None)[0]
    np.testing.assert_allclose(features @ fit, X, atol=1e-8)
    assert weight_features("predictions", members, fitted).shape == (50, 1 + MAX_FEATURES)
    assert weight_features("constant", members, fitted).shape == (50, 1)
    assert weight_features(np.ones((50, 2)), members, fitted).shape == (50, 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["constant", "features", "predictions"])
def test_statistic_and_pvalue_by_their_definitions(kind):
    members, y, given = calibrated(80, 3, 3, kind, 2)
    found = cl.validity.calibration_test(members, y, given, n_resamples=199, random_state=1)
    p = np.einsum("nm,nmk->nk", found.instance_weights, members[found.tested])
    assert found.bandwidth == pytest.approx(median_distance(p))
    expected = literal_skce(p, y[found.tested], found.bandwidth, [range(40)])
    assert found.statistic == pytest.approx(expected, abs=1e-7)
    larger = sum(value >= found.statistic for value in found.null)
    assert found.pvalue == (1 + larger) / 200
    np.testing.assert_allclose(found.weights, found.instance_weights.mean(axis=0))
    assert len(set(found.tested.tolist())) == 40
    if kind == "constant":
        assert np.ptp(found.instance_weights, axis=0).max() < 1e-12
    again = cl.validity.calibration_test(members, y, given, n_resamples=199, random_state=1)
    assert again.pvalue == found.pvalue
    assert again.power == found.power


def test_weights_are_not_fitted_to_tested_labels():
    members, y, _ = calibrated(100, 3, 3, "constant", 3)
    found = cl.validity.calibration_test(members, y, random_state=0, n_resamples=9)
    other = y.copy()
    other[found.tested] = 0
    changed = cl.validity.calibration_test(members, other, random_state=0, n_resamples=9)
    np.testing.assert_array_equal(changed.weights, found.weights)
    assert changed.statistic != found.statistic


@pytest.mark.slow
def test_overconfident_members_are_found_and_the_power_predicts_it():
    rng = np.random.default_rng(4)
    true = rng.dirichlet(np.ones(3), 2000)
    near = 0.9 * true[:, None] + 0.1 * rng.dirichlet(np.ones(3), (2000, 3))
    good = cl.validity.calibration_test(near, draw(near.mean(axis=1), rng), random_state=0)
    assert good.pvalue > 0.05
    assert good.power[2.0] > 0.9
    assert good.power[0.5] > 0.9
    sharp = near**2 / (near**2).sum(axis=2, keepdims=True)
    for weights in ("constant", "predictions"):
        found = cl.validity.calibration_test(sharp, draw(true, rng), weights, random_state=0)
        assert found.pvalue < 0.01
    small = cl.validity.calibration_test(near[:20], draw(near[:20].mean(axis=1), rng))
    assert small.power[2.0] < good.power[2.0]
    assert cl.validity.calibration_test(near, draw(true, rng), n_power=0, n_resamples=9).power == {}


def test_one_member_and_certain_members_are_ordinary():
    rng = np.random.default_rng(5)
    true = rng.dirichlet(np.ones(3), (200, 1))
    found = cl.validity.calibration_test(true, draw(true[:, 0], rng), random_state=0)
    assert found.weights.tolist() == [1.0]
    certain = np.eye(3)[rng.integers(3, size=(50, 2))]
    found = cl.validity.calibration_test(certain, certain[:, 0].argmax(axis=1), random_state=0)
    assert 0 < found.pvalue <= 1
    assert np.isfinite(found.null).all()
    assert repr(found).startswith("CalibrationTest(n_tested=25, n_members=2)\nquantity")
    assert list(found.to_pandas().index) == [
        "statistic", "pvalue", "power at temperature 0.5", "power at temperature 2",
    ]  # fmt: skip


def rejections(kind, shape, n_simulations=500, level=0.05):
    """The share of calibrated mixtures that are rejected."""
    rejected = 0
    for seed in range(n_simulations):
        members, y, given = calibrated(*shape, kind, seed)
        found = cl.validity.calibration_test(
            members, y, given, n_resamples=99, n_power=0, random_state=seed
        )
        rejected += found.pvalue <= level
    return rejected / n_simulations


#: Three standard errors above the level of 500 simulations.
LIMIT = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 500)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("constant", (200, 3, 3)),
        ("constant", (200, 8, 3)),
        ("features", (200, 5, 3)),
        ("predictions", (200, 4, 3)),
    ],
)
def test_calibrated_mixtures_are_rejected_at_most_at_the_level(kind, shape):
    assert rejections(kind, shape) <= LIMIT


@pytest.mark.slow
def test_without_refits_calibrated_mixtures_are_rejected_too_often(monkeypatch):
    # The error of the fitted weights counts as miscalibration then.
    def unchanged(self, features, scores):
        return np.repeat(self(features)[None], len(scores), axis=0)

    monkeypatch.setattr(SoftmaxWeights, "changed", unchanged)
    assert rejections("predictions", (200, 4, 3), 200) > 0.15


def test_invalid_arguments():
    members, y, _ = calibrated(20, 3, 3, "constant", 0)
    for changed, text in [
        ({"y": y[:3]}, r"y: has shape \(3,\); pass labels of shape \(20,\)"),
        ({"members": members[:2], "y": y[:2]}, "members: has shape .* at least 4 instances"),
        ({"weights": "linear"}, "weights: is 'linear'; choose one of 'constant', 'predictions'"),
        ({"weights": np.ones((5, 2))}, r"weights: has shape \(5, 2\); pass features \(20, d\)"),
        ({"weights": np.full((20, 1), np.nan)}, r"weights: is NaN at index \(0, 0\)"),
        ({"n_resamples": 0}, "n_resamples: is 0; pass a whole number >= 1"),
        ({"n_power": -1}, "n_power: is -1; pass a whole number >= 0"),
        ({"level": 1}, r"level: is 1; pass a number in \(0, 1\)"),
        ({"bandwidth": 0}, "bandwidth: is 0; pass a positive number"),
        ({"block_size": 1}, "block_size: is 1; pass a whole number >= 2"),
        ({"random_state": "x"}, "random_state: is 'x'; pass a whole number"),
    ]:
        with pytest.raises(ValueError, match=text):
            cl.validity.calibration_test(**({"members": members, "y": y} | changed))
