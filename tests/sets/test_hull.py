"""`ConvexHull`: expectations, events, membership, corners, translation, logits, and its manners."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
import oracles
from ensembles import ENSEMBLES, FEW_CLASSES, dirichlet, disagreeing, slack

everywhere = pytest.mark.parametrize("P", ENSEMBLES.values(), ids=ENSEMBLES.keys())
few_classes = pytest.mark.parametrize("P", FEW_CLASSES.values(), ids=FEW_CLASSES.keys())

#: The triangle with corners on the edges of the simplex, used where a picture helps.
TRIANGLE = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])


# ---------------------------------------------------------------- expectations


@everywhere
def test_lower_and_upper_of_each_class(P):
    Q = cl.ConvexHull(P)
    assert_array_equal(Q.lower(), P.min(axis=1))
    assert_array_equal(Q.upper(), P.max(axis=1))


@everywhere
def test_expectations_against_mixtures(P):
    K = P.shape[-1]
    f = np.random.default_rng(0).standard_normal((4, K))
    Q = cl.ConvexHull(P)
    lower, upper = Q.lower(f), Q.upper(f)
    assert lower.shape == upper.shape == (len(P), 4)
    rounding = 4 * np.finfo(P.dtype).eps
    for i, instance in enumerate(P):
        values = oracles.mixtures(instance, 50) @ f.T
        # Attained at members, which are among the mixtures.
        assert_allclose(lower[i], values.min(axis=0), rtol=0, atol=rounding)
        assert_allclose(upper[i], values.max(axis=0), rtol=0, atol=rounding)


def test_one_test_function_and_many():
    Q = cl.ConvexHull([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    assert Q.lower([1, 2, 3]) == pytest.approx(0.6 + 2 * 0.3 + 3 * 0.1)  # 1.5 against 1.9
    assert Q.upper([1, 2, 3]) == pytest.approx(0.2 + 2 * 0.7 + 3 * 0.1)
    assert_allclose(Q.lower([[1, 2, 3], [-1, -2, -3]]), [1.5, -1.9])
    assert Q.lower([[1, 2, 3]]).shape == (1,)
    assert Q.lower(np.empty((0, 3))).shape == (0,)
    assert np.shape(Q.lower([1, 2, 3])) == ()


def test_leading_axes_of_expectations():
    Q = cl.ConvexHull(dirichlet(6, 4, 5).reshape(2, 3, 4, 5))
    assert Q.lower().shape == (2, 3, 5)
    assert Q.lower(np.ones(5)).shape == (2, 3)
    assert Q.lower(np.ones((7, 5))).shape == (2, 3, 7)
    assert_allclose(Q.upper(np.ones(5)), 1)
    assert_allclose(Q.lower(np.eye(5)), Q.lower())


# ---------------------------------------------------------------- events


@few_classes
def test_probabilities_of_all_events(P):
    Q = cl.ConvexHull(P)
    K = P.shape[-1]
    masks = oracles.events(K)
    lower, upper = Q.lower_probability(masks), Q.upper_probability(masks)
    for i, instance in enumerate(P[:2]):
        for j, mask in enumerate(masks):
            atol = 2 * float(np.finfo(P.dtype).eps)
            assert lower[i, j] == pytest.approx(oracles.lower_probability(instance, mask), abs=atol)
            assert upper[i, j] == pytest.approx(oracles.upper_probability(instance, mask), abs=atol)
    # Conjugacy: what is not at most likely is at least left to the rest.
    assert_allclose(lower, 1 - upper[:, ::-1], rtol=0, atol=slack(P))


def test_ways_of_writing_an_event():
    Q = cl.ConvexHull([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    for event in ([0, 2], (2, 0), {0, 2}, frozenset({0, 2}), np.array([0, 2]), range(0, 3, 2),
                  [True, False, True], np.array([True, False, True]), [0, 2, 2, 0],
                  np.array([0, 2], np.uint8)):  # fmt: skip
        assert Q.lower_probability(event) == pytest.approx(0.3, abs=1e-15)
        assert Q.upper_probability(event) == pytest.approx(0.7, abs=1e-15)
    assert Q.upper_probability(1) == 0.7
    assert Q.lower_probability([]) == 0
    assert Q.upper_probability(set()) == 0
    assert Q.lower_probability([0, 1, 2]) == pytest.approx(1, abs=1e-15)
    many = Q.lower_probability([[True, False, False], [False, True, True]])
    assert_allclose(many, [0.2, 0.4], atol=1e-15)


@pytest.mark.parametrize(
    ("event", "match"),
    [
        ([0, 3], r"^event: entry 1 \(zero-based\) is 3; classes are 0 to 2$"),
        ([-1], r"^event: entry 0 \(zero-based\) is -1; classes are 0 to 2$"),
        (7, r"^event: entry 0 \(zero-based\) is 7; classes are 0 to 2$"),
        (
            [0.5],
            r"^event: has dtype float64 and shape \(1,\); pass class indices, \[0, 2\], or a bo",
        ),
        (["cat"], r"^event: has dtype <U3"),
        ([[0, 1]], r"^event: has dtype int64 and shape \(1, 2\); pass class indices"),
        ([True, False], r"^event: is a mask of shape \(2,\); pass a mask of shape \(3,\)$"),
    ],
)
def test_events_that_are_refused(event, match):
    with pytest.raises(ValueError, match=match):
        cl.ConvexHull([[0.6, 0.3, 0.1]]).lower_probability(event)


# ---------------------------------------------------------------- membership


@everywhere
def test_contains_its_members_mixtures_and_center(P):
    Q = cl.ConvexHull(P)
    assert Q.contains(Q.center()).all()
    for i, instance in enumerate(P[:2]):
        points = oracles.mixtures(instance, 20)
        if P.dtype == np.float32:
            points = points.astype(np.float32)
        elif np.abs(points.sum(axis=1) - 1).max() > 1e-8:
            continue
        assert Q[i].contains(points).all()


@few_classes
def test_contains_agrees_with_a_linear_program(P):
    rng = np.random.default_rng(1)
    K = P.shape[-1]
    Q = cl.ConvexHull(P.astype(np.float64), normalize=True)
    points = np.concatenate([rng.dirichlet(np.ones(K), 4), np.eye(K)[:3], np.full((1, K), 1 / K)])
    for i, instance in enumerate(Q.members[:3]):
        got = Q[i].contains(points)
        expected = np.array([oracles.distance_to_hull(instance, p) for p in points])
        clear = (expected < 1e-12) | (expected > 1e-7)  # where HiGHS can tell
        assert clear.any()
        assert_array_equal(got[clear], (expected <= 1e-9)[clear])


def test_contains_on_the_boundary_and_just_outside():
    Q = cl.ConvexHull(TRIANGLE)
    edge = TRIANGLE[:2].mean(axis=0)  # (1/4, 1/2, 1/4): no member of the set has more than 1/2
    outward = np.array([-1.0, 2.0, -1.0]) / 2
    assert Q.contains(edge)
    assert Q.contains(edge - 1e-3 * outward)
    assert not Q.contains(edge + 1e-3 * outward)
    # A step of s leaves class 1 at 1/2 + s; going straight back is as near as it gets.
    assert oracles.distance_to_hull(TRIANGLE, edge + 1e-3 * outward) == pytest.approx(1e-3)
    assert not Q.contains(edge + 3e-9 * outward)
    assert Q.contains(edge + 0.3e-9 * outward)
    assert Q.contains(edge + 3e-9 * outward, tolerance=1e-8)
    assert not Q.contains(edge + 0.3e-9 * outward, tolerance=1e-10)


def test_contains_corners_and_nothing_beyond_them():
    Q = cl.ConvexHull(TRIANGLE)
    assert Q.contains(TRIANGLE).all()
    assert Q.contains(TRIANGLE, tolerance=1e-14).all()
    for s in (1e-6, 1e-8):
        beyond = TRIANGLE + s * np.array([[1, -1, 0], [0, 1, -1], [-1, 0, 1]])
        assert not Q.contains(beyond).any()
    assert not Q.contains(np.eye(3)).any()


def test_contains_is_not_fooled_by_the_bounding_box():
    # Inside the lower and upper probabilities of both classes of corners, outside the segment.
    Q = cl.ConvexHull([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]])
    assert Q.contains([0.4, 0.4, 0.2])
    assert not Q.contains([0.3, 0.3, 0.4])
    assert not cl.ConvexHull([[0.6, 0.2, 0.2], [0.2, 0.3, 0.5]]).contains([0.4, 0.3, 0.3])


def test_contains_in_single_precision_allows_for_it():
    x = disagreeing(20, 6, 9).astype(np.float32)
    Q = cl.ConvexHull(x)
    mixed = np.einsum("m,nmk->nk", np.full(6, 1 / 6, np.float32), x)
    assert Q.contains(mixed).all()
    away = mixed.copy()
    away[:, 0] += 1e-3
    away[:, 1] -= 1e-3
    outside = cl.ConvexHull(x[:, :2]).contains(np.abs(away) / np.abs(away).sum(axis=1)[:, None])
    assert not outside.any()


def test_contains_broadcasts():
    P = dirichlet(3, 5, 4)
    Q = cl.ConvexHull(P)
    assert Q.contains(P[:, 0]).shape == (3,)
    assert Q.contains(P[0, 0])[0]
    assert Q.contains(P[:, 0][:, None]).shape == (3, 3)
    assert_array_equal(Q.contains(P[:, 0][:, None]).diagonal(), True)
    single = Q[0].contains(P[0])
    assert single.shape == (5,)
    assert single.all()
    assert isinstance(Q[0].contains(P[0, 0]), bool | np.bool_)


# ---------------------------------------------------------------- corners


def as_rows(points):
    return {tuple(row) for row in np.asarray(points).tolist()}


def test_extreme_points_of_a_polygon_with_points_inside():
    inside = [TRIANGLE.mean(axis=0), TRIANGLE[:2].mean(axis=0), TRIANGLE[1]]
    P = np.array([inside[0], TRIANGLE[0], inside[1], TRIANGLE[1], TRIANGLE[2], inside[2]])
    corners = cl.ConvexHull(P).extreme_points()
    assert corners.shape == (3, 3)
    assert as_rows(corners) == as_rows(TRIANGLE)


def test_extreme_points_keep_members_bit_for_bit_and_in_order():
    P = disagreeing(1, 6, 8, seed=3)[0]
    assert_array_equal(cl.ConvexHull(P).extreme_points(), P)
    doubled = np.concatenate([P, P])
    assert_array_equal(cl.ConvexHull(doubled).extreme_points(), P)


def test_extreme_points_of_equal_members():
    P = np.repeat(dirichlet(4, 1, 6), 7, axis=1)
    corners = cl.ConvexHull(P).extreme_points()
    assert corners.shape == (4, 1, 6)
    assert_array_equal(corners, P[:, :1])


def test_extreme_points_of_collinear_members():
    t = np.array([0.5, 0.0, 0.25, 1.0, 0.75])[:, None]
    P = (1 - t) * [0.5, 0.25, 0.25] + t * [0.0, 0.25, 0.75]
    assert as_rows(cl.ConvexHull(P).extreme_points()) == as_rows(P[[1, 3]])


def test_extreme_points_of_collinear_members_with_noise():
    corners = cl.ConvexHull(ENSEMBLES["collinear"]).extreme_points()
    assert corners.shape == (6, 2, 5)


def test_extreme_points_stay_rectangular():
    P = np.stack([TRIANGLE, np.tile(TRIANGLE[0], (3, 1)), TRIANGLE[[0, 1, 0]]])
    corners = cl.ConvexHull(P).extreme_points()
    assert corners.shape == (3, 3, 3)
    assert as_rows(corners[0]) == as_rows(TRIANGLE)
    assert as_rows(corners[1]) == as_rows(TRIANGLE[:1])
    assert as_rows(corners[2]) == as_rows(TRIANGLE[:2])


@pytest.mark.slow
@few_classes
def test_extreme_points_describe_the_same_set(P):
    Q = cl.ConvexHull(P)
    corners = Q.extreme_points()
    assert corners.shape[1] <= P.shape[1]
    for i, instance in enumerate(P):
        assert as_rows(corners[i]) <= as_rows(instance)
    reduced = cl.ConvexHull(corners, validate=False)
    atol = 1e-7 if P.dtype == np.float32 else 1e-12
    assert_allclose(reduced.lower(), Q.lower(), rtol=0, atol=2 * atol)
    assert_allclose(reduced.upper(), Q.upper(), rtol=0, atol=2 * atol)
    for i, instance in enumerate(P[:2]):
        for p in instance.astype(np.float64):
            assert oracles.distance_to_hull(corners[i], p) <= 1e-6
        # No corner can be spared.
        distinct = np.unique(corners[i], axis=0)
        for j in range(len(distinct)):
            rest = np.delete(distinct, j, axis=0)
            if len(rest):
                away = oracles.distance_to_hull(rest, distinct[j].astype(np.float64))
                assert away > 0 or P.dtype == np.float32


def test_extreme_points_of_two_classes_are_the_two_ends():
    P = dirichlet(10, 6, 2)
    corners = cl.ConvexHull(P).extreme_points()
    assert corners.shape == (10, 2, 2)
    assert_array_equal(corners[..., 0].min(axis=1), P[..., 0].min(axis=1))
    assert_array_equal(corners[..., 0].max(axis=1), P[..., 0].max(axis=1))


# ---------------------------------------------------------------- centre and translation


@everywhere
def test_center_is_the_mean(P):
    got = cl.ConvexHull(P).center()
    assert_allclose(got, P.astype(np.float64).mean(axis=1), rtol=np.finfo(P.dtype).eps, atol=1e-300)


def test_translate_moves_every_member():
    Q = cl.ConvexHull([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    moved = Q.translate([-0.125, 0.25, -0.125])
    assert_array_equal(moved.members, [[0.375, 0.5, 0.125], [0.125, 0.75, 0.125]])
    assert_array_equal(Q.members, [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    back = moved.translate([0.125, -0.25, 0.125])
    assert_array_equal(back.members, Q.members)


def test_translate_up_to_the_edge_of_the_simplex():
    Q = cl.ConvexHull([[0.1, 0.9], [0.2, 0.8]])
    moved = Q.translate([-0.1, 0.1])
    assert (moved.members >= 0).all()
    cl.ConvexHull(moved.members)  # passes the door
    third = cl.ConvexHull([[0.3, 0.7]]).translate([-0.1, 0.1]).translate([-0.2, 0.2])
    assert (third.members >= 0).all()


def test_translate_each_instance_by_its_own():
    P = 0.5 * dirichlet(3, 4, 5) + 0.1
    t = np.array([[0.05, -0.05, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0.02, 0.03, -0.05]])
    Q = cl.ConvexHull(P).translate(t)
    assert_allclose(Q.members, P + t[:, None], rtol=0, atol=1e-16)


def test_translate_keeps_the_dtype():
    Q = cl.ConvexHull(np.array([[0.5, 0.5]], np.float32)).translate([0.25, -0.25])
    assert Q.dtype == np.float32
    assert_array_equal(Q.members, [[0.75, 0.25]])


@pytest.mark.parametrize(
    ("t", "match"),
    [
        ([-0.25, 0.25, 0], r"^t: moves the entry to -0.15 at index \(1, 1, 0\) .*, out of the"),
        ([0.1, 0.1, 0], r"^t: .*sums to 0\.2; pass a translation that sums to 0$"),
        ([-0.1, -0.1, 0], r"^t: .*sums to -0\.2; pass a translation that sums to 0$"),
        ([0.1, -0.1], r"^t: has shape \(2,\); pass one number per class, \(\.\.\., 3\)$"),
        (0.0, r"^t: has shape \(\); pass one number per class"),
        ([0, np.nan, 0], r"^t: is NaN at index 1 \(zero-based\); pass finite numbers$"),
    ],
)  # fmt: skip
def test_translate_refuses(t, match):
    Q = cl.ConvexHull([[[0.5, 0.25, 0.25], [0.3, 0.2, 0.5]], [[0.5, 0.25, 0.25], [0.1, 0.4, 0.5]]])
    with pytest.raises(ValueError, match=match):
        Q.translate(t)


# ---------------------------------------------------------------- logits


def test_from_logits_is_the_softmax():
    logits = np.random.default_rng(0).normal(0, 3, (4, 3, 5))
    e = np.exp(logits)
    got = cl.ConvexHull.from_logits(logits).members
    assert_allclose(got, e / e.sum(axis=-1, keepdims=True), rtol=1e-14)
    shifted = cl.ConvexHull.from_logits(logits + 1000.0).members
    assert_allclose(shifted, got, rtol=1e-11)


def test_from_logits_by_hand():
    got = cl.ConvexHull.from_logits([[0.0, np.log(3)], [np.log(9), 0.0]]).members
    assert_allclose(got, [[0.25, 0.75], [0.9, 0.1]], rtol=1e-15)
    # A temperature of 2 takes square roots: (1, sqrt 9) = (1, 3).
    got = cl.ConvexHull.from_logits([[0.0, np.log(9)]], temperature=2).members
    assert_allclose(got, [[0.25, 0.75]], rtol=1e-15)
    assert_array_equal(cl.ConvexHull.from_logits([[1, 1]]).members, [[0.5, 0.5]])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4", ">f2"])
def test_from_logits_keeps_single_precision_and_is_valid(dtype):
    logits = np.random.default_rng(1).normal(0, 5, (6, 4, 50)).astype(dtype)
    Q = cl.ConvexHull.from_logits(logits)
    kind = np.float64 if dtype is np.float64 else np.float32
    assert Q.members.dtype == kind
    cl.ConvexHull(Q.members)
    exact = cl.ConvexHull.from_logits(logits.astype(np.float64)).members
    assert_allclose(Q.members, exact, rtol=0, atol=2 * np.finfo(kind).eps)


@pytest.mark.parametrize(
    "logits",
    [
        np.array([[1000.0, 0.0], [0.0, -1000.0]]),
        np.array([[1.7e308, -1.7e308]]),
        np.array([[3e38, -3e38]], np.float32),
        np.array([[60000, -60000]], np.float16),
    ],
    ids=["1000", "float64", "float32", "float16"],
)
def test_from_logits_does_not_overflow(logits):
    assert_array_equal(cl.ConvexHull.from_logits(logits).members[..., 0], 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_from_logits_at_extreme_temperatures(dtype):
    logits = np.array([[1.0, 2.0, 2.0]], dtype)
    for cold in (1e-30, 1e-50, 1e-300):
        got = cl.ConvexHull.from_logits(logits, temperature=cold).members
        assert_array_equal(got, [[0, 0.5, 0.5]])
    for hot in (1e30, 1e50, 1e300):
        got = cl.ConvexHull.from_logits(logits, temperature=hot).members
        assert_allclose(got, np.full((1, 3), 1 / 3), rtol=1e-6)


@pytest.mark.parametrize(
    ("logits", "match"),
    [
        (
            [1.0, 2.0],
            r"^logits: has 1 axes, shape \(2,\); pass an array .*\(\.\.\., members, classes",
        ),
        (np.empty((2, 0)), r"^logits: has no classes, shape \(2, 0\)"),
        (
            [[0.0, np.nan]],
            r"^logits: is NaN at index \(0, 1\) \(zero-based\); pass finite numbers$",
        ),
        (
            [[0.0, 1.0], [np.inf, 0]],
            r"^logits: is infinite at index \(1, 0\) \(zero-based\); pass finite numbers, or -inf",
        ),
        (
            [[[0.0, 1.0]], [[-np.inf, -np.inf]]],
            r"^logits: row \(1, 0\) \(zero-based\) is -inf for every class; pass a finite number",
        ),
        ([["a", "b"]], r"^logits: is not numeric"),
        ([[1j, 0]], r"^logits: is complex"),
    ],
)
def test_from_logits_refuses(logits, match):
    with pytest.raises(ValueError, match=match):
        cl.ConvexHull.from_logits(logits)


def test_from_logits_excludes_classes():
    logits = np.array([[[0.0, -np.inf, 2.0, 1.0]], [[-np.inf, 3.0, -np.inf, -np.inf]]])
    for dtype in (np.float16, np.float32, np.float64):
        for temperature in (1.0, 1e-40, 3.0, 1e40):
            members = cl.ConvexHull.from_logits(logits.astype(dtype), temperature).members
            assert (members[np.isneginf(logits)] == 0).all()
            assert_allclose(members.sum(axis=-1), 1, rtol=0, atol=1e-3)
    members = cl.ConvexHull.from_logits(logits).members
    assert_allclose(members[0, 0, [0, 2, 3]], np.exp([0, 2, 1]) / np.exp([0, 2, 1]).sum())
    assert_array_equal(members[1], np.eye(4)[[1]])


@pytest.mark.parametrize("temperature", [0, -1.0, np.nan, np.inf, [1.0, 2.0], "warm", None])
def test_from_logits_refuses_temperatures(temperature):
    with pytest.raises(ValueError, match=r"^temperature: is .*; pass a positive number$"):
        cl.ConvexHull.from_logits([[0.0, 1.0]], temperature=temperature)


# ---------------------------------------------------------------- manners


def test_shapes_and_repr():
    Q = cl.ConvexHull(dirichlet(6, 4, 5).reshape(2, 3, 4, 5).astype(np.float32))
    assert (Q.batch_shape, Q.n_members, Q.n_classes, Q.dtype) == ((2, 3), 4, 5, np.float32)
    assert len(Q) == 2
    assert repr(Q) == "ConvexHull(batch_shape=(2, 3), n_members=4, n_classes=5, dtype=float32)"


def test_indexing_the_batch():
    P = dirichlet(24, 4, 5).reshape(2, 3, 4, 4, 5)
    Q = cl.ConvexHull(P)
    for index in (0, -1, slice(1, None), (1, 2), (1, 2, 3), (slice(None), 1), ..., (..., 0),
                  (0, ..., 1), (0, ...), [1, 0], np.array([1, 1]), (slice(None), [2, 0]),
                  np.array([True, False]), None, (None, 1), (0, slice(None), [3, 1]),
                  ([0, 1], slice(None), [3, 1]), slice(0, 0), np.int64(1)):  # fmt: skip
        picked = Q[index]
        lead = np.arange(24).reshape(2, 3, 4)[index]
        assert picked.batch_shape == np.shape(lead)
        assert picked.n_members == 4
        assert_array_equal(picked.members, P.reshape(24, 4, 5)[lead])


def test_indexing_reaches_no_further_than_the_batch():
    Q = cl.ConvexHull(dirichlet(3, 4, 5))
    for index in (3, -4, (0, 0), (slice(None), 1), np.array([True, False]), (..., 0, 0), "a", 1.0):
        with pytest.raises(IndexError):
            Q[index]
    single = Q[0]
    with pytest.raises(IndexError, match="cannot be indexed"):
        single[0]
    with pytest.raises(TypeError, match="no len"):
        len(single)


def test_iteration_gives_single_sets():
    P = dirichlet(3, 4, 5)
    sets = list(cl.ConvexHull(P))
    assert len(sets) == 3
    assert_array_equal(sets[2].members, P[2])


def test_immutable():
    P = dirichlet(3, 4, 5)
    Q = cl.ConvexHull(P)
    with pytest.raises(AttributeError, match="immutable"):
        Q.members = P
    with pytest.raises(AttributeError, match="immutable"):
        Q.anything = 1
    with pytest.raises(ValueError, match="read-only"):
        Q.members[0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        Q[0].members[0, 0] = 1
    P[0] = 0.2  # the caller's array stays the caller's
    assert P.flags.writeable


@pytest.mark.parametrize(
    "again", [lambda Q: pickle.loads(pickle.dumps(Q)), copy.copy, copy.deepcopy]
)
def test_pickle_and_copy(again):
    for P in (ENSEMBLES["disagreeing"], ENSEMBLES["float32 of sparse"], dirichlet(1, 2, 3)[0]):
        Q = again(cl.ConvexHull(P))
        assert isinstance(Q, cl.ConvexHull)
        assert Q.dtype == P.dtype
        assert_array_equal(Q.members, P)
        with pytest.raises(ValueError, match="read-only"):
            Q.members[..., 0] = 1
        assert_array_equal(cl.total_uncertainty(Q), cl.total_uncertainty(P))


def test_as_credal_set():
    Q = cl.ConvexHull(TRIANGLE)
    assert cl.as_credal_set(Q) is Q
    made = cl.as_credal_set(TRIANGLE)
    assert isinstance(made, cl.ConvexHull)
    assert isinstance(made, cl.CredalSet)
    assert_array_equal(made.members, TRIANGLE)
    assert Q.to_hull() is Q


# ---------------------------------------------------------------- a new representation


class Segment(cl.CredalSet):
    """The least that a representation must say: its shape and its corners."""

    def __init__(self, ends):
        self.ends = np.asarray(ends)

    @property
    def batch_shape(self):
        return self.ends.shape[:-2]

    @property
    def n_classes(self):
        return self.ends.shape[-1]

    @property
    def dtype(self):
        return self.ends.dtype

    def extreme_points(self):
        return self.ends

    def __getitem__(self, index):
        return Segment(self.ends[index])

    def plain(self):
        return self


def test_a_representation_answers_everything_from_its_corners():
    P = disagreeing(5, 2, 4)
    Q, hull = Segment(P), cl.ConvexHull(P)
    ours, theirs = cl.quantify(Q), cl.quantify(hull)
    assert_array_equal(ours.total, theirs.total)
    assert_array_equal(ours.aleatoric.upper, theirs.aleatoric.upper)
    assert_array_equal(ours.epistemic, theirs.epistemic)
    for function in (cl.total_uncertainty, cl.epistemic_uncertainty, cl.majority_vote):
        assert_array_equal(function(Q), function(hull))
    assert_array_equal(cl.aleatoric_uncertainty(Q).upper, theirs.aleatoric.upper)
    assert_array_equal(Q.lower(), hull.lower())
    assert_array_equal(Q.upper([1, 2, 3, 4]), hull.upper([1, 2, 3, 4]))
    assert_array_equal(Q.lower_probability([0, 3]), hull.lower_probability([0, 3]))
    assert_array_equal(Q.upper_probability([0, 3]), hull.upper_probability([0, 3]))
    assert_array_equal(Q.center(), hull.center())
    assert_array_equal(Q.contains(hull.center()), True)
    assert len(Q) == 5
    assert repr(Q) == "Segment(batch_shape=(5,), n_classes=4, dtype=float64)"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_set_holds_its_center_in_every_precision(dtype):
    members = np.random.default_rng(0).dirichlet(np.ones(3), (50, 4)).astype(dtype)
    Q = cl.ConvexHull(members)
    assert Q.contains(Q.center()).all()
    assert (Q.to_intervals() >= Q).all()
    assert not Q.contains(np.array([1.0, 0.0, 0.0])).all()
