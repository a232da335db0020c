"""Accuracy-rejection curves: the conventions, by hand and against a literal loop."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
import oracles

# ---------------------------------------------------------------- order


def test_most_uncertain_first_ties_in_their_order():
    assert_array_equal(cl.rejection_order([0.1, 0.9, 0.9, 0.5]), [1, 2, 3, 0])
    assert_array_equal(cl.rejection_order([1, 1, 1]), [0, 1, 2])
    assert_array_equal(cl.rejection_order(np.array([0, 2, 1], np.uint8)), [1, 2, 0])
    assert_array_equal(cl.rejection_order([True, False, True]), [0, 2, 1])
    assert_array_equal(cl.rejection_order([0.0, np.inf, -np.inf, 0.0]), [1, 0, 3, 2])
    assert_array_equal(cl.rejection_order([0.0, -0.0]), [0, 1])
    assert cl.rejection_order([]).shape == (0,)
    assert cl.rejection_order([0.3]).dtype == np.intp


def test_intervals_by_lower_end_then_upper_end_then_position():
    lower = np.array([0.2, 0.5, 0.2, 0.5, 0.2])
    upper = np.array([0.9, 0.6, 0.4, 0.6, 0.9])
    assert_array_equal(cl.rejection_order(cl.Interval(lower, upper)), [1, 3, 0, 4, 2])


@pytest.mark.parametrize("seed", range(5))
def test_order_against_sorting(seed):
    rng = np.random.default_rng(seed)
    lower, upper = rng.integers(0, 4, (2, 40)) / 4
    assert_array_equal(cl.rejection_order(lower), oracles.rejection_order(lower.tolist()))
    assert_array_equal(
        cl.rejection_order(cl.Interval(lower, upper)),
        oracles.rejection_order(list(zip(lower.tolist(), upper.tolist(), strict=True))),
    )


# ---------------------------------------------------------------- curves by hand


def test_curve_by_hand():
    # Rejected in the order 2 (wrong), 3, 1, 0; all others are right.
    curve = cl.rejection_curve([0, 1, 1, 0], [0, 1, 0, 0], [0.1, 0.2, 0.9, 0.3], n_bins=4)
    assert_array_equal(curve.rejection, [0, 0.25, 0.5, 0.75])
    assert_array_equal(curve.accuracy, [3 / 4, 3 / 3, 2 / 2, 1 / 1])
    # Trapezoids of width 1/4: (3/4 + 1)/2, 1, 1; over a length of 3/4.
    assert curve.auc == pytest.approx((7 / 8 + 1 + 1) / 4 / (3 / 4), abs=1e-15)
    assert curve.area == pytest.approx((7 / 8 + 1 + 1) / 4, abs=1e-15)
    assert curve.monotonicity_ratio == 1
    assert repr(curve) == "RejectionCurve(n_bins=4, auc=0.9583, monotonicity_ratio=1.0000)"


def test_the_worst_score_by_hand():
    # The wrong instance is kept to the end: 3/4, 2/3, 1/2, 0/1, every step falls.
    curve = cl.rejection_curve([0, 1, 1, 0], [0, 1, 0, 0], [0.9, 0.8, 0.1, 0.7], n_bins=4)
    assert_allclose(curve.accuracy, [3 / 4, 2 / 3, 1 / 2, 0], rtol=1e-15)
    assert curve.monotonicity_ratio == 0
    area = ((3 / 4 + 2 / 3) / 2 + (2 / 3 + 1 / 2) / 2 + (1 / 2 + 0) / 2) / 4
    assert curve.auc == pytest.approx(area / (3 / 4), rel=1e-14)


def test_steps_that_stay_level_do_not_decrease():
    # Right, wrong, right, wrong in the order of rejection: 1/2, 1/3, 1/2, 0.
    curve = cl.rejection_curve([1, 1, 1, 1], [1, 0, 1, 0], [4, 3, 2, 1], n_bins=4)
    assert_allclose(curve.accuracy, [1 / 2, 1 / 3, 1 / 2, 0], rtol=1e-15)
    assert curve.monotonicity_ratio == 1 / 3
    level = cl.rejection_curve([1, 1], [1, 1], [0, 0], n_bins=5)
    assert level.monotonicity_ratio == 1


def test_ties_keep_the_original_order():
    # All scores equal: the first half is rejected first.
    paper = {"n_bins": 2, "ties": "first"}
    curve = cl.rejection_curve([0, 0, 0, 0], [1, 1, 0, 0], [5, 5, 5, 5], **paper)
    assert_array_equal(curve.accuracy, [0.5, 1.0])
    curve = cl.rejection_curve([0, 0, 0, 0], [0, 0, 1, 1], [5, 5, 5, 5], **paper)
    assert_array_equal(curve.accuracy, [0.5, 0.0])


def test_ties_are_averaged_by_default():
    # The tied rows are right, wrong, wrong: 1/3 of what is kept of them is right.
    curve = cl.rejection_curve([0, 0, 0, 0], [0, 1, 1, 0], [5, 5, 5, 1], n_bins=4)
    assert_allclose(curve.accuracy, [1 / 2, (1 + 2 / 3) / 3, (1 + 1 / 3) / 2, 1], rtol=1e-15)
    score = np.ones(100)
    right = np.arange(100) < 84
    for order in (slice(None), slice(None, None, -1)):
        curve = cl.rejection_curve(right[order], np.ones(100, bool), score)
        assert_allclose(curve.accuracy, 0.84, rtol=1e-15)


@pytest.mark.slow
@settings(max_examples=40)
@given(rows=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6),
       n_bins=st.integers(2, 8))  # fmt: skip
def test_the_average_is_that_over_all_orders_of_ties(rows, n_bins):
    score, right = (list(column) for column in zip(*rows, strict=True))
    curves = [
        oracles.rejection_curve(
            [True] * len(rows), [right[i] for i in order], [score[i] for i in order], n_bins
        )[1]
        for order in itertools.permutations(range(len(rows)))
    ]
    curve = cl.rejection_curve(right, np.ones(len(rows), bool), score, n_bins)
    assert_allclose(curve.accuracy, np.mean(curves, axis=0), rtol=1e-12, atol=1e-15)


def test_losses_and_weights():
    # Rejected first: loss 1, then 0.5, then 0.
    curve = cl.rejection_curve(None, None, [3, 2, 1], 3, loss=[1, 0.5, 0])
    assert_allclose(curve.accuracy, [1 / 2, 3 / 4, 1], rtol=1e-15)
    weighted = cl.rejection_curve([0, 0], [0, 1], [1, 2], 4, sample_weight=[3, 1])
    repeated = cl.rejection_curve([0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 2], 4)
    assert_array_equal(weighted.accuracy, repeated.accuracy)
    # A weight of 1.5: at point b of 3, b/2 units are rejected.
    shares = cl.rejection_curve([0, 0], [0, 1], [1, 2], 3, sample_weight=[0.5, 1.0])
    assert_allclose(shares.accuracy, [1 / 3, 1 / 2, 1], rtol=1e-15)
    none = cl.rejection_curve([0, 0, 0], [0, 1, 1], [1, 2, 3], 2, sample_weight=[1, 1, 0])
    assert_array_equal(none.accuracy, [0.5, 1])


def test_interval_scores_by_hand():
    # Equal lower ends: the upper end decides, and instance 1 (wrong) goes first.
    score = cl.Interval(np.array([0.2, 0.2, 0.1]), np.array([0.3, 0.5, 0.9]))
    curve = cl.rejection_curve([0, 0, 0], [0, 1, 0], score, n_bins=3)
    assert_allclose(curve.accuracy, [2 / 3, 1, 1], rtol=1e-15)


def test_one_instance():
    right = cl.rejection_curve([3], [3], [0.5])
    assert_array_equal(right.accuracy, np.ones(30))
    assert right.auc == 1
    assert right.monotonicity_ratio == 1
    wrong = cl.rejection_curve([3], [4], [0.5], n_bins=2)
    assert_array_equal(wrong.accuracy, [0, 0])
    assert wrong.auc == 0
    assert wrong.monotonicity_ratio == 1


def test_fewer_instances_than_bins():
    # n = 2, B = 5: floor(2b / 5) = 0, 0, 0, 1, 1 are rejected; the wrong one goes first.
    curve = cl.rejection_curve([0, 0], [1, 0], [0.9, 0.1], n_bins=5)
    assert_array_equal(curve.accuracy, [0.5, 0.5, 0.5, 1, 1])
    assert_array_equal(curve.rejection, [0, 0.2, 0.4, 0.6, 0.8])


def test_the_floor_is_that_of_integers():
    # b = 22, B = 30, n = 75: 22 * 75 / 30 = 55 exactly, and 54 in floating point.
    assert int(np.floor(22 / 30 * 75)) == 54
    y_true = np.zeros(75, int)
    y_pred = np.zeros(75, int)
    y_pred[54] = 1  # the 55th to be rejected is the only wrong one
    curve = cl.rejection_curve(y_true, y_pred, -np.arange(75), n_bins=30)
    assert curve.accuracy[22] == 1
    assert curve.accuracy[21] == 1 - 1 / (75 - 52)  # 21 * 75 // 30 = 52


# ---------------------------------------------------------------- against the loop


@pytest.mark.parametrize("n", [1, 2, 7, 29, 30, 31, 75, 100])
@pytest.mark.parametrize("n_bins", [2, 3, 7, 30])
def test_curve_against_the_loop(n, n_bins):
    rng = np.random.default_rng(n * 100 + n_bins)
    y_true, y_pred = rng.integers(0, 3, (2, n))
    score = rng.integers(0, 5, n) / 4
    curve = cl.rejection_curve(y_true, y_pred, score, n_bins=n_bins, ties="first")
    rates, accuracies, auc, ratio = oracles.rejection_curve(
        y_true.tolist(), y_pred.tolist(), score.tolist(), n_bins
    )
    assert len(curve.rejection) == len(curve.accuracy) == n_bins
    assert_allclose(curve.rejection, rates, rtol=1e-15)
    assert_allclose(curve.accuracy, accuracies, rtol=1e-14)
    assert curve.auc == pytest.approx(auc, rel=1e-12, abs=1e-15)
    assert curve.monotonicity_ratio == pytest.approx(ratio, rel=1e-12)


def test_perfect_curves_have_an_area_of_exactly_one():
    assert cl.rejection_curve([0, 1], [0, 1], [0.1, 0.2]).auc == 1
    off = {
        n_bins: auc
        for n_bins in range(2, 300)
        if (auc := cl.rejection_curve([0] * 7, [0] * 7, range(7), n_bins=n_bins).auc) != 1
    }
    assert off == {}


def test_no_curve_has_an_area_above_one_or_below_zero():
    for n_bins in range(2, 60):
        for y_pred in ([0, 0, 0], [1, 1, 1], [0, 1, 0]):
            auc = cl.rejection_curve([0, 0, 0], y_pred, [3, 2, 1], n_bins=n_bins).auc
            assert 0 <= auc <= 1


def test_the_oracle_order_is_best_and_its_reverse_worst():
    rng = np.random.default_rng(3)
    y_true, y_pred = rng.integers(0, 2, (2, 200))
    wrong = (y_true != y_pred).astype(float)
    areas = [cl.rejection_curve(y_true, y_pred, score).auc
             for score in (wrong, rng.random(200), -wrong)]  # fmt: skip
    assert areas[0] > areas[1] > areas[2]


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("y_true", "y_pred"),
    [
        (["cat", "dog", "cat"], ["cat", "cat", "cat"]),
        (np.array(["cat", "dog", "cat"], object), ["cat", "cat", "cat"]),
        ([-7, 1000, -7], [-7, -7, -7]),
        ([1.0, 2.0, 1.0], [1, 1, 1]),
        ([True, False, True], [True, True, True]),
        (np.array([1, 2, 1], np.int8), np.array([1, 1, 1], np.uint64)),
        (("a", "bb", "a"), np.array(["a", "a", "a"])),
    ],
)
def test_labels_of_any_kind(y_true, y_pred):
    curve = cl.rejection_curve(y_true, y_pred, [1, 3, 2], n_bins=3)
    assert_allclose(curve.accuracy, [2 / 3, 1, 1], rtol=1e-15)


def test_votes_and_scores_fit_together():
    P = np.random.default_rng(0).dirichlet(np.ones(4), (60, 5))
    y = np.random.default_rng(1).integers(0, 4, 60)
    u = cl.quantify(P)
    for score in (u.total, u.aleatoric, u.epistemic):
        curve = cl.rejection_curve(y, cl.majority_vote(P), score)
        assert curve.accuracy[0] == np.mean(cl.majority_vote(P) == y)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (
            ([0, 1], [0, 1], [0.5, np.nan]),
            r"^score: is NaN at index 1 \(zero-based\); pass a score",
        ),
        (
            ([0, 1], [0, 1], cl.Interval(np.array([0.1, np.nan]), np.array([0.5, 0.5]))),
            r"^score.lower: is NaN at index 1",
        ),
        (
            ([0, 1], [0, 1], cl.Interval(np.array([0.1, 0.2]), np.array([np.nan, 0.5]))),
            r"^score.upper: is NaN at index 0",
        ),
        (
            ([0, 1], [0, 1], cl.Interval(np.zeros(2), np.zeros(3))),
            r"^score: has ends of lengths 2 and 3; pass an Interval with ends of equal length$",
        ),
        (([0, 1], [0], [1, 2]), r"^y_pred: has 1 entries; pass 2, as in y_true$"),
        (([0, 1], [0, 1], [1]), r"^score: has 1 entries; pass 2, as in y_true$"),
        (([], [], []), r"^y_true: is empty; pass at least one instance$"),
        (([[0], [1]], [0, 1], [1, 2]), r"^y_true: has shape \(2, 1\); pass one value per instance"),
        (([0, 1], [0, 1], [[1, 2]]), r"^score: has shape \(1, 2\); pass one value per instance"),
        (([0, 1], ["0", "1"], [1, 2]), r"^y_pred: has dtype <U1, y_true has int64; pass labels of"),
        (([0, np.nan], [0, 1], [1, 2]), r"^y_true: is NaN at index 1 \(zero-based\); drop unlab"),
        (([0, 1], [np.nan, 1], [1, 2]), r"^y_pred: is NaN at index 0 \(zero-based\); drop unlab"),
        (
            (["a", None], ["a", "b"], [1, 2]),
            r"^y_true: is None at index 1 \(zero-based\); drop unlab",
        ),
        ((pd.Series([np.nan, "b"]), ["a", "b"], [1, 2]), r"^y_true: is NaN at index 0"),
        ((["a", "b"], pd.array(["a", pd.NA]), [1, 2]), r"^y_pred: is <NA> at index 1"),
        ((np.array([0, 1], object), ["0", "1"], [1, 2]), r"^y_pred: has dtype <U1, y_true has int"),
        (([0, 1], [0, 1], ["a", "b"]), r"^score: is not numeric"),
        (([0, 1], [0, 1], [1j, 2]), r"^score: is complex"),
        (([0, 1], [0, 1], [1, 2], 1), r"^n_bins: is 1; pass a whole number >= 2$"),
        (([0, 1], [0, 1], [1, 2], 2.0), r"^n_bins: is 2.0; pass a whole number >= 2$"),
        (([0, 1], [0, 1], [1, 2], True), r"^n_bins: is True; pass a whole number >= 2$"),
        (([0, 1], [0, 1], [1, 2], "30"), r"^n_bins: is '30'; pass a whole number >= 2$"),
    ],
)
def test_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        cl.rejection_curve(*arguments)


@pytest.mark.parametrize(
    "labels",
    [np.array([b"a", b"b"]), pd.Series(["a", "b"], dtype="string"), pd.Categorical(["a", "b"]),
     np.array(["a", "b"], object)],
)  # fmt: skip
def test_labels_are_what_they_say(labels):
    assert cl.rejection_curve(labels, ["a", "c"], [1, 2], 2).accuracy.tolist() == [0.5, 1.0]
    assert cl.rejection_curve(["a", "c"], labels, [1, 2], 2).accuracy.tolist() == [0.5, 1.0]


def test_numbers_among_objects_are_numbers():
    objects = np.array([1, 2], object)
    assert cl.rejection_curve(objects, [1.0, 3.0], [1, 2], 2).accuracy.tolist() == [0.5, 1.0]


def test_a_curve_cannot_be_changed():
    curve = cl.rejection_curve([0], [0], [0])
    with pytest.raises(AttributeError):
        curve.accuracy = None


def test_numpy_integers_are_whole_numbers():
    assert len(cl.rejection_curve([0], [0], [0], n_bins=np.int64(4)).accuracy) == 4
