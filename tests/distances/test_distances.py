"""Distances between distributions: values, metric axioms, parameters and their refusals."""

from __future__ import annotations

import itertools
import pickle
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import credalens as cl
import oracles_distances as oracle
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
from credalens.distances.optimal_transport import lipschitz_vertices
from distance_cases import definition, plane_metric, random_kernel
from ensembles import dirichlet

#: A tree with inner nodes 5, 6 and root 7, classes at the leaves 0 to 4.
PARENTS, LENGTHS = [5, 5, 6, 6, 7, 7, 7, -1], [1, 2, 0.5, 1, 3, 1, 0.25, 9]

METRICS: dict[str, Distance] = {
    **{name: as_distance(name, 5) for name in NAMES},
    "tv of any classes": TotalVariation(),
    "wasserstein": Wasserstein(plane_metric(5)),
    "positions": Wasserstein.ordinal([2.0, -1.0, 0.5, 7.0, 3.0]),
    "tree": Wasserstein.tree(PARENTS, LENGTHS),
    "mmd": MMD(random_kernel(5)),
    "singular mmd": MMD(np.eye(5) - 1 / 5),
    "rbf": MMD.from_embeddings(np.random.default_rng(0).random((5, 3))),
    "test functions": TestFunctions(np.random.default_rng(1).standard_normal((6, 5))),
}
# Beyond 7 classes the transport problem is solved by POT.
LARGE = Wasserstein(plane_metric(9))


@pytest.mark.parametrize("name", METRICS)
def test_distance_is_its_definition(name: str) -> None:
    d = METRICS[name]
    for p, q in [*dirichlet(6, 2, 5), (np.eye(5)[0], np.eye(5)[3]), (np.eye(5)[2],) * 2]:
        assert d(p, q) == pytest.approx(definition(d)(p, q), abs=1e-9)


def test_transport_with_pot_is_the_linear_program() -> None:
    for p, q in dirichlet(6, 2, 9, 0.3):
        assert LARGE(p, q) == pytest.approx(oracle.wasserstein(p, q, LARGE.cost), abs=1e-9)
    assert LARGE(np.eye(9)[1], np.eye(9)[4]) == LARGE.cost[1, 4]


def test_transport_with_a_cost_that_is_no_metric() -> None:
    # Mass that both have in common may be worth moving when the triangle inequality fails.
    cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))) ** 2
    d = Wasserstein(cost)
    for p, q in dirichlet(5, 2, 4):
        assert d(p, q) == pytest.approx(oracle.wasserstein(p, q, cost), abs=1e-9)
    # Moving (1, 1, 0)/2 to (0, 1, 1)/2 step by step costs 1; across, with the middle kept, 2.
    assert d([0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0]) == pytest.approx(1.0)


@pytest.mark.parametrize("name", METRICS)
@given(seed=st.integers(0, 10**6))
def test_metric_axioms(name: str, seed: int) -> None:
    d = METRICS[name]
    rng = np.random.default_rng(seed)
    p, q, r = rng.dirichlet(np.full(5, rng.choice([0.2, 1.0])), 3)
    assert d.is_metric
    assert d(p, p) == pytest.approx(0, abs=1e-15)
    assert d(p, q) > 1e-6 * np.abs(p - q).max()
    assert d(p, q) == pytest.approx(d(q, p), abs=1e-14)
    assert d(p, r) <= d(p, q) + d(q, r) + 1e-12


@pytest.mark.parametrize("name", METRICS)
def test_dirac_costs_are_the_distances_from_diracs(name: str) -> None:
    d = METRICS[name]
    if isinstance(d, TotalVariation):
        d = TotalVariation(5)
    p = dirichlet(1, 1, 5)[0, 0]
    linear = d.dirac_costs is not None
    assert linear or not isinstance(d, TotalVariation | Wasserstein)
    apart = d(p, np.eye(5))
    if linear:
        np.testing.assert_allclose(p @ d.dirac_costs, apart, atol=1e-12)
    np.testing.assert_allclose(d.to_diracs(p[None, None])[0, 0], apart, atol=1e-12)


@pytest.mark.parametrize("name", [*METRICS, "pot"])
def test_broadcasting_dtype_and_diameter(name: str) -> None:
    d = LARGE if name == "pot" else METRICS[name]
    K = 9 if name == "pot" else 5
    P = dirichlet(3, 4, K)
    P.flags.writeable = False
    table = d(P[:, :, None], P[:, None])
    assert table.shape == (3, 4, 4)
    np.testing.assert_allclose(table[1, 2, 3], d(P[1, 2], P[1, 3]), atol=1e-14)
    np.testing.assert_allclose(d.diameter(P), table.max(axis=(1, 2)), atol=1e-12)
    single = d(P[0, 0].astype(np.float32), P[0, 1].astype(np.float32))
    assert single.dtype == np.float32
    assert single == pytest.approx(table[0, 0, 1], abs=1e-6)
    assert d.diameter(P[:0]).shape == (0,)
    assert d.diameter(P[0]).shape == ()


def test_tree_metric_by_hand() -> None:
    d = Wasserstein.tree(PARENTS, LENGTHS)
    # 0 and 1 meet at node 5: 1 + 2. 0 and 2 meet at the root: 1 + 1 + 0.25 + 0.5.
    assert d.n_classes == 5
    np.testing.assert_array_equal(d.cost[0], [0, 3, 2.75, 3.25, 5])
    # Classes may be listed, in any order and at inner nodes.
    inner = Wasserstein.tree(PARENTS, LENGTHS, classes=[6, 0, 5])
    np.testing.assert_array_equal(inner.cost, [[0, 2.25, 1.25], [2.25, 0, 1], [1.25, 1, 0]])
    for p, q in dirichlet(5, 2, 3):
        assert inner(p, q) == pytest.approx(oracle.wasserstein(p, q, inner.cost), abs=1e-9)


@pytest.mark.slow
def test_lines_and_trees_with_many_classes() -> None:
    # Beyond 32 classes by cumulative sums. Nodes have random earlier parents, numbers are shuffled,
    # and classes sit at leaves and inner nodes alike.
    rng = np.random.default_rng(0)
    n, K = 70, 40
    new = rng.permutation(n)
    parents = np.full(n, -1)
    for v in range(1, n):
        parents[new[v]] = new[rng.integers(0, v)]
    inner = np.setdiff1d(np.arange(n), new[0])  # without the root
    chain = [-1, *range(39)]
    for d in (
        Wasserstein.ordinal(rng.standard_normal(K)),
        Wasserstein.ordinal(K),
        Wasserstein.tree(parents, rng.random(n), rng.permutation(n)[:K]),
        Wasserstein.tree(parents, rng.random(n), rng.permutation(inner)[:K]),
        Wasserstein.tree([*np.repeat(np.arange(40, 50), 4), *[50] * 10, -1], rng.random(51)),
        Wasserstein.tree(chain, rng.random(K), np.arange(K)[::-1]),
        Wasserstein.tree(chain, np.where(np.arange(K) == 20, 1.0, 0.5), np.arange(K)),
    ):
        P = dirichlet(1, 3, K)[0]
        for p, q in itertools.combinations(P, 2):
            assert d(p, q) == pytest.approx(oracle.wasserstein(p, q, d.cost), abs=1e-8)
        pairs = [d(p, q) for p, q in itertools.combinations(P, 2)]
        assert d.diameter(P) == pytest.approx(max(pairs), abs=1e-12)


@pytest.mark.parametrize("K", [5, 40])
def test_total_mass_has_no_edge(K: int) -> None:
    # Rows may sum to 1 up to a tolerance; what is missing is not moved anywhere.
    P = dirichlet(1, 2, K)[0] * [[1.0], [1 + 1e-8]]
    want = np.abs(np.cumsum(P[0] - P[1])[:-1]).sum()
    assert Wasserstein.ordinal(K).diameter(P) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("cost", [plane_metric(6), 1 - np.eye(6), Wasserstein.ordinal(6).cost])
def test_lipschitz_vertices(cost: np.ndarray) -> None:
    f = lipschitz_vertices(cost, ties=False)
    assert (np.abs(f[:, :, None] - f[:, None]) <= cost + 1e-12).all()
    # A metric in general position has C(2K-2, K-1) of them; half without the signs. The discrete
    # metric has the 2^K - 2 indicators, the line its 2^(K-1) zigzags.
    count = {0: 126, 1: 31, 2: 16}[int(cost[0, 1] == 1) + int(cost[0, 5] == 5)]
    assert len(f) == count


@pytest.mark.parametrize("M", [1, 2, 8, 9, 17])
def test_the_mmd_diameter_of_many_members(M):
    rng = np.random.default_rng(M)
    k = random_kernel(6)
    P = rng.dirichlet(np.ones(6), (5, M))
    P[0] = P[0, :1]  # all equal
    apart = P[:, :, None] - P[:, None]
    squares = np.einsum("nabi,ij,nabj->nab", apart, k, apart)
    found = MMD(k).diameter(P)
    np.testing.assert_allclose(found, np.sqrt(squares.max(axis=(1, 2))), atol=1e-12)
    assert found[0] == 0


def test_median_bandwidth_and_kernels() -> None:
    x = np.array([[0.0], [1.0], [3.0]])  # distances 1, 2, 3
    d = MMD.from_embeddings(x)
    np.testing.assert_allclose(d.kernel[0], np.exp([0, -1 / 8, -9 / 8]))
    np.testing.assert_allclose(
        MMD.from_embeddings(x, "laplacian", 0.5).kernel[0], np.exp([0.0, -2, -6])
    )
    own = MMD.from_embeddings(x, lambda a, b: np.exp(-np.abs(a - b.T)))
    np.testing.assert_allclose(own.kernel[0], np.exp([0.0, -1, -3]))
    linear = MMD.from_embeddings([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], "linear")
    np.testing.assert_array_equal(linear.kernel, np.diag([1.0, 4.0, 0.0]))
    assert linear.is_metric  # the zero vector is told apart by the others


def test_constants_in_a_kernel_do_not_matter() -> None:
    p, q = dirichlet(1, 2, 5)[0]
    k = random_kernel(5)
    assert MMD(k + 1e4)(p, q) == pytest.approx(MMD(k)(p, q), rel=1e-9)


def test_pseudo_metrics_warn() -> None:
    with pytest.warns(UserWarning, match="kernel: is degenerate, .* a pseudo-metric"):
        d = MMD(np.ones((3, 3)))
    assert not d.is_metric
    assert d([1.0, 0, 0], [0, 1.0, 0]) == 0
    with pytest.warns(UserWarning, match=r"is 0 between classes 0 and 2 \(zero-based\)"):
        w = Wasserstein([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert not w.is_metric
    assert w.violation is None  # still symmetric, and keeps the triangle inequality
    with pytest.warns(UserWarning, match="classes 1 and 2"):
        Wasserstein.ordinal([0.0, 1.0, 1.0])
    assert not TestFunctions([[1.0, 2.0, 3.0]]).is_metric


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Wasserstein([[0, 1]]), r"cost: has shape \(1, 2\); pass a square matrix"),
        (lambda: Wasserstein([[0, np.nan], [1, 0]]), r"cost: is NaN at index \(0, 1\)"),
        (lambda: Wasserstein([[0, 1], [-1, 0]]), r"cost\[1, 0\] \(zero-based\) = -1 is negative"),
        (lambda: Wasserstein([[0, 1], [1, 2]]), r"cost\[1, 1\] .* = 2 is not 0; pass a zero"),
        (lambda: Wasserstein.ordinal(0), r"positions: is 0; pass a whole number >= 1"),
        (lambda: Wasserstein.ordinal([[1.0]]), r"positions: has shape \(1, 1\)"),
        (lambda: Wasserstein.ordinal([1.0, np.inf]), r"positions: is infinite at index 1"),
        (lambda: Wasserstein.tree([2, 2, -1], [1, 1]), r"lengths: has shape \(2,\)"),
        (lambda: Wasserstein.tree([2, 2, -1], [1, -1, 0]), r"lengths: entry 1 .* is -1"),
        (lambda: Wasserstein.tree([2, 2, 2], [1, 1, 1]), r"parents: has 0 roots"),
        (lambda: Wasserstein.tree([1, 0, -1], [1, 1, 1]), r"node 0 .* is not a descendant of"),
        (lambda: Wasserstein.tree([3, -1], [1, 1]), r"parents: entry 0 .* is 3; nodes are -1 to 1"),
        (lambda: Wasserstein.tree([0.5, -1], [1, 1]), r"parents: has dtype float64"),
        (lambda: Wasserstein.tree([1, -1], [1, 0], [0, 0]), r"classes: contains a node twice"),
        (lambda: MMD([[1, 0.5], [0, 1]]), r"kernel\[0, 1\] = 0.5 but kernel\[1, 0\] = 0"),
        (lambda: MMD([[0, 1], [1, 0]]), r"smallest eigenvalue is -1; v\^T k v must not be neg"),
        (lambda: MMD.from_embeddings([1.0, 2.0]), r"vectors: has shape \(2,\)"),
        (lambda: MMD.from_embeddings(np.eye(2), "cubic"), r"kernel: is 'cubic'; choose one of"),
        (lambda: MMD.from_embeddings(np.eye(2), bandwidth=0), r"bandwidth: is 0; pass a positive"),
        (lambda: MMD.from_embeddings(np.eye(2), bandwidth="mean"), r"bandwidth: is 'mean'"),
        (lambda: MMD.from_embeddings(np.ones((4, 2))), r"bandwidth: is 0: more than half"),
        (lambda: MMD.from_embeddings(np.eye(2), lambda a, b: [[1.0]]), r"kernel: returned shape"),
        (lambda: TestFunctions([1.0, 2.0]), r"matrix: has shape \(2,\); pass one test function"),
        (lambda: TestFunctions([[np.inf, 2.0]]), r"matrix: is infinite at index \(0, 0\)"),
        (lambda: as_distance("euclid"), r"distance: is 'euclid'; choose one of .*'tv'"),
        (lambda: as_distance(MMD(np.eye(3)), 4), "defined for 3 classes, .* have 4"),
        (lambda: LARGE([0.5, 0.5], [1.0, 0.0]), r"distance: is defined for 9 classes"),
        (lambda: Kolmogorov()([0.5, 0.5], [1.0, 0.0, 0.0]), r"q: has 3 classes; pass 2, as in p"),
        (lambda: Kolmogorov()([0.5, 0.6], [1.0, 0.0]), r"p: it sums to 1.1"),
    ],
)  # fmt: skip
def test_refusals(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_violations_are_named() -> None:
    skew = Wasserstein([[0, 1, 2], [1, 0, 1], [3, 1, 0]])
    assert not skew.is_metric
    assert skew.violation == "cost[0, 2] = 2 but cost[2, 0] = 3"
    long = Wasserstein([[0, 1, 5], [1, 0, 1], [5, 1, 0]])
    assert not long.is_metric
    assert long.violation == "cost[0, 2] = 5 is more than cost[0, 1] + cost[1, 2] = 2"
    with pytest.raises(ValueError, match=r"cost: is not a metric: cost\[0, 2\] = 5 is more than"):
        long.diameter(dirichlet(1, 2, 3))


def test_names() -> None:
    assert as_distance("tv", 4) == TotalVariation(4)
    assert as_distance("kolmogorov", 4) == Kolmogorov(4)
    ordinal = as_distance("ordinal", 4)
    assert isinstance(ordinal, Wasserstein)
    np.testing.assert_array_equal(ordinal.cost[0], [0, 1, 2, 3])
    own = Wasserstein.ordinal(3)
    assert as_distance(own, 3) is own


def test_frozen_small_and_picklable() -> None:
    for d in METRICS.values():
        with pytest.raises(AttributeError):
            d.cost = 1
        assert len(repr(d)) < 60
        p, q = dirichlet(1, 2, 5)[0]
        assert pickle.loads(pickle.dumps(d))(p, q) == d(p, q)
    for array in (METRICS["tree"].cost, METRICS["mmd"].kernel, METRICS["test functions"].matrix):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1
    # The caller's own array stays writable, and what is done to it later does not matter.
    cost = plane_metric(3)
    d = Wasserstein(cost)
    cost[0, 1] = 99
    assert d.cost[0, 1] < 2


def test_not_collected_as_a_test() -> None:
    assert TestFunctions.__test__ is False


def test_missing_pot_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ot", None)
    p, q = dirichlet(1, 2, 9)[0]
    with pytest.raises(ImportError, match=r"needs POT; run pip install .*\[wasserstein\]'?$"):
        LARGE(p, q)
    with pytest.raises(ImportError, match="needs POT"):
        LARGE.diameter(np.stack([p, q]))
    # None of the others needs it.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Wasserstein.ordinal(9)(p, q) > 0
        assert Wasserstein(plane_metric(7))(p[:7] / p[:7].sum(), q[:7] / q[:7].sum()) > 0


def test_a_distance_is_not_recognised_by_an_attribute() -> None:
    class Half(Distance):
        """Half of total variation, with an attribute that total variation might have."""

        name = "tv"
        dirac_costs = (1 - np.eye(2)) / 2

        def between(self, p, q):
            return np.abs(p - q).sum(axis=-1) / 4

    members = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert cl.epistemic_uncertainty(members, Half()) == pytest.approx(0.2)
    assert cl.quantify(members, Half()).epistemic == pytest.approx(0.2)


@pytest.mark.parametrize("name", METRICS)
def test_equal_parameters_are_equal_keys(name: str) -> None:
    d = METRICS[name]
    again = pickle.loads(pickle.dumps(d))
    assert again == d
    assert hash(again) == hash(d)
    assert {d: "found"}[again] == "found"
    others = [other for other in METRICS.values() if other is not d and type(other) is type(d)]
    assert all(other != d for other in others if repr(other) != repr(d))
    assert d != "tv"


def test_results_of_several_distances_are_looked_up_by_equal_distances() -> None:
    members = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]])
    results = cl.quantify(members, [Wasserstein.ordinal(3), MMD(np.eye(3))])
    ordinal = results[Wasserstein.ordinal(3)]
    assert ordinal.total == cl.total_uncertainty(members, "ordinal")
    assert results[MMD(np.eye(3))].epistemic == cl.epistemic_uncertainty(members, MMD(np.eye(3)))


def test_common_parts_of_a_kernel_cost_no_digits():
    """A constant, and terms of one class, do not change an MMD; 1 + 2^26 is exact."""
    rng = np.random.default_rng(0)
    K = 5
    k = np.rint(2.0**16 * random_kernel(K)) / 2.0**16  # so that k + 2^26 is exact
    row = np.rint(2.0**26 * rng.random(K))
    P = rng.dirichlet(np.ones(K), (6, 3))
    exact = cl.quantify(P, cl.MMD(k))
    for moved in (k + 2.0**26, k + row + row[:, None], 2.0**26 - k[0] - k[:, :1] + k):
        u = cl.quantify(P, cl.MMD(moved))
        for a, b in zip((u.total, *u.aleatoric, u.epistemic),
                        (exact.total, *exact.aleatoric, exact.epistemic), strict=True):  # fmt: skip
            np.testing.assert_allclose(a, b, rtol=0, atol=2e-13 + float(exact.error.max()))


def test_embeddings_far_from_the_origin_are_centred():
    rng = np.random.default_rng(1)
    x = np.rint(2.0**20 * rng.normal(size=(5, 4))) / 2.0**20
    near, far = (cl.MMD.from_embeddings(v, "linear") for v in (x, x + 2.0**24))
    assert far.is_metric
    p, q = rng.dirichlet(np.ones(5), 2)
    np.testing.assert_allclose(far(p, q), near(p, q), rtol=1e-12)


def test_the_rounding_of_a_kernel_is_not_taken_for_a_negative_eigenvalue():
    x = np.random.default_rng(2).normal(size=(6, 2))  # degenerate: six classes in the plane
    with pytest.warns(UserWarning, match="degenerate"):
        cl.MMD(x @ x.T + 1e8 / 3)
    with pytest.raises(ValueError, match="is not positive semidefinite"):
        cl.MMD(1e8 - 1e-3 * np.eye(4))


@pytest.mark.parametrize("scale", [1e-14, 1e-12, 1e12])
def test_distances_of_a_general_metric_scale_with_it(scale):
    """The transport solver has absolute tolerances."""
    cost, P = plane_metric(12), dirichlet(4, 5, 12)
    d, scaled = Wasserstein(cost), Wasserstein(scale * cost)
    value, error = cl.epistemic_uncertainty(P, d, return_error=True)
    found, bound = cl.epistemic_uncertainty(P, scaled, return_error=True)
    np.testing.assert_allclose(found / scale, value, rtol=1e-12)
    np.testing.assert_allclose(scaled(P[:, 0], P[:, 1]) / scale, d(P[:, 0], P[:, 1]), rtol=1e-12)
    assert (error <= 1e-14).all()
    assert (bound <= 1e-14 * scale).all()


def test_bounds_of_a_general_metric_contain_the_diameter(monkeypatch):
    """The bounds hold whatever the solver returns: here a plan and a dual that are not optimal."""
    import ot

    cost, P = plane_metric(9), dirichlet(3, 4, 9)
    d = Wasserstein(cost)
    exact = [max(oracle.wasserstein(p, q, cost) for p, q in itertools.combinations(x, 2))
             for x in P]  # fmt: skip
    lower, upper = cl.ConvexHull(P).diameter_bounds(d)
    np.testing.assert_allclose(lower, exact, atol=1e-9)
    np.testing.assert_allclose(upper, exact, atol=1e-9)
    solve = ot.emd2

    def early(a, b, M, **options):
        value, log = solve(a, b, M, **options)
        return value + 0.01, log | {"v": log["v"] + 0.01 * np.arange(len(b))}

    monkeypatch.setattr(ot, "emd2", early)
    lower, upper = cl.ConvexHull(P).diameter_bounds(d)
    assert (lower <= np.array(exact) + 1e-9).all()
    assert (upper >= np.array(exact) - 1e-9).all()
    assert (upper - lower > 1e-4).any()
    u = cl.quantify(P, d)
    np.testing.assert_allclose(u.epistemic, lower / 2)
    assert (u.error >= (upper - lower) / 2 - 1e-15).all()
