"""Gradients from solutions, in NumPy: what PyTorch and JAX take from the host."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens import _kernels
from credalens.distances import optimal_transport
from credalens.measures.hartley import weights
from credalens.sets import _hull_vjp
from ensembles import ENSEMBLES, dirichlet, disagreeing

METRIC = np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0))) ** 0.7


@pytest.mark.parametrize(
    ("name", "method"),
    [
        (name, method)
        for name, P in ENSEMBLES.items()
        for method in range(4)
        if method != 2 or P.shape[2] <= 9  # there are 2^K sign vectors
    ],
)
def test_the_widest_pair_has_the_diameter(name, method):
    P = ENSEMBLES[name]
    n = len(P)
    wide, pairs = np.empty(n), np.full((n, 2), -1)
    _kernels.closed_forms(P, None, None, wide, None, 2, pairs=pairs, method=method)
    plain = np.empty(n)
    _kernels.closed_forms(P, None, None, plain, None, 2, method=method)
    assert_allclose(wide, plain, rtol=1e-14)
    first, second = (P[np.arange(n), pairs[:, end]].astype(np.float64) for end in (0, 1))
    assert_allclose(np.abs(first - second).sum(axis=1), wide, atol=1e-14)


@pytest.mark.parametrize("shape", [(3, 250, 30), (2, 70, 12), (2, 300, 4), (4, 2, 3)])
def test_the_widest_of_many_pairs(shape):
    P = dirichlet(*shape)
    wide, pairs = np.empty(len(P)), np.empty((len(P), 2), np.int64)
    _kernels.closed_forms(P, None, None, wide, None, 1, pairs=pairs)
    for members, (i, j), value in zip(P, pairs, wide, strict=True):
        apart = np.abs(members[:, None] - members).sum(axis=2)
        assert_allclose([value, apart[i, j]], apart.max(), rtol=1e-13)


COST = METRIC[:4, :4] + np.triu(METRIC[:4, :4])


def primitive(name, K, *args):
    """The differentiable outputs of a query of a hull as a function of its members, and its VJP."""

    def forward(members):
        result = getattr(cl.ConvexHull(members, validate=False), name)(*args)
        return result[:-1] if isinstance(result, tuple) else (result,)

    return forward, getattr(_hull_vjp, name)(*args), K


FUNCTIONS = {
    "tv": primitive("tv_uncertainty", 4),
    "tv game": primitive("maximin", 4),
    "cost game": primitive("maximin", 4, COST),
    "entropy": primitive("max_entropy", 4),
    "hartley": primitive("hartley_exact", 4, weights(4)[0]),
    "hartley, many classes": primitive("hartley_exact", 11, weights(11)[0]),
    "transport": primitive("vertex_diameter", 9, cl.Wasserstein(METRIC)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_differences(name, dtype):
    forward, vjp, K = FUNCTIONS[name]
    P = disagreeing(5, 4, K, seed=1).astype(dtype)
    rng, step = np.random.default_rng(0), 1e-6
    rates = [rng.standard_normal(5) for _ in forward(P)]
    gradient = vjp(P, *rates)
    assert gradient.dtype == dtype
    way = rng.standard_normal(P.shape)
    if name == "transport":  # of masses that are not equal there is none
        way -= way.mean(axis=2, keepdims=True)
    ends = [forward(P.astype(np.float64) + sign * step * way) for sign in (1, -1)]
    change = sum(r * (a - b) for r, a, b in zip(rates, *ends, strict=False)) / (2 * step)
    tolerance = 1e-6 if dtype == np.float64 else 1e-3
    assert_allclose((gradient * way).sum(axis=(1, 2)), change, atol=tolerance)


@pytest.mark.parametrize("name", ["tv", "tv game", "entropy", "hartley"])
def test_gradients_depend_on_their_instance_alone(name):
    forward, vjp, K = FUNCTIONS[name]
    P = disagreeing(40, 5, K, seed=2)
    rates = [np.linspace(-1, 1, 40)] * len(forward(P))
    whole = vjp(P, *rates)
    parts = [vjp(P[i : i + 1], *(r[i : i + 1] for r in rates)) for i in range(40)]
    assert_array_equal(whole, np.concatenate(parts))
    shaped = vjp(P.reshape(5, 8, 5, K), *(r.reshape(5, 8) for r in rates))
    assert_array_equal(shaped.reshape(P.shape), whole)
    fortran = vjp(np.asfortranarray(P), *rates)
    assert_array_equal(fortran, whole)


def test_what_is_not_asked_for_has_no_part():
    P = disagreeing(6, 5, 4)
    one = np.ones(6)
    pull = _hull_vjp.tv_uncertainty()
    total = pull(P, one, None, None, None)
    assert_array_equal((total != 0).sum(axis=(1, 2)), 1)
    lower = pull(P, None, one, None, None)
    upper = pull(P, None, None, one, None)
    assert_allclose(upper.sum(axis=(1, 2)), -1)
    epistemic = pull(P, None, None, None, one)
    assert_array_equal((epistemic != 0).any(axis=2).sum(axis=1), 2)
    every = pull(P, one, one, one, one)
    assert_allclose(total + lower + upper + epistemic, every, atol=1e-15)


def test_empty_batches():
    for forward, vjp, K in FUNCTIONS.values():
        P = np.empty((0, 3, K))
        rates = [np.empty(0)] * len(forward(P))
        assert vjp(P, *rates).shape == (0, 3, K)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_gradients_are_finite(name):
    P = ENSEMBLES[name]
    rate = np.ones(len(P))
    vjps = [_hull_vjp.maximin(), _hull_vjp.max_entropy()]
    if P.shape[-1] <= 9:
        vjps.append(_hull_vjp.hartley_exact(weights(P.shape[-1])[0]))
    for vjp in vjps:
        assert np.isfinite(vjp(P, rate)).all()


def test_test_functions_of_transport():
    p, q = dirichlet(12, 2, 9).transpose(1, 0, 2)
    q[0] = p[0]
    f = optimal_transport.potentials(METRIC, p, q)
    lipschitz = np.abs(f[:, :, None] - f[:, None, :]) <= METRIC + 1e-12
    assert lipschitz.all()
    assert_allclose((f * (p - q)).sum(axis=1), cl.Wasserstein(METRIC)(p, q), atol=1e-12)
