"""Input validation: what raises, and the messages."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens import _kernels, _validation
from credalens._row_kinds import EXACT, ROUNDING
from ensembles import dirichlet


def refused(x, match, **options):
    with pytest.raises(ValueError, match=match):
        cl.ConvexHull(x, **options)


# ---------------------------------------------------------------- shape and kind


@pytest.mark.parametrize(
    ("x", "match"),
    [
        (0.5, r"^members: has 0 axes, shape \(\); pass an array .*\(..., members, classes\)$"),
        ([0.5, 0.5], r"^members: has 1 axes, shape \(2,\); pass an array of shape"),
        (np.empty((3, 2, 0)), r"^members: has no classes, shape \(3, 2, 0\); pass at least one"),
        (np.empty((3, 0, 2)), r"^members: has no members, shape \(3, 0, 2\); pass at least one"),
        ([["a", "b"]], r"^members: is not numeric \(dtype <U1\); pass an array of floats$"),
        ([[None, 0.5]], r"^members: is not numeric \(dtype object\); pass an array of floats$"),
        (np.array([[0.5, 0.5]], object), r"^members: is not numeric \(dtype object\)"),
        (np.array([["2020-01-01"]], "datetime64[D]"), r"^members: is not numeric \(dtype datet"),
        ([[0.5 + 0j, 0.5]], r"^members: is complex \(complex128\); pass real probabilities$"),
        ([[0.5, 0.5], [1.0]], r"^members: a ragged list .*every row must have the same length$"),
        ([[[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]], r"^members: a ragged list"),
        (np.ma.masked_array([[0.5, 0.5]], [[True, False]]), r"^members: has masked entries; fill"),
    ],
)  # fmt: skip
def test_not_an_array_of_distributions(x, match):
    refused(x, match)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, ">f4", ">f8"])
@pytest.mark.parametrize(
    ("row", "match"),
    [
        ([np.nan, 0.5, 0.5], r"^members: entry at index \(3, 1, 0\) .* is NaN; drop or impute"),
        ([0.5, np.inf, 0.5], r"^members: entry at index \(3, 1, 1\) .* is infinite; pass prob"),
        ([0.5, 0.5, -np.inf], r"^members: entry at index \(3, 1, 2\) .* is infinite; pass prob"),
        ([0.75, 0.5, -0.25], r"^members: entry at index \(3, 1, 2\) .* is negative: -0.25"),
        ([0.5, 0.25, 0.0], r"^members: row \(3, 1\) \(zero-based\) sums to 0.75; correct or drop"),
        ([0.5, 0.25, 0.5], r"^members: row \(3, 1\) \(zero-based\) sums to 1.25; correct or drop"),
        ([0.25, 1.5, 0.0], r"^members: row \(3, 1\) .* sums to 1.75 and its entry 1 is 1.5"),
        ([0.0, 0.0, 0.0], r"^members: row \(3, 1\) .* sums to 0; correct or drop this row$"),
    ],
    ids=["nan", "inf", "-inf", "negative", "short", "long", "above 1", "zero"],
)  # fmt: skip
def test_bad_rows_are_named(dtype, row, match):
    P = np.full((5, 2, 3), [0.25, 0.25, 0.5]).astype(dtype)
    P[3, 1] = row
    refused(P, match)


def test_the_first_bad_row_is_named_and_its_worst_fault():
    P = np.full((4, 2, 2), 0.5)
    P[1, 1] = [0.6, 0.6]
    P[2, 0] = [np.nan, 0]
    refused(P, r"row \(1, 1\) \(zero-based\) sums to 1\.2;")
    P[1, 1] = [-1.0, np.nan]
    refused(P, r"index \(1, 1, 1\) \(zero-based\) is NaN")


@pytest.mark.parametrize("n", [2, 3])
def test_the_place_has_as_many_parts_as_axes(n):
    P = np.full((2,) * n + (2,), 0.5)
    P[(1,) * n] = [0.5, 0.75]
    place = r"row \(" + ", ".join(["1"] * n) + r"\) "
    refused(P, place)
    with pytest.raises(ValueError, match=r"^p: it sums to 0.75; "):
        cl.TotalVariation()([0.5, 0.25], [0.5, 0.5])
    refused([[0.5, 0.5], [0.5, 0.25]], r"^members: row 1 \(zero-based\) sums to 0.75; ")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_bad_row_among_a_million(dtype):
    P = np.full((250_000, 4, 3), [0.5, 0.25, 0.25], dtype)
    P[187_654, 2, 1] = 0.26
    refused(P, r"^members: row \(187654, 2\) \(zero-based\) sums to 1\.01;")
    P[187_654, 2, 1] = np.nan
    refused(P, r"^members: entry at index \(187654, 2, 1\) \(zero-based\) is NaN;")
    P[187_654, 2] = [1.01, -0.01, 0]
    refused(
        np.asfortranarray(P), r"^members: entry at index \(187654, 2, 1\) .* is negative: -0.01"
    )


#: Rows, and what is suggested for them.
KINDS = {
    "logits": (
        [[2.5, -1.0, 0.5], [-0.5, 3.0, 1.0]],
        "look like logits: use ConvexHull.from_logits$",
    ),
    "positive logits": (
        [[2.5, 1.0, 0.5], [0.5, 9.0, 1.0]],
        "look like logits: use ConvexHull.from_",
    ),
    "large sums": (
        [[200.0, 4.66, 5.0], [-0.5, 3.0, 1.0]],
        "sums to 209.66 .*: use ConvexHull.from_l",
    ),
    "log-probabilities": (
        np.log([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]),
        "pass numpy.exp of them",
    ),
    "percentages": (
        [[50.0, 25.0, 25.0], [12.5, 75.0, 12.5]],
        r"percentages: ConvexHull\(members, normalize=True\) rescales",
    ),
    "counts": ([[5, 3, 4], [0, 9, 1]], r"integers: row 0 .*not labels or counts; ConvexHull\(mem"),
    "nearly": (
        [[0.5, 0.25, 0.2], [0.5, 0.25, 0.3]],
        r"sums to 0.95; ConvexHull\(members, normalize=True\) rescales rows$",
    ),
    "several distributions": (
        [[0.5, 0.5, 0.25, 0.75], [0.125, 0.875, 0.0, 1.0]],
        r"of 2 distributions: pass numpy.reshape\(members, \(\*members.shape\[:-1\], 2, 2\)\)$",
    ),
    "alternating distributions": (
        [[0.5, 0.25, 0.5, 0.75], [0.125, 0.0, 0.875, 1.0]],
        r"2 distributions: .*members.shape\[:-1\], 2, 2\)\).swapaxes\(-1, -2\)$",
    ),
    "equal sums": (
        [[1.5, 0.25, 0.25], [0.5, 0.5, 1.0]],
        r"sums to 2 .*; ConvexHull\(members, normalize=True\) rescales rows$",
    ),
    "scores": (
        [[0.9, 0.8, 0.1], [0.1, 0.2, 0.1]],
        "scores in .0, 1. that do not sum to 1.*: pass soft",
    ),
    "below 0": ([[1.0005, -0.0005, 0.0]], r"negative: -0.0005; clip negative rounding, numpy.clip"),
    "one row": (
        [[2.0, 7.5, 1.0]],
        "pass softmax outputs; for logits use .*; for weights ConvexHull",
    ),
}


@pytest.mark.parametrize(("rows", "match"), KINDS.values(), ids=KINDS)
def test_the_suggestion_fits_what_the_rows_are(rows, match):
    refused(rows, match)
    refused(np.array(rows)[None], match.replace("row 0", r"row \(0, 0\)"))


def test_each_suggestion_leads_to_distributions():
    probabilities = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]])
    for hull in (
        cl.ConvexHull.from_logits(3 + np.log(probabilities)),
        cl.ConvexHull.from_logits(np.log(probabilities)),
        cl.ConvexHull(np.exp(np.log(probabilities))),
        cl.ConvexHull(100 * probabilities, normalize=True),
        cl.ConvexHull((8 * probabilities).astype(int), normalize=True),
        cl.ConvexHull(0.95 * probabilities, normalize=True),
        cl.ConvexHull(np.reshape(probabilities.ravel(), (2, 3))),
        cl.ConvexHull(np.reshape(probabilities.T.ravel(), (3, 2)).swapaxes(-1, -2)),
    ):
        assert_allclose(hull.members, probabilities, rtol=1e-14)
    clipped = np.clip([[1.0005, -0.0005, 0.0]], 0, None)
    with pytest.warns(UserWarning, match=r"^members: rows sum to 1 within 0.0005 and are divided"):
        assert cl.ConvexHull(clipped).members.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("shape", [(3, 40), (5, 3, 40), (3, 5, 40), (4, 5, 3, 6)])
def test_a_transposed_array_is_recognised_and_the_fix_works(shape):
    axis = shape.index(3)
    others = [n for n in shape if n != 3]
    P = np.random.default_rng(0).dirichlet(np.ones(3), others)
    wrong = np.moveaxis(P, -1, axis)
    assert wrong.shape == shape
    refused(wrong, rf"the sums over axis {axis} are 1: pass numpy.moveaxis\(members, {axis}, -1\)$")
    assert_array_equal(cl.ConvexHull(np.moveaxis(wrong, axis, -1)).members, P)


# ---------------------------------------------------------------- rounding of row sums


def test_rows_may_miss_one_by_a_thousandth():
    for dtype in (np.float16, np.float32, np.float64, np.longdouble):
        cl.quantify(np.array([[[0.5, 0.5], [0.25, 0.7509]]]).astype(dtype))
        for last in (0.752, 0.748):
            rows = np.array([[0.5, 0.5], [0.25, last]]).astype(dtype)
            refused(rows, "row 1 .* sums to (1.00|0.99)")
    cl.quantify([[0.333, 0.333, 0.333]])  # three decimals
    with pytest.raises(ValueError, match=r"row 0 .* sums to 0.9985"):
        cl.quantify([[0.3325, 0.333, 0.333]])


def test_rows_in_single_precision_keep_their_bits():
    P = dirichlet(40, 6, 5).astype(np.float32).astype(np.float64)
    assert np.abs(P.sum(axis=-1) - 1).max() > 1e-8
    assert_array_equal(cl.ConvexHull(P).members, P)
    assert cl.ConvexHull(P)._arrays[0].base is P


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f8"])
@pytest.mark.parametrize("digits", [3, 4, 6])
@pytest.mark.parametrize("validate", [True, "later"])
@pytest.mark.filterwarnings("ignore:members. rows sum to 1 within")
def test_rounded_rows_give_the_numbers_of_normalised_rows(dtype, digits, validate):
    P = dirichlet(200, 4, 3).round(digits).astype(dtype)
    P.flags.writeable = False
    before = P.copy()
    Q = cl.ConvexHull(P, validate=validate)
    measures = (cl.total_uncertainty, cl.aleatoric_uncertainty, cl.epistemic_uncertainty,
                cl.upper_entropy, cl.lower_entropy, cl.generalized_hartley,
                cl.maximum_mean_imprecision)  # fmt: skip
    exact = cl.ConvexHull(P, normalize=True)
    for measure in measures:
        for found in (measure(P), measure(Q)):
            assert_allclose(found, measure(exact), atol=1e-5, rtol=0)
    assert_array_equal(P, before)
    u = cl.quantify(P)
    slack = 1e-6
    assert (u.epistemic <= u.total + slack).all()
    assert (u.aleatoric.upper <= u.total).all()
    assert (u.aleatoric.lower >= 0).all()
    for row in range(0, 200, 50):  # a value depends on its instance alone
        assert_array_equal(cl.quantify(P[row]).epistemic, u.epistemic[row])


def test_epistemic_does_not_exceed_total_in_degenerate_sets():
    for P in ([[1.0, 0.0], [1.0009, 0.0]], [[0.9991, 0.0], [1.0009, 0.0]], [[1.0, 0.0009], [1, 0]]):
        u = cl.quantify(np.array([P]))
        assert (u.epistemic >= 0).all()
        assert (u.epistemic <= u.total).all()
        with pytest.warns(UserWarning, match="within 0.0009"):
            v = cl.ConvexHull(P).tv_uncertainty()
        assert v[3] <= v[0]


def test_the_warning_of_rounding_is_for_explicit_sets_of_coarse_rows():
    coarse = dirichlet(50, 4, 3).round(3)
    cl.quantify(coarse)  # warnings are errors here
    cl.ConvexHull(coarse, validate="later").lower()
    cl.ConvexHull(dirichlet(50, 4, 3).round(6))
    with pytest.warns(
        UserWarning, match=r"members: rows sum to 1 within 0.001 .*normalize=True"
    ) as w:
        cl.ConvexHull(coarse)
    assert len(w) == 1
    assert w[0].filename == __file__
    cl.ConvexHull(coarse, normalize=True)


def test_points_are_rounded_too():
    Q = cl.ConvexHull([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    assert Q.contains([0.3754, 0.3754, 0.25], tolerance=1e-3)
    assert cl.TotalVariation()([0.3333, 0.3333, 0.3333], [1 / 3] * 3) < 1e-15


def test_tiny_negative_entries_are_negative():
    refused([[1.0, -1e-300]], r"entry at index \(0, 1\) .* is negative: -1e-300;")
    assert cl.total_uncertainty([[1.0, -0.0]]) == 0


def test_integers_that_are_distributions_come_in():
    Q = cl.ConvexHull(np.eye(3, dtype=np.int64))
    assert Q.dtype == np.float64
    assert cl.epistemic_uncertainty(Q) == 0.5
    assert cl.total_uncertainty([[True, False], [True, False]]) == 0
    assert cl.total_uncertainty(np.eye(2, dtype=np.uint8)) == 1


def test_integers_that_are_not_are_called_integers():
    refused([[1, 0], [3, 4]], r"^members: .*row 1 \(zero-based\) sums to 7")
    # Counts and percentages are the usual reason, so the message says what came in.
    refused([[1, 0], [3, 4]], r"integer")


# ---------------------------------------------------------------- normalize and validate


def test_normalize_rescales_each_row():
    Q = cl.ConvexHull([[1, 3], [2, 2]], normalize=True)
    assert_array_equal(Q.members, [[0.25, 0.75], [0.5, 0.5]])
    counts = np.random.default_rng(0).integers(1, 9, (4, 3, 5))
    Q = cl.ConvexHull(counts, normalize=True)
    assert_allclose(Q.members, counts / counts.sum(axis=-1, keepdims=True), rtol=1e-15)


def test_normalize_keeps_the_dtype_and_the_input():
    P = (7 * dirichlet(3, 2, 4)).astype(np.float32)
    before = P.copy()
    P.flags.writeable = False
    Q = cl.ConvexHull(P, normalize=True)
    assert Q.dtype == np.float32
    assert_array_equal(P, before)
    assert_allclose(Q.members.sum(axis=-1), 1, rtol=2e-7)


@pytest.mark.parametrize(
    ("row", "match"),
    [
        ([1.0, -1.0], r"^members: entry at index \(1, 1\) .* is negative: -1; "),
        ([np.nan, 1.0], r"^members: entry at index \(1, 0\) .* is NaN; "),
        ([1.0, np.inf], r"^members: entry at index \(1, 1\) .* is infinite; "),
        ([0.0, 0.0], r"^members: row 1 \(zero-based\) sums to 0; a row of zeros"),
    ],
)
def test_normalize_still_refuses(row, match):
    refused([[0.5, 0.5], row], match, normalize=True)


def test_normalize_with_entries_near_the_largest_float():
    # The sum overflows, the proportions do not.
    Q = cl.ConvexHull([[1e308, 1e308], [1e308, 3e307]], normalize=True)
    assert_allclose(Q.members, [[0.5, 0.5], [1 / 1.3, 0.3 / 1.3]], rtol=1e-15)


def test_validate_false_skips_the_values_but_not_the_shape():
    cl.ConvexHull([[0.9, 0.9]], validate=False)
    refused([0.5, 0.5], "has 1 axes", validate=False)
    refused([[0.5j, 0.5]], "is complex", validate=False)
    P = dirichlet(5, 3, 4)
    assert_array_equal(
        cl.total_uncertainty(cl.ConvexHull(P, validate=False)), cl.total_uncertainty(P)
    )


# ---------------------------------------------------------------- checked when first read


#: Functions that take bare arrays.
OF_ARRAYS = [
    cl.total_uncertainty,
    cl.aleatoric_uncertainty,
    cl.epistemic_uncertainty,
    cl.quantify,
    cl.majority_vote,
]


def spoilt(P, fault):
    P = P.copy()
    P[3, 1, 2] = fault
    return P


@pytest.mark.parametrize("fault", [np.nan, np.inf, -0.5, 0.9])
@pytest.mark.parametrize(
    "function",
    [
        *OF_ARRAYS,
        cl.upper_entropy,
        cl.lower_entropy,
        cl.generalized_hartley,
        cl.maximum_mean_imprecision,
        cl.imprecision_bound,
        lambda Q: cl.total_uncertainty(Q, "ordinal"),
        lambda Q: cl.epistemic_uncertainty(Q, "ordinal"),
        lambda Q: Q.members,
        lambda Q: Q.lower(),
        lambda Q: Q[2:5].upper(),
        lambda Q: Q.center(),
        lambda Q: Q.maximin(),
        lambda Q: Q.to_intervals(),
        lambda Q: pickle.dumps(Q),
    ],
)
def test_checked_later_means_checked_in_the_same_words(function, fault):
    P = spoilt(dirichlet(9, 4, 5), fault)
    with pytest.raises(ValueError, match=r"^members: ") as call_whole_array:
        cl.ConvexHull(P)
    Q = cl.ConvexHull(P, validate="later")
    assert (Q.batch_shape, Q.n_members, Q.n_classes, Q.dtype) == ((9,), 4, 5, np.float64)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^members: ") as later:
            function(Q)
        assert str(later.value) == str(call_whole_array.value)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f8", np.longdouble])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_checked_later_gives_the_same_numbers(dtype, layout):
    P = layout(dirichlet(40, 6, 5).astype(dtype))
    now, later = cl.ConvexHull(P), cl.ConvexHull(P, validate="later")
    for one, other in zip(now.tv_uncertainty(), later.tv_uncertainty(), strict=True):
        assert_array_equal(one, other)
    bad = spoilt(P, np.nan)
    with pytest.raises(ValueError, match=r"entry at index \(3, 1, 2\) .* is NaN"):
        cl.quantify(bad)


def test_rows_are_not_validated_a_second_time(monkeypatch):
    P, calls = dirichlet(50, 6, 5), []
    kernel = _kernels.first_invalid_row
    counted = lambda *args: calls.append(1) or kernel(*args)  # noqa: E731
    monkeypatch.setattr(_kernels, "first_invalid_row", counted)
    for measure in (
        cl.total_uncertainty, cl.epistemic_uncertainty, cl.quantify, cl.upper_entropy,
        cl.lower_entropy,
    ):  # fmt: skip
        measure(P)
    assert not calls  # the rows were checked while they were measured
    Q = cl.ConvexHull(P, validate="later")
    cl.total_uncertainty(Q)
    cl.generalized_hartley(Q)
    assert not calls
    cl.generalized_hartley(P)
    assert len(calls) == 1


def test_later_refuses_at_once_what_needs_no_look_at_the_values():
    refused([0.5, 0.5], "has 1 axes", validate="later")
    refused([[0.5j, 0.5]], "is complex", validate="later")
    refused([[1, 0], [3, 4]], "integer", validate="later")
    refused([[0.5, -0.5]], "negative", validate="later", normalize=True)
    refused([[0.5, 0.5]], "^validate: is 'never'; choose one of 'later'", validate="never")


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["exact", "rounding"])
def test_a_row_on_the_edge_of_a_tolerance_is_judged_by_the_validation(limit):
    # The sum in another order may fall on the other side.
    rng = np.random.default_rng(0)
    off = EXACT if limit == "exact" else ROUNDING
    P = rng.dirichlet(np.ones(9), (1000, 5))
    P *= (1 + off + rng.uniform(-1e-15, 1e-15, (1000, 1, 1))) / P.sum(axis=2, keepdims=True)
    sides = set()
    for p in P:
        try:
            Q = cl.ConvexHull(p, validate="later")
            changed = not np.array_equal(Q.members, p)
        except ValueError:
            sides.add("refused")
            for measure in (cl.total_uncertainty, cl.upper_entropy, cl.lower_entropy):
                with pytest.raises(ValueError, match=r"sums to 1\.001"):
                    measure(p)
        else:
            sides.add(changed)
            assert 0 < cl.total_uncertainty(p) < 1
            assert_array_equal(cl.total_uncertainty(p), cl.total_uncertainty(Q.members))
            assert 0 < cl.lower_entropy(p) < cl.upper_entropy(p) < np.log2(9)
    assert sides == ({True, False} if limit == "exact" else {True, "refused"})


# ---------------------------------------------------------------- every function has the same door


@pytest.mark.parametrize("function", [*OF_ARRAYS, cl.as_credal_set])
def test_every_function_checks_bare_arrays(function):
    with pytest.raises(ValueError, match=r"^members: row 1 \(zero-based\) sums to 0.9; "):
        function([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(ValueError, match=r"^members: has 1 axes"):
        function([0.5, 0.5])


def test_points_and_test_functions_have_names_of_their_own():
    Q = cl.ConvexHull([[0.5, 0.25, 0.25]])
    with pytest.raises(ValueError, match=r"^p: it sums to 0.75; "):
        Q.contains([0.25, 0.25, 0.25])
    with pytest.raises(ValueError, match=r"^p: has 2 classes; pass distributions over 3 classes$"):
        Q.contains([0.5, 0.5])
    with pytest.raises(ValueError, match=r"^f: has shape \(2,\); pass one test function \(3,\) or"):
        Q.lower([1, 2])
    with pytest.raises(ValueError, match=r"^f: has shape \(1, 1, 3\); pass one test function"):
        Q.upper([[[1, 2, 3]]])
    with pytest.raises(
        ValueError, match=r"^f: is NaN at index 2 \(zero-based\); pass finite numbers$"
    ):
        Q.lower([1, 2, np.nan])
    with pytest.raises(ValueError, match=r"^f: is infinite at index \(1, 0\) \(zero-based\); pass"):
        Q.lower([[1, 2, 3], [np.inf, 0, 0]])
    with pytest.raises(ValueError, match=r"^f: is not numeric"):
        Q.lower(["a", "b", "c"])


def test_refuse_has_one_template():
    with pytest.raises(ValueError, match=r"^x: is odd; make it even$"):
        _validation.raise_invalid("x", "is odd", "make it even")
    assert _validation.format_index([3]) == "3"
    assert _validation.format_index(np.array([3, 1])) == "(3, 1)"


def test_shapes_that_do_not_go_together_are_refused_by_name():
    with pytest.raises(
        ValueError, match=r"^upper: has shape \(3, 3\), lower \(2, 3\); pass shapes"
    ):
        cl.ProbabilityIntervals(np.zeros((2, 3)), np.ones((3, 3)))
    Q = cl.ConvexHull(np.full((4, 2, 3), 1 / 3))
    with pytest.raises(ValueError, match=r"^p: has shape \(3,\), batch_shape \(4,\)"):
        Q.contains(np.full((3, 3), 1 / 3))
    with pytest.raises(ValueError, match=r"^q: has shape \(3, 2\), p \(2, 2\)"):
        cl.TotalVariation()(np.full((2, 2), 0.5), np.full((3, 2), 0.5))
    for tolerance in (np.nan, -1, "a"):
        with pytest.raises(ValueError, match=r"^tolerance: is"):
            Q.contains([1.0, 0.0, 0.0], tolerance)


def test_points_are_not_told_of_options_that_they_do_not_have():
    for refused in (
        lambda: cl.ConvexHull([[0.5, 0.5]]).contains([0.5, 0.4]),
        lambda: cl.TotalVariation()([0.5, 0.4], [0.5, 0.5]),
    ):
        with pytest.raises(ValueError, match=r"; divide it by its sum$") as error:
            refused()
        assert "normalize" not in str(error.value)


def test_a_hull_just_above_one_has_a_box():
    members = np.float32([[1.0001, 0.0]])
    assert cl.ConvexHull(members).to_intervals().upper().tolist() == [1.0, 0.0]
    assert cl.ProbabilityIntervals.from_members(members).upper().tolist() == [1.0, 0.0]
