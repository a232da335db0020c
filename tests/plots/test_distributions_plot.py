"""The data behind the pictures of distributions."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

import credalens as cl
from credalens.plots.style import COLOURS


def curves_and_medians(ax):
    """Return the lines of distributions, which the legend names, and those of medians."""
    named = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    return named, [line for line in ax.get_lines() if line not in named]


def height(line, x):
    """Return the share that a drawn step function says is at or below `x`."""
    xs, ys = line.get_data()
    assert line.get_drawstyle() == "steps-post"
    return ys[np.searchsorted(xs, x, side="right") - 1]


def test_every_step_is_the_share_at_or_below():
    rng = np.random.default_rng(0)
    scores = {"TU": rng.integers(0, 6, 50) / 5, "EU": rng.random(31)}  # ties, and an odd number
    ax = cl.plots.distributions(scores)
    lines, medians = curves_and_medians(ax)
    assert len(lines) == len(medians) == 2
    for line, median, (name, score), colour in zip(
        lines, medians, scores.items(), COLOURS, strict=False
    ):
        for x in [*score, -0.5, 0.33, 2.0]:
            if score.min() <= x <= score.max():
                assert_allclose(height(line, x), np.mean(score <= x), rtol=1e-12)
        assert line.get_ydata()[-1] == 1
        assert_allclose(median.get_xdata(), [np.median(score)] * 2)
        assert list(median.get_ydata()) == [0, 0.5]
        assert line.get_label() == f"{name} (median {np.median(score):.3f})"
        assert to_hex(line.get_color()) == to_hex(median.get_color()) == colour.lower()
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert len(ax.collections) == 0
    assert ax.get_ylabel() == "share of instances at or below"


def test_an_interval_has_both_ends():
    rng = np.random.default_rng(1)
    lower = rng.random(40) / 2
    interval = cl.Interval(lower, lower + rng.random(40) / 2)
    ax = cl.plots.distributions({"AU": interval, "S": rng.random(40)})
    lines, medians = curves_and_medians(ax)
    assert [line.get_label().split(" (")[0] for line in lines] == ["AU, lower", "AU, upper", "S"]
    assert len(medians) == 3
    assert lines[0].get_color() == lines[1].get_color() != lines[2].get_color()
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    for line, end in zip(lines, (interval.lower, interval.upper), strict=False):
        for x in end:
            assert_allclose(height(line, x), np.mean(end <= x), rtol=1e-12)
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert corners[:, 0].min() == interval.lower.min()
    assert corners[:, 0].max() == interval.upper.max()


def test_it_goes_where_it_is_told_and_leaves_the_scores_alone():
    score = np.array([0.5, 0.1, 0.3])
    score.flags.writeable = False
    ax = Figure().add_subplot()
    assert cl.plots.distributions({"a": score}, ax=ax) is ax
    file = io.BytesIO()
    ax.figure.savefig(file, format="png", dpi=40)
    assert file.getvalue().startswith(b"\x89PNG")


def test_the_same_score_for_all():
    (line,), (median,) = curves_and_medians(cl.plots.distributions({"a": np.zeros(9)}))
    assert line.get_ydata()[-1] == 1
    assert list(median.get_xdata()) == [0, 0]


@pytest.mark.parametrize(
    ("scores", "match"),
    [
        ({}, "scores: is empty; pass at least one"),
        ({"a": []}, r"scores\['a'\]: is empty"),
        ({"a": [0.1, np.nan]}, r"scores\['a'\]: is NaN at index 1"),
        ({"a": [[0.1]]}, r"scores\['a'\]: has shape \(1, 1\)"),
        ({"a": ["x"]}, "is not numeric"),
        ({"a": cl.Interval(np.zeros(3), np.ones(2))}, "has ends of lengths 3 and 2; pass an"),
        ({"a": cl.Interval(np.zeros(2), np.array([0, np.inf]))}, r"is infinite at index"),
    ],
)
def test_refused(scores, match):
    with pytest.raises(ValueError, match=match):
        cl.plots.distributions(scores)
