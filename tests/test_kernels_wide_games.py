"""Matrix games of very many columns: certificates, and the same values as the dense solver."""

import numpy as np
import pytest

import credalens as cl
from credalens import _kernels


def flat(rng, M, K):
    return rng.dirichlet(np.ones(K), size=M)


def peaked(rng, M, K):
    logits = 3 * rng.normal(size=K) + rng.normal(size=(M, K))
    return np.exp(logits - logits.max(axis=1, keepdims=True))


def uniform(rng, M, K):
    return np.full((M, K), 1.0)


def diracs(rng, M, K):
    return np.eye(K)[rng.integers(K, size=M)]


def disjoint(rng, M, K):
    return rng.random((M, K)) * (np.arange(K) % M == np.arange(M)[:, None])


def equal(rng, M, K):
    return np.repeat(flat(rng, 1, K), M, axis=0)


def last_column(rng, M, K):  # the last one, which is alone in its vector
    P = flat(rng, M, K)
    P[:, -1] += rng.random(M)
    return P


def tiny(rng, M, K):
    return np.exp(-40 * rng.random((M, K))) * (rng.random((M, K)) < 0.01) + 1e-300


def costs(rng, M, K):  # the largest column sums say nothing
    return 1 + rng.random((M, K))


KINDS = (flat, peaked, uniform, diracs, disjoint, equal, last_column, tiny, costs)


def solve(A):
    n, M, K = A.shape
    value, gap, w, q = np.empty(n), np.empty(n), np.empty((n, M)), np.empty((n, K))
    _kernels.solve_games(A, value, gap, w, q, 1)
    return value, gap, w, q


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(2, 4096), (5, 4500), (8, 5001), (1, 4100)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_solution_is_certified_by_the_data(kind, shape, dtype):
    rng = np.random.default_rng(sum(shape))
    A = np.stack([kind(rng, *shape) for _ in range(3)])
    if kind is not costs:
        A /= A.sum(axis=2, keepdims=True)
    A = A.astype(dtype)
    value, gap, w, q = solve(A)
    exact = A.astype(np.float64)
    np.testing.assert_allclose(w.sum(axis=1), 1)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    assert min(w.min(), q.min()) >= 0
    above = np.einsum("nm,nmk->nk", w, exact).max(axis=1)
    below = np.einsum("nk,nmk->nm", q, exact).min(axis=1)
    np.testing.assert_allclose(value, above, atol=1e-14)
    np.testing.assert_allclose(value - gap, below, atol=1e-14)
    assert gap.max() <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_those_of_the_same_columns_in_a_small_game(kind):
    # Classes of probability 0 do not change the value; the small game is solved with all columns.
    rng = np.random.default_rng(0)
    small = kind(rng, 4, 60)
    small = small / small.sum(axis=1, keepdims=True)
    wide = np.zeros((4, 6000))
    wide[:, np.sort(rng.permutation(6000)[:60])] = small
    np.testing.assert_allclose(solve(wide[None])[0], solve(small[None].copy())[0], atol=1e-12)


def test_instances_larger_than_the_cache_have_the_values_of_each_step():
    # One pass for closed forms and the game, against the parts on their own.
    rng = np.random.default_rng(1)
    for dtype in (np.float32, np.float64):
        P = rng.dirichlet(np.full(20_001, 0.5), size=(3, 5)).astype(dtype)
        u = cl.quantify(P)
        Q = cl.ConvexHull(P)
        total, lower, half = Q.tv_closed_forms(epistemic=True)
        np.testing.assert_array_equal(u.total, total)
        np.testing.assert_array_equal(u.aleatoric.lower, lower)
        np.testing.assert_array_equal(u.epistemic, half)
        value = solve(P)[0]
        np.testing.assert_allclose(u.aleatoric.upper, 1 - value, atol=1e-7)
        low, high = P.min(axis=1), P.max(axis=(1, 2))
        np.testing.assert_array_equal(total, (1 - low.max(axis=1).astype(float)).astype(dtype))
        np.testing.assert_array_equal(lower, (1 - high.astype(float)).astype(dtype))
        sums = np.abs(P[:, :, None].astype(float) - P[:, None]).sum(axis=-1).max(axis=(1, 2))
        np.testing.assert_allclose(half, sums / 4, rtol=1e-6)
        np.testing.assert_allclose(Q.lower_sum(), low.astype(float).sum(axis=1), rtol=1e-12)
    bad = P.copy()
    bad[1, 2, 7] = np.nan
    with pytest.raises(ValueError, match=r"members: .* at index \(1, 2"):
        cl.quantify(bad)
