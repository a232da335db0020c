"""The kernel that draws rows, against the metrics of the rows that it has drawn."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, kstest

from credalens import _kernels
from credalens.evaluation.curve_metrics import METRICS
from credalens.evaluation.resampling import resample_rows
from credalens.evaluation.selective import compute_metrics


def drawn(losses, weights, scores, cuts=(), n_resamples=100, seed=0, cap=1.0):
    return resample_rows(
        np.asarray(losses), weights, [[np.asarray(s, float)] for s in scores],
        cuts=np.asarray(cuts, float), max_rejection=cap, n_resamples=n_resamples,
        random_state=seed,
    )  # fmt: skip


def kernel(losses, scores, weights=None, cuts=(), n_resamples=70, seed=0, threads=2):
    """All outputs of the kernel."""
    n = len(losses)
    order = np.argsort(scores, axis=1, kind="stable").astype(np.int32)
    ordered = np.take_along_axis(np.asarray(scores), order, axis=1)
    last = np.ones(order.shape, np.uint8)
    last[:, :-1] = ordered[:, 1:] != ordered[:, :-1]
    S, C = len(scores), len(cuts)
    totals = np.full((2, n_resamples), np.nan)
    sums = np.full((2, S, n_resamples), np.nan)
    at = np.full((2, S, C, n_resamples), np.nan)
    assert n == order.shape[1]
    _kernels.resampled_risks(
        order, last, np.asarray(losses, float), weights, np.asarray(cuts, float), seed,
        *totals, *sums, *at, threads,
    )  # fmt: skip
    return [*totals, *sums, *at]


# ---------------------------------------------------------------- values of the drawn rows


#: Losses of nine rows; powers of 16 make the total loss tell how often each row was drawn.
POWERS = 16.0 ** np.arange(9)
LOSSES = {
    "powers": POWERS,
    "few errors": np.array([0, 0, 1, 0, 0, 1, 0, 0, 0], bool),
    "many errors": np.array([1, 0, 1, 1, 0, 1, 1, 1, 1], bool),
    "two values": np.array([5, 5, -2, 5, 5, 5, 5, -2, 5.0]),
    "one value": np.full(9, 0.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("losses", LOSSES.values(), ids=LOSSES.keys())
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_the_drawn_rows(weighted, losses):
    rng = np.random.default_rng(0)
    n = 9
    scores = rng.integers(0, 5, (3, n)).astype(float)
    weights = rng.random(n) * 2 if weighted else None
    cuts = np.array([1.0, 4.0, 9.0])
    if weighted:
        cuts *= weights.sum() / 9
    found = drawn(losses, weights, scores, cuts, 40, cap=0.5)
    totals = drawn(POWERS, None, scores, (), 40, cap=0.5).sums[0].loss
    for r, total in enumerate(totals):
        counts = np.array([int(total) // 16**i % 16 for i in range(n)])
        assert counts.sum() == n
        rows = np.repeat(np.arange(n), counts)
        given = None if weights is None else weights[rows]
        for s in range(3):
            one = compute_metrics(losses[rows], given, [scores[s][rows]], "average", 0.5)
            for name in METRICS:
                value = found.metrics(s)[name][r]
                assert_allclose(value, getattr(one, name), rtol=1e-9, atol=1e-9, err_msg=name)
            W = float(one._curve.end_weight[-1])
            retained = cuts * W / cuts[-1]
            quality = one._curve.quality_at(retained)
            assert_allclose(found.accuracy[s, :, r], quality, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_scores", [3, 300, 10**9])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.2, 1.0])
def test_counts_and_weights_agree(n_scores, share):
    # Unit weights have a path of their own: without loss, rows are counted only, and harmonic
    # numbers are approximated.
    rng = np.random.default_rng(1)
    n = 20_011
    losses = (rng.random(n) < share) * rng.random(n)
    scores = rng.integers(0, n_scores, (2, n)).astype(float)
    cuts = [1.0, 2.0, 700.0, 701.0, 5000.0, 20_000.0, float(n)]
    counted = kernel(losses, scores, None, cuts)
    weighted = kernel(losses, scores, np.ones(n), cuts)
    assert_array_equal(counted[0], n)
    for a, b in zip(counted, weighted, strict=True):
        assert_allclose(a, b, rtol=1e-8, atol=1e-9 * n * share)


def test_losses_of_both_signs_agree():
    rng = np.random.default_rng(2)
    n = 5000
    losses, scores = rng.choice([-1.0, 0.0, 1.0], n), rng.random((1, n))
    for a, b in zip(kernel(losses, scores), kernel(losses, scores, np.ones(n)), strict=True):
        assert_allclose(a, b, rtol=1e-8, atol=1e-8 * n)


def test_results_do_not_depend_on_threads_nor_on_the_number_of_resamples():
    rng = np.random.default_rng(0)
    losses, scores = rng.random(500) < 0.3, rng.random((2, 500))
    one, two = (kernel(losses, scores, cuts=[250], threads=t) for t in (1, 2))
    more = kernel(losses, scores, cuts=[250], n_resamples=200)
    other = kernel(losses, scores, cuts=[250], seed=1)
    for a, b, c, d in zip(one[1:], two[1:], more[1:], other[1:], strict=True):
        assert_array_equal(a, b)
        assert_array_equal(a, c[..., :70])
        assert not np.array_equal(a, d)


def test_seeds_share_no_resamples():
    rng = np.random.default_rng(0)
    losses, scores = rng.random(500), rng.random((1, 500))
    totals = [drawn(losses, None, scores, n_resamples=200, seed=s).sums[0].loss for s in range(5)]
    assert len(np.unique(totals)) == 5 * 200


# ---------------------------------------------------------------- distribution


def outcome(losses, scores, rows):
    each = [compute_metrics(losses[rows], None, [score[rows]], "average") for score in scores]
    return tuple(round(x, 9) for one in each for x in (one.aurc, one.augrc))


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True])
def test_pairs_are_as_likely_as_if_all_were_listed(ties):
    losses, size = np.array([0.0, 1.0, 1.0, 0.25]), 20_000
    scores = np.array([[1, 2, 3, 4], [2, 4, 1, 3]], float)
    if ties:
        scores = np.array([[1, 1, 2, 2], [1, 3, 3, 3]], float)
    every = itertools.product(range(4), repeat=4)
    chances = Counter(outcome(losses, scores, list(rows)) for rows in every)
    found = drawn(losses, None, scores, n_resamples=size)
    table = np.array([found.metrics(s)[name] for s in (0, 1) for name in ("aurc", "augrc")])
    counts = Counter(map(tuple, np.round(table, 9).T.tolist()))
    assert set(counts) <= set(chances)
    for numbers, count in chances.items():
        p = count / 4**4
        assert abs(counts[numbers] / size - p) < 4 * math.sqrt(p * (1 - p) / size)


@pytest.mark.parametrize("n", [1, 2, 30, 1000, 30_000])
def test_the_number_of_errors_is_binomial(n):
    wrong = np.arange(n) < max(1, n // 5)
    found = kernel(wrong, np.zeros((1, n)), n_resamples=2000)[1]
    rng = np.random.default_rng(0)  # jitter makes the distribution continuous
    at = found + rng.random(2000)

    def distribution(x):
        below = np.floor(x)
        start, stop = (binom.cdf(k, n, wrong.mean()) for k in (below - 1, below))
        return start + (x - below) * (stop - start)

    assert kstest(at, distribution).pvalue > 1e-3


def test_counts_of_rows_are_multinomial():
    n, size = 12, 20_000
    losses = 16.0 ** np.arange(n)
    totals = kernel(losses, np.zeros((1, n)), n_resamples=size)[1].astype(np.int64)
    counts = (totals[:, None] // 16 ** np.arange(n, dtype=np.int64)) % 16
    assert (counts.sum(axis=1) == n).all()
    covariance = np.eye(n) - 1 / n  # of n draws from n rows
    error = np.sqrt((1 + 2 * np.eye(n)) / size)
    assert (abs(np.cov(counts.T) - covariance) < 5 * error).all()
    assert (abs(counts.mean(axis=0) - 1) < 5 / math.sqrt(size)).all()
