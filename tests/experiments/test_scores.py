"""Comparison of all scores: numbers, summaries, resuming, and the page."""

import csv
import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from typer.testing import CliRunner

import credalens as cl
from credalens.cli import reproduce as reproduce_commands
from credalens.datasets import load_bundled
from credalens.evaluation.score_functions import score_function
from credalens.experiments import (
    output,
    protocol,
    scores,
    scores_compare,
    scores_output,
    scores_summary,
    scores_tasks,
)
from credalens.experiments.protocol import Config
from credalens.experiments.scores_compare import METRICS, SCORES
from credalens.experiments.table2 import Sources
from credalens.io import Predictions
from ensembles import dirichlet

TINY = Config(members=3)
runner = CliRunner()


def ensemble(n=300, M=4, K=4, seed=0, faulty=False):
    """Predictions that are more often wrong the less confident they are."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    signal = 2 * rng.random((n, 1, 1)) * np.eye(K)[y][:, None]
    logits = signal + rng.normal(size=(n, 1, K)) + 0.3 * rng.normal(size=(n, M, K))
    if faulty:
        logits[:, -1] = np.eye(K)[0] * 20
    members = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    return Predictions(tuple(f"m{i}" for i in range(M)), members, y)


def bundled(*names):
    return Sources(dict.fromkeys(names, 150), load_bundled)


def call(*args):
    return runner.invoke(reproduce_commands.app, ["scores", *map(str, args)])


def read_csv(folder):
    with (folder / "scores.csv").open() as file:
        return list(csv.DictReader(file))


def test_every_score_is_a_column_of_the_command_line():
    P = dirichlet(30, 4, 5)
    found, error = scores_compare.all_scores(P)
    assert error == 0
    for name, values in found.items():
        expected = score_function(name)(cl.ConvexHull(P))
        assert_allclose(np.asarray(values), np.asarray(expected), err_msg=name)


def test_left_out_scores_have_the_order_of_another():
    P = dirichlet(200, 5, 4, 0.5)
    found, _ = scores_compare.all_scores(P)
    same = {
        "zero_one_total": "confidence_total",
        "second_order_distance_total": "confidence_total",
        "spherical_total": "variance_total",
        "scoring:zero_one_aleatoric": "tv_aleatoric",
        "scoring:log_aleatoric_lower": "entropy_aleatoric",
        "scoring:log_aleatoric_upper": "entropy_total",
        "scoring:spherical_aleatoric": "scoring:brier_aleatoric",
    }
    for name, other in same.items():
        assert name not in SCORES
        order = cl.rejection_order(score_function(name)(cl.ConvexHull(P)))
        np.testing.assert_array_equal(order, cl.rejection_order(found[other]), err_msg=name)


@pytest.mark.slow
def test_numbers_are_those_of_compare_scores():
    one = ensemble()
    found = scores_compare.compare_predictions("x", one, 3)
    vote = cl.majority_vote(one.members)
    assert found.accuracy == np.mean(vote == one.labels)
    assert found.faulty == ()
    expected = cl.compare_scores(
        one.labels, vote, scores_compare.all_scores(one.members)[0], metrics=METRICS,
        baseline="tv_total", random_state=3,
    )  # fmt: skip
    for s, score in enumerate(expected.scores):
        for m, metric in enumerate(METRICS):
            numbers = [*expected.value[m, s], *expected.difference[m, s]]
            assert_allclose(found.measures[score][metric], numbers, err_msg=score)
    curve = cl.rejection_curve(one.labels, vote, cl.total_uncertainty(one.members))
    assert found.measures["tv_total"]["auc"][0] == pytest.approx(curve.auc, rel=1e-13)


@pytest.mark.slow
def test_a_faulty_model_is_named():
    found = scores_compare.compare_predictions("x", ensemble(800, faulty=True))
    assert found.faulty == ("m3",)
    assert "Models that `credalens diagnose` reports: m3." in scores_output.notes.of_ensemble(found)


def test_without_labels():
    one = ensemble()
    with pytest.raises(ValueError, match=r"^x: has no labels; pass --labels FILE"):
        scores_compare.compare_predictions("x", Predictions(one.names, one.members, None))


def split_result(name, split, **numbers):
    """A stored split in which all scores have the same numbers, but for those given."""
    zero = [0.5, 0.4, 0.6, 0.0, 0.0, 0.0]
    measures = {score: dict.fromkeys(METRICS, zero) for score in SCORES}
    for score, values in numbers.items():
        measures[score] = dict.fromkeys(METRICS, values)
    return {
        "dataset": name, "split": split, "n_train": 7, "n_test": 3, "n_classes": 2,
        "accuracy": 0.5, "hartley_error": 0.0, "measures": measures,
    }  # fmt: skip


def test_summary_over_datasets():
    # Dataset a: mean interval of two splits above 0; b: contains 0; c: below 0; d: undefined.
    each = {
        "a": [[0.7, 0.6, 0.8, 0.20, 0.02, 0.3], [0.9, 0.6, 0.8, 0.10, -0.01, 0.3]],
        "b": [[0.5, 0.4, 0.6, 0.05, -0.1, 0.2]],
        "c": [[0.4, 0.3, 0.5, -0.10, -0.2, -0.05]],
        "d": [[math.nan] * 6],
    }
    results = [
        split_result(name, i, confidence_total=numbers)
        for name, splits in each.items() for i, numbers in enumerate(splits)
    ]  # fmt: skip
    rows = {(row.score, row.metric): row for row in scores_summary.group_rows(results)}
    assert len(rows) == len(SCORES) * len(METRICS)
    row = rows["confidence_total", "auroc"]
    assert row.value == pytest.approx((0.8 + 0.5 + 0.4) / 3)
    assert row.difference == pytest.approx((0.15 + 0.05 - 0.1) / 3)
    assert (row.n_better, row.n_worse, row.n_datasets) == (1, 1, 3)
    # Of AURC a smaller value is better.
    assert rows["confidence_total", "aurc"].n_better == 1
    assert rows["tv_total", "auroc"].n_datasets == 4
    # The resamples of three values: every mean of three draws with replacement.
    values = np.array([0.15, 0.05, -0.1])
    grid = np.sort([np.mean(values[list(np.unravel_index(i, (3, 3, 3)))]) for i in range(27)])
    assert row.difference_lower == pytest.approx(grid[0])
    assert row.difference_upper == pytest.approx(grid[-1])


def test_intervals_over_many_datasets_are_those_of_the_mean():
    values = np.random.default_rng(0).normal(0.3, 1.0, 64)
    low, high = scores_summary.bootstrap_interval(values)
    half = 1.96 * values.std() / 8
    assert_allclose([low, high], [values.mean() - half, values.mean() + half], atol=0.03)


def test_summary_of_tasks():
    rng = np.random.default_rng(0)
    values = rng.random((30, 2))
    results = [
        {"dataset": task, "split": i, "measures": {"tv_total": a, "confidence_total": b}}
        for task in ("ood-equal", "active") for i, (a, b) in enumerate(values)
    ]  # fmt: skip
    by_digit = values.reshape(3, 10, 2).mean(axis=0)
    for task, pairs in (("ood-equal", by_digit), ("active", values)):
        found = {row.score: row for row in scores_summary.task_rows(results, task)}
        row = found["confidence_total"]
        interval = stats.ttest_rel(pairs[:, 1], pairs[:, 0]).confidence_interval(0.95)
        assert row.value == pytest.approx(pairs[:, 1].mean())
        assert_allclose([row.difference_lower, row.difference_upper], interval)
        assert found["tv_total"].difference == 0


@pytest.mark.slow
def test_page_and_resuming(tmp_path, monkeypatch):
    run = {"sources": bundled("iris", "wine"), "splits": 2, "equal": True, "config": TINY,
           "command": "command"}  # fmt: skip
    first = scores.run({"nets": ensemble()}, tmp_path, **run)
    assert first.outcome.n_reused == 0
    page, rows = (tmp_path / "scores.md").read_text(), read_csv(tmp_path)
    assert page.startswith(
        "# Scores: all families as rankings of errors\n\n- Detection of errors: "
    )
    assert page.endswith(f"- Command: `command`\n- {output.versions()}\n")
    for title in ("## Overview", "## nets", "## Forests of different size and depth on 2 KEEL",
                  "## Forests with equal hyperparameters on 2 KEEL datasets"):  # fmt: skip
        assert title in page
    groups = {(row["group"], row["dataset"]) for row in rows}
    kinds = ("KEEL", "equal-KEEL")
    assert groups == {("ensemble", "nets"), *((k, d) for k in kinds for d in ("iris", "wine"))}
    assert len(rows) == 5 * len(SCORES) * len(METRICS)
    assert all(row["verdict"] in ("", "better", "worse") for row in rows)
    # Stored splits are used again, bit for bit.
    monkeypatch.setattr(protocol, "stratified_split", None)
    again = scores.run({"nets": ensemble()}, tmp_path, **run)
    assert again.outcome.n_reused == 8
    assert (tmp_path / "scores.md").read_text() == page
    assert read_csv(tmp_path) == rows


@pytest.mark.slow
def test_a_split_has_the_predictions_of_table_2():
    data = load_bundled("wine")
    found = scores_compare.compare_split("wine", data.X, data.y, 1, TINY)
    table2 = protocol.run_split("wine", data.X, data.y, 1, TINY, ["tv"])
    assert found["accuracy"] == table2["accuracy"]
    predicted = protocol.predict_split("wine", data.X, data.y, 1, TINY)
    curve = cl.rejection_curve(
        predicted.labels,
        cl.majority_vote(predicted.members),
        cl.total_uncertainty(predicted.members),
    )
    assert found["measures"]["tv_total"]["auc"][0] == pytest.approx(curve.auc, rel=1e-13)
    # Equal forests: the same split, other hyperparameters.
    equal = scores_compare.compare_split("equal-wine", data.X, data.y, 1, TINY)
    assert equal["dataset"] == "equal-wine"
    assert equal["n_test"] == found["n_test"]
    other = protocol.predict_split("wine", data.X, data.y, 1, TINY, equal=True)
    np.testing.assert_array_equal(other.labels, predicted.labels)
    assert (other.members != predicted.members).any()


@pytest.mark.slow
def test_tasks(tmp_path, monkeypatch):
    monkeypatch.setattr(scores, "REPEATS", 2)
    monkeypatch.setattr(scores_tasks, "ROUNDS", 1)
    found = scores.run({}, tmp_path, tasks=True, config=TINY)
    assert len(found.outcome.results) == 2 * len(scores_tasks.TASKS)
    page = (tmp_path / "scores.md").read_text()
    for title in scores_tasks.TASKS.values():
        assert f"## {title.capitalize()}" in page
    assert "| random |" in page
    metrics = {(row["dataset"], row["metric"]) for row in read_csv(tmp_path)}
    assert metrics == {("ood-equal", "auroc"), ("ood-different", "auroc"), ("active", "accuracy")}
    # The AUROC of one digit, computed step by step.
    stored = json.loads((tmp_path / scores.STORE / "pieces" / "ood-equal-01.json").read_text())
    assert 0.5 < stored["measures"]["tv_total"] <= 1


def test_verdicts():
    numbers = {metric: [0.5, 0.4, 0.6, 0.0, -1.0, 1.0] for metric in METRICS}
    one = scores_compare.Comparison("x", 1, 1, 2, 0.5, 0.5, (), 0.0, {"confidence_total": numbers})
    assert scores_output.verdicts(one, "confidence_total") == "no clear difference"
    numbers["aurc"] = [0.5, 0.4, 0.6, -0.1, -0.2, -0.1]
    assert scores_output.verdicts(one, "confidence_total") == "better (AURC)"
    numbers["auroc"] = [0.5, 0.4, 0.6, -0.1, -0.2, -0.1]
    assert scores_output.verdicts(one, "confidence_total") == "better (AURC); worse (AUROC)"
    for metric, sign in zip(METRICS, (1, -1, -1, 1), strict=True):
        numbers[metric] = [0.5, 0.4, 0.6, *sorted(sign * np.array([0.1, 0.2, 0.3]))]
    assert scores_output.verdicts(one, "confidence_total") == "better"


@pytest.mark.slow
def test_command(tmp_path):
    one = ensemble()
    folder = tmp_path / "nets"
    folder.mkdir()
    for i, name in enumerate(one.names):
        np.savez(folder / f"{name}.npz", probs=one.members[:, i], labels=one.labels)
    done = call(
        "--predictions", f"all of them={folder}", "--predictions", f"two={folder}/m[01].npz",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "confidence_total" in done.stdout
    assert "`" not in done.stdout
    page = (tmp_path / "out" / "scores.md").read_text()
    assert (
        '- Command: `credalens reproduce scores --predictions "all of them=nets" '
        '--predictions "two=nets/m[01].npz"`\n'
    ) in page
    assert "300 rows, 4 models, 4 classes." in page
    assert "300 rows, 2 models, 4 classes." in page
    expected = scores_compare.compare_predictions("two", Predictions(
        one.names[:2], one.members[:, :2], one.labels))  # fmt: skip
    key = {"dataset": "two", "score": "tv_epistemic", "metric": "augrc"}
    (row,) = (row for row in read_csv(tmp_path / "out") if key.items() <= row.items())
    assert float(row["value"]) == round(expected.measures["tv_epistemic"]["augrc"][0], 6)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "nothing to compare; pass --predictions, --datasets or --tasks"),
        (
            ["--predictions", "=folder"],
            "--predictions: =folder has no name or no path; pass NAME=PATH",
        ),
        (["--predictions", "a=x", "--predictions", "a=y"], "--predictions: two are named a"),
        (["--ensemble", "nowhere"], "ensemble: nowhere has no complete ensemble; train one with"),
        (["--datasets", "unheard"], "unheard"),
    ],
)
def test_refused(args, message, tmp_path):
    done = call(*args, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not (tmp_path / "out").exists()
