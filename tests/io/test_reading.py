"""How files are interpreted: headers, labels, identifiers, and outputs of commands."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import credalens as cl
from credalens.io import PredictionFileError, ReadOptions, open_ensemble
from prediction_files import NAMES, call, predictions, read, write_csv, write_nested_parquet


class TestHeader:
    """Which first lines are names of classes."""

    def scored(self, tmp_path, text, *options, code=0):
        (tmp_path / "a.csv").write_text(text)
        return call("score", tmp_path / "a.csv", "-q", *options, code=code)

    @pytest.mark.parametrize(
        ("text", "options", "rows"),
        [
            ("0,1\n0.9,0.1\n0.2,0.8\n", (), 2),
            ("0,1\n0.9,0.1\n0.2,0.8\n", ("--no-header",), 3),
            ('"0","1"\n\n0.9,0.1\n', (), 1),
            ("0,1\n1,0\n0.5,0.5\n", (), 3),
            ("0,1\n1,0\n", ("--header",), 1),
            ("0,1\n", (), 1),
            ("0,1.0\n0.9,0.1\n", (), 2),
            ("0,1,2\n1,0,0\n", (), 1),
            ("1,2,3\n1,0,0\n", (), 1),
            ("1,2,3\n0.2,0.3,0.5\n", (), 1),
            ("1,2,3\n0.2,-1.5,3\n", ("--logits",), 1),
            ("1,2,3\n0.4,0.3,0.5\n", ("--normalize",), 1),
            ("1,2,3\n4,0,2\n", ("--normalize",), 2),
            ("0,1,2\n-4,0,5\n", ("--logits",), 2),
            ("id,0,1\nx,1,0\n", (), 1),
            ("id,0,1\nx,1,0\n", ("--id-column", "id"), 1),
            (",0,1\n0,1,0\n", (), 1),
            ("img1,0.4,0.6\nimg2,0.5,0.5\n", ("--id-column", "0"), 2),
            ("0.4,0.6,1\n0.5,0.5,0\n", ("--label-column", "2"), 2),
            ("img1,0,1\nimg2,1,0\n", ("--id-column", "0"), 2),
            ("img1,x,0.4,0.6\nimg2,y,0.5,0.5\n", ("--columns", "2,3"), 2),
            ("image,0,1\nx,0.5,0.5\n", ("--id-column", "image"), 1),
            ("0,1,2\n0.5,0.25,0.25\n", ("--columns", "1,2", "--normalize"), 1),
        ],
    )  # fmt: skip
    def test_rows(self, text, options, rows, tmp_path):
        assert len(self.scored(tmp_path, text, *options).stdout.splitlines()) == rows + 1

    @pytest.mark.parametrize(
        ("text", "options", "taken"),
        [
            ("0,1\n0.9,0.1\n", (), "0,1, is read as a header"),
            ("0,1\n1,0\n", (), "0,1, is read as a row"),
            ("x,0,1\ny,1,0\n", ("--id-column", "0"), "x,0,1, is read as a row"),
            ("0,1\n", (), None),
            ("0,1\n0.9,0.1\n", ("--header",), None),
            ("0,1\n0.9,0.1\n", ("--no-header",), None),
            ("0,1,label\n0.9,0.1,1\n", (), None),
            ("0,1,2\n0.5,0.3,0.2\n", (), None),
        ],
    )
    def test_an_ambiguous_first_line_warns(self, text, options, taken, tmp_path):
        (tmp_path / "a.csv").write_text(text)
        message = call("score", tmp_path / "a.csv", *options).stderr
        assert message.count("its first line") == (taken is not None)
        assert taken is None or f"a.csv: its first line, {taken}; pass --header or --no" in message

    def test_in_a_pipe(self):
        for text, rows in (("0,1\n0.9,0.1\n0.2,0.8", 2), ("0,1\n1,0\n0.2,0.8\n", 3)):
            done = call("score", "-", "--format", "csv", "-q", input=text)
            assert len(done.stdout.splitlines()) == rows + 1

    def test_other_numbers_are_a_row(self, tmp_path):
        done = self.scored(tmp_path, "3,7\n0.5,0.5\n", code=2)
        assert "row 0 (zero-based): sums to 10; " in done.stderr
        assert "--header if these are names of classes" in done.stderr
        done = self.scored(tmp_path, "a,b\n50,50\n", code=2)
        assert "row 0 (zero-based): sums to 100; " in done.stderr
        assert "--header" not in done.stderr
        np.save(tmp_path / "a.npy", [[3, 7]])
        assert "--header" not in call("score", tmp_path / "a.npy", "-q", code=2).stderr


class TestLabels:
    @pytest.fixture
    def model(self, tmp_path):
        (tmp_path / "m.csv").write_text("id,a,b\nx,0.1,0.9\ny,0.8,0.2\n")
        return tmp_path / "m.csv"

    def correct(self, *arguments):
        lines = call("score", *arguments, "-q", "--to", "jsonl").stdout.splitlines()
        return [json.loads(line)["correct"] for line in lines]

    def table(self, folder, ending, names, *rows):
        path = folder / f"truth{ending}"
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        if ending == ".parquet":
            pyarrow.parquet.write_table(pa.table({k: list(v) for k, v in columns.items()}), path)
        elif ending == ".npz":
            np.savez(path, labels=columns["label"], ids=columns["id"])
        else:
            by = "\t" if ending == ".tsv" else ","
            path.write_text("".join(by.join(map(str, row)) + "\n" for row in (names, *rows)))
        return path

    @pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".npz"])
    def test_in_another_order(self, ending, model):
        names = ("id", "label")
        good = self.table(model.parent, ending, names, ("x", "b"), ("y", "b"))
        assert self.correct(model, "--labels", good) == [True, False]
        rows = ("z", "a"), ("y", "b"), ("x", "b"), ("w", "a")
        other = self.table(model.parent, ending, names, *rows)
        for options in ((), ("--on-error", "skip"), ("--chunk-rows", 1)):
            assert self.correct(model, "--labels", other, *options) == [True, False]
        part = self.table(model.parent, ending, names, ("z", "a"), ("x", "b"))
        assert self.correct(model, "--labels", part) == [True, None]
        notes = call("score", model, "--labels", part).stderr
        assert f"credalens: {part}: labels are matched to rows by their ids" in notes
        assert "credalens: 1 row without a label is scored but not evaluated" in notes
        wrong = self.table(model.parent, ending, names, ("u", "a"), ("v", "b"))
        done = call("score", model, "--labels", wrong, "-q", code=2)
        assert f"{wrong}: has none of the ids of the rows, such as x; its first is u; " in (
            done.stderr
        )
        assert self.correct(model, "--labels", wrong, "--id-column", "none") == [False, False]
        twice = self.table(model.parent, ending, names, ("y", "a"), ("y", "b"))
        done = call("score", model, "--labels", twice, "-q", code=2)
        assert f"{twice}: has the id 'y' twice, and its rows are in another order" in done.stderr

    @pytest.mark.parametrize("ending", [".csv", ".parquet"])
    def test_ids_in_capitals_are_compared(self, ending, model):
        truth = self.table(model.parent, ending, ("ID", "Label"), ("y", "a"), ("x", "a"))
        assert self.correct(model, "--labels", truth) == [False, True]

    def test_ids_are_text(self, tmp_path):
        (tmp_path / "m.csv").write_text("id,a,b\n007,0.1,0.9\n7,0.8,0.2\n")
        truth = self.table(tmp_path, ".csv", ("id", "label"), ("007", "b"), ("7", "b"))
        assert self.correct(tmp_path / "m.csv", "--labels", truth) == [True, False]
        for ids in (np.array([b"7", b"8"]), np.array([7, 8]), np.array([7.0, 8.0])):
            np.savez(tmp_path / "n.npz", probs=[[0.1, 0.9], [0.8, 0.2]], ids=ids)
            truth = self.table(tmp_path, ".csv", ("id", "label"), (7, 1), (8, 1))
            assert self.correct(tmp_path / "n.npz", "--labels", truth) == [True, False]

    def test_a_column_named_by_the_option(self, tmp_path):
        (tmp_path / "m.csv").write_text("image,a,b\nx,0.1,0.9\ny,0.8,0.2\n")
        truth = self.table(tmp_path, ".csv", ("image", "label"), ("y", "a"), ("x", "a"))
        found = self.correct(tmp_path / "m.csv", "--id-column", "image", "--labels", truth)
        assert found == [False, True]

    def test_ids_that_cannot_be_compared_are_ignored(self, model):
        rows = ("x", "b"), ("y", "b")
        for names in (("name", "label"), ("", "label")):  # the latter is a plain index of pandas
            truth = self.table(model.parent, ".csv", names, *rows[::-1])
            assert self.correct(model, "--labels", truth) == [True, False]
        model.write_text("a,b\n0.1,0.9\n0.8,0.2\n")
        truth = self.table(model.parent, ".csv", ("id", "label"), *rows[::-1])
        assert self.correct(model, "--labels", truth) == [True, False]
        model.write_text(",a,b\n0,0.1,0.9\n1,0.8,0.2\n")
        assert self.correct(model, "--labels", truth) == [True, False]
        truth = self.table(model.parent, ".csv", ("", "label"), (1, "a"), (0, "a"))
        assert self.correct(model, "--labels", truth) == [False, True]

    def test_dates(self, tmp_path):
        days = pa.array([0, 1], pa.timestamp("us"))
        table = pa.table({"id": days, "a": [0.1, 0.8], "b": [0.9, 0.2]})
        pyarrow.parquet.write_table(table, tmp_path / "m.parquet")
        truth = self.table(tmp_path, ".csv", ("id", "label"), ("1 Jan 1970", "b"), ("later", "b"))
        assert self.correct(tmp_path / "m.parquet", "--labels", truth) == [True, False]

    def test_a_bad_row_may_have_lost_its_id(self, tmp_path):
        (tmp_path / "m.csv").write_text("a,b,id\n0.1,0.9,x\n0.3\n0.8,0.2,z\n")
        truth = self.table(tmp_path, ".csv", ("id", "label"), *((i, "b") for i in "xyz"))
        out = tmp_path / "s.csv"
        call("score", tmp_path / "m.csv", "--labels", truth, "-o", out, "--on-error", "skip")
        assert read(out)["correct"].tolist() == [True, False]

    def test_a_column_of_the_file_of_labels(self, model):
        names = ("id", "label", "species")
        truth = self.table(model.parent, ".csv", names, ("x", "a", "b"), ("y", "a", "b"))
        for column in ("species", "2"):
            found = self.correct(model, "--labels", truth, "--label-column", column)
            assert found == [True, False]
        done = call("score", model, "--labels", truth, "--label-column", "kind", "-q", code=2)
        assert "truth.csv: contains id, label, species, not a column 'kind'; name it" in done.stderr
        (model.parent / "truth.txt").write_text("b\nb\n")
        for name in ("truth.txt", "truth.npy"):
            np.save(model.parent / "truth.npy", [1, 1])
            done = call("score", model, "--labels", model.parent / name, "--label-column", "kind",
                        "-q", code=2)  # fmt: skip
            assert f"--label-column: {model.parent / name} has no columns" in done.stderr
        with pytest.raises(PredictionFileError, match=r"--label-column: .*npy has no columns"):
            open_ensemble([str(model)], labels=str(model.parent / "truth.npy"),
                          options=ReadOptions(label="kind"), labels_on_disk=True)  # fmt: skip

    def test_classes_that_are_called_as_labels_often_are(self, tmp_path):
        (tmp_path / "m.csv").write_text("y,n\n0.9,0.1\n0.8,0.2\n")
        (tmp_path / "truth.csv").write_text("y\nn\n")
        found = self.correct(tmp_path / "m.csv", "--labels", tmp_path / "truth.csv")
        assert found == [True, False]
        (tmp_path / "truth.csv").write_text("Truth\ny\nn\n")
        found = self.correct(tmp_path / "m.csv", "--labels", tmp_path / "truth.csv",
                             "--label-column", "Truth")  # fmt: skip
        assert found == [True, False]

    def test_too_few(self, model):
        (model.parent / "truth.csv").write_text("label\nb\n")
        done = call("score", model, "--labels", model.parent / "truth.csv", "-q", code=2)
        assert "truth.csv: has 1 label, fewer than rows" in done.stderr

    @pytest.mark.parametrize("classes", ["a,b", "0,1"])
    def test_whole_numbers_written_as_floats(self, classes, tmp_path):
        (tmp_path / "m.csv").write_text(f"{classes},label\n0.1,0.9,1.0\n0.8,0.2,1\n")
        (tmp_path / "n.csv").write_text(f"{classes},label\n0.1,0.9,1\n0.8,0.2,1.00\n")
        (tmp_path / "truth.csv").write_text("label\n1.0\n1\n")
        for options in ((), ("--labels", tmp_path / "truth.csv")):
            found = self.correct(tmp_path / "m.csv", tmp_path / "n.csv", *options)
            assert found == [True, False]
        for wrong in ("0.5", "2.0", "1.0.0", ".0"):
            (tmp_path / "truth.csv").write_text(f"label\n1\n{wrong}\n")
            done = call("score", tmp_path / "m.csv", "--labels", tmp_path / "truth.csv", "-q",
                        code=2)  # fmt: skip
            assert f"row 1 (zero-based): has the label '{wrong}'" in done.stderr

    def test_names_that_are_floats_come_first(self, tmp_path):
        (tmp_path / "m.csv").write_text("1.0,0.0\n0.1,0.9\n0.8,0.2\n")
        (tmp_path / "truth.txt").write_text("1.0\n1.0\n")
        found = self.correct(tmp_path / "m.csv", "--header", "--labels", tmp_path / "truth.txt")
        assert found == [False, True]

    @pytest.mark.parametrize("rows", [4, 12])
    def test_truth_values_are_indices_in_any_chunk(self, rows, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)  # the table of dropped rows is written here
        labels = [True, False] * 5 + [None, True]
        table = pa.table({"a": [0.1] * 12, "b": [0.9] * 12, "label": labels})
        pyarrow.parquet.write_table(table, tmp_path / "m.parquet")
        pyarrow.csv.write_csv(table.drop_columns("label"), tmp_path / "n.csv")
        (tmp_path / "truth.txt").write_text("".join(f"{x}\n" for x in labels))
        pyarrow.csv.write_csv(table.select(["a", "label"]), tmp_path / "truth.csv")
        options = ("--chunk-rows", rows)
        right = labels  # the models are always for class 1
        assert self.correct(tmp_path / "m.parquet", *options) == right
        for truth in (tmp_path / "truth.txt", tmp_path / "truth.csv"):
            assert self.correct(tmp_path / "n.csv", *options, "--labels", truth) == right

    def test_a_model_that_brings_the_labels(self, tmp_path):
        (tmp_path / "0.csv").write_text("a,b,label\n0.1,0.9,b\n")
        (tmp_path / "1.csv").write_text("a,b\n0.8,0.2\n")
        names = tmp_path / "0.csv", tmp_path / "1.csv", "--labels", tmp_path / "0.csv"
        assert "2 models: 0, 1" in call("score", *names, "-v").stderr
        for scanned in (tmp_path, tmp_path / "*.csv"):
            done = call("score", scanned, *names[2:], "-v")
            assert "1 model: 1" in done.stderr


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.int32(), pa.bool_()])
def test_ids_with_missing_values_keep_their_type(kind, tmp_path):
    large = 2**53 + 1 if kind.bit_width == 64 else 2**31 - 1
    values = (True, False) if kind == pa.bool_() else (large, 0)
    given = pa.array([None, None, *values, *values, None], kind)
    table = pa.table({"id": given, "a": [0.5] * 7, "b": [0.5] * 7})
    pyarrow.parquet.write_table(table, tmp_path / "m.parquet")
    for ending in (".parquet", ".csv", ".npz"):
        out = tmp_path / f"s{ending}"
        call("score", tmp_path / "m.parquet", "-q", "-o", out, "--chunk-rows", 2)
        if ending == ".parquet":
            assert pyarrow.parquet.read_table(out)["id"].combine_chunks() == given
        else:
            texts = ["" if value is None else str(value).lower() for value in given.to_pylist()]
            lines = out.read_text().splitlines()[1:] if ending == ".csv" else read(out)["id"]
            assert [str(line).split(",")[0].lower() for line in lines] == texts
    out = tmp_path / "p.parquet"
    call("pick", tmp_path / "m.parquet", "-q", "-o", out, "--chunk-rows", 2, "--budget", 7)
    assert pyarrow.parquet.read_table(out)["id"].combine_chunks() == given


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.timestamp("us", "UTC"), "1970-01-01 00:00:00.000007Z"),
        (pa.timestamp("ms", "+01:00"), "1970-01-01 01:00:00.007+0100"),
        (pa.time32("ms"), "00:00:00.007"),
        (pa.decimal128(20, 0), "7"),
    ],
)
def test_ids_of_types_without_a_dtype_keep_their_type(kind, text, tmp_path):
    number = pa.int32() if kind == pa.time32("ms") else pa.int64()
    given = pa.array([None, None, 7, 8], number).cast(kind)
    table = pa.table({"id": given, "a": [0.5] * 4, "b": [0.5] * 4})
    pyarrow.parquet.write_table(table, tmp_path / "m.parquet")
    for command in (("score",), ("pick", "--budget", 4)):
        out = tmp_path / "s.parquet"
        call(*command, tmp_path / "m.parquet", "-q", "-o", out, "--chunk-rows", 2)
        found = pyarrow.parquet.read_table(out)["id"]
        assert (found.type, found.to_pylist()) == (kind, given.to_pylist())
    call("score", tmp_path / "m.parquet", "-q", "-o", tmp_path / "s.csv", "--chunk-rows", 2)
    assert (tmp_path / "s.csv").read_text().splitlines()[3].startswith(f"{text},")
    pyarrow.parquet.write_table(table[2:], tmp_path / "m.parquet")
    call("score", tmp_path / "m.parquet", "-q", "-o", tmp_path / "s.npz")
    assert len(read(tmp_path / "s.npz")["id"]) == 2


class TestOutputs:
    @pytest.fixture
    def folder(self, tmp_path):
        members, labels = predictions()
        for m in range(2):
            write_csv(tmp_path / f"m{m}.csv", members[:, m])
        np.savetxt(tmp_path / "cost.csv", 1 - np.eye(3), delimiter=",")
        lines = "\n".join(["label", *(NAMES[k] for k in labels)])
        (tmp_path / "truth.csv").write_text(lines)
        (tmp_path / "names.csv").write_text("\n".join(NAMES))
        return tmp_path

    @pytest.mark.parametrize(
        "arguments",
        [
            ("score", "m0.csv", "m1.csv", "-o", "m1.csv"),
            ("score", "m0.csv", "m1.csv", "-o", "sub/../m1.csv"),
            ("score", "m0.csv", "m1.csv", "-o", "link.csv"),
            ("score", "m*.csv", "-o", "m1.csv"),
            ("score", "m0.csv", "--labels", "truth.csv", "-o", "truth.csv"),
            ("score", "m0.csv", "--distance", "cost.csv", "-o", "cost.csv"),
            ("score", "m0.csv", "--distance", "cost:cost.csv", "-o", "cost.csv"),
            ("score", "m0.csv", "--class-names", "names.csv", "-o", "names.csv"),
            ("score", "m0.csv", "s.skipped.csv", "-o", "s.csv"),
            ("score", "m0.csv", "--labels", "truth.html", "--report", "truth.html"),
            ("pick", "m0.csv", "m1.csv", "--budget", 3, "-o", "m0.csv"),
            ("pick", "m0.csv", "--budget", 3, "--labels", "truth.csv", "-o", "truth.csv"),
            ("evaluate", "evaluation.csv", "--labels", "truth.csv", "-o", "."),
            ("evaluate", "m0.csv", "--labels", "guarantee.csv", "-o", "sub/.."),
            ("report", "m0.csv", "--labels", "truth.html", "-o", "truth.html"),
        ],
    )  # fmt: skip
    def test_nothing_that_is_read_is_overwritten(self, arguments, folder, monkeypatch):
        monkeypatch.chdir(folder)
        (folder / "sub").mkdir()
        (folder / "link.csv").symlink_to("m1.csv")
        text = (folder / "truth.csv").read_bytes()
        (folder / "truth.html").write_bytes(text.removeprefix(b"label\n"))
        (folder / "guarantee.csv").write_bytes(text)
        for name in ("s.skipped.csv", "evaluation.csv"):
            (folder / name).write_bytes((folder / "m1.csv").read_bytes())
        before = {path: path.is_file() and path.read_bytes() for path in folder.iterdir()}
        done = call(*arguments, code=2)
        assert "csv: is also an input; name another output" in done.stderr.replace("html", "csv")
        assert {p: p.is_file() and p.read_bytes() for p in folder.iterdir()} == before

    @pytest.mark.slow
    def test_in_the_folder_that_is_read(self, folder, monkeypatch):
        monkeypatch.chdir(folder)
        runs = folder / "runs"
        runs.mkdir()
        text = (folder / "m0.csv").read_text()
        (runs / "m0.csv").write_text(text + "0.5,0.5,0.5\n")
        (runs / "m1.csv").write_text(text + "0.5,0.5,0.5\n")
        truth = (folder / "truth.csv").read_text() + "\ncat\n"
        (runs / "truth.csv").write_text(truth)
        options = ("--labels", "runs/truth.csv", "--on-error", "skip")
        (runs / "all.parquet").mkdir()
        (runs / "all.parquet" / "_manifest.json").write_text("{}")  # as --engine dask leaves it
        for _ in range(2):
            call("score", "runs", *options, "-o", "runs/scores.csv")
            call("score", "runs", *options, "-o", "runs/more.parquet", "--measures", "mmi")
            call("score", "runs", *options, "-o", "runs/most.npz", "--summary", "width")
            call("score", "runs/*.csv", *options, "-o", "runs/mixed.csv")
            call("pick", "runs", *options, "--budget", 3, "-o", "runs/picked.csv")
            call("evaluate", "runs", *options, "-o", "runs", "--bootstrap", 0,
                 "--target-accuracy", 0.6)  # fmt: skip
            done = call("score", "runs", *options, "-v")
            assert "2 models: m0, m1" in done.stderr
        assert (runs / "scores.skipped.csv").exists()
        assert (runs / "evaluation.skipped.csv").exists()

    def test_costs_and_names_in_that_folder_are_no_models(self, folder):
        (folder / "truth.csv").unlink()
        options = ("--distance", folder / "cost.csv", "--class-names", folder / "names.csv")
        for scanned in (folder, folder / "*.csv"):
            assert "2 models: m0, m1" in call("score", scanned, *options, "-v").stderr

    def test_predictions_in_that_folder_are_not_taken_for_output(self, folder):
        text = "prediction,total_variation,b\n0.5,0.25,0.25\n"
        for name in ("x.csv", "y.csv"):
            (folder / name).write_text(text)
        assert "2 models: x, y" in call("score", folder / "[xy].csv", "-v").stderr
        (folder / "x.csv").write_text("id,prediction,tv_total,c,d\nr,d,0.5,0.5,0.5\n")
        (folder / "y.csv").write_text("id,prediction,tv_total\nr,d,0.5\n")
        done = call("score", folder / "[xy].csv", "--columns", "c,d", "-v")
        assert "1 model: x" in done.stderr
        (folder / "x.csv").write_text("prediction,tv_total\n0.5,0.5\n")
        done = call("score", folder / "x.csv", code=2)
        assert "x.csv: is an output of credalens, not predictions; name" in done.stderr
        done = call("score", folder / "x.csv", "--columns", "prediction,tv_total", "-v")
        assert "1 model: x" in done.stderr

    def test_an_ensemble_and_its_scores_are_no_dataset(self, tmp_path):
        write_nested_parquet(tmp_path / "all.parquet", predictions()[0])
        for _ in range(2):
            done = call("score", tmp_path, "-o", tmp_path / "scores.parquet", "-v")
            assert "3 models: all[0], all[1], all[2]" in done.stderr

    def test_not_into_a_dataset(self, tmp_path):
        data = tmp_path / "data.parquet"
        data.mkdir()
        write_nested_parquet(data / "part-0.parquet", predictions()[0])
        for arguments in (["-o", data / "s.csv"], ["-o", data / "part-0.parquet"],
                          ["-o", data / "scores", "--engine", "dask"]):  # fmt: skip
            done = call("score", data, *arguments, code=2)
            assert "is also an input" in done.stderr or f"is in {data}, an input" in done.stderr
        assert [path.name for path in data.iterdir()] == ["part-0.parquet"]


class TestLists:
    """Parquet columns of lists with rows that are not as the others."""

    @pytest.mark.parametrize("dtype", [pa.float32(), pa.float64()])
    @pytest.mark.parametrize(
        ("bad", "why"),
        [
            (None, "probs is missing"),
            ([None, [0.5, 0.5]], "probs has a missing list"),
            ([[0.5, 0.5], [1.0]], "probs has lists of lengths [1, 2]"),
            ([[0.5, 0.5]], "probs is 1 x 2 instead of 2 x 2"),
            ([], "probs is 0 x 0 instead of 2 x 2"),
            ([[0.5, None], [0.5, 0.5]], "class 1 of member 0 is missing or NaN"),
        ],
    )
    @pytest.mark.parametrize("at", [0, 5])
    def test_members(self, bad, why, at, dtype, tmp_path):
        if "1 x 2" in why:
            at = 5  # the first row that is even says what the others should be
        rows = predictions(n=8, M=2, K=2)[0].round(2)
        rows[..., 1] = 1 - rows[..., 0]
        lists = rows.tolist()
        lists[at] = bad
        self.check(tmp_path, pa.array(lists, pa.list_(pa.list_(dtype))), at, why)
        found = read(tmp_path / "s.npz")["tv_total"]
        expected = cl.total_uncertainty(np.delete(rows, at, axis=0).astype(dtype.to_pandas_dtype()))
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)

    @pytest.mark.parametrize(
        ("bad", "why"),
        [(None, "probs is missing"), ([1.0], "probs is 1 instead of 2"), ([], "probs is 0 ins")],
    )
    def test_classes(self, bad, why, tmp_path):
        self.check(tmp_path, pa.array([[0.5, 0.5]] * 3 + [bad] + [[1.0, 0.0]]), 3, why)

    def test_a_missing_number_in_a_row_beside_a_ragged_one(self, tmp_path):
        column = pa.array([[0.5, 0.5], [1.0], [None, 1.0], [1, 0]], pa.list_(pa.float32()))
        pyarrow.parquet.write_table(pa.table({"probs": column}), tmp_path / "a.parquet")
        out = tmp_path / "s.csv"
        call("score", tmp_path / "a.parquet", "-o", out, "--on-error", "skip")
        side = read(tmp_path / "s.skipped.csv")
        assert side["row"].tolist() == [1, 2]
        assert side["reason"][1].startswith("class 0 is missing or NaN")

    def test_fixed_size(self, tmp_path):
        column = pa.array([[0.5, 0.5], None, [1.0, 0.0]], pa.list_(pa.float64(), 2))
        self.check(tmp_path, column, 1, "probs is missing")

    def check(self, folder, column, at, why):
        path = folder / "a.parquet"
        pyarrow.parquet.write_table(pa.table({"probs": column}), path, row_group_size=2)
        out = "-o", folder / "s.npz"
        done = call("score", path, *out, "-q", code=2)
        assert f"{path}: row {at} (zero-based): {why}" in done.stderr
        call("score", path, *out, "--on-error", "skip", "--chunk-rows", 3)
        side = read(folder / "s.skipped.csv")
        assert side["row"].tolist() == [at]
        assert side["reason"][0].startswith(why)

    def test_no_good_row(self, tmp_path):
        column = pa.array([None, []], pa.list_(pa.float64()))
        pyarrow.parquet.write_table(pa.table({"probs": column}), tmp_path / "a.parquet")
        done = call("score", tmp_path / "a.parquet", "--on-error", "skip", code=2)
        assert "a.parquet: probs has no row with lists of equal length" in done.stderr
