"""Scoring rules over a hull: both aleatoric ends, certificates, divergences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens.measures import reference
from ensembles import ENSEMBLES, dirichlet, disagreeing, slack

LOSSES = ("log", "brier", "spherical", "zero_one")


def mixtures(P, count, seed=0):
    """Random points of each hull, the members among them."""
    w = np.random.default_rng(seed).dirichlet(np.full(P.shape[1], 0.3), (len(P), count))
    return np.concatenate([w @ P, P], axis=1)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_nearest_point_is_certified(name):
    P = ENSEMBLES[name]
    wide = P.astype(np.float64)
    square, gap, p = cl.ConvexHull(P).min_norm_point(distribution=True)
    assert_allclose(square, (p**2).sum(axis=1), rtol=1e-14)
    # The certificate, computed here from the data: no member is farther down the gradient.
    literal = square - np.einsum("nk,nmk->nm", p, wide).min(axis=1)
    assert_allclose(gap, np.maximum(literal, 0), rtol=0, atol=1e-15)
    assert (gap <= 1e-12).all()
    p = p / p.sum(axis=1, keepdims=True)
    assert cl.ConvexHull(P).contains(p, 1e-7 if P.dtype == np.float32 else 1e-9).all()
    below = square[:, None] - 2 * gap[:, None] - (mixtures(wide, 50) ** 2).sum(axis=2)
    assert (below <= 1e-15).all()


@pytest.mark.parametrize("scale", [1e-3, 1e-6, 1e-9, 1e-12])
def test_the_nearest_point_of_members_that_are_close(scale):
    rng = np.random.default_rng(3)
    center = rng.dirichlet(np.ones(8), (40, 1))
    center[::2] = 1 / 8  # where the norm is flat, so that the nearest point is inside
    P = (1 - scale) * center + scale * rng.dirichlet(np.ones(8), (40, 12))
    square, gap = cl.ConvexHull(P).min_norm_point()
    assert (gap <= 1e-13).all()
    assert (square <= (P**2).sum(axis=2).min(axis=1) + 1e-15).all()


@pytest.mark.parametrize("shape", [(3, 60, 4), (3, 4, 60), (2, 80, 80), (4, 1, 5), (3, 5, 1)])
def test_the_nearest_point_against_cvxpy(shape):
    cvxpy = pytest.importorskip("cvxpy")
    P = disagreeing(*shape)
    P = P / P.sum(axis=-1, keepdims=True)
    square, gap = cl.ConvexHull(P).min_norm_point()
    assert (gap <= 1e-12).all()
    for one, ours in zip(P, square, strict=True):
        w = cvxpy.Variable(len(one), nonneg=True)
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(one.T @ w)), [cvxpy.sum(w) == 1])
        problem.solve(solver=cvxpy.CLARABEL)
        assert_allclose(ours, problem.value, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_intervals_contain_all_points_of_the_hull(loss):
    P = np.concatenate([dirichlet(30, 5, 4), dirichlet(30, 5, 4, 0.2, seed=1)])
    points = mixtures(P, 400)
    u = cl.quantify(P, f"scoring:{loss}", base="e")
    G = np.array(
        [[reference.GENERALISED_ENTROPIES[loss](p) for p in row] for row in points[:, -60:]]
    )
    values = G * np.log(2) if loss == "log" else G
    assert (values >= u.aleatoric.lower[:, None] - 1e-9).all()
    assert (values <= (u.aleatoric.upper + u.error)[:, None] + 1e-9).all()
    assert (u.error <= 1e-9).all()
    assert_array_equal(u.total.lower, u.aleatoric.lower + u.epistemic)
    assert_array_equal(u.total.upper, u.aleatoric.upper + u.epistemic)


def divergences(points, loss):
    """The largest D(p, q) over points ``(V, K)``; each class of a tied argmax counts."""
    if loss == "zero_one":
        top = points.max(axis=1, keepdims=True)
        modes = (points >= top - 1e-15).any(axis=0)
        return (top - points[:, modes]).max()
    p, q = points[:, None], points[None]
    if loss == "brier":
        return ((p - q) ** 2).sum(axis=2).max()
    if loss == "spherical":
        size = np.linalg.norm(points, axis=1)
        return (size[:, None] - (p * q).sum(axis=2) / size).max()
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / q), 0.0)
    return terms.sum(axis=2).max()


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_no_pair_of_points_diverges_more(loss):
    P = np.concatenate([dirichlet(25, 5, 4), dirichlet(25, 3, 4, 0.2, seed=1).repeat(2, 1)[:, :5]])
    ours = cl.quantify(P, f"scoring:{loss}", base="e").epistemic
    sampled = np.array([divergences(points, loss) for points in mixtures(P, 300)])
    assert (sampled <= ours + 1e-9).all()
    if loss == "zero_one":
        # A class that no member ranks first may be the mode of a mixture.
        members_only = np.array([divergences(one, loss) for one in P])
        assert (ours > members_only + 1e-6).sum() >= 3
        assert_allclose(sampled, ours, atol=1e-9)  # the members are among the points
    else:
        assert_allclose(ours, [divergences(one, loss) for one in P], atol=1e-9)


@pytest.mark.slow
def test_zero_one_divergence_of_ensembles_is_the_literal_one():
    for name in ("integer ties", "diracs", "sparse zeros", "peaked", "duplicated", "uniform"):
        P = ENSEMBLES[name]
        found = cl.ConvexHull(P).max_zero_one_divergence()
        expected = [reference.zero_one_divergence(one) for one in P]
        assert_allclose(found, expected, rtol=0, atol=slack(P), err_msg=name)


def test_a_zero_that_another_member_has_not_makes_the_log_divergence_infinite():
    P = [[0.5, 0.5, 0.0], [0.4, 0.5, 0.1]]
    u = cl.quantify(P, "scoring:log")
    assert u.epistemic == np.inf
    assert u.total.lower == u.total.upper == np.inf
    assert np.isfinite(u.aleatoric.upper)
    # A class that no member considers does not count.
    both = cl.quantify([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]], "scoring:log").epistemic
    assert_allclose(both, cl.quantify([[0.5, 0.5], [0.4, 0.6]], "scoring:log").epistemic)
    # Numbers below the smallest normal one are not zeros.
    assert np.isfinite(cl.quantify([[1.0, 1e-310], [0.5, 0.5]], "scoring:log").epistemic)
    # A zero of an extreme point that is off by rounding is one.
    box = cl.ProbabilityIntervals([0.1, 0.0, 0.0], [0.9, 0.6, 0.3])
    assert cl.quantify(box, "scoring:log").epistemic == np.inf


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_larger_sets_have_wider_intervals_and_larger_divergences(seed):
    P = dirichlet(3, 6, 4, 0.5, seed)
    for loss in LOSSES:
        small, large = (cl.quantify(x, f"scoring:{loss}") for x in (P[:, :3], P))
        assert (small.aleatoric.lower >= large.aleatoric.lower - 1e-12).all()
        assert (small.aleatoric.upper <= large.aleatoric.upper + 1e-9).all()
        assert (small.epistemic <= large.epistemic + 1e-12).all()


def test_upper_ends_are_not_at_members():
    P = dirichlet(200, 5, 4)
    for loss in LOSSES:
        upper = cl.quantify(P, f"scoring:{loss}").aleatoric.upper
        at_members = np.max(
            [[reference.GENERALISED_ENTROPIES[loss](p) for p in one] for one in P], axis=1
        )
        assert (upper >= at_members - 1e-9).all()
        assert (upper > at_members + 1e-3).mean() > 0.5


def test_values_of_the_released_code():
    """The example of docs/coming_from.md, by the formulas of the code of Hofman et al. (2024)."""
    p, q = P = np.array([[0.8, 0.1, 0.1], [0.3, 0.4, 0.3]])
    size = np.linalg.norm(P, axis=1)
    brier, spherical = (cl.quantify(P, f"scoring:{loss}") for loss in ("brier", "spherical"))
    # Members only: the upper end is too small.
    assert_allclose((1 - size**2).max(), 0.66)
    assert_allclose(brier.aleatoric, (0.34, 0.6624), atol=5e-5)
    # A sum over the members, instead of both ends.
    assert_allclose((1 - size).sum(), 0.6045, atol=5e-5)
    assert_allclose(spherical.aleatoric, (0.1876, 0.4189), atol=5e-5)
    # The norm of p in place of that of q.
    assert_allclose(max(size[0] - p @ q / size[0], size[1] - q @ p / size[1]), 0.4308, atol=5e-5)
    assert_allclose(spherical.epistemic, size[0] - p @ q / size[1])
    assert_allclose(spherical.epistemic, 0.2808, atol=5e-5)


def test_errors_are_the_certified_gaps_of_the_upper_ends():
    P = disagreeing(40, 12, 6)
    Q = cl.ConvexHull(P)
    square, gap = Q.min_norm_point()
    assert (gap > 0).any()
    # <p, q> >= |p|^2 - gap for all q, so that |q|^2 >= |p|^2 - 2 gap and |q| >= |p| - gap / |p|.
    assert_array_equal(cl.quantify(Q, "scoring:brier").error, 2 * gap)
    assert_allclose(cl.quantify(Q, "scoring:spherical").error, gap / np.sqrt(square), rtol=1e-14)
    assert_array_equal(cl.quantify(Q, "scoring:zero_one").error, cl.quantify(Q).error)


def test_zero_one_ends_are_those_of_total_variation_and_log_those_of_entropy():
    P = disagreeing(20, 5, 4)
    tv, zero_one = cl.quantify(P).aleatoric, cl.quantify(P, "scoring:zero_one").aleatoric
    assert_array_equal(np.asarray(tv), np.asarray(zero_one))
    log = cl.quantify(P, "scoring:log").aleatoric
    assert_array_equal(log.upper, cl.upper_entropy(P))
    assert_array_equal(log.lower, cl.lower_entropy(P))


def test_label_wise_credal_measures():
    u = cl.quantify([[0.6, 0.4], [0.2, 0.8]], "labelwise:credal")
    assert_allclose(u.total, [0.6, 0.6])
    assert_allclose(u.aleatoric, [0.2, 0.2])
    assert_allclose(u.epistemic, [0.4, 0.4])
    Q = cl.ProbabilityIntervals([[0.1, 0.2, 0.3]], [[0.4, 0.5, 0.6]])
    u = cl.quantify(Q, "labelwise:credal")
    low, high = Q.lower(), Q.upper()
    assert_allclose(u.total, np.minimum(1 - low, high))
    assert_allclose(u.aleatoric, np.minimum(low, 1 - high))
    assert_allclose(u.total, u.aleatoric + u.epistemic)


@pytest.mark.slow
def test_boxes_of_many_classes_have_zero_one_and_upper_ends():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(40), 3)
    Q = cl.ProbabilityIntervals(0.8 * p, 1.2 * p)
    u = cl.quantify(Q, "scoring:zero_one")
    assert (u.epistemic >= 0).all()
    square, gap, point = Q.min_norm_point(distribution=True)
    assert (gap <= 1e-10).all()
    assert Q.contains(point).all()
    # The same point has the largest entropy: it is majorised by every other.
    assert_allclose(point, Q.max_entropy(distribution=True)[2], atol=1e-6)
    assert (square <= (p**2).sum(axis=1)).all()
