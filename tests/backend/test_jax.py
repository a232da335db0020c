"""JAX arrays in, JAX arrays out; closed forms under jit, gradients of everything else too."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens import _validation
from credalens._backend import Backend
from ensembles import ENSEMBLES, disagreeing

jax = pytest.importorskip("jax")
jnp = jax.numpy

P = disagreeing(6, 5, 4)
METRIC = np.abs(np.subtract.outer(np.arange(9.0) ** 1.5, np.arange(9.0) ** 1.5)) ** 0.9


@pytest.fixture(autouse=True)
def double():
    """Let JAX have double precision, as it does not by default."""
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def fields(u):
    return tuple(value for name, value in u._arrays().items() if name != "error")


def unchecked(x):
    return cl.ConvexHull(x, validate=False)


SETS = {
    "hull": cl.ConvexHull,
    "intervals": lambda x: cl.ProbabilityIntervals(x[:, 0] * 0.5, x[:, 0] * 0.5 + 0.5),
    "contamination": lambda x: cl.Contamination(x[:, 0], 0.25),
    "ball": lambda x: cl.TotalVariationBall(x[:, 0], 0.125),
    "lower probability": lambda x: cl.LowerProbability(cl.ConvexHull(x).lower_probabilities()),
    "belief": lambda x: cl.BeliefFunction.possibility(x[:, 0] / x[:, 0].max(-1)[:, None]),
}


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(kind, dtype) for kind in SETS for dtype in ("float16", "bfloat16", "float32", "float64")],
)
def test_arrays_in_arrays_out(kind, dtype):
    x = jnp.asarray(P / 1, dtype)
    result = jnp.float32 if x.dtype.itemsize == 2 else x.dtype
    Q, plain = SETS[kind](x), SETS[kind](np.asarray(x))
    for measure in ("tv", "entropy", "hartley"):
        for ours, theirs in zip(fields(cl.quantify(Q, measure)),
                                fields(cl.quantify(plain, measure)), strict=True):  # fmt: skip
            assert isinstance(ours, jax.Array)
            assert ours.dtype == result
            assert ours.devices() == x.devices()
            # What the test itself computes is rounded otherwise by JAX.
            assert_allclose(ours, theirs, atol=8 * float(jnp.finfo(dtype).eps))
    for ours, theirs in ((Q.lower(), plain.lower()), (Q.center(), plain.center()),
                         (Q.upper(jnp.arange(4.0)), plain.upper(np.arange(4.0)))):  # fmt: skip
        assert isinstance(ours, jax.Array)
        assert_allclose(ours, theirs, atol=4 * float(jnp.finfo(dtype).eps))
    assert Q.contains(P[0, 0]).dtype == bool


def test_single_precision_is_the_default():
    jax.config.update("jax_enable_x64", False)
    x = jnp.asarray(P)
    u = cl.quantify(x)
    assert u.total.dtype == x.dtype == jnp.float32
    assert_array_equal(u.total, cl.quantify(np.asarray(x)).total)
    assert isinstance(cl.majority_vote(x), jax.Array)
    assert_array_equal(cl.majority_vote(x), cl.majority_vote(P))
    value = jax.jit(lambda p: cl.epistemic_uncertainty(unchecked(p)))(x)
    assert value.dtype == jnp.float32
    assert_allclose(value, u.epistemic, rtol=1e-6)


def test_bfloat16():
    u = cl.quantify(jnp.asarray([[0.5, 0.5], [0.25, 0.75]], jnp.bfloat16))
    assert u.total.dtype == jnp.float32
    assert float(u.total) == 0.5


def test_memory_is_shared():
    x = jnp.asarray(P)
    assert np.shares_memory(cl.ConvexHull(x).to_numpy_backed().members, np.asarray(x))


DISTANCES = {
    "tv": "tv",
    "ordinal": "ordinal",
    "kolmogorov": "kolmogorov",
    "mmd": cl.MMD(np.eye(4)),
    "functions": cl.TestFunctions([[0, 1, 0, 2], [1, 0, 3, 0]]),
}


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("measure", [cl.total_uncertainty, cl.epistemic_uncertainty])
def test_closed_forms_under_jit(name, measure):
    x = jnp.asarray(P)
    compiled = jax.jit(lambda p: measure(unchecked(p), DISTANCES[name]))(x)
    assert_allclose(compiled, measure(P, DISTANCES[name]), atol=1e-12)


MEASURES = {
    "tv": lambda Q: cl.quantify(Q),
    "entropy": lambda Q: cl.quantify(Q, "entropy"),
    "hartley": lambda Q: cl.quantify(Q, "hartley"),
    "ordinal": lambda Q: cl.quantify(Q, "ordinal"),
    "information": lambda Q: cl.quantify(Q, "information"),
    "second-order distance": lambda Q: cl.quantify(Q, "second_order_distance"),
    "scoring:log": lambda Q: cl.quantify(Q, "scoring:log"),
    "scoring:brier": lambda Q: cl.quantify(Q, "scoring:brier"),
    "scoring:zero_one": lambda Q: cl.quantify(Q, "scoring:zero_one"),
}


def loss(name, x):
    rates = (1.0, -2.0, 0.5, 3.0, -0.7)
    return sum(r * v.sum() for r, v in zip(rates, fields(MEASURES[name](x)), strict=False))


@pytest.mark.parametrize(
    "name",
    [
        "tv",
        "hartley",
        "information",
        "scoring:brier",
        *(
            pytest.param(x, marks=pytest.mark.slow)
            for x in MEASURES
            if x not in ("tv", "hartley", "information", "scoring:brier")
        ),
    ],
)
def test_gradients(name):
    logits = jnp.asarray(np.random.default_rng(3).standard_normal((3, 4, 4)))

    def function(x):
        return loss(name, cl.ConvexHull.from_logits(x))

    value, gradient = jax.jit(jax.value_and_grad(function))(logits)
    assert_allclose(value, function(np.asarray(logits)), rtol=1e-12)
    rng, step = np.random.default_rng(0), 1e-6
    for _ in range(3):
        way = rng.standard_normal(logits.shape)
        ends = [function(np.asarray(logits) + sign * step * way) for sign in (1, -1)]
        assert_allclose((gradient * way).sum(), (ends[0] - ends[1]) / (2 * step), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_gradients_under_jit_and_vmap(name):
    x = jnp.asarray(P)
    compiled = jax.jit(jax.grad(lambda p: loss(name, unchecked(p))))(x)
    mapped = jax.jit(jax.vmap(jax.grad(lambda p: loss(name, unchecked(p)))))(x)
    assert_allclose(mapped, compiled, atol=1e-12)


@pytest.mark.slow
def test_gradient_of_wasserstein_with_many_classes():
    d = cl.Wasserstein(METRIC)
    assert d.is_metric
    logits = jnp.asarray(np.random.default_rng(5).standard_normal((2, 3, 9)))

    def function(x):
        return cl.epistemic_uncertainty(cl.ConvexHull.from_logits(x), d).sum()

    way = np.random.default_rng(0).standard_normal(logits.shape)
    ends = [function(np.asarray(logits) + sign * 1e-6 * way) for sign in (1, -1)]
    gradient = jax.jit(jax.grad(function))(logits)
    assert_allclose((gradient * way).sum(), (ends[0] - ends[1]) / 2e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one member", "one class", "integer ties", "many members",
                                  "float32 of sparse", "tiny entries", "diracs"])  # fmt: skip
def test_values_under_jit_are_those_of_the_kernels(name):
    E = ENSEMBLES[name]
    got = jax.jit(lambda p: fields(cl.quantify(unchecked(p))))(jnp.asarray(E))
    for ours, theirs in zip(got, fields(cl.quantify(E)), strict=True):
        assert_allclose(ours, theirs, atol=1e-6 if E.dtype == np.float32 else 1e-12)


def test_what_cannot_be_traced_says_so():
    x = jnp.asarray(P)
    message = r"^members: is traced by JAX, .* cannot be validated; pass ConvexHull\(members, valid"
    with pytest.raises(ValueError, match=message):
        jax.jit(cl.total_uncertainty)(x)
    with pytest.raises(
        ValueError,
        match=r"^members: is traced by JAX, and 'aleatoric .*' has neither",
    ):
        jax.jit(lambda p: cl.aleatoric_uncertainty(unchecked(p), "kolmogorov").lower)(x)
    with pytest.raises(ValueError, match=r"^center: is traced by JAX, .*; pass validate=False"):
        jax.jit(lambda p: cl.total_uncertainty(cl.Contamination(p[0, 0], 0.1)))(x)
    value = jax.jit(lambda p: cl.total_uncertainty(cl.Contamination(p[:, 0], 0.1, validate=False)))(
        x
    )
    assert_allclose(value, cl.total_uncertainty(cl.Contamination(P[:, 0], 0.1)), atol=1e-15)


def test_the_door_on_a_device():
    # Arrays of JAX that are taken to be elsewhere are checked there, with the same messages.
    good = jnp.asarray(P)
    check = _validation.native_probabilities
    assert check(good, "members") is good
    assert_allclose(check(3 * good, "members", normalize=True), P, atol=1e-15)
    for bad, message in (
        (
            good.at[2, 1, 3].set(np.nan),
            r"^members: entry at index \(2, 1, 3\) \(zero-based\) is NaN",
        ),
        (good.at[2, 1, 3].set(-0.5), r"^members: entry at index \(2, 1, 3\) .* is negative: -0.5"),
        (good.at[2, 1].set(0.5), r"^members: row \(2, 1\) \(zero-based\) sums to 2"),
        (good.at[2, 1, 0].set(np.inf), r"^members: entry at index \(2, 1, 0\) .* is infinite"),
    ):
        with pytest.raises(ValueError, match=message):
            check(bad, "members")
    with pytest.raises(ValueError, match=r"^members: row \(2, 1\) .* sums to 0; a row of zeros"):
        check(good.at[2, 1].set(0.0), "members", normalize=True)


def test_a_hull_elsewhere_answers_everything():
    x = jnp.asarray(P)
    Q = cl.ConvexHull._from_validated((x,), Backend("jax", x.dtype, x.sharding, "device"))
    plain = cl.ConvexHull(P)
    assert_array_equal(Q.contains(Q.center()), np.ones(6, bool))
    assert_array_equal(Q.extreme_points(), plain.extreme_points())
    assert_array_equal(Q.to_intervals().upper(), plain.upper())
    assert_array_equal(cl.majority_vote(Q), cl.majority_vote(P))
    assert_array_equal(Q.members, P)
    for ours, theirs in zip(fields(cl.quantify(Q)), fields(cl.quantify(P)), strict=True):
        assert isinstance(ours, jax.Array)
        assert_allclose(ours, theirs, atol=1e-12)
