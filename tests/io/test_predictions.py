"""Prediction files: equal numbers from every format, and error messages."""

import io
import json
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from credalens.evaluation.labels import UNKNOWN, label_indices
from credalens.io import PredictionFileError, ReadOptions, open_ensemble
from credalens.io.source import Block, rechunk
from prediction_files import (
    FORMATS,
    NAMES,
    predictions,
    write_csv,
    write_nested_parquet,
    write_npz,
    write_parquet,
)


def write_models(folder, kind, members, labels=None):
    ending, write = FORMATS[kind]
    paths = []
    for m in range(members.shape[1]):
        path = folder / f"model_{m}{ending}"
        write(path, members[:, m], labels)
        paths.append(str(path))
    return paths


def whole(ensemble, **options):
    chunks = list(ensemble.chunks(**options))
    members = np.concatenate([chunk.members for chunk in chunks])
    labels = [chunk.labels for chunk in chunks if chunk.labels is not None]
    return members, np.concatenate(labels) if labels else None


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("rows", [7, 50, 1000])
def test_every_format_gives_the_same_bits(kind, rows, tmp_path):
    members, labels = predictions()
    paths = write_models(tmp_path, kind, members, labels)
    ensemble = open_ensemble(paths)
    found, truth = whole(ensemble, rows=rows)
    assert found.dtype == members.dtype
    assert np.array_equal(found, members)
    assert ensemble.names == ("model_0", "model_1", "model_2")
    if kind not in ("npy", "fortran npy", "bare csv"):
        assert np.array_equal(truth, labels)
    if kind in ("csv", "tsv", "parquet", "feather", "arrow stream", "zst csv"):
        assert ensemble.class_names == NAMES


@pytest.mark.parametrize(
    "kind",
    ["npy", "fortran npy", "npz", "parquet", "nested parquet", "feather", "hdf5", "safetensors"],
)
def test_single_precision_is_kept(kind, tmp_path):
    members, _ = predictions(dtype=np.float32)
    found, _ = whole(open_ensemble(write_models(tmp_path, kind, members)), rows=9)
    assert found.dtype == np.float32
    assert np.array_equal(found, members)


@pytest.mark.parametrize(
    "kind",
    [
        "npy",
        "fortran npy",
        "npz",
        "compressed npz",
        "nested parquet",
        "jsonl",
        "hdf5",
        "safetensors",
    ],
)
def test_one_file_with_all_members(kind, tmp_path):
    members, labels = predictions(M=4)
    ending, write = FORMATS[kind]
    path = tmp_path / f"all{ending}"
    write(path, members, labels)
    ensemble = open_ensemble([str(path)])
    assert ensemble.names == ("all[0]", "all[1]", "all[2]", "all[3]")
    assert np.array_equal(whole(ensemble, rows=8)[0], members)


@pytest.mark.parametrize("start", [0, 1, 7, 23, 49])
@pytest.mark.parametrize("kind", FORMATS)
def test_reading_from_a_row_on(kind, start, tmp_path):
    members, _ = predictions()
    ensemble = open_ensemble(write_models(tmp_path, kind, members))
    first = next(ensemble.chunks(rows=5, start=start))
    assert first.start == start
    assert np.array_equal(first.members, members[start : start + 5])
    assert np.array_equal(whole(ensemble, rows=6, start=start)[0], members[start:])


def test_big_endian_half_and_integer_arrays(tmp_path):
    members, _ = predictions()
    np.save(tmp_path / "a.npy", members.astype(">f8"))
    np.save(tmp_path / "b.npy", np.eye(3, dtype=np.int8)[members.argmax(axis=2)])
    assert np.array_equal(whole(open_ensemble([str(tmp_path / "a.npy")]))[0], members)
    hard = whole(open_ensemble([str(tmp_path / "b.npy")]))[0]
    assert np.array_equal(hard.argmax(axis=2), members.argmax(axis=2))
    half = np.array([[0.3333, 0.3333, 0.3333]], np.float16)  # sums to 1 as well as half floats do
    np.save(tmp_path / "c.npy", half)
    assert whole(open_ensemble([str(tmp_path / "c.npy")]))[0].dtype == np.float32


def test_logits_from_the_file_or_by_request(tmp_path):
    logits = np.array([[0.0, np.log(3.0)], [1000.0, 0.0]])
    np.savez(tmp_path / "a.npz", logits=logits)
    np.save(tmp_path / "b.npy", logits)
    expected = [[[0.25, 0.75]], [[1.0, 0.0]]]
    assert np.allclose(whole(open_ensemble([str(tmp_path / "a.npz")]))[0], expected)
    assert np.allclose(whole(open_ensemble([str(tmp_path / "b.npy")], logits=True))[0], expected)
    cooled = whole(open_ensemble([str(tmp_path / "b.npy")], logits=True, temperature=0.5))[0]
    assert np.allclose(cooled[0], [[0.1, 0.9]])


@pytest.mark.parametrize("write", [write_npz, write_nested_parquet])
def test_a_file_of_probs_is_not_read_as_logits(write, tmp_path):
    path = tmp_path / f"a.{'npz' if write is write_npz else 'parquet'}"
    write(path, predictions()[0])
    with pytest.raises(PredictionFileError, match="contains probs, not logits; leave out --logits"):
        open_ensemble([str(path)], logits=True)


def test_normalize(tmp_path):
    np.save(tmp_path / "a.npy", [[1.0, 3.0]])
    with pytest.raises(PredictionFileError, match=r"a.npy: row 0 .* sums to 4; pass --normalize"):
        whole(open_ensemble([str(tmp_path / "a.npy")]))
    found = whole(open_ensemble([str(tmp_path / "a.npy")], normalize=True))[0]
    assert np.array_equal(found, [[[0.25, 0.75]]])
    np.save(tmp_path / "a.npy", [[[1.0, 3.0], [0.0, 0.0]]])
    with pytest.raises(PredictionFileError, match="member 1 sums to 0 and cannot be rescaled"):
        whole(open_ensemble([str(tmp_path / "a.npy")], normalize=True))


class TestColumns:
    TEXT = "image,fold,p,q,truth\na.png,1,0.25,0.75,q\nb.png,2,1,0,0\n"

    def read(self, tmp_path, text=TEXT, **how):
        path = tmp_path / "table.csv"
        path.write_text(text)
        (chunk,) = open_ensemble([str(path)], options=ReadOptions(**how)).chunks()
        return chunk

    @pytest.mark.parametrize(
        ("columns", "label", "identifier"),
        [(("p", "q"), "truth", "image"), (("2", "3"), "4", "0")],
    )
    def test_by_name_or_position(self, columns, label, identifier, tmp_path):
        chunk = self.read(tmp_path, columns=columns, label=label, id=identifier)
        assert np.array_equal(chunk.members[:, 0], [[0.25, 0.75], [1, 0]])
        assert chunk.labels.tolist() == [1, 0]
        assert chunk.ids.tolist() == ["a.png", "b.png"]

    def test_default_names(self, tmp_path):
        chunk = self.read(tmp_path, "id,a,b,label\n007,0.5,0.5,b\n")
        assert chunk.ids.tolist() == ["007"]  # not the number 7
        assert chunk.labels.tolist() == [1]

    @pytest.mark.parametrize("ending", [".csv", ".parquet", ".npz", "nested .parquet"])
    def test_default_names_in_capitals(self, ending, tmp_path):
        path = tmp_path / f"m{ending.split()[-1]}"
        table = pa.table({"ID": [101, 102], "a": [2.0, -1], "b": [-1.0, 3], "Label": ["a", "a"]})
        if ending == ".csv":
            pyarrow.csv.write_csv(table, path)
        elif ending == ".npz":
            np.savez(path, logits=[[2.0, -1], [-1, 3]], IDs=[101, 102], Labels=[0, 0])
        elif ending == ".parquet":
            pyarrow.parquet.write_table(table, path)
        else:
            lists = pa.array([[2.0, -1], [-1, 3]])
            table = pa.table({"Id": [101, 102], "logits": lists, "LABEL": [0, 0]})
            pyarrow.parquet.write_table(table, path)
        (chunk,) = open_ensemble([str(path)], logits=True).chunks()
        assert [str(i) for i in chunk.ids] == ["101", "102"]
        assert chunk.members.argmax(axis=-1).ravel().tolist() == [0, 1]
        assert chunk.labels.tolist() == [0, 0]

    def test_columns_named_id_are_not_classes(self, tmp_path):
        text = "image,id,ID,a,b\nx,0.2,0.1,0.5,0.5\n"
        assert self.read(tmp_path, text, id="image").members.shape == (1, 1, 2)

    def test_the_index_of_pandas_is_an_identifier(self, tmp_path):
        chunk = self.read(tmp_path, ",a,b\n10,0.5,0.5\n11,1,0\n")
        assert chunk.ids.tolist() == ["10", "11"]
        table = pa.table({"a": [0.5], "b": [0.5], "__index_level_0__": [12]})
        pyarrow.parquet.write_table(table, tmp_path / "table.parquet")
        (chunk,) = open_ensemble([str(tmp_path / "table.parquet")]).chunks()
        assert chunk.ids.tolist() == [12]

    def test_categories_and_missing_values_of_pandas(self, tmp_path):
        label = pa.array(["b", "a"]).dictionary_encode()
        table = pa.table({"a": [0.5, 1.0], "b": [0.5, 0.0], "label": label})
        pyarrow.parquet.write_table(table, tmp_path / "table.parquet")
        (chunk,) = open_ensemble([str(tmp_path / "table.parquet")]).chunks()
        assert chunk.labels.tolist() == [1, 0]
        table = pa.table({"a": [0.5, 1.0], "b": [0.5, None], "label": [1, None]})
        pyarrow.parquet.write_table(table, tmp_path / "table.parquet")
        (chunk,) = open_ensemble([str(tmp_path / "table.parquet")]).chunks(skip=True)
        assert chunk.labels.tolist() == [1]
        assert chunk.dropped[0].reason.startswith("class b is missing or NaN")

    @pytest.mark.parametrize("mark", [";", "\t", "|", " "])
    def test_another_separator(self, mark, tmp_path):
        for text in ("a,b\n0.25,0.75\n", "0.25,0.75\n", "id,a,b\nx,0.25,0.75\n"):
            chunk = self.read(tmp_path, text.replace(",", mark))
            assert chunk.members.tolist() == [[[0.25, 0.75]]]
            chunk = self.read(tmp_path, text.replace(",", mark).replace(".", ","))
            assert chunk.members.tolist() == [[[0.25, 0.75]]]

    def test_an_index_beside_an_id(self, tmp_path):
        for name in ("", "Unnamed: 0"):
            chunk = self.read(tmp_path, f"{name},id,a,b\n7,x,0.5,0.5\n")
            assert (chunk.ids.tolist(), chunk.members.shape) == (["x"], (1, 1, 2))
        pandas = json.dumps({"index_columns": ["sample"], "columns": []})
        table = pa.table({"a": [0.5], "b": [0.5], "sample": [12]})
        table = table.replace_schema_metadata({"pandas": pandas})
        pyarrow.parquet.write_table(table, tmp_path / "table.parquet")
        (chunk,) = open_ensemble([str(tmp_path / "table.parquet")]).chunks()
        assert (chunk.ids.tolist(), chunk.members.shape) == ([12], (1, 1, 2))

    def test_lines_that_are_broken_within_quotes(self, tmp_path, monkeypatch):
        monkeypatch.setattr("credalens.io.lines.TEXT_BLOCK", 64)
        monkeypatch.setattr("credalens.io.lines.HEAD_BYTES", 64)
        text = "id,a,b\n" + '"one\ntwo ""x""\nthree",0.25,0.75\n' * 40
        chunk = self.read(tmp_path, text)
        assert chunk.ids.tolist() == ['one\ntwo "x"\nthree'] * 40
        rows = (f'"{i}\nx","first\nno ""y""\nend",0.25,0.75\n' for i in range(40))
        chunk = self.read(tmp_path, "id,note,a,b\n" + "".join(rows), columns=("a", "b"))
        assert chunk.ids.tolist() == [f"{i}\nx" for i in range(40)]
        assert np.array_equal(chunk.members[:, 0], [[0.25, 0.75]] * 40)
        text = "id,a,b\n" + '5" disk,0.25,0.75\n' * 41  # quotes within a field are not special
        assert self.read(tmp_path, text).members.shape == (41, 1, 2)

    def test_a_header_that_is_broken_within_quotes(self, tmp_path):
        for line in ("0.5,0.5\n", '0.25,"0.75\n"\n'):
            path = tmp_path / "table.csv"
            path.write_text('"a\nx","b"\n' + line)
            ensemble = open_ensemble([str(path)])
            assert ensemble.class_names == ("a\nx", "b")
            assert whole(ensemble)[0].shape == (1, 1, 2)

    def test_a_binary_file_is_not_read_as_text(self, tmp_path, monkeypatch):
        monkeypatch.setattr("credalens.io.lines.TEXT_BLOCK", 64)
        monkeypatch.setattr("credalens.io.lines.HEAD_BYTES", 64)
        with pytest.raises(PredictionFileError, match="has a line of more than 64 bytes"):
            self.read(tmp_path, "0" * 1000)
        with pytest.raises(PredictionFileError, match="has a line of more than 64 bytes"):
            self.read(tmp_path, "a,b\n0.5,0.5\n" + "0" * 1000)
        many = "a,b\n" + "0.25,0.75\n" * 100  # cut into many stretches
        assert np.array_equal(self.read(tmp_path, many).members[:, 0], [[0.25, 0.75]] * 100)

    def test_unknown_column(self, tmp_path):
        with pytest.raises(PredictionFileError, match=r"no column 'r' \(--columns\); its columns"):
            self.read(tmp_path, columns=("p", "r"))

    @pytest.mark.parametrize(
        ("text", "rows"),
        [("0.5,0.5\n1,0\n", 2), ("a,b\n1,0\n", 1), ("0,1,2\n1,0,0\n", 1), ("0,1\n1,0\n", 2)],
        ids=["numbers", "names", "class indices", "a row of two"],
    )
    @pytest.mark.filterwarnings("ignore:.* its first line, 0,1")
    def test_header_or_not(self, text, rows, tmp_path):
        assert len(self.read(tmp_path, text).members) == rows

    def test_explicit_header(self, tmp_path):
        assert len(self.read(tmp_path, "0,1\n1,0\n", header=True).members) == 1

    def test_byte_order_mark_blank_lines_and_no_last_newline(self, tmp_path):
        chunk = self.read(tmp_path, "\ufeffid,a,b\n\n1,0,1\n\n2,0,1")
        assert chunk.ids.tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("labels", "names", "expected"),
    [
        ([0, 2, 3, -1], None, [0, 2, UNKNOWN, UNKNOWN]),
        (["cat", "2", "cow"], NAMES, [0, 2, UNKNOWN]),
        ([1.0, 2.0, 0.5], None, [1, 2, UNKNOWN]),
        ([1, 2, 3, 0], ("1", "2", "3"), [0, 1, 2, UNKNOWN]),
        ([b"dog"], NAMES, [1]),
        ([True, False], None, [1, 0]),
        ([True, False], ("False", "True", "x"), [1, 0]),
        (["True", "False"], ("True", "x", "y"), [0, UNKNOWN]),
        (["True", "False", "true", "false", "TRUE", "tRuE"], NAMES, [1, 0, 1, 0, 1, UNKNOWN]),
        (["True", "true", "FALSE"], ("true", "True", "x"), [1, 0, UNKNOWN]),
        ([True, False], ("TRUE", "FALSE", "x"), [0, 1]),
        (["True", "False"], ("1", "2", "3"), [0, UNKNOWN]),
        ([1, 0, 2], ("1", "two", "3"), [0, UNKNOWN, UNKNOWN]),
        (["1", "0", "two"], ("1", "two", "3"), [0, UNKNOWN, 1]),
    ],
)
def test_labels_as_names_or_indices(labels, names, expected):
    assert label_indices(np.array(labels), names, 3).tolist() == expected


@pytest.mark.parametrize(
    "ending",
    [
        ".npy",
        ".npz",
        ".csv",
        ".txt",
        ".parquet",
        "headed .csv",
        "two columns .csv",
        "two columns .tsv",
        "y .csv",
        "marked .csv",
        "marked .txt",
        "arr_0 .npz",
        "y_true .parquet",
    ],
)
def test_a_file_of_labels(ending, tmp_path):
    members, labels = predictions()
    np.save(tmp_path / "a.npy", members)
    path = tmp_path / f"labels{ending.split()[-1]}"
    if ending == ".npy":
        np.save(path, labels)
    elif ending.endswith(".npz"):
        np.savez(path, **{"labels" if ending == ".npz" else "arr_0": labels})
    elif ending.endswith(".parquet"):
        name = "label" if ending == ".parquet" else "y_true"
        pyarrow.parquet.write_table(pa.table({"n": labels + 1, name: labels}), path)
    elif ending.startswith("two"):
        by = "\t" if ending.endswith(".tsv") else ","
        lines = [f"r{i}{by}{label}" for i, label in enumerate(labels)]
        path.write_text("\n".join([f"row{by}label", *lines]) + "\n")
    else:
        heads = {"headed .csv": "label\n", "y .csv": "Y\n", "marked .csv": "\ufefflabel\n",
                 "marked .txt": "\ufeff"}  # fmt: skip
        head = heads.get(ending, "")
        path.write_text(head + "\n".join(map(str, labels)) + "\n")
    found = whole(open_ensemble([str(tmp_path)], labels=str(path)), rows=8)[1]
    assert np.array_equal(found, labels)


def test_folders_and_patterns(tmp_path):
    members, _ = predictions(M=2)
    write_models(tmp_path, "npy", members)
    (tmp_path / "notes.txt").write_text("no predictions")
    for names in ([str(tmp_path)], [str(tmp_path / "model_*.npy")]):
        assert open_ensemble(names).names == ("model_0", "model_1")


def test_models_of_the_same_name_are_called_by_their_folders(tmp_path):
    names = []
    for name in ("a/model.npy", "b/model.npy", "b/other.npy", "c/model.npy", "c/model.npz"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        (write_npz if name.endswith("z") else np.save)(path, predictions()[0][:, 0])
        names.append(str(path))
    assert open_ensemble(names).names == ("a/model", "b/model", "other", *names[3:])


def test_names_that_are_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1,2,3\n0.2,0.3,0.5\n")
    assert open_ensemble([str(path)]).class_names == ("1", "2", "3")
    path.write_text("3,5,7\n0.2,0.3,0.5\n")
    with pytest.raises(PredictionFileError, match=r"sums to 15; .*--header if these are names"):
        whole(open_ensemble([str(path)]))
    assert open_ensemble([str(path)], options=ReadOptions(header=True)).class_names == (
        "3",
        "5",
        "7",
    )


@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_pipes(kind, tmp_path):
    members, _ = predictions(M=1)
    (path,) = write_models(tmp_path, kind, members)
    stream = io.BytesIO(Path(path).read_bytes())
    ensemble = open_ensemble(["-"], options=ReadOptions(format=kind), stdin=stream)
    assert np.array_equal(whole(ensemble, rows=9)[0], members)


def test_blocks_are_cut_and_joined():
    values = np.arange(24.0).reshape(12, 1, 2)
    parts = [Block(values[a:b], errors={0: f"bad {a}"}) for a, b in ((0, 5), (5, 6), (6, 12))]
    found = list(rechunk(parts, 4))
    assert [len(block) for block in found] == [4, 4, 4]
    assert np.array_equal(np.concatenate([block.values for block in found]), values)
    assert [block.errors for block in found] == [{0: "bad 0"}, {1: "bad 5", 2: "bad 6"}, {}]


class TestErrors:
    @pytest.fixture
    def models(self, tmp_path):
        members, labels = predictions(M=2)
        for m in range(2):
            write_npz(tmp_path / f"{m}.npz", members[:, m], labels)
        return tmp_path, members, labels

    def check_error(self, names, message, **options):
        with pytest.raises(PredictionFileError, match=message):
            list(open_ensemble([str(name) for name in names], **options).chunks(rows=8))

    def test_files(self, models):
        folder, members, _ = models
        self.check_error([folder / "no.npy"], r"no.npy: does not exist; check the name")
        self.check_error([folder / "no*.npy"], "matches no file")
        (folder / "a.npy").write_bytes(b"")
        self.check_error([folder / "a.npy"], "a.npy: is empty")
        (folder / "a.xlsx").write_bytes(b"x")
        self.check_error([folder / "a.xlsx"], r"is a .xlsx file, which is not read; save it as CSV")
        (folder / "a.docx").write_bytes(b"x")
        self.check_error([folder / "a.docx"], r"unknown file extension '.docx'; supported are .csv")
        np.save(folder / "b.npy", members)
        data = (folder / "b.npy").read_bytes()
        (folder / "b.npy").write_bytes(data[:-100])
        self.check_error([folder / "b.npy"], "truncated: it has 47 of 50 rows; copy it again")
        (folder / "c.npy").write_bytes(b"0.5,0.5\n")
        self.check_error([folder / "c.npy"], "c.npy: cannot be read .*file extension")
        (folder / "d.parquet").write_bytes(data)
        self.check_error([folder / "d.parquet"], "d.parquet: cannot be read")
        data = (folder / "0.npz").read_bytes()
        (folder / "0.npz").write_bytes(data[: len(data) // 2])
        self.check_error([folder / "0.npz"], "0.npz: cannot be read")
        message = "stdin: needs a format; pass --format csv, tsv, jsonl, npy or logprobs"
        self.check_error(["-"], message)
        self.check_error([folder / "1.npz"] * 2, "1.npz: is listed twice")
        self.check_error([folder / "1.npz", f"{folder}/./1.npz"], "1.npz: is listed twice")

    def test_pipes_do_not_hang(self, models):
        folder, _, _ = models
        os.mkfifo(folder / "pipe.csv")
        for names in ([folder / "pipe.csv"], [folder]):
            self.check_error(
                names, "pipe.csv: is a pipe, which can be read only once; pass - --form"
            )
        (folder / "a.parquet.gz").write_bytes(b"x")
        self.check_error([folder / "a.parquet.gz"], "is compressed; unpack it: .parquet is read as")
        self.check_error([folder / "none"], "none: does not exist; check the name")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"temperature": 2.0}, "--temperature: applies to logits; pass --logits"),
            ({"options": ReadOptions(format="csv")}, "--format: applies to standard input"),
            (
                {"options": ReadOptions(columns=("0", "1"))},
                "--columns: applies to tables, and there are none",
            ),
            ({"options": ReadOptions(label="y")}, "--label-column: applies to tables"),
            (
                {"options": ReadOptions(header=True)},
                "--header: applies to text files, and there are none",
            ),
        ],
    )
    def test_options_without_effect_raise(self, options, message, models):
        self.check_error([models[0]], message, **options)

    def test_logits_are_not_normalized(self, models):
        np.savez(models[0] / "x.npz", logits=np.ones((50, 3)))
        self.check_error(
            [models[0] / "x.npz"], "--normalize: applies to probabilities", normalize=True
        )

    def test_pickles_are_not_opened(self, tmp_path):
        np.save(tmp_path / "a.npy", np.array([{"run": "code"}]), allow_pickle=True)
        self.check_error([tmp_path / "a.npy"], "pickled Python objects")
        np.savez(tmp_path / "b.npz", probs=np.array([None]), allow_pickle=True)
        self.check_error([tmp_path / "b.npz"], "pickled Python objects")

    def test_shapes(self, tmp_path):
        for shape in ((2, 3, 4, 5), (3, 0), (0, 3)):
            np.save(tmp_path / "a.npy", np.ones(shape))
            self.check_error([tmp_path / "a.npy"], "has shape|has no rows")
        np.savez(tmp_path / "a.npz", weights=np.ones((3, 2, 4, 5)))
        self.check_error([tmp_path / "a.npz"], r"a.npz: contains weights \(3, 2, 4, 5\); save pred")
        np.save(tmp_path / "a.npy", np.arange(3))
        self.check_error([tmp_path / "a.npy"], r"has shape \(3,\) and dtype int64, like labels")
        np.save(tmp_path / "a.npy", np.array([["a", "b"]]))
        self.check_error([tmp_path / "a.npy"], "dtype <U1; save floats")

    def test_models_that_disagree(self, models):
        folder, members, labels = models
        write_npz(folder / "2.npz", members[:40, 0])
        self.check_error([folder], "2.npz: has 40 rows, .*0.npz 50")
        np.savez(folder / "2.npz", probs=members[:, 0, :2] / members[:, 0, :2].sum(-1)[:, None])
        self.check_error([folder], "2.npz: has 2 classes, .*0.npz 3")
        other = labels.copy()
        other[33] = (other[33] + 1) % 3
        write_npz(folder / "2.npz", members[:, 0], other)
        self.check_error([folder], r"2.npz: row 33 \(zero-based\): labels: . here, . in .*0.npz")
        for name, ids in (("0", range(50)), ("1", [*range(20), 99, *range(21, 50)])):
            np.savez(folder / f"{name}.npz", probs=members[:, 0], ids=np.array(ids))
        self.check_error(
            [folder / "0.npz", folder / "1.npz"],
            r"1.npz: has no row with the id 20 \(row 20 of .*0",
        )

    def test_text_files_of_different_lengths(self, tmp_path):
        members, _ = predictions(M=2)
        write_csv(tmp_path / "a.csv", members[:, 0])
        write_csv(tmp_path / "b.csv", members[:30, 1])
        self.check_error([tmp_path], "b.csv: ends after 30 rows, .*a.csv has more")

    def test_class_order(self, tmp_path):
        members, _ = predictions(M=1)
        write_parquet(tmp_path / "a.parquet", members[:, 0])
        text = "dog,cat,bird\n" + "".join("1,0,0\n" for _ in range(50))
        (tmp_path / "b.csv").write_text(text)
        ensemble = open_ensemble([str(tmp_path)])
        assert whole(ensemble)[0][:, 1].tolist() == [[0, 1, 0]] * 50
        assert ensemble.notes[0].endswith("b.csv: its classes, dog, cat, bird, are matched by name")
        (tmp_path / "b.csv").write_text(text.replace("dog", "cow"))
        self.check_error(
            [tmp_path], "b.csv: has the classes cow, cat, bird, .* cat, dog, bird; pass --class-na"
        )
        ensemble = open_ensemble([str(tmp_path)], class_names=NAMES)
        assert whole(ensemble)[0][:, 1].tolist() == [[1, 0, 0]] * 50

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            (np.zeros(49, int), "has 49 labels, the models have 50 rows; pass one for each"),
            (np.zeros(51, int), "has 51 labels, the models have 50 rows"),
            (np.full(50, 3), "row 0 .* has the label '3'; labels are 0 to 2"),
            (
                np.full(50, 255, np.uint8),
                "row 0 .* label '255'; .*; pass --ignore-label 255 or rel",
            ),
            (
                np.zeros((50, 2)),
                r"labels of shape \(rows, 2\); save one label per row, or one numb",
            ),
        ],
    )
    def test_labels(self, labels, message, tmp_path):
        np.save(tmp_path / "a.npy", predictions()[0])
        np.save(tmp_path / "labels.npy", labels)
        self.check_error(
            [tmp_path], "labels.npy: .*" + message, labels=str(tmp_path / "labels.npy")
        )

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.nan, "class 2 of member 1 is NaN"),
            (np.inf, "class 2 of member 1 is infinite"),
            (-0.5, "class 2 of member 1 is negative; fix the row, or drop it by --on-error skip"),
            (7.0, "member 1 sums to .*; fix the row, or drop it by --on-error skip"),
        ],
    )
    def test_bad_rows(self, value, message, tmp_path):
        members, _ = predictions()
        members[43, 1, 2] = value
        np.save(tmp_path / "a.npy", members)
        self.check_error([tmp_path], rf"a.npy: row 43 \(zero-based\): {message}")

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("0.5", "has 1 fields instead of 2"),
            ("0.5,abc", "column 'q' is 'abc', not a number; fix it, or name .* --id-column"),
            ("0.5,", "class q is missing or NaN"),
            ("1_0,0", "column 'p' is '1_0', not a number"),
        ],
    )
    def test_bad_lines(self, line, message, tmp_path):
        good = "0.5,0.5\n"
        (tmp_path / "a.csv").write_text("p,q\n" + good * 21 + line + "\n" + good)
        self.check_error([tmp_path], rf"a.csv: row 21 \(zero-based\): {message}")

    def test_ragged_lists(self, tmp_path):
        table = pa.table({"probs": [[[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]]})
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
        self.check_error(
            [tmp_path], r"a.parquet: row 1 \(zero-based\): probs is 2 x 2 instead of 1 x 2"
        )
        pyarrow.parquet.write_table(pa.table({"a": ["x"]}), tmp_path / "a.parquet")
        self.check_error([tmp_path], "a.parquet: has no column of numbers")
        self.check_error([tmp_path], "column 'a' is string; name", options=ReadOptions(("a",)))


def test_invalid_rows_are_dropped_with_a_reason(tmp_path):
    members, labels = predictions()
    members[[3, 20], 0, 1] = np.nan
    labels[30] = 9
    write_nested_parquet(tmp_path / "a.parquet", members, labels)
    chunks = list(open_ensemble([str(tmp_path)]).chunks(rows=8, skip=True))
    kept = np.delete(np.arange(50), [3, 20, 30])
    assert np.array_equal(np.concatenate([chunk.rows for chunk in chunks]), kept)
    assert np.array_equal(np.concatenate([chunk.members for chunk in chunks]), members[kept])
    dropped = [drop for chunk in chunks for drop in chunk.dropped]
    assert [(drop.row, drop.reason[:30]) for drop in dropped] == [
        (3, "class 1 of member 0 is missing"),
        (20, "class 1 of member 0 is missing"),
        (30, "has the label '9'"),
    ]


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    members, _ = predictions()
    stored = zarr.create_array(
        str(tmp_path / "a.zarr"), shape=members.shape, chunks=(16, 3, 3), dtype="f8"
    )
    stored[:] = members
    ensemble = open_ensemble([str(tmp_path)])
    assert np.array_equal(whole(ensemble, rows=7)[0], members)
    assert np.array_equal(whole(ensemble, rows=7, start=9)[0], members[9:])


def test_zarr_without_the_package_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    (tmp_path / "a.zarr").mkdir()
    with pytest.raises(
        ModuleNotFoundError, match=r"^zarr is not installed; run pip install .*\[dask\]"
    ):
        open_ensemble([str(tmp_path / "a.zarr")])
