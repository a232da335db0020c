"""The choice of policies from labelled predictions."""

import numpy as np
import pytest
from scipy.stats import binomtest

import credalens as cl
from credalens.policy import Policy, fit_policy
from policy_cases import CLASSES, MEMBERS, repairs


def labelled(n=3000, seed=0, K=4, M=3):
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(K, 0.3), n)
    y = np.minimum((true.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), K - 1)
    members = 0.85 * true[:, None] + 0.15 * rng.dirichlet(np.ones(K), (n, M))
    return members / members.sum(axis=-1, keepdims=True), y


P, Y = labelled()


def test_accuracy_is_that_of_guaranteed_threshold():
    found = fit_policy(P, Y, target_accuracy=0.9, random_state=0)
    expected = cl.guaranteed_threshold(
        cl.majority_vote(P) == Y, cl.total_uncertainty(P), 0.9, 0.95, 0
    )
    assert float(found.thresholds) == expected.threshold
    (one,) = found.guarantees
    assert (one.bound, one.observed) == (expected.bound, expected.observed)
    keep = found.apply(P).keep
    data = found.calibration
    assert (data.rows, data.kept) == (3000, int(keep.sum()))
    assert data.kept_correct == int((cl.majority_vote(P) == Y)[keep].sum())
    assert [name for name, _ in data.files] == ["members", "y"]


@pytest.mark.parametrize(
    "targets",
    [
        {"target_precision": 0.7},
        {"target_sensitivity": 0.9},
        {"target_sensitivity": {2: 0.97}, "target_accuracy": 0.8},
    ],
)
def test_bounds_are_those_of_the_counts(targets):
    found = fit_policy(P, Y, random_state=3, **targets)
    assert 0 < found.apply(P).keep.mean() < 1
    k = len(found.guarantees)
    predicted, score = cl.majority_vote(P), cl.total_uncertainty(P)
    for one in found.guarantees:
        rows = np.arange(3000) if one.quantity != "precision" else np.flatnonzero(
            predicted == one.class_index)  # fmt: skip
        order = np.random.default_rng(3).permutation(len(rows))
        test = rows[order[int(0.2 * len(rows)) :]]
        limit = (
            found.thresholds if found.thresholds.ndim == 0 else found.thresholds[one.class_index]
        )
        kept = score[test] <= limit
        right = predicted[test] == Y[test]
        if one.quantity == "sensitivity":
            own = Y[test] == one.class_index
            hits, trials = (own & (right | ~kept)).sum(), own.sum()
        else:
            hits, trials = (kept & right).sum(), kept.sum()
        assert one.n_tested == trials
        if not trials:
            assert limit == -np.inf
            continue
        assert one.observed == hits / trials
        assert one.level == pytest.approx(1 - 0.05 / k)
        exact = binomtest(int(hits), int(trials), alternative="greater").proportion_ci(one.level)
        assert one.bound == pytest.approx(exact.low)
        assert one.bound >= one.target


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quantity", "target"), [("precision", 0.8), ("sensitivity", 0.9), ("accuracy", 0.85)]
)
def test_guarantees_hold_with_their_confidence(quantity, target):
    everything, truth = labelled(100_000, seed=1)
    predicted, score = cl.majority_vote(everything), cl.total_uncertainty(everything)
    right, runs, failures = predicted == truth, 100, 0
    for seed in range(runs):
        draw = np.random.default_rng(seed).integers(0, 100_000, 600)
        found = fit_policy(everything[draw], truth[draw], confidence=0.8, random_state=seed,
                           **{f"target_{quantity}": target})  # fmt: skip
        keep = found.rule.keep(score, predicted)
        failed = False
        for one in found.guarantees:
            if one.quantity == "sensitivity":
                own = truth == one.class_index
                failed |= (right | ~keep)[own].mean() < target
            else:
                own = keep if one.class_index is None else keep & (predicted == one.class_index)
                failed |= bool(own.any()) and right[own].mean() < target
        failures += failed
    # With probability at most 0.2 each: more than 35 of 100 have a probability of 3e-4.
    assert failures <= 35


def test_nothing_is_kept_if_no_threshold_passes():
    found = fit_policy(P[:40], Y[:40], target_accuracy=0.99, random_state=0)
    assert not found.apply(P).keep.any()
    assert np.isnan(found.guarantees[0].bound)
    assert "no prediction is kept" in found.guarantees[0].describe(CLASSES)
    by_class = fit_policy(P, Y, target_precision={0: 0.8, 1: 0.9999}, random_state=0)
    keep, predicted = by_class.apply(P).keep, cl.majority_vote(P)
    assert not keep[predicted == 1].any()
    assert keep[predicted >= 2].all()
    assert 0 < keep[predicted == 0].mean() < 1


def test_repairs_names_and_measures(tmp_path):
    repair = repairs()["vector"]
    given = {
        "member_names": MEMBERS,
        "class_names": CLASSES,
        "repair": repair,
        "weights": [1, 2, 3],
    }
    found = fit_policy(P, Y, target_accuracy=0.7, measure="entropy", random_state=0, **given)
    assert found.column == "entropy_total"
    expected = cl.quantify(cl.ConvexHull(repair(P)), "entropy").total
    np.testing.assert_allclose(found.apply(P).score, expected)
    found.save(tmp_path / "p.json")
    assert Policy.load(tmp_path / "p.json").as_dict() == found.as_dict()


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ({}, "targets: is empty; pass a target accuracy, precision or sensitivity"),
        ({"target_accuracy": 1.5}, "target_accuracy"),
        ({"target_precision": {7: 0.9}}, "target_precision: has the class 7; classes are 0 to 3"),
        ({"target_precision": 0}, "target_precision"),
        ({"target_precision": 0.9, "target_accuracy": 0.9}, "is passed with another target"),
    ],
)
def test_invalid_targets(targets, message):
    with pytest.raises(ValueError, match=message) as error:
        fit_policy(P, Y, **targets)
    assert "\n" not in str(error.value)
