"""Spaces of hyper-parameters, and their comparison."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from typer.testing import CliRunner

from credalens.cli import reproduce as reproduce_commands
from credalens.datasets import KEEL, load_bundled
from credalens.experiments import forest_spaces, space_study, space_tables, table2_summary
from credalens.experiments.forest_spaces import DEFAULT_SPACE, SPACES, Space
from credalens.experiments.protocol import Config
from credalens.experiments.table2 import Sources
from credalens.predictors import random_forests

TINY = Config(members=2, bins=5)


def tiny_space(name, depth, n_candidates=0):
    return Space(
        name, f"depth {depth}", lambda rng: {"n_estimators": 3, "max_depth": depth}, n_candidates
    )


def parameters(forest):
    return {
        key: forest.get_params()[key]
        for key in ("n_estimators", "max_depth", "max_features", "random_state")
    }


def test_one_space_is_that_of_random_forests():
    expected = [parameters(forest) for forest in random_forests(10, 7)]
    found = SPACES["mixed-depth"].forests(10, 7, np.zeros((2, 1)), np.zeros(2))
    assert [parameters(forest) for forest in found] == expected


@pytest.mark.parametrize("name", SPACES)
def test_draws_are_reproducible_and_different(name):
    space = SPACES[name]
    drawn = [[str(space.draw(np.random.RandomState(seed))) for seed in range(40)] for _ in "ab"]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) > 5
    assert space.name == name
    assert space.description


def test_an_unknown_space():
    with pytest.raises(ValueError, match="space: is 'dep'; choose one of 'any-depth', "):
        forest_spaces.find_space("dep")
    assert forest_spaces.find_space(DEFAULT_SPACE).name == DEFAULT_SPACE


@pytest.mark.slow
def test_the_best_in_cross_validation_are_kept():
    """Validated one by one with scikit-learn's own functions."""
    data = load_bundled("wine")

    def draw(rng):
        return {"n_estimators": 3, "max_depth": int(rng.randint(1, 4))}

    space = replace(SPACES["validated"], n_candidates=5, draw=draw)
    candidates = replace(space, n_candidates=0).forests(5, 3, data.X, data.y)
    accuracies = []
    for forest in candidates:
        right = np.zeros(len(data.y), bool)
        folds = StratifiedKFold(3, shuffle=True, random_state=3)
        for train, test in folds.split(data.X, data.y):
            forest.fit(data.X[train], data.y[train])
            right[test] = forest.predict(data.X[test]) == data.y[test]
        accuracies.append(right.mean())
    assert len(set(accuracies)) > 1
    kept = [one.random_state for one in space.forests(2, 3, data.X, data.y)]
    worst_kept = min(accuracies[i] for i, c in enumerate(candidates) if c.random_state in kept)
    assert sorted(accuracies)[-2] == worst_kept
    assert len(kept) == 2


def printed(group, component, family, ours_area, ours_mr):
    row = table2_summary.Row(
        group, component, family, 3, 0, 0, ours_area, 1, ours_mr, 1, 0, 0, None, None, None
    )
    return table2_summary.cells([row])


def test_distances_are_in_standard_errors_of_the_paper():
    area, ratio = printed("K>10", "AU", "tv", 94.9, 83.0)
    assert area.distance == pytest.approx(2.0 / (4.1 / np.sqrt(5)))
    assert ratio.distance == pytest.approx(7.0 / (7.3 / np.sqrt(5)))
    assert (area.name, ratio.name) == ("K>10 AU tv area", "K>10 AU tv MR")
    assert printed("K>10", "AU", "hartley", 90, 80) == []  # not in the paper


def test_every_printed_area_and_ratio_is_a_cell():
    rows = [
        table2_summary.Row(*key, 1, 0, 0, one.area, 0, one.mr, 0, 0, 0, None, None, None)
        for key, one in table2_summary.PAPER.items()
    ]
    found = table2_summary.cells(rows)
    assert len(found) == 28
    assert {cell.distance for cell in found} == {0.0}
    assert table2_summary.mean_distance(found) == 0


def test_datasets_of_the_study():
    sources = Sources({name: shape.n for name, shape in KEEL.items()}, load_bundled)
    names = space_study.select(sources, 6000).sizes
    assert {"letter", "kr-vs-k", "vowel"} <= set(names)
    assert "adult" not in names
    assert sum(KEEL[name].classes <= 10 for name in names) == 47


def result(name, split, K, value):
    numbers = {"auc": value, "area": value, "mr": value, "seconds": 0.0}
    measures = dict.fromkeys([*space_study.MEASURES, *space_study.VARIANTS], numbers)
    return {"dataset": name, "split": split, "n_classes": K, "training_seconds": 2.0,
            "measures": measures}  # fmt: skip


def test_means_are_corrected_for_datasets_that_are_left_out():
    whole = [result("a", 0, 2, 0.7), result("a", 1, 2, 0.9), result("big", 0, 2, 0.5)]
    by = space_study.offsets(whole, ["a"])
    assert by["K<=10", "TU", "tv", "area"] == pytest.approx(65 - 80)
    studied = [result("a", 0, 2, 0.6)]
    found = space_study.adjusted(
        table2_summary.cells(table2_summary.summarize(studied, ["tv"])), by
    )
    assert found[0].ours == pytest.approx(60 - 15)
    means = space_study.variant_means(studied, by)
    assert means["S* - 2 GH"] == pytest.approx((45, 45))


def test_variants_of_the_residual():
    scores = {("TU", "entropy"): np.array([1.5]), ("EU", "hartley"): np.array([0.5])}
    found = space_study.residuals(scores, 8)
    assert found["S* - 3 GH"] == 0
    assert found["S* / log2 K - GH"] == 0
    assert found["S* - 1 / ln 2 GH"] == pytest.approx(1.5 - 0.5 / np.log(2))


class TestRun:
    @pytest.fixture
    def sources(self):
        return Sources({"iris": 150, "wine": 178}, load_bundled)

    def test_page(self, sources, tmp_path):
        spaces = {name: tiny_space(name, depth) for name, depth in (("shallow", 1), ("full", None))}
        SPACES.update(spaces)  # a configuration names its space
        try:
            run = {"splits": 1, "config": TINY, "spaces": spaces, "command": "command"}
            text = space_study.run(sources, tmp_path, **run)
            page = (tmp_path / "spaces.md").read_text(encoding="utf-8")
            with (tmp_path / "spaces.csv").open() as file:
                rows = list(csv.DictReader(file))
            # A second run reads the stored splits.
            before = [path.stat().st_mtime_ns for path in tmp_path.glob("*/pieces/*")]
            assert space_study.run(sources, tmp_path, **run) == text
            assert [path.stat().st_mtime_ns for path in tmp_path.glob("*/pieces/*")] == before
        finally:
            for name in spaces:
                del SPACES[name]
        assert len(before) == 4
        assert len(rows) == 2 * 16  # K <= 10 only
        for name in spaces:
            own = [row for row in rows if row["space"] == name]
            near = sum(float(row["distance"]) <= 1 for row in own)
            mean = np.mean([float(row["distance"]) for row in own])
            assert f"| {name} | {spaces[name].description} | {near} | {near} |" in page
            assert f"{mean:.2f}" in page
        assert "The closest space is `" in page
        assert "Within one standard error in no space: " in page
        assert "- Command: `command`\n" in page
        assert "S* / log2 K - GH" in page

    def test_the_correction_needs_a_complete_run(self, sources, tmp_path):
        with pytest.raises(ValueError, match=r"complete: .* has no run of Table 2"):
            space_study.run(sources, tmp_path, complete=tmp_path)
        (tmp_path / "config.json").write_text(json.dumps(TINY.describe()))
        with pytest.raises(ValueError, match=r"complete: .* lacks adult, appendicitis"):
            space_study.run(sources, tmp_path, complete=tmp_path)

    def test_command(self, tmp_path):
        call = ["spaces", "--out", str(tmp_path / "out"), "--data", str(tmp_path)]
        done = CliRunner().invoke(reproduce_commands.app, call)
        assert done.exit_code == 2
        assert "has no" in done.output
        done = CliRunner().invoke(reproduce_commands.app, [*call, "--spaces", "no"])
        assert "space: is 'no'; choose one of" in done.output
        assert not (tmp_path / "out").exists()


def test_the_closest_space():
    def scored(label, distance):
        cells = [table2_summary.PublishedCell("K<=10", "AU", "tv", "area", 50 + d, 50, 1.0)
                 for d in distance]  # fmt: skip
        return space_tables.Scored(label, "in words", cells, 1.0)

    found = [scored("a", (0.5, 4.0)), scored("b", (1.5, 1.5)), scored("c", (3.0, 3.0))]
    assert space_tables.closest(found).label == "b"
    lines = " ".join(space_tables.sentences(found))
    assert "`a` has more cells within one standard error, 1." in lines
    assert lines.count("K<=10 AU tv area (paper: 50.0, nearest 51.5)") == 1
