"""The best score, and whether it is clearly better than the default."""

import numpy as np
import pytest

import credalens as cl
from credalens.evaluation import best_score as module
from credalens.evaluation.baselines import BASELINES, baseline_scores
from credalens.evaluation.best_score import best_score


def ranked(n=3000, seed=0, **noise):
    """Whether predictions are correct, and scores that are the risk plus noise."""
    rng = np.random.default_rng(seed)
    risk = rng.random(n)
    scores = {name: risk + scale * rng.normal(size=n) for name, scale in noise.items()}
    correct = rng.random(n) > 0.5 * risk
    return correct, scores, {n: cl.rejection_curve(correct, None, s).auc for n, s in scores.items()}


def test_a_clearly_better_score():
    correct, scores, areas = ranked(default=2.0, better=0.1, middle=1.0)
    found = best_score(correct, scores, areas)
    assert (found.name, found.default, found.clearly_better) == ("better", "default", True)
    assert found.low <= found.auc - found.default_auc <= found.high
    # The interval is that of the two scores at the corrected level.
    pair = {name: scores[name] for name in ("default", "better")}
    compared = cl.compare_scores(correct, None, pair, metrics="auc", confidence=0.975,
                                 random_state=0)  # fmt: skip
    assert (found.low, found.high) == tuple(compared.difference[0, 1, 1:])
    assert found.n_compared == 2
    text = found.describe()
    assert text.startswith(f"Best score: better, AUC {100 * areas['better']:.2f} %, ")
    assert "2 scores compared). Rank by better instead." in text


def test_a_difference_by_chance():
    correct, scores, areas = ranked(n=100, default=1.0, other=1.0, third=1.0)
    worst = min(areas, key=areas.get)
    found = best_score(correct, scores, areas, default=worst)
    assert found.name != worst
    assert not found.clearly_better
    assert found.describe().endswith("The difference may be chance.")


def test_the_default_is_best_or_equal():
    correct, scores, areas = ranked(default=0.1, other=2.0)
    found = best_score(
        correct, {**scores, "same": scores["default"]}, {**areas, "same": areas["default"]}
    )
    assert found.name == "default"
    assert not found.clearly_better
    assert (
        found.describe() == f"Best score: default, AUC {100 * areas['default']:.2f} %, the default."
    )


def test_without_resamples():
    correct, scores, areas = ranked(default=2.0, better=0.1)
    found = best_score(correct, scores, areas, n_resamples=0)
    assert not found.clearly_better
    assert "unknown whether by chance" in found.describe()


def test_intervals_and_samples_of_many_rows(monkeypatch):
    monkeypatch.setattr(module, "COMPARED_ROWS", 500)
    correct, scores, areas = ranked(default=2.0, better=0.1)
    lower = np.round(scores["better"], 1)
    interval = cl.Interval(lower, scores["better"])
    areas["better"] = cl.rejection_curve(correct, None, interval).auc
    found = best_score(correct, {**scores, "better": interval}, areas)
    assert found.clearly_better
    rows = np.random.default_rng(0).choice(3000, 500, replace=False)
    pair = {"default": scores["default"][rows],
            "better": cl.Interval(lower[rows], scores["better"][rows])}  # fmt: skip
    compared = cl.compare_scores(correct[rows], None, pair, metrics="auc", random_state=0)
    assert (found.low, found.high) == tuple(compared.difference[0, 1, 1:])


@pytest.mark.slow
def test_a_difference_by_chance_is_rarely_clear():
    """Of ten scores that are equally good, the best is clearly better in at most 5 % of cases."""
    clear = 0
    for seed in range(200):
        correct, scores, areas = ranked(300, seed, **{str(i): 1.0 for i in range(10)})
        clear += best_score(correct, scores, areas, n_resamples=400).clearly_better
    assert clear <= 20  # 10 expected at most, three standard deviations above


def test_baselines_by_their_definitions():
    P = np.random.default_rng(0).dirichlet(np.full(4, 0.5), (50, 3))
    found = baseline_scores(cl.ConvexHull(P))
    assert list(found) == list(BASELINES)
    mean = P.mean(axis=1)

    def entropy(p):
        return -(p * np.log2(p)).sum(axis=-1)

    expected = (1 - mean.max(axis=1), entropy(mean), entropy(mean) - entropy(P).mean(axis=1))
    for values, score in zip(found.values(), expected, strict=True):
        np.testing.assert_allclose(values, score, atol=1e-12)
    measured = cl.quantify(P, ["information"])
    again = baseline_scores(cl.ConvexHull(P), measured)
    assert again["information_total"] is measured["information"].total
