"""The data behind the pictures."""

import io
import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial import ConvexHull as Qhull

import credalens as cl
from credalens.plots.simplex import VERTICES, outline, to_plane
from credalens.plots.style import COLOURS, QUIET
from ensembles import dirichlet


def curve(seed, n_bins=10):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 80)
    predicted = np.where(rng.random(80) < 0.7, truth, 0)
    return cl.rejection_curve(truth, predicted, rng.random(80), n_bins=n_bins)


def png(ax):
    file = io.BytesIO()
    ax.figure.savefig(file, format="png", dpi=50)
    return file.getvalue()


# ---------------------------------------------------------------- rejection curves


def test_a_curve_is_drawn_as_it_is():
    a, b = curve(0), curve(1)
    ax = cl.plots.rejection_curves({"TU": a, "EU": b})
    lines = ax.get_lines()
    assert len(lines) == 2
    for line, one, name, colour in zip(lines, (a, b), ("TU", "EU"), COLOURS, strict=False):
        assert_array_equal(line.get_xdata(), one.rejection)
        assert_array_equal(line.get_ydata(), one.accuracy)
        assert line.get_label() == f"{name} (AUC {one.auc:.3f})"
        assert to_hex(line.get_color()) == colour.lower()
    assert lines[0].get_linestyle() != lines[1].get_linestyle()  # told apart without colour
    assert len(ax.collections) == 0  # no band round a single curve
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [line.get_label() for line in lines]
    assert ax.get_xlabel() == "rejection rate"
    assert ax.get_ylabel() == "accuracy after rejection"


def test_several_curves_are_drawn_as_mean_and_deviation():
    several = [curve(seed) for seed in range(4)]
    ax = cl.plots.rejection_curves({"TU": several})
    accuracy = np.stack([one.accuracy for one in several])
    (line,) = ax.get_lines()
    assert_allclose(line.get_ydata(), accuracy.mean(axis=0), rtol=1e-15)
    assert f"(AUC {np.mean([one.auc for one in several]):.3f})" in line.get_label()
    (band,) = ax.collections
    ends = band.get_paths()[0].vertices
    spread = accuracy.std(axis=0, ddof=1)
    for x, mean, half in zip(several[0].rejection, accuracy.mean(axis=0), spread, strict=True):
        here = ends[np.isclose(ends[:, 0], x), 1]
        assert_allclose([here.min(), here.max()], [mean - half, mean + half], rtol=1e-12)


def test_reference_curves_are_quiet():
    ax = cl.plots.rejection_curves(
        {"TU": curve(0)}, reference={"oracle": curve(1), "random": [curve(2), curve(3)]}
    )
    first, *others = ax.get_lines()
    assert to_hex(first.get_color()) == COLOURS[0].lower()
    assert [to_hex(line.get_color()) for line in others] == [QUIET, QUIET]
    assert all(line.get_linewidth() < first.get_linewidth() for line in others)
    assert others[0].get_label().startswith("oracle (AUC ")


def test_curves_go_where_they_are_told():
    ax = Figure().add_subplot()
    assert cl.plots.rejection_curves({"TU": curve(0)}, ax=ax) is ax
    assert cl.plots.rejection_curves({"TU": curve(0)}) is not ax
    assert cl.plots.simplex(np.eye(3), ax=ax) is ax


def test_more_curves_than_colours():
    names = {str(i): curve(i) for i in range(2 * len(COLOURS) + 1)}
    assert len(cl.plots.rejection_curves(names).get_lines()) == len(names)


def test_no_curves_are_refused():
    with pytest.raises(ValueError, match=r"curves: is empty; pass at least one named curve"):
        cl.plots.rejection_curves({})


def test_an_empty_list_of_curves_is_refused_by_name():
    with pytest.raises(ValueError, match=r"TU"):
        cl.plots.rejection_curves({"TU": []})


def test_curves_of_different_numbers_of_bins_are_refused_by_name():
    with pytest.raises(ValueError, match=r"TU.*bins"):
        cl.plots.rejection_curves({"TU": [curve(0, n_bins=10), curve(1, n_bins=12)]})


# ---------------------------------------------------------------- the simplex


def test_the_plane():
    assert_array_equal(to_plane(np.eye(3)), VERTICES)
    sides = np.linalg.norm(VERTICES - np.roll(VERTICES, 1, axis=0), axis=1)
    assert_allclose(sides, 1, rtol=1e-15)  # equilateral: no class is privileged
    assert_allclose(to_plane([1 / 3] * 3), VERTICES.mean(axis=0), rtol=1e-15)
    assert to_plane(np.zeros((2, 5, 3))).shape == (2, 5, 2)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("M", [3, 4, 10, 60])
def test_the_outline_is_the_convex_hull(M, seed):
    points = to_plane(dirichlet(1, M, 3, 0.7, seed)[0])
    corners = outline(points)
    expected = points[Qhull(points).vertices]  # counterclockwise
    start = int(np.argmin(np.abs(expected - corners[0]).sum(axis=1)))
    assert_array_equal(corners, np.roll(expected, -start, axis=0))


def test_outlines_of_sets_without_an_inside():
    one = np.array([[0.3, 0.2]])
    assert_array_equal(outline(one), one)
    assert_array_equal(outline(np.repeat(one, 4, axis=0)), one)
    two = np.array([[0.1, 0.2], [0.3, 0.2]])
    assert_array_equal(outline(two[::-1]), two)
    t = np.linspace(0, 1, 9)[:, None]
    along = (1 - t) * two[0] + t * two[1]
    assert_array_equal(outline(along), two)
    # Points on an edge are no corners.
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    middles = (square + np.roll(square, 1, axis=0)) / 2
    assert_array_equal(outline(np.concatenate([middles, square, square])), square)


def test_a_set_is_drawn_with_its_outline_and_members():
    P = dirichlet(2, 6, 3)
    ax = cl.plots.simplex(P, labels=["a", "b"], class_names=["red", "green", "blue"])
    filled = [patch for patch in ax.patches if patch.get_fill()]
    edges = [patch for patch in ax.patches if not patch.get_fill()]
    assert len(filled) == len(edges) == 2
    for i in range(2):
        corners = outline(to_plane(P[i]))
        for patch in (filled[i], edges[i]):
            assert_array_equal(patch.get_xy(), np.concatenate([corners, corners[:1]]))
    marks = {line.get_label(): line for line in ax.get_lines() if line.get_marker() == "o"}
    for i, name in enumerate("ab"):
        assert_array_equal(marks[name].get_xydata(), to_plane(P[i]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert [text.get_text() for text in ax.texts] == ["red", "green", "blue"]
    for text, corner in zip(ax.texts, VERTICES, strict=True):
        assert np.abs(np.subtract(text.xy, corner)).max() < 0.1  # named at its own corner


def test_points_and_segments_have_no_area():
    ax = cl.plots.simplex(
        [[[0.2, 0.3, 0.5]] * 3, [[0.5, 0.5, 0.0], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]]
    )
    assert [patch.get_fill() for patch in ax.patches] == [False, False]
    assert_allclose(ax.patches[0].get_xy()[0], to_plane([0.2, 0.3, 0.5]))
    assert len(ax.patches[1].get_xy()) == 2
    assert ax.get_legend() is None


def test_sets_and_arrays_are_drawn_alike():
    P = dirichlet(1, 5, 3)[0].astype(np.float32)
    a, b = cl.plots.simplex(P), cl.plots.simplex(cl.ConvexHull(P))
    assert_array_equal(a.patches[0].get_xy(), b.patches[0].get_xy())


def test_other_numbers_of_classes_are_refused():
    for K in (2, 4):
        with pytest.raises(ValueError, match=rf"Q: has {K} classes; pass sets over three classes"):
            cl.plots.simplex(np.eye(K))
    with pytest.raises(ValueError, match=r"class_names: has 2 names; pass three"):
        cl.plots.simplex(np.eye(3), class_names=["a", "b"])
    with pytest.raises(ValueError, match=r"members: row 0 .*sums to 0\.6"):
        cl.plots.simplex([[0.2, 0.2, 0.2]])


@pytest.mark.parametrize("labels", [["a"], ["a", "b", "c"]], ids=len)
def test_labels_that_do_not_fit_are_refused(labels):
    with pytest.raises(ValueError, match=rf"labels: has {len(labels)}"):
        cl.plots.simplex(dirichlet(2, 4, 3), labels=labels)


# ---------------------------------------------------------------- files


def test_pictures_can_be_saved():
    for ax in (
        cl.plots.rejection_curves({"TU": [curve(0), curve(1)]}, reference={"oracle": curve(2)}),
        cl.plots.simplex(dirichlet(3, 6, 3), labels=["a", "b", "c"]),
    ):
        data = png(ax)
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(data) > 2000


PLOTS = [
    lambda **where: cl.plots.rejection_curves({"TU": curve(0)}, **where),
    lambda **where: cl.plots.simplex([[1, 0, 0], [0, 1, 0]], **where),
    lambda **where: cl.plots.distributions({"TU": [0.1, 0.2]}, **where),
    lambda **where: cl.plots.ood_curves({"TU": cl.ood_scores([0.1], [0.4, 0.8])}, **where),
]


@pytest.mark.parametrize("draw", PLOTS)
def test_new_figures_are_those_that_pyplot_shows(draw):
    ax = draw()
    assert pyplot.gcf() is ax.figure
    assert draw(ax=Figure().add_subplot()).figure is not ax.figure
    assert pyplot.get_fignums() == [ax.figure.number]


@pytest.mark.slow
def test_given_axes_need_no_pyplot():
    """It would pick a backend, and keep every figure alive."""
    program = (
        "import sys, credalens as cl\n"
        "assert 'matplotlib' not in sys.modules\n"
        "from matplotlib.figure import Figure\n"
        "cl.plots.simplex([[1, 0, 0], [0, 1, 0]], ax=Figure().add_subplot())\n"
        "print('matplotlib.pyplot' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


def test_many_curves_can_be_told_apart():
    ax = cl.plots.rejection_curves({str(i): curve(i) for i in range(16)})
    assert len({(line.get_color(), line.get_linestyle(), str(line._dash_pattern))
                for line in ax.get_lines()}) == 16  # fmt: skip
