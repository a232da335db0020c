"""Metrics of set-valued predictions against their definitions, and the best sets of labels."""

import itertools

import numpy as np
import pytest

import credalens as cl
from credalens.decisions import UTILITIES, best_label_set
from credalens.decisions import label_sets as module
from oracles_sets import REPRESENTATIONS, corners_of


def random_sets(n=200, K=5, seed=0):
    rng = np.random.default_rng(seed)
    sets = rng.random((n, K)) < 0.35
    sets[np.arange(n), rng.integers(K, size=n)] = True
    return rng.integers(K, size=n), sets


def literal(y, sets):
    """Each metric, instance by instance."""
    sizes = [int(row.sum()) for row in sets]
    hits = [bool(row[k]) for row, k in zip(sets, y, strict=True)]
    pairs = list(zip(sizes, hits, strict=True))

    def mean(values):
        values = list(values)
        return sum(values) / len(values) if values else float("nan")

    return {
        "determinacy": mean(s == 1 for s in sizes),
        "single_accuracy": mean(h for s, h in pairs if s == 1),
        "set_accuracy": mean(h for s, h in pairs if s > 1),
        "coverage": mean(hits),
        "mean_size": mean(sizes),
        "discounted": mean(h / s for s, h in pairs),
        "u65": mean(h * (1.6 / s - 0.6 / s**2) for s, h in pairs),
        "u80": mean(h * (2.2 / s - 1.2 / s**2) for s, h in pairs),
    }


@pytest.mark.parametrize("seed", range(5))
def test_metrics_by_their_definitions(seed):
    y, sets = random_sets(seed=seed)
    found = cl.set_metrics(y, sets)
    for name, value in literal(y, sets).items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-12), name
    assert found.n == 200
    assert found.intervals == {}


def test_precise_predictions_have_accuracy_everywhere():
    rng = np.random.default_rng(0)
    y, pred = rng.integers(4, size=(2, 300))
    found = cl.set_metrics(y, np.eye(4, dtype=bool)[pred])
    accuracy = (y == pred).mean()
    for name in ("single_accuracy", "coverage", "discounted", "u65", "u80"):
        assert getattr(found, name) == pytest.approx(accuracy)
    assert (found.determinacy, found.mean_size) == (1.0, 1.0)
    assert np.isnan(found.set_accuracy)


def test_two_labels_are_worth_065_and_080():
    assert UTILITIES["u65"](2) == pytest.approx(0.65)
    assert UTILITIES["u80"](2) == pytest.approx(0.80)


def test_groups_and_classes():
    y, sets = random_sets()
    groups = np.array(["a", "b", "c"])[np.arange(200) % 3]
    found = cl.set_metrics(y, sets, groups=groups)
    assert list(found) == ["a", "b", "c"]
    for name in "abc":
        part = groups == name
        own = literal(y[part], sets[part])
        assert found[name].u65 == pytest.approx(own["u65"])
        assert found[name].n == part.sum()
    frame = found.to_pandas()
    assert frame.loc["b", "coverage"] == found["b"].coverage
    by_class = cl.set_metrics(y, sets, groups="class")
    assert list(by_class) == list(range(5))
    assert by_class[2].coverage == pytest.approx(sets[y == 2, 2].mean())


def test_bootstrap_intervals():
    y, sets = random_sets(400)
    found = cl.set_metrics(y, sets, n_resamples=4000, random_state=0)
    rng = np.random.default_rng(1)
    rows = rng.integers(400, size=(4000, 400))
    hit = sets[np.arange(400), y]
    size = sets.sum(axis=1)
    for name, values in {
        "coverage": hit[rows].mean(axis=1),
        "mean_size": size[rows].mean(axis=1),
        "u65": (hit * UTILITIES["u65"](size))[rows].mean(axis=1),
        "single_accuracy": ((size == 1) & hit)[rows].sum(axis=1) / (size == 1)[rows].sum(axis=1),
    }.items():
        low, high = found.intervals[name]
        assert low < getattr(found, name) < high
        np.testing.assert_allclose([low, high], np.quantile(values, [0.025, 0.975]), atol=0.02)
    again = cl.set_metrics(y, sets, n_resamples=4000, random_state=0)
    assert again.intervals == found.intervals
    assert {"value", "lower", "upper"} <= set(found.to_pandas())


@pytest.mark.parametrize(
    ("y", "sets", "message"),
    [
        ([0], [[False, False]], r"sets: row 0 \(zero-based\) has no label"),
        ([0, 1], [[True, False]], "y: has 2 entries; pass 1"),
        ([2], [[True, False]], r"y: is 2 at index 0 \(zero-based\); classes are 0 to 1"),
        ([0.5], [[True, False]], "y: has dtype float64; pass class indices"),
        ([0], [[0.5, 0.5]], "sets: is not boolean"),
        ([0], [True, False], r"sets: has shape \(2,\)"),
    ],
)
def test_invalid_arguments(y, sets, message):
    with pytest.raises(ValueError, match=message):
        cl.set_metrics(y, sets)


# ---------------------------------------------------------------- the best set of labels


def literal_best(points, u):
    """The largest ``u(|S|) min over points of p(S)`` over all sets of labels."""
    K = points.shape[1]
    return max(
        u[size - 1] * points[:, list(labels)].sum(axis=1).min()
        for size in range(1, K + 1)
        for labels in itertools.combinations(range(K), size)
    )


def own_utility(points, mask, u):
    return u[mask.sum() - 1] * points[:, mask].sum(axis=1).min()


@pytest.mark.parametrize("utility", [*UTILITIES, [0.2, 0.9, 0.95, 0.96, 1.0]])
def test_the_best_set_of_all(utility):
    rng = np.random.default_rng(0)
    for concentration in (0.2, 1.0, 5.0):
        P = rng.dirichlet(np.full(5, concentration), (60, 4))
        u = (
            np.array(utility)
            if isinstance(utility, list)
            else UTILITIES[utility](np.arange(1.0, 6))
        )
        mask, error = best_label_set(P, utility, return_error=True)
        assert (error == 0).all()
        for i in range(60):
            assert own_utility(P[i], mask[i], u) == pytest.approx(literal_best(P[i], u), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_every_set(name):
    Q = REPRESENTATIONS[name](8, 4, np.random.default_rng(1))
    u = UTILITIES["u65"](np.arange(1.0, 5))
    mask, error = best_label_set(Q, return_error=True)
    for i in range(8):
        points = corners_of(Q[i])
        assert own_utility(points, mask[i], u) == pytest.approx(literal_best(points, u), abs=1e-7)
        assert error[i] == 0


def test_the_bound_holds_for_many_classes(monkeypatch):
    monkeypatch.setattr(module, "EXACT_CLASSES", 3)
    rng = np.random.default_rng(2)
    P = rng.dirichlet(np.full(7, 0.7), (60, 3))
    u = UTILITIES["u80"](np.arange(1.0, 8))
    mask, error = best_label_set(P, "u80", return_error=True)
    gaps = 0
    for i in range(60):
        own, best = own_utility(P[i], mask[i], u), literal_best(P[i], u)
        assert own <= best + 1e-12 <= own + error[i] + 1e-9
        gaps += error[i] > 0
    assert gaps > 0


def test_a_thousand_classes():
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.full(1000, 0.01), (5, 4))
    mask, error = best_label_set(P, return_error=True)
    assert mask.shape == (5, 1000)
    assert mask.any(axis=1).all()
    assert (error >= 0).all()


def test_invalid_utilities():
    P = np.full((2, 2, 3), 1 / 3)
    with pytest.raises(ValueError, match="utility: is 'u70'"):
        best_label_set(P, "u70")
    with pytest.raises(ValueError, match=r"utility: has shape \(2,\); pass 3 utilities"):
        best_label_set(P, [1, 0.5])
    with pytest.raises(ValueError, match="utility: has negative entries"):
        best_label_set(P, [1, 0.5, -1])
