"""The credal wrapper and credal ensembling: points and representatives against oracles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import credalens as cl
import oracles
from credalens.predictors import (
    CredalEnsembleClassifier,
    CredalEnsemblingClassifier,
    CredalWrapperClassifier,
)
from credalens.predictors.ensembling import (
    ordinal_median,
    representative_of,
    total_variation_median,
)
from ensembles import ENSEMBLES

X, y = load_iris(return_X_y=True)
TREE = DecisionTreeClassifier(max_features=1, max_depth=3)


# ---------------------------------------------------------------- the wrapper


def intersection_probability(low, high):
    return CredalWrapperClassifier()._point(cl.ProbabilityIntervals(low, high))


def literal_intersection(low, high):
    """The one fraction of all intervals at which the sum is 1, by bisection."""
    a, b = 0.0, 1.0
    for _ in range(100):
        t = (a + b) / 2
        a, b = (t, b) if (low + t * (high - low)).sum() < 1 else (a, t)
    return low + t * (high - low)


@pytest.mark.parametrize("P", ENSEMBLES.values(), ids=ENSEMBLES.keys())
def test_intersection_probability_against_bisection(P):
    low, high = P.min(axis=1), P.max(axis=1)
    got = intersection_probability(low, high)
    assert got.dtype == P.dtype
    tolerance = 1e-12 if P.dtype == np.float64 else 1e-5
    assert_allclose(got.sum(axis=1), 1, atol=tolerance)
    for p, a, b in zip(got, low.astype(float), high.astype(float), strict=True):
        assert_allclose(p, literal_intersection(a, b), atol=tolerance)


def test_near_precise_rows_in_single_precision():
    # Widths of 6e-8 and rows that miss 1 by more: the fraction is 1e3 if it is not held back.
    row = np.array([0.7, 0.2, 0.0999], np.float32)
    low, high = row, np.nextafter(row, np.float32(1), dtype=np.float32)
    p = intersection_probability(low, high)
    assert_allclose(p, row / row.sum(), atol=1e-6)
    assert np.all((p >= 0) & (p <= 1))
    assert_array_equal(intersection_probability(np.eye(3)[0], np.eye(3)[0]), [1, 0, 0])


def test_the_box_of_the_members():
    model = CredalWrapperClassifier(TREE, 5, random_state=0).fit(X, y)
    P = model.predict_members(X)
    Q = model.predict_credal(X)
    assert isinstance(Q, cl.ProbabilityIntervals)
    assert_allclose(Q.lower(), P.min(axis=1), atol=1e-15)
    assert_allclose(Q.upper(), P.max(axis=1), atol=1e-15)
    votes = model.set_params(voting="majority").predict(X)
    assert_array_equal(votes, cl.majority_vote(P))


# ---------------------------------------------------------------- credal ensembling


def least_sum(P, costs_between=None):
    """The least summed distance to the rows, by a linear program: L1 if no functions are given.

    Variables p (K), and for each member and function a bound t >= |f . (p - P_m)|.
    """
    M, K = P.shape
    F = np.eye(K) if costs_between is None else costs_between
    n = M * len(F)
    eye = np.eye(n)
    at = np.tile(F, (M, 1))
    values = (P @ F.T).ravel()
    answer = linprog(
        np.r_[np.zeros(K), np.ones(n)],
        A_ub=np.block([[at, -eye], [-at, -eye]]),
        b_ub=np.r_[values, -values],
        A_eq=np.r_[np.ones(K), np.zeros(n)][None],
        b_eq=[1.0],
        bounds=[(0, None)] * (K + n),
    )
    return answer.fun


SOLVABLE = {name: P for name, P in ENSEMBLES.items() if P.shape[1] * P.shape[2] <= 200}


@pytest.mark.parametrize("P", SOLVABLE.values(), ids=SOLVABLE.keys())
def test_the_total_variation_median_is_the_minimiser(P):
    P = P.astype(np.float64)
    P = P / P.sum(axis=-1, keepdims=True)
    p = total_variation_median(P)
    assert_allclose(p.sum(axis=-1), 1, atol=1e-12)
    assert p.min() >= 0
    for i, instance in enumerate(P):
        assert_allclose(np.abs(instance - p[i]).sum(), least_sum(instance), atol=1e-7)
    # Neither the order of the members nor that of the classes matters.
    rng = np.random.default_rng(0)
    members, classes = rng.permutation(P.shape[1]), rng.permutation(P.shape[2])
    again = total_variation_median(P[:, members][:, :, classes])
    assert_allclose(again, p[:, classes], atol=1e-12)


def test_the_median_by_hand():
    # Third smallest values 0.5 + 0.3 + 0.1 < 1, so that the fourth have to help: 1.3 > 1. A quarter
    # of the way lies the distribution.
    columns = np.array([[0.1, 0.2, 0.5, 0.7], [0.1, 0.2, 0.3, 0.4], [0.0, 0.1, 0.1, 0.2]])
    p = total_variation_median(columns.T)
    assert_allclose(p, [0.55, 0.325, 0.125])


@pytest.mark.parametrize("M", [4, 5])
def test_the_ordinal_median_is_the_minimiser(M):
    rng = np.random.default_rng(M)
    P = rng.dirichlet(np.full(5, 0.4), (6, M))
    at = np.array([3.0, 0.0, 1.0, 7.0, 2.5])
    distance = cl.Wasserstein.ordinal(at)
    order = np.argsort(at)
    cuts = np.array([np.isin(np.arange(5), order[: k + 1]) for k in range(4)])
    F = cuts * np.diff(at[order])[:, None]
    center, between = representative_of(distance, "minimizer", 5)
    p = center(P)
    assert_allclose(p, ordinal_median(P, at))
    assert_allclose(p.sum(axis=-1), 1)
    for i, instance in enumerate(P):
        total = sum(float(distance(row, p[i])) for row in instance)
        assert_allclose(total, least_sum(instance, F), atol=1e-7)
        assert_allclose(between(instance, p[i]).sum(), total)


@pytest.mark.parametrize(
    "distance", ["euclidean", "tv", "kolmogorov", cl.MMD(np.eye(3)), cl.Wasserstein(1 - np.eye(3))]
)
def test_medoids_are_the_best_members(distance):
    P = ENSEMBLES["dirichlet"][..., :3] / ENSEMBLES["dirichlet"][..., :3].sum(-1, keepdims=True)
    center, between = representative_of(distance, "medoid", 3)
    for instance, p in zip(P, center(P), strict=True):
        sums = [between(instance, row).sum() for row in instance]
        assert_array_equal(p, instance[int(np.argmin(sums))])


def test_the_mean_is_the_representative_for_squares():
    P = ENSEMBLES["dirichlet"]
    center, between = representative_of("euclidean", "minimizer", 5)
    assert_allclose(center(P), P.mean(axis=1))
    assert_allclose(between(P[:, 0], P[:, 1]), ((P[:, 0] - P[:, 1]) ** 2).sum(axis=-1))


@pytest.mark.parametrize("distance", ["tv", "euclidean", "ordinal"])
def test_the_nearest_members_stay(distance):
    model = CredalEnsemblingClassifier(TREE, 7, distance=distance, keep=0.5, random_state=0)
    model.fit(X, y)
    P = model.predict_members(X)
    Q = model.predict_credal(X)
    assert Q.n_members == 4  # ceil(3.5)
    center, between = representative_of(distance, "minimizer", 3)
    for i in (0, 55, 70, 133):
        apart = between(P[i], center(P[i : i + 1])[0]).round(12)
        stay = sorted(sorted(range(7), key=lambda m: (apart[m], m))[:4])
        assert_array_equal(Q.members[i], P[i][stay])
    assert_allclose(model.predict_proba(X), Q.members.mean(axis=1), atol=1e-15)
    votes = model.set_params(voting="majority").predict(X)
    assert_array_equal(votes, [oracles.majority_vote(instance) for instance in Q.members])


def test_the_share_that_stays():
    for keep, members in ((0.8, 8), (0.7, 7), (0.71, 8), (1, 10), (0.01, 1)):
        model = CredalEnsemblingClassifier(members="trees", keep=keep, random_state=0).fit(X, y)
        assert model.predict_credal(X[:3]).n_members == members
    everything = model.set_params(keep=1.0)
    assert_array_equal(everything.predict_credal(X).members, everything.predict_members(X))


def test_an_odd_member_is_left_out():
    class Stubborn(GaussianNB):
        def predict_proba(self, X):
            return np.eye(3)[np.full(len(X), 2)]

    members = [*[GaussianNB(var_smoothing=s) for s in (0, 1e-4, 1e-3, 1e-2)], Stubborn()]
    model = CredalEnsemblingClassifier(members, keep=0.8, random_state=0).fit(X, y)
    assert np.all(model.predict_uncertainty(X[:50]).total < 0.5)
    whole = CredalEnsembleClassifier(members, random_state=0).fit(X, y)
    assert np.all(whole.predict_uncertainty(X[:50]).total > 0.9)


# ---------------------------------------------------------------- weights


def test_weights_of_the_members():
    weights = [3, 0.5, 1]
    model = CredalEnsembleClassifier(TREE, 3, weights=weights, random_state=0).fit(X, y)
    plain = CredalEnsembleClassifier(TREE, 3, random_state=0).fit(X, y)
    members = plain.predict_members(X)
    assert_array_equal(model.predict_members(X), members)
    assert_allclose(model.predict_proba(X), np.average(members, axis=1, weights=weights))
    assert_array_equal(model.predict_uncertainty(X).total, plain.predict_uncertainty(X).total)
    expected = cl.mutual_information(cl.ConvexHull(members, weights=weights))
    assert_array_equal(model.predict_uncertainty(X, "information").epistemic, expected)
    for kind in (CredalEnsembleClassifier, CredalWrapperClassifier):
        voters = kind(TREE, 3, weights=weights, voting="majority", random_state=0).fit(X, y)
        assert_array_equal(voters.predict(X), cl.majority_vote(members, weights=weights))
    with pytest.raises(ValueError, match=r"^weights: has shape \(2,\); pass one per member"):
        CredalEnsembleClassifier(TREE, 3, weights=[1, 2], random_state=0).fit(X, y)
