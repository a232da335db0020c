"""The volume of a credal set."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from ensembles import dirichlet


@pytest.mark.parametrize("K", [2, 3, 4, 5, 8])
def test_the_simplex_and_its_shrunken_copies(K):
    assert_allclose(cl.volume(np.eye(K)), 1 / math.factorial(K - 1))
    Q = cl.Contamination(np.full((3, K), 1 / K), [0.0, 0.25, 1.0])
    assert_allclose(cl.volume(Q), np.array([0, 0.25 ** (K - 1), 1]) / math.factorial(K - 1))


def test_a_share_of_random_points():
    # The share of uniformly drawn distributions that the hull contains.
    P = dirichlet(1, 5, 3, 0.5)
    points = np.random.default_rng(0).dirichlet(np.ones(3), 4000)
    share = cl.ConvexHull(P).contains(points).mean()
    assert_allclose(2 * cl.volume(P)[0], share, atol=0.03)


def test_flat_sets_have_none():
    ends = dirichlet(5, 2, 4)
    t = np.linspace(0, 1, 9)[:, None]
    assert_array_equal(cl.volume((1 - t) * ends[:, :1] + t * ends[:, 1:]), 0)
    assert_array_equal(cl.volume(np.repeat(dirichlet(5, 1, 4), 7, axis=1)), 0)
    assert_array_equal(cl.volume(dirichlet(3, 3, 4)), 0)  # fewer members than classes
    assert_array_equal(cl.volume(dirichlet(3, 5, 40)), 0)
    assert_array_equal(cl.volume(np.ones((2, 3, 1))), 0)


def test_small_sets_are_measured_to_scale():
    P = dirichlet(4, 6, 4)
    center = P.mean(axis=1, keepdims=True)
    for scale in (1e-2, 1e-4):
        small = (1 - scale) * center + scale * P
        assert_allclose(cl.volume(small), scale**3 * cl.volume(P), rtol=1e-6)


def test_too_many_classes_raise():
    with pytest.raises(ValueError, match=r"Q: has 9 classes, too many.*at most 8"):
        cl.volume(dirichlet(1, 12, 9))
