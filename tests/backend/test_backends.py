"""Every measure of every set returns arrays of the library, dtype and values of its input."""

import numpy as np
import pytest

import credalens as cl
from backends import MEASURES, NEEDS_POINTS, SAMPLE_MEASURES, SETS
from credalens._backend import PRIMITIVES
from ensembles import disagreeing

P = disagreeing(11, 5, 4)
SLOW = pytest.param("lower probability", marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kind", [SLOW if kind in SLOW.values else kind for kind in SETS])
def test_arrays_in_arrays_out(backend, kind, measure, dtype):
    function, make = MEASURES[measure], SETS[kind]
    # A set that takes a linear programme for each instance and expectation: one chunk and a row.
    x = (P[:5] if kind == "lower probability" else P).astype(dtype)
    if backend.name == "jax" and dtype == "float64":
        pytest.skip("JAX is in single precision by default; see test_jax.py")
    if kind == "hull of a box" and measure in ("vote", "expectations"):
        pytest.skip("the mean and the vote count repeated extreme points, which pad a batch")
    if kind in ("kl ball", "ordinal ball") and measure in NEEDS_POINTS:
        with pytest.raises(ValueError, match=r"has 4 classes, and .* need no extreme points"):
            function(make(x))
        return
    result, expected = function(make(backend.asarray(x))), function(make(x))
    # The libraries round arguments of constructors differently, and extreme points of a box differ
    # in number from chunk to chunk, which changes where a solver stops within its gap.
    backend.assert_same(result, expected, atol=1e-11 if dtype == "float64" else 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("measure", SAMPLE_MEASURES)
def test_measures_of_a_sample(backend, measure, dtype):
    if backend.name == "jax" and dtype == "float64":
        pytest.skip("JAX is in single precision by default; see test_jax.py")
    x, function = P.astype(dtype), SAMPLE_MEASURES[measure]
    result = function(cl.ConvexHull(backend.asarray(x)))
    backend.assert_same(
        result, function(cl.ConvexHull(x)), atol=1e-11 if dtype == "float64" else 1e-5
    )


def test_conformal_possibilities(backend):
    known, scores = 1 - P[:, 0, 0], (1 - P[:, 1]).astype(np.float32)
    ours = cl.Possibility.from_conformal(known, backend.asarray(scores))
    expected = cl.Possibility.from_conformal(known, scores)
    backend.assert_same(ours.contour, expected.contour, atol=1e-7)
    backend.assert_same(cl.total_uncertainty(ours), cl.total_uncertainty(expected), atol=1e-7)


def test_dirichlet_distributions(backend):
    alpha = 1 + 3 * P[:, 0].astype(np.float32)
    for measure in ("information", "second_order_distance", "labelwise", "confidence"):
        expected = cl.quantify_dirichlet(alpha, measure, n_samples=64, random_state=0)
        result = cl.quantify_dirichlet(
            backend.asarray(alpha), measure, n_samples=64, random_state=0
        )
        backend.assert_same(result, expected, atol=1e-6)


def test_several_labels(backend):
    members, mask = P[:, :, :3].astype(np.float32), np.ones(P.shape[:2], bool)
    mask[2:, 1] = False
    for aggregate in ("hamming", "max", "labels"):
        expected = cl.quantify_multilabel(members, aggregate)
        result = cl.quantify_multilabel(backend.asarray(members), aggregate)
        backend.assert_same(result, expected, atol=1e-7)
    result = cl.decide_multilabel(backend.asarray(members), mask=mask)
    backend.assert_same(result, cl.decide_multilabel(members, mask=mask), atol=0)


def test_sets_are_ordinary_objects(backend):
    import copy

    Q = cl.ConvexHull(backend.asarray(P))
    assert not hasattr(Q, "no_such_attribute")
    with pytest.raises(AttributeError):
        _ = Q.uper
    again = copy.copy(Q)
    assert again.batch_shape == Q.batch_shape
    backend.assert_same(again.lower(), cl.ConvexHull(P.astype(Q.dtype)).lower(), atol=1e-12)


def test_every_query_is_in_the_table_of_primitives():
    names = {entry.name for entry in PRIMITIVES}
    assert len(names) == len(PRIMITIVES)
    assert {"ConvexHull.maximin", "ProbabilityIntervals._minimax", "CredalSet.to_hull"} <= names
    for entry in PRIMITIVES:
        assert entry.signature.startswith("Q")
        assert entry.supports["device"] in ("native", "through the host")
        assert entry.supports["gradient"] in ("VJP", "automatic", "none")


def test_indices_of_errors(backend):
    x = P.copy()
    x[7, 2, 1] = np.nan

    def compute():
        total = cl.quantify(backend.asarray(x)).total
        return total.compute() if backend.name == "dask" else total

    with pytest.raises(ValueError, match=r"^members: entry at index \(7, 2, 1\) .* is NaN"):
        compute()
