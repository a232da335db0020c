"""Ensembles with missing members: everything equals what the members present alone give."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from backends import COST, MEASURES, SAMPLE_MEASURES
from credalens._backend import NUMPY, tree_map
from ensembles import ENSEMBLES, disagreeing

P = disagreeing(11, 5, 4)
MASK = np.random.default_rng(1).random((11, 5)) < 0.55
MASK[0] = True
MASK[1] = [False, True, False, False, False]
MASK[:, 2] |= ~MASK.any(axis=1)

#: Queries and measures that multiply all rows of a block by one matrix: up to its rounding.
PRODUCTS = {"ordinal", "metric", "expectations", "decisions", "admissible", "imprecision", "mmd",
            "kolmogorov"}  # fmt: skip
FUNCTIONS = {**MEASURES, **{name: SAMPLE_MEASURES[name] for name in ("families", "functions")}}


def leaves(result):
    found = []
    tree_map(lambda x: found.append(np.asarray(x)), result)
    return found


def assert_same_as_present(function, members, mask, exact=True, **options):
    """Assert that results of a batch equal those of each instance's members alone."""
    batch = leaves(function(cl.ConvexHull(members, mask=mask, **options)))
    for i, present in enumerate(mask):
        own = {name: x[present] for name, x in options.items() if name == "weights"}
        alone = leaves(function(cl.ConvexHull(members[i][present][None], **own)))
        assert len(alone) == len(batch)
        for ours, expected in zip(batch, alone, strict=True):
            assert ours.dtype == expected.dtype
            if exact:
                assert_array_equal(ours[i], expected[0])
            else:
                assert_allclose(ours[i], expected[0], rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_measures_are_those_of_the_members_present(name):
    assert_same_as_present(FUNCTIONS[name], P, MASK, exact=name not in PRODUCTS)


@pytest.mark.parametrize("name", ["families", "functions", "vote", "quantify"])
def test_weighted_measures_are_those_of_the_members_present(name):
    weights = np.array([0.3, 1.0, 2.5, 0.0, 7.0])
    mask = MASK | (np.arange(5) == 1)  # a positive weight for each
    assert_same_as_present(FUNCTIONS[name], P, mask, weights=weights)


@pytest.mark.parametrize("P", ENSEMBLES.values(), ids=ENSEMBLES.keys())
def test_difficult_ensembles(P):
    mask = np.random.default_rng(0).random(P.shape[:2]) < 0.6
    mask[:, 0] |= ~mask.any(axis=1)

    def some(Q):
        return cl.quantify(Q, ["tv", "entropy", "information", "second_order_distance"])

    assert_same_as_present(some, P, mask)


@settings(max_examples=25)
@given(st.data())
def test_any_pattern(data):
    n, M, K = (data.draw(st.integers(1, most)) for most in (6, 5, 4))
    P = np.random.default_rng(data.draw(st.integers(0, 99))).dirichlet(np.ones(K), (n, M))
    bits = data.draw(st.lists(st.integers(1, 2**M - 1), min_size=n, max_size=n))
    mask = np.array([[bit >> m & 1 for m in range(M)] for bit in bits], bool)
    garbage = np.where(mask[..., None], P, data.draw(st.sampled_from([np.nan, np.inf, -3.0])))
    whole = leaves(cl.quantify(cl.ConvexHull(garbage, mask=mask), ["tv", "variance"]))
    for i in range(n):
        alone = leaves(cl.quantify(cl.ConvexHull(P[i][mask[i]]), ["tv", "variance"]))
        for ours, expected in zip(whole, alone, strict=True):
            assert_array_equal(ours[i], expected)


# ---------------------------------------------------------------- queries and the object


def test_queries():
    Q = cl.ConvexHull(P, mask=MASK)
    points = np.random.default_rng(0).dirichlet(np.ones(4), (3, 11))
    center, distance = Q.center(), Q.tv_distance(points)[0]
    inside, extreme = Q.contains(Q.center()), Q.extreme_points()
    order = np.argsort(-center, axis=-1)
    prefixes, moved = Q.lower_prefixes(order), Q.translate([1e-5, -1e-5, 0, 0])
    assert inside.all()
    assert distance.shape == (3, 11)
    for i, present in enumerate(MASK):
        alone = cl.ConvexHull(P[i][present])
        assert_array_equal(center[i], alone.center())
        assert_allclose(distance[:, i], alone.tv_distance(points[:, i])[0], rtol=0, atol=1e-14)
        assert_array_equal(prefixes[i], alone.lower_prefixes(order[i]))
        expected = alone.extreme_points()
        assert_array_equal(extreme[i, : len(expected)], expected)
        assert_array_equal(extreme[i, len(expected) :], expected[:1].repeat(5, 0)[len(expected) :])
        assert_array_equal(moved[i].members[present], P[i][present] + [1e-5, -1e-5, 0, 0])
        assert np.isnan(moved[i].members[~present]).all()
        assert_array_equal(Q.generators[i][~present], P[i][[present.argmax()]].repeat(
            (~present).sum(), axis=0))  # fmt: skip
    assert (cl.ConvexHull(P) >= Q).all()
    assert (cl.ConvexHull(P) <= Q).tolist() == MASK.all(axis=1).tolist()
    assert_array_equal(Q.to_intervals().lower(), Q.lower())


def test_one_instance_and_several_axes():
    one = cl.ConvexHull(P[3], mask=MASK[3])
    alone = cl.ConvexHull(P[3][MASK[3]])
    assert cl.total_uncertainty(one) == cl.total_uncertainty(alone)
    assert isinstance(cl.total_uncertainty(one), np.float64)
    assert int(one.n_present) == MASK[3].sum()
    assert_array_equal(one.lower(), alone.lower())
    grid = cl.ConvexHull(P[:10].reshape(2, 5, 5, 4), mask=MASK[:10].reshape(2, 5, 5))
    flat = cl.ConvexHull(P[:10], mask=MASK[:10])
    assert_array_equal(cl.upper_entropy(grid), cl.upper_entropy(flat).reshape(2, 5))
    assert_array_equal(grid[1].n_present, MASK[5:10].sum(axis=1))
    assert_array_equal(grid.lower(), flat.lower().reshape(2, 5, 4))


def test_ways_of_stating_what_is_missing():
    nan = np.where(MASK[..., None], P, np.nan)
    expected = leaves(cl.quantify(cl.ConvexHull(P, mask=MASK)))
    hidden = np.ma.MaskedArray(P, np.broadcast_to(~MASK[..., None], P.shape))
    for Q in (
        cl.ConvexHull(nan, missing="allow"),
        cl.ConvexHull(hidden, missing="allow"),
        cl.ConvexHull(nan.tolist(), missing="allow"),
        cl.ConvexHull(np.moveaxis(nan, 1, 0), axis=0, missing="allow"),
        cl.ConvexHull(nan, mask=np.ones(5, bool), missing="allow"),
        cl.ConvexHull(nan, mask=MASK, validate=False),
    ):
        for ours, wanted in zip(leaves(cl.quantify(Q)), expected, strict=True):
            assert_array_equal(ours, wanted)
        assert_array_equal(Q.mask, MASK)
        assert_array_equal(Q.members, nan)
    by_member = cl.ConvexHull(P, mask=[True, False, True, True, False])
    assert_array_equal(by_member.lower(), cl.ConvexHull(P[:, [0, 2, 3]]).lower())


def test_numbers_of_members_are_reported():
    Q = cl.ConvexHull(P, mask=MASK)
    assert_array_equal(Q.n_present, MASK.sum(axis=1))
    assert Q.n_members == 5
    assert "n_members=5, n_present=1 to 5" in repr(Q)
    u = cl.quantify(Q, ["tv", "labelwise"])
    assert_array_equal(u["tv"].n_members, MASK.sum(axis=1))
    assert_array_equal(u["tv"].to_pandas()["n_members"], MASK.sum(axis=1))
    assert_array_equal(u["tv"][2:5].n_members, MASK.sum(axis=1)[2:5])
    assert "n_members" not in u["labelwise"].to_pandas().columns  # one row per class
    assert "n_members=1)" in repr(cl.quantify(Q[1]))
    assert cl.quantify(cl.ConvexHull(P)).n_members is None
    complete = cl.ConvexHull(P, mask=np.ones((11, 5), bool))
    assert complete.backend is NUMPY
    assert_array_equal(cl.quantify(complete).n_members, np.full(11, 5))
    assert_array_equal(cl.quantify(complete).total, cl.quantify(P).total)


def test_a_set_with_missing_members_is_an_ordinary_object():
    Q = cl.ConvexHull(P, mask=MASK, weights=np.arange(1, 6))
    again = pickle.loads(pickle.dumps(Q))
    assert_array_equal(again.n_present, Q.n_present)
    assert_array_equal(cl.mutual_information(again), cl.mutual_information(Q))
    some = Q[[0, 3, 1]]
    assert_array_equal(some.mask, MASK[[0, 3, 1]])
    assert_array_equal(some.weights, np.broadcast_to(np.arange(1, 6), (3, 5)))
    assert Q[:1].backend is NUMPY  # nothing is missing there
    assert len(Q[:0]) == 0
    assert cl.total_uncertainty(Q[:0]).shape == (0,)
    assert Q.contains(np.empty((0, 1, 4))).shape == (0, 11)
    for array in (Q.members, Q.mask, Q.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_normalisation_reads_present_members_only():
    rough = np.where(MASK[..., None], P * 1.0005, np.nan)
    with pytest.warns(UserWarning, match=r"rows sum to 1 within 0\.0005 and are divided"):
        Q = cl.ConvexHull(rough, missing="allow")
    assert_allclose(Q.members[MASK].sum(axis=-1), 1, rtol=0, atol=1e-15)
    counts = np.where(MASK[..., None], P * 7, -1)
    Q = cl.ConvexHull(counts, mask=MASK, normalize=True)
    assert_allclose(Q.lower(), cl.ConvexHull(P, mask=MASK).lower(), rtol=0, atol=1e-15)


def test_memory():
    members = np.random.default_rng(0).dirichlet(np.ones(4), (40000, 10)).astype(np.float32)
    mask = np.random.default_rng(0).random((40000, 10)) < 0.7
    mask[:, 0] = True
    Q = cl.ConvexHull(members, mask=mask)
    tracemalloc.start()
    cl.quantify(Q)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * members.nbytes


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mask": [[True] * 5] * 3 + [[False] * 5] * 8}, r"^members: no member is present at index "
         r"3 \(zero-based\); leave out instances without a prediction$"),
        ({"mask": np.ones((11, 5))}, r"^mask: has dtype float64; pass booleans, True for the mem"),
        ({"mask": np.ones((11, 4), bool)}, r"^mask: has shape \(11, 4\); pass one entry per member"
         r", shape \(11, 5\)$"),
        ({"mask": np.ones((3, 5), bool)}, r"^mask: has shape \(3, 5\); pass one entry per"),
        ({"mask": True}, r"^mask: has shape \(\); pass one entry"),
        ({"missing": "drop"}, r"^missing: is 'drop'; choose one of 'allow', 'raise'$"),
    ],
)  # fmt: skip
def test_invalid_masks(options, match):
    with pytest.raises(ValueError, match=match):
        cl.ConvexHull(P, **options)


def test_missing_members_need_permission():
    nan = np.where(MASK[..., None], P, np.nan)
    suggested = r'pass ConvexHull\(members, missing="allow"\) if the member is missing$'
    for call in (cl.ConvexHull, cl.quantify, cl.upper_entropy, cl.majority_vote):
        with pytest.raises(
            ValueError, match=rf"^members: entry at index \(1, 0, 0\) .*{suggested}"
        ):
            call(nan)
    nan[4, MASK[4].argmax(), 2] = np.nan
    with pytest.raises(ValueError, match=r"entry at index \(4, \d, 2\) .* is NaN; drop or impute "
                       r"these predictions first$"):  # fmt: skip
        cl.ConvexHull(nan, missing="allow")


def test_indices_of_errors_are_those_of_the_caller():
    Q = cl.ConvexHull(P, mask=MASK)
    points = np.full((11, 4), 0.25)
    points[7, 1] = 0.5
    with pytest.raises(ValueError, match=r"^p: row 7 \(zero-based\) sums to 1\.25"):
        Q.contains(points)
    invalid = P.copy()
    m = int(np.flatnonzero(MASK[8])[-1])
    invalid[8, m] *= 2
    with pytest.raises(ValueError, match=rf"^members: row \(8, {m}\) \(zero-based\) sums to 2"):
        cl.ConvexHull(invalid, mask=MASK)
    with pytest.raises(ValueError, match=r"^t: moves the entry to -0\.\d+ at index \(\d+, \d, 1\)"):
        Q.translate([0.9, -0.9, 0, 0])


# ---------------------------------------------------------------- constructors, other libraries


def test_logits():
    logits = np.log(P)
    nan = np.where(MASK[..., None], logits, np.nan)
    expected = cl.ConvexHull.from_logits(logits, mask=MASK)
    assert_allclose(expected.lower(), cl.ConvexHull(P, mask=MASK).lower(), rtol=0, atol=1e-15)
    found = cl.ConvexHull.from_logits(nan, missing="allow", weights=np.arange(1.0, 6))
    assert_array_equal(found.members, expected.members)
    assert_array_equal(found.weights[0], np.arange(1.0, 6))
    with pytest.raises(ValueError, match=r"^logits: is NaN at index \(1, 0, 0\)"):
        cl.ConvexHull.from_logits(nan)
    with pytest.raises(ValueError, match=r"^logits: no member is present at index 0"):
        cl.ConvexHull.from_logits(np.full((2, 1, 3), np.nan), missing="allow")


def test_frames():
    pandas = pytest.importorskip("pandas")
    one = pandas.DataFrame({"a": [0.5, 0.25], "b": [0.5, 0.75]}, index=["x", "y"])
    two = pandas.DataFrame({"b": [0.5, 1.0], "a": [0.5, 0.0]}, index=["z", "x"])
    Q = cl.ConvexHull.from_frames([one, two], missing="allow", weights=[1, 3])
    assert Q.index.tolist() == ["x", "y", "z"]
    assert Q.n_present.tolist() == [2, 1, 1]
    assert_allclose(Q.center(), [[0.125, 0.875], [0.25, 0.75], [0.5, 0.5]])
    assert cl.quantify(Q).to_pandas().index.tolist() == ["x", "y", "z"]
    with pytest.raises(ValueError, match="has no row 'y'"):
        cl.ConvexHull.from_frames([one, two])
    twice = pandas.DataFrame({"a": [1.0, 1.0], "b": [0.0, 0.0]}, index=["x", "x"])
    with pytest.raises(ValueError, match=r"^frames\[1\]: has a label twice in its index"):
        cl.ConvexHull.from_frames([one, twice], missing="allow")
    with pytest.raises(ValueError, match="matches rows by the index of pandas frames"):
        cl.ConvexHull.from_frames([np.eye(2)], missing="allow")


@pytest.mark.parametrize(
    "name",
    ["aleatoric", "functions", "vote",
     *(pytest.param(name, marks=pytest.mark.slow) for name in ("quantify", "families", "label set",
                                                               "expectations"))],
)  # fmt: skip
def test_libraries(backend, name):
    x, dtype = P.astype(np.float32), np.float32
    nan = np.where(MASK[..., None], x, dtype(np.nan))
    function = FUNCTIONS[name]
    Q = cl.ConvexHull(backend.asarray(nan), missing="allow")
    expected = cl.ConvexHull(nan, missing="allow")
    backend.assert_same(function(Q), function(expected), atol=1e-5)
    masked = cl.ConvexHull(backend.asarray(x), mask=MASK)
    backend.assert_same(function(masked), function(expected), atol=1e-5)
    assert_array_equal(np.asarray(Q.mask), MASK)
    assert_array_equal(np.asarray(Q.n_present), MASK.sum(axis=1))
    assert_array_equal(np.asarray(Q.members), nan)
    counts = cl.quantify(Q).n_members
    assert isinstance(counts, backend.types)
    assert_array_equal(np.asarray(counts), MASK.sum(axis=1))


def test_indices_of_instances_without_members(backend):
    nan = np.where((np.arange(11) == 9)[:, None, None], np.nan, P)

    def compute():
        total = cl.total_uncertainty(cl.ConvexHull(backend.asarray(nan), missing="allow"))
        return total.compute() if backend.name == "dask" else total

    with pytest.raises(ValueError, match=r"no member is present at index 9 \(zero-based\)"):
        compute()


def test_plots_and_reasons_leave_out_missing_members():
    members = disagreeing(4, 4, 3)
    mask = np.array([[True, False, True, True], [False, True, False, False],
                     [True] * 4, [False, False, True, True]])  # fmt: skip
    Q = cl.ConvexHull(members, mask=mask)
    found = cl.reasons(Q, member_names=list("abcd"))
    for i, reason in enumerate(found):
        names = np.array(list("abcd"))[mask[i]]
        alone = cl.reasons(members[i : i + 1, mask[i]], member_names=names)[0]
        assert (reason.kind, reason.members, reason.classes) == (
            alone.kind, alone.members, alone.classes)  # fmt: skip
    assert len(cl.plots.simplex(Q).patches) == 6  # two triangles, a segment and a point
    assert cl.decide(Q, np.asarray(COST)[:3, :2]).shape == (4,)
