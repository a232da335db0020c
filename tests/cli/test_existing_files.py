"""Files of the user that are beside an output, links, pipes and manifests."""

import json
import os

import numpy as np
import pytest

from credalens.io.formats import MANIFEST
from prediction_files import call, predictions


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Write a file with one invalid row; the folder is the working directory."""
    monkeypatch.chdir(tmp_path)
    members = predictions(20)[0]
    members[7] = 2
    np.save(tmp_path / "a.npy", members)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "side"),
    [
        (("score", "-o", "s.csv"), "s.skipped.csv"),
        (("score", "-q"), "credalens.skipped.csv"),
        (("decide", "-o", "s.parquet"), "s.skipped.csv"),
        (("pick", "-o", "s.csv", "--budget", "3"), "s.skipped.csv"),
        (("diagnose", "-o", "s.csv"), "s.skipped.csv"),
    ],
)
@pytest.mark.parametrize("text", ["row,id\n1,mine\n", "my notes\n", ""])
def test_a_file_of_the_user_is_not_replaced(command, side, text, models):
    (models / side).write_text(text)
    done = call(*command, "a.npy", "--on-error", "skip", code=2)
    assert f"{side}: exists, and is not a table of skipped rows; move it" in done.stderr
    assert (models / side).read_text() == text
    assert sorted(os.listdir(models)) == sorted(["a.npy", side])
    (models / side).unlink()
    for _ in range(2):  # its own table is replaced
        call(*command, "a.npy", "--on-error", "skip")
        assert (models / side).read_text().startswith('row,id,file,reason\n7,"","a.npy"')


@pytest.mark.slow
@pytest.mark.parametrize("command", ["score", "decide", "pick", "report"])
def test_pipes_are_refused_and_links_followed(command, models):
    np.save(models / "a.npy", predictions(20)[0])
    name = "r.html" if command == "report" else "s.csv"
    options = ("--budget", 3) if command == "pick" else ()
    os.mkfifo(models / name)
    done = call(command, "-q", "a.npy", *options, "-o", name, code=2)
    assert f"{name}: is a pipe or a device, not a file; name a file" in done.stderr
    assert (models / name).is_fifo()
    (models / name).unlink()
    (models / "there").mkdir()
    (models / "there" / name).write_text("old")
    (models / "there" / name).chmod(0o640)
    (models / name).symlink_to(f"there/{name}")
    call(command, "-q", "a.npy", *options, "-o", name)
    assert (models / name).is_symlink()
    assert (models / "there" / name).stat().st_mode & 0o777 == 0o640
    assert len((models / "there" / name).read_text()) > 100
    assert sorted(os.listdir(models)) == sorted(["a.npy", name, "there"])
    assert os.listdir(models / "there") == [name]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"file": "../precious.parquet"},
            r"names the file '../precious.parquet' instead of 'part-0",
        ),
        ({"file": "/etc/passwd"}, "names the file '/etc/passwd'"),
        ({"file": None}, "names the file None"),
        ({"rows": "1"}, "lacks the entry 'rows' of part-00000"),
        ({"settings": []}, "lacks settings or partitions"),
        ({"settings": {}}, "lacks columns or classes"),
        ({"partitions": [1]}, "names the file 1 instead"),
    ],
)
def test_manifests(change, message, models):
    pytest.importorskip("distributed")
    from credalens.engine.partitions import FORMAT

    entry = {"file": "part-00000.parquet", "start": 0, "stop": 20, "inputs": [], "rows": 20,
             "left_out": 0, "status": "finished"}  # fmt: skip
    settings = {"columns": ["tv_total"], "classes": 3}
    manifest = {"format": FORMAT, "complete": True, "rows": 20, "left_out": 0,
                "partitions": [entry], "settings": settings}  # fmt: skip
    (entry if {"file", "rows"} & change.keys() else manifest).update(change)
    (models / "out").mkdir()
    (models / "out" / MANIFEST).write_text(json.dumps(manifest))
    done = call("evaluate", "out", code=2)
    assert f"_manifest.json: {message}" in done.stderr
