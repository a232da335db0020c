"""Comparison of ensembles: metrics and intervals by their definitions."""

import numpy as np
import pytest
from scipy import stats

import credalens as cl
from credalens.validity import compare_ensembles
from credalens.validity.ensemble_comparison import (
    _MEANS,
    METRICS,
    EnsembleOutcomes,
    _curve_draws,
    _ece,
    compare_outcomes,
)


def members(n=200, K=3, strength=0.4, M=4, seed=0):
    """Labels, and predictions that favour them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return y, (1 - strength) * rng.dirichlet(np.ones(K), (n, M)) + strength * rng.dirichlet(
        np.ones(K), n
    )[:, None] * 0.5 + strength * 0.5 * np.eye(K)[y][:, None]


def definitions(y, P):
    """The metrics in a literal form."""
    vote, u = cl.majority_vote(P), cl.quantify(P)
    found = cl.selective_metrics(y, vote, u.total)
    mean = P.mean(axis=1)
    sets = cl.set_metrics(y, cl.admissible(P))
    top = mean.max(axis=1)
    hit = mean.argmax(axis=1) == y
    ece = 0.0
    for b in range(10):
        rows = (top >= b / 10) & ((top < (b + 1) / 10) | (b == 9))
        if rows.any():
            ece += rows.mean() * abs(hit[rows].mean() - top[rows].mean())
    n = len(y)
    return {
        "accuracy": (vote == y).mean(),
        "accuracy_at_10": 1 - found.risk_at((n - n // 10) / n),
        "accuracy_at_20": 1 - found.risk_at((n - n // 5) / n),
        "aurc": found.aurc,
        "augrc": found.augrc,
        "auroc": found.auroc,
        "log_loss": np.mean([-np.log(p[k]) for p, k in zip(mean, y, strict=True)]),
        "brier": ((mean - np.eye(P.shape[2])[y]) ** 2).sum(axis=1).mean(),
        "ece": ece,
        **{name: getattr(sets, name) for name in ("coverage", "mean_size", "determinacy")},
        "u65": sets.u65,
        "u80": sets.u80,
        "total": u.total.mean(),
        "epistemic": u.epistemic.mean(),
    }


def test_the_metrics_by_their_definitions():
    y, P = members()
    other = members(strength=0.6, M=3, seed=1)[1]
    y2, other = y, 0.5 * other + 0.5 * P[:, :3]
    found = compare_ensembles(y, P, other, n_resamples=20, random_state=0)
    for values, Q in ((found.first, P), (found.second, other)):
        expected = definitions(y2, Q)
        assert list(expected) == list(found.metrics) == list(METRICS)
        np.testing.assert_allclose(values, list(expected.values()), rtol=1e-9)
    np.testing.assert_allclose(found.difference[:, 0], found.second - found.first, atol=1e-12)


def test_an_ensemble_compared_with_itself():
    y, P = members()
    found = compare_ensembles(y, P, P[:, ::-1], n_resamples=50, random_state=0)
    np.testing.assert_allclose(found.difference, 0, atol=1e-9)
    assert not any(found.verdict(metric) for metric in found.metrics)
    assert len(found.changed) == 0
    assert found.correctness_pvalue == 1


@pytest.mark.slow
def test_intervals_are_those_of_paired_resamples():
    """Against drawing instances and computing all metrics again."""
    y, P = members(n=150)
    other = 0.9 * P + 0.1 * np.eye(3)[y][:, None]
    found = compare_ensembles(y, P, other, n_resamples=2000, random_state=1)
    pair = [EnsembleOutcomes.of(cl.ConvexHull(Q), y) for Q in (P, other)]
    rng, draws = np.random.default_rng(2), []
    for _ in range(700):
        rows = rng.integers(0, len(y), len(y))
        a, b = (compare_outcomes(one.take(rows), one.take(rows), n_resamples=1) for one in pair)
        draws.append(b.first - a.first)
    ends = np.nanquantile(draws, [0.025, 0.975], axis=0).T
    width = ends[:, 1] - ends[:, 0]
    assert (np.abs(found.difference[:, 1:] - ends) <= 0.2 * width[:, None] + 1e-9).all()


def test_equal_seeds_draw_the_same_instances():
    """So that the differences of selective metrics are paired."""
    y, P = members()
    Q = EnsembleOutcomes.of(cl.ConvexHull(P), y)
    order = np.random.default_rng(0).permutation(len(y))
    other = EnsembleOutcomes(**{**vars(Q), "total": Q.total[order]})
    first, second = (_curve_draws(one, 64, 5) for one in (Q, other))
    np.testing.assert_array_equal(first["accuracy"], second["accuracy"])
    assert (first["aurc"] != second["aurc"]).any()
    flipped = EnsembleOutcomes(**{**vars(Q), "correct": ~Q.correct})
    np.testing.assert_allclose(
        first["accuracy"] + _curve_draws(flipped, 64, 5)["accuracy"], 1, atol=1e-12
    )


def test_rows_that_changed():
    y, P = members(n=300)
    other = members(n=300, seed=3, strength=0.4)[1]
    found = compare_ensembles(y, P, other, rejected=0.2, n_resamples=10, random_state=0)
    first, second = found.outcomes
    votes = cl.majority_vote(P), cl.majority_vote(other)
    gained, lost = (
        int(((votes[i] == y) & (votes[1 - i] != y)).sum()) for i in (1, 0)
    )  # fmt: skip
    assert found.correctness[0, 1] == gained
    assert found.correctness[1, 0] == lost
    assert found.correctness.sum() == 300
    expected = stats.binomtest(gained, gained + lost).pvalue
    assert found.correctness_pvalue == pytest.approx(expected)
    kept = found.kept
    assert kept[0].sum() == kept[1].sum() == 240
    assert first.total[kept[0]].max() <= first.total[~kept[0]].min()
    changed = (votes[0] != votes[1]) | (kept[0] != kept[1])
    assert set(found.changed.tolist()) == set(np.flatnonzero(changed).tolist())
    flips = (first.correct != second.correct)[found.changed]
    assert flips[: gained + lost].all()
    assert not flips[gained + lost :].any()


def test_verdicts_and_tables():
    y, P = members(n=400)
    better = 0.85 * P + 0.15 * np.eye(3)[y][:, None]
    found = compare_ensembles(y, P, better, n_resamples=100, random_state=0)
    assert found.verdict("accuracy") == found.verdict("log_loss") == "better"
    assert found.verdict("total") == ""
    assert compare_ensembles(y, better, P, n_resamples=100).verdict("accuracy") == "worse"
    table = found.to_pandas()
    assert list(table.index) == list(METRICS)
    assert (table["lower"] <= table["upper"]).all()
    assert set(_MEANS) < set(METRICS)
    assert _ece(found.outcomes[0], np.ones(400)) == pytest.approx(table["first"]["ece"])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"y": [0, 1]}, "y: has shape"),
        ({"y": np.full(200, 7)}, "classes are 0 to 2"),
        ({"first": np.ones((2, 2)) / 2}, "first: is not an array"),
        ({"rejected": 1}, "rejected"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"confidence": 1.5}, "confidence"),
    ],
)
def test_errors(change, match):
    y, P = members()
    arguments = {"y": y, "first": P, "second": P} | change
    with pytest.raises(ValueError, match=match):
        compare_ensembles(**arguments)
