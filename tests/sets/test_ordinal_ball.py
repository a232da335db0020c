"""Wasserstein balls of ordered classes, against linear programs over transport plans."""

import numpy as np
import pytest
from scipy.optimize import linprog

import credalens as cl
import oracles_entropy
from credalens.sets.ordinal_transport import vertex_candidates
from oracles_sets import ordinal_ball


def same(a, b, atol=1e-8):
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


def program(center, radius, K):
    """Constraints of plans ``(K, K)``, from y to z: rows sum to the center, cost at most radius."""
    distance = np.abs(np.subtract.outer(np.arange(K), np.arange(K))).ravel()
    rows = np.kron(np.eye(K), np.ones(K))
    finite = np.isfinite(radius)
    return {"A_ub": [distance] if finite else None, "b_ub": [radius] if finite else None,
            "A_eq": rows, "b_eq": center}  # fmt: skip


def largest(center, radius, f):
    K = len(center)
    found = linprog(-np.tile(f, K), **program(center, radius, K))
    return -found.fun, found.x.reshape(K, K).sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_expectations_agree_with_linear_programs(K):
    rng = np.random.default_rng(K)
    Q = ordinal_ball(24, K, rng)
    functions = [*rng.normal(size=(3, K)), np.zeros(K), np.round(rng.normal(size=K))]
    functions += [row.astype(float) for row in np.eye(K)]
    upper, lower = Q.upper(functions), Q.lower(functions)
    for i in range(24):
        for j, f in enumerate(functions):
            same(upper[i, j], largest(Q.center()[i], Q.radius[i], f)[0])
            same(lower[i, j], -largest(Q.center()[i], Q.radius[i], -f)[0])
    best = Q._maximiser(functions[0], *Q._parts)
    assert Q.contains(best).all()
    same(Q.upper(), upper[:, -K:])
    same(Q.lower(), lower[:, -K:])


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3, 4])
def test_total_variation(K):
    Q = ordinal_ball(14, K, np.random.default_rng(K))
    u = cl.quantify(Q)
    for i in range(14):
        center, radius = Q.center()[i], Q.radius[i]
        widths, events = [], Q[i].lower_probabilities()
        for event in range(1 << K):
            inside = (event >> np.arange(K) & 1).astype(float)
            low, high = -largest(center, radius, -inside)[0], largest(center, radius, inside)[0]
            same(events[event], low)
            widths.append(high - low)
        same(u.epistemic[i], max(widths) / 2)
        same(u.total[i], 1 - max(-largest(center, radius, -row)[0] for row in np.eye(K)))
        same(u.aleatoric.lower[i], 1 - max(largest(center, radius, row)[0] for row in np.eye(K)))
        # Minimise t with p_z <= t over plans.
        constraints = program(center, radius, K)
        sums = np.c_[np.kron(np.ones(K), np.eye(K)).reshape(K, K * K), -np.ones(K)]
        cost = [] if constraints["A_ub"] is None else [np.r_[constraints["A_ub"][0], 0.0]]
        found = linprog(
            np.r_[np.zeros(K * K), 1.0],
            np.vstack([sums, *cost]),
            np.r_[np.zeros(K), [radius] * len(cost)],
            np.c_[constraints["A_eq"], np.zeros(K)],
            center,
        )
        same(u.aleatoric.upper[i], 1 - found.fun)


def members(center, radius, rng, n=300):
    """Random distributions, moved towards the center until they are in the ball."""
    p = np.concatenate([rng.dirichlet(np.full(len(center), 0.3), n), np.eye(len(center))])
    apart = np.abs(np.cumsum(p - center, axis=1)[:, :-1]).sum(axis=1)
    share = np.minimum(1, radius / np.maximum(apart, 1e-300))[:, None]
    return np.vstack([center, (1 - share) * center + share * p])


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3, 4, 5])
def test_extreme_points_are_among_the_candidates(K):
    rng = np.random.default_rng(20 + K)
    Q = ordinal_ball(15, K, rng)
    for i in range(15):
        center, radius = Q.center()[i], float(Q.radius[i])
        points = vertex_candidates(center, radius)
        assert Q[i].contains(points).all()
        for f in rng.normal(size=(12, K)) * rng.integers(1, 4, (12, K)):
            same((points @ f).max(), largest(center, radius, f)[0])


@pytest.mark.parametrize("K", [4, 7])
def test_members_respect_the_entropies(K):
    rng = np.random.default_rng(3)
    Q = ordinal_ball(20, K, rng)
    upper, gap, p = Q.max_entropy(distribution=True)
    lower, error, q = Q.min_entropy(distribution=True)
    assert (gap < 1e-7).all()
    assert K > 6 or not error.any()
    for i in range(20):
        P = members(Q.center()[i], Q.radius[i], rng)
        assert Q[i].contains(P).all()
        values = [oracles_entropy.entropy(row) * np.log(2) for row in P]
        assert max(values) <= upper[i] + 1e-9
        assert min(values) >= lower[i] - error[i] - 1e-9
        assert min(values) >= lower[i] - 1e-9  # the local minimum is the global one here
        for value, where in ((upper[i], p[i]), (lower[i], q[i])):
            assert Q[i].contains(where)
            same(oracles_entropy.entropy(where) * np.log(2), value)


@pytest.mark.slow
def test_diameters_and_hartley():
    rng = np.random.default_rng(4)
    Q = ordinal_ball(8, 4, rng)
    own = cl.epistemic_uncertainty(Q, "ordinal")
    exact = cl.generalized_hartley(Q)
    d = cl.Wasserstein.ordinal(4)
    for i in range(8):
        P = members(Q.center()[i], Q.radius[i], rng, 800)
        apart = d.between(P[:, None], P).max() / 2
        assert apart - 1e-9 <= own[i] <= min(Q.radius[i], 1.5) + 1e-9
        capacity = cl.LowerProbability(Q[i].lower_probabilities())
        same(exact[i], cl.generalized_hartley(capacity))


def literal_tv_distance(center, radius, target):
    """The smallest (u + v) / 2 with q + u - v = target, u, v >= 0, as a linear programme."""
    K = len(center)
    eye, zero, prefix = np.eye(K), np.zeros((K, K)), np.tri(K)
    # q, u, v, and w at least the absolute value of each prefix sum of q - center
    equal = np.block([[eye, eye, -eye, zero], [np.ones((1, K)), np.zeros((1, 3 * K))]])
    offset = prefix @ center
    limits = np.block([
        [prefix, zero, zero, -eye], [-prefix, zero, zero, -eye], [np.zeros((1, 3 * K)), np.ones(K)]
    ])  # fmt: skip
    found = linprog(
        np.r_[np.zeros(K), np.full(2 * K, 0.5), np.zeros(K)],
        A_ub=limits, b_ub=np.r_[offset, -offset, min(radius, K)],
        A_eq=equal, b_eq=np.r_[target, 1.0],
    )  # fmt: skip
    return found.fun


@pytest.mark.parametrize("K", [1, 2, 3, 7])
def test_distance_to_the_nearest_member(K):
    rng = np.random.default_rng(K)
    Q = ordinal_ball(12, K, rng)
    target = rng.dirichlet(np.full(K, 0.3), 12)
    target[-1] = np.eye(K)[0]
    distance, error = Q.tv_distance(target)
    assert (error <= 1e-11).all()
    for i in range(12):
        expected = literal_tv_distance(Q.center()[i], Q.radius[i], target[i])
        assert distance[i] == pytest.approx(expected, abs=1e-8)
        assert Q[i].contains(target[i]) == (distance[i] <= 1e-9)
    one, _ = Q.tv_distance(target[0])  # broadcast
    assert one.shape == (12,)
    found = cl.validity.coverage(Q, target)
    assert found.mean_distance == pytest.approx(distance.mean(), abs=1e-9)


def test_arguments():
    with pytest.raises(ValueError, match=r"^radius: is -1 at index 1 \(zero-based\); pass numbers"):
        cl.OrdinalBall([[0.5, 0.5]] * 2, [0.1, -1])
    with pytest.raises(ValueError, match=r"^radius: is NaN"):
        cl.OrdinalBall([0.5, 0.5], np.nan)
    with pytest.raises(ValueError, match=r"extreme points of a Wasserstein ball are too many"):
        cl.OrdinalBall([0.5, 0.3, 0.2], 0.1).to_hull()
    many = cl.OrdinalBall(np.full(15, 1 / 15), 0.1)
    with pytest.raises(ValueError, match="at most 14 classes"):
        cl.generalized_hartley(many)
    low, high = many.tv_diameter_bounds()
    assert 0.1 <= low <= high <= 0.2
