"""The kernels of second-order measures, scoring rules and possibilities, without the sets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credalens import _kernels
from ensembles import ENSEMBLES, dirichlet

LOSSES = range(4)


def second_order(P, loss, threads=1, tolerance=-1.0, weights=None):
    out = np.full((3, len(P)), np.nan)
    bad = _kernels.second_order(P, *out, threads, tolerance, loss, weights)
    return bad, out


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize("loss", LOSSES)
def test_results_do_not_depend_on_threads_and_neighbours(name, loss):
    P = np.ascontiguousarray(np.concatenate([ENSEMBLES[name]] * 5))
    weights = np.full(P.shape[:2], 1 / P.shape[1])
    _, whole = second_order(P, loss)
    for threads in (2, 5):
        assert_array_equal(second_order(P, loss, threads)[1], whole)
    for i in (0, len(P) // 2, len(P) - 1):
        assert_array_equal(second_order(P[i : i + 1].copy(), loss)[1][:, 0], whole[:, i])
    assert_array_equal(second_order(P, loss, 2, -1.0, weights)[1], whole)
    if loss < 2:
        by_class = np.empty((3, len(P), P.shape[2]))
        assert _kernels.labelwise(P, *by_class, 2, -1.0, loss) == -1
        one = np.empty((3, 1, P.shape[2]))
        _kernels.labelwise(P[-1:].copy(), *one, 1, -1.0, loss)
        assert_array_equal(one[:, 0], by_class[:, -1])
    medians, weighted = np.empty((2, len(P)))
    _kernels.median_distance(P, medians, 2, -1.0)
    _kernels.median_distance(P, weighted, 2, -1.0, weights)
    assert_allclose(weighted, medians, rtol=0, atol=1e-12)


@pytest.mark.parametrize("K", [2, 7, 48, 100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_first_invalid_instance_is_returned(K, dtype):
    P = dirichlet(70, 3, K).astype(dtype)
    tolerance = 1e-8 if dtype == np.float64 else 1e-4
    one, two = np.empty((2, len(P)))
    by_class = np.empty((3, len(P), K))
    calls = {
        "second_order": lambda: second_order(P, 0, 2, tolerance)[0],
        "labelwise": lambda: _kernels.labelwise(P, *by_class, 2, tolerance, 0),
        "median_distance": lambda: _kernels.median_distance(P, one, 2, tolerance),
        "min_norm_point": lambda: _kernels.min_norm_point(P, one, two, None, None, 2, tolerance),
        "pair_divergence": lambda: _kernels.pair_divergence(P, one, 2, tolerance, 0),
    }
    assert {name: call() for name, call in calls.items()} == dict.fromkeys(calls, -1)
    for value in (-0.1, np.nan, np.inf, 0.5):
        P = dirichlet(70, 3, K).astype(dtype)
        P[66, 1, K - 1] = P[41, 2, 0] = value
        assert {name: call() for name, call in calls.items()} == dict.fromkeys(calls, 41), value


def test_outputs_that_are_not_needed_are_not_computed():
    P = dirichlet(9, 4, 5)
    whole = second_order(P, 0)[1]
    for i in range(3):
        out = [np.empty(9) if i == j else None for j in range(3)]
        _kernels.second_order(P, *out, 1, -1.0, 0)
        assert_array_equal(out[i], whole[i])


@pytest.mark.parametrize("M", [1, 2, 3, 5, 8, 9, 16, 17, 33, 100])
def test_members_are_sorted_whatever_their_number(M):
    P = dirichlet(11, M, 3, seed=M)
    value = np.empty(11)
    _kernels.median_distance(P, value, 1, -1.0)
    sums = np.sort(P, axis=1).sum(axis=2)
    steps = np.diff(np.minimum(sums, 1.0), axis=1)
    expected = (1 - sums[:, 0]) / 2 + steps @ (np.arange(1, M) / M - 0.5)
    assert_allclose(value, expected, rtol=0, atol=1e-13)


def test_decreasing_regression_is_the_nearest_decreasing_sequence():
    isotonic = pytest.importorskip("scipy.optimize").isotonic_regression
    rng = np.random.default_rng(0)
    values = rng.random((50, 12))
    values[::3] = np.round(4 * values[::3]) / 4
    result = np.empty_like(values)
    _kernels.antitonic_regression(values, result, 2)
    for row, ours in zip(values, result, strict=True):
        assert_allclose(ours, isotonic(row, increasing=False).x, atol=1e-14)


def test_nearest_points_of_many_members_and_classes():
    for M, K in ((1, 1), (200, 3), (3, 200), (90, 90)):
        P = dirichlet(4, M, K, 0.7)
        value, gap = np.empty((2, 4))
        weights, point = np.empty((4, M)), np.empty((4, K))
        assert _kernels.min_norm_point(P, value, gap, weights, point, 2) == -1
        assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
        assert (weights >= 0).all()
        assert_allclose(np.einsum("nm,nmk->nk", weights, P), point, atol=1e-12)
        assert (gap <= 1e-12).all()
