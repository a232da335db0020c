"""A small part of ``make fuzz``, with a fixed seed."""

import random
import sys

import pytest

import fuzzing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs the signals of POSIX"),
]
#: Mutations of each format; the first sizes, which are refused by different readers.
COUNT = 25
NAMES = ("npy (1000000, 1000000)", "npz (-5, 2)", "hdf5 (2, 1000000000)", "object npy")


@pytest.mark.parametrize("kind", [*fuzzing.FORMATS, "keel"])
def test_mutations(kind, tmp_path):
    counts, failures = fuzzing.read_mutations(kind, 0, COUNT, tmp_path)
    assert failures == []
    assert counts["read"] + counts["refused"] == COUNT


@pytest.mark.parametrize("name", NAMES)
def test_enormous_sizes(name):
    assert fuzzing.run_bomb(name) == ""


def test_killed_and_interrupted_runs(tmp_path):
    fuzzing.prepare_run(tmp_path)
    rng = random.Random(0)
    assert fuzzing.kill_and_resume(tmp_path, rng, kills=1) == ""
    assert fuzzing.interrupt_twice(tmp_path, rng) == ""


def test_what_counts_as_a_failure(tmp_path, monkeypatch):
    def broken(path):
        raise KeyError("x")

    monkeypatch.setattr(fuzzing, "read_file", broken)
    counts, failures = fuzzing.read_mutations("csv", 0, 3, tmp_path)
    assert counts == {"failed": 3}
    assert failures[0].startswith("csv 0 0: KeyError")
    assert fuzzing.problem_of(1, "") == "exit code 1"
    assert fuzzing.problem_of(2, "Traceback (most recent call last)") == "a traceback"
    assert fuzzing.problem_of(2, "a\nb\n") == "2 lines"
    assert fuzzing.problem_of(2, "credalens: a; b\n") == ""
