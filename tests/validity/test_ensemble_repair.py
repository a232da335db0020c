"""Repair of ensembles, step by step and by its effects on new data."""

import itertools
import pickle

import numpy as np
import pytest

import credalens as cl
from credalens.validity.alpha_cut import candidate_levels, choose_alpha
from credalens.validity.folds import stratified_folds
from credalens.validity.mixture_weights import constant_weights


def draw(p, rng):
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(max=p.shape[1] - 1)


def data(n=1000, seed=0, K=4):
    """Two overconfident members, one that is calibrated, and one that is noise."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(K, 0.4), n)
    noise = rng.dirichlet(np.ones(K), (n, 4))
    members = 0.6 * true[:, None] + 0.4 * noise
    members[:, :2] **= 2.5
    members[:, 3] = noise[:, 3]
    return members / members.sum(axis=2, keepdims=True), draw(true, rng)


def literal_scaled(p, T):
    p = p ** (1 / T)
    return p / p.sum(axis=-1, keepdims=True)


@pytest.mark.slow
def test_the_map_by_its_definition():
    members, y = data()
    found = cl.validity.repair(members, y)
    assert found.kept.tolist() == [0, 1, 2]
    temperatures = cl.validity.calibrate(members, y).temperature
    new, _ = data(50, seed=1)
    expected = np.stack([
        literal_scaled(literal_scaled(new[:, m], temperatures[m]), found.common_temperature)
        for m in range(3)
    ], axis=1)  # fmt: skip
    np.testing.assert_allclose(found(new), expected, atol=1e-12)
    np.testing.assert_allclose(found(new[4]), expected[4], atol=1e-12)
    assert isinstance(found(cl.ConvexHull(new)), cl.ConvexHull)
    single = found(new.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found))(new), found(new))


@pytest.mark.slow
def test_relative_likelihoods_and_levels_by_their_definitions():
    members, y = data()
    found = cl.validity.repair(members, y)
    temperatures = cl.validity.calibrate(members, y).temperature
    mean_logs = []
    for m in range(4):
        p = literal_scaled(members[:, m], temperatures[m])
        mean_logs.append(sum(np.log(p[i, k]) for i, k in enumerate(y)) / len(y))
    expected = np.exp(np.array(mean_logs) - max(mean_logs))
    np.testing.assert_allclose(found.relative_likelihood, expected, rtol=1e-9)
    falling = sorted(expected, reverse=True)
    levels = [0.0, (falling[2] * falling[3]) ** 0.5, (falling[1] * falling[2]) ** 0.5]
    np.testing.assert_allclose(found.choice.alphas, levels, rtol=1e-9)
    assert found.choice.n_kept.tolist() == [4, 3, 2]
    assert set(found.kept) == {m for m in range(4) if expected[m] >= found.alpha}


def test_equal_members_are_kept_together():
    levels, kept = candidate_levels(np.array([1.0, 0.5, 1.0, 0.5]), 1)
    np.testing.assert_allclose(levels, [0.0, 0.5**0.5])
    assert kept.tolist() == [4, 2]
    assert candidate_levels(np.array([1.0]), 2)[0].tolist() == [0.0]


@pytest.mark.parametrize("seed", range(3))
def test_the_chosen_level_by_its_definition(seed):
    members, y = data(300, seed)
    rng = np.random.default_rng(seed)
    folds = stratified_folds(y, 4)
    logs = -rng.random((4, 4)) * [1.0, 0.3, 0.1, 1.5]
    ratios = np.array([0.5, 0.8, 1.0, 0.2])
    found = choose_alpha(members, y, folds, logs, ratios, 1)
    levels = [0.0, (0.2 * 0.5) ** 0.5, (0.5 * 0.8) ** 0.5, 0.8**0.5]
    np.testing.assert_allclose(found.alphas, levels)
    areas = np.empty((4, 4))
    for (i, level), f in itertools.product(enumerate(levels), range(4)):
        kept = [m for m in range(4) if np.exp(logs[f, m] - max(logs[f])) >= level]
        rows = members[folds == f][:, kept]
        total = cl.total_uncertainty(rows)
        areas[i, f] = cl.rejection_curve(y[folds == f], cl.majority_vote(rows), total).auc
    np.testing.assert_allclose(found.areas, areas)
    best = max(range(4), key=lambda i: sum(areas[i]))
    for i in range(4):
        differences = [areas[best, f] - areas[i, f] for f in range(4)]
        mean = sum(differences) / 4
        error = (sum((d - mean) ** 2 for d in differences) / 3) ** 0.5 / 2
        if mean <= error:
            break
    assert found.chosen == i
    assert found.alpha == found.alphas[i]


@pytest.mark.slow
def test_the_common_temperature_is_best_for_the_mean():
    members, y = data()
    found = cl.validity.repair(members, y)
    calibrated = cl.validity.calibrate(members, y)(members)[:, found.kept]

    def objective(T):
        mean = literal_scaled(calibrated, T).mean(axis=1)
        return -np.log(mean[np.arange(1000), y]).mean() + np.log(T) ** 2 / 2000

    grid = np.exp(np.linspace(-1, 1, 201))
    assert objective(found.common_temperature) <= min(map(objective, grid)) + 1e-9
    assert found.common_temperature < 1
    without = cl.validity.repair(members, y, common_temperature=False)
    assert without.common_temperature == 1
    assert without.after["log_loss"] > found.after["log_loss"]
    assert "no common temperature" in without.report[-1]


@pytest.mark.slow
def test_metrics_after_are_those_of_held_out_folds():
    members, y = data(400)
    found = cl.validity.repair(members, y, n_folds=4)
    folds = stratified_folds(y, 4)
    crossed = np.empty((400, len(found.kept), 4))
    for f in range(4):
        rest = folds != f
        calibration = cl.validity.calibrate(members[rest], y[rest])
        kept = calibration(members)[:, found.kept]
        grid = np.exp(np.linspace(-1, 1, 2001))
        rows = kept[rest]
        losses = [
            -np.log(literal_scaled(rows, T).mean(axis=1)[np.arange(rest.sum()), y[rest]]).mean()
            + np.log(T) ** 2 / (2 * rest.sum())
            for T in grid
        ]
        crossed[~rest] = literal_scaled(kept[~rest], grid[int(np.argmin(losses))])
    vote, total = cl.majority_vote(crossed), cl.total_uncertainty(crossed)
    mean = crossed.mean(axis=1)
    bins = cl.validity.reliability(crossed, y, n_bins=15)
    pairs = [(one, b) for one in (bins.top, *bins.classes) for b in range(len(one.n))]
    expected = {
        "band_bins": np.mean([one.verdict[b] == "inside" for one, b in pairs]),
        "mean_bins": np.mean([one.lower[b] <= one.center[b] <= one.upper[b] for one, b in pairs]),
        "band_width": np.mean(
            [np.ptp(crossed[i, :, k]) for i, k in enumerate(crossed.mean(axis=1).argmax(axis=1))]
        ),
        "accuracy": (vote == y).mean(),
        "auc_total": cl.rejection_curve(y, vote, total).auc,
        "auc_confidence": cl.rejection_curve(y, vote, 1 - mean.max(axis=1)).auc,
        "log_loss": -np.log(mean[np.arange(400), y]).mean(),
        "ece": bins.ece,
        "credal_ece": bins.credal_ece,
    }
    assert set(expected) == set(found.after)
    for name, value in expected.items():
        assert found.after[name] == pytest.approx(value, abs=2e-3), name
    vote, total = cl.majority_vote(members), cl.total_uncertainty(members)
    assert found.before["auc_total"] == pytest.approx(cl.rejection_curve(y, vote, total).auc)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["temperature", "vector", "isotonic", None])
def test_new_data_get_better(method):
    members, y = data(2000)
    found = cl.validity.repair(members, y, method=method)
    new, labels = data(2000, seed=7)
    repaired = found(new)
    before, after = (
        cl.rejection_curve(labels, cl.majority_vote(P), cl.total_uncertainty(P)).auc
        for P in (new, repaired)
    )
    assert 3 not in found.kept
    assert after > before + 0.02
    assert found.after["mean_bins"] > found.before["mean_bins"]
    assert found.after["band_width"] < found.before["band_width"]
    losses = [-np.log(P.mean(axis=1)[np.arange(2000), labels]).mean() for P in (new, repaired)]
    assert losses[1] < losses[0]
    assert (found.calibration is None) == (method is None)


@pytest.mark.slow
def test_members_that_recalibration_does_not_help_are_left_alone():
    rng = np.random.default_rng(3)
    true = rng.dirichlet(np.ones(12), 60)
    y = draw(true, rng)
    members = np.stack([true, true], axis=1)
    found = cl.validity.repair(members, y, method="isotonic", common_temperature=False)
    assert (found.calibration.log_loss_after > found.calibration.log_loss_before).all()
    np.testing.assert_array_equal(found(members), members)
    assert "member 0 is not recalibrated" in "\n".join(found.report)


@pytest.mark.slow
def test_good_ensembles_keep_their_members():
    rng = np.random.default_rng(4)
    true = rng.dirichlet(np.full(3, 0.5), 1500)
    members = 0.9 * true[:, None] + 0.1 * rng.dirichlet(np.ones(3), (1500, 5))
    found = cl.validity.repair(members, draw(true, rng))
    assert len(found.kept) >= 4
    assert cl.validity.repair(members[:, :1], draw(true, rng)).kept.tolist() == [0]


@pytest.mark.slow
def test_weights_maximise_the_likelihood():
    members, y = data()
    found = cl.validity.repair(members, y, fit_weights=True)
    repaired = found(members)
    likelihoods = repaired[np.arange(1000), :, y]

    def objective(w):
        return np.log(likelihoods @ np.asarray(w)).mean()

    steps = np.linspace(0, 1, 41)
    grid = [(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1]
    assert objective(found.weights) >= max(map(objective, grid)) - 1e-9
    assert found.weights.sum() == pytest.approx(1)
    assert cl.validity.repair(members, y).weights is None
    batch = np.stack([likelihoods, likelihoods[:, ::-1]])
    np.testing.assert_allclose(constant_weights(batch)[1], found.weights[::-1], atol=1e-5)


def test_likelihoods_of_zero_do_not_stop_the_weights():
    likelihoods = np.array([[0.9, 0.0], [0.0, 0.2], [0.0, 0.0]])
    np.testing.assert_allclose(constant_weights(likelihoods), [0.5, 0.5], atol=1e-6)


def test_report_and_tables():
    members, y = data()
    names = ["first", "second", "third", "noise"]
    found = cl.validity.repair(members, y, names=names)
    assert found.report[0].startswith("noise is left out: its relative likelihood 0.")
    assert found.report[1].startswith("alpha = 0.")
    assert found.report[2].startswith("first is recalibrated (temperature ")
    assert found.report[-1].startswith("a common temperature of 0.")
    assert str(found).endswith("\n".join(found.report))
    assert found.to_pandas().loc["auc_total", "after"] == found.after["auc_total"]
    assert repr(found).startswith("Repair(kept=[0, 1, 2] of 4, alpha=0.")


def test_invalid_arguments():
    members, y = data(20)
    for changed, text in [
        ({"y_val": y[:3]}, r"y_val: has shape \(3,\); pass labels of shape \(20,\)"),
        ({"members_val": members[:3], "y_val": y[:3]}, "members_val: .* at least 5 instances"),
        ({"method": "platt"}, "method: is 'platt'; choose one of 'isotonic', 'temperature'"),
        ({"min_members": 0}, "min_members: is 0; pass a whole number >= 1"),
        ({"n_folds": 1}, "n_folds: is 1; pass a whole number >= 2"),
        ({"names": ["a"]}, r"names: is \['a'\]; pass 4 names, one per member"),
    ]:
        with pytest.raises(ValueError, match=text):
            cl.validity.repair(**({"members_val": members, "y_val": y} | changed))
    with pytest.raises(ValueError, match="members: has 3 members and 4 classes; pass predictions"):
        cl.validity.repair(members, y)(members[:, :3])
