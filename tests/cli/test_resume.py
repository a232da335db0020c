"""Finished rows survive errors of disks and file servers, full memory and damage."""

import errno
import hashlib

import numpy as np
import pytest

from credalens.io import source
from credalens.io.npy import NpyReader
from credalens.io.part_store import PartStore
from prediction_files import call, predictions

ARGUMENTS = ("--chunk-rows", 10, "--threads", 1)


@pytest.fixture
def models(tmp_path, monkeypatch):
    """A file of 100 rows and its scores; transient errors are retried at once."""
    monkeypatch.setattr(source, "RETRY_DELAYS", (0.0, 0.0, 0.0))
    np.save(tmp_path / "a.npy", predictions(100)[0])
    call("score", tmp_path / "a.npy", "-o", tmp_path / "expected.csv", *ARGUMENTS)
    return tmp_path


def failing(monkeypatch, error, times, after=5):
    """Make the blocks of a file fail a number of times, from the block `after` on."""
    read, count = NpyReader.read, 0

    def read_or_fail(self, start, stop, axis=0):
        nonlocal count
        if start >= 10 * after and count < times:
            count += 1
            raise error
        return read(self, start, stop, axis)

    monkeypatch.setattr(NpyReader, "read", read_or_fail)


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EINTR, errno.ETIMEDOUT])
def test_transient_errors_are_retried(number, models, monkeypatch):
    failing(monkeypatch, OSError(number, "not now"), 3)
    call("score", models / "a.npy", "-o", models / "s.csv", *ARGUMENTS)
    assert (models / "s.csv").read_bytes() == (models / "expected.csv").read_bytes()


@pytest.mark.parametrize(
    "error",
    [OSError(errno.EIO, "disk"), OSError(errno.ESTALE, "server"), OSError(errno.ETIMEDOUT, "net"),
     OSError(errno.EINTR, "signal"), OSError(errno.ENOMEM, "memory"), MemoryError(),
     RuntimeError("cannot be decoded"), ValueError("cannot be decoded")],
    ids=repr,
)  # fmt: skip
def test_errors_of_reading_keep_finished_rows(error, models, monkeypatch):
    out = models / "s.csv"
    with monkeypatch.context() as patch:
        failing(patch, error, 1000)
        done = call("score", models / "a.npy", "-o", out, *ARGUMENTS, code=2)
    if not isinstance(error, MemoryError):
        assert f"{models}/a.npy: " in done.stderr
        assert "(50 rows finished; continue with --resume)" in done.stderr
    done = call("score", models / "a.npy", "-o", out, *ARGUMENTS, "--resume")
    assert "continuing after 50 finished rows" in done.stderr
    assert out.read_bytes() == (models / "expected.csv").read_bytes()


def test_an_invalid_row_leaves_nothing(models):
    members = predictions(100)[0]
    members[77] = 3
    np.save(models / "a.npy", members)
    call("score", models / "a.npy", "-o", models / "s.csv", *ARGUMENTS, code=2)
    assert not (models / ".s.csv.parts").exists()


@pytest.mark.parametrize("damage", ["empty", "flipped", "line"])
def test_damaged_parts_are_named_and_computed_again(damage, models, monkeypatch):
    out, parts = models / "s.csv", models / ".s.csv.parts"
    with monkeypatch.context() as patch:
        failing(patch, OSError(errno.EIO, "disk"), 1000)
        call("score", models / "a.npy", "-o", out, *ARGUMENTS, code=2)
    path = parts / ("parts.jsonl" if damage == "line" else "whole.csv")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(b"" if damage == "empty" else content)
    damaged = PartStore(out, _task(parts), True).damaged
    assert len(damaged) == (5 if damage == "empty" else 1)
    done = call("score", models / "a.npy", "-o", out, *ARGUMENTS, "--resume")
    for start, stop in damaged:
        told = (
            f"warning: the finished rows {start} to {stop - 1} are damaged and are computed again"
        )
        assert told in done.stderr
    assert out.read_bytes() == (models / "expected.csv").read_bytes()


def _task(parts):
    import json

    return json.loads((parts / "task.json").read_text())


@pytest.mark.parametrize("command", ["score", "decide"])
def test_the_checksum_of_an_output(command, models):
    out, side = models / "s.csv", models / "s.csv.sha256"
    call(command, models / "a.npy", "-o", out)
    assert not side.exists()
    call(command, models / "a.npy", "-o", out, "--checksum")
    assert side.read_text() == f"{hashlib.sha256(out.read_bytes()).hexdigest()}  s.csv\n"
    np.save(models / "a.npy", predictions(30)[0])
    call(command, models / "a.npy", "-o", out)  # it is not left outdated
    assert side.read_text() == f"{hashlib.sha256(out.read_bytes()).hexdigest()}  s.csv\n"
    side.write_text("mine")
    call(command, models / "a.npy", "-o", out)
    assert side.read_text() == "mine"
