"""The compiled loops on their own: every path, both dtypes, odd shapes, one thread or several.

These tests also run under AddressSanitizer and UBSan, so that an access outside a row is seen.
"""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from credalens import _kernels
from ensembles import ENSEMBLES, dirichlet, disagreeing

everywhere = pytest.mark.parametrize("P", ENSEMBLES.values(), ids=ENSEMBLES.keys())
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])

AUTOMATIC, PLAIN, SIGNS, SORTED = range(4)


def closed_forms(P, method=AUTOMATIC, threads=2):
    low, high, wide = np.full((3, len(P)), np.nan)
    _kernels.closed_forms(P, low, high, wide, None, threads, method=method)
    return low, high, wide


def diameter(P, method=AUTOMATIC, threads=2):
    wide = np.full(len(P), np.nan)
    _kernels.closed_forms(P, None, None, wide, None, threads, method=method)
    return wide


def widest_pair(P):
    """Largest L1 distance between two rows, one row against all others at a time."""
    P = P.astype(np.float64)
    return np.max([np.abs(P - P[:, m : m + 1]).sum(axis=2).max(axis=1)
                   for m in range(P.shape[1])], axis=0)  # fmt: skip


def solve(A, threads=2):
    n, M, K = A.shape
    value, gap = np.full((2, n), np.nan)
    weights, dual = np.full((n, M), np.nan), np.full((n, K), np.nan)
    _kernels.solve_games(A, value, gap, weights, dual, threads)
    return value, gap, weights, dual


def clustered(n, M, K, seed=0):
    """Members close together, with a few further out: most pairs need not be looked at."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(K, 2.0), (n, 1)) + 1e-3 * rng.random((n, M, K))
    P[:, :3] += 0.1 * rng.random((n, 3, K))
    return P / P.sum(axis=2, keepdims=True)


# ---------------------------------------------------------------- votes


@dtypes
@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 10, 16, 17, 47, 48, 50, 63, 64, 100, 257])
@pytest.mark.parametrize(("n", "M"), [(1, 1), (3, 5), (29, 2), (70, 10)])
def test_votes(dtype, n, M, K):
    rng = np.random.default_rng(K)
    for P in (rng.random((n, M, K)), rng.integers(0, 3, (n, M, K)) / 2):  # ties within members
        P = P.astype(dtype)
        vote, argmax = np.full(n, -1), np.full((n, M), -1, np.int32)
        _kernels.majority_vote(P, vote, argmax, 2)
        assert_array_equal(argmax, P.argmax(axis=2))
        assert_array_equal(vote, [oracles.majority_vote(instance) for instance in P])
        alone = np.full(n, -1)
        _kernels.majority_vote(P, alone, None, 1)
        assert_array_equal(alone, vote)


# ---------------------------------------------------------------- extremes


@everywhere
def test_extremes(P):
    low, high, _ = closed_forms(P)
    assert_array_equal(low, P.min(axis=1).max(axis=1))
    assert_array_equal(high, P.max(axis=(1, 2)))
    total = np.full(len(P), np.nan)
    _kernels.closed_forms(P, None, None, None, total, 2)
    assert_allclose(total, P.min(axis=1).sum(axis=1, dtype=float), rtol=1e-14)


@dtypes
@pytest.mark.parametrize("M", [1, 2, 3, 4, 5, 6, 7, 8, 9, 13])
@pytest.mark.parametrize("K", [1, 2, 7, 8, 9, 15, 16, 17, 33])
def test_extremes_and_pairs_at_every_tail(dtype, M, K):
    P = dirichlet(3, M, K, 0.5, seed=M * 100 + K).astype(dtype)
    low, high, wide = closed_forms(P, threads=1)
    assert_array_equal(low, P.min(axis=1).max(axis=1))
    assert_array_equal(high, P.max(axis=(1, 2)))
    assert_allclose(wide, widest_pair(P), rtol=1e-14, atol=1e-15)
    assert_allclose(diameter(P, PLAIN), wide, rtol=1e-14, atol=1e-15)
    assert_allclose(diameter(P, SORTED), wide, rtol=1e-14, atol=1e-15)
    if K <= 9:
        assert_allclose(diameter(P, SIGNS), wide, rtol=1e-14, atol=2e-15)


#: Instances whose pairs are summed along the rows: every tail, one round or several.
LONG = [(1, 100), (2, 97), (3, 96), (5, 103), (10, 100), (10, 700), (24, 111), (25, 700), (64, 300)]


@dtypes
@pytest.mark.parametrize(("M", "K"), LONG)
def test_pairs_along_rows(dtype, M, K):
    P = dirichlet(5, M, K, 0.5, seed=M * 100 + K).astype(dtype)
    low, high, wide = closed_forms(P)
    assert_array_equal(low, P.min(axis=1).max(axis=1))
    assert_array_equal(high, P.max(axis=(1, 2)))
    assert_allclose(wide, widest_pair(P), rtol=1e-14, atol=4e-15)
    found, pairs = np.full(5, np.nan), np.full((5, 2), M)
    _kernels.closed_forms(P, None, None, found, None, 2, pairs=pairs)
    assert ((pairs >= 0) & (pairs < M)).all()
    assert_allclose(found, wide, rtol=1e-14, atol=4e-15)
    left, right = (P[np.arange(5), side].astype(float) for side in pairs.T)
    assert_allclose(np.abs(left - right).sum(axis=1), found, rtol=1e-14)
    for scale in (1.0, 1e9, 1e-9):  # too close for sums of rows, whatever these are
        close = scale * (P[:, :1].astype(float) + 1e-11 * P).astype(dtype)
        assert_allclose(diameter(close), widest_pair(close), rtol=1e-13, atol=0)


@dtypes
@pytest.mark.parametrize(("M", "K"), LONG)
def test_pairs_along_rows_see_what_is_wrong(dtype, M, K):
    P = dirichlet(40, M, K, 0.5, seed=1).astype(dtype)
    outputs = np.empty((3, 40))
    for row, y in ((0, 0), (M - 1, K - 1), (M // 2, K - 8), (M // 3, K // 2)):
        for bad, wrong in ((17, np.nan), (39, -0.5), (3, 0.5), (0, np.inf)):
            spoilt = P.copy()
            spoilt[bad, row, y] = spoilt[bad, row, y] + wrong
            for threads in (1, 2):
                assert _kernels.closed_forms(spoilt, *outputs, None, threads, 1e-4) == bad
    assert _kernels.closed_forms(P, *outputs, None, 2, 1e-4) == -1


#: Instances that fill vectors by themselves: along their rows with every tail, or by members.
WIDE = [(70, 8), (60, 9), (53, 10), (6, 95), (33, 16), (40, 17), (9, 64), (1, 519), (2, 1000)]
WIDE += [(683, 3), (2051, 1), (300, 7), (1030, 2), (520, 4)]


@dtypes
@pytest.mark.parametrize(("M", "K"), WIDE)
def test_extremes_alone(dtype, M, K):
    P = dirichlet(5, M, K, 0.5, seed=M * 100 + K).astype(dtype)
    for y in range(K):  # the largest of the smallest is in every class once
        favoured = P.copy()
        favoured[y % 5, :, y] = 1.0 - 1e-3 * np.arange(M) / M
        low, high, total = np.full((3, 5), np.nan)
        _kernels.closed_forms(favoured, low, high, None, total, 2)
        assert_array_equal(low, favoured.min(axis=1).max(axis=1))
        assert_array_equal(high, favoured.max(axis=(1, 2)))
        assert_allclose(total, favoured.min(axis=1).sum(axis=1, dtype=float), rtol=1e-14)


@dtypes
@pytest.mark.parametrize("far", range(7))
def test_no_member_is_forgotten(dtype, far):
    # One member is elsewhere: wherever it stands, it makes the minimum, the maximum and the width.
    P = np.tile(dtype([0.25, 0.25, 0.5]), (1, 7, 1))
    P[0, far] = [0.75, 0.25, 0]
    low, high, wide = closed_forms(P)
    assert (low[0], high[0], wide[0]) == (0.25, 0.75, 1.0)
    for method in (PLAIN, SIGNS, SORTED):
        assert diameter(P, method)[0] == 1.0


@pytest.mark.parametrize("pair", [(0, 1), (0, 6), (1, 4), (2, 3), (3, 6), (5, 6)])
@pytest.mark.parametrize("method", [AUTOMATIC, PLAIN, SIGNS, SORTED])
def test_no_pair_is_forgotten(pair, method):
    P = np.tile([0.25, 0.25, 0.25, 0.25], (1, 7, 1))
    P[0, pair[0]] = [0.5, 0.5, 0, 0]
    P[0, pair[1]] = [0, 0, 0.5, 0.5]
    assert diameter(P, method)[0] == 2.0


def test_outputs_of_another_kind_are_refused():
    P = ENSEMBLES["disagreeing"]
    n = len(P)
    good = [np.empty(n) for _ in range(3)]
    for bad in (np.empty(n, np.float32), np.empty(2 * n)[::2], np.empty((n, 1))):
        with pytest.raises(TypeError):
            _kernels.closed_forms(P, *good[:2], bad, None, 1)
        with pytest.raises(TypeError):
            _kernels.min_entropy(P, bad, None, 1)


def test_outputs_that_are_not_wanted():
    P = ENSEMBLES["disagreeing"]
    everything = np.full((4, len(P)), np.nan)
    _kernels.closed_forms(P, *everything, 2)
    one = np.empty(len(P))
    for position, expected in enumerate(everything):
        outputs = [None, None, None, None]
        outputs[position] = one
        _kernels.closed_forms(P, *outputs, 2)
        assert_array_equal(one, expected)
    _kernels.closed_forms(P, None, None, None, None, 2)


@dtypes
@pytest.mark.parametrize("n", [1, 8, 21])
@pytest.mark.parametrize(("M", "K"), [(1, 4), (2, 1), (2, 2), (5, 3), (7, 10), (4, 17), (3, 500)])
def test_cumulative_diameter(dtype, n, M, K):
    P = dirichlet(n, M, K, 0.5, seed=M * 100 + K).astype(dtype)
    below = np.cumsum(P, axis=2, dtype=float)[..., :-1]
    expected = np.abs(below[:, :, None] - below[:, None]).max(axis=(1, 2, 3), initial=0.0)
    for threads in (1, 2):
        wide = np.full(n, np.nan)
        _kernels.kolmogorov_diameter(P, wide, threads)
        assert_array_equal(wide, expected)


@dtypes
@pytest.mark.parametrize("M", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("K", [1, 3, 8, 17])
def test_bounds_of_each_class(dtype, M, K):
    P = dirichlet(5, M, K, 0.5, seed=M * 100 + K).astype(dtype)
    low, high = np.full((2, 5, K), np.nan)
    _kernels.class_bounds(P, low, high, 2)
    assert_array_equal(low, P.min(axis=1))
    assert_array_equal(high, P.max(axis=1))
    one = np.empty((5, K))
    _kernels.class_bounds(P, one, None, 1)
    assert_array_equal(one, low)
    _kernels.class_bounds(P, None, one, 1)
    assert_array_equal(one, high)


@dtypes
@pytest.mark.parametrize(("M", "K"), [(1, 4), (4, 3), (5, 10), (6, 100), (3, 300), (40, 10)])
def test_an_instance_does_not_feel_its_neighbours(dtype, M, K):
    # Several instances are gone through at once, whatever number is left for the last time.
    P = dirichlet(19, M, K, 0.5, seed=M * 100 + K).astype(dtype)
    whole = closed_forms(P)
    places = np.empty((19, 2), np.int64)
    _kernels.closed_forms(P, None, None, np.empty(19), None, 1, pairs=places)
    entropy, members = np.empty(19), np.empty(19, np.int64)
    _kernels.min_entropy(P, entropy, members, 1)
    for first in range(19):
        for stop in range(first + 1, 20):
            part = slice(first, stop)
            for one, all_of_them in zip(closed_forms(P[part]), whole, strict=True):
                assert_array_equal(one, all_of_them[part])
            pairs = np.empty((stop - first, 2), np.int64)
            _kernels.closed_forms(P[part], None, None, np.empty(len(pairs)), None, 1, pairs=pairs)
            assert_array_equal(pairs, places[part])
            value, member = np.empty(len(pairs)), np.empty(len(pairs), np.int64)
            _kernels.min_entropy(P[part], value, member, 1)
            assert_array_equal(value, entropy[part])
            assert_array_equal(member, members[part])


# ---------------------------------------------------------------- the widest pair


@pytest.mark.parametrize(
    ("name", "method"),
    [
        (name, method)
        for name, P in ENSEMBLES.items()
        for method in (AUTOMATIC, PLAIN, SIGNS, SORTED)
        if method != SIGNS or P.shape[2] <= 12  # there are 2^K sign vectors
    ],
)
def test_pair_methods_agree(name, method):
    P = ENSEMBLES[name]
    assert_allclose(diameter(P, method), widest_pair(P), rtol=1e-13, atol=2e-15)


# (1000, 10): 2^9 < 1000 * 10 / 4, where the automatic choice is signs; (60, 3), (20, 2) as well.
@dtypes
@pytest.mark.parametrize(("M", "K"), [(1000, 10), (257, 9), (60, 3), (20, 2), (9, 1), (301, 8)])
def test_signs_where_they_are_chosen(dtype, M, K):
    for P in (dirichlet(2, M, K, seed=1), clustered(2, M, K)):
        P = P.astype(dtype)
        expected = widest_pair(P)
        for method in (AUTOMATIC, PLAIN, SIGNS, SORTED):
            assert_allclose(diameter(P, method), expected, rtol=1e-13, atol=2e-15)


# 2^(K-1) >= M K / 4 and M >= 200, where the automatic choice is sorted.
@dtypes
@pytest.mark.parametrize(("M", "K"), [(200, 12), (201, 30), (333, 25)])
@pytest.mark.parametrize("kind", ["clustered", "spread", "equal", "two clusters"])
def test_sorted_where_it_is_chosen(dtype, M, K, kind):
    if kind == "clustered":
        P = clustered(2, M, K, seed=2)
    elif kind == "spread":
        P = dirichlet(2, M, K, 0.3, seed=3)
    elif kind == "equal":
        P = np.repeat(dirichlet(2, 1, K), M, axis=1)
    else:
        P = np.concatenate([clustered(2, M // 2, K, 4), clustered(2, M - M // 2, K, 5)], axis=1)
    P = P.astype(dtype)
    expected = widest_pair(P)
    for method in (AUTOMATIC, PLAIN, SORTED):
        assert_allclose(diameter(P, method), expected, rtol=1e-13, atol=1e-15)


def test_signs_do_not_need_rows_that_sum_to_one():
    P = np.random.default_rng(0).random((3, 200, 5))
    assert_allclose(diameter(P, SIGNS), widest_pair(P), rtol=1e-14)


def test_equal_members_are_exactly_zero_wide():
    for M, K in ((5, 7), (6, 300), (300, 4), (300, 20)):
        P = np.repeat(dirichlet(2, 1, K), M, axis=1)
        for method in (AUTOMATIC, PLAIN, SORTED) + ((SIGNS,) if K < 10 else ()):
            assert_array_equal(diameter(P, method), 0)


def few_classes(kind, n, M, K, dtype):
    rng = np.random.default_rng(M)
    P = rng.dirichlet(np.full(K, rng.choice([0.2, 1.0, 30.0])), (n, M))
    if kind == "off":
        P *= 1 + rng.uniform(-9e-7, 9e-7, (n, M, 1))
    if kind == "close":
        P = P[:, :1] * (1 + 1e-13 * rng.random((n, M, 1)))
    if kind == "certain":
        P = np.where(rng.random((n, M, 1)) < 0.5, np.eye(K)[rng.integers(0, K, (n, M))], P)
    if kind == "tenths":
        P = rng.multinomial(10, np.full(K, 1 / K), (n, M)) / 10
    return P.astype(dtype)


KINDS = pytest.mark.parametrize("kind", ["spread", "off", "close", "certain", "tenths"])


@dtypes
@KINDS
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("M", [1, 3, 4, 9, 60])
def test_diameters_of_two_and_three_classes(M, K, kind, dtype):
    P = few_classes(kind, 37, M, K, dtype)
    assert_allclose(diameter(P), widest_pair(P), rtol=1e-8, atol=1e-15)
    assert_array_equal(diameter(P[:, ::-1].copy()), diameter(P))
    for i in (0, 7, 36):
        assert_array_equal(diameter(P[i : i + 1]), diameter(P)[i : i + 1])


@dtypes
@KINDS
@pytest.mark.parametrize("M", [1, 2, 3, 9, 16, 17, 60])
def test_games_of_two_classes(M, kind, dtype):
    """Against the crossings of all pairs of lines and the ends."""
    P = few_classes(kind, 37, M, 2, dtype)
    total, lower, upper, gap = np.full((4, 37), np.nan)
    _kernels.tv_uncertainty(P, total, lower, upper, None, gap, 2)
    A = P.astype(np.float64)
    assert (gap <= 1e-13).all()
    for i in range(37):
        a, b = A[i].T
        slopes = (a - b)[:, None] - (a - b)
        with np.errstate(divide="ignore", invalid="ignore"):
            q = ((b[None] - b[:, None]) / slopes).ravel()
        q = np.r_[0.0, 1.0, q[(q >= 0) & (q <= 1)]]
        value = (q[:, None] * a + (1 - q[:, None]) * b).min(axis=1).max()
        assert_allclose(upper[i], 1 - value, rtol=0, atol=2e-13)
        assert lower[i] <= upper[i] <= total[i]
        one = np.full((4, 1), np.nan)
        _kernels.tv_uncertainty(P[i : i + 1, ::-1].copy(), *one[:3], None, one[3], 1)
        assert_array_equal(one[:3, 0], [total[i], lower[i], upper[i]])


# ---------------------------------------------------------------- games


def assert_certified(A, value, gap, weights, dual):
    """The answer proves itself on the data: see kernels/games/matrix_game.hpp."""
    A = A.astype(np.float64)
    assert (weights >= 0).all()
    assert (dual >= 0).all()
    assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert_allclose(dual.sum(axis=1), 1, rtol=0, atol=1e-12)
    attained = np.einsum("nm,nmk->nk", weights, A).max(axis=1)
    bound = np.einsum("nmk,nk->nm", A, dual).min(axis=1)
    assert_allclose(value, attained, rtol=0, atol=1e-14 * A.max())
    assert (gap >= 0).all()
    assert_allclose(gap, np.maximum(attained - bound, 0), rtol=0, atol=1e-14 * A.max())
    assert (gap <= 1e-9 * A.max()).all()


@everywhere
def test_games_are_certified_on_the_data(P):
    value, gap, weights, dual = solve(P)
    assert_certified(P, value, gap, weights, dual)
    assert (gap <= 1e-12).all()


@dtypes
@pytest.mark.parametrize(
    ("M", "K"),
    [(1, 1), (1, 9), (9, 1), (2, 2), (2, 300), (300, 2), (10, 10), (17, 16), (16, 17),
     (9, 64), (9, 65), (64, 9), (65, 9), (40, 200), (200, 40), (130, 131)],
)  # fmt: skip
def test_games_of_every_shape(dtype, M, K):
    for P in (disagreeing(3, M, K, seed=M + K), dirichlet(3, M, K, 0.3, seed=M + K)):
        P = P.astype(dtype)
        assert_certified(P, *solve(P))


@pytest.mark.parametrize(("M", "K"), [(6, 6), (3, 40), (40, 3), (12, 150)])
def test_games_with_costs_between_one_and_two(M, K):
    A = 1 + np.random.default_rng(M + K).random((20, M, K))
    assert_certified(A, *solve(A))


def test_games_with_small_integers_are_degenerate_and_still_certified():
    A = 1 + np.random.default_rng(0).integers(0, 2, (300, 7, 6)).astype(float)
    value, gap, weights, dual = solve(A)
    assert_certified(A, value, gap, weights, dual)
    assert (gap <= 1e-12).all()


@dtypes
@pytest.mark.parametrize(("M", "K"), [(6, 3), (7, 3), (64, 5), (160, 10), (129, 64), (140, 70)])
def test_games_of_members_that_are_even_on_the_whole(dtype, M, K):
    P = dirichlet(30, M, K).astype(dtype)
    P[:5] *= 1 + 1e-9  # rows that no longer sum to 1
    P[5:10, M // 2 :] = P[5:10, : M - M // 2]  # each member twice
    value, gap, weights, dual = solve(P)
    assert_certified(P, value, gap, weights, dual)
    assert (gap <= 1e-12).all()
    sums = P.sum(axis=2, dtype=np.float64).min(axis=1)
    assert (value >= sums / K - 1e-15).all()
    assert (value[10:] <= 1 / K + 1e-6).any()


@dtypes
@pytest.mark.parametrize("shape", [(2, 2), (2, 24), (3, 9), (10, 10), (16, 3), (16, 16), (9, 17)])
def test_one_game_is_the_same_as_in_lanes(dtype, shape):
    rng = np.random.default_rng(sum(shape))
    integers = 1 + rng.integers(0, 3, (40, *shape)).astype(dtype)  # ties and degenerate steps
    for A in (disagreeing(40, *shape).astype(dtype), integers):
        together = solve(A)
        for one in range(len(A)):
            alone = solve(A[one : one + 1])
            for expected, found in zip(together, alone, strict=True):
                assert_array_equal(found[0], expected[one])


def test_game_by_hand():
    # Matching pennies on {0, 1}: value 1/2, both sides mix equally.
    value, gap, weights, dual = solve(np.eye(2)[None])
    assert value[0] == pytest.approx(0.5, abs=1e-15)
    assert_allclose(weights[0], [0.5, 0.5], atol=1e-15)
    assert_allclose(dual[0], [0.5, 0.5], atol=1e-15)
    assert gap[0] <= 1e-15


def test_pure_saddle_is_exact():
    A = np.array([[[0.3, 0.1], [0.6, 0.4]]])  # the first row is smaller everywhere
    value, gap, weights, _ = solve(A)
    assert value[0] == 0.3
    assert gap[0] == 0
    assert_array_equal(weights[0], [1, 0])


def test_games_without_weights_are_the_same():
    P = ENSEMBLES["disagreeing"]
    expected, expected_gap, _, _ = solve(P)
    value, gap = np.empty((2, len(P)))
    _kernels.solve_games(P, value, gap, None, None, 1)
    assert_array_equal(value, expected)
    assert_array_equal(gap, expected_gap)


# ---------------------------------------------------------------- many classes


def _confident(n, M, K, rng):
    return np.eye(K)[rng.integers(0, K, (n, M))]


def _close(share):
    def members(n, M, K, rng):
        same = rng.dirichlet(np.ones(K), (n, 1))
        return np.abs(same * (1 + share * rng.standard_normal((n, M, K))))

    return members


MANY_CLASSES = {
    "any": lambda n, M, K, rng: rng.dirichlet(np.ones(K), (n, M)),
    "one-hot": _confident,
    "a little apart": _close(1e-7),
    "hardly apart": _close(1e-12),
    "equal": _close(0),
    "tiny": lambda n, M, K, rng: 1e-12 * rng.dirichlet(np.ones(K), (n, M)),
    "too large": lambda n, M, K, rng: 50 * rng.random((n, M, K)),
    "zeros and ones": lambda n, M, K, rng: rng.integers(0, 2, (n, M, K)).astype(float),
    "signed": lambda n, M, K, rng: rng.standard_normal((n, M, K)),
}


@dtypes
@pytest.mark.parametrize(("M", "K"), [(1, 100), (2, 96), (3, 97), (7, 203), (10, 1500), (40, 128)])
@pytest.mark.parametrize("kind", MANY_CLASSES)
def test_the_widest_pair_of_many_classes(kind, M, K, dtype):
    P = MANY_CLASSES[kind](5, M, K, np.random.default_rng(M)).astype(dtype)
    exact = P.astype(np.longdouble)
    apart = np.abs(exact[:, :, None] - exact[:, None]).sum(axis=-1).max(axis=(1, 2))
    low, high, wide = closed_forms(P)
    # Without wide vectors small distances are differences of sums, and as exact as those.
    assert_allclose(wide, apart.astype(float), rtol=4e-15, atol=4e-15 * np.abs(P).sum(-1).max())
    assert_array_equal(low, P.min(axis=1).max(axis=1))
    assert_array_equal(high, P.max(axis=(1, 2)))


def test_counts_of_unit_size_do_not_decide():
    # Rows are compared in whole units first. To the last one, the first of the others is the
    # farther by what is left of units, the second by their number.
    K, unit = 100, 2.0**-28
    row = np.zeros((1, 3, K))
    row[0, :2, :50] = 2_000_000 * unit
    row[0, 0, :50] += 0.99 * unit
    row[0, 1, :25] += unit
    apart = np.abs(row[0, :2] - row[0, 2]).sum(axis=-1)
    assert apart[0] > apart[1] + 20 * unit
    assert_allclose(closed_forms(row)[2], apart[:1], rtol=1e-15)


# ---------------------------------------------------------------- batches and threads


@everywhere
def test_uncertainty_is_the_other_kernels_together(P):
    total, lower, upper, epistemic, gap = results = np.full((5, len(P)), np.nan)
    _kernels.tv_uncertainty(P, *results, 2)
    low, high, wide = closed_forms(P)
    value, expected_gap, _, _ = solve(P)
    several = P.shape[2] > 1
    # Games of two classes have a solver of their own, without weights.
    rounding = 2e-13 if P.shape[2] == 2 else 0
    for probability, rest, atol in ((low, total, 0), (high, lower, 0), (value, upper, rounding)):
        expected = np.maximum(1 - probability, 0) if several else 0 * low
        assert_allclose(rest, expected, rtol=0, atol=atol)
    assert_array_equal(epistemic, wide / 4 if several else 0 * low)
    assert_allclose(gap, expected_gap, rtol=0, atol=rounding)
    some = np.full((3, len(P)), np.nan)
    _kernels.tv_uncertainty(P, some[0], some[1], None, some[2], None, 2)
    assert_array_equal(some, results[[0, 1, 3]])
    _kernels.tv_uncertainty(P, some[0], some[1], some[2], None, gap, 2)
    assert_array_equal(some, results[[0, 1, 2]])


def test_many_results_are_settled_by_several_threads():
    P = dirichlet(300_000, 2, 2)
    low, high, wide = closed_forms(P)
    total, lower, epistemic = np.empty((3, len(P)))
    _kernels.tv_uncertainty(P, total, lower, None, epistemic, None, 3)
    assert_array_equal(total, 1 - low)
    assert_array_equal(lower, 1 - high)
    assert_array_equal(epistemic, wide / 4)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux lists threads there")
@pytest.mark.skipif("CREDALENS_AVOID_CALLER_CPU" in os.environ, reason="affinity is changed")
def test_threads_keep_their_cpu_affinity():
    P = dirichlet(100_000, 5, 5)
    for _ in range(3):
        closed_forms(P, threads=4)
    allowed = os.sched_getaffinity(0)
    threads = [int(task.name) for task in Path("/proc/self/task").iterdir()]
    assert len(threads) >= 4
    assert all(os.sched_getaffinity(thread) == allowed for thread in threads)


@dtypes
@pytest.mark.parametrize(("n", "M", "K"), [(3000, 5, 6), (41, 250, 12), (60, 9, 200)])
def test_results_do_not_depend_on_threads_or_batch(dtype, n, M, K):
    P = disagreeing(n, M, K, seed=5).astype(dtype)
    many = [np.empty((5, n)) for _ in range(2)]
    for outputs, threads in zip(many, (1, 4), strict=True):
        _kernels.tv_uncertainty(P, *outputs, threads)
    assert_array_equal(many[0], many[1])
    for i in (0, 1, n // 2, n - 1):
        alone = np.empty((5, 1))
        _kernels.tv_uncertainty(P[i : i + 1], *alone, 1)
        assert_array_equal(alone[:, 0], many[0][:, i])


@dtypes
def test_empty_batches(dtype):
    P = np.empty((0, 3, 4), dtype)
    closed_forms(P)
    solve(P)
    _kernels.tv_uncertainty(P, *np.empty((5, 0)), 2)
    assert _kernels.first_invalid_row(np.empty((0, 4), dtype), 1e-6, 2) == -1


@dtypes
def test_inputs_are_only_read(dtype):
    P = disagreeing(50, 6, 9).astype(dtype)
    before = P.copy()
    closed_forms(P)
    solve(P)
    assert_array_equal(P, before)


# ---------------------------------------------------------------- input validation


@dtypes
@pytest.mark.parametrize("K", [1, 2, 7, 8, 9, 16, 21])
def test_bad_entries_are_seen_at_every_position(dtype, K):
    rows = np.full((21, K), 1 / K, dtype)
    assert _kernels.first_invalid_row(rows, 1e-6, 1) == -1
    for y in range(K):
        for bad in (np.nan, np.inf, -np.inf, -1e-30, 2.0):
            row = (3 * y) % 21
            wrong = rows.copy()
            wrong[row, y] = bad
            if bad == -1e-30 and K > 1:
                wrong[row, y - 1] += dtype(1) - wrong[row].sum()  # only the sign is wrong
            assert _kernels.first_invalid_row(wrong, 1e-6, 1) == row


@dtypes
def test_first_of_many_bad_rows_whatever_the_threads(dtype):
    rows = np.full((400_000, 2), 0.5, dtype)
    for first in (0, 1, 131_071, 131_072, 399_999):
        wrong = rows.copy()
        wrong[first:] = 0.4
        for threads in (1, 2, 4):
            assert _kernels.first_invalid_row(wrong, 1e-6, threads) == first


def test_tolerance_is_inclusive_and_two_sided():
    for off in (2.0**-20, -(2.0**-20)):
        rows = np.array([[0.5, 0.5 + off]])
        assert _kernels.first_invalid_row(rows, 2.0**-20, 1) == -1
        assert _kernels.first_invalid_row(rows, 2.0**-21, 1) == 0


def test_at_once():
    def kernel(block, first, none, second, *rest):
        assert (first.shape, none, second.shape, rest) == ((4,), None, (4, 2), (7, "x"))
        assert first.dtype == second.dtype == block.dtype
        second[:] = 3.0
        return "answer"

    P = dirichlet(4, 3, 5)
    shapes = [(), None, (2,)]
    answer, (_, none, second) = _kernels.call_whole_array(kernel, P, shapes, P.nbytes, (7, "x"))
    assert (answer, none, second.tolist()) == ("answer", None, [[3.0, 3.0]] * 4)
    others = [P.astype(np.float32), P.astype(">f8"), P[0], P[:, ::2], P[:0], P.tolist()]
    for other in others:
        assert _kernels.call_whole_array(kernel, other, shapes, 1 << 20, (7, "x")) is None
    assert _kernels.call_whole_array(kernel, P, shapes, P.nbytes - 1, (7, "x")) is None
    rows, numbers = P[:, 0].copy(), np.arange(4.0)

    def several(first, second, value, *rest):
        assert (first is rows, second is numbers, value.shape, rest) == (True, True, (4,), ("x",))

    assert _kernels.call_whole_array(several, (rows, numbers), [()], 1 << 20, ("x",)) is not None
    others = [
        (rows, numbers[:3]), (rows, numbers[::-1]), (rows.astype(np.float32), numbers),
        (rows, np.arange(4)), (rows, 1.0), (np.float64(1), numbers), (rows.T, numbers), (),
        (rows[:0], numbers[:0]),
    ]  # fmt: skip
    for other in others:
        assert _kernels.call_whole_array(several, other, [()], 1 << 20, ("x",)) is None
    with pytest.raises(ZeroDivisionError):
        _kernels.call_whole_array(lambda block: 1 / 0, P, (), 1 << 20)
    with pytest.raises(ValueError, match="too many arguments"):
        _kernels.call_whole_array(lambda *all: None, P, [()] * 16, 1 << 20)


@dtypes
@pytest.mark.parametrize("shape", [(9, 2, 3), (9, 10, 3), (9, 10, 10), (9, 30, 17), (9, 5, 100)])
def test_a_few_instances_are_found_as_many_are(dtype, shape):
    P = dirichlet(*shape).astype(dtype)
    P[:, :, 0] = P[:, :1, 0]  # ties
    expected = np.empty((3, 9))
    _kernels.closed_forms(P, *expected, None, 1)
    for n in range(1, 6):
        for wanted in itertools.product([True, False], repeat=3):
            found = [np.empty(n) if want else None for want in wanted]
            _kernels.closed_forms(P[:n], *found, None, 1, 10.0)
            for one, all_of_them in zip(found, expected, strict=True):
                if one is not None:
                    assert_array_equal(one, all_of_them[:n])


def test_the_upper_end_needs_the_others():
    total, lower, upper, gap = np.empty((4, 2))
    for outputs in [(None, lower, upper, None, gap), (total, lower, upper, None, None)]:
        with pytest.raises(ValueError, match="upper needs"):
            _kernels.tv_uncertainty(dirichlet(2, 3, 4), *outputs, 1)


#: Shapes of every way through the closed forms: in lanes, in lanes with sums, by signs, sorted,
#: by rows, and too large for lanes.
PASSING = [(21, 2, 3), (40, 3, 9), (21, 7, 10), (9, 10, 60), (9, 30, 3), (5, 210, 9), (3, 20, 900)]
PASSING += [(5, M, K) for M, K in [*WIDE, (4, 101), (9, 3000)]]


@dtypes
@pytest.mark.parametrize("shape", PASSING, ids=str)
@pytest.mark.parametrize(
    "wanted", ["extremes", "diameter", "all", "uncertainty", "largest entropy", "smallest entropy"]
)
def test_rows_are_checked_in_passing(dtype, shape, wanted):
    n, M, _ = shape
    P = dirichlet(*shape).astype(dtype)

    def first_bad(P, tolerance=1e-5, threads=2):
        low, high, wide, value, gap = np.full((5, n), np.nan)
        if wanted == "uncertainty":
            return _kernels.tv_uncertainty(P, low, high, value, wide, gap, threads, tolerance)
        if wanted == "largest entropy":
            return _kernels.max_entropy(P, value, gap, None, None, threads, tolerance)
        if wanted == "smallest entropy":
            return _kernels.min_entropy(P, value, None, threads, tolerance)
        low, high = (None, None) if wanted == "diameter" else (low, high)
        wide = None if wanted == "extremes" else wide
        return _kernels.closed_forms(P, low, high, wide, None, threads, tolerance)

    assert first_bad(P) == -1
    rng = np.random.default_rng(0)
    for bad in (np.nan, np.inf, -np.inf, -1e-30, 2.0):
        for _ in range(6):
            i, m, y = (int(rng.integers(size)) for size in shape)
            wrong = P.copy()
            if bad == -1e-30:  # only the sign is wrong
                wrong[i, m, y - 1] += wrong[i, m, y]
            wrong[i, m, y] = bad
            later = min(i + 2, n - 1)
            wrong[later, 0] = 0.9
            assert first_bad(wrong, threads=1) == first_bad(wrong) == i
            assert first_bad(wrong, -1.0) == -1  # nobody asked
    off = P.copy()
    off[n // 2, M - 1] *= 1 + 1e-3
    assert first_bad(off, 1e-4) == first_bad(off, 0.99e-3) == n // 2
    assert first_bad(off, 1e-2) == first_bad(off, 1.01e-3) == -1


@pytest.mark.parametrize(("first", "good"), [(1 - 5e-6, True), (1 - 1e-6, False)])
def test_sums_are_those_of_double_precision(first, good):
    # What is added to a number near 1 is lost in single precision, 374 times.
    P = np.zeros((1, 2, 3000), np.float32)
    P[0, :, ::8] = 2.5e-8
    P[0, :, 0] = first
    assert (np.abs(P.sum(axis=-1, dtype=float) - 1) < 4.7e-6).all() == good
    low, high, wide = np.empty((3, 1))
    assert _kernels.closed_forms(P, low, high, wide, None, 1, 4.7e-6) == (-1 if good else 0)


@dtypes
def test_more_instances_than_are_checked_at_a_time(dtype):
    P = np.repeat(dirichlet(90, 1, 60), 100, axis=1).astype(dtype)
    value, gap = np.empty((2, len(P)))
    for i in (0, 7, 8, 9, 30, 55, 89):
        wrong = P.copy()
        wrong[i, i, 3] = np.nan
        assert _kernels.max_entropy(wrong, value, gap, None, None, 1, 1e-5) == i
        assert _kernels.min_entropy(wrong, value, None, 1, 1e-5) == i


@dtypes
def test_what_is_found_does_not_depend_on_the_check(dtype):
    for shape in PASSING:
        P = dirichlet(*shape).astype(dtype)
        one, other = np.full((2, 3, len(P)), np.nan)
        _kernels.closed_forms(P, *one, None, 2)
        _kernels.closed_forms(P, *other, None, 2, 1e-5)
        assert_array_equal(one, other)


@pytest.mark.parametrize("apart", [1e-3, 1e-7, 1e-9, 1e-15])
def test_members_close_together_keep_their_digits(apart):
    P = np.repeat(dirichlet(11, 1, 10), 8, axis=1)
    P[:, 3, 2] += apart * np.linspace(0.5, 1, 11)
    P[:, 5, 4] -= apart / 3
    assert_allclose(diameter(P), widest_pair(P), rtol=1e-7)
    assert_array_equal(diameter(np.repeat(P[:, :1], 6, axis=1)), 0)


# ---------------------------------------------------------------- what the bindings refuse


@pytest.mark.parametrize(
    "P",
    [
        np.full((2, 2, 2), 0.5)[:, :, ::-1],
        np.asfortranarray(np.full((2, 3, 4), 0.25)),
        np.full((2, 2, 2), 0.5).astype(">f8"),
        np.ones((2, 2, 1), np.int64),
        np.full((2, 2), 0.5),
    ],
    ids=["reversed", "fortran", "byte-swapped", "integers", "two axes"],
)
def test_awkward_arrays_are_not_converted_in_silence(P):
    with pytest.raises(TypeError):
        _kernels.closed_forms(P, None, None, np.empty(2), None, 1)


def test_instruction_set_is_named():
    assert _kernels.instruction_set() in {"baseline", "x86-64-v3", "x86-64-v4"}


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_signs_for_vectors_that_are_no_distributions(scale):
    X = np.random.default_rng(0).normal(-3.0, 1.0, (3, 300, 6)) * scale
    assert_allclose(diameter(X, SIGNS), widest_pair(X), rtol=1e-13)


# ---------------------------------------------------------------- one member left out


#: Too many entries for lanes, on top of all others.
BEYOND = {**ENSEMBLES, "beyond lanes": dirichlet(3, 9, 2000)}


def leave_one_out(P, threads=2):
    n, M, _ = P.shape
    (low, wide), (lower, spread, squares) = np.full((2, n), np.nan), np.full((3, n, M), np.nan)
    widest, top = np.full((n, M), 9, np.uint8), np.full((n, M), -1, np.int32)
    _kernels.leave_one_out(P, low, wide, lower, spread, widest, squares, top, threads)
    return low, wide, lower, spread, widest, squares, top


@pytest.mark.parametrize("P", BEYOND.values(), ids=BEYOND.keys())
@dtypes
def test_leave_one_out_is_the_closed_forms_of_the_others(P, dtype):
    P = np.ascontiguousarray(P, dtype)
    M = P.shape[1]
    low, wide, lower, spread, widest, squares, top = leave_one_out(P)
    whole = closed_forms(P)
    assert_allclose(low, whole[0], rtol=1e-12)
    assert_allclose(wide, whole[2], rtol=1e-12, atol=1e-15)
    assert_array_equal(top, P.argmax(axis=2))
    assert_allclose(squares, (P.astype(np.float64) ** 2).sum(axis=2), rtol=1e-12)
    for m in range(M if 1 < M <= 12 else 0):
        others = closed_forms(np.ascontiguousarray(np.delete(P, m, axis=1)))
        assert_allclose(low + lower[:, m], others[0], rtol=1e-12)
        assert_allclose(wide - spread[:, m], others[2], rtol=1e-12, atol=1e-15)
        far = np.abs(P.astype(np.float64) - P[:, m : m + 1]).sum(axis=2).max(axis=1)
        assert_array_equal(widest[:, m], (far >= (1 - 1e-12) * wide) & (wide > 0))


@dtypes
@pytest.mark.parametrize("shape", [(11, 4, 10), (9, 20, 6), (3, 35, 4), (2, 5, 1700)], ids=str)
def test_a_member_with_a_twin_changes_nothing(dtype, shape):
    P = np.repeat(dirichlet(*shape), 2, axis=1).astype(dtype)
    _, wide, lower, spread, *_ = leave_one_out(P)
    assert (wide > 0).all()
    assert_array_equal(lower, 0)
    assert_array_equal(spread, 0)


@dtypes
def test_members_close_together_do_not_touch_their_neighbours(dtype):
    # They are looked at again, by differences; the others in their group must not be.
    P = dirichlet(64, 6, 50).astype(dtype)
    close = P.copy()
    close[::8] = P[::8, :1]
    rest = np.arange(64) % 8 != 0
    for kernel in (closed_forms, leave_one_out):
        for one, other in zip(kernel(P), kernel(close), strict=True):
            assert_array_equal(one[rest], other[rest])
    assert_array_equal(diameter(close)[~rest], 0)


@dtypes
def test_leave_one_out_of_an_instance_is_its_own(dtype):
    P = dirichlet(19, 6, 7).astype(dtype)
    whole = leave_one_out(P)
    for part in (slice(0, 1), slice(3, 12), slice(8, 19)):
        for some, all_of_them in zip(leave_one_out(P[part], 1), whole, strict=True):
            assert_array_equal(some, all_of_them[part])


@pytest.mark.parametrize("n", [0, 1, 5, 1023, 1025, 4100])
def test_bucket_counts(n):
    rng = np.random.default_rng(n)
    values = (rng.normal(size=n) * 10.0 ** rng.integers(-40, 39, n)).astype(np.float32)
    values[::7] = [np.nan, np.inf, -np.inf, 0, -0.0, 1][n % 6]
    shift, known = 15, ~np.isnan(values)
    bits = values[known].view(np.uint32).astype(np.int64)
    expected = np.bincount((bits + (1 << 14)) >> shift, minlength=1 << 17)
    counts = np.full(1 << 17, 3, np.int64)
    assert _kernels.bucket_counts(values, shift, counts) == n - known.sum()
    assert_array_equal(counts, expected + 3)
    last = np.bitwise_or.reduce(np.flatnonzero(expected), initial=0)
    if last:
        short = np.zeros(last, np.int64)
        assert _kernels.bucket_counts(values, shift, short) == -last - 1
        assert not short.any()
    assert _kernels.bucket_counts(values, shift, np.zeros(last + 1, np.int64)) >= 0


@pytest.mark.parametrize("n", [0, 3, 1000])
def test_code_counts(n):
    codes = np.random.default_rng(n).integers(-1, 7, n).astype(np.int32)
    counts = np.full(6, 2, np.int64)  # a code is outside
    _kernels.code_counts(codes, counts)
    assert counts.tolist() == [2 + int((codes == k).sum()) for k in range(6)]
