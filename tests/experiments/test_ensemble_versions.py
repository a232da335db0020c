"""Ensembles without faulty models and repaired, and their part of Figure 2."""

import csv

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens.experiments import ensemble_versions, figure2
from credalens.io import Predictions


@pytest.fixture(scope="module")
def spoiled():
    """Three good models and one that always predicts class 0."""
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=600)
    logits = 2.0 * np.eye(4)[y][:, None] + rng.normal(size=(600, 1, 4))
    P = np.exp(logits + 0.3 * rng.normal(size=(600, 4, 4)))
    P /= P.sum(axis=2, keepdims=True)
    P[:, 3] = [0.97, 0.01, 0.01, 0.01]
    return Predictions(("a", "b", "c", "constant"), P, y)


def test_a_sound_ensemble_has_one_version(spoiled):
    sound = ensemble_versions.selected(spoiled, [0, 1, 2])
    assert sound.names == ("a", "b", "c")
    assert [one.label for one in ensemble_versions.versions(sound)] == ["as given"]


@pytest.mark.slow
def test_repair_is_fitted_to_the_other_half(spoiled):
    given, without, repaired = ensemble_versions.versions(spoiled, seed=5)
    assert [one.label for one in (given, without, repaired)] == [
        "as given", "without constant", "repaired",
    ]  # fmt: skip
    assert_array_equal(without.parts[0].members, spoiled.members[:, :3])
    order = np.random.default_rng(5).permutation(600)
    first, second = np.sort(order[:300]), np.sort(order[300:])
    for part, fit, apply in zip(repaired.parts, (first, second), (second, first), strict=True):
        repair = cl.validity.repair(spoiled.members[fit], spoiled.labels[fit])
        assert_allclose(part.members, repair(spoiled.members[apply]))
        assert_array_equal(part.labels, spoiled.labels[apply])
        assert "constant" not in part.names
    assert repaired.n_members == "3"
    assert "Repair fitted to 300 rows: keeps a, b, c;" in repaired.notes[0]


def test_curves_of_parts_are_those_of_all_batches(spoiled):
    parts = [
        Predictions(spoiled.names, spoiled.members[rows], spoiled.labels[rows])
        for rows in (slice(0, 300), slice(300, 600))
    ]
    options = {"bins": 5, "ends": True}
    found = figure2.joined([figure2.curves(part, batches=2, **options) for part in parts])
    expected = figure2.curves(spoiled, batches=4, **options)
    assert found.accuracy == pytest.approx(expected.accuracy)
    assert_allclose(found.random.accuracy, expected.random.accuracy)
    for key, several in expected.curves.items():
        for one, other in zip(found.curves[key], several, strict=True):
            assert_allclose(one.accuracy, other.accuracy)
        assert_allclose(np.asarray(found.scores[key]), np.asarray(expected.scores[key]))


@pytest.mark.slow
def test_page(spoiled, tmp_path):
    figure2.run({"nets": spoiled}, tmp_path, batches=4, bins=5)
    with (tmp_path / "figure2.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 8
    total = {row["version"]: float(row["auc_mean"]) for row in rows
             if (row["component"], row["family"]) == ("TU", "tv")}  # fmt: skip
    assert total["as given"] < total["without constant"]
    page = (tmp_path / "figure2.md").read_text(encoding="utf-8")
    assert page.startswith("# Figure 2: accuracy against rejection\n\n- nets, as given: accuracy")
    assert f"tv {total['repaired']:.2f}" in page


def test_labels_are_needed(spoiled):
    unlabelled = Predictions(spoiled.names, spoiled.members, None)
    with pytest.raises(ValueError, match=r"labels: no file has labels; pass --labels"):
        ensemble_versions.versions(unlabelled)
