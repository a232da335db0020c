"""`credalens diagnose`, and the warning of the other commands about a faulty model."""

import csv

import numpy as np
import pytest

import credalens as cl
from prediction_files import call, predictions, write_npz

NAMES = ("ada", "bob", "cyd", "stuck")


@pytest.fixture
def models(tmp_path):
    """Three models and one that always predicts the first class, with labels."""
    members, labels = predictions(n=500)
    members = np.concatenate([members, np.tile([0.9, 0.08, 0.02], (500, 1, 1))], axis=1)
    (tmp_path / "models").mkdir()
    for m, name in enumerate(NAMES):
        write_npz(tmp_path / "models" / f"{name}.npz", members[:, m], labels)
    return tmp_path / "models", members, labels


def test_the_table_and_the_file(models, tmp_path):
    folder, members, labels = models
    out = tmp_path / "diagnosis.csv"
    done = call("diagnose", folder, "-o", out, "--chunk-rows", 37)
    d = cl.diagnose_members(members, labels, NAMES)
    assert d.spoilers == [3]
    assert f"Warning: model {d.verdicts[3]}." in done.stdout
    assert f"4 models, 500 rows, mean total uncertainty {d.mean_total:.4f}" in done.stdout
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["model"] for row in rows] == list(NAMES)
    assert [row["verdict"] for row in rows] == d.verdicts
    for name in ("decides_total", "total_change", "accuracy", "auc_change"):
        found = [float(row[name]) for row in rows]
        np.testing.assert_allclose(found, getattr(d, name), rtol=1e-12)
    assert [row["spoiler"] for row in rows] == ["false"] * 3 + ["true"]


def test_without_labels_and_without_fault(models, tmp_path):
    _, members, _ = models
    np.save(tmp_path / "a.npy", members[:, :3])
    done = call("diagnose", tmp_path / "a.npy")
    assert "No model distorts the uncertainty." in done.stdout
    assert "accuracy" not in done.stdout


def test_the_fix_that_is_suggested(models):
    folder, _, _ = models
    (folder / "stuck.npz").unlink()
    assert "No model distorts the uncertainty." in call("diagnose", folder).stdout
    assert "warning" not in call("score", folder).stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("score", "-o", "s.csv"), ("pick", "--budget", 3, "-o", "p.csv"), ("report", "-o", "r.html")],
)
@pytest.mark.parametrize("labelled", [True, False])
def test_other_commands_warn_in_one_line(models, tmp_path, monkeypatch, arguments, labelled):
    folder, members, labels = models
    monkeypatch.chdir(tmp_path)
    if not labelled:
        for m, name in enumerate(NAMES):
            write_npz(folder / f"{name}.npz", members[:, m], None)
    command, *options = arguments
    done = call(command, folder, *options)
    d = cl.diagnose_members(members, labels if labelled else None, NAMES)
    line = (
        f"credalens: warning: model {d.verdicts[3]} (500 rows compared); check it with credalens "
        "diagnose, or leave its file out"
    )
    assert done.stderr.splitlines().count(line) == 1
    assert "sets TU" not in call(command, folder, *options, "-q").stderr


def test_rows_without_a_label_are_left_out(models, tmp_path):
    _, members, labels = models
    labels = labels.astype(float)
    labels[::3] = np.nan
    np.savez(tmp_path / "a.npz", probs=members, labels=labels)
    kept = ~np.isnan(labels)
    d = cl.diagnose_members(members[kept], labels[kept].astype(int))
    assert f"4 models, {kept.sum()} rows, mean total" in call("diagnose", tmp_path / "a.npz").stdout
    assert f"{d.accuracy[0]:.4f}" in call("diagnose", tmp_path / "a.npz").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["one.npy"], "models: there is only one; pass the files of several models"),
        (["two.npy", "-o", "d.doc"], "unknown file extension '.doc'"),
        (["two.npy", "-o", "nowhere/d.csv"], "nowhere"),
    ],
)
def test_invalid_arguments(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    members, _ = predictions(n=20)
    np.save("one.npy", members[:, 0])
    np.save("two.npy", members)
    assert message in call("diagnose", *arguments, code=2).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npy", "two.npy"]
