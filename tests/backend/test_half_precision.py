"""Half precision in, single precision out: float16 and bfloat16 of every array library."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import credalens as cl
from ensembles import dirichlet

ml_dtypes = pytest.importorskip("ml_dtypes")
DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
P = dirichlet(8, 3, 4)
MASSES = np.zeros((8, 16))
MASSES[:, [1, 2, 4, 8, 3, 12, 15]] = np.random.default_rng(0).dirichlet(np.ones(7), size=8)
#: Each set as a function of a conversion of its arrays.
SETS = {
    "hull": lambda c: cl.ConvexHull(c(P)),
    "weighted hull": lambda c: cl.ConvexHull(c(P), weights=c(np.array([1.0, 2.0, 4.0]))),
    "intervals": lambda c: cl.ProbabilityIntervals(c(P.min(axis=1)), c(P.max(axis=1))),
    "points": lambda c: cl.ProbabilityIntervals(c(P[:, 0]), c(P[:, 0])),
    "contamination": lambda c: cl.Contamination(c(P[:, 0]), c(np.full(8, 0.2))),
    "TV ball": lambda c: cl.TotalVariationBall(c(P[:, 0]), 0.1),
    "KL ball": lambda c: cl.KLBall(c(P[:, 0]), 0.1),
    "ordinal ball": lambda c: cl.OrdinalBall(c(P[:, 0]), 0.1),
    "possibility": lambda c: cl.Possibility(c(P[:, 0] / P[:, 0].max(axis=1, keepdims=True))),
    "lower": lambda c: cl.LowerProbability(c(cl.ConvexHull(P[:1]).lower_probabilities())),
    "belief": lambda c: cl.BeliefFunction(c(MASSES)),
    "logits": lambda c: cl.ConvexHull.from_logits(c(np.log(P))),
}


def numbers(u):
    """The arrays of a result, float64."""
    return {name: np.asarray(x).astype(np.float64) for name, x in u._arrays().items()}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", SETS)
def test_every_set_is_computed_in_single_precision(kind, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the rounding of a dtype needs no warning
        Q = SETS[kind](lambda x: x.astype(dtype))
    exact = SETS[kind](lambda x: x)
    assert Q.dtype == np.float32
    assert Q.lower().dtype == Q.center().dtype == np.float32
    for family in ("tv", "entropy", "hartley", "ordinal"):
        u, v = cl.quantify(Q, family), cl.quantify(exact, family)
        assert {x.dtype for x in u._arrays().values()} == {np.dtype(np.float32)}
        for name, value in numbers(u).items():
            # The numbers of a set differ by their rounding from those in double precision.
            atol = 5e-3 if dtype.name == "float16" else 5e-2
            assert_allclose(value, numbers(v)[name], rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize("dtype", [*DTYPES, np.dtype(">f2")], ids=str)
def test_measures_are_those_of_the_normalised_rows(dtype):
    x = P.astype(dtype)
    exact = cl.ConvexHull(x.astype(np.float64), normalize=True)
    for measure in (cl.quantify, lambda Q: cl.quantify(Q, "information")):
        for name, value in numbers(measure(x)).items():
            atol = 1e-6 if name == "error" else 3e-7  # which covers the rounding of results
            assert_allclose(value, numbers(measure(exact))[name], rtol=0, atol=atol)
    u = cl.quantify(x)
    assert (u.epistemic <= u.total).all()
    assert (cl.majority_vote(x) == cl.majority_vote(exact)).all()
    assert cl.ConvexHull(x).contains(x[:, 0]).all()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_many_classes_underflow(dtype):
    logits = 4 * np.random.default_rng(0).standard_normal((2, 3, 40_000))
    x = np.asarray(cl.ConvexHull.from_logits(logits).members).astype(dtype)
    off = np.abs(x.astype(np.float64).sum(axis=-1) - 1).max()
    assert off > 1e-4
    exact = cl.ConvexHull(x.astype(np.float64), normalize=True)
    assert_allclose(cl.epistemic_uncertainty(x), cl.epistemic_uncertainty(exact), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_errors_name_the_row(dtype):
    x = P.astype(dtype)
    x[2, 1] = x[2, 1] * 1.1
    for function in (cl.ConvexHull, cl.quantify, cl.total_uncertainty, cl.majority_vote):
        with pytest.raises(ValueError, match=r"^members: row \(2, 1\) .* sums to 1\.[01]"):
            function(x)
    x = P.astype(dtype)
    x[2, 1, 0] = np.nan
    with pytest.raises(ValueError, match=r"^members: entry at index \(2, 1, 0\) .* is NaN"):
        cl.quantify(x)
    low, high = (np.array([[0.5, 0.6]]).astype(dtype), np.array([[0.9, 0.5]]).astype(dtype))
    with pytest.raises(ValueError, match=r"^lower: is 0\.6.* above upper"):
        cl.ProbabilityIntervals(low, high)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_minus_infinity_masks_a_class(dtype):
    logits = np.log(P).astype(dtype)
    logits[..., 2] = -np.inf
    Q = cl.ConvexHull.from_logits(logits)
    assert (Q.members[..., 2] == 0).all()
    known = cl.ConvexHull.from_logits(np.delete(logits, 2, axis=-1))
    for family in ("tv", "entropy", "hartley", "information"):
        for name, value in numbers(cl.quantify(Q, family)).items():
            assert_allclose(value, numbers(cl.quantify(known, family))[name], atol=1e-6)
