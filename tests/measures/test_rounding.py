"""Certified errors of results in single precision cover the rounding of the results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import credalens as cl

ml_dtypes = pytest.importorskip("ml_dtypes")
FAMILIES = (
    "tv", "ordinal", "kolmogorov", "entropy", "hartley", "information", "variance", "zero_one",
    "spherical", "second_order_distance", "confidence", "scoring:log", "scoring:brier",
    "scoring:spherical", "scoring:zero_one", "labelwise:entropy", "labelwise:variance",
    "labelwise:credal", cl.MMD(np.exp(-np.abs(np.subtract.outer(range(4), range(4))))),
    cl.Wasserstein(1e-9 * np.sqrt(np.abs(np.subtract.outer(range(4), range(4))))),
)  # fmt: skip


def components(u):
    return {name: np.asarray(x, np.float64) for name, x in u._arrays().items() if name != "error"}


def check(single, double, measure):
    """The values in double precision of the same numbers are within the error."""
    u, v = cl.quantify(single, measure), cl.quantify(double, measure)
    error = np.asarray(u.error, np.float64) + np.asarray(v.error, np.float64) + 1e-15
    for name, value in components(u).items():
        exact = components(v)[name]
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            difference = np.abs(value - exact)
        assert ((value == exact) | (difference <= error)).all(), name


@pytest.mark.parametrize("measure", FAMILIES, ids=str)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.3, 1.0, 10.0, 1e4]), st.integers(1, 5))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_every_family(measure, seed, alpha, M):
    x = np.random.default_rng(seed).dirichlet(np.full(4, alpha), (20, M)).astype(np.float32)
    check(x, x.astype(np.float64), measure)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("measure", ["tv", "entropy", "information", "ordinal"])
def test_half_precision_refers_to_the_members_of_the_set(measure, dtype):
    x = np.random.default_rng(0).dirichlet(np.full(5, 0.3), (40, 3)).astype(dtype)
    members = cl.ConvexHull(x).members
    assert members.dtype == np.float32
    check(x, members.astype(np.float64), measure)


@pytest.mark.parametrize("measure", ["tv", "ordinal", "entropy", "hartley"])
def test_other_sets(measure):
    x = np.random.default_rng(1).dirichlet(np.ones(5), (40, 3)).astype(np.float32)
    low, high, size = x.min(axis=1), x.max(axis=1), np.full(40, 0.125, np.float32)
    wide = [a.astype(np.float64) for a in (low, high, x[:, 0], size)]
    check(cl.ProbabilityIntervals(low, high), cl.ProbabilityIntervals(*wide[:2]), measure)
    check(cl.Contamination(x[:, 0], size), cl.Contamination(*wide[2:]), measure)
    check(cl.TotalVariationBall(x[:, 0], size), cl.TotalVariationBall(*wide[2:]), measure)


@pytest.mark.parametrize(
    "function",
    [cl.total_uncertainty, cl.epistemic_uncertainty, cl.upper_entropy, cl.lower_entropy,
     cl.generalized_hartley, cl.predictive_entropy, cl.expected_entropy, cl.mutual_information],
)  # fmt: skip
def test_functions_with_return_error(function):
    x = np.random.default_rng(2).dirichlet(np.ones(4), (50, 3)).astype(np.float32)
    value, error = function(x, return_error=True)
    assert value.dtype == error.dtype == np.float32
    exact, gap = function(x.astype(np.float64), return_error=True)
    assert (np.abs(value.astype(np.float64) - exact) <= error + gap + 1e-15).all()
    assert (error < 1e-5).all()


def test_aleatoric_ends():
    x = np.random.default_rng(3).dirichlet(np.ones(4), (50, 3)).astype(np.float32)
    for d in ("tv", "ordinal"):
        ends, error = cl.aleatoric_uncertainty(x, d, return_error=True)
        exact, gap = cl.aleatoric_uncertainty(x.astype(np.float64), d, return_error=True)
        for a, b in zip(ends, exact, strict=True):
            assert (np.abs(a.astype(np.float64) - b) <= error + gap + 1e-15).all()


def test_double_precision_has_the_gap_only():
    x = np.array([[[0.5, 0.5], [0.25, 0.75]]])
    assert cl.quantify(x, "information").error == 0
    assert cl.epistemic_uncertainty(x, return_error=True)[1] == 0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numpy_may_raise_floating_point_errors(dtype):
    rng = np.random.default_rng(4)
    logits = (200 * rng.standard_normal((5, 3, 30))).astype(dtype)
    sparse = rng.dirichlet(np.full(6, 0.02), (20, 3)).astype(dtype)
    with np.errstate(all="raise"):
        Q = cl.ConvexHull.from_logits(logits)
        for family in ("tv", "entropy", "information", "scoring:brier"):
            cl.quantify(Q, family)
            cl.quantify(sparse, family)
            cl.quantify(np.eye(4, dtype=dtype), family)
