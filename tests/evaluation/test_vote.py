"""Majority votes and their ties."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import credalens as cl
import oracles
from ensembles import ENSEMBLES


@pytest.mark.parametrize("P", ENSEMBLES.values(), ids=ENSEMBLES.keys())
def test_vote_against_the_literal_count(P):
    got = cl.majority_vote(P)
    assert got.dtype == np.intp
    assert_array_equal(got, [oracles.majority_vote(instance) for instance in P])


def test_votes_count_more_than_means():
    # Two of three put class 0 first, although class 1 has the larger mean.
    assert cl.majority_vote([[0.51, 0.49], [0.51, 0.49], [0.0, 1.0]]) == 0


def test_equal_votes_go_to_the_larger_mean():
    assert cl.majority_vote([[0.6, 0.4], [0.1, 0.9]]) == 1
    assert cl.majority_vote([[0.9, 0.1], [0.4, 0.6]]) == 0
    # Class 2 has the largest mean of all, but no vote.
    assert cl.majority_vote([[0.5, 0.1, 0.4], [0.0, 0.55, 0.45]]) == 1


def test_equal_means_go_to_the_smaller_index():
    assert cl.majority_vote([[0.75, 0.25], [0.25, 0.75]]) == 0
    assert cl.majority_vote([[0.25, 0.0, 0.75], [0.25, 0.75, 0.0]]) == 1


def test_ties_inside_a_member_go_to_the_first_index():
    assert cl.majority_vote([[0.5, 0.5], [0.5, 0.5]]) == 0
    assert cl.majority_vote([[0.0, 0.5, 0.5], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]) == 1


def test_the_order_of_members_does_not_matter():
    # Classes 0, 1 and 2 have a vote each, and 0 and 1 the same mean 0.85 / 3, above 0.6 / 3. Summed
    # in the order of the members, 0.6 + 0.05 + 0.2 and 0.05 + 0.2 + 0.6 are not the same number.
    P = np.array([[0.6, 0.05, 0.0, 0.35], [0.05, 0.6, 0.0, 0.35], [0.2, 0.2, 0.6, 0.0]])
    assert 0.6 + 0.05 + 0.2 != 0.05 + 0.2 + 0.6
    for order in itertools.permutations(range(3)):
        assert cl.majority_vote(P[list(order)]) == 0


def test_shapes():
    P = ENSEMBLES["dirichlet"]
    assert cl.majority_vote(P.reshape(2, 4, 6, 5)).shape == (2, 4)
    assert cl.majority_vote(P[0]).shape == ()
    assert_array_equal(cl.majority_vote(cl.ConvexHull(P)), cl.majority_vote(P))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("y", [0, 2049, 4095])
def test_many_classes_in_any_precision(dtype, y):
    P = np.zeros((2, 3, 4096), dtype)
    P[..., y] = 1
    assert_array_equal(cl.majority_vote(P), [y, y])
