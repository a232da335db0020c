"""Plots of real-valued targets."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

import credalens as cl

x = np.array([2.0, 0.0, 1.0])
Q = cl.RealHull.from_normal(np.outer(x, [1.0, 1.5]), np.full((3, 2), 0.5))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_bands_are_the_bounds_of_the_quantiles_in_order_of_the_input():
    ax = cl.plots.quantile_bands(x, Q, x, levels=[0.1, 0.5], color="k")
    low, high = Q.quantile_bounds([0.1, 0.5])
    order = [1, 2, 0]
    for k, band in enumerate(ax.collections):
        vertices = band.get_paths()[0].vertices
        for i in order:
            at = vertices[vertices[:, 0] == x[i], 1]
            assert_allclose([at.min(), at.max()], [low[i, k], high[i, k]])
        assert band.get_facecolor()[0][:3].tolist() == [0, 0, 0]
    assert ax.get_legend_handles_labels()[1] == ["10 % quantile", "50 % quantile", "targets"]


def test_quantile_functions_of_one_instance():
    samples = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [np.nan] * 3]
    one = cl.RealHull.from_samples(samples, missing="allow")
    _, ax = plt.subplots()
    assert cl.plots.quantile_functions(one, 2.0, ax=ax, legend={"ncols": 1}, lw=3) is ax
    assert len(ax.lines) == 4  # two members, the prediction and the target
    assert_allclose(ax.lines[0].get_ydata()[[0, 99, 198]], [0, 1, 2])
    assert ax.lines[0].get_linewidth() == 3
    assert ax.lines[2].get_ydata()[0] == one.minimax().prediction
    assert "minimax prediction (total 1.50)" in ax.get_legend_handles_labels()[1]


def test_risk_curves():
    one = cl.risk_curve([1.0, 2.0, 4.0], [1.5, 2.0, 3.0], [2, 1, 3], n_bins=3)
    ax = cl.plots.risk_curves({"TU": [one, one]}, reference={"oracle": one}, ylabel="mg")
    assert_allclose(ax.lines[0].get_ydata(), one.risk)
    assert ax.get_ylabel() == "mg"


def test_errors():
    for call, message in (
        (lambda: cl.plots.quantile_bands(x[:2], Q), "Q: has batch_shape"),
        (lambda: cl.plots.quantile_bands(x, Q, x[:2]), "y: has shape"),
        (lambda: cl.plots.quantile_functions(Q), "index the batch"),
        (lambda: cl.plots.quantile_functions([[0.5, 0.5]]), "Q: is a list"),
        (lambda: cl.plots.risk_curves({}), "curves: is empty"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
