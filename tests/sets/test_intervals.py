"""Probability intervals: the door, hand-computed cases, corners for K <= 6, and large sets."""

import numpy as np
import pytest

import credalens as cl
import oracles
import oracles_entropy
from credalens import _kernels
from credalens.sets import box_vertices
from credalens.sets import intervals as intervals_module
from oracles_sets import box_corners, intervals


def same(a, b, atol=1e-9):
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


def equal_intervals(low, high, K):
    return cl.ProbabilityIntervals(np.full(K, low), np.full(K, high))


# ---- the door


def test_bounds_are_made_reachable_from_the_original_ones():
    # lower_0 = max(0, 1 - .2 - .2) = .6 and upper_0 = min(1, 1 - .1 - .1) = .8.
    Q = cl.ProbabilityIntervals([0.0, 0.1, 0.1], [1.0, 0.2, 0.2])
    same(Q.bounds[0], [0.6, 0.1, 0.1])
    same(Q.bounds[1], [0.8, 0.2, 0.2])
    same(cl.total_uncertainty(Q), 0.4)  # not 1 - .1 = .9
    same(cl.aleatoric_uncertainty(Q).lower, 0.2)
    with pytest.raises(ValueError, match=r"lower: is 0 at index 0 .*strict=False"):
        cl.ProbabilityIntervals([0.0, 0.1, 0.1], [1.0, 0.2, 0.2], strict=True)
    with pytest.raises(ValueError, match=r"upper: is 1 at index 0 .*strict=False"):
        cl.ProbabilityIntervals([0.6, 0.1, 0.1], [1.0, 0.2, 0.2], strict=True)
    cl.ProbabilityIntervals([0.6, 0.1, 0.1], [0.8, 0.2, 0.2], strict=True)


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        ([[0.2, 0.2], [-0.1, 0.5]], [[1, 1], [1, 1]], r"lower: is -0.1 at index \(1, 0\)"),
        ([0.2, 0.2], [0.9, 1.2], r"upper: is 1.2 at index 1 .*\[0, 1\]"),
        ([0.2, 0.6], [0.9, 0.5], "lower: is 0.6 at index 1 .*above upper"),
        ([[0.1, 0.1], [0.6, 0.6]], [[1, 1], [1, 1]], "lower: sums to 1.2 at index 1 .*empty"),
        ([0.1, 0.1], [0.4, 0.4], "upper: sums to 0.8; the set is empty"),
        ([0.1, np.nan], [0.4, 0.9], "lower: is NaN at index 1"),
        ([0.1, 0.2], [0.4, 0.9, 0.1], "upper: has 3 classes; pass 2"),
        (0.5, 0.5, "lower: has shape"),
        (["a"], ["b"], "lower: is not numeric"),
    ],
)
def test_bad_bounds_are_refused(low, high, message):
    with pytest.raises(ValueError, match=message):
        cl.ProbabilityIntervals(low, high)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reachable_bounds_are_kept_as_they_are(dtype):
    P = np.random.default_rng(0).dirichlet(np.ones(6), (7, 5)).astype(dtype)
    low, high = P.min(axis=1), P.max(axis=1)
    Q = cl.ProbabilityIntervals(low, high)
    assert all(
        np.shares_memory(kept, end) for kept, end in zip(Q._arrays, (low, high), strict=True)
    )
    assert not any(part.flags.writeable for part in Q._arrays)
    assert low.flags.writeable
    Q.lower()[:] = 0  # answers are no views of them
    np.testing.assert_array_equal(Q.lower(), low)
    for ends in (
        (low[::-1], high[::-1]),
        (low[3], high[3]),
        (low[None, :, None], high[None, :, None]),
        (low.astype(">f8"), high.astype(">f8")),
        (low, high.astype(np.float64)),
    ):
        a, b = ends
        R = cl.ProbabilityIntervals(a, b)
        np.testing.assert_array_equal(R.lower(), a)
        np.testing.assert_array_equal(R.upper(), b)
        assert R.dtype == np.result_type(a.dtype, b.dtype).newbyteorder("=")
        assert cl.upper_entropy(R).shape == a.shape[:-1]
    wide = high + dtype(0.5) * (1 - high)
    before = low.copy(), wide.copy()
    tight = cl.ProbabilityIntervals(low, wide)
    np.testing.assert_array_equal((low, wide), before)
    assert not any(np.shares_memory(part, end) for part in tight._parts for end in (low, wide))
    assert not any(part.flags.writeable for part in tight._parts)


def test_tightening_one_instance_leaves_the_others_as_they_are():
    rng = np.random.default_rng(1)
    for K in (2, 3, 20, 60):
        low = high = rng.dirichlet(np.ones(K), 9)  # points, whose sums are 1 up to rounding
        high = high + (np.arange(9) > 5)[:, None] * rng.random((9, K)) * (1 - high)
        Q = cl.ProbabilityIntervals(low, high)
        np.testing.assert_array_equal(Q.lower()[:6], low[:6])
        np.testing.assert_array_equal(Q.upper()[:6], high[:6])
        assert (Q.upper()[6:] < high[6:]).any()
        for i in range(9):
            alone = cl.ProbabilityIntervals(low[i], high[i])
            np.testing.assert_array_equal(alone.bounds, Q[i].bounds)
            assert cl.upper_entropy(alone) == cl.upper_entropy(Q)[i]
            assert cl.total_uncertainty(alone) == cl.total_uncertainty(Q)[i]


def test_rounding_is_no_reason_to_refuse():
    for dtype in (np.float32, np.float64):
        p = np.random.default_rng(0).dirichlet(np.ones(7), 500).astype(dtype)
        Q = cl.ProbabilityIntervals(p, p)
        assert Q.dtype == dtype
        same(cl.epistemic_uncertainty(Q), 0, 1e-6)
        same(cl.upper_entropy(Q), cl.lower_entropy(Q), 1e-5)
        same(cl.generalized_hartley(Q), 0, 1e-5)
    third = np.full(3, 1 / 3)
    same(cl.aleatoric_uncertainty(cl.ProbabilityIntervals(third, third)).upper, 2 / 3)


def test_members_give_the_credal_wrapper():
    P = np.random.default_rng(1).dirichlet(np.ones(4), (6, 5))
    Q = cl.ProbabilityIntervals.from_members(P)
    same(Q.lower(), P.min(axis=1))
    same(Q.upper(), P.max(axis=1))
    hull = cl.ConvexHull(P)
    same(hull.to_intervals().upper(), Q.upper())
    assert np.all(hull <= Q)
    for measure in (cl.total_uncertainty, cl.epistemic_uncertainty, cl.upper_entropy):
        assert np.all(measure(Q) >= measure(hull) - 1e-9)


# ---- hand-computed cases


def test_the_diameter_is_a_partition_problem():
    # Widths .3 each, L = .6, U = 1.5: c = .4, but one class of three moves .3 at most.
    Q = equal_intervals(0.2, 0.5, 3)
    same(cl.epistemic_uncertainty(Q), 0.15)
    same(cl.total_uncertainty(Q), 0.8)
    # min max p: sum min(.5, t) = 1 at t = 1/3.
    same(cl.aleatoric_uncertainty(Q).upper, 2 / 3)


def test_upper_entropy_clips():
    # t = .3 fills the two free classes: .6 + 2 t = 1 - ... with the first held at its lower bound.
    Q = cl.ProbabilityIntervals([0.6, 0.0, 0.0], [0.9, 0.4, 0.4])
    value, p = cl.upper_entropy(Q, return_distribution=True)
    same(p, [0.6, 0.2, 0.2])
    same(value, oracles_entropy.entropy(p))
    # Upper bounds that sum to 1: every t above them all would do.
    Q = cl.ProbabilityIntervals([0.0, 0.0, 0.0], [0.5, 0.3, 0.2])
    same(cl.upper_entropy(Q, return_distribution=True)[1], [0.5, 0.3, 0.2])
    same(cl.aleatoric_uncertainty(Q).upper, 0.5)


def test_the_middle_is_the_intersection_probability():
    Q = cl.ProbabilityIntervals([0.2, 0.1, 0.1], [0.6, 0.5, 0.3])
    # 1 - L = .6 of the widths (.4, .4, .2), which sum to 1.
    same(Q.center(), [0.44, 0.34, 0.22])


def test_lower_probability_is_the_envelope():
    Q = cl.ProbabilityIntervals([0.2, 0.1, 0.1], [0.6, 0.5, 0.3])
    same(Q.lower_probability([0, 1]), 0.7)  # 1 - upper_2
    same(Q.upper_probability([0, 1]), 0.9)
    same(Q.lower_probabilities()[3], 0.7)


# ---- corners as the oracle of everything


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3, 4, 5, 6])
def test_everything_agrees_with_the_corners(K):
    Q = intervals(25, K, np.random.default_rng(K))
    u = cl.quantify(Q)
    upper, gap, best = Q.max_entropy(distribution=True)
    lower, error = Q.min_entropy()
    hartley = cl.generalized_hartley(Q)
    for i in range(len(Q)):
        P = np.maximum(box_corners(Q[i].lower(), Q[i].upper()), 0)
        same(u.total[i], 1 - P.min(axis=0).max())
        same(u.aleatoric.lower[i], 1 - P.max())
        same(u.aleatoric.upper[i], oracles.aleatoric_upper(P), 1e-7)
        same(u.epistemic[i], oracles.epistemic_by_pairs(P))
        same(upper[i] / np.log(2), oracles_entropy.upper_bound(P, best[i]))
        same(lower[i] / np.log(2), oracles_entropy.lower_entropy(P))
        if K < 6:
            same(hartley[i], oracles_entropy.generalized_hartley(P))
    assert not gap.any()
    assert np.all(error <= 1e-12)


def test_no_question_depends_on_the_order_of_the_classes():
    rng = np.random.default_rng(0)
    Q = intervals(40, 9, rng)
    order = rng.permutation(9)
    R = cl.ProbabilityIntervals(Q.lower()[:, order], Q.upper()[:, order])
    for measure in (cl.total_uncertainty, cl.epistemic_uncertainty, cl.upper_entropy,
                    cl.lower_entropy, cl.generalized_hartley):  # fmt: skip
        same(measure(R), measure(Q), 1e-10)


# ---- the lower entropy


@pytest.mark.parametrize(("low", "high", "K"), [(0.03, 0.17, 12), (0.02, 0.13, 15), (0, 0.09, 40)])
def test_equal_intervals_are_solved(low, high, K):
    Q = equal_intervals(low, high, K)
    value, error = Q.min_entropy()
    assert error <= 1e-12
    # As many classes as possible at the upper bound, one between, the rest at the lower.
    full = int((1 - K * low) / (high - low) + 1e-9)
    p = np.r_[np.full(full, high), np.full(K - full, low)]
    p[full] += 1 - p.sum()
    same(value, oracles_entropy.entropy(p) * np.log(2))


@pytest.mark.parametrize("K", [8, 11])
def test_nearly_equal_intervals_are_exact(K):
    rng = np.random.default_rng(K)
    low = 0.4 / K + 1e-3 * rng.random((4, K))
    high = 1.7 / K + 1e-3 * rng.random((4, K))
    Q = cl.ProbabilityIntervals(low, high)
    value, error, p = Q.min_entropy(distribution=True)
    assert np.all(error <= 1e-12)
    assert Q.contains(p).all()
    for i in range(len(Q)):
        P = Q[i].extreme_points()
        same(value[i], (-(P * np.log(P)).sum(axis=1)).min())


def test_a_capped_search_returns_what_it_has_certified():
    rng = np.random.default_rng(3)
    low = 0.4 / 10 + 0.01 * rng.random((1, 10))
    bounds = cl.ProbabilityIntervals(low, low + 0.11).bounds
    exact, capped, error = np.empty((3, 1))
    _kernels.box_min_entropy(*bounds, 100_000, exact, error, None, 1)
    for nodes in (1, 3, 9):
        _kernels.box_min_entropy(*bounds, nodes, capped, error, None, 1)
        assert capped >= exact - 1e-12
        assert capped - error <= exact + 1e-12
    _kernels.box_min_entropy(*bounds, 1, capped, error, None, 1)
    assert error > 1e-6


def test_an_uncertified_lower_entropy_warns(monkeypatch):
    monkeypatch.setattr(intervals_module, "MAX_NODES", 1)
    low = 0.04 + 0.01 * np.random.default_rng(3).random(10)
    Q = cl.ProbabilityIntervals(low, low + 0.11)
    with pytest.warns(RuntimeWarning, match="could not be certified"):
        cl.lower_entropy(Q)


# ---- the diameter


def brute_diameter(Q):
    width = Q.upper() - Q.lower()
    cap = min(Q.upper().sum() - 1, 1 - Q.lower().sum())
    K = len(width)
    sums = ((np.arange(1 << K)[:, None] >> np.arange(K)) & 1) @ width
    return np.minimum(np.minimum(sums, width.sum() - sums), cap).max()


def test_the_diameter_is_exact_by_meeting_in_the_middle():
    rng = np.random.default_rng(0)
    for K in (7, 12, 16):
        low = 0.5 / K * rng.random(K)
        width = 0.8 / K * rng.random(K) ** 3 + 0.5 / K
        Q = cl.ProbabilityIntervals(low, low + width + (1 - (low + width / 2).sum()) / K)
        same(2 * cl.epistemic_uncertainty(Q), brute_diameter(Q), 1e-12)


def test_many_classes_are_bounded_and_refused_if_the_bounds_differ():
    rng = np.random.default_rng(0)
    # Three large widths and 58 small, different ones: an event has one or two of the large ones,
    # but the bound is half of the sum, and 2^61 events are too many to look at.
    width = np.r_[np.full(3, 0.1), 1e-4 * rng.random(58)]
    middle = np.r_[np.full(3, 0.2), np.full(58, 0.4 / 58)]
    Q = cl.ProbabilityIntervals(middle - width / 2, middle + width / 2)
    lower, upper = Q.diameter_bounds(cl.TotalVariation())
    same(upper, width.sum() / 2)
    same(lower, 0.1 + width[3:].sum(), 1e-6)  # which is the diameter
    with pytest.raises(ValueError, match=r"between 0.10\d+ and 0.15\d+, .* 61 classes"):
        cl.epistemic_uncertainty(Q)
    same(cl.total_uncertainty(Q), 1 - 0.15)
    # Small widths alone fill up the half to 1e-9.
    Q = cl.ProbabilityIntervals(middle - width.min() - 1e-3 * rng.random(61), middle + 1e-3)
    lower, upper = Q.diameter_bounds(cl.TotalVariation())
    assert upper - lower <= 1e-9
    same(2 * cl.epistemic_uncertainty(Q), upper)
    # Equal widths are counted, not listed: 30 of 61.
    Q = cl.ProbabilityIntervals(np.full(61, 0.9 / 61), np.full(61, 1.1 / 61))
    same(cl.epistemic_uncertainty(Q), 30 * 0.2 / 61 / 2)


def test_unknown_diameters_are_refused_with_their_bounds():
    Q = intervals(3, 4, np.random.default_rng(0))

    class Unsure(cl.ProbabilityIntervals):
        def tv_diameter_bounds(self):
            return np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.25, 0.3])

    R = Unsure(*Q.bounds)
    same(R.diameter_bounds(cl.TotalVariation()), [[0.1, 0.2, 0.3], [0.1, 0.25, 0.3]])
    with pytest.raises(ValueError, match=r"instance 1 .* between 0.2 and 0.25"):
        R.diameter(cl.TotalVariation())


# ---- Hartley


def test_hartley_by_meeting_in_the_middle():
    for K in (9, 12):
        Q = intervals(3, K, np.random.default_rng(K))
        lower = Q.lower_probabilities()
        sizes = np.array([event.bit_count() for event in range(1 << K)])
        moebius = lower.copy()
        for y in range(K):
            cube = moebius.reshape(3, -1, 2, 1 << y)
            cube[:, :, 1] -= cube[:, :, 0]
        same(cl.generalized_hartley(Q), moebius[:, 1:] @ np.log2(sizes[1:]), 1e-8)


def test_hartley_of_many_classes_is_sampled():
    K = 45
    with pytest.raises(ValueError, match="at most 40 classes"):
        equal_intervals(0.01, 0.05, K).hartley_exact(np.zeros(K + 1))
    # A contamination box has GH = epsilon log2 K for any K; a ball-like box is not so simple.
    p = np.random.default_rng(0).dirichlet(np.ones(K), 2)
    Q = cl.Contamination(p, [0.3, 0.1]).to_intervals()
    value, error = cl.generalized_hartley(Q, random_state=0, return_error=True)
    assert np.all(np.abs(value - np.array([0.3, 0.1]) * np.log2(K)) <= 5 * error + 1e-9)
    alone = cl.generalized_hartley(Q[1], random_state=0)
    assert alone == value[1]


# ---- corners


@pytest.mark.slow
def test_too_many_corners_are_counted_and_refused():
    Q = equal_intervals(0.0, 0.1, 24)
    with pytest.raises(ValueError, match=r"has 1,961,256 extreme points, more than 1,000,000"):
        Q.extreme_points()
    Q = equal_intervals(0.0, 2 / 45, 45)
    with pytest.raises(ValueError, match=r"has more than 1,000,000"):
        Q.extreme_points()
    # Fifty classes with few corners are listed.
    corners = cl.Contamination(np.full(50, 0.02), 0.1).to_intervals().extreme_points()
    assert corners.shape == (50, 50)


def test_the_count_of_corners_is_exact():
    for Q in (
        intervals(12, 6, np.random.default_rng(5)),
        cl.ProbabilityIntervals(np.zeros((1, 6)), np.full((1, 6), 0.25)),
    ):
        for low, high in zip(Q.lower(), Q.upper(), strict=True):
            literal = np.unique(np.round(box_corners(low, high), 10) + 0.0, axis=0)
            width = high - low
            if (width > 0).all():
                assert box_vertices._count_vertices(width, 1 - low.sum()) == len(literal)
