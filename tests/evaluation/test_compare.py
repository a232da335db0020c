"""Comparison of scores by a paired bootstrap."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens.evaluation.compare import COMPARED


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    risk = rng.random(n)
    correct = rng.random(n) > 0.5 * risk
    scores = {
        "noisy": np.round(risk + rng.random(n), 1),
        "exact": risk,
        "close": risk + 0.001 * rng.random(n),
        "interval": cl.Interval(np.round(risk, 1), risk + rng.random(n)),
    }
    return correct, scores


def metric(correct, score, name):
    if name == "auc":
        return cl.rejection_curve(correct, np.ones(len(correct), bool), score).auc
    return getattr(cl.selective_metrics(correct, None, score), name)


def rows_of(score, rows):
    if isinstance(score, cl.Interval):
        return cl.Interval(score.lower[rows], score.upper[rows])
    return score[rows]


def test_values():
    correct, scores = data()
    found = cl.compare_scores(correct, None, scores, metrics=tuple(COMPARED), random_state=0)
    assert found.scores == tuple(scores)
    assert found.metrics == tuple(COMPARED)
    assert found.baseline == "noisy"
    for i, name in enumerate(COMPARED):
        expected = [metric(correct, score, name) for score in scores.values()]
        assert_allclose(found.value[i, :, 0], expected, rtol=1e-13)
        assert_allclose(found.difference[i, :, 0], np.subtract(expected, expected[0]), atol=1e-13)
    assert (found.value[..., 1] <= found.value[..., 2]).all()
    assert_array_equal(found.difference[:, 0], 0)


@pytest.mark.slow
def test_intervals_are_those_of_a_literal_paired_bootstrap():
    correct, scores = data(150)
    size = 800
    rng = np.random.default_rng(7)
    draws = np.empty((len(COMPARED), len(scores), size))
    for r in range(size):
        rows = rng.integers(0, 150, 150)
        for s, score in enumerate(scores.values()):
            one = cl.selective_metrics(correct[rows], None, rows_of(score, rows))
            auc = metric(correct[rows], rows_of(score, rows), "auc")
            draws[:, s, r] = [auc if m == "auc" else getattr(one, m) for m in COMPARED]
    draws -= draws[:, :1]
    found = cl.compare_scores(
        correct, None, scores, metrics=tuple(COMPARED), confidence=0.8, n_resamples=size,
        random_state=0,
    )  # fmt: skip
    ends = np.moveaxis(np.quantile(draws, [0.1, 0.9], axis=-1), 0, -1)
    spread = draws.std(axis=-1)[..., None]
    # The standard error of a 10 % quantile is 1.7 sd / sqrt(size), of a difference 2.4.
    assert (abs(found.difference[..., 1:] - ends) <= 4 * 2.4 * spread / math.sqrt(size)).all()


@pytest.mark.slow
def test_scores_that_are_almost_equal():
    # Their difference varies much less than each of them; grouping ranks would lose it.
    rng = np.random.default_rng(0)
    n, size = 20_000, 300
    risk = rng.random(n)
    correct = rng.random(n) > 0.3 * risk
    scores = {"a": risk, "b": risk + 1e-4 * rng.random(n)}
    draws = []
    for _ in range(size):
        rows = rng.integers(0, n, n)
        a, b = (cl.selective_metrics(correct[rows], None, s[rows]) for s in scores.values())
        draws.append([b.aurc - a.aurc, b.augrc - a.augrc])
    expected = np.std(draws, axis=0)
    options = {"metrics": ("aurc", "augrc"), "n_resamples": 2000, "random_state": 0}
    found = cl.compare_scores(correct, None, scores, confidence=0.6827, **options)
    width = np.ptp(found.difference[:, 1, 1:], axis=1) / 2
    assert_allclose(width, expected, rtol=0.2)
    own = np.ptp(found.value[:, 1, 1:], axis=1) / 2
    assert (width < 0.02 * own).all()


def test_a_score_does_not_differ_from_its_increasing_functions():
    correct, scores = data()
    same = {"a": scores["exact"], "b": np.exp(3 * scores["exact"])}
    found = cl.compare_scores(correct, None, same, metrics=tuple(COMPARED), random_state=0)
    assert_array_equal(found.difference, 0)
    assert found.verdict("b", "aurc") == ""


def test_verdicts_follow_the_direction_of_the_metric():
    correct, scores = data(3000)
    found = cl.compare_scores(correct, None, scores, metrics=("aurc", "auroc"), random_state=0)
    assert found.verdict("exact", "aurc") == found.verdict("exact", "auroc") == "better"
    assert found.difference[0, 1, 0] < 0 < found.difference[1, 1, 0]
    turned = cl.compare_scores(correct, None, scores, baseline="exact", random_state=0)
    assert turned.verdict("noisy", "aurc") == "worse"
    assert turned.verdict("exact", "aurc") == ""
    assert turned.metrics == ("aurc", "augrc", "auroc")


def test_result():
    correct, scores = data(50)
    found = cl.compare_scores(correct, None, scores, metrics="auc", random_state=0)
    frame = found.to_pandas()
    assert frame.index.tolist() == list(scores)
    assert frame.columns.tolist() == [
        "metric", "value", "lower", "upper", "difference", "difference_lower",
        "difference_upper", "verdict",
    ]  # fmt: skip
    assert frame.loc["exact", "difference"] == found.difference[0, 1, 0]
    assert repr(found).startswith(
        "ScoreComparison(baseline='noisy', 50 rows, confidence 0.95)\nscore  "
    )
    both = cl.compare_scores(correct, None, scores, metrics=("aurc", "auc"), random_state=0)
    assert len(both) == 2 * len(scores)


def test_losses_weights_and_zero_weights():
    rng = np.random.default_rng(0)
    loss, weight = rng.random(80), np.r_[np.zeros(20), rng.random(60)]
    scores = {"a": rng.random(80), "b": rng.random(80)}
    options = {"metrics": "aurc", "random_state": 0, "n_resamples": 50}
    found = cl.compare_scores(None, None, scores, loss=loss, sample_weight=weight, **options)
    kept = {name: score[20:] for name, score in scores.items()}
    alone = cl.compare_scores(
        None, None, kept, loss=loss[20:], sample_weight=weight[20:], **options
    )
    assert_array_equal(found.difference, alone.difference)
    labels = cl.compare_scores([0, 1, 1], [0, 1, 0], {"a": [1, 2, 3]}, **options)
    assert labels.value[0, 0, 0] == pytest.approx(1 / 9)


@pytest.mark.slow
def test_intervals_of_weighted_rows_are_those_of_a_literal_bootstrap():
    rng = np.random.default_rng(3)
    n, size = 120, 600
    wrong, weight = rng.random(n) < 0.3, rng.exponential(size=n) ** 2
    scores = {"a": rng.random(n) + 0.5 * wrong, "b": rng.random(n) + 0.2 * wrong}
    draws = []
    for _ in range(size):
        rows = rng.integers(0, n, n)
        a, b = (
            cl.selective_metrics(None, None, s[rows], loss=wrong[rows], sample_weight=weight[rows])
            for s in scores.values()
        )
        draws.append([b.aurc - a.aurc, b.augrc - a.augrc, b.auroc - a.auroc])
    found = cl.compare_scores(
        None, None, scores, loss=wrong, sample_weight=weight, confidence=0.6827, n_resamples=2000,
        random_state=0,
    )  # fmt: skip
    width = np.ptp(found.difference[:, 1, 1:], axis=1) / 2
    assert_allclose(width, np.std(draws, axis=0), rtol=0.15)
    # Weights of such spread leave fewer instances that count.
    plain = cl.compare_scores(None, None, scores, loss=wrong, confidence=0.6827, random_state=0)
    assert (width > 1.3 * np.ptp(plain.difference[:, 1, 1:], axis=1) / 2).all()


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ({}, {}, "scores: is empty; pass a mapping"),
        ([[1, 2]], {}, "scores: is a list; pass a mapping"),
        ({"a": [1]}, {}, r"scores\['a'\]: has 1 entries; pass 2, as in y"),
        ({"a": [1, np.nan]}, {}, r"scores\['a'\]: is NaN at index 1"),
        ({"a": [1, 2]}, {"baseline": "b"}, "baseline: is 'b'; choose one of 'a'"),
        ({"a": [1, 2]}, {"metrics": "auc2"}, "metrics: is 'auc2'; choose one of"),
        ({"a": [1, 2]}, {"metrics": ()}, "metrics: is empty; choose from aurc"),
        ({"a": [1, 2]}, {"n_resamples": 0}, "n_resamples: is 0"),
        ({"a": [1, 2]}, {"confidence": 95}, "confidence: is 95"),
    ],
)
def test_refused(scores, options, message):
    with pytest.raises(ValueError, match=message):
        cl.compare_scores([True, False], None, scores, **options)
