"""Maps over an image, curves over an input, and what all plots have in common."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import LogNorm, to_hex
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens.plots.style import COMPONENTS
from ensembles import dirichlet


@pytest.fixture(scope="module")
def image():
    """The uncertainty of an image of 6 x 9 pixels."""
    return cl.quantify(np.random.default_rng(0).dirichlet(np.ones(3), (6, 9, 4)))


# ---------------------------------------------------------------- maps


def test_the_maps_are_the_arrays(image):
    axes = cl.plots.uncertainty_maps(image)
    expected = (image.total, image.aleatoric.lower, image.aleatoric.upper, image.epistemic)
    for ax, values in zip(axes, expected, strict=True):
        assert_array_equal(ax.images[0].get_array(), values)
        assert ax.images[0].get_clim() == (0, max(map(np.max, expected)))  # comparable colours
    assert sum(len(ax.images) for ax in axes[0].figure.axes) == 4


def test_own_scales_images_and_blank_pixels(image):
    total = np.array(image.total)
    total[0, 0] = np.nan
    axes = cl.plots.uncertainty_maps(
        {"TU": total, "AU": image.aleatoric}, image=np.zeros((6, 9, 3)), shared_scale=False
    )
    assert [ax.get_title() for ax in axes] == ["input", "TU", "AU, lower", "AU, upper"]
    assert axes[1].images[0].get_array().mask.sum() == 1
    assert axes[1].images[0].get_clim()[1] != axes[2].images[0].get_clim()[1]


def test_maps_in_given_axes_and_with_other_settings(image):
    axes = Figure().subplots(2, 2)
    drawn = cl.plots.uncertainty_maps(image, axes=axes, cmap="magma", vmax=2.0)
    assert all(a is b for a, b in zip(drawn, axes.ravel(), strict=True))
    assert axes[0, 0].images[0].get_cmap().name == "magma"
    assert axes[0, 0].images[0].get_clim() == (0, 2)
    single = cl.plots.uncertainty_maps({"TU": image.total}, norm=LogNorm(0.1, 1))
    assert isinstance(single[0].images[0].norm, LogNorm)
    many = cl.plots.uncertainty_maps({str(i): image.total for i in range(7)})
    assert len(many) == 7


def test_families_without_intervals(image):
    P = np.random.default_rng(0).dirichlet(np.ones(3), (5, 5, 4))
    axes = cl.plots.uncertainty_maps(cl.quantify(P, "information"))
    assert [ax.get_title() for ax in axes] == ["total", "aleatoric", "epistemic"]


@pytest.mark.parametrize(
    ("u", "options", "match"),
    [
        ({}, {}, "u: is empty"),
        (np.zeros((2, 2)), {}, "u: is a ndarray; pass the result of quantify"),
        ({"a": np.zeros(3)}, {}, r"u\['a'\]: has shape \(3,\); pass a map of shape"),
        ({"a": np.zeros((2, 2)), "b": np.zeros((2, 3))}, {}, "maps of shapes"),
        ({"a": np.zeros((2, 2))}, {"image": np.zeros((3, 2))}, r"image: has shape \(3, 2\)"),
        ({"a": np.zeros((2, 2))}, {"axes": Figure().subplots(1, 2)}, "axes: has 2 axes; pass 1"),
    ],
)
def test_refused_maps(u, options, match):
    with pytest.raises(ValueError, match=match):
        cl.plots.uncertainty_maps(u, **options)


# ---------------------------------------------------------------- curves over an input


def test_curves_are_sorted_by_the_input():
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=20), cl.quantify(dirichlet(20, 3, 4))
    ax = cl.plots.uncertainty_curves(x, u, xlabel="age")
    order = np.argsort(x)
    lines = [line.get_xydata() for line in ax.get_lines()]
    expected = (u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic)
    for line, values in zip(lines, expected, strict=True):
        assert_allclose(line, np.c_[x[order], values[order]])
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert corners[:, 1].max() == u.aleatoric.upper.max()
    assert sorted(ax.get_legend_handles_labels()[1]) == ["aleatoric", "epistemic", "total"]
    colours = [to_hex(line.get_color()).upper() for line in ax.get_lines()]
    assert colours[0] == COMPONENTS["total"]
    assert ax.get_xlabel() == "age"


@pytest.mark.parametrize(
    ("x", "u", "match"),
    [
        ([[1.0]], {"a": [1.0]}, r"x: has shape \(1, 1\)"),
        ([1.0, 2.0], {"a": [1.0]}, r"u\['a'\]: has shape \(1,\); pass one number per instance"),
        ([1.0], {}, "u: is empty"),
        ([np.nan], {"a": [1.0]}, "x: is NaN"),
    ],
)
def test_refused_curves(x, u, match):
    with pytest.raises(ValueError, match=match):
        cl.plots.uncertainty_curves(x, u)


# ---------------------------------------------------------------- settings of all plots


def curve():
    return cl.rejection_curve([0, 1, 1, 0], [0, 1, 0, 0], [0.1, 0.2, 0.9, 0.4])


METRICS = {"a": cl.set_metrics([0, 1], np.eye(2, dtype=bool))}
LEARNED = cl.ActiveLearning(np.array([10, 20]), {"TU": np.array([[0.5, 0.8]])})
PLOTS = {
    "simplex": lambda **o: cl.plots.simplex(np.eye(3), labels=["a"], **o),
    "ternary": lambda **o: cl.plots.ternary(dirichlet(1, 3, 4)[0], labels=["a"], **o),
    "credal_bars": lambda **o: cl.plots.credal_bars(np.eye(3), **o),
    "rejection_curves": lambda **o: cl.plots.rejection_curves({"TU": curve()}, **o),
    "distributions": lambda **o: cl.plots.distributions({"TU": [0.1, 0.2]}, **o),
    "ood_curves": lambda **o: cl.plots.ood_curves({"a": cl.ood_scores([0.1], [0.4])}, **o),
    "active": lambda **o: cl.plots.active_learning_curves(LEARNED, **o),
    "accuracy_and_size": lambda **o: cl.plots.accuracy_and_size(METRICS, **o),
    "decision_regions": lambda **o: cl.plots.decision_regions(
        lambda p: p[:, None], resolution=4, **o
    ),
    "uncertainty_curves": lambda **o: cl.plots.uncertainty_curves([1, 2], {"a": [0.1, 0.2]}, **o),
}


@pytest.mark.slow
@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
def test_legends(draw):
    assert draw().get_legend() is not None
    assert draw(legend=False).get_legend() is None
    titled = draw(legend={"title": "Scores", "loc": "upper left"}).get_legend()
    assert titled.get_title().get_text() == "Scores"
    assert titled._loc == 2


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
def test_given_axes_and_settings_of_artists(draw):
    ax = Figure().add_subplot()
    before = pyplot.get_fignums()
    assert draw(ax=ax, alpha=0.5, lw=7) is ax
    assert pyplot.get_fignums() == before
    artists = [*ax.lines, *ax.patches, *ax.collections]
    widths = np.concatenate([np.atleast_1d(one.get_linewidth()) for one in artists])
    assert (widths == 7).any()  # an alias of linewidth replaces the default


def test_a_decomposition_passes_settings_on():
    axes = cl.plots.decomposition(
        np.eye(3), legend=False, color="black", axes=Figure().subplots(1, 3)
    )
    assert all(ax.get_legend() is None for ax in axes)
    assert to_hex(axes[0].patches[0].get_edgecolor()) == "#000000"


@pytest.mark.parametrize(("columns", "width"), [(1, 3.25), (2, 6.75)])
def test_sizes_of_papers(columns, width):
    before = matplotlib.rcParams.copy()
    with cl.plots.paper(columns):
        for draw in PLOTS.values():
            ax = draw()
            assert ax.figure.get_size_inches()[0] == width
            sizes = [text.get_fontsize() for text in ax.texts] + [ax.xaxis.label.get_fontsize()]
            assert max(sizes) <= 8
        assert pyplot.figure().get_size_inches()[0] == width
    assert matplotlib.rcParams.copy() == before
    assert cl.plots.simplex(np.eye(3)).figure.get_size_inches()[0] != width
    with cl.plots.paper(width=5, aspect=0.5):
        assert cl.plots.simplex(np.eye(3)).figure.get_size_inches().tolist() == [5, 2.5]
    with (
        pytest.raises(ValueError, match="columns: is 3; pass 1 or 2, or width="),
        cl.plots.paper(3),
    ):
        pass
