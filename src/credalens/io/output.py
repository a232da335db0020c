"""Tables of scores, written atomically in the format of their file extension."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from credalens._backend import Array
from credalens._extras import require
from credalens._files import atomic_write
from credalens.io.ensemble import DroppedRow
from credalens.io.formats import DROPPED_COLUMNS, column_names
from credalens.io.source import PredictionFileError, raise_file_error

pa = require("pyarrow", "cli")
arrow_compute = require("pyarrow.compute", "cli")
arrow_csv = require("pyarrow.csv", "cli")
arrow_parquet = require("pyarrow.parquet", "cli")

#: Returns an iterator over the record batches of a table; can be called several times.
Batches = Callable[[], Iterator[Any]]


def as_batch(columns: Mapping[str, Any], id_type: Any = None) -> Any:
    """Return columns as an Arrow record batch; half precision becomes single precision.

    Masked values become nulls. `id_type` is the Arrow type of the column ``id`` if its dtype does
    not determine it.
    """
    arrays = []
    for name, values in columns.items():
        array = np.asarray(values)
        mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
        if array.dtype == np.float16:
            array = array.astype(np.float32)
        if name == "id" and id_type is not None:
            arrays.append(pa.array(array, id_type))
        elif array.dtype.kind in "OSU":
            arrays.append(_strings(array, mask))
        else:
            arrays.append(pa.array(array, mask=mask))
    return pa.record_batch(arrays, names=list(columns))


def _strings(array: Array, mask: Array | None = None) -> Any:
    if array.dtype.kind == "S":
        array = array.astype(np.str_)
    if array.dtype.kind == "O":
        array = np.array([None if value is None else str(value) for value in array], dtype=object)
    return pa.array(array, pa.string(), mask=mask)


def write_csv(batches: Iterable[Any], stream: IO[bytes], header: bool = True) -> None:
    """Write CSV; floats have the fewest digits that are read back as the same bits."""
    options = arrow_csv.WriteOptions(include_header=False)
    for batch in batches:
        if header:
            stream.write((",".join(batch.schema.names) + "\n").encode())
            header = False
        arrow_csv.write_csv(batch, stream, options)


def write_jsonl(batches: Iterable[Any], stream: IO[bytes]) -> None:
    """Write one JSON object per line, floats as in `write_csv`."""
    for batch in batches:
        texts = [_json_texts(column) for column in batch.columns]
        keys = [json.dumps(name) + ": " for name in batch.schema.names]
        for row in zip(*texts, strict=True):
            line = ", ".join(key + text for key, text in zip(keys, row, strict=True))
            stream.write(f"{{{line}}}\n".encode())


def _json_texts(column: Any) -> list[str]:
    texts = arrow_compute.cast(column, pa.string()).to_pylist()
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return ["null" if text is None else text for text in texts]
    return [json.dumps(text) for text in texts]


def write_parquet(
    batches: Batches, path: Path, metadata: Callable[[], Mapping[str, str]] | None = None
) -> None:
    """Write a Parquet file; `metadata` is called after the last batch and goes into the footer."""
    rest = batches()
    first = next(rest)
    # Dictionary encoding does not compress floats, it only takes time.
    text = [field.name for field in first.schema if pa.types.is_string(field.type)]
    # Differences of row numbers take almost no space.
    delta = {name: "DELTA_BINARY_PACKED" for name in first.schema.names if name == "row"}
    with arrow_parquet.ParquetWriter(
        path, first.schema, use_dictionary=text, column_encoding=delta or None
    ) as writer:
        writer.write_batch(first)
        for batch in rest:
            writer.write_batch(batch)
        if metadata is not None:
            writer.add_key_value_metadata(dict(metadata()))


def _write_npz(batches: Batches, path: Path) -> None:
    """Write one column after the other, each batch by batch."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name in next(batches()).schema.names:
            dtypes, rows = set(), 0
            for batch in batches():
                dtypes.add(_as_numpy(batch.column(name)).dtype)
                rows += batch.num_rows
            dtype = np.result_type(*dtypes)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False,
                          "shape": (rows,)}  # fmt: skip
                npy.write_array_header_1_0(stream, header)
                for batch in batches():
                    stream.write(_as_numpy(batch.column(name)).astype(dtype).tobytes())


def _as_numpy(column: Any) -> Array:
    complete = column.null_count == 0 or pa.types.is_floating(column.type)
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    if complete and values.dtype != object:
        return values
    texts = arrow_compute.cast(column, pa.string()).to_pylist()
    return np.array([text or "" for text in texts], dtype=np.str_)


def _to_file(write: Callable[[Iterable[Any], IO[bytes]], None]) -> Callable[[Batches, Path], None]:
    def write_file(batches: Batches, path: Path) -> None:
        with path.open("wb") as stream:
            write(batches(), stream)

    return write_file


#: Functions that write a table, by file extension.
WRITERS: dict[str, Callable[[Batches, Path], None]] = {
    ".csv": _to_file(write_csv),
    ".parquet": write_parquet,
    ".npz": _write_npz,
    ".jsonl": _to_file(write_jsonl),
}


def check_output(out: Path) -> None:
    """Raise an error for an output file that cannot be written, before any work is done."""
    if out.suffix.lower() not in WRITERS:
        problem = f"has the unknown file extension {out.suffix!r}"
        raise_file_error(str(out), problem, f"supported are {' '.join(WRITERS)}")
    check_parent(out)
    if out.is_dir():
        raise_file_error(str(out), "is a folder", "name a file")


def check_parent(out: Path) -> None:
    """Raise an error for an output in a folder that does not exist."""
    if not out.parent.is_dir():
        problem = "is not a folder" if out.parent.exists() else "does not exist"
        raise_file_error(str(out), f"the folder {out.parent} {problem}", "create it")


def check_not_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Raise an error for outputs that would overwrite an input, or are inside a dataset."""
    read = {path.resolve() for path in inputs}
    for out in outputs:
        path = out.resolve()
        if path in read:
            raise_file_error(str(out), "is also an input", "name another output")
        for folder in read.intersection(path.parents):
            raise_file_error(str(out), f"is in {folder}, an input", "name another output")


def check_same_settings(
    path: str, old: Mapping[str, Any], new: Mapping[str, Any], fix: str
) -> None:
    """Raise an error if an unfinished output has other settings; both as read from JSON."""
    other = [key for key in new if new[key] != old.get(key)]
    if other:
        raise_file_error(path, f"was created with other {', '.join(other)}", fix)


class ChunkStore:
    """Finished chunks of an output that is not complete.

    They are Arrow files in a hidden folder beside `out`, each moved there when it is complete. If
    the process is killed, only this folder remains, and `resume` continues from it.
    """

    def __init__(self, out: Path, task: Mapping[str, Any], resume: bool) -> None:
        check_output(out)
        self.out, self.folder = out, out.with_name(f".{out.name}.parts")
        saved = self.folder / "task.json"
        settings = json.dumps(task, sort_keys=True)
        if resume and saved.exists():
            old = json.loads(saved.read_text(encoding="utf-8"))
            fix = "pass the same ones, or leave out --resume to start again"
            check_same_settings(str(out), old, json.loads(settings), fix)
        else:
            self.discard()
            self.folder.mkdir()
            with atomic_write(saved) as path:
                path.write_text(settings, encoding="utf-8")

    @property
    def finished(self) -> int:
        """Number of rows in finished chunks."""
        return self._files()[1]

    def _files(self) -> tuple[list[Path], int]:
        """Return the finished chunks without a gap from row 0 on, and the row where they end."""
        files, end = [], 0
        for path in sorted(self.folder.glob("*.arrow")):
            start, stop = (int(part) for part in path.stem.split("-"))
            if start != end:
                break
            files.append(path)
            end = stop
        return files, end

    def add(self, start: int, stop: int, batch: Any, dropped: Iterable[DroppedRow]) -> None:
        """Store one chunk."""
        stem = self.folder / f"{start:015d}-{stop:015d}"
        rows = [[drop.row, drop.id, drop.file, drop.reason] for drop in dropped]
        if rows:
            stem.with_suffix(".json").write_text(json.dumps(rows, default=str), encoding="utf-8")
        unfinished = stem.with_suffix(".unfinished")
        with (
            pa.OSFile(str(unfinished), "wb") as sink,
            pa.ipc.new_file(sink, batch.schema) as writer,
        ):
            writer.write_batch(batch)
        unfinished.replace(stem.with_suffix(".arrow"))

    def batches(self) -> Iterator[Any]:
        """Yield the chunks in order."""
        for path in self._files()[0]:
            with pa.OSFile(str(path), "rb") as source, pa.ipc.open_file(source) as reader:
                yield reader.get_batch(0)

    def dropped(self) -> list[DroppedRow]:
        """Return the dropped rows of all chunks."""
        files = (path.with_suffix(".json") for path in self._files()[0])
        return [
            DroppedRow(*values)
            for file in files
            if file.exists()
            for values in json.loads(file.read_text(encoding="utf-8"))
        ]

    def finish(
        self, skipped: Path, rows: int, show: Callable[[int, int | None], None] = lambda *_: None
    ) -> list[DroppedRow]:
        """Write the output, and the dropped rows to `skipped`; return the dropped rows.

        `rows` is the number of rows that were read. `show` is called with the number of written
        rows and the total.
        """
        if self.finished != rows:
            raise_file_error(
                str(self.out),
                f"{self.folder} has {self.finished} of {rows} rows",
                "run it again, and do not change the folder",
            )

        def batches() -> Iterator[Any]:
            done = 0
            for batch in self.batches():
                show(done, rows)
                yield batch
                done += batch.num_rows

        complete = self.folder / f"whole{self.out.suffix}"
        WRITERS[self.out.suffix.lower()](batches, complete)
        dropped = self.dropped()
        complete.replace(self.out)
        save_dropped(dropped, skipped)
        self.discard()
        return dropped

    def discard(self) -> None:
        """Remove the finished chunks."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_dropped_csv(dropped: Iterable[DroppedRow], stream: IO[bytes]) -> None:
    """Write dropped rows and the reasons."""
    rows = [
        (drop.row, "" if drop.id is None else str(drop.id), drop.file, drop.reason)
        for drop in dropped
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    write_csv([pa.record_batch(columns, names=list(DROPPED_COLUMNS))], stream)


def save_dropped(dropped: Sequence[DroppedRow], path: Path) -> None:
    """Write dropped rows to `path`; if there are none, remove the file of an earlier run."""
    if dropped:
        with atomic_write(path) as temporary, temporary.open("wb") as stream:
            write_dropped_csv(dropped, stream)
    else:
        remove_own_table(path, DROPPED_COLUMNS)


def remove_own_table(path: Path, columns: Sequence[str]) -> None:
    """Remove the table that an earlier run wrote to `path`, recognised by its columns."""
    with suppress(PredictionFileError):  # a file that cannot be read is not ours
        if path.is_file() and column_names(path) == list(columns):
            path.unlink()
