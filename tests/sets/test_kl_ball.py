"""Kullback-Leibler balls: against convex programs, sampled members and hand-computed cases."""

import itertools

import cvxpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

import credalens as cl
import oracles_entropy
from credalens.sets import exponential_tilting
from oracles_sets import centers, kl_ball

#: Accuracy of the solver of the convex programs.
SOLVER = 2e-6


def same(a, b, atol=1e-9):
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


def bits(p, center):
    """The divergence, literally."""
    total = 0.0
    for a, b in zip(p, center, strict=True):
        if a > 0:
            total += a * np.log2(a / b) if b > 0 else np.inf
    return total


def members(center, radius, n, rng):
    """Random distributions, moved towards the center until they are in the ball."""
    found = [center]
    p = np.concatenate([rng.dirichlet(np.full(len(center), 0.3), n), np.eye(len(center))])
    for q in np.where(center > 0, p, 0.0):
        q = q / q.sum() if q.sum() > 0 else center
        share = 1.0
        if bits(q, center) > radius:
            share = brentq(lambda x, q=q: bits((1 - x) * center + x * q, center) - radius, 0, 1)
        found.append((1 - share) * center + share * q)
    return np.array(found)


def solve(center, radius, objective):
    """Maximise an expression of p over the ball."""
    support = center > 0
    p = cvxpy.Variable(support.sum())
    kl = cvxpy.sum(cvxpy.rel_entr(p, center[support]))
    problem = cvxpy.Problem(
        cvxpy.Maximize(objective(np.eye(len(center))[:, support] @ p)),
        [cvxpy.sum(p) == 1, kl <= radius * np.log(2)],
    )
    return problem.solve(solver=cvxpy.CLARABEL)


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3, 5])
def test_convex_programs(K):
    rng = np.random.default_rng(K)
    center = centers(12, K, rng)
    center = center[(center > 0).sum(axis=1) > 1]
    center[0, 0] = 0.0 if K > 2 else center[0, 0]
    Q = cl.KLBall(center, rng.random(len(center)) * 1.5 + 0.01, normalize=True)
    f = rng.normal(size=K)
    upper, lower, maximin = Q.upper(f), Q.lower(f), Q.maximin()[0]
    entropy, gap = Q.max_entropy()
    cost = rng.random((K, 3))
    game, game_gap = Q.maximin(cost)
    assert max(gap.max(), game_gap.max(), Q.maximin()[1].max()) < 1e-10
    for i in range(len(Q)):
        center, radius = Q.center()[i], Q.radius[i]
        same(upper[i], solve(center, radius, lambda p: f @ p), SOLVER)
        same(lower[i], -solve(center, radius, lambda p: -f @ p), SOLVER)
        same(maximin[i], 1 + solve(center, radius, lambda p: -cvxpy.max(p)), SOLVER)
        same(game[i], solve(center, radius, lambda p: cvxpy.min(cost.T @ p)), SOLVER)
        same(
            entropy[i],
            solve(center, radius, lambda p, some=center > 0: cvxpy.sum(cvxpy.entr(p[some]))),
            SOLVER,
        )


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3, 6])
def test_members_respect_every_bound(K):
    rng = np.random.default_rng(10 + K)
    Q = kl_ball(16, K, rng)
    u = cl.quantify(Q)
    low, high, events = Q.lower(), Q.upper(), Q.lower_probabilities()
    least, most = Q.min_entropy()[0], Q.max_entropy()[0]
    masks = np.arange(1 << K)[:, None] >> np.arange(K) & 1
    reached = np.zeros(16)
    for i in range(16):
        radius = Q.radius[i]
        center = Q.center()[i] if np.isfinite(radius) else np.full(K, 1 / K)
        P = members(center, radius, 200, rng)
        assert Q[i].contains(P).all()
        assert (low[i] - 1e-9 <= P).all()
        assert (high[i] + 1e-9 >= P).all()
        assert (events[i] - 1e-9 <= P @ masks.T).all()
        bayes = 1 - P.max(axis=1)
        assert (bayes >= u.aleatoric.lower[i] - 1e-9).all()
        assert (bayes <= u.aleatoric.upper[i] + 1e-9).all()
        assert (1 - P.min(axis=0).max()) <= u.total[i] + 1e-9
        apart = np.abs(P[:, None] - P).sum(axis=2).max() / 4
        assert apart <= u.epistemic[i] + 1e-9
        reached[i] = u.epistemic[i] - apart
        entropies = [oracles_entropy.entropy(p) * np.log(2) for p in P]
        assert least[i] - 1e-9 <= min(entropies)
        assert max(entropies) <= most[i] + 1e-9
    assert np.median(reached) < 0.02  # the members come close to the bounds


@pytest.mark.parametrize("K", [1, 2, 3, 4])
def test_the_solutions_are_members_that_attain_the_values(K):
    Q = kl_ball(40, K, np.random.default_rng(K))
    for query in (Q.max_entropy, Q.min_entropy):
        value, error, p = query(distribution=True)
        assert (error < 1e-9).all()
        for i in range(40):
            assert np.isinf(Q.radius[i]) or bits(p[i], Q.center()[i]) <= Q.radius[i] + 1e-9
            same(value[i] / np.log(2), oracles_entropy.entropy(p[i]))


@pytest.mark.slow
def test_the_smallest_entropy_on_a_grid():
    rng = np.random.default_rng(5)
    steps = np.linspace(0, 1, 301)
    grid = np.array([(a, b, 1 - a - b) for a, b in itertools.product(steps, steps) if a + b <= 1])
    grid = np.maximum(grid, 0)
    for center in [*rng.dirichlet(np.ones(3), 6), np.full(3, 1 / 3), np.array([0.4, 0.4, 0.2])]:
        for radius in (0.05, 0.3, 0.8, 1.3):
            Q = cl.KLBall(center, radius)
            with np.errstate(divide="ignore", invalid="ignore"):
                terms = np.where(grid > 0, grid * np.log2(grid / center), 0.0)
                entropies = -np.where(grid > 0, grid * np.log2(grid), 0.0).sum(axis=1)
            best = entropies[terms.sum(axis=1) <= radius].min()
            own = cl.lower_entropy(Q)
            assert own <= best + 1e-12
            assert best <= own + 0.03


@pytest.mark.slow
def test_total_variation_by_events():
    def bound(a, radius, far):
        """Solve the binary divergence for the probability, between a and `far`."""
        if a in (0.0, 1.0) or bits([far, 1 - far], [a, 1 - a]) <= radius:
            return a if a in (0.0, 1.0) else far
        return brentq(lambda b: bits([b, 1 - b], [a, 1 - a]) - radius, a, far, xtol=1e-15)

    rng = np.random.default_rng(6)
    for K in (2, 3, 4, 5):
        for center in centers(8, K, rng):
            radius = rng.random()
            Q = cl.KLBall(center, radius)
            widths = []
            for event in range(1 << K):
                inside = (event >> np.arange(K) & 1).astype(bool)
                a = 0.0 if not center[inside].any() else 1.0 if not center[~inside].any() else (
                    center[inside].sum())  # fmt: skip
                low, high = bound(a, radius, 0.0), bound(a, radius, 1.0)
                same(Q.lower_probability(inside), low, 1e-9)
                same(Q.upper_probability(inside), high, 1e-9)
                widths.append(high - low)
            same(cl.epistemic_uncertainty(Q), max(widths) / 2)
            same(cl.maximum_mean_imprecision(Q), max(widths))


def test_zeros_of_the_center_stay_zero():
    Q = cl.KLBall([0.6, 0.4, 0.0], [0.0, 0.3, 5.0, np.inf])
    same(Q.upper()[:, 2], [0, 0, 0, 1])
    same(Q.upper()[:, 0], [0.6, Q.upper()[1, 0], 1, 1])
    same(cl.upper_entropy(Q)[2:], [1.0, np.log2(3)])
    u = cl.quantify(Q)
    same(u.aleatoric.upper, [0.4, 0.5, 0.5, 2 / 3])
    same(u.total[[0, 2, 3]], [0.4, 1, 1])
    same(u.epistemic[[0, 2, 3]], [0, 0.5, 0.5])
    assert Q.contains([0.5, 0.5, 0.0]).tolist() == [False, True, True, True]
    assert Q.contains([0.5, 0.4, 0.1]).tolist() == [False, False, False, True]
    # Up to the tolerance.
    assert Q[2].contains([0.5, 0.5 - 1e-10, 1e-10])
    assert not Q[2].contains([0.5, 0.5 - 1e-8, 1e-8])
    # A class of tiny probability is not one of probability 0.
    tiny = cl.KLBall([1 - 1e-20, 1e-20], 0.5)
    assert 0.005 < tiny.upper()[1] < 0.01
    same(tiny.lower()[0], 1 - tiny.upper()[1])
    same(tiny.tv_diameter(), tiny.upper()[1])
    for e in (1e-5, 1e-12, 1e-20, 1e-100, 1e-300):
        Q = cl.KLBall([0.6 * e, 1 - e, 0.4 * e], 1.0)
        same(Q.tv_diameter(), 1 - Q.lower()[1], 1e-12)
        same(Q.tv_diameter(), Q.upper([1.0, 0.0, 1.0]), 1e-12)


def test_a_dirac_center_and_a_radius_of_zero_are_precise():
    for Q in (cl.KLBall([0.0, 1.0, 0.0], 3.0), cl.KLBall([0.2, 0.5, 0.3], 0.0)):
        for measure in ("tv", "entropy", "hartley"):
            assert cl.quantify(Q, measure).epistemic == pytest.approx(0, abs=1e-12)
        same(Q.lower(), Q.center())
        same(Q.upper(), Q.center())


def test_an_infinite_radius_is_every_distribution():
    Q = cl.KLBall(centers(8, 4, np.random.default_rng(0)), np.inf)
    u = cl.quantify(Q, ["tv", "entropy", "hartley", "ordinal"])
    same(u["tv"].total, 1)
    same(u["tv"].aleatoric.upper, 0.75)
    same(u["tv"].epistemic, 0.5)
    same(u["entropy"].total, 2)
    same(u["entropy"].aleatoric, 0)
    same(u["hartley"].epistemic, 2)
    same(u["ordinal"].epistemic, 1.5)
    assert Q.contains(np.eye(4)[:, None]).all()


def test_equal_most_probable_classes_share_the_smallest_entropy():
    # The Dirac measures are 1 bit away from (1/2, 1/2), H(p) = 1 - r on the boundary.
    Q = cl.KLBall([0.5, 0.5], [0.0, 0.25, 0.5, 1.0, 2.0])
    same(cl.lower_entropy(Q), [1, 0.75, 0.5, 0, 0])
    # (0.4, 0.4) alone is 0.32 bits away, a Dirac measure 1.32 bits.
    for center in ([0.4, 0.4, 0.2], [0.4 + 1e-16, 0.4, 0.2], [0.4 + 1e-13, 0.4 - 1e-13, 0.2]):
        value, p = cl.lower_entropy(cl.KLBall(center, 0.82), return_distribution=True)
        same(value, -np.log2(0.4) - 0.82, 1e-9)
        assert bits(p, center) <= 0.82 + 1e-9


def test_small_radii():
    center = np.array([0.5, 0.3, 0.2])
    f = np.array([0.0, 1.0, 3.0])
    deviation = np.sqrt(center @ f**2 - (center @ f) ** 2)
    for radius in 10.0 ** -np.arange(3, 17):
        Q = cl.KLBall(center, radius)
        # To first order, a change of sqrt(2 KL Var).
        expected = np.sqrt(2 * radius * np.log(2)) * deviation
        same(Q.upper(f) - center @ f, expected, max(2e-9, 2 * radius))
        u = cl.quantify(Q, ["tv", "entropy"])
        assert u["tv"].aleatoric.lower <= u["tv"].aleatoric.upper <= u["tv"].total
        assert u["entropy"].epistemic >= 0


def test_small_radii_round_a_peaked_center():
    # Not quadratic: KL is about u ln(u / a).
    for a, radius in ((1e-20, 1e-13), (1e-30, 1e-12)):
        u = cl.KLBall([1 - a, a], radius).upper()[1]
        same((u * np.log2(u / a) - u / np.log(2)) / radius, 1.0, 2e-2)


def test_gaps_hold_when_the_solver_stops_early(monkeypatch):
    rng = np.random.default_rng(12)
    center, radius = rng.dirichlet(np.full(5, 0.4), 300), rng.exponential(0.4, 300)
    f = rng.normal(size=(300, 5))
    solvers = {
        "expectation": (lambda: _expectation(center, f, radius), 1),
        "largest entropy": (lambda: exponential_tilting.largest_entropy(center, radius), 1),
        "smallest entropy": (lambda: exponential_tilting.smallest_entropy(center, radius), -1),
    }
    exact = {name: solver()[0] for name, (solver, _) in solvers.items()}
    top, early = exponential_tilting.smallest_maximum(center, radius)[0], {}
    for steps in (1, 2, 3):
        monkeypatch.setattr(exponential_tilting, "MAX_STEPS", steps)
        for name, (solver, sign) in solvers.items():
            value, gap, p = solver()
            inside = exponential_tilting.divergence(p, center) <= radius + 1e-12
            assert (sign * (value - exact[name]) + gap >= -1e-12)[inside].all(), name
            early[name] = max(early.get(name, 0.0), gap[inside].max())
        value, gap = exponential_tilting.smallest_maximum(center, radius)
        assert (value - gap <= top + 1e-12).all()
    assert min(early.values()) > 1e-4, early


def _expectation(center, f, radius):
    p, gap = exponential_tilting.tilted(center, f, radius)
    return (p * f).sum(axis=1), gap, p


def test_extreme_centers():
    rng = np.random.default_rng(3)
    center = rng.dirichlet(np.full(6, 0.02), 400)
    center[::3] = np.where(center[::3] < 1e-6, 0, center[::3])
    Q = cl.KLBall(
        center, rng.exponential(2, 400) * 10.0 ** -rng.integers(0, 6, 400), normalize=True
    )
    for value, gap in (Q.maximin(), Q.max_entropy(), Q.min_entropy()):
        assert np.isfinite(value).all()
        assert gap.max() < 1e-9
    low, high = Q.lower(), Q.upper()
    assert ((low >= 0) & (low <= Q.center() + 1e-9) & (high >= Q.center() - 1e-9)).all()
    for bound, bounded in ((low, low > 1e-9), (high, high < 1 - 1e-9)):
        for i, y in np.argwhere(bounded & (Q.center() > 0) & (Q.center() < 1))[:300]:
            a = Q.center()[i, y]
            rest = np.delete(Q.center()[i], y).sum()
            found = bits([bound[i, y], 1 - bound[i, y]], [a, rest])
            assert found <= Q.radius[i] * (1 + 1e-6) + 1e-12


@pytest.mark.slow
@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(lambda x: sum(x) > 0.01),
    st.floats(0, 3),
    st.floats(0, 3),
)
def test_measures_grow_with_the_radius(weights, first, second):
    center = np.array(weights) / sum(weights)
    small, large = (cl.KLBall(center, r) for r in sorted((first, second)))
    assert small.contains(center)
    assert small <= large
    assert large >= small
    for measure in (cl.total_uncertainty, cl.epistemic_uncertainty, cl.upper_entropy,
                    cl.generalized_hartley):  # fmt: skip
        assert measure(small) <= measure(large) + 1e-9
    upper = [cl.aleatoric_uncertainty(Q).upper for Q in (small, large)]
    assert upper[0] <= upper[1] + 1e-9
    assert cl.lower_entropy(small) >= cl.lower_entropy(large) - 1e-9


@pytest.mark.slow
def test_inclusion_of_balls():
    rng = np.random.default_rng(4)
    answers = set()
    for _ in range(150):
        K = int(rng.integers(2, 5))
        centre, other = rng.dirichlet(np.ones(K), 2)
        if rng.random() < 0.5:
            other = 0.7 * centre + 0.3 * other
        radius = float(rng.exponential(0.6))
        points = members(centre, radius, 300, rng)
        largest = max(bits(p, other) for p in points)
        own = exponential_tilting.largest_divergence(centre, radius * np.log(2), other) / np.log(2)
        assert own >= largest - 1e-9
        assert own <= largest * 1.1 + 0.1
        for slack in (-1e-3, 1e-3):
            answer = bool(cl.KLBall(centre, radius) <= cl.KLBall(other, own + slack))
            assert answer == (slack > 0)
            answers.add(answer)
    assert answers == {True, False}
    inner = cl.KLBall([0.5, 0.5, 0.0], [0.3, np.inf, 0.3])
    outer = cl.KLBall([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [1.0, 0.0, 0.0]], [3.0, 2.0, 9.0])
    assert (inner <= outer).tolist() == [True, False, False]
    assert (inner <= cl.KLBall(np.full(3, 1 / 3), np.inf)).all()
    assert cl.KLBall([0.5, 0.3, 0.2], 0.2) <= cl.TotalVariationBall([0.5, 0.3, 0.2], 0.3)
    assert cl.ConvexHull([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]) <= cl.KLBall([0.5, 0.3, 0.2], 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["ordinal", "kolmogorov"])
def test_diameters_of_ordered_classes(distance):
    rng = np.random.default_rng(7)
    Q = kl_ball(12, 4, rng)
    own = cl.epistemic_uncertainty(Q, distance)
    total = cl.total_uncertainty(Q, distance)
    d = cl.distances.as_distance(distance, 4)
    for i in range(12):
        center = Q.center()[i] if np.isfinite(Q.radius[i]) else np.full(4, 0.25)
        P = members(center, Q.radius[i], 800, rng)
        apart = d.between(P[:, None], P).max() / 2
        assert apart <= own[i] + 1e-9
        assert own[i] <= apart + 0.05
        worst = d.to_diracs(P[None])[0].max(axis=0).min()
        assert worst <= total[i] + 1e-9
        assert total[i] <= worst + 0.1


@pytest.mark.slow
def test_hartley_by_the_literal_sum():
    Q = kl_ball(6, 4, np.random.default_rng(8))
    exact = cl.generalized_hartley(Q, method="exact")
    sampled, error = cl.generalized_hartley(Q, method="sample", return_error=True, random_state=0)
    for i in range(6):
        lower = Q[i].lower_probabilities()
        expected = 0.0
        for event in range(1, 16):  # the Moebius inverse
            subsets = [sub for sub in range(16) if sub & event == sub]
            mass = sum((-1) ** (bin(event ^ sub).count("1")) * lower[sub] for sub in subsets)
            expected += mass * np.log2(bin(event).count("1"))
        same(exact[i], expected)
        same(sampled[i], expected, 1e-9 + 5 * error[i])
    with pytest.raises(ValueError, match="method='sample', or at most 20"):
        cl.generalized_hartley(cl.KLBall(np.full(21, 1 / 21), 0.1), method="exact")


def test_invalid_arguments():
    with pytest.raises(
        ValueError, match=r"^radius: is -0.1 at index 1 .*pass numbers >= 0, in bit"
    ):
        cl.KLBall([[0.5, 0.5]] * 2, [0.1, -0.1])
    with pytest.raises(ValueError, match=r"^radius: is NaN"):
        cl.KLBall([0.5, 0.5], np.nan)
    with pytest.raises(ValueError, match=r"^center: row 1 \(zero-based\) sums to 0.9"):
        cl.KLBall([[0.5, 0.5], [0.5, 0.4]], 0.1)
    with pytest.raises(ValueError, match=r"^radius: has shape \(3,\)"):
        cl.KLBall([[0.5, 0.5]] * 2, [0.1] * 3)
    with pytest.raises(ValueError, match="infinitely many extreme points"):
        cl.KLBall([0.5, 0.3, 0.2], 0.1).to_hull()
    assert cl.KLBall([0.5, 0.5], np.full((2, 3), 0.1)).batch_shape == (2, 3)


def test_two_classes_are_an_interval():
    rng = np.random.default_rng(9)
    Q = kl_ball(20, 2, rng)
    hull, box = Q.to_hull(), Q.to_intervals()
    for measure in ("tv", "entropy", "hartley", "ordinal", "scoring:brier"):
        for other in (hull, box):
            ours, theirs = cl.quantify(Q, measure), cl.quantify(other, measure)
            same(ours.epistemic, theirs.epistemic)
    assert (hull <= Q).all()
    assert (hull >= Q).all()


def test_decisions_and_prefixes_agree_with_many_members():
    rng = np.random.default_rng(11)
    Q = kl_ball(10, 4, rng)
    order = np.argsort(rng.random((10, 4)), axis=1)
    prefixes = Q.lower_prefixes(order)
    for i in range(10):
        for size in range(1, 5):
            same(prefixes[i, size - 1], Q[i].lower_probability(order[i, :size]))
    cost = rng.random((4, 3))
    worst = Q.upper(cost.T)
    assert np.array_equal(cl.decide(Q, cost), worst.argmin(axis=1))


@pytest.mark.parametrize("K", [2, 3, 6])
def test_distances_to_the_ball_by_convex_programmes(K):
    rng = np.random.default_rng(K)
    center, known = rng.dirichlet(np.full(K, 0.7), (2, 12))
    center[0] = (np.eye(K)[0] + np.eye(K)[1]) / 2  # excludes classes if K > 2
    known[1], known[2] = np.eye(K)[0], center[2]
    radius = rng.choice([0.01, 0.1, 0.5], 12)
    distance, error = cl.KLBall(center, radius).tv_distance(known)
    assert (error <= 1e-12).all()
    assert distance[2] == 0
    for i in range(12):
        expected = -solve(center[i], radius[i], lambda p, i=i: -cvxpy.norm1(p - known[i]) / 2)
        same(distance[i], expected, SOLVER)
    points = cl.KLBall(center, 0.0).tv_distance(known)[0]
    same(points, np.abs(center - known).sum(axis=1) / 2, 1e-7)


def test_distances_broadcast():
    Q = cl.KLBall([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], 0.05)
    assert Q.tv_distance([1.0, 0, 0])[0].shape == (2,)
    assert Q.tv_distance(np.full((3, 1, 3), 1 / 3))[0].shape == (3, 2)
