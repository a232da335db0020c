"""Checks before and after a repair: their definition, the page, and what it says."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import credalens as cl
from credalens import cli
from credalens.experiments import repair_study
from credalens.io import Predictions


@pytest.fixture(scope="module")
def ensemble():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.full(3, 0.4), 400)
    labels = (true.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    members = np.stack([true**2, true**3, rng.dirichlet(np.ones(3), 400)], axis=1)
    members /= members.sum(axis=2, keepdims=True)
    return members, labels


@pytest.mark.slow
def test_repaired_on_one_half_and_checked_on_the_other(ensemble):
    members, labels = ensemble
    predictions = Predictions(names=("a", "b", "noise"), members=members, labels=labels)
    found = repair_study.study(predictions, 2, seed=5)
    assert found.left_out == {"noise": 2}
    assert found.n_tested == 200
    order = np.random.default_rng([5, 1]).permutation(400)
    fit, tested = order[:200], order[200:]
    repair = cl.validity.repair(members[fit], labels[fit])
    after = repair_study.Checks.of(repair(members[tested]), labels[tested], 1)
    assert found.after[1] == after
    assert found.before[1] == repair_study.Checks.of(members[tested], labels[tested], 1)
    assert after.ece < found.before[1].ece


@pytest.mark.slow
def test_bins_are_counted_one_by_one(ensemble):
    members, labels = ensemble
    checks = repair_study.Checks.of(members, labels, 0)
    found = cl.validity.reliability(members, labels)
    passed = n = means = 0
    for diagram in (found.top, *found.classes):
        for low, high, band, top, center in zip(
            diagram.lower, diagram.upper, diagram.band_lower, diagram.band_upper, diagram.center,
            strict=True,
        ):  # fmt: skip
            passed += bool(high >= band and low <= top)
            means += bool(low <= center <= high)
            n += 1
    assert checks.bands == pytest.approx(passed / n)
    assert checks.means == pytest.approx(means / n)


@pytest.mark.slow
def test_the_command_writes_the_page(ensemble, tmp_path):
    members, labels = ensemble
    folder, out = tmp_path / "nets", tmp_path / "out"
    folder.mkdir()
    for m in range(3):
        np.savez(folder / f"{m}.npz", probs=members[:, m], labels=labels)
    words = ["reproduce", "repair", "--predictions", f"Three={folder}", "--splits", "1"]
    done = CliRunner().invoke(cli.app, [*words, "--out", str(out)])
    assert done.exit_code == 0, done.output
    page = (out / "repair.md").read_text(encoding="utf-8")
    assert page.startswith("# Repair: checks of the sets before and after\n")
    assert "- Three: the sets pass " in page
    assert "Members left out by the repair: 2 (1 of 1)." in page
    with (out / "repair.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["repair"] for row in rows] == ["before", "after"]
    assert float(rows[1]["auc_total"]) > float(rows[0]["auc_total"])
