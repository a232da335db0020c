"""Lower probabilities and belief functions: the door, constructors, hand-computed cases."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import credalens as cl
from credalens.sets import core
from credalens.sets.events import event_sums
from oracles_sets import belief, core_corners, envelope, marginals


def test_the_center_is_a_member_of_the_set():
    # Classes without mass: Shapley's sum of differences must not fall below 0.
    rng = np.random.default_rng(0)
    events = (np.arange(16)[:, None] >> np.arange(4) & 1).astype(float)
    p = rng.dirichlet(np.ones(4), 500)
    p[np.arange(500), rng.integers(4, size=500)] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    size = rng.random((500, 1)) / 2
    values = np.maximum((1 + size) * (p @ events.T) - size, 0.0)
    values[:, 0], values[:, -1] = 0.0, 1.0
    Q = cl.LowerProbability(values)
    assert (Q.center() >= 0).all()
    assert Q.contains(Q.center()).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_ends_of_an_interval_keep_their_order(dtype):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    zeros, ones = np.zeros(300), np.ones(300)
    Q = cl.LowerProbability(np.stack([zeros, p, 1 - p, ones], axis=1).astype(dtype))
    u = cl.quantify(Q, "ordinal")
    assert (u.aleatoric.lower <= u.aleatoric.upper).all()
    assert (u.aleatoric.upper <= u.total).all()


def same(a, b, atol=1e-9):
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


# events:            {}   {0}  {1}  {01} {2}  {02} {12} all
GOOD = np.array([0.0, 0.2, 0.3, 0.6, 0.1, 0.4, 0.5, 1.0])


@pytest.mark.parametrize(
    ("event", "value", "message"),
    [
        (0, 0.1, "values: of the impossible event is 0.1"),
        (7, 0.9, "values: of the sure event is 0.9"),
        (1, np.nan, "values: is NaN at index 1"),
        (3, 0.1, r"values: is 0.1 at index 3 .*without class"),
        (2, 1.2, r"values: is 1.2 at index 2 .*pass probabilities in"),
        (1, 0.55, r"is 0.4 at index 5 .*without class 2"),
        (3, 0.95, "no distribution has these lower probabilities"),
    ],
)
def test_bad_lower_probabilities_are_refused(event, value, message):
    values = GOOD.copy()
    values[event] = value
    with pytest.raises(ValueError, match=message):
        cl.LowerProbability(values)


def test_incoherent_values_are_refused_with_what_is_attained():
    # p({0,1}) >= .7 and p({0,2}) >= .7 leave {0} at least .4.
    values = np.array([0.0, 0.2, 0.0, 0.7, 0.0, 0.7, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"not coherent: that of event 1 is 0.2, .* least 0.4"):
        cl.LowerProbability(values)
    batch = np.stack([GOOD, values])
    with pytest.raises(ValueError, match=r"instance 1 \(zero-based\): not coherent"):
        cl.LowerProbability(batch)
    values[1] = 0.4
    assert cl.LowerProbability(values).is_two_monotone()


def test_shapes_are_refused():
    for kind, name in ((cl.LowerProbability, "values"), (cl.BeliefFunction, "masses")):
        with pytest.raises(ValueError, match=rf"{name}: has shape \(3,\)"):
            kind([0.0, 0.5, 1.0])
        with pytest.raises(ValueError, match=f"{name}: has shape"):
            kind(1.0)


@pytest.mark.parametrize(
    ("masses", "message"),
    [
        ([0.0, 0.6, 0.6, -0.2], r"masses: is -0.2 at index 3"),
        ([0.1, 0.3, 0.3, 0.3], "masses: of the empty set is 0.1"),
        ([[0.0, 0.3, 0.3, 0.4], [0.0, 0.3, 0.3, 0.3]], "masses: sum to 0.9 at index 1"),
    ],
)
def test_bad_masses_are_refused(masses, message):
    with pytest.raises(ValueError, match=message):
        cl.BeliefFunction(masses)


def test_focal_sets():
    Q = cl.BeliefFunction.from_focal_sets([([0], 0.5), ([1, 2], 0.3), ({0, 1, 2}, 0.2)])
    same(Q.masses, [0, 0.5, 0, 0, 0, 0, 0.3, 0.2])
    same(Q.values, [0, 0.5, 0, 0.5, 0, 0.5, 0.3, 1.0])
    # Lower expectation: each focal set counts with its least value.
    same(Q.lower([1.0, 2.0, 3.0]), 0.5 * 1 + 0.3 * 2 + 0.2 * 1)
    same(Q.center(), [0.5 + 0.2 / 3, 0.15 + 0.2 / 3, 0.15 + 0.2 / 3])  # shared out evenly
    u = cl.quantify(Q)
    same(u.total, 0.5)
    same(u.epistemic, 0.25)  # {1, 2}: from .3 to .5; {1}: from 0 to .5
    assert cl.BeliefFunction.from_focal_sets([([0], 1.0)], n_classes=4).n_classes == 4
    batch = cl.BeliefFunction.from_focal_sets([([0], [0.5, 0.2]), ([0, 1], [0.5, 0.8])])
    same(batch.lower(), [[0.5, 0.0], [0.2, 0.0]])
    for pairs, message in (([], "is empty"), ([([], 1.0)], "at least one class"),
                           ([([0], 0.5), ([1], 0.2)], "sum to 0.7")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            cl.BeliefFunction.from_focal_sets(pairs)
    with pytest.raises(ValueError, match="at least one class of 0 to 1"):
        cl.BeliefFunction.from_focal_sets([([5], 1.0)], n_classes=2)
    with pytest.raises(ValueError, match=r"2\*\*50 events, 9.01e\+06 GB"):
        cl.BeliefFunction.from_focal_sets([([49], 1.0)])


def test_possibility_distributions():
    Q = cl.BeliefFunction.possibility([[0.4, 1.0, 0.1], [1.0, 1.0, 1.0]])
    same(Q.upper(), [[0.4, 1.0, 0.1], [1.0, 1.0, 1.0]])
    same(Q.upper_probability([0, 2]), [0.4, 1.0])  # possibility is maxitive
    same(Q.masses[0], [0, 0, 0.6, 0.3, 0, 0, 0, 0.1])
    same(cl.generalized_hartley(Q), [0.3 + 0.1 * np.log2(3), np.log2(3)])
    with pytest.raises(ValueError, match=r"largest degree 0.9"):
        cl.BeliefFunction.possibility([0.9, 0.5])
    with pytest.raises(ValueError, match=r"is 1.5 at index 0"):
        cl.BeliefFunction.possibility([1.5, 0.5])


def test_maximum_entropy_lifts_the_densest_event_first():
    # Bel({0}) = .5 is the densest; of the rest, {1, 2} must have .3 and gets all that is left.
    Q = cl.BeliefFunction.from_focal_sets([([0], 0.5), ([1, 2], 0.3), ([0, 1, 2], 0.2)])
    same(Q.max_entropy(distribution=True)[2], [0.5, 0.25, 0.25])
    same(cl.aleatoric_uncertainty(Q).upper, 0.5)


def test_a_set_that_is_not_two_monotone():
    # The envelope of two far distributions on four classes.
    P = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    hull = cl.ConvexHull(P)
    Q = cl.LowerProbability(hull.lower_probabilities())
    assert not Q.is_two_monotone()
    assert not hull.is_two_monotone()
    assert hull <= Q
    # {0, 1} is .5 p on each side: the envelope knows that p_0 + p_2 = .5 in every member.
    same(Q.lower_probability([0, 2]), 0.5)
    # Of {0, 2} and {0, 3} each has .5, their union .5 and what they share nothing.
    same(Q.choquet([2.0, 0.0, 1.0, 1.0]), 0.5)
    same(hull.choquet([2.0, 0.0, 1.0, 1.0]), 0.5)
    same(Q.lower([2.0, 0.0, 1.0, 1.0]), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("K", [3, 4, 5])
def test_programmes_answer_as_the_corners_do(K):
    rng = np.random.default_rng(K)
    hull = cl.ConvexHull(rng.dirichlet(np.full(K, 0.5), (3, 3)))
    Q = cl.LowerProbability(hull.lower_probabilities())
    assert K < 4 or not Q.is_two_monotone().all()
    corners = Q.to_hull()
    f = rng.normal(size=(4, K))
    same(Q.lower(f), corners.lower(f))
    same(Q.upper(f), corners.upper(f))
    cost = rng.random((K, K)) * (1 - np.eye(K))
    same(Q.maximin(cost)[0], corners.maximin(cost)[0])
    ours, theirs = cl.quantify(Q), cl.quantify(corners)
    for name in ("total", "epistemic", "error"):
        same(getattr(ours, name), getattr(theirs, name))
    same(ours.aleatoric.upper, theirs.aleatoric.upper)
    value, gap, where = Q.max_entropy(distribution=True)
    same(value, corners.max_entropy()[0])
    assert (gap <= 1e-10).all()
    assert Q.contains(where).all()
    assert Q.contains(Q.center()).all()


def test_values_of_events_are_read_off():
    # Nine classes, not 2-monotone: too many for corners.
    hull = cl.ConvexHull(np.random.default_rng(0).dirichlet(np.full(9, 0.5), (2, 3)))
    Q = cl.LowerProbability(hull.lower_probabilities(), validate=False)
    assert not Q.is_two_monotone().any()
    for event in ([0, 1], [], range(9), {2, 5}, np.arange(9) == 4):
        same(Q.lower_probability(event), hull.lower_probability(event), 1e-15)
        same(Q.upper_probability(event), hull.upper_probability(event), 1e-15)
    masks = np.eye(9, dtype=bool)[:3]
    assert Q.lower_probability(masks).shape == (2, 3)
    u = cl.quantify(Q)
    v = cl.quantify(hull)
    same(u.total, v.total)
    same(u.epistemic, v.epistemic)
    assert (u.aleatoric.upper >= v.aleatoric.upper - 1e-12).all()


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3, 4])
def test_cutting_the_simplex_finds_the_marginals(K):
    for values in belief(5, K, np.random.default_rng(K)).values:
        ours = np.unique(np.round(core.core_vertices(values, K), 8) + 0.0, axis=0)
        same(ours, np.unique(np.round(marginals(values), 8) + 0.0, axis=0), 1e-7)
    for values in envelope(5, K, np.random.default_rng(K)).values:
        ours = np.unique(np.round(core.core_vertices(values, K), 8) + 0.0, axis=0)
        same(ours, np.unique(np.round(core_corners(values), 8) + 0.0, axis=0), 1e-7)


@pytest.mark.slow
def test_corners_of_many_classes_are_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"of 8 classes is not 2-monotone, .* at most 7 classes"):
        core.core_vertices(np.zeros(1 << 8), 8)
    Q = cl.BeliefFunction.possibility(np.ones(12))
    assert Q.extreme_points().shape == (12, 12)  # 12! orders, 12 corners
    monkeypatch.setattr(core, "MAX_VERTICES", 100)
    values = (np.array([event.bit_count() for event in range(1 << 6)]) / 6) ** 2
    with pytest.raises(ValueError, match="more than 100, at most 720"):
        core.marginal_vertices(values, 6)


@pytest.mark.parametrize("K", [1, 2, 5])
def test_the_shortest_path_is_the_corner_of_least_entropy(K):
    Q = belief(20, K, np.random.default_rng(K))
    value, error, where = Q.min_entropy(distribution=True)
    assert not error.any()
    for i, values in enumerate(Q.values):
        p = marginals(values)  # all K! orders
        entropies = -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)
        same(value[i], entropies.min(), 1e-12)
        assert Q[i].contains(where[i], 1e-12)
        same(np.abs(p - where[i]).max(axis=1).min(), 0.0, 1e-12)


def test_the_least_entropy_of_many_classes():
    # 14! orders: evens are certain of one half, so that the corner puts it on one class.
    Q = cl.BeliefFunction.from_focal_sets([(range(0, 14, 2), 0.5), (range(14), 0.5)])
    same(Q.min_entropy()[0], 0.0)
    Q = cl.BeliefFunction.from_focal_sets([(range(7), 0.25), (range(7, 14), 0.75)])
    same(cl.lower_entropy(Q), 0.25 * 2 + 0.75 * np.log2(4 / 3))


def test_all_events_of_many_classes_are_refused():
    Q = cl.Contamination(np.full(50, 0.02), 0.1)
    with pytest.raises(ValueError, match=r"50 classes have 2\*\*50 events"):
        Q.lower_probabilities()
    Q = cl.Contamination(np.full((1000, 20), 0.05), 0.1)
    with pytest.raises(ValueError, match=r"8.39 GB"):
        Q.to_hull().lower_probabilities()


def exact_corners(values):
    """The extreme points of the core in rational arithmetic."""
    K = len(values).bit_length() - 1
    exact = [Fraction(float(v)) for v in values]
    masks = [[Fraction(event >> y & 1) for y in range(K)] for event in range(1 << K)]
    corners = set()
    for tight in itertools.combinations(range(1, (1 << K) - 1), K - 1):
        p = solved([[Fraction(1)] * K] + [masks[e] for e in tight],
                   [Fraction(1)] + [exact[e] for e in tight])  # fmt: skip
        if p is not None and all(
            sum(m * x for m, x in zip(masks[e], p, strict=True)) >= exact[e] for e in range(1 << K)
        ):
            corners.add(tuple(p))
    return corners


def solved(rows, right):
    """Gauss-Jordan elimination; None if the rows are dependent."""
    K = len(rows)
    table = [[*row, b] for row, b in zip(rows, right, strict=True)]
    for i in range(K):
        pivot = next((r for r in range(i, K) if table[r][i] != 0), None)
        if pivot is None:
            return None
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [x / table[i][i] for x in table[i]]
        for r in range(K):
            if r != i and table[r][i] != 0:
                table[r] = [x - table[r][i] * y for x, y in zip(table[r], table[i], strict=True)]
    return [row[-1] for row in table]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1.0, 1e-6])
def test_linear_programs_stay_in_the_set(width):
    """HiGHS accepts violations of 1e-7, a tenth of a set that is 1e-6 wide."""
    rng = np.random.default_rng(3)
    for _ in range(6):
        members = rng.dirichlet(np.full(4, 0.5), 4)
        members = (1 - width) * members[:1] + width * members
        # The lower envelope, rounded down so that all of its rational core is above it.
        values = np.maximum(cl.ConvexHull(members).lower_probabilities() - 1e-15, 0.0)
        values[-1] = 1.0
        Q = cl.LowerProbability(values, validate=False)
        if Q.is_two_monotone():
            continue
        corners = exact_corners(values)
        points = np.array([[float(x) for x in p] for p in corners])
        value, error, p = Q.max_entropy(distribution=True)
        assert (event_sums(p) >= values - 1e-14).all()
        assert Q.contains(p)
        inner, gap = cl.ConvexHull(points).max_entropy()
        assert abs(value - inner) <= error + gap + 1e-12
        f = rng.normal(size=4)
        best = max(sum(Fraction(float(a)) * x for a, x in zip(f, q, strict=True)) for q in corners)
        assert abs(float(Fraction(float(Q.upper(f))) - best)) <= 1e-12
        total, lower, upper, _, error = Q.tv_uncertainty()
        exact = cl.quantify(points)
        for a, b in ((total, exact.total), (lower, exact.aleatoric.lower)):
            assert abs(a - b) <= 1e-13
        assert abs(upper - exact.aleatoric.upper) <= error + exact.error + 1e-13
