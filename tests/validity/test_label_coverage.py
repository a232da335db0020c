"""Coverage of label distributions, by linear programmes and binomial sums."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import credalens as cl
from credalens.validity.intervals import clopper_pearson
from ensembles import ENSEMBLES
from oracles_sets import REPRESENTATIONS, corners_of


def nearest(points, p):
    """The smallest ``sum_k |q_k - p_k| / 2`` over mixtures q, a linear programme."""
    V, K = points.shape
    # Weights w and bounds e with  -e <= points' w - p <= e.
    cost = np.r_[np.zeros(V), np.full(K, 0.5)]
    above = np.hstack([points.T, -np.eye(K)])
    below = np.hstack([-points.T, -np.eye(K)])
    total = np.r_[np.ones(V), np.zeros(K)][None]
    found = linprog(cost, np.vstack([above, below]), np.r_[p, -p], total, [1.0])
    assert found.status == 0
    return found.fun


def at_least(hits, trials, q):
    """The probability of `hits` or more."""
    terms = (math.comb(trials, j) * q**j * (1 - q) ** (trials - j) for j in range(hits, trials + 1))
    return sum(terms)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_distances_to_hulls_by_linear_programmes(name):
    members = np.asarray(ENSEMBLES[name], np.float64)[:12]
    K = members.shape[-1]
    known = np.random.default_rng(0).dirichlet(np.full(K, 0.5), len(members))
    known[0] = members[0].mean(axis=0)
    known[-1] = np.eye(K)[0]
    distance, error = cl.ConvexHull(members).tv_distance(known)
    expected = [nearest(own, p) for own, p in zip(members, known, strict=True)]
    np.testing.assert_allclose(distance, expected, atol=1e-7)
    assert (error <= 1e-9).all()
    assert distance[0] <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", REPRESENTATIONS)
@pytest.mark.parametrize("K", [2, 4])
def test_distances_of_every_representation(name, K):
    rng = np.random.default_rng(K)
    Q = REPRESENTATIONS[name](16, K, rng)
    known = rng.dirichlet(np.full(K, 0.4), 16)
    known[3] = np.eye(K)[1]
    distance, error = Q.tv_distance(known)
    expected = [nearest(corners_of(Q[i]), known[i]) for i in range(16)]
    np.testing.assert_allclose(distance, expected, atol=1e-7)
    assert (error <= 1e-9).all()


def test_distances_broadcast_and_do_not_depend_on_the_batch():
    rng = np.random.default_rng(1)
    members, known = rng.dirichlet(np.ones(30), (40, 6)), rng.dirichlet(np.ones(30), 40)
    distance, _ = cl.ConvexHull(members).tv_distance(known)
    for i in (0, 7, 39):
        np.testing.assert_allclose(
            cl.ConvexHull(members[i]).tv_distance(known[i])[0], distance[i], atol=1e-11
        )
    assert cl.ConvexHull(members).tv_distance(known[0])[0].shape == (40,)
    assert (distance > 0.01).all()


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (7, 7), (3, 7), (20, 41), (1, 1)])
@pytest.mark.parametrize("confidence", [0.9, 0.999])
def test_intervals_by_binomial_sums(hits, trials, confidence):
    low, high = clopper_pearson(hits, trials, confidence)
    tail = (1 - confidence) / 2
    if hits:
        assert at_least(hits, trials, float(low)) == pytest.approx(tail, rel=1e-6)
    else:
        assert low == 0
    if hits < trials:
        assert 1 - at_least(hits + 1, trials, float(high)) == pytest.approx(tail, rel=1e-6)
    else:
        assert high == 1


def some_rows(n=60, seed=2):
    """Half of the distributions are mixtures of the members."""
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.ones(4), (n, 3))
    weights = rng.dirichlet(np.ones(3), n)
    known = np.einsum("nm,nmk->nk", weights, members)
    known[::2] = rng.dirichlet(np.ones(4), len(known[::2]))
    return members, known / known.sum(axis=1, keepdims=True)


def test_coverage_by_its_definition():
    members, known = some_rows()
    found = cl.validity.coverage(members, known, confidence=0.9)
    expected = np.array([nearest(own, p) for own, p in zip(members, known, strict=True)])
    np.testing.assert_allclose(found.distance, expected, atol=1e-7)
    np.testing.assert_array_equal(found.covered, expected < 1e-8)
    hits = int((expected < 1e-8).sum())
    assert 30 <= hits < 60
    assert found.coverage == hits / 60
    assert at_least(hits, 60, found.lower) == pytest.approx(0.05, rel=1e-6)
    assert 1 - at_least(hits + 1, 60, found.upper) == pytest.approx(0.05, rel=1e-6)
    assert found.mean_distance == pytest.approx(expected.mean(), abs=1e-8)
    assert found.max_distance == pytest.approx(expected.max(), abs=1e-8)
    assert list(found.to_pandas().index) == [
        "coverage", "lower", "upper", "mean_distance", "max_distance",
    ]  # fmt: skip
    assert "coverage" in found._repr_html_()


def test_groups_are_those_rows_alone():
    members, known = some_rows()
    groups = np.array(["odd", "even"])[np.arange(60) % 2]
    found = cl.validity.coverage(members, known, groups)
    assert list(found) == ["even", "odd"]
    alone = cl.validity.coverage(members[::2], known[::2])
    assert found["odd"].coverage == alone.coverage
    assert found["odd"].upper == alone.upper
    np.testing.assert_array_equal(found["odd"].distance, alone.distance)
    assert found.to_pandas().loc["even", "n"] == 30
    with pytest.raises(ValueError, match="group: is 'none'; choose one of 'even', 'odd'"):
        found["none"]


def test_the_whole_simplex_covers_everything_and_a_point_nothing():
    known = some_rows()[1]
    whole = cl.TotalVariationBall(np.full((60, 4), 0.25), np.ones(60))
    assert cl.validity.coverage(whole, known).coverage == 1
    assert cl.validity.coverage(whole, known).upper == 1
    precise = cl.validity.coverage(np.full((60, 1, 4), 0.25), known)
    assert precise.coverage == 0
    np.testing.assert_allclose(precise.distance, np.abs(known - 0.25).sum(axis=1) / 2)


def test_invalid_arguments():
    members, known = some_rows(8)
    bad = known.copy()
    bad[3, 1] = -0.2
    for arguments, text in [
        ((members, known[:5]), r"distributions: has shape \(5, 4\); pass one .* per set, \(8, 4\)"),
        ((members, np.zeros(8, int)), r"distributions: has shape \(8,\)"),
        ((members, bad), r"distributions: .*3"),
        ((members, 20 * known), "distributions: .*divide it by its sum"),
        ((members[0], known), r"Q: has batch shape \(\); pass one set per instance"),
        ((members[:0], known[:0]), "Q: has batch shape"),
        ((members, known, ["a"]), r"groups: has shape \(1,\); pass \(8,\)"),
    ]:
        with pytest.raises(ValueError, match=text):
            cl.validity.coverage(*arguments)
    with pytest.raises(ValueError, match=r"confidence: is 1.5; pass a number in \(0, 1\)"):
        cl.validity.coverage(members, known, confidence=1.5)


def test_validity_is_a_listed_submodule():
    assert "validity" in dir(cl)
    assert cl.validity.coverage.__module__ == "credalens.validity.label_coverage"
