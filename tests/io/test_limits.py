"""Impossible and absurd sizes in files are refused before memory is allocated."""

import gzip
import io
import json
import resource
import struct
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from credalens import _memory
from credalens.datasets import read_idx
from credalens.datasets.dat import MalformedFileError
from credalens.io import limits, open_ensemble
from credalens.io.formats import open_source
from credalens.io.label_files import LabelOptions, read_labels
from credalens.io.parquet import open_parquet
from credalens.io.parquet_footer import (
    COLUMN_METADATA,
    COLUMNS,
    LEVEL_HISTOGRAMS,
    ROW_GROUPS,
    SIZE_STATISTICS,
    footer_size,
    level_histograms,
    merged_footer,
    parse_footer,
)
from credalens.io.parquet_sizes import check_sizes
from credalens.io.source import PredictionFileError, ReadOptions
from prediction_files import call, predictions


def npy_header(shape, dtype="<f8", version=1):
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}".encode()
    text += b" " * (63 - len(text) % 64) + b"\n"
    size = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text


def compressed_npz(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("probs.npy", content)


@pytest.fixture
def few_bytes():
    """Fail if the memory of the process grows by more than 256 MB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 << 10


def refused(path, message, options=None):
    with pytest.raises(PredictionFileError, match=message) as found:
        for _ in open_ensemble([str(path)], options=options).chunks():
            pass
    assert str(path) in str(found.value)


@pytest.mark.parametrize("suffix", [".npy", ".npy.gz", ".npz"])
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((-5, 2), "impossible shape"),
        ((5, -2), "impossible shape"),
        ((-5, -2), "impossible shape"),
        ((1 << 62, 1 << 62), "more than can be addressed"),
        ((1, 1 << 40), "needs 32T of memory|is truncated"),
        ((1, 1 << 20, 1 << 20), "needs 32T of memory|is truncated"),
    ],
)
def test_npy_shapes(suffix, shape, message, tmp_path, few_bytes):
    path, content = tmp_path / f"a{suffix}", npy_header(shape)
    if suffix == ".npz":
        compressed_npz(path, content)
    else:
        path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    refused(path, message)
    done = call("score", path, code=2)
    assert str(path) in done.stderr


@pytest.mark.slow
def test_a_header_of_many_bytes(tmp_path, few_bytes):
    with (
        zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("probs.npy", "w") as file,
    ):
        file.write(b"\x93NUMPY\x02\x00" + struct.pack("<I", 300 << 20))
        for _ in range(300):
            file.write(bytes(1 << 20))
    refused(tmp_path / "a.npz", "has a header of 314572800 bytes")


def test_long_text(tmp_path, few_bytes):
    compressed_npz(tmp_path / "a.npz", npy_header((2, 3)) + bytes(48))
    with zipfile.ZipFile(tmp_path / "a.npz", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("labels.npy", npy_header((2,), "<U500000000"))
    refused(
        tmp_path / "a.npz", "needs 4G of memory, the limit is 2G; check the file, or pass --max"
    )


def test_an_array_that_must_be_held(tmp_path, few_bytes):
    """Rows that are not stored one after the other are read from compressed files as a whole."""
    compressed_npz(tmp_path / "a.npz", npy_header((3, 1 << 28, 2)))
    refused(tmp_path / "a.npz", "needs 12G", ReadOptions(axes=("models", "rows", "classes")))


def nested(path, rows, values):
    """Write rows of lists, the first of which has all values: few bytes, if they are constant."""
    offsets = pa.array([0] + [values] * rows, pa.int32())
    numbers = pa.array(np.zeros(values, np.float32))
    pyarrow.parquet.write_table(
        pa.table({"probs": pa.ListArray.from_arrays(offsets, numbers)}), path
    )


@pytest.mark.slow
def test_parquet_lists(tmp_path, monkeypatch):
    nested(tmp_path / "a.parquet", 1, 1 << 22)
    assert (tmp_path / "a.parquet").stat().st_size < 1 << 14
    monkeypatch.setenv(_memory.VARIABLE, "16M")
    refused(tmp_path / "a.parquet", r"'probs.list.element' has \d+ bytes in the file and needs 32M")


def test_parquet_statistics_that_contradict_the_schema(tmp_path):
    # pyarrow ends the process when it reads them.
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"probs": [[0.2, 0.8], [0.5, 0.5]]})
    pyarrow.parquet.write_table(table, path)
    data = path.read_bytes()
    footer = parse_footer(data)
    assert list(level_histograms(footer)) == [(0, (2, 4))]
    column = footer[ROW_GROUPS][1].values[0][COLUMNS][1].values[0]
    statistics = column[COLUMN_METADATA][1][SIZE_STATISTICS][1]
    statistics[LEVEL_HISTOGRAMS[1]][1].values.pop()
    path.write_bytes(data[: -8 - footer_size(data)] + merged_footer([footer], [0]))
    refused(path, r"has statistics of 3 levels in the column 'probs.list.element', which has 4")


def test_parquet_lists_of_fixed_size(tmp_path, few_bytes):
    kind = pa.list_(pa.float64(), 600_000_000)
    schema = pa.schema({"probs": kind})
    with pyarrow.parquet.ParquetWriter(tmp_path / "a.parquet", schema) as writer:
        writer.write_table(schema.empty_table())
    message = "a row of the column 'probs' needs 5G"
    with (
        open_parquet(str(tmp_path / "a.parquet")) as file,
        pytest.raises(PredictionFileError, match=message),
    ):
        check_sizes("a.parquet", file)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["dictionary", "DELTA_BYTE_ARRAY"])
def test_parquet_text(encoding, tmp_path, monkeypatch, few_bytes):
    """A long text that is stored once, and an id for each row."""
    n, text = 5000, "x" * 100_000
    same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([text]))
    columns = {"a": np.full(n, 0.5), "b": np.full(n, 0.5)}
    options = {"store_schema": False}
    if encoding != "dictionary":
        options |= {"use_dictionary": False, "column_encoding": {"id": encoding}}
        same = same.slice(0, 1000).cast(pa.string())
        columns = {name: values[:1000] for name, values in columns.items()}
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"id": same, **columns}), path, **options)
    del same
    assert path.stat().st_size < 200_000
    monkeypatch.setenv(_memory.VARIABLE, "16M")
    refused(path, r"the text of \d+ rows in the column 'id' needs")
    with pytest.raises(PredictionFileError, match="the text of"):
        read_labels(str(path), LabelOptions(column="id"))
    ids = [f"image {i}" for i in range(n)]
    columns = {"a": np.full(n, 0.5), "b": np.full(n, 0.5)}
    pyarrow.parquet.write_table(pa.table({"id": ids, **columns}), path)
    monkeypatch.setenv(_memory.VARIABLE, "1M")
    (chunk,) = open_ensemble([str(path)]).chunks()
    assert chunk.ids.tolist() == ids


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_arrow_batches(kind, codec, tmp_path, monkeypatch, few_bytes):
    path = tmp_path / "a.arrow"
    options = pa.ipc.IpcWriteOptions(compression=codec)
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream

    def write(values):
        table = pa.table({"id": pa.array(["a", "b"]).dictionary_encode().take([0] * len(values)),
                          "a": values, "b": 1 - values})  # fmt: skip
        with pa.OSFile(str(path), "wb") as sink, new(sink, table.schema, options=options) as writer:
            writer.write_table(table)

    write(np.random.default_rng(0).random(100_000))
    monkeypatch.setenv(_memory.VARIABLE, "1M")
    assert sum(len(chunk.rows) for chunk in open_ensemble([str(path)]).chunks()) == 100_000
    write(np.zeros(5_000_000))
    assert path.stat().st_size < (1 << 20)
    monkeypatch.setenv(_memory.VARIABLE, "16M" if codec == "zstd" else "1K")
    monkeypatch.setattr(limits, "RATIO", 100)  # LZ4 compresses 255 times
    refused(path, r"a batch has \d+ bytes in the file and needs")
    content = path.read_bytes()
    for end in (len(content) // 2, 40, 12, 7):
        path.write_bytes(content[:end])
        refused(path, "is damaged or truncated|cannot be read|a batch has")


def test_models_times_classes(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.full((2, 10, 1000), 1e-3))
    np.save(tmp_path / "b.npy", np.full((2, 10, 1000), 1e-3))
    monkeypatch.setenv(_memory.VARIABLE, "400K")
    open_ensemble([str(tmp_path / "a.npy")])
    with pytest.raises(PredictionFileError, match="a row of 20 x 1000 values needs 625K"):
        open_ensemble([str(tmp_path / "a.npy"), str(tmp_path / "b.npy")])


@pytest.mark.slow
def test_the_option(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", probs=predictions(3000)[0].transpose(1, 0, 2))
    axes = ("--axes", "models,rows,classes", "-o", tmp_path / "s.csv")
    done = call("score", tmp_path / "a.npz", *axes, "--max-memory", "100K", code=2)
    assert (
        "needs 211K of memory, the limit is 100K; check the file, or pass --max-memory 211K"
        in done.stderr
    )
    call("score", tmp_path / "a.npz", *axes, "--max-memory", "211K")
    done = call("score", tmp_path / "a.npz", *axes, "--max-memory", "much", code=2)
    assert "--max-memory: is 'much'; pass a size such as 500M or 8G" in done.stderr


def test_decompressed_labels(tmp_path, monkeypatch, few_bytes):
    with gzip.open(tmp_path / "labels.txt.gz", "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(b"0\n" * (1 << 19))
    monkeypatch.setenv(_memory.VARIABLE, "16M")
    with pytest.raises(PredictionFileError, match="its decompressed content needs"):
        read_labels(str(tmp_path / "labels.txt.gz"))


@pytest.mark.slow
def test_json_that_is_parsed_as_a_whole(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text(json.dumps([[0.5, 0.5]] * 10_000))
    open_source(str(tmp_path / "a.json"), ReadOptions())
    monkeypatch.setenv(_memory.VARIABLE, "256K")
    refused(tmp_path / "a.json", "has more than 32768 bytes; write it as .jsonl, or pass a larger")


@pytest.mark.slow
def test_idx(tmp_path, few_bytes):
    content = bytes([0, 0, 8, 3]) + struct.pack(">3I", 60_000, 300, 300)
    path = tmp_path / "images"
    path.write_bytes(gzip.compress(content + bytes(1000)))
    with pytest.raises(MalformedFileError, match=r"shape \(60000, 300, 300\) of uint8 needs 11G"):
        read_idx(path)
    # More bytes than stated are not decompressed either.
    content = bytes([0, 0, 8, 1]) + struct.pack(">I", 4)
    stream = io.BytesIO()
    with gzip.open(stream, "wb", compresslevel=1) as file:
        file.write(content)
        for _ in range(300):
            file.write(bytes(1 << 20))
    path.write_bytes(stream.getvalue())
    with pytest.raises(MalformedFileError, match="has more than 65548 bytes, too many"):
        read_idx(path)


def test_hdf5(tmp_path, few_bytes):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("probs", (10, 3, 1 << 40), "f8", chunks=(1, 1, 1 << 20))
    refused(tmp_path / "a.h5", "was never written|needs")
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.create_dataset("logits", (10, 3), "f8", chunks=(2, 3))[:6] = 1.0
    refused(tmp_path / "b.h5", "logits has 3 of 5 chunks; write all of its rows")
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file.create_dataset("logits", (10, 3), "f8")
    refused(tmp_path / "c.h5", "logits was never written")
    with h5py.File(tmp_path / "d.h5", "w") as file:
        data = file.create_dataset("probs", (1 << 19, 3000), "f8", chunks=(1 << 19, 3000),
                                   compression="gzip")  # fmt: skip
        data.id.write_direct_chunk((0, 0), b"few")
    refused(tmp_path / "d.h5", "a chunk .* of probs needs")


def test_a_chunk_of_hdf5_that_becomes_larger_than_its_values(tmp_path):
    h5py = pytest.importorskip("h5py")
    members = predictions(12)[0]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        data = file.create_dataset("probs", data=members, chunks=(4, 3, 3), compression="gzip")
        (chunk,) = open_ensemble([str(tmp_path / "a.h5")]).chunks()
        assert np.array_equal(chunk.members, members)
        noise = np.random.default_rng(0).bytes(1 << 17)
        data.id.write_direct_chunk((4, 0, 0), zlib.compress(noise + bytes(1 << 24)))
    refused(tmp_path / "a.h5", r"the chunk \(1, 0, 0\) has \d+ bytes for values of 288 bytes")
