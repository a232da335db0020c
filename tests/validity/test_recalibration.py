"""Recalibration of members, by searches over grids, numerical gradients and the min-max formula."""

import pickle
import sys

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import credalens as cl
from credalens.validity.scaling import IsotonicScaling, TemperatureScaling, VectorScaling

METHODS = ["temperature", "vector", "isotonic"]


def draw(p, rng):
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(max=p.shape[1] - 1)


def data(n=600, K=3, seed=0, powers=(1.0, 2.0, 0.4)):
    """Members that are calibrated, overconfident and underconfident, with labels."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(K), n)
    members = np.stack([true**power for power in powers], axis=1)
    return members / members.sum(axis=2, keepdims=True), draw(true, rng)


def mean_loss(rows, y):
    return -sum(np.log(row[k]) for row, k in zip(rows, y, strict=True)) / len(y)


def scaled(rows, T):
    powers = np.array([[p ** (1 / T) for p in row] for row in rows])
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_temperatures_by_a_search_over_a_grid():
    members, y = data()
    found = cl.validity.calibrate(members, y).temperature
    for m in range(3):
        grid = np.exp(np.linspace(-2, 2, 401))
        values = [mean_loss(scaled(members[:, m], T), y) + np.log(T) ** 2 / 1200 for T in grid]
        best = grid[int(np.argmin(values))]
        assert found[m] == pytest.approx(best, rel=0.011)
        own = mean_loss(scaled(members[:, m], found[m]), y) + np.log(found[m]) ** 2 / 1200
        assert own <= min(values) + 1e-12
    np.testing.assert_allclose(found, [1.0, 2.0, 0.4], rtol=0.15)


@pytest.mark.slow
def test_vectors_have_gradient_zero():
    members, y = data()
    scaling = VectorScaling.fit(members, y)

    def objective(parameters, rows):
        scale, bias = parameters[:3], parameters[3:]
        p = rows**scale * np.exp(bias)
        p /= p.sum(axis=1, keepdims=True)
        return mean_loss(p, y) + (((scale - 1) ** 2).sum() + (bias**2).sum()) / 1200

    for m in range(3):
        at = np.concatenate([scaling.scale[m], scaling.bias[m]])
        gradient = approx_fprime(at, objective, 1e-6, members[:, m])
        assert np.abs(gradient).max() < 2e-4
        start = np.array([1.0, 1, 1, 0, 0, 0])
        assert objective(at, members[:, m]) <= objective(start, members[:, m])


def literal_isotonic(x, hit):
    """``max over a <= i of min over b >= i of the mean of a..b``, of the distinct values of x."""
    values = np.unique(x)
    sums = np.array([hit[x == value].sum() for value in values], float)
    counts = np.array([(x == value).sum() for value in values], float)
    n = len(values)

    def mean(a, b):
        return sums[a : b + 1].sum() / counts[a : b + 1].sum()

    fit = [max(min(mean(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]
    return dict(zip(values, fit, strict=True))


@pytest.mark.slow
def test_isotonic_regression_by_the_min_max_formula():
    members, y = data(60)
    members = members.round(2) + 1e-3
    members /= members.sum(axis=2, keepdims=True)
    members = members.round(6)
    found = IsotonicScaling.fit(members, y)(members)
    for m in range(3):
        expected = np.empty((60, 3))
        for k in range(3):
            fit = literal_isotonic(members[:, m, k], y == k)
            expected[:, k] = [fit[value] for value in members[:, m, k]]
        sums = expected.sum(axis=1, keepdims=True)
        expected = np.where(sums > 0, expected / np.where(sums > 0, sums, 1), 1 / 3)
        np.testing.assert_allclose(found[:, m], expected, atol=1e-8)


def test_rows_without_mass_become_uniform():
    knots = ((np.array([0.0, 1.0]), np.zeros(2)),) * 3
    found = IsotonicScaling((knots,))(np.full((2, 1, 3), 1 / 3))
    np.testing.assert_array_equal(found, np.full((2, 1, 3), 1 / 3))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_errors_after_are_those_of_held_out_folds(method):
    members, y = data(200)
    found = cl.validity.calibrate(members, y, method, n_folds=4)
    fit = {"temperature": TemperatureScaling, "vector": VectorScaling, "isotonic": IsotonicScaling}
    fold = np.empty(200, int)
    for k in range(3):
        rows = [i for i in range(200) if y[i] == k]
        first = sum(int((y == j).sum()) for j in range(k))
        for place, i in enumerate(rows):
            fold[i] = (first + place) % 4
    after = np.empty_like(members)
    for f in range(4):
        rest = fold != f
        after[~rest] = fit[method].fit(members[rest], y[rest])(members[~rest])
    floor = np.finfo(float).eps
    for m in range(3):
        expected = mean_loss(np.maximum(after[:, m], floor), y)
        assert found.log_loss_after[m] == pytest.approx(expected, rel=1e-9)
        assert found.log_loss_before[m] == pytest.approx(mean_loss(members[:, m], y), rel=1e-9)
    ece = cl.validity.reliability(after, y, n_bins=15).ece_members
    np.testing.assert_allclose(found.ece_after, ece, atol=1e-12)
    ece = cl.validity.reliability(members, y, n_bins=15).ece_members
    np.testing.assert_allclose(found.ece_before, ece, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_maps_improve_new_data_and_keep_types(method):
    members, y = data(4000)
    found = cl.validity.calibrate(members, y, method)
    new, labels = data(4000, seed=1)
    result = found(new)
    assert result.shape == new.shape
    np.testing.assert_allclose(result.sum(axis=2), 1.0, atol=1e-12)
    for m in (1, 2):
        before = cl.validity.reliability(new, labels).ece_members[m]
        assert cl.validity.reliability(result, labels).ece_members[m] < before / 2
    assert (found.log_loss_after[1:] < found.log_loss_before[1:]).all()
    single = found(new[:5].astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, result[:5], atol=1e-5)
    assert isinstance(found(cl.ConvexHull(new[:5])), cl.ConvexHull)
    np.testing.assert_allclose(found(new[3]), result[3], atol=1e-14)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found))(new[:9]), found(new[:9]))


@pytest.mark.slow
def test_zeros_and_members_without_errors_are_ordinary():
    y = np.arange(40) % 4
    certain = np.eye(4)[y][:, None]
    wrong = np.eye(4)[(y + 1) % 4][:, None]
    members = np.concatenate([certain, wrong], axis=1)
    for method in METHODS:
        found = cl.validity.calibrate(members, y, method)
        assert np.isfinite(found(members)).all()
        assert np.isfinite(found.log_loss_after).all()
    temperature = cl.validity.calibrate(members, y).temperature
    assert temperature[0] < 2
    assert temperature[1] > 20


@pytest.mark.slow
def test_the_input_is_not_changed_and_tables():
    members, y = data(100)
    copy = members.copy()
    found = cl.validity.calibrate(members, y)
    found(members)
    np.testing.assert_array_equal(members, copy)
    assert list(found.to_pandas().columns) == [
        "temperature", "log_loss_before", "log_loss_after", "ece_before", "ece_after",
    ]  # fmt: skip
    assert "temperature" not in cl.validity.calibrate(members, y, "vector").to_pandas()
    assert repr(found).startswith("Calibration(method='temperature', n_members=3)\nmember")


@pytest.mark.slow
def test_only_isotonic_needs_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.isotonic", None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    members, y = data(50)
    cl.validity.calibrate(members, y)
    cl.validity.calibrate(members, y, "vector")
    with pytest.raises(ModuleNotFoundError, match="sklearn is not installed; run pip install"):
        cl.validity.calibrate(members, y, "isotonic")


def test_invalid_arguments():
    members, y = data(20)
    for arguments, text in [
        ((members, y[:5]), r"y_val: has shape \(5,\); pass labels of shape \(20,\)"),
        ((members[0], 0), r"members_val: has shape \(3, 3\); pass \(n, members, classes\)"),
        ((members[:1], y[:1]), "members_val: has shape .* at least 2 instances"),
        ((members, y, "platt"), "method: is 'platt'; choose one of 'isotonic', 'temperature'"),
        ((np.log(members), y), "members: .*from_logits"),
    ]:
        with pytest.raises(ValueError, match=text):
            cl.validity.calibrate(*arguments)
    with pytest.raises(ValueError, match="n_folds: is 1; pass a whole number >= 2"):
        cl.validity.calibrate(members, y, n_folds=1)
    found = cl.validity.calibrate(members, y)
    for other in (members[:, :2], np.full((4, 3, 2), 0.5)):
        with pytest.raises(ValueError, match=r"members: has . members and . classes; pass pred"):
            found(other)
