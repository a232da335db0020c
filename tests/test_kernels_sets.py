"""The compiled checks and closed forms of boxes and capacities, against literal Python.

These tests also run under AddressSanitizer and UBSan, so that an access outside a row is seen.
"""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from credalens import _kernels

dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
classes = pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 7])
TOLERANCE, LIMIT, SLACK = 1e-4, 1e-6, 1e-6


def masses(n, K, seed=0):
    """Masses on random events, with many that bear none."""
    rng = np.random.default_rng(seed)
    m = rng.exponential(size=(n, 1 << K)) * (rng.random((n, 1 << K)) < 0.6)
    m[:, 0] = 0.0
    m[:, -1] += 0.1
    return m / m.sum(axis=1, keepdims=True)


def below(m):
    """Sum of the masses of the subsets of every event."""
    size = m.shape[1]
    return np.stack([m[:, [b for b in range(size) if b | a == a]].sum(axis=1)
                     for a in range(size)], axis=1)  # fmt: skip


def capacities(n, K, dtype=np.float64, seed=0):
    values = below(masses(n, K, seed))
    values[:, -1] = 1.0
    return values.astype(dtype)


def check(values, threads=2):
    flags = np.zeros(len(values), bool)
    bad = _kernels.check_capacities(values, TOLERANCE, LIMIT, flags, threads)
    return bad, flags


def second_differences(v):
    """Every ``v(A + i + j) - v(A + i) - v(A + j) + v(A)`` of one set function."""
    K = len(v).bit_length() - 1
    return [v[a | 1 << i | 1 << j] - v[a | 1 << i] - v[a | 1 << j] + v[a]
            for i, j in itertools.combinations(range(K), 2)
            for a in range(len(v)) if not a >> i & 1 and not a >> j & 1]  # fmt: skip


# ---------------------------------------------------------------- lower probabilities


@classes
@dtypes
def test_belief_functions_are_lower_probabilities(K, dtype):
    bad, flags = check(capacities(9, K, dtype))
    assert bad == -1
    assert flags.all()


@classes
def test_every_value_that_is_not_monotone_is_seen(K):
    good = capacities(1, K)[0]
    for y in range(K):
        for a in (a for a in range(1 << K) if not a >> y & 1):
            values = np.stack([good, good, good])
            values[1, a] = values[1, a | 1 << y] + 2 * TOLERANCE
            assert check(values)[0] == 1


@pytest.mark.parametrize("K", [2, 3, 4, 5, 6])
def test_every_second_difference_is_seen(K):
    good = np.array([bin(a).count("1") / K for a in range(1 << K)])  # all differences are 0
    for i, j in itertools.combinations(range(K), 2):
        for a in (a for a in range(1 << K) if not a >> i & 1 and not a >> j & 1):
            values = np.stack([good, good])
            both = a | 1 << i | 1 << j
            values[1, [b for b in range(1 << K) if b & both == b]] -= 2 * LIMIT
            least = min(second_differences(np.r_[0.0, values[1, 1:-1], 1.0]))
            assert_array_equal(check(values)[1], [True, least >= -LIMIT])


@classes
def test_two_monotone_or_not_as_all_differences_say(K):
    rng = np.random.default_rng(K)
    size = np.array([bin(a).count("1") for a in range(1 << K)])
    # By size only, and not all convex.
    values = np.ascontiguousarray(np.sort(rng.random((40, K + 1)), axis=1)[:, size] ** 2)
    values[:20] = capacities(20, K, seed=1)
    values[:, 0], values[:, -1] = 0.0, 1.0
    literal = [min(second_differences(v), default=0.0) >= -LIMIT for v in values]
    assert_array_equal(check(values)[1], literal)
    assert K < 3 or 0 < sum(literal) < 40


@classes
@dtypes
def test_ends_and_what_is_not_finite(K, dtype):
    for event, value in [(0, 0.01), (-1, 0.99), (0, np.nan), (-1, np.inf), (1, -np.inf),
                         ((1 << K) // 2, np.nan)]:  # fmt: skip
        values = capacities(4, K, dtype)
        values[2:, event] = value
        assert check(values)[0] == 2


@classes
def test_ends_within_tolerance_count_as_exact(K):
    values = np.tile([bin(a).count("1") / K for a in range(1 << K)], (3, 1))  # differences are 0
    values[1, 0], values[1, -1] = -TOLERANCE / 2, 1 - TOLERANCE / 2
    bad, flags = check(values)
    assert bad == -1
    assert flags.all()


def test_first_bad_instance_whatever_the_threads():
    values = capacities(5000, 6)
    values[300:, 0] = 1.0  # a second thread sees a later one before the first is there
    assert {check(values, threads)[0] for threads in (1, 2, 3, 5) for _ in range(10)} == {300}


# ---------------------------------------------------------------- closed forms


@classes
@dtypes
def test_belief_values(K, dtype):
    m = masses(11, K).astype(dtype)
    values = np.full_like(m, np.nan)
    _kernels.belief_values(m, values, 2)
    assert_allclose(values, below(m.astype(np.float64)), rtol=0, atol=1e-6 if dtype == np.float32
                    else 1e-15)  # fmt: skip
    assert (values[:, -1] == 1).all()
    assert values.max() <= 1


@classes
@dtypes
def test_event_dot(K, dtype):
    values, weights = capacities(11, K, dtype), np.random.default_rng(3).normal(size=1 << K)
    total = np.full(11, np.nan)
    _kernels.event_dot(values, weights, total, 2)
    assert_allclose(total, [math.fsum(map(float, v * weights)) for v in values], atol=1e-14)


@classes
@dtypes
def test_tops_of_the_classes(K, dtype):
    values = capacities(11, K, dtype)
    lower, upper = np.full((2, 11), np.nan)
    _kernels.max_class_bounds(values, lower, upper, 2)
    assert_array_equal(lower, [max(v[1 << y] for y in range(K)) for v in values])
    rest = [min(float(v[len(v) - 1 - (1 << y)]) for y in range(K)) for v in values]
    assert_array_equal(upper, 1 - np.array(rest))


@classes
@dtypes
def test_widest_event(K, dtype):
    values = capacities(11, K, dtype)
    width = np.full(11, np.nan)
    _kernels.max_event_width(values, width, 2)
    proper = range(1, (1 << K) - 1)
    literal = [max((1 - float(v[a]) - float(v[len(v) - 1 - a]) for a in proper), default=0.0)
               for v in values]  # fmt: skip
    assert_allclose(width, literal, rtol=0, atol=1e-15)


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5])
@dtypes
def test_capacity_min_entropy(K, dtype):
    values = capacities(11, K, dtype)
    value, corner = np.full(11, np.nan), np.full((11, K), np.nan)
    _kernels.capacity_min_entropy(values, value, corner, 2)
    for v, h, p in zip(values.astype(np.float64), value, corner, strict=True):
        orders = [[v[sum(1 << z for z in order[: k + 1])] - v[sum(1 << z for z in order[:k])]
                   for k in range(K)] for order in itertools.permutations(range(K))]  # fmt: skip
        entropies = [-sum(x * math.log(x) for x in map(float, o) if x > 0) for o in orders]
        assert h == pytest.approx(min(entropies), abs=1e-12)
        assert -sum(x * math.log(x) for x in p if x > 0) == pytest.approx(h, abs=1e-12)
        assert all(sum(p[y] for y in range(K) if a >> y & 1) >= v[a] - 1e-6 for a in range(len(v)))


# ---------------------------------------------------------------- boxes


def boxes(n, K, dtype=np.float64, seed=0):
    """Feasible bounds; most are not reachable."""
    rng = np.random.default_rng(seed)
    p, spread = rng.dirichlet(np.full(K, 0.7), n), rng.random((2, n, K)) * rng.random((n, 1))
    low, high = p - p * spread[0], p + (1 - p) * spread[1]
    return low.astype(dtype), high.astype(dtype)


def reach(low, high, threads=2):
    ends = np.full((2, *low.shape), np.nan, low.dtype)
    tops = np.full((len(low), 2), np.nan, low.dtype)
    bad = _kernels.reachable_bounds(low, high, SLACK, TOLERANCE, *ends, tops, threads)
    bounds = ends.transpose(1, 0, 2)
    assert bad >= 0 or (tops == bounds.max(axis=2)).all()
    return bad, bounds


def ends_of(bounds):
    return np.ascontiguousarray(bounds[:, 0]), np.ascontiguousarray(bounds[:, 1])


@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 16, 21])
@dtypes
def test_reachable_bounds(K, dtype):
    low, high = boxes(13, K, dtype)
    bad, bounds = reach(low, high)
    assert bad == -1
    for l, u, (bottom, top) in zip(low, high, bounds, strict=True):  # noqa: E741
        for y in range(K):
            others = [z for z in range(K) if z != y]
            least = max(float(l[y]), 1 - sum(float(u[z]) for z in others))
            most = min(float(u[y]), 1 - sum(float(l[z]) for z in others))
            assert bottom[y] == pytest.approx(least, abs=1e-6 if dtype == np.float32 else 1e-14)
            assert top[y] == pytest.approx(most, abs=1e-6 if dtype == np.float32 else 1e-14)
    assert (bounds[:, 0] <= bounds[:, 1]).all()
    assert (bounds >= 0).all()
    assert (bounds <= 1).all()


@pytest.mark.parametrize("K", [2, 5, 8, 19])
@pytest.mark.parametrize("scale", [1 - TOLERANCE / 2, 1 + TOLERANCE / 2])
def test_sums_off_by_rounding_meet_at_one(K, scale):
    p = np.random.default_rng(0).dirichlet(np.ones(K), 3)
    bad, bounds = reach(p * scale, p * scale)
    assert bad == -1
    assert_allclose(bounds, np.stack([p, p], axis=1), rtol=0, atol=1e-14)


def look(low, high, threads=2):
    tops, loose = np.full((len(low), 2), np.nan, low.dtype), np.full(len(low), 7, np.uint8)
    flags = loose.view(bool)
    bad = _kernels.check_bounds(low, high, SLACK, TOLERANCE, tops, flags, threads)
    assert (loose < 2).all()
    return bad, flags, tops


def is_reachable(low, high):
    """Say whether a distribution has each bound, the other classes being within theirs."""
    low, high = low.astype(np.float64), high.astype(np.float64)
    L, U = low.sum(), high.sum()
    return all(
        high[y] + (L - low[y]) <= 1 + SLACK and low[y] + (U - high[y]) >= 1 - SLACK
        for y in range(len(low))
    )


WIDTHS = pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 17, 47, 48, 49, 100])


@WIDTHS
@dtypes
def test_bounds_that_are_reachable_are_known(K, dtype):
    for seed in range(3):
        low, high = boxes(21, K, dtype, seed)
        bottom, top = (np.ascontiguousarray(end) for end in reach(low, high)[1].transpose(1, 0, 2))
        bad, loose, tops = look(bottom, top)
        assert bad == -1
        assert not loose.any()
        assert_array_equal(tops, np.stack([bottom.max(axis=1), top.max(axis=1)], axis=1))
        expected = [not is_reachable(*ends) for ends in zip(low, high, strict=True)]
        assert_array_equal(look(low, high)[1], expected)
        for y in (0, K // 2, K - 1):  # one among those that are reachable
            bottom[13], bottom[13, y], top[13] = 0.0, 0.6, 1.0
            assert look(bottom, top)[1].nonzero()[0].tolist() == [13]


@WIDTHS
@dtypes
@pytest.mark.parametrize("ask", [reach, look])
def test_bounds_that_are_wrong(ask, K, dtype):
    for side, value in [(0, -0.1), (1, 1.1), (0, np.nan), (1, np.nan), (0, -np.inf), (1, np.inf),
                        (0, np.inf), (1, -np.inf)]:  # fmt: skip
        for y in (0, K // 2, K - 1):
            given = boxes(12, K, dtype)
            given[side][9:, y] = value
            assert ask(*given)[0] == 9
    low, high = boxes(4, K, dtype)
    low[1, -1] = high[1, -1] + 2 * SLACK
    assert ask(low, high)[0] == 1
    zeros, ones = np.zeros((1, K), dtype), np.ones((1, K), dtype)
    assert ask(zeros, ones * (1 - 2 * TOLERANCE) / K)[0] == 0
    assert ask(ones * (1 + 2 * TOLERANCE) / K, ones)[0] == 0


@WIDTHS
@dtypes
def test_what_rounding_has_done_is_mended_not_refused(K, dtype):
    zeros, ones = np.zeros((3, K), dtype), np.ones((3, K), dtype)
    p = np.random.default_rng(0).dirichlet(np.ones(K), 3).astype(dtype)
    for given in (
        (p * dtype(1 - TOLERANCE / 2), p * dtype(1 - TOLERANCE / 2)),
        (np.full((3, K), -SLACK / 2, dtype), ones),
        (zeros, np.full((3, K), 1 + SLACK / 2, dtype)),
    ):
        bad, loose, _ = look(*given)
        assert bad == -1
        assert loose.all()


def test_the_check_does_not_depend_on_batch_and_threads():
    for K in (5, 60):
        low, high = (
            np.ascontiguousarray(end) for end in reach(*boxes(9000, K))[1].transpose(1, 0, 2)
        )
        low[::5], high[::5] = 0.0, 1.0
        low[::15, 0] = 0.5
        bad, loose, tops = look(low, high, 1)
        assert bad == -1
        assert_array_equal(loose.nonzero()[0], np.arange(0, 9000, 15))
        for found, whole in zip(look(low, high, 3)[1:], (loose, tops), strict=True):
            assert_array_equal(found, whole)
        for found, whole in zip(look(low[77:78], high[77:78])[1:], (loose, tops), strict=True):
            assert_array_equal(found, whole[77:78])
        low[[8999, 700, 4000], 3] = -1
        assert {look(low, high, threads)[0] for threads in (1, 2, 5)} == {700}
        assert look(low[:0], high[:0])[0] == -1


@dtypes
def test_bounds_do_not_depend_on_batch_and_threads(dtype):
    low, high = boxes(9000, 11, dtype)
    whole = reach(low, high, 1)[1]
    assert_array_equal(reach(low, high, 3)[1], whole)
    assert_array_equal(reach(low[77:78], high[77:78])[1], whole[77:78])
    low[[8999, 700, 4000], 3] = -1
    assert {reach(low, high, threads)[0] for threads in (1, 2, 5)} == {700}


@dtypes
def test_values_do_not_depend_on_batch_and_threads(dtype):
    values, weights = capacities(3000, 6, dtype), np.random.default_rng(3).normal(size=64)

    def answers(v, threads):
        n = len(v)
        belief, (total, width, least), corner = np.empty_like(v), np.empty((3, n)), np.empty((n, 6))
        _kernels.belief_values(v, belief, threads)
        _kernels.event_dot(v, weights, total, threads)
        _kernels.max_event_width(v, width, threads)
        _kernels.capacity_min_entropy(v, least, corner, threads)
        return belief, total, width, least, corner, check(v, threads)[1]

    for one, many, some in zip(answers(values, 1), answers(values, 3), answers(values[40:45], 2),
                               strict=True):  # fmt: skip
        assert_array_equal(one, many)
        assert_array_equal(one[40:45], some)


def test_no_instances():
    assert reach(*np.empty((2, 0, 4)))[0] == -1
    assert check(np.empty((0, 8)))[0] == -1


@pytest.mark.parametrize("K", [1, 2, 7, 8, 9])
def test_widths(K):
    bounds = reach(*boxes(13, K))[1]
    widths, lows, highs = np.full((13, K), np.nan), np.full(13, np.nan), np.full(13, np.nan)
    _kernels.box_widths(*ends_of(bounds), widths, lows, highs, 2)
    assert_array_equal(widths, bounds[:, 1] - bounds[:, 0])
    assert_allclose(np.stack([lows, highs], axis=1), bounds.sum(axis=2), rtol=1e-14)


@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 12, 21])
@dtypes
def test_largest_of_each_row(K, dtype):
    rows = np.random.default_rng(K).normal(size=(13, K)).astype(dtype)
    largest = np.full(13, np.nan)
    _kernels.closed_forms(rows[:, None], None, largest, None, None, 2)
    assert_array_equal(largest, rows.max(axis=1))


# ---------------------------------------------------------------- levels


def entropy(p):
    return -sum(x * math.log(x) for x in p if x > 0)


def water_level(floor, amount):
    """Return t with ``sum max(0, t - floor) = amount``: the least over the k lowest floors."""
    filled = np.cumsum(np.sort(floor)) + amount
    return min(filled / np.arange(1, len(floor) + 1))


def literal_neighbour(ball, largest, center, size):
    """Return the distribution of the largest or smallest entropy, by sorting."""
    K = len(center)
    if largest and not ball:
        low = (1 - size) * center
        return np.maximum(low, water_level(low, size))
    if largest:
        bottom, top = water_level(center, size), -water_level(-center, size)
        return np.full(K, 1 / K) if bottom >= top else np.clip(center, bottom, top)
    if not ball:
        p = (1 - size) * center
        p[np.argmax(center)] += size
        return p
    order = np.argsort(center, kind="stable")
    p = center[order]
    taken = np.diff(np.minimum(np.cumsum(np.append(0.0, p)), size))
    p -= taken
    p[-1] += taken.sum()
    return p[np.argsort(order)]


def neighbours(n, K, seed=0):
    """Centres with zeros, ties and certainty; sizes with 0, 1 and very little."""
    rng = np.random.default_rng(seed)
    center = rng.dirichlet(np.full(K, 0.5), n)
    center[rng.random((n, K)) < 0.2] = 0.0
    center[0] = 1.0
    center[n // 3] = np.eye(K)[K // 2]
    center[:, 0] += center.sum(axis=1) == 0
    center /= center.sum(axis=1, keepdims=True)
    size = rng.random(n) ** 2
    size[[n // 2, n - 1]] = 0.0, 1.0
    size[n // 4] = 1e-12
    return center, size


@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 17, 40, 48, 49, 55, 130])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("ball", [True, False])
def test_entropies_of_neighbourhoods(ball, largest, K):
    n = 37
    center, size = neighbours(n, K, K)
    value, where = np.full(n, np.nan), np.full((n, K), np.nan)
    _kernels.neighbourhood_entropy(ball, largest, center, size, value, where, 2)
    for i in range(n):
        expected = literal_neighbour(ball, largest, center[i], size[i])
        assert_allclose(where[i], expected, rtol=0, atol=3e-15)
        assert_allclose(value[i], entropy(where[i]), rtol=1e-14, atol=3e-15)
        alone = np.full(1, np.nan)
        _kernels.neighbourhood_entropy(
            ball, largest, center[i : i + 1], size[i : i + 1], alone, None, 1
        )
        assert alone[0] == value[i]


@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 17, 130])
def test_minimax_of_balls(K):
    center, size = neighbours(37, K, K)
    value = np.full(37, np.nan)
    _kernels.ball_minimax(center, size, value, 2)
    for found, p, radius in zip(value, center, size, strict=True):
        # The radius is cut from the top, down to even shares at most.
        assert_allclose(found, max(-water_level(-p, radius), 1 / K), rtol=0, atol=3e-15)
        assert_allclose(np.maximum(p - found, 0).sum(), min(radius, np.maximum(p - 1 / K, 0).sum()),
                        rtol=0, atol=1e-14)  # fmt: skip


@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 17, 130])
def test_minimax_of_boxes(K):
    low, high = boxes(37, K, seed=K)
    high[3] = low[3] = np.full(K, 1 / K)  # a point
    low[5], high[5] = 0.0, 1.0
    bounds = reach(low, high)[1]
    value = np.full(37, np.nan)
    _kernels.box_minimax(*ends_of(bounds), value, 2)
    for found, (low, high) in zip(value, bounds, strict=True):
        # What is above 1 is cut from the top, but not below what a class must have.
        top = min(-water_level(-high, max(high.sum() - 1, 0.0)), high.max())
        assert_allclose(found, max(top, low.max()), rtol=0, atol=1e-13)
        assert np.minimum(high, found).sum() >= 1 - 1e-13
        alone = np.full(1, np.nan)
        _kernels.box_minimax(low[None], high[None], alone, 1)
        assert alone[0] == found


@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 17, 48, 49, 55, 130])
def test_largest_entropy_of_boxes(K):
    n = 37
    low, high = boxes(n, K, seed=K)
    high[3] = low[3] = np.full(K, 1 / K)  # a point
    low[5], high[5] = 0.0, 1.0
    bounds = reach(low, high)[1]
    value, where = np.full(n, np.nan), np.full((n, K), np.nan)
    _kernels.box_max_entropy(*ends_of(bounds), value, where, 2)
    for i, (low, high) in enumerate(bounds):
        left, right = 0.0, 1.0
        for _ in range(100):
            middle = (left + right) / 2
            if np.clip(middle, low, high).sum() < 1:
                left = middle
            else:
                right = middle
        assert_allclose(where[i], np.clip(right, low, high), rtol=0, atol=3e-15)
        assert_allclose(value[i], entropy(where[i]), rtol=1e-14, atol=3e-15)
        alone = np.full(1, np.nan)
        _kernels.box_max_entropy(low[None], high[None], alone, None, 1)
        assert alone[0] == value[i]


@pytest.mark.parametrize("K", [2, 3, 9, 48, 61])
@pytest.mark.parametrize("off", [-1e-7, -1e-15, 0.0, 1e-15, 1e-7])
def test_points_whose_sum_rounding_has_left_beside_one(K, off):
    p = np.random.default_rng(K).dirichlet(np.ones(K), 11)
    p[4] = np.eye(K)[1]
    p *= 1 + off
    value, where = np.full(11, np.nan), np.full((11, K), np.nan)
    _kernels.box_max_entropy(p, p, value, where, 1)
    assert_array_equal(where, p)
    assert_allclose(value, [max(entropy(row), 0.0) for row in p], rtol=1e-14, atol=3e-15)
    # All are at the end whose sum is on the wrong side.
    low, high = (p / 2, p) if off <= 0 else (p, np.minimum(2 * p, 1))
    _kernels.box_max_entropy(low, high, value, where, 1)
    assert_allclose(where, p, rtol=0, atol=1e-14)


@pytest.mark.parametrize("K", [3, 8, 48, 53])
def test_levels_that_meet_bounds_and_classes(K):
    low, high = np.zeros((1, K)), np.full((1, K), 1 / 4)
    low[0, 0] = high[0, 0] = 0.5  # the level of the others is where half of them are held
    high[0, 1:2] = low[0, 1:2] = 0.5 / (K - 1)
    value, where = np.full(1, np.nan), np.full((1, K), np.nan)
    _kernels.box_max_entropy(low, high, value, where, 1)
    assert_allclose(where[0], [0.5] + [0.5 / (K - 1)] * (K - 1), rtol=0, atol=1e-16)
    assert_allclose(value[0], entropy(where[0]), rtol=1e-14)
    center = np.full((1, K), 0.25 / (K - 2))
    center[0, :2] = 0.5, 0.25  # a radius of 1/4 cuts the first class down to the second
    for ball in (True, False):
        size = np.array([0.25])
        _kernels.neighbourhood_entropy(ball, True, center, size, value, where, 1)
        assert_allclose(
            where[0], literal_neighbour(ball, True, center[0], 0.25), rtol=0, atol=3e-16
        )
        assert_allclose(value[0], entropy(where[0]), rtol=1e-14)


@pytest.mark.parametrize("K", [9, 64])
def test_levels_that_take_many_steps(K):
    center = 2.0 ** -np.arange(K)[None] * np.ones((20, 1))
    center /= center.sum(axis=1, keepdims=True)
    center[7:12] = center[7:12, ::-1]
    size = np.geomspace(1e-18, 1.0, 20)
    value, where = np.full(20, np.nan), np.full((20, K), np.nan)
    _kernels.neighbourhood_entropy(True, True, center, size, value, where, 1)
    for p, r, h, q in zip(center, size, value, where, strict=True):
        assert_allclose(q, literal_neighbour(True, True, p, r), rtol=1e-14, atol=3e-16)
        assert_allclose(h, entropy(q), rtol=1e-14)
    low, high = center[:, ::-1] * 0.5, np.minimum(center * 4, 1.0)
    low, high = np.minimum(low, high), np.maximum(low, high)
    bounds = reach(np.ascontiguousarray(low), np.ascontiguousarray(high))[1]
    _kernels.box_max_entropy(*ends_of(bounds), value, where, 1)
    assert_allclose(where.sum(axis=1), 1.0, rtol=0, atol=1e-15 * K)
    assert_allclose(value, [entropy(q) for q in where], rtol=1e-14)
    inside = (where > bounds[:, 0]) & (where < bounds[:, 1])
    level = np.where(inside, where, np.nan)
    assert (np.nanmax(level, axis=1) == np.nanmin(level, axis=1)).all()


@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 17, 48, 49, 55, 130])
@pytest.mark.parametrize("ball", [True, False])
def test_total_variation_of_neighbourhoods(ball, K):
    n = 37
    center, size = neighbours(n, K, K)
    found, again = np.full((3, n), np.nan), np.full((2, n), np.nan)
    _kernels.neighbourhood_tv(center, size, *found, ball, 2)
    _kernels.neighbourhood_tv(center, size, *again, None, ball, 2)
    assert_array_equal(found[:2], again)
    for i, (p, s) in enumerate(zip(center, size, strict=True)):
        top = p.max() if ball else (1 - s) * p.max()
        low, high = (max(top - s, 0), min(top + s, 1)) if ball else (top, min(top + s, 1))
        game = max(-water_level(-p, s) if ball else top, 1 / K)
        expected = (0, 0, 0) if K == 1 else (1 - low, 1 - high, 1 - game)
        assert_allclose(found[:, i], expected, rtol=0, atol=4e-15)
        assert found[1, i] <= found[2, i] <= found[0, i]
        alone = np.full((3, 1), np.nan)
        _kernels.neighbourhood_tv(center[i : i + 1], size[i : i + 1], *alone, ball, 1)
        assert_array_equal(alone[:, 0], found[:, i])


@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 17, 130])
def test_total_variation_of_boxes(K):
    low, high = ends_of(reach(*boxes(37, K, seed=K))[1])
    game, found = np.full(37, np.nan), np.full((3, 37), np.nan)
    _kernels.box_minimax(low, high, game, 2)
    _kernels.box_tv(low, high, *found, 2)
    expected = np.stack([1 - low.max(axis=1), 1 - high.max(axis=1), 1 - game]) * (K > 1)
    assert_allclose(found, expected, rtol=0, atol=1e-15)
    assert (np.diff(found[[1, 2, 0]], axis=0) >= 0).all()


# ---------------------------------------------------------------- sums over events


@pytest.mark.parametrize("K", [1, 2, 3, 9, 10, 11])
def test_diameters_and_hartley_measures(K):
    low, high = ends_of(reach(*boxes(11, K, seed=K))[1])
    center, size = neighbours(11, K, K)
    weights = np.r_[0.0, np.random.default_rng(K).random(K - 1), 0.0]
    least, most = np.full((2, 11), np.nan)
    value = np.full(11, np.nan)

    def events(w):
        return np.array([event_weights(row) for row in w])

    def hartley(additive, w, threshold):
        sizes = [bin(a).count("1") for a in range(1 << K)]
        excess = np.maximum(events(w) - threshold[:, None], 0.0) * weights[sizes]
        return np.maximum(additive * math.log2(K) - excess.sum(axis=1), 0.0)

    widths, cap = high - low, np.minimum(high.sum(axis=1) - 1, 1 - low.sum(axis=1))
    sums = events(widths)
    literal = np.minimum(np.minimum(sums, sums[:, -1:] - sums), np.maximum(cap, 0)[:, None])
    _kernels.box_diameter(low, high, least, most, 2)
    assert_allclose(least, literal.max(axis=1), rtol=0, atol=1e-14)
    assert_array_equal(least, most)
    _kernels.box_hartley(low, high, value, weights, 2)
    expected = hartley(1 - low.sum(axis=1), widths, np.maximum(high.sum(axis=1) - 1, 0.0))
    assert_allclose(value, expected, rtol=1e-12, atol=1e-12)

    sums = events(center)
    smaller = np.minimum(np.minimum(sums, 1 - sums), size[:, None]).max(axis=1)
    _kernels.ball_diameter(center, size, least, most, 2)
    assert_allclose(least, np.minimum(size + smaller, 1) * (K > 1), rtol=0, atol=1e-14)
    assert_array_equal(least, most)
    _kernels.ball_hartley(center, size, value, weights, 2)
    assert_allclose(value, hartley(1.0, center, size), rtol=1e-12, atol=1e-12)


def weighted(n, K, seed=0):
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(n, K)) * (rng.random((n, K)) < 0.9) / K, rng.random(n) / 2


def event_weights(w):
    """The weight of every event of one instance."""
    return [math.fsum(x for y, x in enumerate(w) if a >> y & 1) for a in range(1 << len(w))]


@pytest.mark.parametrize("K", [1, 2, 3, 4, 9, 10, 11])  # 11 meets in the middle
def test_balanced_subsets(K):
    weights, cap = weighted(5, K)
    lower, upper = np.full((2, 5), np.nan)
    _kernels.balanced_partition(weights, cap, lower, upper, 2)
    literal = [max(min(x, math.fsum(w) - x, c) for x in event_weights(w))
               for w, c in zip(weights, cap, strict=True)]  # fmt: skip
    assert_allclose(lower, literal, rtol=0, atol=1e-14)
    assert_array_equal(upper, lower)


@pytest.mark.parametrize("K", [1, 2, 3, 4, 11, 12, 13])  # 13 meets in the middle
def test_excess_sums(K):
    weights, threshold = weighted(3, K)
    by_size = np.r_[0.0, np.random.default_rng(K).random(K - 1), 0.0]
    value = np.full(3, np.nan)
    _kernels.excess_sums(weights, threshold, by_size, value, 2)
    literal = [math.fsum(by_size[bin(a).count("1")] * max(x - t, 0.0)
                         for a, x in enumerate(event_weights(w)))
               for w, t in zip(weights, threshold, strict=True)]  # fmt: skip
    assert_allclose(value, literal, rtol=1e-12, atol=1e-15)


# ---------------------------------------------------------------- orders of classes and of events


@pytest.mark.parametrize("K", [1, 2, 3, 7, 30])
def test_contours(K):
    rng = np.random.default_rng(K)
    contour = rng.random((40, K)) ** 3
    contour[:10] = np.ceil(10 * contour[:10]) / 10
    contour /= contour.max(axis=1, keepdims=True)
    contour[10] = 1.0
    contour[11] = np.eye(K)[K // 2]
    total, upper, hartley, most = np.full((4, 40), np.nan)
    _kernels.contour_tv(contour, total, upper, 2)
    _kernels.contour_hartley(contour, hartley, 2)
    _kernels.contour_max_entropy(contour, most, 2)
    for i, degrees in enumerate(np.sort(contour)[:, ::-1]):
        after = np.append(degrees[1:], 0.0)
        sizes = np.arange(1, K + 1)
        assert total[i] == (degrees[1] if K > 1 else 0)
        literal = 1 - ((1 - after) / sizes).max() if K > 1 else 0
        assert_allclose(upper[i], literal, rtol=0, atol=1e-15)
        literal = sum(c * math.log2(j / (j - 1)) for j, c in zip(sizes[1:], degrees[1:]))  # noqa: B905
        assert_allclose(hartley[i], literal, rtol=1e-13, atol=1e-15)
        decreasing = np.full((1, K), np.nan)
        _kernels.antitonic_regression((degrees - after)[None], decreasing, 1)
        assert_allclose(most[i], entropy(decreasing[0]), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("K", [1, 2, 3, 5])
def test_largest_entropy_and_mean_of_capacities(K):
    values = capacities(30, K)
    mean, value, where = np.full(30, np.nan), np.full(30, np.nan), np.full((30, K), np.nan)
    _kernels.max_event_mean(values, mean, 2)
    _kernels.capacity_max_entropy(values, value, where, 2)
    again = np.full(30, np.nan)
    _kernels.capacity_max_entropy(values, again, None, 1)
    assert_array_equal(again, value)
    sizes = [bin(a).count("1") for a in range(1 << K)]
    assert_allclose(mean, [max(v[a] / sizes[a] for a in range(1, 1 << K)) for v in values])
    assert_allclose(where.sum(axis=1), 1, atol=1e-14)
    assert_allclose(value, [entropy(p) for p in where], rtol=1e-12, atol=1e-14)
    for v, p in zip(values, where, strict=True):
        events = np.array([sum(p[y] for y in range(K) if a >> y & 1) for a in range(1 << K)])
        assert (events >= v - 1e-12).all()  # a member
        # No member is smaller in the direction of the gradient of the entropy.
        g = np.log(np.maximum(p, 1e-300))
        best = min(
            sum(g[y] * (v[sum(1 << x for x in order[: i + 1])] - v[sum(1 << x for x in order[:i])])
                for i, y in enumerate(order))
            for order in itertools.permutations(range(K))
        )  # fmt: skip
        assert g @ p <= best + 1e-9


@pytest.mark.parametrize("upper", [True, False])
def test_events_in_a_divergence(upper):
    rng = np.random.default_rng(0)
    n = 2000
    mass = np.maximum(rng.random(n) ** rng.choice([1, 3, 9], n), 1e-12)
    mass = np.where(rng.random(n) < 0.5, mass, 1 - mass)
    rest, radius = 1 - mass, 10.0 ** rng.uniform(-10, 1, n)
    bound, half = np.full(n, np.nan), np.full(n, np.nan)
    _kernels.event_bounds(mass, rest, radius, upper, bound, 3)
    _kernels.event_bounds(mass / 2, rest / 2, radius, upper, half, 1)
    assert_array_equal(half, bound)
    favoured = mass if upper else rest
    reached = radius >= -np.log(favoured)
    assert 100 < reached.sum() < 1900
    assert_array_equal(bound[reached], float(upper))
    p, a, b, r = (x[~reached] for x in (bound, mass, rest, radius))
    assert ((p > a) if upper else (p < a)).all()
    # The divergence of the bound is the radius, up to rounding of the bound.
    slope = np.abs(np.log(p / a) - np.log((1 - p) / b))
    error = np.abs(p * np.log(p / a) + (1 - p) * np.log1p((a - p) / b) - r)
    assert (error <= 1e-15 * slope + 4e-15 * (1 + slope)).all()


def test_events_at_the_ends():
    cases = [  # mass, rest, radius, lower, upper
        (0.3, 0.7, 0.0, 0.3, 0.3), (0.3, 0.7, np.inf, 0.0, 1.0), (0.0, 1.0, 5.0, 0.0, 0.0),
        (1.0, 0.0, 5.0, 1.0, 1.0), (0.0, 1.0, np.inf, 0.0, 1.0), (0.5, 0.5, 0.7, 0.0, 1.0),
        (1e-300, 1.0, 1.0, 0.0, None), (1.0, 1e-300, 1.0, None, 1.0),
    ]  # fmt: skip
    mass, rest, radius = (np.array(x, float) for x in list(zip(*cases, strict=True))[:3])
    for upper in (False, True):
        bound = np.full(len(cases), np.nan)
        _kernels.event_bounds(mass, rest, radius, upper, bound, 1)
        for found, case in zip(bound, cases, strict=True):
            if case[3 + upper] is not None:
                assert found == pytest.approx(case[3 + upper], abs=1e-15)
        assert ((bound >= 0) & (bound <= 1)).all()
    # A rare event of probability p: p ln(p / 1e-300) is about 1.
    assert bound[6] * math.log(bound[6] / 1e-300) == pytest.approx(1, abs=2e-3)
