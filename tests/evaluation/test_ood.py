"""Out-of-distribution detection, against scikit-learn and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import credalens as cl

#: Few different values, so that ties are everywhere; some large and small.
scores = st.lists(st.sampled_from([-np.inf, -1, 0, 0.1, 0.1 + 1e-16, 0.3, 5, 1e300]), min_size=1)


def sklearn_says(inside, outside, tpr, positive):
    from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

    sign = 1 if positive == "out" else -1
    y = np.r_[np.zeros(len(inside)), np.ones(len(outside))] == (positive == "out")
    # Ranks stand for the scores: scikit-learn takes no infinite ones.
    ranks = sign * np.unique(np.r_[inside, outside], return_inverse=True)[1]
    fpr, reached, _ = roc_curve(y, ranks, drop_intermediate=False)
    at = fpr[np.argmax(reached >= tpr)]
    return roc_auc_score(y, ranks), average_precision_score(y, ranks), at, (fpr, reached)


@pytest.mark.slow
@settings(max_examples=40)
@given(scores, scores, st.sampled_from([0.5, 0.95, 1]), st.sampled_from(["out", "in"]))
def test_as_scikit_learn(inside, outside, tpr, positive):
    found = cl.ood_scores(inside, outside, tpr=tpr, positive=positive)
    auroc, aupr, fpr, curve = sklearn_says(inside, outside, tpr, positive)
    assert found.auroc == pytest.approx(auroc, abs=1e-13)
    assert found.aupr == pytest.approx(aupr, abs=1e-13)
    assert found.fpr == fpr
    assert_array_equal(found.false_positive_rate, curve[0])
    assert_array_equal(found.true_positive_rate, curve[1])
    assert (found.n_in, found.n_out) == (len(inside), len(outside))


def test_by_hand():
    # Outside scores 3, 2, 2, inside 2, 1: of the six pairs four are right and two tie.
    found = cl.ood_scores([2, 1], [3, 2, 2])
    assert found.auroc == 5 / 6
    # Precision 1 on the first third of recall, 3/4 on the rest.
    assert found.aupr == pytest.approx(1 / 3 + 2 / 3 * 3 / 4)
    assert found.fpr == 0.5  # nothing short of the score 2 finds 95 %
    assert cl.ood_scores([2, 1], [3, 2, 2], tpr=1 / 3).fpr == 0
    turned = cl.ood_scores([2, 1], [3, 2, 2], positive="in")
    assert turned.auroc == 5 / 6
    assert turned.aupr == pytest.approx(1 / 2 + 1 / 2 * 2 / 4)
    assert turned.fpr == pytest.approx(2 / 3)


def test_extremes():
    assert cl.ood_scores([0, 1], [2, 3]).auroc == 1
    perfect = cl.ood_scores([0.0], [1.0])
    assert (perfect.auroc, perfect.aupr, perfect.fpr) == (1, 1, 0)
    useless = cl.ood_scores(np.ones(7), np.ones(3))
    assert (useless.auroc, useless.aupr, useless.fpr) == (0.5, 0.3, 1)
    assert cl.ood_scores([1.0], [0.0]).auroc == 0


def test_intervals_are_ordered_by_both_ends():
    rng = np.random.default_rng(0)
    lower = rng.integers(3, size=(2, 40)) / 4
    upper = lower + rng.integers(8, size=(2, 40)) / 8
    intervals = [cl.Interval(lower[i], upper[i]) for i in (0, 1)]
    ranks = 100 * lower + upper
    found, expected = cl.ood_scores(*intervals), cl.ood_scores(*ranks)
    assert (found.auroc, found.aupr, found.fpr) == (expected.auroc, expected.aupr, expected.fpr)
    middle = cl.ood_scores(*(cl.summarize(i, "midpoint") for i in intervals))
    assert middle.auroc != found.auroc


def test_more_uncertain_outside():
    rng = np.random.default_rng(1)
    sure = rng.dirichlet([3, 1, 1], (200, 5))
    unsure = rng.dirichlet([1, 1, 1], (100, 5))
    found = cl.ood_scores(cl.total_uncertainty(sure), cl.total_uncertainty(unsure))
    assert 0.6 < found.auroc < 0.9
    assert repr(found).startswith("OODScores(auroc=0.")
    assert "fpr at 95% tpr=" in repr(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [1]), "score_in: is empty"),
        (([1], [np.nan]), "score_out: is NaN at index 0"),
        (([[1]], [1]), r"score_in: has shape \(1, 1\)"),
        ((["a"], [1]), "score_in: is not numeric"),
        ((cl.Interval([0], [1]), [1]), "score_out: is not of the type of score_in"),
        (
            (cl.Interval([0, 1], [1]), cl.Interval([0], [1])),
            "score_in: has ends of lengths 2 and 1",
        ),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        cl.ood_scores(*arguments)


def test_refused_options():
    with pytest.raises(ValueError, match=r"tpr: is 0; pass a number in \(0, 1\]"):
        cl.ood_scores([1], [2], tpr=0)
    with pytest.raises(ValueError, match="positive: is 'both'"):
        cl.ood_scores([1], [2], positive="both")


def test_picture():
    found = {"TU": cl.ood_scores([0, 1, 2], [2, 3]), "EU": cl.ood_scores([0, 1, 2], [1, 1])}
    ax = cl.plots.ood_curves(found)
    drawn = {line.get_label(): line for line in ax.get_lines()}
    line = drawn["TU (AUROC 0.917, FPR 0.333)"]
    assert_array_equal(line.get_xdata(), found["TU"].false_positive_rate)
    assert_array_equal(line.get_ydata(), found["TU"].true_positive_rate)
    assert "(in-distribution)" in ax.get_xlabel()
    assert cl.plots.ood_curves(found, ax=ax) is ax
    ax.figure.canvas.draw()
    with pytest.raises(ValueError, match="found: is empty"):
        cl.plots.ood_curves({})
    mixed = {**found, "AU": cl.ood_scores([1], [2], positive="in")}
    with pytest.raises(ValueError, match="found: mixes"):
        cl.plots.ood_curves(mixed)


def test_scores_by_name():
    rng = np.random.default_rng(1)
    inside, outside = rng.dirichlet([3, 1, 1], (60, 5)), rng.dirichlet([1, 1, 1], (30, 5))
    names = ["tv total", "tv aleatoric", "upper_entropy", "epistemic:ordinal"]
    found = cl.ood_scores(inside, outside, names)
    assert list(found) == names
    by_hand = {
        "tv total": cl.total_uncertainty,
        "tv aleatoric": cl.aleatoric_uncertainty,
        "upper_entropy": cl.upper_entropy,
        "epistemic:ordinal": lambda P: cl.epistemic_uncertainty(P, "ordinal"),
    }
    for name, function in by_hand.items():
        alone = cl.ood_scores(function(inside), function(outside))
        assert found[name].auroc == alone.auroc
        assert cl.ood_scores(inside, outside, name).fpr == alone.fpr
    mapping = cl.ood_scores(
        cl.ConvexHull(inside), cl.ConvexHull(outside), by_hand, positive="in", tpr=0.8, n_jobs=2
    )
    assert list(mapping) == names
    assert mapping["upper_entropy"].positive == "in"
    assert mapping["upper_entropy"].auroc == found["upper_entropy"].auroc
    assert cl.ood_scores(inside, outside, cl.upper_entropy).aupr == found["upper_entropy"].aupr


def test_table_of_several_scores():
    rng = np.random.default_rng(1)
    inside, outside = rng.dirichlet([3, 1, 1], (60, 5)), rng.dirichlet([1, 1, 1], (30, 5))
    found = cl.ood_scores(inside, outside, ["tv", "entropy"], metrics=("fpr", "auroc"))
    frame = found.to_pandas()
    assert frame.index.tolist() == ["tv", "entropy"]
    assert frame.columns.tolist() == ["fpr", "auroc"]
    assert frame.loc["tv", "auroc"] == found["tv"].auroc
    assert repr(found).startswith("OODComparison(n_in=60, n_out=30, positive='out')\nscore  ")
    assert len(cl.plots.ood_curves(found).get_lines()) == 4  # two scores and two references


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("tv", "x"), {}, "score: is 'x'; pass one of confidence"),
        ((), {}, "score: is empty"),
        (("tv",), {"metrics": ["f1"]}, "metrics: is 'f1'; choose one of 'aupr', 'auroc', 'fpr'"),
        (("tv",), {"n_jobs": "two"}, "n_jobs: is 'two'; pass a whole number"),
        (("entropy aleatoric_lower",), {}, "score: is 'entropy aleatoric_lower', which is not one"),
    ],
)
def test_refused_scores(arguments, options, message):
    P = np.full((4, 2, 3), 1 / 3)
    with pytest.raises(ValueError, match=message):
        cl.ood_scores(P, P, list(arguments), **options)
