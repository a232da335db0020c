"""Metrics of selective prediction: by hand, against the definitions, and their invariances."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad

import credalens as cl
import oracles_selective as oracle
from credalens.evaluation.curve_metrics import METRICS
from credalens.evaluation.risk_coverage import harmonic_difference, retained_weight

pytestmark = pytest.mark.filterwarnings("ignore:prr and auroc are NaN:RuntimeWarning")


def values(found, names=METRICS):
    return {name: getattr(found, name) for name in names}


def of_losses(losses, scores, **options):
    return cl.selective_metrics(None, None, scores, loss=losses, **options)


def assert_same(found, expected, rtol=1e-11, atol=1e-13, names=METRICS):
    for name in names:
        a = getattr(found, name)
        b = expected[name] if isinstance(expected, dict) else getattr(expected, name)
        assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=name)


ROWS = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.5]), st.sampled_from([0.0, 1.0])),
    min_size=1, max_size=6,
)  # fmt: skip
REAL_ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.125, 0.5, 1.0, 1.75])),
    min_size=1, max_size=6,
)  # fmt: skip
MANY_ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.floats(-2, 3, width=16), st.integers(1, 3)),
    min_size=1, max_size=30,
)  # fmt: skip
CAPS = st.sampled_from([1.0, 0.5, 0.34])


# ---------------------------------------------------------------- by hand


def test_by_hand():
    # Errors in order of increasing score: 0, 1, 0, 1; risks 0, 1/2, 1/3, 1/2.
    found = cl.selective_metrics([0, 1, 1, 0], [0, 1, 0, 1], [0.1, 0.3, 0.2, 0.4])
    assert found.n == 4
    assert found.risk == 0.5
    assert found.aurc == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4, rel=1e-15)
    assert found.auarc == 1 - found.aurc
    # The oracle has the errors 0, 0, 1, 1.
    assert found.eaurc == pytest.approx(found.aurc - (0 + 0 + 1 / 3 + 1 / 2) / 4, rel=1e-14)
    assert found.augrc == (0 + 1 + 1 + 2) / 4 / 4
    assert found.eaugrc == found.augrc - (0 + 0 + 1 + 2) / 16
    assert found.prr == pytest.approx((1 / 2 - 1 / 3) / (1 / 2 - 5 / 24), rel=1e-14)
    assert found.auroc == 3 / 4
    capped = cl.selective_metrics([0, 1, 1, 0], [0, 1, 0, 1], [1, 3, 2, 4], max_rejection=0.5)
    # Retained 3 and 4: risks 1/3 and 1/2, those of the oracle the same.
    assert capped.prr == pytest.approx(1)


def test_a_constant_score_is_a_random_order():
    right = np.arange(10) < 7
    found = cl.selective_metrics(right, None, np.ones(10))
    assert found.aurc == pytest.approx(0.3, rel=1e-14)
    assert found.augrc == pytest.approx(0.3 * 11 / 20, rel=1e-14)
    assert found.prr == pytest.approx(0, abs=1e-14)
    assert found.auroc == 0.5


def test_the_first_order_is_that_of_the_paper():
    # Rejected first: the first row. Retained first: the last.
    found = cl.selective_metrics([1, 1], [0, 1], [5, 5], ties="first")
    assert (found.aurc, found.auroc) == (0.25, 1)
    found = cl.selective_metrics([1, 1], [1, 0], [5, 5], ties="first")
    assert (found.aurc, found.auroc) == (0.75, 0)
    curve = cl.rejection_curve([1, 1], [1, 0], [5, 5], 2, ties="first")
    assert curve.accuracy.tolist() == [0.5, 0]


def test_interval_scores_are_ordered_by_both_ends():
    lower, upper = np.array([0.2, 0.2, 0.1, 0.2]), np.array([0.3, 0.5, 0.9, 0.3])
    right = [False, True, True, True]
    found = cl.selective_metrics(right, None, cl.Interval(lower, upper))
    expected = cl.selective_metrics(right, None, [1, 2, 0, 1])
    assert values(found) == values(expected)


@pytest.mark.parametrize(
    ("right", "aurc", "augrc"),
    [([True] * 4, 0, 0), ([False] * 4, 1, 5 / 8), ([True], 0, 0), ([False], 1, 1)],
)
def test_without_two_losses(right, aurc, augrc):
    with pytest.warns(RuntimeWarning, match="prr and auroc are NaN: they need two") as issued:
        found = cl.selective_metrics(right, None, np.arange(len(right)))
    assert len(issued) == 1
    assert (found.aurc, found.augrc, found.auarc) == (aurc, augrc, 1 - aurc)
    assert (found.eaurc, found.eaugrc) == (0, 0)
    assert math.isnan(found.prr)
    assert math.isnan(found.auroc)
    assert found.risk_at(0.3) == aurc
    assert found.coverage_at(0.5) == (0 if aurc else 1)


def test_a_cap_below_two_coverages_leaves_prr_undefined():
    with pytest.warns(RuntimeWarning, match="at least two coverages"):
        found = cl.selective_metrics([True, False, True], None, [1, 3, 2], max_rejection=0.5)
    assert math.isnan(found.prr)
    assert found.auroc == 1


# ---------------------------------------------------------------- against the definitions


@pytest.mark.slow
@settings(max_examples=60)
@given(rows=ROWS, cap=CAPS)
def test_errors_against_all_orders(rows, cap):
    scores, losses = zip(*rows, strict=True)
    found = cl.selective_metrics(
        np.zeros(len(rows)), losses, scores, max_rejection=cap, loss="zero_one"
    )
    assert_same(found, oracle.metrics(losses, scores, cap))
    assert_same(of_losses(losses, scores, max_rejection=cap), found)


@pytest.mark.slow
@settings(max_examples=60)
@given(rows=REAL_ROWS, cap=CAPS)
def test_losses_against_all_orders(rows, cap):
    scores, losses = zip(*rows, strict=True)
    found = of_losses(losses, scores, max_rejection=cap)
    assert_same(found, oracle.metrics(losses, scores, cap))


@settings(max_examples=40)
@given(rows=REAL_ROWS, coverage=st.integers(1, 12), risk=st.integers(0, 21))
def test_risk_and_coverage_against_all_orders(rows, coverage, risk):
    scores, losses = zip(*rows, strict=True)
    found = of_losses(losses, scores)
    assert_allclose(
        found.risk_at(coverage / 12),
        oracle.risk_at(losses, scores, Fraction(coverage, 12)),
        rtol=1e-13, atol=1e-15,
    )  # fmt: skip
    # Not a value that a risk can have, which rounding may put on either side.
    limit = Fraction(risk, 12) + Fraction(1, 10**6)
    assert found.coverage_at(float(limit)) == oracle.coverage_at(losses, scores, limit)


def test_coverage_at_a_risk_that_is_attained():
    errors = np.array([0, 0, 0, 1, 0, 1, 1, 0])
    found = of_losses(errors, np.arange(8))
    for k in range(1, 9):
        assert found.coverage_at(errors[:k].mean()) >= k / 8
    assert found.coverage_at(0.2) == 5 / 8
    assert found.coverage_at(np.array([[0.0, 0.2], [1.0, -1.0]])).tolist() == [
        [3 / 8, 5 / 8],
        [1, 0],
    ]
    tied = of_losses([0, 0, 1, 0, 0, 0, 1], [0, 0, 1, 1, 1, 1, 1])
    # After two, the risk is (k - 2) 2/5 / k: 1/5 at k = 4.
    assert tied.coverage_at(0.2) == 4 / 7
    assert tied.coverage_at(0.1999) == 3 / 7


@pytest.mark.slow
def test_the_whole_curve_from_risk_at():
    rng = np.random.default_rng(0)
    losses, scores = rng.random(100), rng.random(100)
    found = of_losses(losses, scores)
    risks = found.risk_at(np.arange(1, 101) / 100)
    assert_allclose(risks, losses[np.argsort(scores)].cumsum() / np.arange(1, 101), rtol=1e-13)
    assert found.aurc == pytest.approx(risks.mean(), rel=1e-13)
    for n in (7, 29, 1000, 999_999):  # k / n times n may exceed k by rounding
        k = np.arange(1, n + 1)
        every = of_losses(np.arange(n) % 2, np.arange(n)).risk_at(k / n)
        assert_allclose(every, (k // 2) / k, rtol=1e-12)


def test_augrc_is_a_function_of_auroc():
    rng = np.random.default_rng(1)
    for n in (10, 1000):
        wrong, score = rng.random(n) < 0.3, rng.integers(0, 7, n)
        found = of_losses(wrong, score)
        error = wrong.mean()
        expected = (1 - found.auroc) * error * (1 - error) + error**2 / 2 + error / (2 * n)
        assert found.augrc == pytest.approx(expected, rel=1e-12)


def test_large_samples_against_sorting():
    rng = np.random.default_rng(2)
    n = 200_000
    score, losses = rng.random(n), rng.random(n)
    risks = losses[np.argsort(score)].cumsum() / np.arange(1, n + 1)
    best = np.sort(losses).cumsum() / np.arange(1, n + 1)
    found = of_losses(losses, score)
    assert found.aurc == pytest.approx(risks.mean(), rel=1e-12)
    assert found.eaurc == pytest.approx(risks.mean() - best.mean(), rel=1e-10)
    wrong = losses < 0.1
    # The oracle of large samples: eps + (1 - eps) ln(1 - eps).
    eps = wrong.mean()
    limit = eps + (1 - eps) * math.log(1 - eps)
    found = of_losses(wrong, score)
    assert found.aurc - found.eaurc == pytest.approx(limit, abs=1e-5)
    assert found.aurc - found.eaurc != limit


# ---------------------------------------------------------------- invariances


@pytest.mark.slow
@settings(max_examples=40)
@given(rows=MANY_ROWS, seed=st.integers(0, 99), cap=CAPS)
def test_invariances(rows, seed, cap):
    scores, losses, weights = (np.array(column) for column in zip(*rows, strict=True))
    found = of_losses(losses, scores, max_rejection=cap)
    # The order of the rows.
    order = np.random.default_rng(seed).permutation(len(rows))
    assert_same(of_losses(losses[order], scores[order], max_rejection=cap), found, 1e-9, 1e-11)
    # Strictly increasing functions of the score.
    assert values(of_losses(losses, np.exp(scores) - 3, max_rejection=cap)) == pytest.approx(
        values(found), nan_ok=True
    )
    # A row of weight 2 is two rows, and rows of weight 0 are none.
    weighted = of_losses(losses, scores, sample_weight=weights, max_rejection=cap)
    again = of_losses(*(np.repeat(x, weights) for x in (losses, scores)), max_rejection=cap)
    assert_same(weighted, again, 1e-9, 1e-11)
    share = np.arange(1, weights.sum() + 1) / weights.sum()
    assert_allclose(weighted.risk_at(share), again.risk_at(share), rtol=1e-9, atol=1e-12)
    assert weighted.coverage_at(0.4375) == again.coverage_at(0.4375)
    none = of_losses(
        np.append(losses, 99.0), np.append(scores, 0), sample_weight=np.append(weights, 0),
        max_rejection=cap,
    )  # fmt: skip
    assert_same(none, weighted)


@pytest.mark.slow
@settings(max_examples=40)
@given(rows=MANY_ROWS, factor=st.sampled_from([0.3, 1.0, 2.5]), cap=CAPS)
def test_rows_of_equal_score_can_be_merged(rows, factor, cap):
    scores, losses, weights = (np.array(column) for column in zip(*rows, strict=True))
    weights = weights * factor
    names = ("aurc", "auarc", "augrc")  # the oracle depends on the single losses
    found = of_losses(losses, scores, sample_weight=weights, max_rejection=cap)
    distinct, block = np.unique(scores, return_inverse=True)
    total = np.bincount(block, weights)
    mean = np.bincount(block, weights * losses) / total
    merged = of_losses(mean, distinct, sample_weight=total, max_rejection=cap)
    assert_same(merged, found, 1e-9, 1e-11, names)
    # Splitting a row into two of the same score and loss changes nothing.
    split = of_losses(
        np.repeat(losses, 2), np.repeat(scores, 2),
        sample_weight=(weights[:, None] * [0.25, 0.75]).ravel(), max_rejection=cap,
    )  # fmt: skip
    assert_same(split, found, 1e-9, 1e-11)


def harmonic(x):
    """The harmonic numbers of real arguments, by their integral."""
    return quad(lambda t: (1 - t**x) / (1 - t), 0, 1, epsabs=1e-13, epsrel=1e-13)[0]


def test_harmonic_numbers_of_real_arguments():
    for start, stop in ((0, 1), (0, 0.3), (0.25, 7.5), (5, 30.1), (23.9, 24.2), (24, 40), (3, 3)):
        expected = harmonic(stop) - harmonic(start)
        assert harmonic_difference(start, stop) == pytest.approx(expected, abs=1e-11)
    for start, steps in (
        (0, 40),
        (0.7, 30),
        (23.5, 3),
        (24, 1),
        (1e3 + 0.1, 7),
        (1e6, 1),
        (1e9, 2),
    ):
        expected = math.fsum(1 / (start + i) for i in range(1, steps + 1))
        assert harmonic_difference(start, start + steps) == pytest.approx(expected, rel=1e-13)


def test_weights_that_are_no_whole_numbers():
    # One block of weight 2.5 with mean loss 0.4, then one of weight 0.5 with loss 1.
    found = of_losses([0, 1, 1], [1, 1, 2], sample_weight=[1.5, 1.0, 0.5])
    aurc = (2.5 * 0.4 + 0.5 + (1 - 2.5) * (harmonic(3) - harmonic(2.5))) / 3
    assert found.aurc == pytest.approx(aurc, rel=1e-11)
    assert found.risk_at(0.5) == pytest.approx(0.4, rel=1e-15)
    assert found.risk == pytest.approx(0.5, rel=1e-15)


def test_the_rejected_share_is_a_decimal_fraction():
    assert retained_weight(100.0, 0.29) == 71
    assert int(0.29 * 100) == 28
    assert retained_weight(2.5, 0.5) == 1.25


# ---------------------------------------------------------------- losses


def test_named_losses():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 20)
    y, score = rng.integers(0, 3, 20), rng.random(20)
    brier = [sum((p[i, k] - (y[i] == k)) ** 2 for k in range(3)) for i in range(20)]
    cases = {
        "brier": (y, p, brier),
        "absolute": (y, score, np.abs(y - score)),
        "squared": (y, score, (y - score) ** 2),
        "zero_one": (y, p.argmax(axis=1), y != p.argmax(axis=1)),
    }
    for name, (truth, pred, losses) in cases.items():
        found = cl.selective_metrics(truth, pred, score, loss=name)
        assert_same(found, of_losses(losses, score))
    found = cl.selective_metrics(y, p, score, loss=lambda y, p: 1 - p[np.arange(20), y])
    assert_same(found, of_losses(1 - p[np.arange(20), y], score))


def test_auroc_needs_two_losses_of_any_value():
    assert of_losses([2.5, 7, 2.5], [1, 3, 2]).auroc == 1
    assert of_losses([7, 2.5, 2.5], [1, 1, 2]).auroc == 0.25
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(of_losses([0, 0.5, 1], [1, 3, 2]).auroc)


def test_labels_of_any_kind():
    for y, pred in (
        (["a", "b", "a"], ["a", "a", "a"]),
        (pd.Series(["a", "b", "a"]), np.array(["a", "a", "a"], object)),
        ([1, 2, 1], [1.0, 1.0, 1.0]),
    ):
        assert cl.selective_metrics(y, pred, [1, 3, 2]).auroc == 1


# ---------------------------------------------------------------- groups


def test_groups():
    rng = np.random.default_rng(0)
    wrong, score, weight = rng.random(60) < 0.4, rng.integers(0, 9, 60), rng.integers(0, 3, 60)
    group = rng.choice(["x", "y", "z"], 60)
    found = of_losses(wrong, score, groups=group, sample_weight=weight)
    assert list(found) == ["x", "y", "z"]
    assert len(found) == 3
    for name in found:
        rows = group == name
        alone = of_losses(wrong[rows], score[rows], sample_weight=weight[rows])
        assert values(found[name]) == values(alone)
    frame = found.to_pandas()
    assert frame.index.name == "group"
    assert frame.loc["y", "aurc"] == found["y"].aurc
    assert frame["n"].sum() == 60
    assert repr(found).startswith("GroupedSelectiveMetrics: 3 rows\ngroup  ")
    numbers = of_losses(wrong, score, groups=np.arange(60) % 2)
    assert list(numbers) == [0, 1]


def test_one_warning_for_all_groups():
    with pytest.warns(RuntimeWarning, match="in 2 of 3 groups") as issued:
        of_losses([0, 1, 0, 1], [1, 2, 3, 4], groups=[0, 0, 1, 2])
    assert len(issued) == 1


def test_a_group_without_weight_is_left_out():
    found = of_losses([0, 1, 0], [1, 2, 3], groups=["a", "a", "b"], sample_weight=[1, 2, 0])
    assert list(found) == ["a"]


# ---------------------------------------------------------------- results and errors


def test_result():
    found = cl.selective_metrics([0, 1, 1, 0], [0, 1, 0, 1], [0.1, 0.3, 0.2, 0.4])
    assert repr(found).splitlines()[0] == "SelectiveMetrics(n=4, risk=0.5000)"
    frame = found.to_pandas()
    assert frame["value"].to_dict() == values(found)
    assert frame.index.name == "metric"
    assert "<th>aurc</th>" in found._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [0], [1, 2]), {}, r"^pred: has 1 entries; pass 2, as in y$"),
        (([0, 1], [0, 1], [1]), {}, r"^score: has 1 entries; pass 2, as in y$"),
        (([0, 1], [0, 1], [1, np.nan]), {}, r"^score: is NaN at index 1"),
        (([], [], []), {}, r"^y: is empty"),
        (([0, 1], [[1, 0], [0, 1]], [1, 2]), {}, r"^pred: has shape \(2, 2\); pass predicted lab"),
        (([0, 2], None, [1, 2]), {}, r"^pred: is None; pass the predictions, or as y whether"),
        (([0, 1], [0, 1], [1, 2]), {"loss": "log"}, r"^loss: is 'log'; choose one of"),
        ((None, None, [1, 2]), {"loss": [0, np.inf]}, r"^loss: is infinite at index 1"),
        ((None, None, [1, 2, 3]), {"loss": [0, 1]}, r"^score: has 3 entries; pass 2, as in loss$"),
        (([0, 1], [0, 1], [1, 2]), {"loss": [1]}, r"^y: has 2 entries; pass 1, as in loss$"),
        (([0, 3], [[1, 0], [0, 1]], [1, 2]), {"loss": "brier"}, r"^y: is 3 at index 1"),
        (([0, 1], [0.5, 1], [1, 2]), {"loss": "brier"}, r"^pred: "),
        (([0, "a"], [0.5, 1], [1, 2]), {"loss": "absolute"}, r"^y: is not numeric"),
        (([0, 1], [0, 1], [1, 2]), {"sample_weight": [1, -1]}, r"^sample_weight: is -1 at index 1"),
        (([0, 1], [0, 1], [1, 2]), {"sample_weight": [0, 0]}, r"^sample_weight: is 0 for every"),
        (([0, 1], [0, 1], [1, 2]), {"sample_weight": [1]}, r"^sample_weight: has 1 entries"),
        (([0, 1], [0, 1], [1, 2]), {"ties": "last"}, r"^ties: is 'last'; choose one of"),
        (([0, 1], [0, 1], [1, 2]), {"max_rejection": 0}, r"^max_rejection: is 0"),
        (([0, 1], [0, 1], [1, 2]), {"groups": [1]}, r"^groups: has 1 entries"),
        (([0, 1], [0, 1], [1, 2]), {"groups": ["a", None]}, r"^groups: is None at index 1"),
    ],
)
def test_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        cl.selective_metrics(*arguments, **options)


def test_refused_coverages():
    found = cl.selective_metrics([True, False], None, [1, 2])
    for coverage in (0, -0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match=r"coverage: is .*; pass numbers in \(0, 1\]"):
            found.risk_at(coverage)
    with pytest.raises(ValueError, match="risk: is NaN"):
        found.coverage_at(np.nan)


def test_normalised_weights_are_warned_of():
    with pytest.warns(UserWarning, match="sample_weight sums to 1.*multiply by 4"):
        of_losses([0, 1, 0, 1], [1, 2, 3, 4], sample_weight=np.full(4, 0.25))
