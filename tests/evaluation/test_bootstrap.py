"""Bootstrap intervals: arguments, estimates, and the distribution of the resamples."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

import credalens as cl
from credalens.evaluation.bootstrap import REJECTED
from credalens.evaluation.curve_metrics import METRICS
from credalens.evaluation.resampling import UNIFORM_BLOCKS, resample_blocks
from credalens.evaluation.selective import compute_metrics

SHARES = [f"accuracy at {share:.0%} rejected" for share in REJECTED]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": -1}, "n_resamples: is -1"),
        ({"confidence": 1}, r"confidence: is 1; pass a number in \(0, 1\)"),
        ({"n_bins": 1}, "n_bins: is 1"),
        ({"max_rejection": 2}, "max_rejection: is 2"),
        ({"sample_weight": [1]}, "sample_weight: has 1 entries"),
        ({"loss": [1, 2, 3]}, "correct: has 2 entries; pass 3, as in loss"),
    ],
)
def test_invalid_arguments_raise(options, message):
    with pytest.raises(ValueError, match=message):
        cl.bootstrap([True, False], [0.1, 0.2], **options)


def test_labels_are_not_taken_for_correctness():
    with pytest.raises(ValueError, match="as correct whether each is correct, True or False"):
        cl.bootstrap([0, 2, 1], [0.1, 0.2, 0.3])


def test_results_depend_on_the_seed_alone():
    rng = np.random.default_rng(0)
    correct, score = rng.random(100) < 0.8, rng.random(100)
    for options in ({}, {"sample_weight": rng.random(100) * 2}):
        one, same, other = (
            cl.bootstrap(correct, score, random_state=s, **options).auc for s in (0, 0, 1)
        )
        assert one.tolist() == same.tolist() != other.tolist()
    curve = cl.rejection_curve(np.ones(100, bool), correct, score)
    assert cl.bootstrap(correct, score, n_resamples=1).auc[0] == curve.auc


def test_estimates_are_those_of_the_curve_and_the_metrics():
    rng = np.random.default_rng(1)
    right, score = rng.random(997) < 0.7, rng.random(997)
    found = cl.bootstrap(right, score, n_bins=13, n_resamples=20, max_rejection=0.5)
    curve = cl.rejection_curve(right, np.ones(997, bool), score, n_bins=13)
    assert found.auc[0] == curve.auc
    assert found.monotonicity_ratio[0] == curve.monotonicity_ratio
    metrics = cl.selective_metrics(right, None, score, max_rejection=0.5)
    for name in METRICS:
        assert getattr(found, name)[0] == getattr(metrics, name)
    order = cl.rejection_order(score)
    for share, printed in zip(REJECTED, found.accuracy_at, strict=True):
        assert printed[0] == right[order][math.floor(share * 997) :].mean()
    table = found.to_pandas()
    assert (table["lower"] <= table["estimate"]).drop(["monotonicity_ratio", "eaurc"]).all()
    assert (table["lower"] <= table["upper"]).all()
    assert table.index.tolist() == ["auc", "monotonicity_ratio", *SHARES, *METRICS]


def test_without_resamples():
    found = cl.bootstrap([True, False], [0.1, 0.2], n_bins=2, n_resamples=0)
    assert found.auc[0] == 0.75  # the mean of 1/2 and 1
    assert np.isnan(found.auc[1:]).all()
    assert np.isnan(found.auroc[1:]).all()


@pytest.mark.slow
def test_intervals_cover():
    rng = np.random.default_rng(0)
    covered = np.zeros(2)
    for seed in range(100):
        # The score is the probability of an error over 0.4: AUROC 2/3 in expectation.
        score = rng.random(300)
        right = rng.random(300) > 0.4 * score
        found = cl.bootstrap(right, score, random_state=seed, n_resamples=100)
        truth = (found.accuracy_at[0], 0.8), (found.auroc, 0.7083)
        covered += [low <= value <= high for (_, low, high), value in truth]
    assert (covered >= 87).all()


def test_metrics_without_errors_in_some_resamples():
    found = cl.bootstrap([True, True, False], [1, 2, 3], random_state=0)
    assert found.auroc.tolist() == [1, 1, 1]
    found = cl.bootstrap([True, True, True], [1, 2, 3], random_state=0)
    assert np.isnan(found.auroc).all()
    assert found.aurc.tolist() == [0, 0, 0]


def test_the_accuracy_on_all_rows_is_that_of_every_score():
    rng = np.random.default_rng(5)
    right = rng.random(400) > 0.3
    one, other = (cl.bootstrap(right, rng.random(400), random_state=0) for _ in range(2))
    assert np.array_equal(one.accuracy_at[0], other.accuracy_at[0])
    assert not np.array_equal(one.auc, other.auc)
    ends = binom.ppf([0.025, 0.975], 400, right.mean()) / 400
    assert one.accuracy_at[0, 1:] == pytest.approx(ends, abs=0.005)


# ---------------------------------------------------------------- the distribution


def outcome(right, score, cuts):
    """Metrics of one sample, rounded, without NaN."""
    found = compute_metrics(~right, None, [score], "average")
    accuracy = found._curve.quality_at(cuts)
    numbers = [found.aurc, found.augrc, found.eaurc, found.auroc, *accuracy]
    return tuple(np.nan_to_num(np.round(numbers, 9), nan=-1).tolist())


@pytest.mark.parametrize("score", [[1, 2, 3, 4], [1, 2, 2, 3], [1, 1, 1, 1]])
@pytest.mark.parametrize("right", [[1, 0, 0, 1], [0, 1, 1, 1]])
def test_resamples_are_as_likely_as_if_all_were_listed(right, score):
    right, score, size = np.array(right, bool), np.array(score, float), 20_000
    cuts = np.array([1.0, 3.0, 4.0])
    every = itertools.product(range(4), repeat=4)
    chances = Counter(outcome(right[list(rows)], score[list(rows)], cuts) for rows in every)
    curve = compute_metrics(~right, None, [score], "average")._curve
    drawn = resample_blocks(curve, cuts=cuts, max_rejection=1.0, n_resamples=size, random_state=0)
    metrics = drawn.metrics()
    columns = [metrics[name] for name in ("aurc", "augrc", "eaurc", "auroc")]
    table = np.nan_to_num(np.round([*columns, *drawn.accuracy[0]], 9), nan=-1)
    found = Counter(map(tuple, table.T.tolist()))
    assert set(found) <= set(chances)
    for kept, count in chances.items():
        p = count / 4**4
        assert abs(found[kept] / size - p) < 4 * math.sqrt(p * (1 - p) / size)


@pytest.mark.slow
@pytest.mark.parametrize("n_scores", [40, 10**9])
def test_intervals_are_those_of_drawing_rows(n_scores):
    # More rows than blocks: grouping changes the spread by less than the resamples do.
    rng = np.random.default_rng(3)
    n, size = 8 * UNIFORM_BLOCKS, 1500
    score = rng.integers(0, n_scores, n) / n_scores
    right = rng.random(n) > 0.5 * score
    cuts = np.array([n // 30, n // 2, n], float)
    curve = compute_metrics(~right, None, [score], "average")._curve
    drawn = resample_blocks(curve, cuts=cuts, max_rejection=0.5, n_resamples=size, random_state=0)
    table = np.array([*drawn.metrics().values(), *drawn.accuracy[0]])
    expected = []
    for _ in range(size):
        rows = rng.integers(0, n, n)
        one = compute_metrics(~right[rows], None, [score[rows]], "average", 0.5)
        expected.append([*(getattr(one, m) for m in METRICS), *one._curve.quality_at(cuts)])
    expected = np.array(expected).T
    error = expected.std(axis=1) * math.sqrt(2 / size)
    assert (abs(table.mean(axis=1) - expected.mean(axis=1)) < 4 * error).all()
    assert_allclose(table.std(axis=1), expected.std(axis=1), rtol=4 / math.sqrt(size))


@pytest.mark.slow
def test_losses_and_weights_by_drawing_rows():
    rng = np.random.default_rng(4)
    n, size = 60, 800
    loss, score, weight = rng.random(n), rng.integers(0, 20, n), rng.random(n) * 2
    options = {"loss": loss, "sample_weight": weight, "n_bins": 4, "n_resamples": size}
    found = cl.bootstrap(None, score, random_state=0, confidence=0.8, **options)
    draws = []
    for _ in range(size):
        rows = rng.integers(0, n, n)
        given = {"loss": loss[rows], "sample_weight": weight[rows]}
        one = cl.selective_metrics(None, None, score[rows], **given)
        curve = cl.rejection_curve(None, None, score[rows], 4, **given)
        draws.append([one.aurc, one.eaurc, one.augrc, one.prr, curve.auc])
    ends = np.quantile(draws, [0.1, 0.9], axis=0).T
    spread = np.std(draws, axis=0)
    for name, expected, sd in zip(
        ("aurc", "eaurc", "augrc", "prr", "auc"), ends, spread, strict=True
    ):
        # The standard error of a 10 % quantile is 1.7 sd / sqrt(size).
        assert_allclose(getattr(found, name)[1:], expected, atol=4 * 2.4 * sd / math.sqrt(size))
