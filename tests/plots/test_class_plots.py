"""Plots of sets over any number of classes: bars and groups of classes."""

import itertools

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from numpy.testing import assert_allclose

import credalens as cl
from credalens.plots.simplex import to_plane
from credalens.plots.style import COLOURS
from ensembles import dirichlet

NAMES = ["cat", "dog", "fox", "owl", "bee"]


def members_drawn(ax):
    (line,) = [line for line in ax.get_lines() if line.get_marker() == "o"]
    return line.get_xydata()


# ---------------------------------------------------------------- bars


def test_bars_are_the_lower_and_upper_probabilities():
    P = dirichlet(1, 4, 5)[0]
    ax = cl.plots.credal_bars(P, class_names=NAMES)
    assert [text.get_text() for text in ax.get_yticklabels()] == NAMES
    assert_allclose([bar.get_x() for bar in ax.patches], P.min(axis=0))
    assert_allclose([bar.get_x() + bar.get_width() for bar in ax.patches], P.max(axis=0))
    heights = [bar.get_y() + bar.get_height() / 2 for bar in ax.patches]
    assert_allclose(heights, range(5))
    assert ax.yaxis_inverted()  # the first class is at the top
    ticks = [lines for lines in ax.collections if lines.get_label() == "members"]
    drawn = np.array([segment.mean(axis=0) for segment in ticks[0].get_segments()])
    assert_allclose(drawn[:, 0].reshape(P.shape), P)
    assert_allclose(drawn[:, 1].reshape(P.shape), np.tile(np.arange(5), (4, 1)))
    assert ax.get_ylabel() == ""


def test_bars_of_several_sets_and_of_other_representations():
    P = dirichlet(3, 4, 5)
    ax = cl.plots.credal_bars(P, labels=list("abc"))
    assert ax.get_legend_handles_labels()[1] == list("abc")
    assert_allclose([bar.get_x() for bar in ax.patches], P.min(axis=1).ravel())
    heights = np.array([bar.get_y() for bar in ax.patches]).reshape(3, 5)
    assert (np.diff(heights, axis=0) > 0).all()  # side by side
    box = cl.ProbabilityIntervals([0.1, 0.2, 0.0], [0.5, 0.6, 0.4])
    ax = cl.plots.credal_bars(box)
    assert_allclose([bar.get_width() for bar in ax.patches], [0.4, 0.4, 0.4])
    assert not [lines for lines in ax.collections if lines.get_label() == "members"]


def test_bars_of_many_classes():
    P = dirichlet(1, 3, 100)[0]
    ax = cl.plots.credal_bars(P, max_classes=7)
    shown = [int(text.get_text()) for text in ax.get_yticklabels()]
    assert shown == sorted(np.argsort(-P.max(axis=0))[:7].tolist())
    assert ax.get_ylabel() == "7 of 100 classes"


def test_bars_without_width_are_visible():
    ax = cl.plots.credal_bars([[0.3, 0.7]])
    ends = [lines for lines in ax.collections if isinstance(lines, LineCollection)]
    assert_allclose(ends[0].get_segments()[0][:, 0], 0.3)


def test_missing_members_have_no_ticks():
    P = dirichlet(1, 3, 4)[0]
    hull = cl.ConvexHull(P, mask=[True, False, True])
    ax = cl.plots.credal_bars(hull)
    assert_allclose([bar.get_x() for bar in ax.patches], P[[0, 2]].min(axis=0))


# ---------------------------------------------------------------- groups of classes


@pytest.mark.parametrize("first", [0, "cat"])
def test_two_classes_and_all_others(first):
    P = dirichlet(1, 6, 5)[0]
    ax = cl.plots.ternary(P, [first, "owl"], class_names=NAMES)
    marginal = np.stack([P[:, 0], P[:, 3], P[:, [1, 2, 4]].sum(axis=1)], axis=1)
    assert_allclose(members_drawn(ax), to_plane(marginal))
    assert [text.get_text() for text in ax.texts] == ["cat", "owl", "3 others"]


def test_groups_that_contain_all_classes():
    P = dirichlet(1, 6, 5)[0]
    ax = cl.plots.ternary(P, [[0, 1], 2, [3, 4]], class_names=NAMES)
    marginal = np.stack([P[:, :2].sum(axis=1), P[:, 2], P[:, 3:].sum(axis=1)], axis=1)
    assert_allclose(members_drawn(ax), to_plane(marginal))
    assert [text.get_text() for text in ax.texts] == ["cat or dog", "fox", "owl or bee"]


def test_the_default_classes_have_the_largest_upper_probability():
    P = [[0.1, 0.05, 0.5, 0.05, 0.3], [0.1, 0.05, 0.2, 0.6, 0.05]]
    ax = cl.plots.ternary(P, class_names=NAMES)
    assert [text.get_text() for text in ax.texts] == ["fox", "owl", "3 others"]
    three = dirichlet(1, 4, 3)[0]
    assert_allclose(np.sort(members_drawn(cl.plots.ternary(three)), axis=0).shape, (4, 2))


def test_three_classes_of_more_are_conditional_and_reported():
    P = dirichlet(1, 6, 5)[0]
    ax = cl.plots.ternary(P, ["dog", "fox", "bee"], class_names=NAMES)
    kept = P[:, [1, 2, 4]]
    assert_allclose(members_drawn(ax), to_plane(kept / kept.sum(axis=1, keepdims=True)))
    low, high = kept.sum(axis=1).min(), kept.sum(axis=1).max()
    assert ax.texts[-1].get_text().endswith(f"of probability {low:.2f} to {high:.2f}")


def test_the_drawn_set_is_the_image_of_the_set():
    """Mixtures of the members are inside of the drawn hull, marginal and conditional."""
    rng = np.random.default_rng(0)
    P = dirichlet(1, 5, 6)[0]
    mixtures = rng.dirichlet(np.ones(5), 200) @ P
    for classes in ([0, 3], [0, 3, 5]):
        ax = cl.plots.ternary(P, classes)
        rest = [y for y in range(6) if y not in classes]
        q = mixtures[:, classes]
        q = np.c_[q, mixtures[:, rest].sum(axis=1)] if len(classes) == 2 else q
        points = to_plane(q / q.sum(axis=1, keepdims=True))
        (outline,) = [patch for patch in ax.patches if not patch.get_fill()]
        corners = outline.get_xy()
        for a, b in itertools.pairwise(corners):
            normal = np.array([a[1] - b[1], b[0] - a[0]])
            side = (points - a) @ normal
            center = (corners.mean(axis=0) - a) @ normal
            assert (side * np.sign(center) > -1e-12).all()


@pytest.mark.parametrize(
    ("members", "classes", "match"),
    [
        (np.eye(2), None, "Q: has 2 classes"),
        (np.eye(5), [0], r"classes: is \[0\]; pass two or three"),
        (np.eye(5), "cat", "classes: is 'cat'"),
        (np.eye(5), [0, [0, 1]], "pass each class once"),
        (np.eye(5), [0, 5], "classes: has 5; pass indices 0 to 4, or names in class_names"),
        (np.eye(5), ["cat", "dgo"], "classes: has 'dgo'"),
        (np.eye(5), [[0, 1], [2, 3, 4]], "leave a class for each group"),
        (np.eye(5), [0, 1, 2], "classes: have probability 0 in a distribution"),
    ],
)
def test_refused_groups(members, classes, match):
    names = None if len(members) == 2 else NAMES
    with pytest.raises(ValueError, match=match):
        cl.plots.ternary(members, classes, class_names=names)


def test_refused_bars():
    with pytest.raises(ValueError, match="class_names: has 1 names; pass 3"):
        cl.plots.credal_bars(np.eye(3), class_names=["a"])
    with pytest.raises(ValueError, match="labels: has 2 names; pass 1"):
        cl.plots.credal_bars(np.eye(3), labels=["a", "b"])
    with pytest.raises(ValueError, match=r"Q: has batch shape \(2, 2\)"):
        cl.plots.credal_bars(np.full((2, 2, 1, 2), 0.5))


def test_colours():
    ax = cl.plots.ternary(dirichlet(2, 3, 4), labels=["a", "b"])
    assert [line.get_color() for line in ax.get_lines() if line.get_marker() == "o"] == [
        *COLOURS[:2]
    ]
