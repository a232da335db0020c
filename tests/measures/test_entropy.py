"""Upper and lower entropy against Clarabel, the definitions and their own certificate."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal, assert_array_max_ulp

import credalens as cl
import oracles_entropy as oracle
from credalens.measures.entropy import CERTIFIED_BITS, log_base, warn_of_gap
from ensembles import ENSEMBLES, dirichlet, disagreeing

everywhere = pytest.mark.parametrize("P", ENSEMBLES.values(), ids=ENSEMBLES.keys())
functions = pytest.mark.parametrize("function", [cl.upper_entropy, cl.lower_entropy])

SINGLE = np.finfo(np.float32).eps


def as_double(P):
    """The same numbers in float64: rows that are off by single-precision rounding pass."""
    return cl.ConvexHull(P.astype(np.float64), validate=False)


def entropies(p):
    """Entropy in bits along the last axis."""
    p = np.asarray(p, np.float64)
    return -np.sum(p * np.log2(np.where(p > 0, p, 1)), axis=-1)


def random_ensembles(seeds):
    return st.builds(
        lambda n, M, K, a, seed: np.random.default_rng(seed).dirichlet(np.full(K, a), (n, M)),
        st.integers(1, 4), st.integers(1, 12), st.integers(1, 12),
        st.sampled_from([0.05, 0.3, 1.0, 5.0]), seeds,
    )  # fmt: skip


ensembles = random_ensembles(st.integers(0, 2**32 - 1))


# ---------------------------------------------------------------- upper entropy: the value


@everywhere
def test_upper_entropy_is_what_clarabel_finds(P):
    value, gap = cl.upper_entropy(as_double(P), return_error=True)
    for i in range(min(len(P), 4)):
        found = oracle.upper_entropy(P[i])
        assert found <= value[i] + gap[i] + 1e-12  # Clarabel's point is in the set
        assert_allclose(value[i], found, rtol=0, atol=1e-6)


@everywhere
def test_upper_entropy_is_certified_and_attained(P):
    Q = as_double(P)
    value, gap, p = cl.upper_entropy(Q, return_error=True, return_distribution=True)
    assert value.shape == gap.shape == P.shape[:1]
    assert p.shape == (len(P), P.shape[-1])
    assert (gap >= 0).all()
    assert (gap <= CERTIFIED_BITS).all()
    assert cl.ConvexHull(oracle.renormalised(P)).contains(p, tolerance=1e-12).all()
    assert_allclose(value, entropies(p), rtol=1e-13, atol=1e-14)
    for i in range(len(P)):
        # The certificate again, in other words: no member is better than value + gap.
        bound = oracle.upper_bound(P[i], p[i])
        assert value[i] <= bound + 1e-12
        assert_allclose(max(bound - value[i], 0), gap[i], rtol=0, atol=1e-12)


def test_known_upper_entropies():
    # Two members on either side of the uniform distribution.
    assert_allclose(cl.upper_entropy([[0.9, 0.1], [0.2, 0.8]]), 1.0, atol=1e-9)
    # p = (1 - t, t) with t <= 1/4: entropy grows with t, so that it is attained at t = 1/4.
    quarter = 2 - 0.75 * math.log2(3)
    assert_allclose(cl.upper_entropy([[1.0, 0.0], [0.75, 0.25]]), quarter, atol=1e-9)
    # A class that only one member has: p = (a, 1 - a, 0) mixed with (0, 0, 1) gives w on the
    # third, and H = h(w) + (1 - w) H1 is largest at log2(2^H1 + 1). Here H1 = 1.
    P = [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    value, p = cl.upper_entropy(P, return_distribution=True)
    assert_allclose(value, math.log2(3), atol=1e-9)
    assert_allclose(p, [1 / 3] * 3, atol=1e-5)


@pytest.mark.parametrize("K", [2, 3, 7, 50])
def test_diracs(K):
    value, gap, p = cl.upper_entropy(np.eye(K), return_error=True, return_distribution=True)
    assert_allclose(value, math.log2(K), atol=1e-9)
    assert gap <= CERTIFIED_BITS
    assert_allclose(p, np.full(K, 1 / K), atol=1e-5)
    assert cl.lower_entropy(np.eye(K)) == 0
    # Diracs on some classes only.
    some = np.eye(K)[[0, 1, 0]]
    assert_allclose(cl.upper_entropy(some), 1.0, atol=1e-9)


@pytest.mark.parametrize("K", [1, 4])
def test_certainty_is_exactly_zero(K):
    for M in range(1, 60):
        P = np.repeat(np.eye(K)[:1], M, axis=0)
        assert cl.upper_entropy(P) == 0, M
        assert cl.lower_entropy(P) == 0, M


@pytest.mark.parametrize("M", [1, 4, 30])
def test_a_class_that_no_member_has_plays_no_part(M):
    P = dirichlet(20, M, 6, 0.4)
    padded = np.insert(P, [0, 3, 6], 0.0, axis=-1)
    value, _, p = cl.upper_entropy(P, return_error=True, return_distribution=True)
    wide, gap, q = cl.upper_entropy(padded, return_error=True, return_distribution=True)
    assert_allclose(wide, value, rtol=0, atol=2e-9)
    assert_array_equal(q[:, [0, 4, 8]], 0)
    assert_allclose(np.delete(q, [0, 4, 8], axis=1), p, atol=1e-4)
    assert (gap <= CERTIFIED_BITS).all()
    assert_allclose(cl.lower_entropy(padded), cl.lower_entropy(P), rtol=1e-14)


def test_duplicated_members_change_nothing():
    P = dirichlet(20, 6, 5, 0.3)
    for again in (np.repeat(P, 4, axis=1), np.concatenate([P, P[:, ::-1]], axis=1)):
        assert_allclose(cl.upper_entropy(again), cl.upper_entropy(P), rtol=0, atol=2e-9)
        assert_array_equal(cl.lower_entropy(again), cl.lower_entropy(P))


@pytest.mark.parametrize("M", [1, 2, 7, 40])
@pytest.mark.parametrize("K", [1, 2, 5, 33])
def test_equal_members_have_the_entropy_of_each(M, K):
    P = np.repeat(dirichlet(10, 1, K, 0.4), M, axis=1)
    upper, gap, p = cl.upper_entropy(P, return_error=True, return_distribution=True)
    lower = cl.lower_entropy(P)
    assert_allclose(upper, entropies(P[:, 0]), rtol=1e-13, atol=1e-15)
    assert_allclose(lower, entropies(P[:, 0]), rtol=1e-13, atol=1e-15)
    assert_allclose(upper, lower, rtol=4e-15, atol=1e-15)
    assert (gap <= 1e-13).all()
    assert_allclose(p, P[:, 0], rtol=1e-14)
    if M == 1:
        assert_array_equal(upper, lower)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("M", "K"), [(6, 3), (7, 3), (8, 4), (17, 2), (40, 10), (161, 10), (65, 32)]
)
def test_many_members_of_few_classes(M, K, dtype):
    # Many are kept class by class; beside classes without any mass the same members are few.
    P = dirichlet(20, M, K, 0.3)
    P[:5, :, 0] = 0.0
    P[5:10, ::2, -1] = 0.0
    P[10, 0], P[11, M - 1] = np.eye(K)[0], np.eye(K)[-1]
    P = (P / P.sum(axis=2, keepdims=True)).astype(dtype)
    wide = np.concatenate([P, np.zeros((20, M, M), dtype)], axis=2)
    value, gap, p = cl.upper_entropy(P, return_error=True, return_distribution=True)
    expected, bound = cl.upper_entropy(wide, return_error=True)
    rounding = 0 if dtype == np.float64 else 1e-6 * np.log2(K + M)  # covered by the error
    assert max(gap.max(), bound.max()) <= CERTIFIED_BITS + rounding
    assert_allclose(value, expected, rtol=0, atol=1e-9 if dtype == np.float64 else 1e-6)
    p = p.astype(np.float64)
    p /= p.sum(axis=1, keepdims=True)
    assert_allclose(entropies(p), value, rtol=1e-6 if dtype == np.float32 else 1e-12)
    assert cl.ConvexHull(P).contains(p, tolerance=1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize(("M", "K"), [(6, 3), (64, 5), (200, 10), (129, 64), (140, 70)])
def test_members_that_are_even_on_the_whole(M, K):
    # Even shares have the largest entropy; they are in most of these hulls.
    P = dirichlet(40, M, K)
    value, gap, p = cl.upper_entropy(P, return_error=True, return_distribution=True)
    inside = cl.ConvexHull(P).contains(np.full(K, 1 / K))
    assert inside.any()
    assert (gap <= CERTIFIED_BITS).all()
    assert (value <= np.log2(K) + 1e-12).all()
    assert_allclose(value[inside], np.log2(K), rtol=0, atol=CERTIFIED_BITS)
    assert_allclose(p[inside], 1 / K, rtol=1e-4)
    assert (value[~inside] < np.log2(K)).all()


def test_even_members_of_low_rank():
    a, b = [0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]
    for count in (10, 11, 15):
        value, gap = cl.upper_entropy([a] * count + [b] * 10, return_error=True)
        assert value == pytest.approx(2, abs=1e-9)
        assert gap <= CERTIFIED_BITS
    value = cl.upper_entropy([[0.5, 0.5, 0, 0]] * 10 + [[0.45, 0.55, 0, 0]] * 10)
    assert value == pytest.approx(1, abs=1e-9)


def test_a_spoilt_instance_leaves_even_ones_alone():
    P = dirichlet(9, 40, 4)
    spoilt = P.copy()
    spoilt[4, 3, 1] = np.nan
    Q, expected = cl.ConvexHull(spoilt, validate=False), cl.upper_entropy(P)
    value = np.asarray(Q.max_entropy()[0]) / np.log(2)
    assert np.isnan(value[4])
    assert_array_equal(np.delete(value, 4), np.delete(expected, 4))


def test_two_classes():
    # The hull is the interval between the extremes, and h is largest nearest to 1/2.
    P = dirichlet(50, 5, 2)
    nearest = np.clip(0.5, P[..., 0].min(axis=1), P[..., 0].max(axis=1))
    expected = entropies(np.stack([nearest, 1 - nearest], axis=-1))
    assert_allclose(cl.upper_entropy(P), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("tiny", [1e-300, 5e-324, 1e-100, 1e-30, 1e-18])
def test_tiny_entries(tiny):
    alone = np.array([[1.0, tiny], [1.0, 0.0]])
    value, gap = cl.upper_entropy(alone, return_error=True)
    assert 0 <= value <= 1e-9
    assert 0 <= gap <= CERTIFIED_BITS
    assert 0 <= cl.lower_entropy(alone) <= value + gap
    # Beside a member with ordinary entries, the tiny one is lost in the unit interval.
    beside = np.array([[1.0, tiny, 0.0], [0.5, 0.25, 0.25], [tiny, tiny, 1.0]])
    plain = np.where(beside == tiny, 0.0, beside)
    value, gap, p = cl.upper_entropy(beside, return_error=True, return_distribution=True)
    assert gap <= CERTIFIED_BITS
    assert np.isfinite(p).all()
    assert_allclose(value, cl.upper_entropy(plain), rtol=0, atol=3e-9)


def test_a_class_of_one_member_with_almost_no_weight():
    # Moving the weight w to the second member loses w (1 - 1e-9) at once and gains w 1e-9 log2(1/w)
    # for the class that it alone has: worth it only below w = 2^-1e9, which no float can hold.
    P = np.array([[0.5, 0.5, 0.0], [1 - 1e-9, 0.0, 1e-9]])
    value, gap = cl.upper_entropy(P, return_error=True)
    assert_allclose(value, 1.0, rtol=0, atol=1e-9)
    assert gap <= CERTIFIED_BITS


# ---------------------------------------------------------------- ten thousand


def adversarial(rng):
    """Batches of odd shapes and kinds without end."""
    while True:
        M = int(rng.choice([1, 2, 3, 5, 10, 20, 60]))
        K = int(rng.choice([1, 2, 3, 5, 10, 30, 100]))
        kind = int(rng.integers(12))
        n = 40
        P = rng.dirichlet(np.full(K, rng.choice([0.02, 0.1, 0.5, 1.0, 10.0])), (n, M))
        if kind == 1:
            P = P * (rng.random(P.shape) < 0.3)
            P[..., 0] += 1e-6
        elif kind == 2:
            P[..., rng.random(K) < 0.3] = 0
            P[..., 0] += 1e-3
        elif kind == 3:
            P = np.eye(K)[rng.integers(0, K, (n, M))]
        elif kind == 4:
            P = np.repeat(P, 2, axis=1)
        elif kind == 5:
            P = rng.integers(0, 3, (n, M, K)).astype(float)
            P[..., 0] += 1
        elif kind == 6:
            t = np.linspace(0, 1, M)[:, None]
            P = np.abs((1 - t) * P[:, :1] + t * P[:, -1:] + 1e-13 * rng.standard_normal(P.shape))
        elif kind == 7:
            P = np.eye(K)[0] + 1e-12 * rng.random(P.shape)
        elif kind == 8:
            P = np.exp(3 * rng.standard_normal(P.shape)).astype(np.float32)
        elif kind == 9:
            P = np.exp(-40 * rng.random(P.shape))
        elif kind == 10:
            P = np.exp(-690 * rng.random(P.shape) ** 3)
        elif kind == 11:
            P = P[:, :1] + 10.0 ** rng.uniform(-16, -2) * rng.random(P.shape)
        yield P / P.sum(axis=-1, keepdims=True, dtype=P.dtype)


@pytest.mark.slow
def test_ten_thousand_instances_without_one_uncertified():
    checked = 0
    batches = adversarial(np.random.default_rng(0))
    while checked < 12_000:
        P = next(batches)
        # A RuntimeWarning, which is an error here, would say that some were not certified.
        value, gap, p = cl.upper_entropy(as_double(P), return_error=True, return_distribution=True)
        assert (gap <= CERTIFIED_BITS).all()
        assert (gap >= 0).all()
        assert_allclose(value, entropies(p), rtol=1e-12, atol=1e-14)
        exact = oracle.renormalised(P)
        alive = exact.max(axis=1) > 0
        mixed = np.where(alive, p + 1e-18 * exact.mean(axis=1), 1.0)
        # The bound of oracles_entropy.upper_bound, for a batch.
        bound = (-np.einsum("nmk,nk->nm", exact, np.log2(np.maximum(mixed, 5e-324)))).max(axis=1)
        assert (bound - value <= CERTIFIED_BITS + 1e-12).all()
        assert (cl.lower_entropy(as_double(P)) <= value + 1e-12).all()
        checked += len(P)


# ---------------------------------------------------------------- invariances


@everywhere
@functions
def test_a_value_does_not_depend_on_its_batch(P, function):
    Q = cl.ConvexHull(P, validate=False)
    whole = function(Q, return_error=True, return_distribution=True)
    other = function(Q[::-1], return_error=True, return_distribution=True)
    for part, turned in zip(whole, other, strict=True):
        assert_array_equal(turned[::-1], part)
    for i in range(len(P)):
        alone = function(Q[i], return_error=True, return_distribution=True)
        for part, one in zip(whole, alone, strict=True):
            assert_array_equal(one, part[i])


@functions
def test_a_value_does_not_depend_on_the_number_of_threads(monkeypatch, function):
    P = disagreeing(700, 8, 9)
    monkeypatch.setenv("CREDALENS_NUM_THREADS", "3")
    several = function(P)
    monkeypatch.setenv("CREDALENS_NUM_THREADS", "1")
    assert_array_equal(function(P), several)


@functions
def test_leading_axes_are_free(function):
    P = dirichlet(24, 4, 5)
    flat, p = function(P, return_distribution=True)
    deep, q = function(P.reshape(2, 3, 4, 4, 5), return_distribution=True)
    assert_array_equal(deep, flat.reshape(2, 3, 4))
    assert_array_equal(q, p.reshape(2, 3, 4, 5))
    single = function(P[0])
    assert isinstance(single, np.float64)
    assert single == flat[0]
    value, gap, p = function(P[:0], return_error=True, return_distribution=True)
    assert value.shape == gap.shape == (0,)
    assert p.shape == (0, 5)


@functions
def test_layouts_and_read_only_inputs(function):
    P = dirichlet(30, 4, 6)
    P.flags.writeable = False
    expected = function(P)
    for same in (np.asfortranarray(P), np.repeat(P, 2, axis=0)[::2], P.astype(">f8"), P.tolist()):
        assert_array_equal(function(same), expected)


@pytest.mark.slow
@given(ensembles, st.randoms(use_true_random=False))
def test_order_of_members_and_classes_does_not_matter(P, random):
    members, classes = list(range(P.shape[1])), list(range(P.shape[2]))
    random.shuffle(members)
    random.shuffle(classes)
    shuffled = P[:, members][:, :, classes]
    value, gap = cl.upper_entropy(P, return_error=True)
    other, other_gap = cl.upper_entropy(shuffled, return_error=True)
    assert (np.abs(value - other) <= gap + other_gap + 1e-12).all()
    assert_allclose(cl.lower_entropy(shuffled), cl.lower_entropy(P), rtol=1e-12, atol=1e-15)


@given(ensembles, st.data())
def test_nested_sets(P, data):
    keep = data.draw(st.integers(1, P.shape[1]))
    inner, outer = P[:, :keep], P
    value, gap = cl.upper_entropy(outer, return_error=True)
    assert (cl.upper_entropy(inner) <= value + gap + 1e-12).all()
    assert (cl.lower_entropy(inner) >= cl.lower_entropy(outer)).all()
    # A mixture of members adds nothing.
    more = np.concatenate([P, P.mean(axis=1, keepdims=True)], axis=1)
    assert_allclose(cl.upper_entropy(more), value, rtol=0, atol=2e-9)


@given(ensembles)
def test_bounds(P):
    upper, gap = cl.upper_entropy(P, return_error=True)
    lower = cl.lower_entropy(P)
    assert (lower >= 0).all()
    assert (lower <= upper + gap + 1e-12).all()
    assert (upper <= math.log2(P.shape[-1]) + 1e-12).all()
    # At least what the mean member has, by definition.
    assert (upper + gap + 1e-12 >= entropies(P.mean(axis=1))).all()


# ---------------------------------------------------------------- lower entropy


@everywhere
def test_lower_entropy_is_the_least_of_the_members(P):
    value, error, p = cl.lower_entropy(as_double(P), return_error=True, return_distribution=True)
    expected = [oracle.lower_entropy(one) for one in P]
    assert_allclose(value, expected, rtol=1e-13, atol=1e-15)
    assert_array_equal(error, 0)
    for i in range(len(P)):
        # The minimiser is a member, as it came in.
        assert (P[i] == p[i]).all(axis=1).any()
    assert_allclose(entropies(oracle.renormalised(p)), value, rtol=1e-12, atol=1e-14)


def test_known_lower_entropies():
    P = [[0.5, 0.5, 0.0], [0.25, 0.25, 0.5], [0.75, 0.0, 0.25]]
    value, p = cl.lower_entropy(P, return_distribution=True)
    assert_allclose(value, 2 - 0.75 * math.log2(3), rtol=1e-14)
    assert_array_equal(p, P[2])


@given(ensembles)
def test_no_mixture_has_less_entropy(P):
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(P.shape[1], 0.3), 30)
    mixed = entropies(np.einsum("wm,nmk->nwk", weights, P))
    assert (cl.lower_entropy(P)[:, None] <= mixed + 1e-12).all()
    value, gap = cl.upper_entropy(P, return_error=True)
    assert ((value + gap)[:, None] >= mixed - 1e-12).all()


# ---------------------------------------------------------------- dtypes and units


@functions
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_results_are_in_single_precision(function, dtype):
    P = dirichlet(40, 5, 6).astype(dtype)
    value, gap, p = function(P, return_error=True, return_distribution=True)
    assert value.dtype == gap.dtype == p.dtype == np.float32
    exact = function(as_double(P))
    assert_array_max_ulp(value, exact.astype(np.float32), maxulp=1)
    assert isinstance(function(P[0]), np.float32)
    assert (cl.ConvexHull(P).contains(p, tolerance=4 * float(np.finfo(np.float32).eps))).all()


@functions
def test_bases(function):
    P = dirichlet(10, 4, 5)
    bits = function(P)
    assert_allclose(function(P, "e"), bits * math.log(2), rtol=1e-14)
    assert_allclose(function(P, 10), bits * math.log10(2), rtol=1e-14)
    assert_allclose(function(P, base=4.0), bits / 2, rtol=1e-14)
    assert_allclose(function(P, np.float32(2)), bits, rtol=1e-14)
    shares = function(P, "classes")
    assert_allclose(shares, bits / math.log2(5), rtol=1e-14)
    assert (shares <= 1 + 1e-12).all()
    assert_allclose(cl.upper_entropy(np.eye(5), "classes"), 1.0, atol=1e-9)


def test_the_gap_is_in_the_unit_of_the_value():
    P = dirichlet(50, 6, 8, 0.2)
    _, bits = cl.upper_entropy(P, return_error=True)
    _, nats = cl.upper_entropy(P, "e", return_error=True)
    assert (bits > 0).any()
    assert_allclose(nats, bits * math.log(2), rtol=1e-14)


@functions
def test_one_class_in_units_of_log_classes(function):
    value, gap = function(np.ones((3, 2, 1)), "classes", return_error=True)
    assert_array_equal(value, 0)
    assert_array_equal(gap, 0)


@functions
@pytest.mark.parametrize(
    "base",
    [1, 0.5, 0, -2, math.inf, math.nan, "2", "bits", None, True, [2], np.array([2, 3])],
    ids=repr,
)
def test_other_bases_are_refused(function, base):
    with pytest.raises(ValueError, match=r"base: is .*; pass a number > 1, \"e\" or \"classes\""):
        function([[0.5, 0.5]], base)


def test_log_base():
    assert log_base("e", 3) == 1
    assert log_base("classes", 3) == math.log(3)
    assert log_base("classes", 1) == math.inf
    assert log_base(2, 3) == math.log(2)


@functions
def test_bad_members_are_refused(function):
    with pytest.raises(ValueError, match=r"members: row \(1, 0\).*sums to 0\.9"):
        function([[[0.5, 0.5]], [[0.5, 0.4]]])


# ---------------------------------------------------------------- uncertified instances


def test_certified_gaps_are_silent():
    warn_of_gap(np.array([0.0, 0.99e-9 * math.log(2)]), "upper entropy")
    warn_of_gap(np.empty(0), "upper entropy")
    warn_of_gap(np.float32(0), "upper entropy")


def test_uncertified_gaps_are_counted_and_the_worst_is_named():
    gap = np.array([0.0, 1.01e-9, 3e-4, 0.9e-9, 2e-7]) * math.log(2)
    with pytest.warns(
        RuntimeWarning,
        match=r"upper entropy: 3 of 5 instances .*certified to 1e-09 bits.*"
        r"worst error is 0\.0003 bits",
    ):
        warn_of_gap(gap, "upper entropy")


def test_an_uncertified_value_is_still_a_lower_bound(monkeypatch):
    """For any p in Q: S(p) <= S* <= max_m -sum_y P_my log p_y, i.e. the value plus its gap."""
    P = disagreeing(6, 4, 5)
    certain, _ = cl.upper_entropy(P, return_error=True)
    stopped_at = P.mean(axis=1)  # as if the solver had not moved from its start

    def stopped(self, *, distribution=False):
        value = -np.sum(stopped_at * np.log(stopped_at), axis=-1)
        bound = (-np.einsum("nmk,nk->nm", P, np.log(stopped_at))).max(axis=1)
        return value, bound - value, *((stopped_at,) if distribution else ())

    monkeypatch.setattr(cl.ConvexHull, "max_entropy", stopped)
    with pytest.warns(RuntimeWarning, match=r"6 of 6 instances could not be certified") as caught:
        value, gap, p = cl.upper_entropy(P, return_error=True, return_distribution=True)
    assert caught[0].filename == __file__
    assert (value < certain - 1e-6).any()
    assert (value <= certain + 1e-12).all()
    assert (certain <= value + gap + 1e-9).all()
    assert_allclose(value, entropies(p), rtol=1e-14)
    for i in range(len(P)):
        assert_allclose(value[i] + gap[i], oracle.upper_bound(P[i], p[i]), rtol=1e-12)
    with pytest.warns(RuntimeWarning, match=r"upper entropy: 6 of 6"):
        cl.quantify(P, "entropy")
