"""Files of scores in every format, and states that survive a kill."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pytest

from credalens.io import lines
from credalens.io.tables import WRITERS, as_batch
from credalens.monitor import ScoreSketch, check
from credalens.monitor import score_files as files_module
from credalens.monitor.score_files import read_sketch, score_columns
from credalens.monitor.state import STATE, MonitorState, file_digest
from policy_cases import CLASSES, policy

FORMATS = [".parquet", ".csv", ".jsonl", ".npz"]


def scores(n=500, seed=0, shift=1.0, names=CLASSES):
    rng = np.random.default_rng(seed)
    total = (rng.random(n) ** shift).astype(np.float32)
    votes = rng.integers(0, 4, n)
    truth = np.where(rng.random(n) < 0.9, votes, rng.integers(0, 4, n))
    known = rng.random(n) < 0.7
    if names is not None:
        votes, truth = np.array(names)[votes], np.array(names)[truth]
    return {
        "id": np.arange(n),
        "prediction": votes,
        "tv_total": total,
        "tv_epistemic": total.astype(np.float64) / 3,
        "site": np.array(["north", "south"])[rng.integers(0, 2, n)],
        "label": np.ma.MaskedArray(truth, ~known),
        "correct": np.ma.MaskedArray(truth == votes, ~known),
    }


def write(path, columns):
    batch = as_batch(columns)
    WRITERS[path.suffix](lambda: iter([batch]), path)
    return str(path)


def settings(columns=("tv_total", "tv_epistemic"), **options):
    return ScoreSketch(columns, **{"by": "site", "policy": policy(), **options})


def canonical(sketch):
    """The content of a sketch, whatever the order of its rows."""
    found = {"outcomes": sketch.outcomes.tolist()}
    for name, group in sorted(sketch.groups.items()):
        tables = [
            [a.tolist() for a in group.histograms[c].table()] + [group.histograms[c].missing]
            for c in sketch.columns
        ]
        found[name] = [group.rows, group.kept, sorted(group.votes.items()), tables]
    return found


@pytest.mark.parametrize("names", [CLASSES, None], ids=["names", "indices"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_gives_the_same_sketch(suffix, names, tmp_path, monkeypatch):
    monkeypatch.setattr(files_module, "BLOCK_ROWS", 64)
    data = scores(names=names)
    own = policy(class_names=names)
    empty = settings(policy=own, target_accuracy=0.8)
    expected = empty.empty()
    expected.add(data)
    path = write(tmp_path / f"scores{suffix}", data)
    assert score_columns(path) == ("tv_total", "tv_epistemic")
    assert canonical(read_sketch(path, empty)) == canonical(expected)
    late = read_sketch(path, empty, scores=False)
    assert late.outcomes.tolist() == expected.outcomes.tolist()
    assert late.rows == 0
    assert expected.outcomes.min() > 0


def test_missing_scores_and_folders_of_parts(tmp_path):
    data = scores(300)
    data["tv_total"] = np.where(np.arange(300) % 5 == 0, np.nan, data["tv_total"])
    (tmp_path / "parts").mkdir()
    for i in range(3):
        part = {k: v[100 * i : 100 * i + 100] for k, v in data.items()}
        write(tmp_path / "parts" / f"part-{i}.parquet", part)
    empty = settings()
    expected = empty.empty()
    expected.add(data)
    found = read_sketch(str(tmp_path / "parts"), empty)
    assert canonical(found) == canonical(expected)
    assert found.total.histograms["tv_total"].missing == 60
    digest = file_digest(str(tmp_path / "parts"))
    assert digest == file_digest(str(tmp_path / "parts"))
    (tmp_path / "parts" / "part-2.parquet").unlink()
    assert digest != file_digest(str(tmp_path / "parts"))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d: d.pop("tv_total"), "has no column 'tv_total'"),
        (lambda d: d.pop("site"), "has no column 'site'"),
        (lambda d: d.update(tv_total=np.array(["x"] * 500)), "column 'tv_total' is string"),
    ],
)
def test_files_that_do_not_match(change, match, tmp_path):
    data = scores()
    change(data)
    path = write(tmp_path / "scores.csv", data)
    with pytest.raises(ValueError, match=match):
        read_sketch(path, settings())


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_text_whose_first_rows_are_whole_numbers(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "TEXT_BLOCK", 1 << 12)
    values = np.append(np.zeros(200_000), [0.5, 1.0])
    path = write(tmp_path / f"s{suffix}", {"tv_total": values, "row": np.arange(len(values))})
    assert score_columns(path) == ("tv_total",)
    found = read_sketch(path, ScoreSketch(["tv_total"])).total.histograms["tv_total"].table()
    assert [one.tolist() for one in found] == [[0.0, 0.5, 1.0], [200_000, 1, 1]]


def test_files_that_are_not_scores(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    with pytest.raises(ValueError, match=r"a\.npz: has no columns of scores"):
        score_columns(str(tmp_path / "a.npz"))
    with pytest.raises(ValueError, match="file extension"):
        score_columns(str(write_text(tmp_path / "a.npy", "x")))
    with pytest.raises(ValueError, match="does not exist"):
        score_columns(str(tmp_path / "no.csv"))
    with pytest.raises(ValueError, match="cannot be read"):
        score_columns(str(write_text(tmp_path / "b.parquet", "no parquet")))
    data = scores()
    del data["correct"]
    with pytest.raises(ValueError, match="no column 'correct'"):
        read_sketch(write(tmp_path / "s.csv", data), settings(), scores=False)
    none = pa.table({"tv_total": pa.array([], pa.float32())})
    pa.parquet.write_table(none, tmp_path / "none.parquet")
    with pytest.raises(ValueError, match="has no rows"):
        read_sketch(str(tmp_path / "none.parquet"), ScoreSketch(["tv_total"]))


def write_text(path, text):
    path.write_text(text)
    return path


# ---------------------------------------------------------------- the state


def parts(tmp_path, count=4):
    return [write(tmp_path / f"{i}.parquet", scores(300, i)) for i in range(count)]


def new_state(folder, empty):
    state = MonitorState(folder)
    if not state.exists:
        state.create(empty, {"level": 0.05})
    return state


def reader(empty):
    return lambda name, scores: read_sketch(name, empty, scores=scores)


def test_parts_are_counted_once(tmp_path):
    names = parts(tmp_path)
    empty = settings(target_accuracy=0.8)
    state = new_state(tmp_path / "state", empty)
    assert state.update(names[:2], reader(empty)) == []
    copy = write_text(tmp_path / "copy.parquet", "")
    copy.write_bytes((tmp_path / "1.parquet").read_bytes())
    state = MonitorState(tmp_path / "state")
    assert state.update([str(copy), names[2]], reader(state.empty)) == [str(copy)]
    state = MonitorState(tmp_path / "state")
    assert [part.name for part in state.scored] == names[1:3]
    assert [part.run for part in state.parts] == [0, 1, 2]
    assert [part.name for part in state.window()] == names[2:3]
    assert [part.name for part in state.window(2)] == names[1:3]
    expected = empty.empty()
    for seed in (1, 2):
        expected.add(scores(300, seed))
    assert canonical(state.merged(state.window(2))) == canonical(expected)
    assert np.sum(state.outcomes, axis=0).tolist() == expected.outcomes.tolist()
    assert state.settings["level"] == 0.05
    # Labels that arrive later.
    state.update([], reader(state.empty), [write(tmp_path / "late.csv", scores(300, 9))])
    state = MonitorState(tmp_path / "state")
    assert len(state.scored) == 2
    assert len(state.outcomes) == 3
    assert state.run == 3
    found = check(state.reference, state.merged(state.window()), run=3, outcomes=state.outcomes)
    assert found.n_new == 300
    assert found.targets[0].trials == sum(part[0][0] for part in state.outcomes)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("killed_at", [0, 1, 2])
def test_a_killed_update_can_be_repeated(killed_at, tmp_path):
    """The process kills itself while it reads a file, after the sketches of those before."""
    names = parts(tmp_path)
    empty = ScoreSketch(["tv_total"])
    folders = [tmp_path / "killed", tmp_path / "whole"]
    for folder in folders:
        new_state(folder, empty).update(names[:1], reader(empty))
    before = (folders[0] / STATE).read_bytes()
    script = f"""
        import os, signal
        from credalens.monitor.score_files import read_sketch
        from credalens.monitor.state import MonitorState

        state = MonitorState({str(folders[0])!r})
        names = {names[1:]!r}

        def read(name, scores):
            if name == names[{killed_at}]:
                os.kill(os.getpid(), signal.SIGKILL)
            return read_sketch(name, state.empty, scores=scores)

        state.update(names, read)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert (folders[0] / STATE).read_bytes() == before
    for folder in folders:
        state = MonitorState(folder)
        assert state.update(names[1:], reader(state.empty)) == []
    killed, whole = (MonitorState(folder) for folder in folders)
    assert killed.parts == whole.parts
    assert canonical(killed.merged(killed.scored)) == canonical(whole.merged(whole.scored))
    sketches = {path.name for path in folders[1].glob("*.npz")}
    assert {path.name for path in folders[0].glob("*.npz")} == sketches


def test_an_invalid_file_changes_nothing(tmp_path):
    names = parts(tmp_path, 2)
    empty = ScoreSketch(["tv_total"])
    state = new_state(tmp_path / "state", empty)
    state.update(names[:1], reader(empty))
    before = (tmp_path / "state" / STATE).read_bytes()
    with pytest.raises(ValueError, match="does not exist"):
        state.update([names[1], "no.csv"], reader(empty))
    assert (tmp_path / "state" / STATE).read_bytes() == before


def test_folders_that_are_not_states(tmp_path):
    write_text(tmp_path / "notes.txt", "x")
    with pytest.raises(ValueError, match="is not a state of monitor"):
        MonitorState(tmp_path)
    for content in ("{", "[]", json.dumps({"format": "credalens monitor", "version": 9})):
        write_text(tmp_path / STATE, content)
        with pytest.raises(ValueError, match="is not a state of version 1"):
            MonitorState(tmp_path)
