"""`credalens compare`: two ensembles, `--drop`, rows that changed, the page."""

import csv

import numpy as np
import pytest

import credalens as cl
from prediction_files import app, runner

K, N = 3, 300


def members(strength, M, seed):
    rng = np.random.default_rng(seed)
    y = np.random.default_rng(0).integers(0, K, N)
    shared = strength * np.eye(K)[y][:, None]
    return y, shared + (1 - strength) * rng.dirichlet(np.ones(K), (N, M))


@pytest.fixture
def ensembles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = {}
    for name, strength, M in (("old", 0.2, 3), ("new", 0.4, 4)):
        (tmp_path / name).mkdir()
        y, P = members(strength, M, len(found) + 1)
        for m in range(M):
            np.save(tmp_path / name / f"model_{m}.npy", P[:, m])
        found[name] = P
    np.save(tmp_path / "y.npy", np.where(np.arange(N) % 10, y, np.nan))  # a tenth has none
    return y, found, tmp_path


def run(*arguments, code=0):
    done = runner.invoke(app, ["compare", *arguments])
    assert done.exit_code == code, done.output
    return done.output


def test_two_ensembles(ensembles):
    y, found, folder = ensembles
    text = run("old", "new", "--labels", "y.npy", "-o", "changed.csv", "--report", "page.html",
               "--resamples", "100")  # fmt: skip
    kept = np.arange(N) % 10 != 0
    expected = cl.validity.compare_ensembles(
        y[kept], found["old"][kept], found["new"][kept], n_resamples=100, random_state=0
    )
    assert "old (first) and new (second), 270 rows" in text
    line = next(line for line in text.splitlines() if "accuracy of the majority" in line)
    assert f"{expected.first[0]:.4f}  {expected.second[0]:.4f}" in line
    assert line.split()[-1] == "better"
    rows = list(csv.DictReader((folder / "changed.csv").read_text().splitlines()))
    numbers = np.flatnonzero(kept)[expected.changed]
    assert [int(row["row"]) for row in rows] == numbers.tolist()
    for row in rows[:20]:
        i = int(row["row"])
        assert int(row["label"]) == y[i]
        votes = [int(cl.majority_vote(found[name][i : i + 1])[0]) for name in ("old", "new")]
        assert [int(row["prediction_first"]), int(row["prediction_second"])] == votes
        assert row["correct_second"] == str(votes[1] == y[i]).lower()
    page = (folder / "page.html").read_text()
    assert page.count("<svg") == np.isfinite(expected.difference).all(axis=1).sum() > 10
    assert f"{len(rows)} rows changed" in page


def test_without_some_models(ensembles):
    y, found, _ = ensembles
    text = run("new", "--drop", "model_1", "--drop", "model_3", "--labels", "y.npy",
               "--resamples", "50")  # fmt: skip
    assert "new without model_1, model_3 (second)" in text
    kept = np.arange(N) % 10 != 0
    second = cl.majority_vote(found["new"][kept][:, [0, 2]]) == y[kept]
    assert f"{second.mean():.4f}" in text
    options = ("--labels", "y.npy")
    text = run("new", "--drop", "model_9", *options, code=2)
    assert "--drop: there is no model 'model_9'; choose from model_0" in text
    text = run("old", *(w for m in range(3) for w in ("--drop", f"model_{m}")), *options, code=2)
    assert "leaves no model" in text


def test_rows_are_matched_by_their_ids(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    y, P = members(0.3, 2, 1)
    order = np.random.default_rng(3).permutation(N)
    for name, rows in (("a", np.arange(N)), ("b", order)):
        ids = np.array([f"r{i}" for i in rows])
        np.savez(tmp_path / f"{name}.npz", probs=P[rows], labels=y[rows], ids=ids)
    text = run("a.npz", "b.npz", "--resamples", "20")
    assert "0 predictions changed" in text
    np.savez(tmp_path / "c.npz", probs=P[:-1], labels=y[:-1], ids=[f"r{i}" for i in range(N - 1)])
    text = run("a.npz", "c.npz", code=2)
    assert "c.npz: has no labelled row 'r299', unlike a.npz" in text


def test_refusals(ensembles):
    y, found, folder = ensembles
    assert "pass a second ensemble, or --drop" in run("old", "--labels", "y.npy", code=2)
    assert "old: has no labels; pass --labels" in run("old", "new", code=2)
    np.save(folder / "four.npy", np.full((N, 2, 4), 0.25))
    text = run("old", "four.npy", "--labels", "y.npy", code=2)
    assert "four.npy: has 4 classes, old has 3" in text
    text = run("old", "new", "--labels", "y.npy", "--confidence", "2", code=2)
    assert "--confidence: is 2" in text
    text = run("old", "new", "--labels", "y.npy", "-o", "old/changed.csv", code=2)
    assert "old, an input; name another output" in text
    np.savez(folder / "p.npz", probs=found["old"], labels=y)
    np.savez(folder / "q.npz", probs=found["old"], labels=(y + 1) % K)
    text = run("p.npz", "q.npz", code=2)
    assert "q.npz: has another label than p.npz in labelled row 0" in text
