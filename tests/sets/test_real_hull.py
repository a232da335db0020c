"""Hulls of distributions on the real line: literal definitions, invariants, arrays, errors."""

import pickle
import re

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from oracles_real import (
    normals_on_grid,
    piecewise_on_grid,
    sample_uncertainty,
    uncertainty_on_grid,
)

LEVELS = np.array([0.05, 0.2, 0.5, 0.9, 0.97])


def random_sets(seed=0, n=5, M=4):
    """One set of each representation."""
    rng = np.random.default_rng(seed)
    center = rng.normal(size=(n, M, 1)) * 2
    return {
        "samples": cl.RealHull.from_samples(center + rng.gumbel(size=(n, M, 12))),
        "quantiles": cl.RealHull.from_quantiles(
            LEVELS, center + np.sort(rng.gumbel(size=(n, M, 5)), axis=-1)
        ),
        "normal": cl.RealHull.from_normal(center[..., 0], rng.gamma(1.0, size=(n, M))),
    }


def values_of(Q):
    u = cl.quantify(Q)
    return np.stack([u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic], axis=-1)


numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3, allow_nan=False, width=32))


@given(st.integers(1, 4).flatmap(lambda M: st.integers(1, 6).flatmap(
    lambda S: arrays(np.float64, (M, S), elements=numbers))))  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_samples_agree_with_linear_programmes(x):
    u = cl.quantify(cl.RealHull.from_samples(x))
    scale = 1e-9 * (1 + np.abs(x).max())
    found = (u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic)
    assert_allclose(found, sample_uncertainty(x), rtol=0, atol=scale)
    assert u.error <= 1e-12 * (1 + np.ptp(x))


def test_many_samples_agree_with_linear_programmes():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, 5, 40)) + rng.normal(size=(2, 5, 1))
    for one, expected in zip(values_of(cl.RealHull.from_samples(x)), x, strict=True):
        assert_allclose(one, sample_uncertainty(expected), atol=1e-9)


@pytest.mark.parametrize("S", [1, 2, 7, 8, 9, 31, 33, 200])
def test_sorting_network(S):
    rng = np.random.default_rng(S)
    x = rng.integers(0, 50, (3, 11, S)).astype(float)
    Q = cl.RealHull.from_samples(x)
    ordered = np.sort(x, axis=-1)
    apart = np.abs(ordered[:, :, None] - ordered[:, None]).mean(axis=-1).max(axis=(1, 2))
    assert_allclose(cl.epistemic_uncertainty(Q), apart / 2, rtol=1e-13)


def test_quantile_functions_agree_with_a_fine_grid():
    Q = random_sets(n=3)["quantiles"]
    for row, found in zip(np.asarray(Q.members), values_of(Q), strict=True):
        expected = uncertainty_on_grid(*piecewise_on_grid(LEVELS, row))
        assert_allclose(found[[0, 1, 3]], expected, atol=1e-6)


def test_quantile_functions_that_cross():
    # The difference is linear from -1 to 1: its mean absolute value is 1/2, not 1.
    Q = cl.RealHull.from_quantiles([0, 1], [[0.0, 4.0], [1.0, 3.0]])
    assert cl.epistemic_uncertainty(Q) == 0.25
    levels, values = np.array([0.1, 0.6, 0.7]), np.array([[0, 5, 5.5], [1, 2, 9], [-4, 3, 3]])
    expected = uncertainty_on_grid(*piecewise_on_grid(levels, values))
    found = values_of(cl.RealHull.from_quantiles(levels, values))
    assert_allclose(found[[0, 1, 3]], expected, atol=1e-6)


@pytest.mark.parametrize("std", [(0.5, 2.0, 1.0), (1.0, 1.0, 1.0), (0.0, 1e-3, 2.0)])
def test_normals_agree_with_a_fine_grid(std):
    mean, std = np.array([0.0, 0.7, 3.0]), np.array(std)
    expected = uncertainty_on_grid(*normals_on_grid(mean, std))
    found = values_of(cl.RealHull.from_normal(mean, std))
    assert_allclose(found[[0, 1, 3]], expected, atol=1e-6)


def test_stated_errors_of_normals_contain_the_truth():
    mp = mpmath.mp.clone()
    mp.dps = 30
    rng = np.random.default_rng(3)

    def folded(shift, scale):  # E|shift + scale Z|
        z = shift / scale
        return scale * mp.sqrt(2 / mp.pi) * mp.exp(-z * z / 2) + shift * mp.erf(z / mp.sqrt(2))

    for mean, std in zip(rng.normal(size=(5, 2)), rng.gamma(0.5, size=(5, 2)), strict=True):
        Q = cl.RealHull.from_normal(mean, std)
        m, s = ([mp.mpf(float(x)) for x in y] for y in (mean, std))
        half = folded(abs(m[0] - m[1]), abs(s[0] - s[1])) / 2
        value, error = cl.epistemic_uncertainty(Q, return_error=True)
        assert abs(value - half) <= error <= 1e-14 * value
        low, high = min(m), max(m)
        for _ in range(80):  # bisection by the slope of the largest mean error
            t = (low + high) / 2
            i = 0 if folded(m[0] - t, s[0]) > folded(m[1] - t, s[1]) else 1
            low, high = (t, high) if t < m[i] else (low, t)
        total, error = cl.total_uncertainty(Q, return_error=True)
        assert abs(max(folded(a - low, b) for a, b in zip(m, s, strict=True)) - total) <= error
        assert error <= 1e-13 * total


@pytest.mark.parametrize("kind", ["samples", "quantiles", "normal"])
def test_certificate_of_the_minimax_prediction(kind):
    Q = random_sets(n=30)[kind]
    found = Q.minimax()
    total = cl.total_uncertainty(Q)
    assert_array_equal(found.risk, total)
    assert ((found.weights > 0).sum(axis=-1) <= 2).all()
    assert_allclose(found.weights.sum(axis=-1), 1.0)
    assert (found.error <= 1e-12 * found.risk).all()
    # The mean error of the mixture is nowhere smaller: it is the upper aleatoric end.
    u = np.linspace(0.0005, 0.9995, 1000)
    quantiles = np.asarray(Q.member_quantiles(u))
    slack = {"samples": 1e-12, "quantiles": 3e-3, "normal": 2e-2}[kind]
    if kind == "samples":
        quantiles = np.asarray(Q.members)
    for t in (found.prediction, *Q.quantiles([0.3, 0.45, 0.5, 0.55, 0.7]).T):
        errors = np.abs(quantiles - t[:, None, None]).mean(axis=-1)
        assert (np.einsum("nm,nm->n", found.weights, errors) >= total - slack).all()
    errors = np.abs(quantiles - found.prediction[:, None, None]).mean(axis=-1)
    assert_allclose(errors.max(axis=1), total, atol=slack)


@pytest.mark.parametrize("kind", ["samples", "quantiles", "normal"])
def test_invariances(kind):
    def build(Q, members):
        if kind == "samples":
            return cl.RealHull.from_samples(members)
        if kind == "quantiles":
            return cl.RealHull.from_quantiles(LEVELS, members)
        return cl.RealHull.from_normal(members[..., 0], members[..., 1])

    Q = random_sets(n=20)[kind]
    members, base = np.asarray(Q.members), values_of(Q)
    shift = np.array([1.0, 0.0]) if kind == "normal" else 1.0
    assert_allclose(values_of(build(Q, 4 * members)), 4 * base, rtol=1e-12)
    # A common offset cancels; it is exact up to the rounding of the data themselves.
    assert_allclose(values_of(build(Q, members + 2**20 * shift)), base, atol=1e-9)
    assert_allclose(values_of(build(Q, members[:, ::-1])), base, rtol=1e-12)
    repeated = np.concatenate([members, members[:, :2]], axis=1)
    assert_allclose(values_of(build(Q, repeated)), base, rtol=1e-12)
    # Total uncertainty and diameter do not decrease with another member.
    fewer = values_of(build(Q, members[:, :-1]))
    assert (fewer[:, [0, 3]] <= base[:, [0, 3]] * (1 + 1e-12)).all()
    assert (base[:, 3] <= base[:, 0] * (1 + 1e-12)).all()
    assert_array_equal(base[:, 0], base[:, 2])
    # A value depends on its instance alone, bit for bit.
    for i in (0, 7, 19):
        assert_array_equal(values_of(Q[i : i + 1])[0], base[i])


def test_degenerate_members():
    point = cl.quantify(cl.RealHull.from_samples([[2.5]]))
    assert (point.total, point.aleatoric.upper, point.epistemic, point.error) == (0, 0, 0, 0)
    certain = cl.quantify(cl.RealHull.from_normal([1.0, 4.0], 0.0))
    assert_allclose([certain.total, certain.aleatoric.lower, certain.epistemic], [1.5, 0, 1.5])
    one = cl.RealHull.from_quantiles([0.5], [[3.0], [5.0]])
    assert_allclose([cl.total_uncertainty(one), cl.epistemic_uncertainty(one)], [1, 1])
    equal = cl.quantify(cl.RealHull.from_samples(np.tile([1.0, 2.0, 4.0], (6, 1))))
    assert_allclose([equal.total, equal.aleatoric.lower, equal.epistemic], [1, 1, 0])


def test_large_instances_are_those_of_small_ones():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 3, 17000)) + rng.normal(size=(3, 3, 1))
    u = values_of(cl.RealHull.from_samples(x))
    y = np.sort(x, axis=-1)
    medians = y[..., 8500]
    assert_allclose(u[:, 3], np.abs(y[:, :, None] - y[:, None]).mean(axis=-1).max(axis=(1, 2)) / 2)
    assert_allclose(u[:, 1], np.abs(x - medians[..., None]).mean(axis=-1).min(axis=1))


def test_law_of_total_variance():
    sets = random_sets(n=4)
    weights = np.array([1.0, 2.0, 0.5, 0.0])
    for kind, Q in sets.items():
        u = cl.quantify(Q.with_weights(weights), "variance")
        if kind == "samples":
            x = np.asarray(Q.members)
            pooled = np.repeat(weights / weights.sum() / 12, 12)
            mean = x.reshape(4, -1) @ pooled
            total = ((x.reshape(4, -1) - mean[:, None]) ** 2) @ pooled
        else:
            fine = np.asarray(Q.member_quantiles((np.arange(20000) + 0.5) / 20000))
            w = weights / weights.sum()
            mean = fine.mean(axis=-1) @ w
            total = ((fine - mean[:, None, None]) ** 2).mean(axis=-1) @ w
        assert_allclose(Q.with_weights(weights).center(), mean, atol=1e-3)
        assert_allclose(u.total, total, rtol=2e-3)
        assert_allclose(u.aleatoric + u.epistemic, u.total, rtol=1e-12)


def test_quantiles_of_the_mixture():
    sets, levels = random_sets(n=3), np.array([0.07, 0.25, 0.5, 0.93])
    weights = np.array([1.0, 3.0, 0.0, 2.0])
    fine = (np.arange(40000) + 0.5) / 40000
    for kind, Q in sets.items():
        for own in (None, weights):
            found = Q.with_weights(own).quantiles(levels)
            w = np.full(4, 0.25) if own is None else own / own.sum()
            members = np.asarray(Q.members if kind == "samples" else Q.member_quantiles(fine))
            for one, row in zip(found, members, strict=True):
                order = np.argsort(row.ravel())
                reached = np.cumsum(np.repeat(w / row.shape[1], row.shape[1])[order])
                first = np.searchsorted(reached, levels * (1 - 1e-12))
                expected = row.ravel()[order][first]
                assert_allclose(one, expected, atol=0 if kind == "samples" else 2e-3)
        assert_array_equal(Q.quantiles(0.25), Q.quantiles(levels)[:, 1])
        low, high = Q.quantile_bounds(levels)
        assert_array_equal(low, np.asarray(Q.member_quantiles(levels)).min(axis=1))
        assert ((low <= found) & (found <= high)).all()


@pytest.mark.parametrize("kind", ["samples", "quantiles", "normal"])
def test_missing_members_indexing_and_pickling(kind):
    Q = random_sets(n=6)[kind]
    members = np.array(Q.members)
    mask = np.ones((6, 4), bool)
    mask[1, 0] = mask[2, [0, 1, 3]] = mask[4, 3] = False
    members[~mask] = np.nan
    build = {
        "samples": lambda **o: cl.RealHull.from_samples(members, **o),
        "quantiles": lambda **o: cl.RealHull.from_quantiles(LEVELS, members, **o),
        "normal": lambda **o: cl.RealHull.from_normal(members[..., 0], members[..., 1], **o),
    }[kind]
    some = build(missing="allow")
    assert_array_equal(some.n_present, mask.sum(axis=1))
    u, v = cl.quantify(some), cl.quantify(some, "variance")
    assert_array_equal(u.n_members, mask.sum(axis=1))
    found = some.minimax()
    for i, present in enumerate(mask):
        alone = some._derived((members[i : i + 1, present],), cl._backend.NUMPY)
        one, other = cl.quantify(alone), cl.quantify(alone, "variance")
        assert u.total[i] == one.total[0]
        assert u.epistemic[i] == one.epistemic[0]
        assert v.total[i] == other.total[0]
        assert some.center()[i] == alone.center()[0]
        assert some.quantiles(0.3)[i] == alone.quantiles(0.3)[0]
        assert_array_equal(found.weights[i, present], alone.minimax().weights[0])
    assert (found.weights[~mask] == 0).all()
    assert np.isnan(some.member_quantiles(0.5)[~mask]).all()
    with pytest.raises(
        ValueError, match=r'NaN at index .*missing="allow" if the member is missing'
    ):
        build()
    for change in (lambda x: x[2:5], lambda x: pickle.loads(pickle.dumps(x)), lambda x: x[...]):
        assert_array_equal(values_of(change(some)), values_of(some)[change(np.arange(6))])
    assert (len(some), some[0].batch_shape, len(some[1:3])) == (6, (), 2)
    assert "n_present=1 to 4" in repr(some)


def test_layouts_and_dtypes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 3, 5))
    Q = cl.RealHull.from_samples(x)
    stacked = np.ascontiguousarray(np.moveaxis(x, 1, 0))
    for other in (
        cl.RealHull.from_samples(stacked, axis=0),
        cl.RealHull.from_samples(list(stacked), axis=0),
        cl.RealHull.from_samples(x[..., ::-1]),
    ):
        assert_array_equal(values_of(other), values_of(Q))  # in any order of samples
    single = cl.RealHull.from_samples(x.astype(np.float32))
    assert cl.quantify(single).total.dtype == single.center().dtype == np.float32
    assert_allclose(values_of(single), values_of(Q), rtol=1e-5)
    assert cl.RealHull.from_samples(x.astype(int)).dtype == np.float64
    normal = cl.RealHull.from_normal(x[..., 0], 1.0)
    assert_array_equal(
        values_of(cl.RealHull.from_normal(x[..., 0].T, 1.0, axis=0)), values_of(normal)
    )
    assert_array_equal(normal.std, np.ones((4, 3)))
    batch = x.reshape(2, 2, 3, 5)
    assert cl.quantify(cl.RealHull.from_samples(batch)).total.shape == (2, 2)
    assert cl.quantify(Q).to_pandas().shape == (4, 5)
    empty = cl.RealHull.from_samples(np.empty((0, 3, 5)))
    assert (values_of(empty).shape, empty.center().shape) == ((0, 4), (0,))


def test_dask_arrays():
    da = pytest.importorskip("dask.array")
    for kind, Q in random_sets(n=7).items():
        members = da.from_array(np.asarray(Q.members), chunks=(3, -1, -1))
        lazy = {
            "samples": lambda m: cl.RealHull.from_samples(m),
            "quantiles": lambda m: cl.RealHull.from_quantiles(LEVELS, m),
            "normal": lambda m: cl.RealHull.from_normal(m[..., 0], m[..., 1]),
        }[kind](members)
        u = cl.quantify(lazy, ["wasserstein", "variance"])
        expected = cl.quantify(Q, ["wasserstein", "variance"])
        assert_array_equal(u["wasserstein"].total.compute(), expected["wasserstein"].total)
        assert_array_equal(u["variance"].epistemic.compute(), expected["variance"].epistemic)
        assert_array_equal(lazy[2:].quantiles([0.2, 0.6]).compute(), Q[2:].quantiles([0.2, 0.6]))
        assert lazy.batch_shape == (7,)


ERRORS = {
    "samples: is NaN at index (0, 1): pass finite": lambda: cl.RealHull.from_samples(
        [[0.0, np.nan], [1.0, 2.0]]
    ),
    "samples: is infinite at index (1, 0)": lambda: cl.RealHull.from_samples([[0.0], [np.inf]]),
    "samples: has 1 axes, shape (3,); pass an array of shape (..., members, samples)": lambda: (
        cl.RealHull.from_samples([1.0, 2.0, 3.0])
    ),
    "std: is -1 at index 1": lambda: cl.RealHull.from_normal([0.0, 1.0], [1.0, -1.0]),
    "mean: is NaN at index 0 (zero-based)": lambda: cl.RealHull.from_normal([np.nan, 1], 1.0),
    "std: has shape (3,), mean (2,)": lambda: cl.RealHull.from_normal([0.0, 1.0], [1.0, 1, 1]),
    "mean: is one number": lambda: cl.RealHull.from_normal(0.0, 1.0),
    "levels: is 0.1 at index 1 (zero-based), after 0.5": lambda: cl.RealHull.from_quantiles(
        [0.5, 0.1], [[1.0, 2.0]]
    ),
    "levels: is 5 at index 0": lambda: cl.RealHull.from_quantiles([5, 95], [[1.0, 2.0]]),
    "levels: has shape (1,), and values have 2": lambda: cl.RealHull.from_quantiles(
        [0.5], [[1.0, 2.0]]
    ),
    "values: quantiles cross: 1 at index (1, 1) (zero-based) is below 2": lambda: (
        cl.RealHull.from_quantiles([0.1, 0.9], [[1.0, 2.0], [2.0, 1.0]])
    ),
    "axis: is 2, the last one of shape (2, 2, 2); the samples": lambda: cl.RealHull.from_samples(
        np.zeros((2, 2, 2)), axis=2
    ),
    "measure: is 'entropy', and Q is a RealHull": lambda: cl.quantify(
        cl.RealHull.from_normal([0.0], [1.0]), "entropy"
    ),
    "measure: is 'tv', and Q is a RealHull": lambda: cl.quantify(
        cl.RealHull.from_normal([0.0], [1.0]), "tv"
    ),
    "distance: is 'ordinal', which is defined for classes": lambda: cl.total_uncertainty(
        cl.RealHull.from_normal([0.0], [1.0]), "ordinal"
    ),
    "Q: is a RealHull, whose members are distributions on the real line": lambda: (
        cl.upper_entropy(cl.RealHull.from_normal([0.0], [1.0]))
    ),
    "levels: is 1 at index 0": lambda: cl.RealHull.from_normal([0.0], [1.0]).quantiles([1.0]),
}  # fmt: skip


@pytest.mark.parametrize("message", ERRORS)
def test_errors(message):
    pattern = re.escape(message).replace(":\\ pass", ".*pass")
    with pytest.raises(ValueError, match=pattern):
        ERRORS[message]()


def test_crossing_quantiles_can_be_sorted():
    values = np.array([[1.0, 3.0, 2.0]])
    Q = cl.RealHull.from_quantiles([0.1, 0.5, 0.9], values, crossing="sort")
    assert_array_equal(Q.members, [[1.0, 2.0, 3.0]])
    assert_array_equal(values, [[1.0, 3.0, 2.0]])  # inputs are not written to


def test_it_is_not_a_credal_set():
    Q = cl.RealHull.from_normal([0.0, 1.0], [1.0, 1.0])
    assert isinstance(Q, cl.RealHull)
    assert not isinstance(Q, cl.CredalSet)
    assert not hasattr(Q, "n_classes")
    with pytest.raises(TypeError, match=r"write RealHull.from_samples"):
        cl.RealHull([[0.0, 1.0]])
    for function in (cl.decide, cl.majority_vote, cl.maximum_mean_imprecision, cl.volume):
        with pytest.raises(ValueError, match="is a RealHull"):
            function(Q)
