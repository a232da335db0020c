"""The demo: its files and numbers."""

import csv
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

import credalens as cl
from credalens import cli
from credalens.experiments import demo
from credalens.predictors import random_forests
from demo_files import FILES, small_forests

COLUMNS = [
    "prediction",
    "tv_total", "entropy_total",
    "tv_aleatoric_lower", "tv_aleatoric_upper", "entropy_aleatoric", "hartley_aleatoric",
    "tv_epistemic", "entropy_epistemic", "hartley_epistemic",
    "label", "correct",
]  # fmt: skip


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(demo, "N_MEMBERS", 3)
    monkeypatch.setattr(demo, "N_RANDOM_ORDERS", 5)
    monkeypatch.setattr(demo, "make_forests", small_forests)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One run: its folder, its result, and the predictions that it measured."""
    seen = {}
    train = demo.train

    def remembering(name, seed, track):
        seen[name] = train(name, seed, track)
        return seen[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "N_MEMBERS", 3)
        patch.setattr(demo, "N_RANDOM_ORDERS", 5)
        patch.setattr(demo, "make_forests", small_forests)
        patch.setattr(demo, "train", remembering)
        out = tmp_path_factory.mktemp("demo") / "a" / "new folder"
        result = demo.run(out, 0)
    return out, result, seen


def table(path):
    with path.open(newline="") as file:
        header, *lines = csv.reader(file)
    return dict(zip(header, zip(*lines, strict=True), strict=True))


@pytest.mark.slow
def test_these_files_and_nothing_else(finished):
    out, result, _ = finished
    assert result.files == [out / name for name in FILES]
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    for path in result.files[1:3]:
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert data.rstrip().endswith(b"IEND\xaeB`\x82")  # whole
        assert len(data) > 10_000


@pytest.mark.slow
def test_predictions_are_files(finished):
    out, _, seen = finished
    members, labels = seen["digits"]
    folder = out / "predictions"
    models = sorted(folder.glob("model_*.npy"))
    assert len(list(folder.iterdir())) == len(models) + 1
    assert_array_equal(np.stack([np.load(path) for path in models], axis=1), members)
    assert_array_equal(np.load(folder / "truth.npy"), labels)


@pytest.mark.slow
def test_the_commands_of_the_readme_run_on_them(finished, tmp_path, monkeypatch):
    shutil.copytree(finished[0] / "predictions", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    models = sorted(path.name for path in tmp_path.glob("model_*.npy"))
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    commands = re.findall(r"^credalens (.*model_\*\.npy.*?)(?:  .*)?$", readme, re.M)
    assert [line.split()[0] for line in commands] == [
        "score", "report", "evaluate", "validate", "diagnose", "decide", "pick", "explore",
        "compare", "score",
    ]  # fmt: skip
    for line in commands:
        expanded = [models if word == "model_*.npy" else [word] for word in line.split()]
        words = [
            word.replace("model_3", "model_1").strip("'") for some in expanded for word in some
        ]
        done = CliRunner().invoke(cli.app, words)
        assert done.exit_code == 0, done.output
    written = {path.name for path in tmp_path.iterdir()}
    assert {"scores.csv", "report.html", "decisions.csv", "review.csv", "explorer.html",
            "policy.json", "today.parquet"} <= written  # fmt: skip


def test_scores_read_back_to_the_same_bits(finished):
    out, _, seen = finished
    columns = table(out / "scores.csv")
    assert list(columns) == COLUMNS
    members, labels = seen["digits"]
    assert members.shape == (540, 3, 10)
    u = cl.quantify(members, ["tv", "entropy", "hartley"])
    aleatoric = cl.aleatoric_uncertainty(members)
    expected = {
        "tv_total": cl.total_uncertainty(members),
        "entropy_total": u["entropy"].total,
        "tv_aleatoric_lower": aleatoric.lower,
        "tv_aleatoric_upper": aleatoric.upper,
        "entropy_aleatoric": u["entropy"].aleatoric,
        "hartley_aleatoric": u["hartley"].aleatoric,
        "tv_epistemic": cl.epistemic_uncertainty(members),
        "entropy_epistemic": u["entropy"].epistemic,
        "hartley_epistemic": u["hartley"].epistemic,
    }
    for name, values in expected.items():
        assert_array_equal([float(text) for text in columns[name]], values, err_msg=name)
    predicted = cl.majority_vote(members)
    assert_array_equal([int(text) for text in columns["prediction"]], predicted)
    assert_array_equal([int(text) for text in columns["label"]], labels)
    assert_array_equal([int(text) for text in columns["correct"]], predicted == labels)


def test_the_summary(finished):
    _, result, seen = finished
    members, labels = seen["digits"]
    predicted = cl.majority_vote(members)
    assert result.n_test == 540
    assert result.accuracy == np.mean(predicted == labels)
    assert [(row.component, row.family) for row in result.rows] == [
        ("TU", "tv"), ("TU", "entropy"),
        ("AU", "tv"), ("AU", "entropy"), ("AU", "hartley"),
        ("EU", "tv"), ("EU", "entropy"), ("EU", "hartley"),
    ]  # fmt: skip
    assert all(row.seconds > 0 for row in result.rows)
    lexicographic = cl.rejection_curve(labels, predicted, cl.aleatoric_uncertainty(members))
    assert_array_equal(result.rows[2].curve.accuracy, lexicographic.accuracy)
    hartley = cl.rejection_curve(labels, predicted, cl.generalized_hartley(members))
    assert_array_equal(result.rows[7].curve.accuracy, hartley.accuracy)
    # No order beats the one that rejects the errors first; random ones stay near the accuracy.
    assert len(result.random) == 5
    every = [row.curve for row in result.rows] + result.random
    assert all(curve.auc <= result.oracle.auc for curve in every)
    assert result.oracle.monotonicity_ratio == 1
    assert np.mean([curve.auc for curve in result.random]) == pytest.approx(
        result.accuracy, abs=0.03
    )


def test_the_diagnosis(finished):
    _, result, seen = finished
    members, labels = seen["digits"]
    assert result.diagnosis.spoilers == []
    assert result.diagnosis.verdicts == cl.diagnose_members(members, labels).verdicts
    assert result.diagnosis_with_constant.spoilers == [3]
    assert "predicts class 3 for every input" in result.diagnosis_with_constant.notes[0]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers(finished, quick, tmp_path):
    out, result, _ = finished
    again = demo.run(tmp_path, 0)
    assert (tmp_path / "scores.csv").read_bytes() == (out / "scores.csv").read_bytes()
    for one, other in zip(result.random, again.random, strict=True):
        assert_array_equal(one.accuracy, other.accuracy)
    # Pictures too: nothing in them depends on when they were drawn.
    assert (tmp_path / FILES[2]).read_bytes() == (out / FILES[2]).read_bytes()


def test_another_seed_gives_other_numbers(quick):
    plain = [demo.train("wine", seed, lambda items, _: items) for seed in (0, 1)]
    assert not np.array_equal(plain[0][0], plain[1][0])
    assert not np.array_equal(plain[0][1], plain[1][1])


def test_the_picture_of_the_simplex_is_of_three_classes(finished):
    _, _, seen = finished
    members, labels = seen["wine"]
    assert members.shape == (54, 3, 3)
    assert set(labels) == {0, 1, 2}


@pytest.mark.slow
def test_progress_is_shown(quick, monkeypatch, tmp_path):
    said = []

    def track(items, what):
        items = list(items)
        said.append((what, len(items)))
        return items

    monkeypatch.setattr(demo, "draw_curves", lambda *_: None)
    demo.run(tmp_path, 0, track)
    assert said == [
        ("training 3 forests on digits", 3), ("measuring", 8), ("training 3 forests on wine", 3),
    ]  # fmt: skip


def test_ten_forests_of_one_kind():
    assert demo.N_MEMBERS == 10
    first, again, other = (demo.make_forests(10, seed) for seed in (0, 0, 1))
    assert len({f.random_state for f in first}) == 10
    assert len({str(f.set_params(random_state=None).get_params()) for f in first}) == 1
    seeds = [[f.random_state for f in forests] for forests in (again, other)]
    assert seeds[0] == [f.random_state for f in demo.make_forests(10, 0)] != seeds[1]


def test_forests_of_the_paper_differ():
    forests = random_forests(10, 0)
    assert len({(f.n_estimators, f.max_depth) for f in forests}) > 5
    assert len({f.random_state for f in forests}) == 10
    again = random_forests(10, 0)
    assert [f.get_params() for f in again] == [f.get_params() for f in forests]
    assert [f.random_state for f in random_forests(10, 1)] != [f.random_state for f in forests]


# ---------------------------------------------------------------- when writing fails


def test_scores_survive_a_failure(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("old")
    scores = {("TU", "tv"): np.array([0.5, 0.25])}
    with pytest.raises(ValueError, match=r"zip\(\)"):  # the third line has no score
        demo.write_scores(path, scores, np.arange(3), np.arange(3))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    demo.write_scores(path, scores, np.arange(2), np.array([0, 0]))
    assert path.read_text().split() == [
        "prediction,tv_total,label,correct", "0,0.5,0,1", "1,0.25,0,0",
    ]  # fmt: skip


def test_scores_keep_every_bit(tmp_path):
    values = np.array([1 / 3, math.pi * 1e-300, np.nextafter(1, 2), 5e-324, 0.1 + 0.2])
    labels = np.arange(5)
    path = tmp_path / "scores.csv"
    demo.write_scores(path, {("EU", "hartley"): values}, labels, labels)
    assert_array_equal([float(x) for x in table(path)["hartley_epistemic"]], values)


@pytest.mark.parametrize("name", FILES[1:3])
def test_pictures_survive_a_failure(finished, quick, monkeypatch, tmp_path, name):
    from matplotlib.figure import Figure

    _, result, _ = finished
    path = tmp_path / name
    path.write_text("old")

    def failing(self, file, **options):
        with open(file, "w") as half:
            half.write("half")
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", failing)
    draw = {
        "simplex.png": lambda: demo.draw_simplex(path, 0, lambda items, _: items),
        "rejection_curves.png": lambda: demo.draw_curves(
            path, result.rows, result.oracle, result.random
        ),
    }[name]
    with pytest.raises(OSError, match="disk full"):
        draw()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# ---------------------------------------------------------------- the real thing


@pytest.mark.slow
def test_the_whole_demo(tmp_path):
    result = demo.run(tmp_path, 0)
    assert 0.94 < result.accuracy < 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    chance = np.mean([curve.auc for curve in result.random])
    auc = {(row.component, row.family): row.curve.auc for row in result.rows}
    assert chance + 0.01 < min(x for key, x in auc.items() if key != ("EU", "entropy"))
    assert max(auc.values()) <= result.oracle.auc
    assert re.fullmatch(r"[0-9.]+", table(tmp_path / "scores.csv")["tv_total"][0])
