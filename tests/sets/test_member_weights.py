"""Weights of members: integer weights are repetitions, and the set does not depend on them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from backends import MEASURES
from credalens._backend import tree_map
from ensembles import ENSEMBLES, dirichlet, disagreeing

P = disagreeing(9, 5, 4)
SECOND_ORDER = ["information", "variance", "zero_one", "spherical", "second_order_distance",
                "confidence", "labelwise:entropy", "labelwise:variance"]  # fmt: skip


def leaves(result):
    found = []
    tree_map(lambda x: found.append(np.asarray(x)), result)
    return found


def assert_close(result, expected, atol=1e-12):
    for ours, wanted in zip(leaves(result), leaves(expected), strict=True):
        assert_allclose(ours, wanted, rtol=0, atol=atol)


def sample_measures(Q):
    return cl.quantify(Q, SECOND_ORDER), cl.mutual_information(Q), Q.center()


@pytest.mark.parametrize("P", ENSEMBLES.values(), ids=ENSEMBLES.keys())
def test_integer_weights_are_repetitions(P):
    M = P.shape[1]
    counts = np.random.default_rng(0).integers(0, 4, M)
    counts[0] = max(counts[0], 1)
    weighted = cl.ConvexHull(P, weights=counts)
    repeated = cl.ConvexHull(np.repeat(P, counts, axis=1))
    atol = 1e-6 if P.dtype == np.float32 else 1e-12
    assert_close(sample_measures(weighted), sample_measures(repeated), atol)
    assert_array_equal(cl.majority_vote(weighted), cl.majority_vote(repeated))


@pytest.mark.slow
@settings(max_examples=15)
@given(st.data())
def test_invariances(data):
    n, M, K = (data.draw(st.integers(1, most)) for most in (3, 5, 4))
    members = dirichlet(n, M, K, seed=data.draw(st.integers(0, 99)))
    weights = np.array(data.draw(st.lists(st.sampled_from([0, 0.25, 1, 1.5, 1e3]), min_size=M,
                                          max_size=M))) + np.eye(M)[0]  # fmt: skip
    Q = cl.ConvexHull(members, weights=weights)
    result, vote = sample_measures(Q), cl.majority_vote(Q)
    order = np.array(data.draw(st.permutations(range(M))))
    scale = data.draw(st.sampled_from([1e-6, 1 / 3, 1e6]))
    kept = weights > 0
    for other in (
        cl.ConvexHull(members[:, order], weights=weights[order]),
        cl.ConvexHull(members, weights=scale * weights),
        cl.ConvexHull(members, weights=np.broadcast_to(weights, (n, M))),
        cl.ConvexHull(members[:, kept], weights=weights[kept]),
        cl.ConvexHull(members, weights=weights, mask=kept),
    ):
        assert_close(sample_measures(other), result)
        assert_array_equal(cl.majority_vote(other), vote)
    equal = cl.ConvexHull(members, weights=np.full(M, scale))
    assert_close(sample_measures(equal), sample_measures(cl.ConvexHull(members)))


@pytest.mark.parametrize(
    "name", [name for name in MEASURES if name not in ("vote", "expectations")]
)
def test_measures_of_the_set_do_not_depend_on_weights(name):
    weighted = cl.ConvexHull(P, weights=[1, 0, 5, 0.5, 2])
    for ours, wanted in zip(
        leaves(MEASURES[name](weighted)), leaves(MEASURES[name](cl.ConvexHull(P))), strict=True
    ):
        assert_array_equal(ours, wanted)


def test_weights_of_each_instance():
    weights = np.random.default_rng(0).random((9, 5)).astype(np.float32)
    Q = cl.ConvexHull(P, weights=weights)
    whole = leaves(sample_measures(Q))
    for i in range(9):
        alone = leaves(sample_measures(cl.ConvexHull(P[i], weights=weights[i])))
        for ours, wanted in zip(whole, alone, strict=True):
            assert_array_equal(ours[i], wanted)
        assert cl.majority_vote(Q)[i] == cl.majority_vote(P[i], weights=weights[i])
    assert Q.weights.dtype == np.float32
    assert_array_equal(Q[3].weights, weights[3])


def test_votes():
    members = [[0.6, 0.4, 0.0], [0.6, 0.4, 0.0], [0.1, 0.1, 0.8]]
    assert cl.majority_vote(members) == 0
    assert cl.majority_vote(members, weights=[1, 1, 3]) == 2
    assert cl.majority_vote(cl.ConvexHull(members, weights=[1, 1, 3])) == 2
    assert cl.majority_vote(cl.ConvexHull(members, weights=[1, 1, 3]), weights=[1, 1, 1]) == 0
    # Equal votes, although 0.1 + 0.2 is not 0.3: the larger mean probability decides.
    assert cl.majority_vote(members, weights=[0.1, 0.2, 0.3]) == 2
    assert cl.majority_vote(members, weights=[0.3, 0.3, 0.6]) == 2
    with pytest.raises(ValueError, match=r"^weights: is passed with a Contamination"):
        cl.majority_vote(cl.Contamination([0.5, 0.5], 0.1), weights=[1, 2])


def test_other_weights():
    Q = cl.ConvexHull(P, weights=[1, 2, 3, 4, 5])
    assert "weighted" in repr(Q)
    assert_array_equal(Q.with_weights([1, 1, 0, 0, 0]).center(), P[:, :2].mean(axis=1))
    assert Q.with_weights(None).weights is None
    assert_array_equal(Q.with_weights(None).center(), cl.ConvexHull(P).center())
    moved = cl.ConvexHull(0.9 * P + 0.025, weights=[1, 2, 3, 4, 5]).translate([0.01, -0.01, 0, 0])
    assert_array_equal(moved.weights, Q.weights)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        ([1, 2], r"^weights: has shape \(2,\); pass one per member, \(\.\.\., 5\)$"),
        (3, r"^weights: has shape \(\); pass one per member"),
        (np.ones((3, 5)), r"^weights: has shape \(3, 5\); pass shape \(9, 5\)$"),
        ([1, 2, -1, 1, 1], r"^weights: is -1 at index 2 \(zero-based\); pass weights >= 0$"),
        ([1, 2, np.nan, 1, 1], r"^weights: is NaN at index 2"),
        ([0, 0, 0, 0, 0], r"^weights: sums to 0 at index 0 .*; pass a positive weight$"),
        ([1e308] * 5, r"^weights: sums to inf at index 0 .*; pass smaller weights$"),
        (["a"] * 5, r"^weights: is not numeric"),
    ],
)
def test_invalid_weights(weights, match):
    with pytest.raises(ValueError, match=match):
        cl.ConvexHull(P, weights=weights)


def test_weights_of_missing_members_are_not_read():
    mask = np.ones((9, 5), bool)
    mask[3] = [True, True, False, False, False]
    weights = np.where(mask, 1.0, np.nan)
    Q = cl.ConvexHull(P, weights=weights, mask=mask)
    assert_array_equal(Q.center()[3], cl.ConvexHull(P[3, :2], weights=[1, 1]).center())
    with pytest.raises(ValueError, match=r"^weights: sums to 0 at index 3 \(zero-based\)"):
        cl.ConvexHull(P, weights=[0, 0, 1, 1, 1], mask=mask)


def test_libraries(backend):
    x, weights = P.astype(np.float32), np.array([1.0, 2, 0, 0.5, 3])
    expected = cl.ConvexHull(x, weights=weights)
    Q = cl.ConvexHull(backend.asarray(x), weights=weights)
    backend.assert_same(
        cl.quantify(Q, ["information", "confidence"]),
        cl.quantify(expected, ["information", "confidence"]),
        atol=1e-6,
    )
    backend.assert_same(Q.center(), expected.center(), atol=1e-6)
    backend.assert_same(cl.majority_vote(Q), cl.majority_vote(expected), atol=0)
    other = Q.with_weights(np.broadcast_to(weights[::-1], (9, 5)))
    backend.assert_same(other.center(), expected.with_weights(weights[::-1]).center(), atol=1e-6)
    backend.assert_same(Q.with_weights(None).center(), cl.ConvexHull(x).center(), atol=1e-6)
    assert_allclose(np.asarray(Q.weights)[0], weights)
