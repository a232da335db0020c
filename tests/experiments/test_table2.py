"""Table 2 of the paper: splits, resuming, and the table."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import credalens as cl
from credalens._extras import install_command
from credalens.cli import reproduce as reproduce_commands
from credalens.datasets import Dataset, MissingDatasetError, load_bundled
from credalens.experiments import output, protocol, split_runs, table2, table2_summary
from credalens.experiments.protocol import PAPER_FAMILIES, Config

TINY = Config(members=2, bins=5, space="mixed-depth")
runner = CliRunner()


def iris(names=("iris",)):
    sizes = dict.fromkeys(names, 150)
    return table2.Sources(sizes, lambda name: load_bundled("iris"))


def without_times(path):
    with path.open() as file:
        return [
            {key: value for key, value in row.items() if not key.startswith("time")}
            for row in csv.DictReader(file)
        ]


def finished(folder):
    """Return the pieces that are there; a killed run may leave a hidden temporary file."""
    return [path for path in folder.glob("pieces/*.json") if not path.name.startswith(".")]


class TestProtocol:
    def test_seeds_depend_on_seed_name_and_split_alone(self):
        base = protocol.seeds(Config(), "iris", 0)
        assert protocol.seeds(Config(members=3, bins=7), "iris", 0) == base
        others = [
            protocol.seeds(Config(seed=1), "iris", 0),
            protocol.seeds(Config(), "wine", 0),
            protocol.seeds(Config(), "iris", 1),
        ]
        assert len({base, *others}) == 4

    def test_split_is_stratified_and_a_partition(self):
        y = np.repeat([0, 1, 2], [100, 50, 10])
        train, test = protocol.stratified_split(y, 0.3, 0)
        assert sorted([*train, *test]) == list(range(160))
        assert np.bincount(y[test]).tolist() == [30, 15, 3]

    def test_a_class_with_one_instance_is_trained_on(self):
        y = np.array([0] * 10 + [1] + [2] * 10 + [3])
        train, test = protocol.stratified_split(y, 0.3, 0)
        assert {10, 21} <= set(train.tolist())
        assert sorted([*train, *test]) == list(range(22))

    def test_a_class_that_a_forest_never_saw_has_probability_zero(self):
        from sklearn.ensemble import RandomForestClassifier

        X = np.arange(8.0)[:, None]
        y = np.array([0, 0, 0, 0, 3, 3, 3, 3])
        forest = RandomForestClassifier(5, random_state=0).fit(X, y)
        p = protocol.predict(forest, X, 5)
        np.testing.assert_array_equal(p[:, [1, 2, 4]], 0)
        np.testing.assert_array_equal(p[:, [0, 3]], forest.predict_proba(X))

    @pytest.mark.slow
    def test_constant_features_and_tiny_classes_go_through(self):
        rng = np.random.default_rng(0)
        X = np.column_stack([np.ones(42), rng.normal(size=42)])
        y = np.array([0] * 20 + [1] * 19 + [2, 2] + [3])
        piece = protocol.run_split("odd", X, y, 0, TINY, PAPER_FAMILIES)
        assert piece["n_classes"] == 4
        assert piece["n_train"] + piece["n_test"] == 42
        assert all(0 <= one["auc"] <= 1 for one in piece["measures"].values())

    @pytest.mark.slow
    def test_a_split_follows_the_protocol(self):
        """Recomputed step by step with public functions."""
        data = load_bundled("wine")
        piece = protocol.run_split("wine", data.X, data.y, 3, TINY, PAPER_FAMILIES)
        first, second, _ = protocol.seeds(TINY, "wine", 3)
        train, test = protocol.stratified_split(data.y, 0.3, first)
        from credalens.predictors import random_forests

        members = np.stack(
            [
                forest.fit(data.X[train], data.y[train]).predict_proba(data.X[test])
                for forest in random_forests(2, second)
            ],
            axis=1,
        )
        vote = cl.majority_vote(members)
        assert piece["accuracy"] == np.mean(vote == data.y[test])
        for family in PAPER_FAMILIES:
            u = cl.quantify(members, family)
            scores = {"TU": u.total, "AU": u.aleatoric, "EU": u.epistemic}
            for component in protocol.components(family):
                curve = cl.rejection_curve(data.y[test], vote, scores[component], n_bins=5)
                found = piece["measures"][f"{component} {family}"]
                assert found["accuracy"] == curve.accuracy.tolist()
                assert found["auc"] == curve.auc
                assert found["area"] == pytest.approx(curve.auc * 4 / 5)
                assert found["mr"] == curve.monotonicity_ratio
                assert found["seconds"] >= 0
        assert piece["training_seconds"] > 0

    @pytest.mark.slow
    def test_any_distance_is_a_family(self):
        data = load_bundled("iris")
        piece = protocol.run_split("iris", data.X, data.y, 0, TINY, ["ordinal"])
        assert sorted(piece["measures"]) == ["AU ordinal", "EU ordinal", "TU ordinal"]

    def test_sampled_hartley_carries_its_error(self):
        rng = np.random.default_rng(0)
        members = rng.dirichlet(np.full(24, 0.2), size=(5, 3))
        _, _, error = protocol.measure(members, ["hartley"], seed=1)
        assert error > 0
        scores, _, exact = protocol.measure(members[..., :3] + 0.0, [], seed=1)
        assert (scores, exact) == ({}, 0.0)


def made_up(name, split, n_classes, area, mr, seconds=0.5):
    numbers = {"auc": area * 30 / 29, "area": area, "mr": mr, "seconds": seconds}
    return {
        "dataset": name, "split": split, "n_train": 7, "n_test": 3, "n_features": 2,
        "n_classes": n_classes, "accuracy": 0.9, "training_seconds": 10.0,
        "predicting_seconds": 1.0, "hartley_error": 0.0,
        "measures": {f"{c} tv": numbers for c in ("AU", "EU", "TU")},
    }  # fmt: skip


class TestSummary:
    def test_spread_over_datasets_of_means_over_splits(self):
        found = [
            made_up("a", 0, 2, 0.80, 0.5),
            made_up("a", 1, 2, 0.90, 0.7),
            made_up("b", 0, 10, 0.75, 0.8),
            made_up("c", 0, 11, 0.60, 0.4),
        ]
        rows = table2_summary.summarize(found, ["tv"])
        assert [(r.group, r.component, r.n_datasets) for r in rows] == [
            *(("K<=10", c, 2) for c in ("AU", "EU", "TU")),
            *(("K>10", c, 1) for c in ("AU", "EU", "TU")),
        ]
        # Datasets a: (80 + 90) / 2 = 85, b: 75; mean 80, sd = sqrt((25 + 25) / 1).
        assert rows[0].area_mean == pytest.approx(80)
        assert rows[0].area_sd == pytest.approx(math.sqrt(50))
        assert rows[0].mr_mean == pytest.approx((60 + 80) / 2)
        assert rows[0].auc_mean == pytest.approx(80 * 30 / 29)
        assert rows[0].paper_area == 89.2
        assert math.isnan(rows[3].area_sd)
        assert rows[0].time_mean == 0.5

    def test_ties_are_within_ones_own_standard_error(self):
        row = table2_summary.Row(
            "K<=10", "EU", "tv", 4, 0, 0, 90, 1, 70, 9, 0.1, 0, None, None, None
        )
        values = [(90, 1), (89, 2), (89, 1.9), (80, 20)]  # standard errors .5, 1, .95, 10
        rows = [
            table2_summary.Row(
                *[*row.__dict__.values()][:6], mean, sd, *[*row.__dict__.values()][8:]
            )
            for mean, sd in values
        ]
        assert table2_summary.ties(rows, "area") == [True, True, False, True]
        assert table2_summary.ties(rows, "area", min) == [False, False, False, True]

    def test_the_papers_table_is_whole(self):
        assert len(table2_summary.PAPER) == 14
        assert ("K>10", "AU", "hartley") not in table2_summary.PAPER

    def test_the_columns_of_the_csv(self):
        assert ",".join(table2_summary.COLUMNS) == (
            "group,component,family,n_datasets,auc_mean,auc_sd,area_mean,area_sd,mr_mean,mr_sd,"
            "time_mean,time_sd,paper_area,paper_mr,paper_time"
        )

    def test_bold_and_the_paper_beside(self):
        found = [made_up("a", 0, 2, 0.8, 0.5), made_up("b", 0, 2, 0.9, 0.5)]
        table = table2.as_table("K<=10", table2_summary.summarize(found, ["tv"]))
        assert "85.0* ± 7.1" in table.text()
        assert "| 89.2 | -4.2 |" in table.markdown()
        assert r"\textbf{85.0} $\pm$ 7.1 & 89.2 & -4.2" in table.latex()
        assert r"area \%" in table.latex()

    def test_versions_are_named(self):
        assert "scikit-learn" in output.versions()


class TestSplitRuns:
    def test_all_have_their_first_split_before_the_largest_have_more(self):
        sizes = {name: i for i, name in enumerate("abcdefg")}
        order = split_runs.work_order(sizes, 3)
        assert sorted(order) == sorted((name, split) for name in "abcdefg" for split in range(3))
        assert [name for name, _ in order[:7]] == list("abcdefg")
        assert order[7:11] == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
        assert {name for name, _ in order[11:]} == set("cdefg")

    def test_other_settings_raise(self, tmp_path):
        store = split_runs.ResultStore(tmp_path / "new", TINY)
        store.check()
        assert list(tmp_path.iterdir()) == []
        store.write({"dataset": "a", "split": 0})
        store.check()
        with pytest.raises(
            split_runs.SettingsMismatchError, match="another members, seed; choose another"
        ):
            split_runs.ResultStore(tmp_path / "new", replace(TINY, seed=1, members=3)).check()

    def test_a_run_that_began_meanwhile_is_not_mixed_with(self, tmp_path):
        stores = [
            split_runs.ResultStore(tmp_path / "new", replace(TINY, seed=seed)) for seed in (0, 1)
        ]
        for store in stores:
            store.check()
        stores[0].write({"dataset": "a", "split": 0})
        with pytest.raises(split_runs.SettingsMismatchError, match="another seed"):
            stores[1].write({"dataset": "a", "split": 1})
        assert [path.name for path in (tmp_path / "new" / "pieces").iterdir()] == ["a-00.json"]

    @pytest.mark.slow
    def test_finished_pieces_are_not_computed_again(self, tmp_path, monkeypatch):
        first = table2.run(iris(), tmp_path, splits=2, config=TINY, families=["tv"])
        assert first.outcome.n_reused == 0
        monkeypatch.setattr(protocol, "stratified_split", None)
        again = table2.run(iris(), tmp_path, splits=2, config=TINY, families=["tv"])
        assert again.outcome.n_reused == 2
        assert again.rows == first.rows
        assert not list(tmp_path.rglob(".*"))  # no temporary file is left

    @pytest.mark.slow
    def test_a_piece_without_a_wanted_measure_is_computed_again(self, tmp_path):
        table2.run(iris(), tmp_path, splits=1, config=TINY, families=["tv"])
        more = table2.run(iris(), tmp_path, splits=1, config=TINY, families=["entropy", "tv"])
        assert more.outcome.n_reused == 0
        assert {row.family for row in more.rows} == {"entropy", "tv"}

    @pytest.mark.slow
    def test_a_dataset_that_fails_does_not_stop_the_others(self, tmp_path):
        def load(name):
            if name == "absent":
                raise OSError("gone")
            if name == "broken":
                return Dataset(name, np.full((4, 1), np.nan), np.arange(4), ("x",), tuple("abcd"))
            return load_bundled("iris")

        sources = table2.Sources({"absent": 1, "broken": 2, "iris": 3}, load)
        result = table2.run(sources, tmp_path, splits=2, config=TINY, families=["tv"])
        assert set(result.outcome.failures) == {"absent", "broken"}
        assert result.rows[0].n_datasets == 1
        assert "Failed: absent: OSError: gone" in result.text

    def test_after_the_time_limit_nothing_is_begun(self, tmp_path):
        result = table2.run(
            iris(("a", "b")), tmp_path, splits=2, config=TINY, families=["tv"], minutes=-1
        )
        assert result.outcome.n_skipped == 4
        assert result.rows == []
        assert "4 splits not computed because of the time limit" in result.text
        assert list(tmp_path.iterdir()) == []  # no tables without results

    def test_without_any_result_nothing_is_written(self, tmp_path):
        def load(name):
            return Dataset(name, np.full((4, 1), np.nan), np.arange(4), ("x",), tuple("abcd"))

        sources = table2.Sources({"a": 1, "b": 2}, load, {"a": Path("folder/a.dat")})
        out = tmp_path / "out"
        with pytest.raises(
            ValueError, match=r"^a: folder/a.dat: .* \(and 1 more\); no dataset is left"
        ):
            table2.run(sources, out, splits=1, config=TINY, families=["tv"])
        assert not out.exists()

    @pytest.mark.slow
    def test_the_best_are_called_what_they_look_like(self, tmp_path):
        result = table2.run(iris(("a",)), tmp_path, splits=1, config=TINY, families=["tv"])
        assert "; *: within one standard error" in result.text
        assert "; 1 stratified split 70/30" in result.text
        assert (tmp_path / "table2.txt").read_text() == result.text
        for name in ("table2.md", "table2.tex"):
            assert "; bold: within one standard error" in (tmp_path / name).read_text()

    @pytest.mark.slow
    def test_fewer_splits_are_reported(self, tmp_path):
        table2.run(iris(("a",)), tmp_path, splits=1, config=TINY, families=["tv"])
        partial = split_runs.Outcome(
            [split_runs.ResultStore(tmp_path, TINY).read("a", 0, ["TU tv"])]
        )
        assert "Fewer than 3 splits: 1 of a." in table2.remarks(partial, TINY, 3)


class TestCommand:
    @pytest.mark.slow
    def test_writes_every_format(self, tmp_path):
        mine = tmp_path / "own.dat"
        rng = np.random.default_rng(0)
        mine.write_text("".join(f"{x:.3f},{'ab'[int(x > 0)]}\n" for x in rng.normal(size=60)))
        out = tmp_path / "out"
        args = ["table2", "--datasets", "own", "--data", str(tmp_path), "--splits", "2",
                "--members", "2", "--bins", "5", "--out", str(out), "--jobs", "1"]  # fmt: skip
        result = runner.invoke(reproduce_commands.app, args)
        assert result.exit_code == 0, result.output
        assert "n_estimators 50-200, max_depth from 5, 10, 15, 20, none" in result.output
        for name in ("table2.txt", "table2.md", "table2.tex", "table2.csv", "datasets.csv"):
            assert (out / name).stat().st_size > 0
        with (out / "table2.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert tuple(rows[0]) == table2_summary.COLUMNS
        assert len(rows) == 8
        assert {row["group"] for row in rows} == {"K<=10"}
        assert rows[0]["auc_sd"] == ""  # one dataset has no spread

    @pytest.mark.parametrize(
        ("args", "reason"),
        [
            (["--datasets", "irsi"], "no KEEL dataset is called 'irsi'"),
            (["--datasets", "iris,zoo"], "iris: .* has no iris.dat.*and 1 more"),
            (["--datasets", ","], "no datasets"),
            (["--datasets", "iris", "--data", "nodir"], "data: nodir is not a folder"),
            (["--datasets", "own"], r"own: .*own.dat, line 2: 1 values, 2 expected; no dataset"),
            (["--quick", "--measures", "entropy,enrtopy"], "measures: enrtopy; choose from"),
        ],
    )
    def test_errors_come_before_any_work(self, tmp_path, monkeypatch, args, reason):
        import importlib.util
        import re

        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        out = tmp_path / "out"
        (tmp_path / "own.dat").write_text("1,a\n2\n")
        args = ["table2", "--data", str(tmp_path), *args, "--out", str(out)]
        result = runner.invoke(reproduce_commands.app, args)
        assert result.exit_code == 2
        assert re.search(reason, result.output)
        assert len(result.output.splitlines()) == 1
        assert not out.exists()

    def test_datasets_by_group(self, tmp_path, monkeypatch):
        for name in ("iris", "movement-libras"):
            (tmp_path / f"{name}.dat").write_text("1,a\n")
        found = table2.keel("iris, movement_libras", tmp_path)
        assert found.sizes == {"iris": 150, "movement_libras": 360}
        monkeypatch.setattr(table2, "find_keel", lambda name, folder: tmp_path / name)
        assert len(table2.keel("all").sizes) == 64
        assert 30 < len(table2.keel("small").sizes) < 50
        with pytest.raises(MissingDatasetError):
            table2.keel("")


QUICK = [sys.executable, "-m", "credalens", "reproduce", "table2", "--quick",
         "--members", "2"]  # fmt: skip


@pytest.mark.slow
def test_same_numbers_whatever_the_jobs_and_after_a_kill(tmp_path):
    """Killed with -9 half way, the run goes on, keeps its pieces and ends with the same table."""
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    subprocess.run([*QUICK, "--jobs", "2", "--out", straight], check=True, capture_output=True)
    process = subprocess.Popen([*QUICK, "--jobs", "1", "--out", killed], stdout=subprocess.DEVNULL)
    while not finished(killed):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {path: path.stat().st_mtime_ns for path in finished(killed)}
    assert 0 < len(before) < 12
    assert not (killed / "table2.csv").exists()
    again = subprocess.run(
        [*QUICK, "--jobs", "1", "--out", killed], check=True, capture_output=True
    )
    assert b"wrote" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert without_times(killed / "table2.csv") == without_times(straight / "table2.csv")
    for path in finished(killed):
        ours, theirs = (json.loads(p.read_text()) for p in (path, straight / "pieces" / path.name))
        for key, measure in ours["measures"].items():
            assert measure["accuracy"] == theirs["measures"][key]["accuracy"]


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_numbers(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    here, there = tmp_path / "here", tmp_path / "there"
    names = iris(("a", "b", "c"))
    table2.run(names, here, splits=1, config=TINY, families=["tv"])
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        address = cluster.scheduler_address
        monkeypatch.setattr(protocol, "stratified_split", None)  # it must not be done here
        table2.run(names, there, splits=1, config=TINY, families=["tv"], scheduler=address)
    assert without_times(here / "table2.csv") == without_times(there / "table2.csv")


def test_a_scheduler_without_dask_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModuleNotFoundError, match=re.escape(install_command("dask"))):
        table2.run(iris(), tmp_path, splits=1, config=TINY, families=["tv"], scheduler="tcp://x")


@pytest.mark.slow
@pytest.mark.skipif(
    "CREDALENS_DATA" not in os.environ,
    reason="needs CREDALENS_DATA, a folder with the 64 KEEL files",
)
@pytest.mark.parametrize("name", ["zoo", "automobile", "yeast", "movement_libras"])
def test_datasets_with_tiny_classes(tmp_path, name):
    result = table2.run(table2.keel(name), tmp_path, splits=1, config=TINY)
    assert result.outcome.failures == {}
    assert len(result.rows) == 8
