"""Notes and warnings that every command prints about its files."""

import csv
import shutil

import numpy as np
import pandas as pd
import pytest

import credalens as cl
import real_files as real
from prediction_files import call, read
from real_files import LABELS, MEMBERS, N

NO_IDS = ("--id-column", "none")
COMMANDS = {
    "score": ("-o", "{f}/out.csv"),
    "evaluate": ("--bootstrap", "0"),
    "pick": ("--budget", "3", "-o", "{f}/out.csv"),
    "report": ("-o", "{f}/out.html"),
}


def notes(command, folder, *arguments):
    options = [option.replace("{f}", str(folder)) for option in COMMANDS[command]]
    return call(command, *arguments, *options).stderr


@pytest.mark.parametrize(
    "command",
    [pytest.param(c, marks=pytest.mark.slow) if c == "report" else c for c in COMMANDS],
)
class TestEveryCommand:
    def test_permuted_classes_and_their_fix(self, command, tmp_path):
        paths = [*real.npys(tmp_path), *real.truth(tmp_path, "y.npy")]
        assert "looks permuted" not in notes(command, tmp_path, *paths)
        np.save(paths[2], MEMBERS[:, 2][:, [1, 2, 0]])
        found = notes(command, tmp_path, *paths)
        assert found.count("model model_2 looks permuted") == 1
        assert "save p[:, [2, 0, 1]] of its predictions p" in found
        np.save(paths[2], np.load(paths[2])[:, [2, 0, 1]])
        assert "looks permuted" not in notes(command, tmp_path, *paths)
        assert notes(command, tmp_path, *paths, "-q") == ""

    def test_copied_files(self, command, tmp_path):
        paths = [*real.npys(tmp_path), *real.truth(tmp_path, "y.npy")]
        shutil.copy(paths[0], paths[1])
        expected = "warning: models model_0 and model_1 are identical (40 rows compared)"
        assert notes(command, tmp_path, *paths).count(expected) == 1

    def test_rounding(self, command, tmp_path):
        rounded = MEMBERS.round(4)
        paths = [*real.npys(tmp_path, rounded), *real.truth(tmp_path, "y.npy")]
        largest = np.abs(rounded.sum(axis=-1) - 1).max()
        expected = f"credalens: rows sum to 1 within {largest:.2g}, which is rounding; they are div"
        assert notes(command, tmp_path, *paths).count(expected) == 1

    def test_missing_and_soft_labels(self, command, tmp_path):
        labels = LABELS.astype(float)
        labels[:7] = np.nan
        paths = [*real.npys(tmp_path), *real.truth(tmp_path, "y.npy", labels)]
        found = notes(command, tmp_path, *paths)
        assert found.count("7 rows without a label are scored but not evaluated") == 1
        np.save(tmp_path / "y.npy", real.COUNTS)
        expected = "labels are distributions; the most probable class is taken as the label"
        assert notes(command, tmp_path, *paths).count(expected) == 1


def test_permuted_rows(tmp_path):
    members = np.tile(MEMBERS, (5, 1, 1))
    paths = real.npys(tmp_path, members)
    np.save(paths[2], np.random.default_rng(0).permutation(members[:, 2]))
    found = notes("score", tmp_path, *paths)
    assert "model model_2 looks permuted: it agrees with the vote of the others on" in found
    assert "put its rows in the same order, or save ids" in found
    for path, m in zip(paths, range(3), strict=True):  # the fix
        order = np.random.default_rng(m).permutation(len(members))
        np.savez(path.with_suffix(".npz"), probs=members[order, m], ids=order)
    found = notes("score", tmp_path, *(path.with_suffix(".npz") for path in paths))
    assert "looks permuted" not in found
    assert np.allclose(sorted(read(tmp_path / "out.csv")["tv_total"]),
                       sorted(cl.total_uncertainty(members)))  # fmt: skip


@pytest.mark.parametrize("chunk", [30, 1000])
def test_files_that_are_sorted_by_class(chunk, tmp_path, monkeypatch):
    monkeypatch.setattr("credalens.evaluation.agreement.SAMPLE_ROWS", 300)
    members = np.tile(MEMBERS, (30, 1, 1))
    members = members[np.argsort(members.mean(axis=1).argmax(axis=1), kind="stable")]
    paths = real.npys(tmp_path, members)
    assert "looks permuted" not in notes("score", tmp_path, *paths, "--chunk-rows", chunk)
    np.save(paths[2], members[:, 2][:, [1, 2, 0]])
    found = notes("score", tmp_path, *paths, "--chunk-rows", chunk)
    assert found.count("model model_2 looks permuted") == 1
    assert "save p[:, [2, 0, 1]] of its predictions p" in found
    np.save(paths[2], np.random.default_rng(0).permutation(members[:, 2]))
    found = notes("score", tmp_path, *paths, "--chunk-rows", chunk)
    assert found.count("model model_2 looks permuted") == 1
    assert "put its rows in the same order" in found


def test_how_labels_are_matched(tmp_path):
    table = pd.DataFrame({"image_id": real.IDS, "target": LABELS})
    truth = real.truth(tmp_path, "y.csv", table)
    found = notes("score", tmp_path, *real.npys(tmp_path), *truth)
    assert "y.csv: the predictions have no ids; labels are matched to rows by position" in found
    arguments = [*real.csvs(tmp_path, image_id=real.IDS), *truth]
    assert "y.csv" not in notes("score", tmp_path, *arguments)
    assert "y.csv" not in notes("score", tmp_path, *real.npys(tmp_path), *truth, *NO_IDS)
    table = table[::-1].rename(columns={"image_id": "Bild"})
    real.truth(tmp_path, "y.csv", table)
    found = notes("score", tmp_path, *arguments)
    assert "y.csv: the column Bild is read as ids" in found
    assert "y.csv: labels are matched to rows by their ids" in found
    real.truth(tmp_path, "y.csv", table.replace(r"\.png$", "", regex=True).rename(
        columns={"Bild": "id"}))  # fmt: skip
    found = notes("score", tmp_path, *arguments)
    assert "labels are matched to rows by their ids without folder and file extension" in found


@pytest.mark.slow
def test_rows_without_a_label_are_scored_and_not_evaluated(tmp_path):
    labels = pd.DataFrame({"image_id": real.IDS[10:], "target": LABELS[10:]})
    arguments = [*real.csvs(tmp_path, image_id=real.IDS), *real.truth(tmp_path, "y.csv", labels)]
    right = cl.majority_vote(MEMBERS) == LABELS
    for ending in ("csv", "parquet", "npz", "jsonl"):
        call("score", *arguments, "-q", "-o", tmp_path / f"s.{ending}", "--chunk-rows", 7)
        assert len(read(tmp_path / f"s.{ending}")["tv_total"]) == N
    with (tmp_path / "s.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["correct"] for row in rows] == [""] * 10 + [str(r).lower() for r in right[10:]]
    assert [row["label"] for row in rows[:11]] == [""] * 10 + [real.CLASSES[LABELS[10]]]
    printed = call("evaluate", *arguments, "-q", "--bootstrap", 0).stdout
    assert f"Accuracy on all 30 rows in %: {100 * right[10:].mean():.2f}" in printed
    done = call("report", *arguments, "-o", tmp_path / "r.html")
    assert "the report leaves out 10 rows without a label" in done.stderr
    call("pick", *arguments, "-q", "--budget", N, "-o", tmp_path / "p.csv")
    with (tmp_path / "p.csv").open() as file:
        assert sum(row["label"] == "" for row in csv.DictReader(file)) == 10


def test_several_ignored_labels(tmp_path):
    labels = np.where(LABELS == 0, 255, LABELS)
    labels[labels == 1] = -1
    arguments = [*real.npys(tmp_path), *real.truth(tmp_path, "y.npy", labels)]
    left = int((LABELS == 2).sum())
    for options in (("--ignore-label", "255,-1"), ("--ignore-label", 255, "--ignore-label", -1)):
        printed = call("evaluate", *arguments, *options, "--bootstrap", 0)
        assert f"Accuracy on all {left} rows" in printed.stdout
        assert f"{N - left} rows with an ignored label are scored" in printed.stderr
    done = call("evaluate", *arguments, "--ignore-label", "255,-1,2", "-q", code=2)
    assert "rows: no valid row with a label is left; correct the files" in done.stderr


def test_notes_are_grouped_and_follow_valid_rows(tmp_path):
    paths = real.csvs(tmp_path, site=np.arange(N) % 4, remark="x")
    found = notes("score", tmp_path, *paths)
    expected = "model_0.csv and 2 more: the columns site, remark are not read as classes; --columns"
    assert found.count(expected) == 1
    paths[0].write_text(paths[0].read_text().replace("0.", "1.", 1))
    assert "not read as classes" not in call("score", *paths, code=2).stderr


class TestFigure2:
    """``reproduce figure2`` takes the options that its errors suggest."""

    def run(self, folder, *arguments, code=0):
        return call("reproduce", "figure2", "--predictions", folder / "runs", "--batches", 2,
                    "--measures", "tv", "-o", folder / "out", *arguments, code=code)  # fmt: skip

    @pytest.fixture
    def runs(self, tmp_path):
        (tmp_path / "runs").mkdir()
        return tmp_path / "runs"

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("values", "suggested"),
        [
            (real.LOGITS, "--logits"),
            pytest.param(100 * MEMBERS, "--percent", marks=pytest.mark.slow),
            pytest.param(3 * MEMBERS, "--normalize", marks=pytest.mark.slow),
        ],
        ids=["logits", "percentages", "sums"],
    )
    def test_values(self, values, suggested, runs, tmp_path):
        real.npys(runs, values)
        truth = real.truth(tmp_path, "y.npy")
        assert f"pass {suggested}" in self.run(tmp_path, *truth, code=2).stderr
        done = self.run(tmp_path, *truth, suggested)
        accuracy = (cl.majority_vote(MEMBERS) == LABELS).mean()
        assert f"accuracy of the vote {accuracy:.4f}" in done.stdout

    @pytest.mark.slow
    def test_labels(self, runs, tmp_path):
        real.npys(runs)
        assert "no file has labels; pass --labels FILE" in self.run(tmp_path, code=2).stderr
        labels = np.where(LABELS == 0, 255, LABELS)
        truth = real.truth(tmp_path, "y.npy", labels)
        assert "pass --ignore-label 255 or relabel" in self.run(tmp_path, *truth, code=2).stderr
        done = self.run(tmp_path, *truth, "--ignore-label", 255)
        assert f"{int((LABELS == 0).sum())} rows without a label are left out" in done.stderr

    @pytest.mark.slow
    def test_columns(self, runs, tmp_path):
        real.csvs(runs, junk=0, kind=np.array(real.CLASSES)[LABELS])
        assert "pass --columns cat,dog,fox or" in self.run(tmp_path, code=2).stderr
        self.run(tmp_path, "--columns", "cat,dog,fox", "--label-column", "kind")
