"""Plots of decisions: what is drawn where."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

import credalens as cl
from credalens.plots.decisions import _small_triangles
from credalens.plots.simplex import to_plane


def regions(ax):
    found = [one for one in ax.collections if isinstance(one, PolyCollection)]
    return {one.get_label(): [path.vertices[:3] for path in one.get_paths()] for one in found}


@pytest.mark.parametrize("steps", [2, 3, 10])
def test_the_triangles_cover_the_simplex(steps):
    triangles = _small_triangles(steps)
    assert triangles.shape == (steps**2, 3, 3)
    assert triangles.min() >= -1e-12
    np.testing.assert_allclose(triangles.sum(axis=-1), 1)
    plane = to_plane(triangles)
    edges = plane[:, 1:] - plane[:, :1]
    areas = np.abs(np.linalg.det(edges)) / 2
    np.testing.assert_allclose(areas, np.sqrt(3) / 4 / steps**2)


def test_precise_predictions_have_three_regions():
    ax = cl.plots.decision_regions(lambda p: p[:, None], resolution=16)
    found = regions(ax)
    assert list(found)[:3] == ["0", "1", "2"]
    for y in range(3):
        centers = np.mean(found[str(y)], axis=1)
        nearest = np.argmin(np.linalg.norm(centers[:, None] - to_plane(np.eye(3)), axis=2), axis=1)
        assert (nearest == y).all()


def test_regions_are_those_of_the_rule():
    cost = cl.cost_with_abstention(3, 0.4)
    ax = cl.plots.decision_regions(
        lambda p: cl.Contamination(p, 0.2), cost, rule="maximal", resolution=12,
        action_names=["a", "b", "c", "abstain"], class_names=["A", "B", "C"],
    )  # fmt: skip
    centers = _small_triangles(12).mean(axis=1)
    mask = cl.admissible(cl.Contamination(centers, 0.2), cost, "maximal")
    counts = {label: len(found) for label, found in regions(ax).items()}
    names = np.array(["a", "b", "c", "abstain"])
    expected = [", ".join(names[row]) for row in mask]
    assert counts == {label: expected.count(label) for label in set(expected)}
    assert "abstain" in counts
    assert {text.get_text() for text in ax.texts} >= {"A", "B", "C"}


def test_accuracy_and_size():
    y = np.array([0, 1, 2, 0])
    sets = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0]], bool)
    found = cl.set_metrics(y, sets, n_resamples=200, random_state=0)
    ax = cl.plots.accuracy_and_size({"a": found, "b": cl.set_metrics(y, np.eye(3)[y] > 0)})
    points = [line.lines[0].get_xydata()[0] for line in ax.containers]
    np.testing.assert_allclose(points[0], [found.mean_size, found.coverage])
    assert ax.containers[0].has_xerr
    assert not ax.containers[1].has_xerr


def test_invalid_arguments():
    with pytest.raises(ValueError, match="action_names: has 2 names; pass 3"):
        cl.plots.decision_regions(lambda p: p[:, None], action_names=["a", "b"], resolution=3)
    with pytest.raises(ValueError, match="resolution: is 1"):
        cl.plots.decision_regions(lambda p: p[:, None], resolution=1)
    with pytest.raises(ValueError, match="metrics: is empty"):
        cl.plots.accuracy_and_size({})
