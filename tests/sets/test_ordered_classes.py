"""Ordered classes: every representation against its extreme points and linear programs."""

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy.optimize import linprog

import credalens as cl
import oracles_distances as oracle
from oracles_sets import REPRESENTATIONS, UNLISTED, corners_of, intervals

POSITIONS = {
    "unit": lambda K, rng: np.arange(K, dtype=float),
    "any order": lambda K, rng: rng.normal(size=K),
    "ties": lambda K, rng: np.round(2 * rng.random(K)),
}


def same(a, b, atol=1e-11):
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


def maximin(costs):
    """``max over mixtures of the rows of min over columns``, by HiGHS."""
    M, D = costs.shape
    found = linprog(
        np.r_[np.zeros(M), -1.0], np.c_[-costs.T, np.ones(D)], np.zeros(D),
        np.r_[np.ones(M), 0.0][None], [1.0], bounds=[(0, None)] * M + [(None, None)],
        options=oracle.TIGHT,
    )  # fmt: skip
    return -found.fun


def wasserstein(corners, x):
    """Total, both aleatoric ends and epistemic uncertainty, from the definitions."""
    costs = np.abs(x[:, None] - x)
    expected, order = corners @ costs, np.argsort(x)
    sums = np.cumsum(corners[:, order], axis=1)[:, :-1] * np.diff(x[order])
    apart = np.abs(sums[:, None] - sums).sum(axis=2)
    return expected.max(axis=0).min(), expected.min(), maximin(expected), apart.max() / 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:cost. is 0 between classes")
@pytest.mark.parametrize("K", [1, 2, 3, 5])
@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_wasserstein_on_a_line_from_extreme_points(name, K):
    rng = np.random.default_rng([K, 1])
    Q = REPRESENTATIONS[name](6, min(K, 4) if name == "envelope" else K, rng)
    K = Q.n_classes
    for positions in POSITIONS.values():
        x = positions(K, rng)
        u = cl.quantify(Q, cl.Wasserstein.ordinal(x))
        assert (u.error <= 1e-11).all()
        for i in range(len(Q)):
            total, lower, upper, epistemic = wasserstein(corners_of(Q[i]), x)
            same(u.total[i], total)
            same(u.aleatoric.lower[i], lower)
            same(u.aleatoric.upper[i], upper, 1e-9)
            same(u.epistemic[i], epistemic)


@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_kolmogorov_from_extreme_points(name, K):
    Q = REPRESENTATIONS[name](5, K, np.random.default_rng([K, 2]))
    u = cl.quantify(Q, "kolmogorov")
    sections = np.tri(K)[:-1]
    for i in range(len(Q)):
        corners = corners_of(Q[i])
        below = np.c_[np.zeros(len(corners)), np.cumsum(corners, axis=1)[:, :-1]]
        above = 1 - below - corners
        same(u.total[i], np.maximum(below, above).max(axis=0).min())
        apart = np.abs(below[:, None] - below).max(initial=0.0)
        same(u.epistemic[i], apart / 2)
        same(u.aleatoric.lower[i], oracle.finite_lower(corners, sections) if K > 1 else 0, 1e-9)
        # For each class one of the tails is at least the value: a linear program for each choice.
        choices = itertools.product(*zip(below.T, above.T, strict=True))
        same(u.aleatoric.upper[i], max(maximin(np.array(c).T) for c in choices), 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["intervals", "ball", "contamination", "possibility"])
def test_many_classes_by_linear_programs(name):
    """The extreme points of 30 classes cannot be listed; HiGHS has the inequalities."""
    K, rng = 30, np.random.default_rng(3)
    Q = REPRESENTATIONS[name](2, K, rng)
    x = rng.random(K)
    u, ends = cl.quantify(Q, cl.Wasserstein.ordinal(x)), np.abs(x[:, None] - x)
    for i in range(len(Q)):
        A, b, bounds = inequalities(Q[i])
        extra = A.shape[1] - K
        pad = np.zeros(extra)
        largest = [highs(np.r_[-c, pad], A, b, bounds) for c in ends.T]
        same(u.total[i], -max(largest), 1e-8)
        smallest = [highs(np.r_[c, pad], A, b, bounds) for c in ends.T]
        same(u.aleatoric.lower[i], min(smallest), 1e-8)
        # Maximise t with t <= E_p[c_y] for all y.
        rows = np.r_[np.c_[-ends.T, np.zeros((K, extra)), np.ones(K)], np.c_[A, np.zeros(len(A))]]
        value = highs(np.r_[np.zeros(K + extra), -1.0], rows, np.r_[np.zeros(K), b],
                      [*bounds, (None, None)])  # fmt: skip
        same(u.aleatoric.upper[i], -value, 1e-8)
        assert u.error[i] <= 1e-12
        order, width = np.argsort(x), 0.0
        for k in range(K - 1):
            f = np.r_[np.isin(np.arange(K), order[: k + 1]).astype(float), pad]
            step = -highs(-f, A, b, bounds) - highs(f, A, b, bounds)
            width += (x[order[k + 1]] - x[order[k]]) * step
        same(u.epistemic[i], width / 2, 1e-8)


def inequalities(Q):
    """``A (p, more) <= b`` and bounds of one set of many classes."""
    K = Q.n_classes
    if isinstance(Q, cl.ProbabilityIntervals):
        return np.zeros((1, K)), [0.0], [*zip(Q.lower(), Q.upper(), strict=True)]
    if isinstance(Q, cl.Contamination):
        return np.zeros((1, K)), [0.0], [(low, None) for low in (1 - Q.epsilon) * Q.center()]
    if isinstance(Q, cl.TotalVariationBall):  # p - excess <= center, sum of the excesses <= radius
        A = np.r_[np.c_[np.eye(K), -np.eye(K)], np.r_[np.zeros(K), np.ones(K)][None]]
        return A, np.r_[Q.center(), Q.radius], [(0, None)] * (2 * K)
    levels = np.unique(Q.contour)
    return np.array([Q.contour <= t for t in levels], float), levels, [(0, None)] * K


def highs(c, A, b, bounds):
    K = len(bounds)
    one = np.r_[np.ones(30), np.zeros(K - 30)][None]
    found = linprog(c, A, b, one, [1.0], bounds=bounds, options=oracle.TIGHT)
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("name", UNLISTED)
@pytest.mark.parametrize("K", [3, 4])
def test_balls_respect_their_members(name, K):
    """Balls without listed extreme points, against random members and the dual bounds."""
    rng = np.random.default_rng(K)
    Q = UNLISTED[name](10, K, rng)
    x = np.cumsum(rng.random(K))
    costs = np.abs(x[:, None] - x)
    directions = [*rng.normal(size=(40, K)), *costs, *-costs, *np.tri(K), *-np.tri(K)]
    points = np.stack([Q._maximiser(f, *Q._parts) for f in directions], axis=1)
    for distance in (cl.Wasserstein.ordinal(x), cl.Kolmogorov()):
        u, hull = cl.quantify(Q, distance), cl.quantify(points, distance)
        # The hull of some extreme points is a subset, and it has those of the costs.
        assert (u.error <= 1e-10).all()
        assert (u.epistemic >= hull.epistemic - 1e-9).all()
        assert (u.aleatoric.upper >= hull.aleatoric.upper - 1e-9).all()
        assert (u.aleatoric.lower <= hull.aleatoric.lower + 1e-9).all()
        same(u.total, hull.total, 1e-8)
        if distance == cl.Kolmogorov():
            same(u.epistemic, hull.epistemic, 1e-8)
            same(u.aleatoric.upper, hull.aleatoric.upper, 1e-8)
        else:
            same(u.aleatoric.lower, hull.aleatoric.lower, 1e-8)


@pytest.mark.parametrize("name", UNLISTED)
def test_the_upper_end_of_balls_is_that_of_the_whole_game(name):
    """The minimum over real decisions equals the game with all decisions, which is not used."""
    Q = UNLISTED[name](10, 6, np.random.default_rng(0))
    distance = cl.Wasserstein.ordinal(6)
    upper, gap = Q.maximin(np.asarray(distance.cost))
    u = cl.aleatoric_uncertainty(Q, distance)
    same(u.upper, upper, 1e-9)
    assert (gap < 1e-9).all()


@pytest.mark.parametrize("name", UNLISTED)
def test_diameters_of_balls_with_many_classes_are_bounded(name):
    K, rng = 16, np.random.default_rng(1)
    Q, distance = UNLISTED[name](4, K, rng), cl.Wasserstein.ordinal(K)
    value, error = cl.epistemic_uncertainty(Q, distance, return_error=True)
    f = np.arange(K)
    assert (value >= (Q.upper(f) - Q.lower(f)) / 2 - 1e-9).all()
    assert (error >= 0).all()
    assert (error[:2] <= 1e-9).all()  # a point, and all distributions
    with pytest.raises(ValueError, match="only certified to lie between"):
        cl.epistemic_uncertainty(Q, distance)
    u = cl.quantify(Q, distance)
    same(u.epistemic, value)
    assert (u.error >= error - 1e-12).all()


def test_signs_of_balls_can_differ():
    """Two members far from each other need not be ordered: mass moves one step, and three."""
    Q, r = cl.OrdinalBall([0.0, 0.0, 0.0, 1.0], 0.3), 0.3
    same(cl.epistemic_uncertainty(Q, "ordinal"), (r / 3 + r / 3 + (r - r / 3)) / 2)
    f = np.arange(4)
    same((Q.upper(f) - Q.lower(f)) / 2, r / 2)


def test_extreme_points_are_not_listed(monkeypatch):
    def never(self):
        raise AssertionError("extreme points were listed")

    for name, build in REPRESENTATIONS.items():
        if name in ("listed", "envelope"):
            continue
        Q = build(4, 6, np.random.default_rng(4))
        monkeypatch.setattr(type(Q), "extreme_points", never)
        for distance in ("ordinal", "kolmogorov"):
            cl.quantify(Q, distance)


def test_a_box_of_many_classes_needs_little_memory():
    K = 4000
    rng = np.random.default_rng(0)
    Q = cl.ProbabilityIntervals.from_members(rng.dirichlet(np.ones(K), (1, 3)))
    tracemalloc.start()
    u = cl.quantify(Q, "ordinal")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 8 * K
    assert u.aleatoric.lower <= u.aleatoric.upper <= u.total
    assert u.epistemic <= u.total


def star_of_groups(K):
    """A tree with groups of five classes."""
    groups = -(-K // 5)
    parents = [K + i // 5 for i in range(K)] + [K + groups] * groups + [-1]
    return cl.Wasserstein.tree(parents, 1 + np.arange(len(parents)) % 3)


@pytest.mark.parametrize("make", [cl.Wasserstein.ordinal, star_of_groups])
def test_a_hull_of_many_classes_needs_no_matrix_of_costs(make):
    K = 800
    members = np.random.default_rng(0).dirichlet(np.full(K, 0.1), (4, 3))
    tracemalloc.start()
    distance = make(K)
    u = cl.quantify(members, distance)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 8 * K * 3 * 4 + 64 * 8 * K  # a few times the members and the tree
    dense = cl.Wasserstein(distance.cost)
    expected = members @ np.asarray(distance.cost)
    same(u.total, expected.max(axis=1).min(axis=1), 1e-9)
    same(u.aleatoric.lower, expected.min(axis=(1, 2)), 1e-9)
    same(u.aleatoric.upper, cl.aleatoric_uncertainty(members, dense).upper, 1e-9)
    assert (u.error < 1e-9).all()


@pytest.mark.slow
def test_the_upper_end_of_a_hull_is_certified_by_its_mixture():
    """The game on a line: a mixture of two members, for which no decision is better."""
    rng = np.random.default_rng(2)
    for M, K in ((1, 4), (2, 2), (3, 5), (6, 3), (20, 9)):
        members = rng.dirichlet(np.full(K, 0.5), (15, M))
        members[::3] = np.round(4 * members[::3]) / 4  # ties
        members[..., 0] += 1 - members.sum(axis=-1)
        members = np.abs(members) / np.abs(members).sum(axis=-1, keepdims=True)
        cost = np.abs(np.arange(K)[:, None] - np.arange(K)).astype(float)
        u = cl.quantify(members, "ordinal")
        for i in range(15):
            same(u.aleatoric.upper[i], maximin(members[i] @ cost), 1e-9)
        assert (u.error <= 1e-13 * K).all()


def test_results_do_not_depend_on_the_batch_or_the_order_of_the_classes():
    rng = np.random.default_rng(5)
    Q = intervals(40, 7, rng)
    x, order = np.cumsum(rng.random(7)), rng.permutation(7)
    u = cl.quantify(Q, cl.Wasserstein.ordinal(x))
    alone = cl.quantify(Q[17], cl.Wasserstein.ordinal(x))
    assert (u.total[17], u.epistemic[17]) == (alone.total, alone.epistemic)
    R = cl.ProbabilityIntervals(Q.lower()[:, order], Q.upper()[:, order])
    v = cl.quantify(R, cl.Wasserstein.ordinal(x[order]))
    for a, b in itertools.zip_longest((u.total, *u.aleatoric, u.epistemic),
                                      (v.total, *v.aleatoric, v.epistemic)):  # fmt: skip
        same(a, b)
