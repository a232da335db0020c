"""Every row of the measure table against its literal definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import credalens as cl
from credalens.measures import reference
from credalens.measures.table import MEASURES

#: Small hulls: random, sparse, precise, with duplicates, with Dirac measures, one class.
SHAPES = [(1, 2), (2, 2), (3, 3), (4, 3), (2, 4)]
LARGEST = pytest.param((5, 4), marks=pytest.mark.slow)


def hulls(M, K):
    rng = np.random.default_rng(100 * M + K)
    yield rng.dirichlet(np.ones(K), M)
    yield rng.dirichlet(np.full(K, 0.2), M)
    whole = rng.integers(0, 4, (M, K)) + np.eye(K)[rng.integers(0, K, M)]
    yield whole / whole.sum(axis=1, keepdims=True)
    yield np.eye(K)[rng.integers(0, K, M)]
    yield np.repeat(rng.dirichlet(np.ones(K), 1), M, axis=0)


@pytest.mark.parametrize("shape", [*SHAPES, LARGEST], ids=str)
@pytest.mark.parametrize("name", MEASURES)
def test_measures_agree_with_their_definitions(name, shape):
    measure = MEASURES[name]
    for P in hulls(*shape):
        value = measure(cl.ConvexHull(P[None]))[0]
        assert_allclose(value, measure.reference(P), rtol=0, atol=2e-6)


def test_total_variation_is_the_largest_difference_over_events():
    P = np.random.default_rng(0).dirichlet(np.ones(4), 2)
    over_events = reference.maximum_mean_imprecision(P)
    assert_allclose(reference.total_variation(*P), over_events, atol=1e-12)


def test_aleatoric_uncertainty_of_one_distribution():
    p = np.array([0.6, 0.3, 0.1])
    assert_allclose(reference.aleatoric_uncertainty(p), 0.4, atol=1e-12)
    assert_allclose(cl.aleatoric_uncertainty(p[None]).lower, 0.4, atol=1e-12)
