"""The timing pass of Table 2."""

import csv

import pytest

from credalens.datasets import load_bundled
from credalens.experiments import table2, table2_timing
from credalens.experiments.protocol import Config
from credalens.experiments.split_runs import Outcome

TINY = Config(members=2, bins=5, space="full-depth")


def times(path):
    with (path / "table2.csv").open() as file:
        return {row["component"]: float(row["time_mean"]) for row in csv.DictReader(file)}


@pytest.mark.slow
def test_times_of_a_pass_of_their_own(tmp_path, monkeypatch):
    sources = table2.Sources({"iris": 150, "wine": 178}, load_bundled)
    run = {"config": TINY, "families": ["tv"], "store": tmp_path / "store"}
    first = table2.run(sources, tmp_path, splits=2, **run)
    assert "measured while other splits were computed" in first.text
    fixed = {("TU", "tv"): 1.0, ("AU", "tv"): 2.0, ("EU", "tv"): 4.0}
    monkeypatch.setattr(table2_timing, "measure", lambda members, families, seed: ({}, fixed, 0))
    # Without all datasets, the splits keep their own times.
    one = table2.Sources({"iris": 150}, load_bundled)
    part = table2.run(one, tmp_path / "part", splits=2, timing=True, **run)
    assert part.outcome.is_timed
    again = table2.run(sources, tmp_path, splits=2, **run)
    assert not again.outcome.is_timed
    assert times(tmp_path)["EU"] < 4
    found = table2.run(sources, tmp_path, splits=2, timing=True, **run)
    assert times(tmp_path) == {"TU": 1.0, "AU": 2.0, "EU": 4.0}
    assert "the first split, measured in a pass of its own, the shortest of 5" in found.text
    assert [row.area_mean for row in found.rows] == [row.area_mean for row in first.rows]
    # Later runs use the times again.
    assert table2.run(sources, tmp_path, splits=2, **run).outcome.is_timed


def test_timing_without_splits_writes_no_table(tmp_path):
    sources = table2.Sources({"iris": 150}, load_bundled)
    found = table2.run(sources, tmp_path / "out", config=TINY, families=["tv"], timing=True,
                       store=tmp_path / "store")  # fmt: skip
    assert found.rows == []
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "store" / "timing" / "pieces" / "iris-00.json").exists()


def test_the_shortest_time_counts(monkeypatch):
    data = load_bundled("iris")
    runs = iter([3.0, 1.0, 2.0, 5.0, 4.0])

    def measure(members, families, seed):
        return {}, {("TU", "tv"): next(runs)}, 0.0

    monkeypatch.setattr(table2_timing, "measure", measure)
    found = table2_timing.time_split("iris", data.X, data.y, 0, TINY, ["tv"])
    assert found["measures"] == {"TU tv": {"seconds": 1.0}}


def test_no_results_no_times():
    outcome = table2_timing.with_times(Outcome([]), {("a", 0): None})
    assert not outcome.is_timed
    assert outcome.times == []


def test_the_version_of_stored_splits_is_reported(tmp_path):
    sources = table2.Sources({"iris": 150}, load_bundled)
    table2.run(sources, tmp_path, splits=1, config=TINY, families=["tv"])
    path = tmp_path / "pieces" / "iris-00.json"
    text = path.read_text()
    assert '"credalens": "' in text
    start = text.index('"credalens": "')
    path.write_text(text[:start] + '"credalens": "0.0.1"}')
    found = table2.run(sources, tmp_path, splits=1, config=TINY, families=["tv"])
    assert "Splits were computed with credalens 0.0.1." in found.text
    assert found.outcome.n_reused == 1


def test_missing_measures_of_a_time_are_kept_from_the_split():
    split = {"dataset": "a", "split": 0, "measures": {"TU tv": {"seconds": 9.0, "auc": 0.5}}}
    timed = {"dataset": "a", "split": 0, "measures": {}, "load": 0.0}
    found = table2_timing.with_times(Outcome([split]), {("a", 0): timed})
    assert found.results[0]["measures"]["TU tv"] == {"seconds": 9.0, "auc": 0.5}
    assert pytest.approx(9.0) == split["measures"]["TU tv"]["seconds"]
