"""Possibility distributions: closed forms at any number of classes, construction, errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens import CredalSet


@st.composite
def contours(draw, max_classes=6):
    n, K = draw(st.integers(1, 4)), draw(st.integers(1, max_classes))
    entries = draw(st.sampled_from([st.integers(0, 4).map(lambda i: i / 4), st.floats(0, 1)]))
    contour = draw(hnp.arrays(np.float64, (n, K), elements=entries)).copy()
    modes = draw(hnp.arrays(np.int64, n, elements=st.integers(0, K - 1)))
    contour[np.arange(n), modes] = 1.0
    return contour


@pytest.mark.slow
@given(contours())
def test_measures_are_those_of_the_belief_function(contour):
    Q, B = cl.Possibility(contour), cl.BeliefFunction.possibility(contour)
    ours, theirs = (
        cl.quantify(Q, ["tv", "entropy", "hartley"]),
        cl.quantify(B, ["tv", "entropy", "hartley"]),
    )
    for family, u in ours.items():
        for (name, x), y in zip(
            u._arrays().items(), theirs[family]._arrays().values(), strict=True
        ):
            assert_allclose(x, y, rtol=0, atol=1e-9, err_msg=f"{family} {name}")
    for distance in ("tv", "ordinal", "kolmogorov"):
        assert_allclose(
            cl.maximum_mean_imprecision(Q, distance), cl.maximum_mean_imprecision(B, distance),
            rtol=0, atol=1e-9,
        )  # fmt: skip
    f = np.random.default_rng(0).normal(size=(3, contour.shape[1]))
    assert_allclose(Q.lower(f), B.lower(f), atol=1e-12)
    assert_allclose(Q.upper(f), B.upper(f), atol=1e-12)


@pytest.mark.slow
@given(contours())
def test_the_formulas_of_the_sorted_contour(contour):
    Q, K = cl.Possibility(contour), contour.shape[1]
    falling = -np.sort(-contour, axis=1)
    second = falling[:, 1] if K > 1 else np.zeros(len(contour))
    u = cl.quantify(Q)
    assert_allclose(u.total, second, atol=1e-12)
    assert_allclose(u.epistemic, second / 2, atol=1e-12)
    assert_array_equal(u.aleatoric.lower, 0)
    rising = np.concatenate([np.zeros((len(contour), 1)), np.sort(contour, axis=1)], axis=1)
    level = ((1 - rising[:, :K]) / np.arange(K, 0, -1)).max(axis=1)
    assert_allclose(u.aleatoric.upper, 1 - level if K > 1 else 0 * level, atol=1e-12)
    i = np.arange(2, K + 1)
    hartley = (falling[:, 1:] * np.log2(i / (i - 1))).sum(axis=1)
    assert_allclose(cl.generalized_hartley(Q), hartley, atol=1e-12)
    for row, value in zip(contour, cl.maximum_mean_imprecision(Q, "ordinal"), strict=True):
        y = int(row.argmax())
        right = sum(row[k:].max() for k in range(y + 1, K))
        left = sum(row[: k + 1].max() for k in range(y))
        assert_allclose(value, right + left, atol=1e-12)


@pytest.mark.slow
@given(contours(max_classes=5))
def test_scoring_rules_are_those_of_the_extreme_points(contour):
    Q = cl.Possibility(contour)
    for loss in ("log", "brier", "spherical", "zero_one"):
        ours, theirs = (cl.quantify(x, f"scoring:{loss}") for x in (Q, Q.to_hull()))
        for (name, x), y in zip(ours._arrays().items(), theirs._arrays().values(), strict=True):
            assert_allclose(x, y, rtol=0, atol=2e-9, err_msg=f"{loss} {name}")
    zero_one = super(cl.Possibility, Q).max_zero_one_divergence()
    assert_allclose(Q.max_zero_one_divergence(), zero_one, atol=1e-9)
    point = super(cl.Possibility, Q).min_norm_point(distribution=True)[2]
    assert_allclose(Q.min_norm_point(distribution=True)[2], point, atol=1e-5)


def test_any_number_of_classes():
    K, rng = 3000, np.random.default_rng(0)
    contour = rng.random((2, K)) ** 8
    contour[[0, 1], [17, 2999]] = 1.0
    Q = cl.Possibility(contour)
    u = cl.quantify(Q, ["tv", "entropy", "hartley", "confidence", "labelwise:credal"])
    assert_allclose(u["tv"].total, np.sort(contour, axis=1)[:, -2])
    assert (u["hartley"].epistemic > 0).all()
    assert cl.maximum_mean_imprecision(Q, "ordinal").shape == (2,)
    assert Q.contains(Q.center()).all()
    value, _, p = Q.max_entropy(distribution=True)
    assert Q.contains(p).all()
    # Gibbs' inequality at the maximiser: no member has more entropy.
    assert (Q.upper(-np.log(p[0]))[0] <= value[0] + 1e-9).all()
    _, gap, nearest = Q.min_norm_point(distribution=True)
    assert (gap <= 1e-12).all()
    assert_allclose(nearest, p)
    event = np.arange(0, K, 2)
    assert_allclose(Q.upper_probability(event), contour[:, ::2].max(axis=1))
    assert_allclose(Q.lower_probability(event), 1 - contour[:, 1::2].max(axis=1))
    assert_array_equal(cl.quantify(Q, "scoring:zero_one").epistemic, 1)
    with pytest.raises(ValueError, match=r"contour: has 3000 classes.*at most 16"):
        Q.extreme_points()


def test_ordinal_distances_with_positions():
    contour = np.array([0.3, 1.0, 0.2, 0.6, 0.1])
    Q = cl.Possibility(contour)
    for positions in ([0, 1, 2, 3, 4], [0, 5, 1, 2, 2.5], [3, 1, 2, 0, 9]):
        d = cl.Wasserstein.ordinal(positions)
        hull = cl.epistemic_uncertainty(Q.to_hull(), d)
        assert_allclose(cl.epistemic_uncertainty(Q, d), hull, atol=1e-12)
    tree = cl.Wasserstein.tree([5, 5, 6, 6, 6, 7, 7, -1], [1, 2, 1, 1, 3, 1, 2, 0])
    assert_allclose(
        cl.epistemic_uncertainty(Q, tree), CredalSet.vertex_diameter(Q, tree) / 2, atol=1e-12
    )


def test_from_conformal():
    rng = np.random.default_rng(1)
    known, scores = rng.random(99), rng.random((40, 5))
    Q = cl.Possibility.from_conformal(known, scores)
    values = np.array([[(1 + (known >= s).sum()) / 100 for s in row] for row in scores])
    for row, literal in zip(Q.contour, values, strict=True):
        top = literal == literal.max()
        assert_allclose(row[~top], literal[~top])
        assert_array_equal(row[top], 1)
    # The region above alpha has lower probability at least 1 - alpha.
    for alpha in (0.05, 0.1, 0.5):
        for i, region in enumerate(Q.contour > alpha):
            assert Q[i].lower_probability(region) >= 1 - alpha - 1e-12
            assert_array_equal(region[values[i] < values[i].max()],
                               (values[i] > alpha)[values[i] < values[i].max()])  # fmt: skip
    single = cl.Possibility.from_conformal([0.5], np.float32([0.2, 0.6]))
    assert single.dtype == np.float32
    assert_array_equal(single.contour, np.float32([1.0, 0.5]))
    # A calibration score equal to that of a class counts: the p-value of 0.4 is (1 + 2) / 5.
    tied = cl.Possibility.from_conformal([0.1, 0.4, 0.4, 0.2], [0.4, 0.1])
    assert_allclose(tied.contour, [3 / 5, 1])
    # No class conforms: the largest p-value is still set to 1.
    assert_array_equal(cl.Possibility.from_conformal([0.1], [0.5, 0.5]).contour, [1, 1])


def test_coverage_of_the_conformal_set():
    # Exchangeable scores of the true classes: the degree of the true class is above alpha in at
    # least 1 - alpha of the draws.
    rng = np.random.default_rng(2)
    hits = []
    for _ in range(300):
        draws = rng.gamma(2.0, size=200)
        Q = cl.Possibility.from_conformal(draws[:100], np.stack([draws[100:], draws[:100]], axis=1))
        hits.append((Q.contour[:, 0] > 0.1).mean())
    assert np.mean(hits) >= 0.9 - 0.01


@pytest.mark.parametrize(
    ("contour", "message"),
    [
        ([0.5, 0.8], "contour: has the largest degree 0.8.*no distribution.*make the largest"),
        ([[1.0, 0.2], [0.9, 0.3]], "largest degree 0.9 at index 1 "),
        ([1.0, -0.1], "contour: is -0.1 at index 1 "),
        ([1.0, 1.2], "contour: is 1.2 at index 1 "),
        ([1.0, np.nan], "contour: .*NaN"),
        (1.0, r"contour: has shape \(\)"),
        (["a"], "contour: is not numeric"),
    ],
)
def test_invalid_contours(contour, message):
    with pytest.raises(ValueError, match=message):
        cl.Possibility(contour)


def test_the_suggested_fix_leads_to_a_set():
    contour = np.array([0.5, 0.8])
    Q = cl.Possibility(contour / contour.max(-1, keepdims=True))
    assert_allclose(Q.upper(), [0.625, 1.0])
    # Rounding in the largest degree is accepted.
    assert cl.Possibility([1 - 1e-10, 0.4]).upper()[0] == 1.0


@pytest.mark.parametrize(
    ("known", "scores", "message"),
    [
        ([], [0.1, 0.2], "scores_calibration: is empty"),
        ([0.1, np.nan], [0.1, 0.2], "scores_calibration: .*NaN"),
        ([[0.1]], [0.1, 0.2], "scores_calibration: has shape"),
        ([0.1], [0.1, np.nan], "scores: .*NaN"),
        ([0.1], 0.3, "contour: has shape"),
    ],
)
def test_invalid_scores(known, scores, message):
    with pytest.raises(ValueError, match=message):
        cl.Possibility.from_conformal(known, scores)


def test_ordinal_imprecision_needs_no_cost_matrix():
    # A matrix of all pairs of these classes would need 80 GB.
    K, rng = 100_000, np.random.default_rng(3)
    contour = rng.random(K) ** 4
    contour[K // 3] = 1.0
    right = np.maximum.accumulate(contour[::-1])[::-1][K // 3 + 1 :].sum()
    left = np.maximum.accumulate(contour)[: K // 3].sum()
    d = cl.Wasserstein.ordinal(K)
    for distance in (d, "ordinal"):
        value = cl.maximum_mean_imprecision(cl.Possibility(contour), distance)
        assert_allclose(value, left + right, rtol=1e-12)
    assert "cost" not in vars(d)
