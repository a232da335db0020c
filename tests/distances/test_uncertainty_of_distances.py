"""Total, aleatoric and epistemic uncertainty and mean imprecision for every distance."""

from __future__ import annotations

import itertools
import tracemalloc
import warnings

import numpy as np
import pytest

import credalens as cl
import oracles_distances as oracle
from credalens._backend import batching
from credalens.distances import (
    MMD,
    NAMES,
    Distance,
    Kolmogorov,
    TestFunctions,
    TotalVariation,
    Wasserstein,
    as_distance,
)
from credalens.distances import maximin_distance as maximin_module
from credalens.distances.choquet import (
    event_widths,
    largest_integral,
    ordered_partitions,
    step_table,
)
from credalens.distances.minimum_norm_point import minimum_norm
from credalens.distances.optimal_transport import lipschitz_vertices
from credalens.measures.imprecision import imprecision_bound, maximum_mean_imprecision
from credalens.measures.results import Interval, summarize
from distance_cases import definition, indicators, plane_metric, random_kernel
from ensembles import ENSEMBLES, dirichlet, disagreeing, slack


def distances(K: int) -> dict[str, Distance]:
    """One of each kind for K classes."""
    some = np.random.default_rng(K).standard_normal((4, K))
    return {
        **{name: as_distance(name, K) for name in NAMES},
        "wasserstein": Wasserstein(plane_metric(K)),
        "tree": Wasserstein.tree([K] * K + [-1], np.arange(1.0, K + 2)),
        "mmd": MMD(np.eye(K)),
        "kernel": MMD(random_kernel(K)),
        "test functions": TestFunctions(some),
    }


KINDS = list(distances(3))
Measures = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def measures(P: np.ndarray, d: Distance) -> Measures:
    """TU, both ends of AU, EU and the error."""
    interval, error = cl.aleatoric_uncertainty(P, d, return_error=True)
    return (
        cl.total_uncertainty(P, d),
        interval.lower,
        interval.upper,
        cl.epistemic_uncertainty(P, d),
        error,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("M", "steps"), [(1, 1), (2, 60), (3, 30), (4, 14)])
def test_definitions_over_a_grid_of_the_hull(name: str, M: int, steps: int) -> None:
    d = distances(3)[name]
    apart = definition(d)
    if isinstance(d, Wasserstein):
        costs = d.cost  # one plan leads to a Dirac measure: the program is needed for pairs only

        def apart(p: np.ndarray, q: np.ndarray) -> float:
            to = np.flatnonzero(q == 1)
            return float(p @ costs[:, to[0]]) if len(to) else oracle.wasserstein(p, q, costs)

    for P in (*disagreeing(2, M, 3, seed=M), dirichlet(1, M, 3, seed=M)[0]):
        grid = oracle.by_grid(P, apart, steps)
        total, lower, upper, epistemic, error = measures(P, d)
        # Total and epistemic uncertainty are attained at members, which the grid has.
        assert total == pytest.approx(grid["total"], abs=1e-9)
        assert epistemic == pytest.approx(grid["epistemic"], abs=1e-9)
        # The ends of the interval are at most as far off as the mesh is wide.
        mesh = 2 * epistemic * M / steps + 1e-12
        assert lower - 1e-12 <= grid["lower"] <= lower + mesh
        assert upper - mesh <= grid["upper"] <= upper + error + 1e-12
        assert error <= 1e-6


def test_tv_in_other_words() -> None:
    for P in (dirichlet(5, 4, 5), disagreeing(5, 6, 5), disagreeing(3, 4, 2), ENSEMBLES["diracs"]):
        K = P.shape[-1]
        want = measures(P, TotalVariation())[:4]
        mmi = maximum_mean_imprecision(P)
        np.testing.assert_allclose(mmi, 2 * want[3], atol=1e-15)
        for d in (Wasserstein(1 - np.eye(K)), TestFunctions(indicators(K))):
            got = measures(P, d)
            for a, b in zip(want, got[:4], strict=True):
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
            assert got[4].max() < 1e-12
            np.testing.assert_allclose(maximum_mean_imprecision(P, d), mmi, rtol=0, atol=1e-12)
            np.testing.assert_allclose(
                d(P[:, 0], P[:, 1]), TotalVariation()(P[:, 0], P[:, 1]), rtol=0, atol=1e-12
            )
    P = disagreeing(3, 4, 9)  # beyond 7 classes: POT
    w1 = Wasserstein(1 - np.eye(9))
    for a, b in zip(measures(P, TotalVariation()), measures(P, w1), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


class HalfL1(Distance):
    """No more than a new distance must be: total variation with the plain answers of the base."""

    def __init__(self, n_classes: int) -> None:
        self.K = n_classes

    @property
    def dirac_costs(self) -> np.ndarray:
        return 1 - np.eye(self.K)

    def between(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        return np.abs(p - q).sum(axis=-1) / 2


def test_the_plain_answers_of_a_distance() -> None:
    for P in (dirichlet(5, 4, 5), disagreeing(5, 6, 5), disagreeing(3, 4, 2), ENSEMBLES["diracs"]):
        plain, known = HalfL1(P.shape[-1]), TotalVariation()
        for a, b in zip(measures(P, plain), measures(P, known), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            plain.minimax_dirac_distance(P), cl.total_uncertainty(P), rtol=0, atol=1e-12
        )
        value, error = maximum_mean_imprecision(P, plain, return_error=True)
        exact = maximum_mean_imprecision(P)
        assert (value <= exact + 1e-12).all()
        assert (exact <= value + error + 1e-12).all()


def test_kolmogorov_in_other_words() -> None:
    for P in (dirichlet(6, 4, 5, 0.5), disagreeing(6, 5, 4), np.eye(4)[None]):
        K = P.shape[-1]
        d = TestFunctions(np.tril(np.ones((K, K))))
        for a, b in zip(measures(P, Kolmogorov()), measures(P, d), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-11)
        np.testing.assert_allclose(
            maximum_mean_imprecision(P, "kolmogorov"), maximum_mean_imprecision(P, d), atol=1e-12
        )


def test_ordinal_by_name_takes_the_classes_of_the_set() -> None:
    P = dirichlet(4, 3, 6)
    for a, b in zip(measures(P, "ordinal"), measures(P, Wasserstein.ordinal(6)), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match=r"distance: is defined for 6 classes, .* have 5"):
        cl.total_uncertainty(dirichlet(1, 3, 5), Wasserstein.ordinal(6))


def test_mmd_lower_end_is_between_members() -> None:
    # With kernel I the distance is Euclidean. (.5, .25, .25) is at sqrt(.25 + 2/16) from delta_0.
    members = [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    interval = cl.aleatoric_uncertainty(members, MMD(np.eye(3)))
    assert interval.lower == pytest.approx(np.sqrt(0.375), abs=1e-12)
    assert interval.upper == pytest.approx(np.sqrt(0.5), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("P", [disagreeing(4, 3, 4), dirichlet(4, 6, 3), ENSEMBLES["collinear"]])
def test_mmd_lower_end_is_a_projection(P: np.ndarray) -> None:
    k = random_kernel(P.shape[-1])
    interval, error = cl.aleatoric_uncertainty(P, MMD(k), return_error=True)
    for row, value in zip(P, interval.lower, strict=True):
        assert value == pytest.approx(oracle.mmd_lower(row, k), abs=1e-6)
    assert error.max() <= 1e-6


def test_projection_is_certified() -> None:
    rng = np.random.default_rng(0)
    for M, r in [(1, 3), (4, 2), (8, 3), (12, 12), (30, 5)]:
        points = rng.standard_normal((40, M, r)) + rng.choice([0.0, 2.0], (40, 1, 1))
        points[::4] = np.repeat(points[::4, :1], M, axis=1)  # repeated points
        points[1::4] = (
            points[1::4, :1] + np.linspace(0, 1, M)[:, None] * points[1::4, -1:]
        )  # a line
        value, error = minimum_norm(points)
        assert error.max() < 1e-10 or (error <= np.maximum(value, 1e-10)).all()
        inside = value < 1e-7
        assert error[~inside].max(initial=0) < 1e-10
        # A hull that holds the origin is found to, and no point is nearer than the bound.
        samples = np.einsum("sm,nmr->snr", rng.dirichlet(np.ones(M), 50), points)
        assert (np.linalg.norm(samples, axis=2) >= value - error - 1e-12).all()


@pytest.mark.parametrize("name", ["mmd", "kernel"])
def test_mmd_upper_end_is_certified(name: str) -> None:
    for M, K in [(5, 3), (5, 6), (4, 12)]:
        d = distances(K)[name]
        P = disagreeing(4, M, K)
        interval, error = cl.aleatoric_uncertainty(P, d, return_error=True)
        assert error.max() <= 1e-6
        weights = np.random.default_rng(0).dirichlet(np.full(M, 0.7), 4000)
        found = (
            d(np.einsum("sm,nmk->snk", weights, P)[:, :, None], np.eye(K)).min(axis=2).max(axis=0)
        )
        assert (found <= interval.upper + error + 1e-12).all()


def test_errors_that_were_not_asked_for_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    P, d = disagreeing(3, 9, 6, seed=1), MMD(np.eye(6))
    monkeypatch.setattr(maximin_module, "FIRST_LIMIT", 1)
    monkeypatch.setattr(maximin_module, "MOST_MEMBERS", 0)
    with pytest.warns(
        RuntimeWarning, match=r"aleatoric uncertainty: 3 of 3 instances .* only to 0"
    ):
        loose = cl.aleatoric_uncertainty(P, d)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same, error = cl.aleatoric_uncertainty(P, d, return_error=True)
    np.testing.assert_array_equal(loose.upper, same.upper)
    assert (error > 1e-6).all()
    monkeypatch.undo()
    tight, rest = cl.aleatoric_uncertainty(P, d, return_error=True)
    # The loose interval of values holds the tight one.
    assert (same.upper <= tight.upper + rest + 1e-12).all()
    assert (tight.upper <= same.upper + error + 1e-12).all()


@pytest.mark.slow
def test_finite_classes_by_linear_and_integer_programs() -> None:
    rng = np.random.default_rng(0)
    for M, K, F in [(3, 3, 3), (4, 4, 3), (5, 3, 5)]:
        functions = rng.standard_normal((F, K))
        P = disagreeing(4, M, K, seed=M)
        interval, error = cl.aleatoric_uncertainty(P, TestFunctions(functions), return_error=True)
        assert error.max() < 1e-11
        for row, lower, upper in zip(P, interval.lower, interval.upper, strict=True):
            assert lower == pytest.approx(oracle.finite_lower(row, functions), abs=1e-8)
            assert upper == pytest.approx(oracle.finite_upper(row, functions), abs=1e-5)


def test_constant_functions_tell_nothing_apart() -> None:
    d = TestFunctions([[2.0, 2.0, 2.0]])
    for value in (
        *measures(dirichlet(2, 3, 3), d),
        maximum_mean_imprecision(dirichlet(2, 3, 3), d),
    ):
        np.testing.assert_array_equal(value, [0, 0])


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_order_and_dominance_on_hard_ensembles(name: str) -> None:
    for label, P in ENSEMBLES.items():
        M, K = P.shape[-2:]
        if K == 1 or K > 70 or (M > 70 and name in ("mmd", "kernel")):
            continue
        total, lower, upper, epistemic, error = measures(P, distances(K)[name])
        off = 10 * slack(P) * K
        assert total.dtype == upper.dtype == P.dtype, label
        assert (lower <= upper).all(), label
        assert (upper <= total + off).all(), label
        assert (epistemic <= total + off).all(), label
        # The error covers the rounding of the result and of single-precision predictions.
        solved = 1e-6 if P.dtype == np.float64 else 1e-6 + off
        assert (error <= solved).all() or M > 5 or name == "test functions", label
        assert np.isfinite(error).all(), label
        if label in ("one member", "all equal", "uniform"):
            np.testing.assert_allclose(epistemic, 0, atol=1e-15)
            np.testing.assert_allclose(upper, total, atol=1e-7)


def test_one_class_is_certain() -> None:
    P = np.ones((2, 3, 1))
    for d in (Wasserstein([[0.0]]), Wasserstein.ordinal(1), MMD([[2.0]]), Kolmogorov(),
              TestFunctions([[1.0]])):  # fmt: skip
        for value in (*measures(P, d), maximum_mean_imprecision(P, d)):
            np.testing.assert_array_equal(value, [0, 0])


@pytest.mark.parametrize("name", KINDS)
def test_batch_order_of_members_and_duplicates_do_not_matter(name: str) -> None:
    P = disagreeing(4, 4, 4)
    d = distances(4)[name]
    want = measures(P, d)
    tolerance = 1e-6 if isinstance(d, MMD) else 1e-12
    for other, pick in [
        (P[::-1], np.s_[::-1]),
        (P[:, ::-1], np.s_[:]),
        (np.repeat(P, 2, axis=1), np.s_[:]),
        (P[2:3], np.s_[2:3]),
        (P[None], np.s_[None]),
        (np.asfortranarray(P), np.s_[:]),
    ]:
        for a, b in zip(want[:4], measures(other, d), strict=False):
            np.testing.assert_allclose(a[pick], b, rtol=0, atol=tolerance)
    assert cl.total_uncertainty(P[:0], d).shape == (0,)
    assert cl.epistemic_uncertainty(P[:0], d).shape == (0,)
    assert cl.aleatoric_uncertainty(P[:0], d).upper.shape == (0,)
    assert maximum_mean_imprecision(P[:0], d).shape == (0,)


def test_classes_and_costs_permuted_together() -> None:
    P, order = disagreeing(4, 5, 5), np.array([3, 0, 4, 1, 2])
    cost, kernel = plane_metric(5), random_kernel(5)
    f = np.random.default_rng(0).standard_normal((4, 5))
    for d, e in [
        (Wasserstein(cost), Wasserstein(cost[np.ix_(order, order)])),
        (Wasserstein.ordinal(5), Wasserstein.ordinal(order)),
        (MMD(kernel), MMD(kernel[np.ix_(order, order)])),
        (TestFunctions(f), TestFunctions(f[:, order])),
    ]:
        moved = P[..., order]
        for a, b in zip(measures(P, d)[:4], measures(moved, e), strict=False):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)
        np.testing.assert_allclose(
            maximum_mean_imprecision(P, d), maximum_mean_imprecision(moved, e), atol=1e-10
        )


def test_quantify_agrees() -> None:
    P = disagreeing(3, 4, 4)
    for d in distances(4).values():
        u = cl.quantify(P, d)
        got = (u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic, u.error)
        for a, b in zip(got, measures(P, d), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-15)


def test_asymmetric_costs_are_risks_without_distance() -> None:
    # Taking class 0 for class 1 costs 1, the other way round 10. By hand for p = (.9, .1): deciding
    # for 0 risks .1 * 10, for 1 it risks .9.
    d = Wasserstein([[0, 1], [10, 0]])
    P = [[0.9, 0.1], [0.8, 0.2]]
    assert cl.total_uncertainty(P, d) == pytest.approx(0.9)
    interval = cl.aleatoric_uncertainty(P, d)
    assert interval.lower == pytest.approx(0.8)
    assert interval.upper == pytest.approx(0.9)
    for function in (cl.epistemic_uncertainty, maximum_mean_imprecision, cl.quantify):
        with pytest.raises(ValueError, match=r"cost\[0, 1\] = 1 but cost\[1, 0\] = 10"):
            function(P, d)
    triangle = Wasserstein([[0, 1, 5], [1, 0, 1], [5, 1, 0]])
    for function in (cl.epistemic_uncertainty, maximum_mean_imprecision):
        with pytest.raises(ValueError, match=r"cost\[0, 2\] = 5 .* cost\[0, 1\] \+ cost\[1, 2\]"):
            function(dirichlet(1, 2, 3), triangle)


# Imprecision


@pytest.mark.slow
@pytest.mark.parametrize("K", [2, 3, 4, 5])
def test_imprecision_by_choquet_integrals_over_all_orderings(K: int) -> None:
    cost, kernel = plane_metric(K), random_kernel(K)
    functions = np.random.default_rng(K).standard_normal((5, K))
    P = disagreeing(2 if K == 5 else 4, 3, K)
    line = Wasserstein.ordinal(K)
    for d, slow in [
        (Wasserstein(cost), lambda row: oracle.wasserstein_imprecision(row, cost)),
        (line, lambda row: oracle.wasserstein_imprecision(row, line.cost)),
        (MMD(kernel), lambda row: oracle.mmd_imprecision(row, kernel)),
        (
            TestFunctions(functions),
            lambda row: max(oracle.choquet_width(f, row) for f in functions),
        ),
    ]:
        value, error = maximum_mean_imprecision(P, d, return_error=True)
        np.testing.assert_array_equal(error, 0)
        np.testing.assert_allclose(value, [slow(row) for row in P], rtol=0, atol=1e-9)
        assert (2 * cl.epistemic_uncertainty(P, d) <= value + 1e-12).all()


@pytest.mark.slow
def test_imprecision_is_the_diameter_where_choquet_integrals_are_lower_expectations() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(8), 3)
    belief = cl.BeliefFunction(rng.dirichlet(np.full(255, 0.05), 2) @ np.eye(255, 256, 1))
    box = cl.ProbabilityIntervals(np.maximum(p - 0.05, 0), p + 0.05)
    for Q in (cl.TotalVariationBall(p, 0.1), cl.Contamination(p, 0.2), box, belief):
        assert Q.choquet_is_lower().all()
        for d in (Wasserstein.ordinal(8), MMD(np.eye(8))):
            value, error = maximum_mean_imprecision(Q, d, return_error=True)
            assert not error.any()
            np.testing.assert_allclose(value, 2 * cl.epistemic_uncertainty(Q, d), atol=1e-12)
    assert not cl.ConvexHull(p).choquet_is_lower()


def test_imprecision_may_need_functions_with_equal_values() -> None:
    # The Choquet width is not convex in f: the corners of the Lipschitz functions are not enough,
    # and those of the pieces with one order each are needed.
    rng = np.random.default_rng(0)
    upper = np.triu(1 + rng.random((4, 4)), 1)
    d = Wasserstein(upper + upper.T)
    P = dirichlet(400, 3, 4, 0.3)
    corners = step_table(lipschitz_vertices(d.cost, ties=False))
    value = maximum_mean_imprecision(P, d)
    more = value - largest_integral(corners, event_widths(cl.ConvexHull(P)))
    assert more.min() > -1e-12
    assert more.max() > 0.01
    for i in np.argsort(-more)[:3]:
        assert value[i] == pytest.approx(oracle.wasserstein_imprecision(P[i], d.cost), abs=1e-9)


def test_imprecision_is_more_than_the_diameter() -> None:
    # Every ordering counts: over many sets the widest gap must show, for either family.
    P = dirichlet(200, 3, 5, 0.5)
    for d in (Wasserstein(plane_metric(5)), MMD(np.eye(5))):
        ratio = maximum_mean_imprecision(P, d) / (2 * cl.epistemic_uncertainty(P, d))
        assert ratio.min() >= 1 - 1e-12
        assert ratio.max() > 1.05


@pytest.mark.parametrize("name", KINDS)
def test_imprecision_of_two_monotone_sets_is_the_diameter(name: str) -> None:
    # Contamination (1 - e) p + e q has a 2-monotone lower probability.
    p = dirichlet(4, 1, 5)
    P = 0.7 * p + 0.3 * np.eye(5)
    d = distances(5)[name]
    value, _ = maximum_mean_imprecision(P, d, return_error=True)
    np.testing.assert_allclose(value, 2 * cl.epistemic_uncertainty(P, d), rtol=0, atol=1e-11)


def test_imprecision_of_a_two_monotone_hull_can_exceed_the_diameter() -> None:
    # Its lower probability is 2-monotone, but more distributions are above it than in the hull.
    Q = cl.ConvexHull([[0.04, 0.04, 0.84, 0.08], [0.33, 0.4, 0.16, 0.11], [0.13, 0.27, 0.07, 0.53]])
    assert Q.is_two_monotone()
    above = cl.LowerProbability(Q.lower_probabilities())
    value = maximum_mean_imprecision(Q, "ordinal")
    assert value > 2 * cl.epistemic_uncertainty(Q, "ordinal") + 0.3
    assert value == pytest.approx(2 * cl.epistemic_uncertainty(above, "ordinal"), abs=1e-9)


def test_imprecision_for_a_pseudo_metric() -> None:
    # Classes 1 and 2 are one: the imprecision is that of the merged classes.
    with pytest.warns(UserWarning, match="pseudo-metric"):
        d = MMD([[1.0, 0, 0], [0, 1, 1], [0, 1, 1]])
    P = disagreeing(4, 3, 3)
    merged = np.stack([P[..., 0], P[..., 1] + P[..., 2]], axis=-1)
    np.testing.assert_allclose(
        maximum_mean_imprecision(P, d), maximum_mean_imprecision(merged, MMD(np.eye(2))), atol=1e-12
    )


@pytest.mark.parametrize("name", ["wasserstein", "ordinal", "mmd"])
def test_imprecision_bounds_beyond_seven_classes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from credalens.distances import choquet

    P = disagreeing(6, 4, 6)
    exact = maximum_mean_imprecision(P, distances(6)[name])
    monkeypatch.setattr(choquet, "FEW_CLASSES", 3)
    value, error = maximum_mean_imprecision(P, distances(6)[name], return_error=True)
    assert (value <= exact + 1e-12).all()
    assert (exact <= value + error + 1e-12).all()
    with pytest.warns(RuntimeWarning, match=r"maximum mean imprecision: 6 of 6 instances"):
        maximum_mean_imprecision(P, distances(6)[name])


@pytest.mark.slow
def test_seven_classes_are_exact() -> None:
    P, cost = disagreeing(2, 3, 7), plane_metric(7)
    for d in (Wasserstein(cost), MMD(random_kernel(7))):
        value, error = maximum_mean_imprecision(P, d, return_error=True)
        np.testing.assert_array_equal(error, 0)
        # Any function in the class gives a lower bound; the best of many comes near.
        rng = np.random.default_rng(0)
        best = np.zeros(2)
        for _ in range(2000):
            if isinstance(d, MMD):
                f = d.kernel @ rng.standard_normal(7)
                f /= np.sqrt(f @ np.linalg.solve(d.kernel, f))
            else:
                f = (cost + rng.random(7) * rng.random()).min(axis=1)
            best = np.maximum(best, [oracle.choquet_width(f, row) for row in P])
        assert (best <= value + 1e-12).all()
        assert (best >= 0.6 * value).all()


def test_imprecision_bound() -> None:
    P = disagreeing(5, 4, 4)
    by_hand = [1 - sum(min(row[:, y]) for y in range(4)) for row in P]
    np.testing.assert_allclose(imprecision_bound(P), by_hand, atol=1e-15)
    assert (maximum_mean_imprecision(P) <= imprecision_bound(P) + 1e-15).all()
    assert imprecision_bound(P.astype(np.float32)).dtype == np.float32
    assert (imprecision_bound(ENSEMBLES["all equal"]) >= 0).all()


# Summaries


def test_summaries() -> None:
    interval = Interval(np.array([0.1, 0.2]), np.array([0.5, 0.2]))
    np.testing.assert_allclose(summarize(interval, "lower"), [0.1, 0.2])
    np.testing.assert_allclose(summarize(interval, "upper"), [0.5, 0.2])
    np.testing.assert_allclose(summarize(interval, "midpoint"), [0.3, 0.2])
    np.testing.assert_allclose(summarize(interval, "width"), [0.4, 0.0])
    assert summarize(interval, "interval") is interval
    np.testing.assert_allclose(summarize(interval, lambda i: i.upper**2), [0.25, 0.04])
    with pytest.raises(ValueError, match=r"how: is 'mean'; choose one of 'interval', 'lower'"):
        summarize(interval, "mean")
    with pytest.raises(
        ValueError, match=r"interval: is a list; pass the result of aleatoric_uncertainty"
    ):
        summarize([0.1, 0.5], "lower")


def test_rejection_takes_any_summary() -> None:
    P = disagreeing(6, 3, 4)
    interval = cl.aleatoric_uncertainty(P, "ordinal")
    for how in ("lower", "upper", "midpoint", "width", "interval"):
        order = cl.rejection_order(summarize(interval, how))
        assert sorted(order) == list(range(6))


def test_single_precision_and_memory_layouts() -> None:
    P = disagreeing(5, 4, 5)
    single = P.astype(np.float32)
    for d in distances(5).values():
        for a, b in zip(measures(P, d)[:4], measures(single, d)[:4], strict=True):
            assert b.dtype == np.float32
            np.testing.assert_allclose(a, b, atol=2e-6)
        assert maximum_mean_imprecision(single, d, return_error=True)[0].dtype == np.float32


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_closed_forms_take_half_of_the_memory_at_most(dtype: type) -> None:
    P = dirichlet(8000, 5, 100).astype(dtype)
    Q = cl.ConvexHull(P)
    for d in (Wasserstein.ordinal(100), Kolmogorov(), MMD(np.eye(100))):
        functions = [cl.total_uncertainty, cl.epistemic_uncertainty]
        if isinstance(d, Wasserstein):
            functions.append(cl.aleatoric_uncertainty)
        for function in functions:
            function(Q[:1], d)  # what is listed once for a distance does not count
            tracemalloc.start()
            function(Q, d)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak <= P.nbytes / 2, (d, function.__name__)


def test_all_orderings_really_are_listed() -> None:
    # Ordered partitions of 4 classes into b blocks: b! S(4, b) = 14, 36, 24; up to reversal half.
    for labels, count in zip(ordered_partitions(4), (14, 36, 24), strict=True):
        seen = {tuple(row) for row in labels}
        both = seen | {tuple(labels.max() - np.array(row)) for row in seen}
        assert len(both) == count
        full = itertools.product(range(labels.max() + 1), repeat=4)
        assert both == {t for t in full if len(set(t)) == labels.max() + 1}


# ---------------------------------------------------------------- many corners


@pytest.mark.slow
def test_pairs_are_bounded_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond 7 classes Wasserstein distances are compared pair by pair."""
    P, d = disagreeing(3, 12, 9), Wasserstein(plane_metric(9))
    whole = cl.epistemic_uncertainty(P, d)
    expected = [max(oracle.wasserstein(p, q, d.cost) for p in one for q in one) / 2 for one in P]
    np.testing.assert_allclose(whole, expected, rtol=0, atol=1e-9)
    monkeypatch.setattr(batching, "CACHE_BYTES", 320)
    np.testing.assert_array_equal(cl.epistemic_uncertainty(P, d), whole)


def test_more_corners_than_can_be_compared_are_refused() -> None:
    P = dirichlet(1, 5001, 9)
    few = "compares all 5,001 extreme points of a set with one another; pass a set of at most 5,000"
    with pytest.raises(ValueError, match=f"^distance: the Wasserstein distance .* {few}"):
        cl.epistemic_uncertainty(P, Wasserstein(plane_metric(9)))
    with pytest.raises(ValueError, match=f"^distance: the aleatoric uncertainty of an MMD {few}"):
        cl.aleatoric_uncertainty(P, MMD(random_kernel(9)))
