"""The measures under total variation: against oracles, by hand, and the paper's propositions."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
import oracles
from ensembles import ENSEMBLES, FEW_CLASSES, dirichlet, disagreeing, slack

everywhere = pytest.mark.parametrize("P", ENSEMBLES.values(), ids=ENSEMBLES.keys())
few_classes = pytest.mark.parametrize("P", FEW_CLASSES.values(), ids=FEW_CLASSES.keys())


def each(function, P):
    return np.array([function(instance) for instance in P])


def fields(u):
    return u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic


# ---------------------------------------------------------------- against the oracles


@few_classes
def test_total_is_the_definition(P):
    assert_allclose(
        cl.total_uncertainty(P), each(oracles.total_uncertainty, P), rtol=0, atol=slack(P)
    )


@pytest.mark.slow
@everywhere
def test_aleatoric_lower_is_the_smallest_over_the_set(P):
    # Up to the feasibility tolerance of HiGHS, which may reach outside the weights' simplex.
    got = cl.aleatoric_uncertainty(P).lower
    assert_allclose(got[:1], each(oracles.aleatoric_lower, P[:1]), rtol=0, atol=2e-7 + slack(P))
    nearest = [min(map(oracles.bayes_error, instance)) for instance in P]
    assert_allclose(got, nearest, rtol=0, atol=np.finfo(P.dtype).eps)


def test_the_lower_end_alone():
    P = disagreeing(6, 4, 5)
    sets = (
        P, P[0], P.astype(np.float32), cl.ConvexHull(P).to_intervals(),
        cl.TotalVariationBall(P[:, 0], 0.2), cl.KLBall(P[:, 0], 0.2),
        cl.Contamination(P[:, 0], 0.1),
        cl.TopKHull([[3, 7], [3, 9]], [[0.8, 0.15], [0.6, 0.35]], n_classes=1000),
    )  # fmt: skip
    for Q in sets:
        interval, _ = cl.aleatoric_uncertainty(Q, return_error=True)
        lower, error = cl.aleatoric_uncertainty(Q, end="lower", return_error=True)
        assert_allclose(lower, interval.lower, rtol=0, atol=1e-12)
        assert lower.dtype == interval.lower.dtype
        assert np.all(error <= (4e-7 if lower.dtype == np.float32 else 0))
    ordinal = cl.aleatoric_uncertainty(P, "ordinal", end="lower")
    assert_array_equal(ordinal, cl.aleatoric_uncertainty(P, "ordinal").lower)
    with pytest.raises(ValueError, match=r"^end: is 'upper'; choose one of 'both', 'lower'"):
        cl.aleatoric_uncertainty(P, end="upper")


@everywhere
def test_aleatoric_upper_is_within_its_gap_of_highs(P):
    interval, gap = cl.aleatoric_uncertainty(P, return_error=True)
    best = each(oracles.aleatoric_upper, P)
    rounding = 2 * np.finfo(P.dtype).eps
    assert (gap >= 0).all()
    assert (gap <= 1e-9 + 4 * rounding).all()
    # What HiGHS attains is attained, hence at most the true value, which is at most value + gap.
    assert (best <= interval.upper + gap + rounding).all()
    # HiGHS itself is off by up to 9e-9 on rows normalised in single precision.
    assert (interval.upper <= best + 2e-8 + rounding).all()


@everywhere
def test_aleatoric_interval_holds_every_mixture(P):
    interval, gap = cl.aleatoric_uncertainty(P, return_error=True)
    rounding = 2 * np.finfo(P.dtype).eps
    for i, instance in enumerate(P):
        errors = [oracles.bayes_error(p) for p in oracles.mixtures(instance, 200, seed=i)]
        assert interval.lower[i] <= min(errors) + rounding
        assert max(errors) <= interval.upper[i] + gap[i] + rounding


@few_classes
def test_epistemic_is_the_definition(P):
    assert_allclose(
        cl.epistemic_uncertainty(P), each(oracles.epistemic_uncertainty, P), rtol=0, atol=slack(P)
    )


@everywhere
def test_epistemic_is_the_widest_pair(P):
    got = cl.epistemic_uncertainty(P)
    assert_allclose(got, each(oracles.epistemic_by_pairs, P), rtol=2 * np.finfo(P.dtype).eps,
                    atol=1e-15)  # fmt: skip
    for instance, value in zip(P, got, strict=True):
        points = oracles.mixtures(instance, 40)
        inside = np.abs(points[:, None] - points[None]).sum(axis=2).max() / 4
        assert inside <= value + 4 * np.finfo(P.dtype).eps  # sums of up to 300 terms


@everywhere
def test_quantify_is_the_functions_together(P):
    u = cl.quantify(P)
    interval, gap = cl.aleatoric_uncertainty(P, return_error=True)
    alone = cl.total_uncertainty(P), interval.lower, interval.upper, cl.epistemic_uncertainty(P)
    for together, single in zip((*fields(u), u.error), (*alone, gap), strict=True):
        assert together.dtype == P.dtype
        assert together.shape == P.shape[:1]
        # In single precision 1 - value may be rounded before or after the subtraction.
        atol = 0 if P.dtype == np.float64 else 5e-7
        assert_allclose(together, single, rtol=0, atol=atol)
    assert (u.error <= 1e-9 + 8 * np.finfo(P.dtype).eps).all()


@everywhere
def test_one_instance_without_leading_axes(P):
    whole, single = cl.quantify(P), cl.quantify(P[-1])
    for many, one in zip(fields(whole), fields(single), strict=True):
        assert one.shape == ()
        assert one == many[-1]


# ---------------------------------------------------------------- by hand


def test_two_members_three_classes_by_hand():
    u = cl.quantify([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])
    assert u.total == pytest.approx(1 - 0.5, abs=1e-15)  # class 0 has at least 0.5
    assert u.aleatoric.lower == pytest.approx(1 - 0.7, abs=1e-15)
    assert u.aleatoric.upper == pytest.approx(1 - 0.5, abs=1e-15)  # both put class 0 first
    assert u.epistemic == pytest.approx((0.2 + 0.2 + 0) / 4, abs=1e-15)


def test_upper_aleatoric_end_is_inside_where_members_disagree():
    # w (0.9, 0.1) + (1 - w) (0.2, 0.8) is a fair coin at w = 3/7; the members have 0.1 and 0.2.
    interval, gap = cl.aleatoric_uncertainty([[0.9, 0.1], [0.2, 0.8]], return_error=True)
    assert interval.lower == pytest.approx(0.1, abs=1e-15)
    assert interval.upper == pytest.approx(0.5, abs=1e-15)
    assert gap <= 1e-15


def test_three_diracs_reach_the_uniform_distribution():
    u = cl.quantify(np.eye(3))
    assert u.total == 1
    assert u.aleatoric.lower == 0
    assert u.aleatoric.upper == pytest.approx(2 / 3, abs=1e-15)
    assert u.epistemic == 0.5


def test_game_with_a_mixed_solution_by_hand():
    # Members (3/4, 1/4, 0) and (0, 1/4, 3/4): at w = 1/2 the mixture is (3/8, 1/4, 3/8).
    interval = cl.aleatoric_uncertainty([[0.75, 0.25, 0], [0, 0.25, 0.75]])
    assert interval.upper == pytest.approx(1 - 3 / 8, abs=1e-15)


def test_saddle_on_a_tied_argmax():
    # Both members have class 1 among their largest, so the upper end is the larger Bayes error.
    interval = cl.aleatoric_uncertainty([[0.4, 0.4, 0.2], [0.1, 0.5, 0.4]])
    assert interval.upper == pytest.approx(0.6, abs=1e-15)


def test_interval_summaries():
    interval = cl.Interval(np.array([0.1, 0.2]), np.array([0.5, 0.2]))
    assert_allclose(interval.midpoint, [0.3, 0.2])
    assert_allclose(interval.width, [0.4, 0.0])
    lower, upper = interval
    assert lower is interval.lower
    assert upper is interval.upper
    with pytest.raises(AttributeError):
        interval.lower = 0


def test_distance_is_the_largest_difference_over_events():
    P = dirichlet(5, 2, 6, seed=3)
    assert_allclose(
        cl.TotalVariation()(P[:, 0], P[:, 1]),
        [oracles.distance(p, q) for p, q in P],
        rtol=0,
        atol=1e-15,
    )


def test_distance_broadcasts_and_keeps_the_dtype():
    p = dirichlet(4, 3, 5, seed=3)
    got = cl.TotalVariation()(p, p[0, 0])
    assert got.shape == (4, 3)
    assert got[0, 0] == 0
    assert cl.TotalVariation()(p.astype(np.float32), p.astype(np.float32)).dtype == np.float32
    assert cl.TotalVariation()([1.0, 0], [0, 1.0]) == 1


def test_distance_refuses_unequal_numbers_of_classes():
    with pytest.raises(ValueError, match=r"^q: has 2 classes; pass 3, as in p$"):
        cl.TotalVariation()([1.0, 0, 0], [0, 1.0])


def test_dirac_costs_are_the_distances_to_diracs():
    c = cl.TotalVariation(n_classes=4).dirac_costs
    p = dirichlet(1, 1, 4)[0, 0]
    assert_allclose(p @ c, [cl.TotalVariation()(p, oracles.dirac(y, 4)) for y in range(4)])


@pytest.mark.parametrize("function", [cl.total_uncertainty, cl.aleatoric_uncertainty,
                                      cl.epistemic_uncertainty])  # fmt: skip
def test_distance_by_name_or_as_an_object(function):
    P = ENSEMBLES["disagreeing"]
    by_name, as_object = function(P, "tv"), function(P, cl.TotalVariation())
    if isinstance(by_name, cl.Interval):
        by_name, as_object = by_name.upper, as_object.upper
    assert_array_equal(by_name, as_object)
    with pytest.raises(ValueError, match=r"^distance: is 'tvd'; choose one of .*'tv'"):
        function(P, "tvd")


def test_unknown_measure_is_refused_by_its_own_name():
    with pytest.raises(ValueError, match=r"^measure: is 'shannon'; choose one of .*'tv'"):
        cl.quantify(ENSEMBLES["dirichlet"], measure="shannon")


# ---------------------------------------------------------------- the generic game


def test_maximin_of_the_default_cost_is_the_upper_aleatoric_end():
    Q = cl.ConvexHull(ENSEMBLES["disagreeing"])
    value, gap = Q.maximin(1.0 - np.eye(Q.n_classes))
    assert_allclose(value, cl.aleatoric_uncertainty(Q).upper, rtol=0, atol=1e-12)
    assert (gap <= 1e-9).all()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_maximin_of_any_cost_against_highs(scale):
    from scipy.optimize import linprog

    P = disagreeing(4, 5, 4, seed=8)
    cost = scale * np.random.default_rng(0).standard_normal((4, 4))
    value, gap = cl.ConvexHull(P).maximin(cost)
    for instance, v, g in zip(P, value, gap, strict=True):
        risks = instance @ cost
        solution = linprog(
            np.r_[np.zeros(5), -1.0],
            A_ub=np.c_[-risks.T, np.ones(4)],
            b_ub=np.zeros(4),
            A_eq=[[1, 1, 1, 1, 1, 0]],
            b_eq=[1],
            bounds=[(0, None)] * 5 + [(None, None)],
        )
        assert v == pytest.approx(-solution.fun, abs=1e-8 * scale)
        assert 0 <= g <= 1e-9 * scale


# ---------------------------------------------------------------- the paper's propositions


@everywhere
def test_a1_boundedness(P):
    total, lower, upper, epistemic = fields(cl.quantify(P))
    K = P.shape[-1]
    for values, most in ((total, 1), (lower, 1 - 1 / K), (upper, 1 - 1 / K), (epistemic, 0.5)):
        assert (values >= -slack(P)).all()
        assert (values <= most + slack(P)).all()


@everywhere
def test_a4_precise_sets_reduce_to_one_distribution(P):
    # A single member: no imprecision, and all that is left is the Bayes error.
    total, lower, upper, epistemic = fields(cl.quantify(P[:, :1]))
    error = 1 - P[:, 0].max(axis=-1)
    for values in (total, lower, upper):
        assert_array_equal(values, error)
    assert_array_equal(epistemic, 0)


@everywhere
def test_proposition_4_4_dominance(P):
    total, lower, upper, epistemic = fields(cl.quantify(P))
    assert (lower <= upper).all()
    assert (upper <= total).all()
    assert (epistemic <= total + slack(P)).all()
    for instance, bound in zip(P, total, strict=True):
        for p in oracles.mixtures(instance, 30):
            assert oracles.bayes_error(p) <= bound + slack(P)


def test_proposition_4_5_translation_invariance():
    P = 0.5 * ENSEMBLES["disagreeing"] + 0.5 / 6
    t = np.array([0.08, -0.08, 0.03, -0.05, 0.05, -0.03])
    Q = cl.ConvexHull(P)
    moved = Q.translate(t)
    assert_allclose(moved.members, P + t, rtol=0, atol=1e-16)
    assert_allclose(
        cl.epistemic_uncertainty(moved), cl.epistemic_uncertainty(Q), rtol=0, atol=1e-14
    )
    # The location matters for the others.
    assert np.abs(cl.total_uncertainty(moved) - cl.total_uncertainty(Q)).max() > 0.01


@few_classes
def test_proposition_4_5_on_every_ensemble(P):
    K = P.shape[-1]
    Q = cl.ConvexHull(P.astype(np.float64) * 0.5 + 0.5 / K, validate=False)
    t = np.zeros(K)
    t[0] += 0.25 / K
    t[-1] -= 0.25 / K
    assert_allclose(
        cl.epistemic_uncertainty(Q.translate(t)),
        cl.epistemic_uncertainty(Q),
        rtol=0,
        atol=1e-14,
    )


@few_classes
def test_corollary_4_10_half_the_maximum_mean_imprecision(P):
    assert_allclose(
        cl.epistemic_uncertainty(P),
        each(oracles.maximum_mean_imprecision, P) / 2,
        rtol=0,
        atol=slack(P),
    )
    K = P.shape[-1]
    Q = cl.ConvexHull(P)
    masks = np.array(list(itertools.product([False, True], repeat=K)))
    width = Q.upper_probability(masks) - Q.lower_probability(masks)
    assert_allclose(cl.epistemic_uncertainty(P), width.max(axis=-1) / 2, rtol=0, atol=slack(P))


@pytest.mark.parametrize(
    ("a", "b"), [(0, 0), (0, 1), (1, 1), (0.2, 0.4), (0.3, 0.9), (0.6, 0.8), (0.5, 0.5), (0, 0.3)]
)
def test_proposition_4_11_binary_case(a, b):
    inner = 0.3 * a + 0.7 * b
    u = cl.quantify([[p, 1 - p] for p in (b, inner, a)])
    assert u.total == pytest.approx(min(1 - a, b), abs=1e-15)
    assert u.aleatoric.lower == pytest.approx(min(a, 1 - b), abs=1e-15)
    assert u.epistemic == pytest.approx((b - a) / 2, abs=1e-15)
    assert u.total == pytest.approx(u.aleatoric.lower + 2 * u.epistemic, abs=1e-15)
    # The upper end: a fair coin if the set holds one, else the end nearer to it.
    assert u.aleatoric.upper == pytest.approx(
        0.5 if a <= 0.5 <= b else min(b, 1 - a), abs=1e-15
    )  # fmt: skip


def test_proposition_4_11_on_random_sets():
    u = cl.quantify(dirichlet(500, 7, 2, 0.7, seed=11))
    assert_allclose(u.total, u.aleatoric.lower + 2 * u.epistemic, rtol=0, atol=1e-15)


@everywhere
def test_corollary_4_3_smaller_sets_have_inner_intervals(P):
    # Dropping members, and replacing members by mixtures, both shrink the set.
    M = P.shape[1]
    weights = np.random.default_rng(0).dirichlet(np.ones(M), 3)
    mixed = (weights @ P.astype(np.float64)).astype(P.dtype)
    large = cl.quantify(P)
    margin = slack(P) + large.error
    for smaller in (P[:, : (M + 1) // 2], P[:, -1:], mixed):
        small = cl.quantify(cl.ConvexHull(smaller, validate=False))
        assert (small.aleatoric.lower >= large.aleatoric.lower - margin).all()
        assert (small.aleatoric.upper <= large.aleatoric.upper + margin).all()
        assert (small.total <= large.total + margin).all()  # A3
        assert (small.epistemic <= large.epistemic + margin).all()  # A3


def test_proposition_4_9_upper_end_at_a_generator_when_argmax_is_shared():
    rng = np.random.default_rng(12)
    P = rng.dirichlet(np.ones(5), (50, 6))
    shared = rng.integers(0, 5, 50)
    rows = np.arange(50)
    # Swap each member's largest entry into the shared class.
    for m in range(6):
        top = P[:, m].argmax(axis=1)
        P[rows, m, top], P[rows, m, shared] = P[rows, m, shared], P[rows, m, top].copy()
    assert (P.argmax(axis=2) == shared[:, None]).all()
    interval, gap = cl.aleatoric_uncertainty(P, return_error=True)
    assert_array_equal(interval.upper, (1 - P.max(axis=2)).max(axis=1))
    assert_array_equal(gap, 0)
    assert_array_equal(interval.upper, cl.total_uncertainty(P))


def test_a5_fails_for_the_upper_end_without_a_shared_argmax():
    P = ENSEMBLES["disagreeing"]
    at_generators = (1 - P.max(axis=2)).max(axis=1)
    assert (cl.aleatoric_uncertainty(P).upper > at_generators + 0.01).all()


@few_classes
def test_a5_holds_for_total_and_epistemic_and_lower_end(P):
    # A set is described by its corners alone.
    Q = cl.ConvexHull(P)
    corners = cl.ConvexHull(Q.extreme_points(), validate=False)
    for whole, reduced in zip(fields(cl.quantify(Q)), fields(cl.quantify(corners)), strict=True):
        # Members within 1e-12 (1e-7) of a mixture count as mixtures; K of them add up.
        atol = 1e-6 if P.dtype == np.float32 else 1e-11
        assert_allclose(reduced, whole, rtol=0, atol=atol)


@few_classes
def test_appendix_e_a_dirac_in_the_set_anchors_total_uncertainty(P):
    K = P.shape[-1]
    for y in range(K):
        dirac = np.broadcast_to(np.eye(K, dtype=P.dtype)[y], (len(P), 1, K))
        Q = cl.ConvexHull(np.concatenate([P, dirac], axis=1))
        assert_array_equal(cl.total_uncertainty(Q), 1 - Q.lower_probability([y]))
        assert_array_equal(cl.aleatoric_uncertainty(Q).lower, 0)


def test_appendix_e_pathology_by_hand():
    # Nine models are sure of class 1, one is certain of class 0: total uncertainty is 1 - lower(0).
    P = np.array([[0.0, 1.0]] * 9 + [[1.0, 0.0]])
    assert cl.total_uncertainty(P) == 1
    P[:9] = [0.1, 0.9]
    assert cl.total_uncertainty(P) == pytest.approx(0.9, abs=1e-15)


def test_what_is_made_of_total_variation_keeps_its_own_diameter():
    class Tripled(cl.TotalVariation):
        def diameter(self, points):
            return 3 * super().diameter(points)

    P = dirichlet(5, 4, 3)
    assert_allclose(
        cl.epistemic_uncertainty(P, Tripled()), 3 * cl.epistemic_uncertainty(P), rtol=1e-12
    )
    box = cl.ProbabilityIntervals.from_members(P)
    assert_allclose(
        cl.epistemic_uncertainty(box, Tripled()), 3 * cl.epistemic_uncertainty(box), rtol=1e-9
    )
