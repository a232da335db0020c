"""Odd and invalid files: writers, and the check of a message and of what it suggests."""

import json
import shlex

import numpy as np
import pandas as pd

import credalens as cl
import real_files as real
from prediction_files import call
from real_files import MEMBERS, N

P, PAIR = MEMBERS[:, 0], MEMBERS[:, :2]
FIX_ROW = "fix the row, or drop it by --on-error skip"
ROW = "{a}: row 0 (zero-based): "


def text(name, content):
    """Return a function that writes a file of text or bytes."""

    def make(folder):
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
        return [folder / name]

    return make


def npy(array):
    def make(folder):
        np.save(folder / "a.npy", array, allow_pickle=True)
        return [folder / "a.npy"]

    return make


def npz(**arrays):
    def make(folder):
        np.savez(folder / "a.npz", **arrays)
        return [folder / "a.npz"]

    return make


def truncated(folder):
    np.save(folder / "a.npy", P)
    (folder / "a.npy").write_bytes((folder / "a.npy").read_bytes()[:-100])
    return [folder / "a.npy"]


def labels(array):
    """Return a function that writes three models and a file of labels."""

    def make(folder):
        np.save(folder / "y.npy", array)
        return [*real.npys(folder), "--labels", folder / "y.npy"]

    return make


def two(first, second):
    def make(folder):
        for name, values in (("a", first), ("b", second)):
            if isinstance(values, pd.DataFrame):
                values.to_csv(folder / f"{name}.csv", index=False)
            else:
                np.save(folder / f"{name}.npy", values)
        return [next(folder.glob(f"{name}.*")) for name in "ab"]

    return make


def with_options(make, *options):
    return lambda folder: [*make(folder), *options]


def shuffled_ids(ids):
    return two(real.frame(0, id=np.arange(N)), real.frame(1, id=ids))


def scores(folder, arguments, members, labels=None):
    """Score files, and compare the result with the members, and with the labels if given."""
    out = folder / "scores.jsonl"
    call("score", *arguments, "-q", "-o", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    expected = cl.total_uncertainty(members)
    assert np.allclose([row["tv_total"] for row in rows], expected, rtol=0, atol=1e-12)
    if labels is not None:
        right = cl.majority_vote(members) == labels
        assert [row["correct"] for row in rows] == [
            None if y < 0 else bool(ok) for y, ok in zip(labels, right, strict=True)
        ]
    return rows


def check(case, folder):
    """Check one case.

    A case is how its files are written; the message, in which {a} is the first file and {f} the
    folder; what the message suggests: options, or other files; and what follows: another message,
    the members that are read, or the members and the labels.
    """
    make, message, suggestion, outcome = (*case, None, None)[:4]
    arguments = make(folder)
    refused(arguments, message, folder)
    if suggestion is None:
        return
    if callable(suggestion):
        arguments = suggestion(folder)
    else:
        arguments = [*arguments, *shlex.split(suggestion)]
    if isinstance(outcome, str):
        refused(arguments, outcome, folder)
    elif isinstance(outcome, tuple):
        scores(folder, arguments, *outcome)
    else:
        scores(folder, arguments, outcome)


def refused(arguments, message, folder):
    shown = message.replace("{a}", str(arguments[0])).replace("{f}", str(folder))
    found = call("score", *arguments, "-q", code=2).stderr.removesuffix("\n")
    assert found.removeprefix("credalens: ") == shown
