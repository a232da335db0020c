"""Hulls of truncated predictions: certified errors, exact complete lists, errors of the input."""

import pickle

import numpy as np
import pytest

import credalens as cl
from topk_cases import cases, dense_members, truncate

FAMILIES = ("tv", "entropy", "information", "zero_one", "confidence", "hartley")


def components(u):
    """Return the components by name, without the errors."""
    return {name: float(x) for name, x in u._arrays().items() if "error" not in name}


def check_covered(P, ids, probs, families=FAMILIES, slack=1e-10):
    """Check that the values of a dense ensemble are within the errors of those of its lists."""
    Q = cl.ConvexHull.from_topk(ids, probs, P.shape[1])
    for family in families:
        options = {"method": "exact"} if family == "hartley" else {}
        dense, u = cl.quantify(P, family, **options), cl.quantify(Q, family, **options)
        errors, known = u.errors._arrays(), components(dense)
        assert errors.keys() == known.keys()
        for name, value in components(u).items():
            error = float(errors[name])
            assert abs(known[name] - value) <= error + slack, (family, name, ids, probs, P)
            assert error <= float(u.error) + 1e-15


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_dense_values_are_within_the_errors(seed):
    for P, ids, probs in cases(seed, 24):
        check_covered(P, ids, probs)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 40), (2, 12), (8, 30), (3, 2), (12, 5)])
def test_dense_values_of_other_shapes_are_within_the_errors(shape):
    families = FAMILIES if shape[1] <= 12 else FAMILIES[:-1]
    for P, ids, probs in cases(sum(shape), 16, *shape):
        check_covered(P, ids, probs, families)


@pytest.mark.parametrize("seed", range(3))
def test_complete_lists_are_exact(seed):
    rng = np.random.default_rng(seed)
    for kind in ("dirichlet", "sparse", "ties", "dirac", "equal"):
        P = dense_members(rng, kind, 4, 6)
        ids, probs = truncate(rng, P, 6)
        Q = cl.TopKHull(ids, probs, 6)
        assert Q.rest.max() < 1e-12
        for family in FAMILIES:
            dense, u = cl.quantify(P, family), cl.quantify(Q, family)
            assert components(u) == pytest.approx(components(dense), abs=1e-12)
            assert float(u.error) <= 1e-9
        assert int(cl.majority_vote(Q)) == int(cl.majority_vote(P))


def test_the_last_class_of_a_member_is_known():
    P = np.random.default_rng(3).dirichlet(np.ones(5), size=3)
    order = np.argsort(-P, axis=1)[:, :4]
    Q = cl.TopKHull(order, np.take_along_axis(P, order, 1), 5)
    u = cl.quantify(Q, ["tv", "entropy", "information"])
    for family, own in u.items():
        assert components(own) == pytest.approx(components(cl.quantify(P, family)), abs=1e-12)
        assert float(own.error) <= 1e-9


def test_values_are_those_of_the_lumped_distributions():
    ids = [[[3, 7], [3, 9]]]
    Q = cl.TopKHull(ids, [[[0.8, 0.15], [0.6, 0.35]]], 1000)
    lumped = [[[0.8, 0.15, 0.0, 0.05], [0.6, 0.0, 0.35, 0.05]]]
    own, dense = cl.quantify(Q, ["tv", "entropy"]), cl.quantify(lumped, ["tv", "entropy"])
    for family in own:
        for name, x in dense[family]._arrays().items():
            if name != "error":
                np.testing.assert_allclose(own[family]._arrays()[name], x, atol=1e-12)


def test_disjoint_tails_and_tails_on_listed_classes_are_bounded_on_both_sides():
    # Lists of different classes: the distance of the lumped members is not a lower bound.
    ids, probs = [[0], [1]], [[0.7], [0.7]]
    u = cl.quantify(cl.TopKHull(ids, probs, 100))
    near = [[0.7, 0.3], [0.3, 0.7]]
    far = [[0.7, 0, 0.3, 0], [0, 0.7, 0, 0.3]]
    assert float(u.epistemic) == pytest.approx(0.35)
    for members in (near, far):
        difference = abs(float(cl.epistemic_uncertainty(members)) - float(u.epistemic))
        assert difference <= float(u.errors.epistemic) + 1e-12
    assert float(u.errors.epistemic) == pytest.approx(0.15)


def test_functions_return_the_errors_of_the_components():
    rng = np.random.default_rng(0)
    lists = [truncate(rng, rng.dirichlet(np.ones(9), size=3), 4) for _ in range(5)]
    width = max(ids.shape[1] for ids, _ in lists)
    pad = [np.pad(ids, ((0, 0), (0, width - ids.shape[1])), constant_values=-1) for ids, _ in lists]
    values = [np.pad(p, ((0, 0), (0, width - p.shape[1]))) for _, p in lists]
    Q = cl.TopKHull(pad, values, 9)
    u = cl.quantify(Q, ["tv", "entropy", "information", "hartley"], random_state=0)
    tv, entropy, information = u["tv"], u["entropy"], u["information"]
    pairs = [
        (cl.total_uncertainty, tv.total, tv.errors.total),
        (cl.epistemic_uncertainty, tv.epistemic, tv.errors.epistemic),
        (cl.maximum_mean_imprecision, 2 * tv.epistemic, 2 * tv.errors.epistemic),
        (cl.upper_entropy, entropy.total, entropy.errors.total),
        (cl.lower_entropy, entropy.aleatoric, entropy.errors.aleatoric),
        (cl.predictive_entropy, information.total, information.errors.total),
        (cl.expected_entropy, information.aleatoric, information.errors.aleatoric),
        (cl.mutual_information, information.epistemic, information.errors.epistemic),
    ]
    for function, value, error in pairs:
        found = function(Q, return_error=True)
        np.testing.assert_allclose(found[0], value)
        np.testing.assert_allclose(found[1], error)
        with pytest.warns(RuntimeWarning, match="certified"):
            np.testing.assert_allclose(function(Q), value)
    interval, error = cl.aleatoric_uncertainty(Q, return_error=True)
    np.testing.assert_allclose(interval.upper, tv.aleatoric.upper)
    np.testing.assert_allclose(error, tv.errors.aleatoric.upper)
    gh, error = cl.generalized_hartley(Q, random_state=0, return_error=True)
    np.testing.assert_allclose(gh, u["hartley"].epistemic)
    np.testing.assert_allclose(error, u["hartley"].errors.epistemic)
    table = tv.to_pandas()
    assert list(table)[-5:] == [
        "error", "total_error", "aleatoric_lower_error", "aleatoric_upper_error",
        "epistemic_error",
    ]  # fmt: skip
    np.testing.assert_allclose(tv[2].errors.epistemic, tv.errors.epistemic[2])


def test_weights_of_members():
    rng = np.random.default_rng(4)
    for P, ids, probs in cases(9, 16):
        w = rng.dirichlet(np.ones(len(P)))
        Q = cl.TopKHull(ids, probs, P.shape[1])
        for loss in ("log", "zero_one"):
            dense = cl.ConvexHull(P).second_order(loss, w)
            errors = Q.second_order_errors(loss, w)
            for own, known, error in zip(Q.second_order(loss, w), dense, errors, strict=True):
                assert abs(own - known) <= error + 1e-10


def test_a_value_depends_on_its_instance_alone():
    rng = np.random.default_rng(5)
    n, M, k, K = 40, 3, 6, 200
    P = rng.dirichlet(np.full(K, 0.05), size=(n, M))
    ids = np.argsort(-P, axis=-1)[..., :k]
    probs = np.take_along_axis(P, ids, -1)
    Q = cl.TopKHull(ids, probs, K)
    wide = cl.TopKHull(
        np.pad(ids, ((0, 0), (0, 0), (0, 3)), constant_values=-1),
        np.pad(probs, ((0, 0), (0, 0), (0, 3))),
        K,
    )
    for family in FAMILIES:
        whole = cl.quantify(Q, family, random_state=0, **_sampled(family))
        for other in (cl.quantify(wide, family, random_state=0, **_sampled(family)),):
            for name, x in whole._arrays().items():
                np.testing.assert_array_equal(other._arrays()[name], x)
        part = cl.quantify(Q[7:9], family, random_state=0, **_sampled(family))
        for name, x in whole._arrays().items():
            np.testing.assert_array_equal(part._arrays()[name], x[7:9])


def _sampled(family):
    return {"method": "sample", "n_samples": 64} if family == "hartley" else {}


def test_order_of_lists_and_members_and_duplicates_do_not_matter():
    rng = np.random.default_rng(6)
    for P, ids, probs in cases(11, 12):
        K = P.shape[1]
        whole = cl.quantify(cl.TopKHull(ids, probs, K), ["tv", "entropy"])
        columns, rows = rng.permutation(ids.shape[1]), rng.permutation(len(ids))
        rows = np.append(rows, rows[0])  # a member twice
        moved = cl.TopKHull(ids[rows][:, columns], probs[rows][:, columns], K)
        for family, u in cl.quantify(moved, ["tv", "entropy"]).items():
            for name, x in whole[family]._arrays().items():
                # The bound of the upper aleatoric end depends on which optimal weights are found.
                if not name.endswith("error"):
                    assert float(u._arrays()[name]) == pytest.approx(float(x), abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int16, np.int32, np.int64, np.uint16])
def test_dtypes_and_layouts(dtype, index):
    rng = np.random.default_rng(8)
    P = rng.dirichlet(np.full(30, 0.2), size=(4, 2))
    ids = np.argsort(-P, axis=-1)[..., :8]
    probs = np.take_along_axis(P, ids, -1).astype(dtype)
    Q = cl.TopKHull(np.asfortranarray(ids.astype(index)), np.asfortranarray(probs), 30)
    assert Q.dtype == dtype
    u = cl.quantify(Q)
    assert u.total.dtype == u.errors.epistemic.dtype == dtype
    expected = cl.quantify(cl.TopKHull(ids, probs.astype(np.float64), 30))
    np.testing.assert_allclose(u.epistemic, expected.epistemic, rtol=1e-6)
    half = cl.TopKHull(ids, probs.astype(np.float16), 30)
    assert half.dtype == np.float32


def test_log_probabilities_and_padding():
    ids = np.array([[[5, 2, -1], [2, 5, 1]]])
    probs = np.array([[[0.6, 0.3, np.nan], [0.5, 0.25, 0.125]]])
    with np.errstate(all="ignore"):
        logs = np.log(probs)
    for values, log in ((probs, False), (logs, True)):
        Q = cl.ConvexHull.from_topk(ids, values, 50, log=log)
        np.testing.assert_allclose(Q.rest, [[0.1, 0.125]])
        assert Q.listed_classes().tolist() == [[1, 2, 5]]
    zero = cl.TopKHull([[0, 1]], [[0.0, -np.inf]], 9, log=True)
    assert float(zero.rest[0]) == 0


def test_votes():
    # Two votes against one; a tie between classes goes to the larger mean probability.
    Q = cl.TopKHull(
        [[[9, 1], [9, 1], [1, 3]], [[4, 2], [2, 4], [7, 2]]],
        [[[0.5, 0.4], [0.5, 0.4], [0.9, 0.05]], [[0.6, 0.2], [0.5, 0.4], [0.4, 0.3]]],
        100,
    )
    assert cl.majority_vote(Q).tolist() == [9, 2]


def test_sets_can_be_indexed_and_pickled():
    P = np.random.default_rng(0).dirichlet(np.full(20, 0.1), size=(2, 3, 4))
    ids = np.argsort(-P, axis=-1)[..., :5]
    Q = cl.TopKHull(ids, np.take_along_axis(P, ids, -1), 20)
    assert repr(Q) == (
        "TopKHull(batch_shape=(2, 3), n_members=4, k=5, n_classes=20, dtype=float64)"
    )
    again = pickle.loads(pickle.dumps(Q))[1]
    assert again.batch_shape == (3,)
    assert again.n_classes == 20
    np.testing.assert_array_equal(cl.quantify(again).total, cl.quantify(Q).total[1])
    assert Q.listed_classes().shape[:2] == (2, 3)
    assert Q.rest.shape == (2, 3, 4)
    empty = cl.quantify(Q[:0])
    assert empty.total.shape == (0, 3)


@pytest.mark.slow
def test_dask_arrays():
    da = pytest.importorskip("dask.array")
    P = np.random.default_rng(0).dirichlet(np.full(20, 0.1), size=(6, 4))
    ids = np.argsort(-P, axis=-1)[..., :5]
    probs = np.take_along_axis(P, ids, -1)
    Q = cl.TopKHull(da.from_array(ids, (2, -1, -1)), da.from_array(probs, (2, -1, -1)), 20)
    u, known = cl.quantify(Q), cl.quantify(cl.TopKHull(ids, probs, 20))
    np.testing.assert_array_equal(u.errors.epistemic.compute(), known.errors.epistemic)
    np.testing.assert_array_equal(u.epistemic.compute(), known.epistemic)
    assert Q[3:].n_classes == 20


@pytest.mark.parametrize(
    ("ids", "probs", "K", "options", "message"),
    [
        ([[0, 5]], [[0.5, 0.4]], 5, {}, r"ids: is 5 at index \(0, 1\).*pass classes 0 to 4"),
        ([[0, -2]], [[0.5, 0.4]], 5, {}, r"ids: is -2 at index \(0, 1\)"),
        ([[0.0, 1.0]], [[0.5, 0.4]], 5, {}, r"ids: has dtype float64; pass class indices"),
        ([[1, 1]], [[0.5, 0.4]], 5, {}, r"ids: lists class 1 twice at index 0 "),
        ([[-1, -1]], [[0.5, 0.4]], 5, {}, r"ids: lists no class at index 0 "),
        ([[[0], [1]]], [[[0.5], [np.nan]]], 5, {}, r"probs: is nan at index \(0, 1, 0\)"),
        ([[0, 1]], [[-0.1, 0.4]], 5, {}, r"probs: is -0.1 at index \(0, 0\).*in \[0, 1\]"),
        ([[0, 1]], [[-0.1, -2.0]], 5, {}, "pass log=True for log-probabilities"),
        ([[0, 1]], [[1.5, 0.4]], 5, {}, r"probs: is 1.5 at index \(0, 0\)"),
        ([[0, 1]], [[0.8, 0.4]], 5, {}, r"probs: sums to 1.2 at index 0 .*at most 1 in total"),
        ([[0, 1]], [[0.5, 0.4]], 2, {}, r"probs: lists all 2 classes, and sums to 0.9"),
        ([[0, 1]], [[0.4, 0.1]], 5, {}, r"sums to 0.5.*3 other classes.*smallest listed.*0.1"),
        ([[0, 1]], [[0.5]], 5, {}, r"probs: has shape \(1, 1\), ids \(1, 2\)"),
        ([[0, 1]], [[0.5, 0.4]], 5, {"log": True}, r"probs: is 0.5 at index \(0, 0\).*log=True"),
        ([0, 1], [0.5, 0.4], 5, {}, r"ids: has 1 axes"),
        (np.zeros((2, 3, 0), int), np.zeros((2, 3, 0)), 5, {}, "ids: has no listed classes"),
        ([[0, 1]], [[0.5, 0.4]], 0, {}, "n_classes: is 0"),
        ([[0, 1]], [["a", "b"]], 5, {}, "probs: is not numeric"),
    ],
)  # fmt: skip
def test_invalid_lists(ids, probs, K, options, message):
    with pytest.raises(ValueError, match=message):
        cl.ConvexHull.from_topk(ids, probs, K, **options)


def test_rounding_is_accepted():
    Q = cl.TopKHull([[0, 1]], [[0.7004, 0.3]], 5)  # sums to 1.0004
    assert float(Q.rest[0]) == 0
    assert float(cl.total_uncertainty(Q)) == pytest.approx(0.3 / 1.0004)
    whole = cl.TopKHull([[0, 1]], [[0.6996, 0.3]], 2)
    assert float(cl.total_uncertainty(whole)) == pytest.approx(0.3 / 0.9996)


def test_queries_that_need_all_probabilities_raise():
    Q = cl.TopKHull([[0, 1]], [[0.5, 0.4]], 50)
    for call in (
        Q.to_hull,
        Q.extreme_points,
        lambda: cl.quantify(Q, "variance"),
        lambda: cl.quantify(Q, "scoring:brier"),
        lambda: cl.quantify(Q, "kolmogorov"),
        lambda: Q.contains(np.eye(50)[0]),
    ):
        with pytest.raises(
            ValueError, match=r"Q: has truncated predictions.*use the measures 'tv'"
        ):
            call()
    with pytest.raises(ValueError, match="return_distribution: is True for truncated"):
        cl.upper_entropy(Q, return_distribution=True)
