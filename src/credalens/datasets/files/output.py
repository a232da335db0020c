"""Tables of scores: written by ending, bit for bit, whole or not at all."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
from numpy.lib import format as npy

from credalens._arrays import Array
from credalens._files import replacing
from credalens.datasets.files.ensemble import Dropped
from credalens.datasets.files.opening import SKIPPED, columns_of
from credalens.datasets.files.source import PredictionFileError, refuse_file

#: Gives the record batches of a table, from the first, whenever it is called.
Batches = Callable[[], Iterator[Any]]


def as_batch(columns: Mapping[str, Any], id_type: Any = None) -> Any:
    """Return columns as an Arrow record batch; half floats become single ones, exactly.

    `id_type` is the type of the identifiers, if they have one that rows alone do not tell.
    """
    arrays = []
    for name, values in columns.items():
        array = np.asarray(values)
        if array.dtype == np.float16:
            array = array.astype(np.float32)
        if name == "id" and id_type is not None:
            arrays.append(pa.array(array, id_type))
        else:
            arrays.append(_texts(array) if array.dtype.kind in "OSU" else pa.array(array))
    return pa.record_batch(arrays, names=list(columns))


def _texts(array: Array) -> Any:
    if array.dtype.kind == "S":
        array = array.astype(np.str_)
    if array.dtype.kind == "O":
        array = np.array([None if value is None else str(value) for value in array], dtype=object)
    return pa.array(array, pa.string())


def write_csv(batches: Iterable[Any], stream: IO[bytes], header: bool = True) -> None:
    """Write CSV; floats get the fewest digits that read back as the same bits."""
    options = pyarrow.csv.WriteOptions(include_header=False)
    for batch in batches:
        if header:
            stream.write((",".join(batch.schema.names) + "\n").encode())
            header = False
        pyarrow.csv.write_csv(batch, stream, options)


def write_jsonl(batches: Iterable[Any], stream: IO[bytes]) -> None:
    """Write one JSON object per line, floats as in `write_csv`."""
    for batch in batches:
        texts = [_json_texts(column) for column in batch.columns]
        keys = [json.dumps(name) + ": " for name in batch.schema.names]
        for row in zip(*texts, strict=True):
            line = ", ".join(key + text for key, text in zip(keys, row, strict=True))
            stream.write(f"{{{line}}}\n".encode())


def _json_texts(column: Any) -> list[str]:
    texts = pyarrow.compute.cast(column, pa.string()).to_pylist()
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return ["null" if text is None else text for text in texts]
    return [json.dumps(text) for text in texts]


def _write_csv_file(batches: Batches, path: Path) -> None:
    with path.open("wb") as stream:
        write_csv(batches(), stream)


def _write_jsonl_file(batches: Batches, path: Path) -> None:
    with path.open("wb") as stream:
        write_jsonl(batches(), stream)


def write_parquet(
    batches: Batches, path: Path, describe: Callable[[], Mapping[str, str]] | None = None
) -> None:
    """Write a Parquet file; `describe` is asked at the end what to note in its footer."""
    rest = batches()
    first = next(rest)
    # Random mantissas do not repeat: a dictionary of floats only costs time.
    text = [field.name for field in first.schema if pa.types.is_string(field.type)]
    # Row numbers take next to no room as differences.
    steps = {name: "DELTA_BINARY_PACKED" for name in first.schema.names if name == "row"}
    with pyarrow.parquet.ParquetWriter(
        path, first.schema, use_dictionary=text, column_encoding=steps or None
    ) as writer:
        writer.write_batch(first)
        for batch in rest:
            writer.write_batch(batch)
        if describe is not None:
            writer.add_key_value_metadata(dict(describe()))


def _write_npz_file(batches: Batches, path: Path) -> None:
    """Write one column after the other, each block by block."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name in next(batches()).schema.names:
            kinds, rows = set(), 0
            for batch in batches():
                kinds.add(_as_numpy(batch.column(name)).dtype)
                rows += batch.num_rows
            dtype = np.result_type(*kinds)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False,
                          "shape": (rows,)}  # fmt: skip
                npy.write_array_header_1_0(stream, header)
                for batch in batches():
                    stream.write(_as_numpy(batch.column(name)).astype(dtype).tobytes())


def _as_numpy(column: Any) -> Array:
    whole = column.null_count == 0 or pa.types.is_floating(column.type)
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    if whole and values.dtype != object:
        return values
    texts = pyarrow.compute.cast(column, pa.string()).to_pylist()
    return np.array([text or "" for text in texts], dtype=np.str_)


#: Ending of the output to what writes it.
WRITERS: dict[str, Callable[[Batches, Path], None]] = {
    ".csv": _write_csv_file,
    ".parquet": write_parquet,
    ".npz": _write_npz_file,
    ".jsonl": _write_jsonl_file,
}


def check_output(out: Path) -> None:
    """Refuse a file that could not be written, before any work is done."""
    if out.suffix.lower() not in WRITERS:
        refuse_file(
            str(out), f"has the unknown ending {out.suffix!r}", f"known are {' '.join(WRITERS)}"
        )
    check_parent(out)
    if out.is_dir():
        refuse_file(str(out), "is a folder", "name a file")


def check_parent(out: Path) -> None:
    """Refuse an output in a folder that is not there."""
    if not out.parent.is_dir():
        problem = "is no folder" if out.parent.exists() else "is not there"
        refuse_file(str(out), f"the folder {out.parent} {problem}", "make it, or name another")


def check_apart(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse, before any work is done, to write over a file that is read, or into a dataset."""
    read = {path.resolve() for path in inputs}
    for out in outputs:
        place = out.resolve()
        if place in read:
            refuse_file(str(out), "is also read", "name another output")
        for folder in read.intersection(place.parents):
            refuse_file(str(out), f"lies in {folder}, which is read", "name another output")


def refuse_other(path: str, old: Mapping[str, Any], new: Mapping[str, Any], fix: str) -> None:
    """Refuse to go on with what was begun with something else; both as read from JSON."""
    other = [key for key in new if new[key] != old.get(key)]
    if other:
        refuse_file(path, f"was begun with other {', '.join(other)}", fix)


class Parts:
    """Finished chunks beside an output that is not whole yet.

    They lie in a hidden folder beside `out`, one Arrow file per chunk, each moved there when it is
    whole. A run that is killed leaves only that folder, from which the next can go on.
    """

    def __init__(self, out: Path, task: Mapping[str, Any], resume: bool) -> None:
        check_output(out)
        self.out, self.folder = out, out.with_name(f".{out.name}.parts")
        note = self.folder / "task.json"
        described = json.dumps(task, sort_keys=True)
        if resume and note.exists():
            refuse_other(
                str(out),
                json.loads(note.read_text(encoding="utf-8")),
                json.loads(described),
                "give the same ones, or leave out --resume to begin anew",
            )
        else:
            self.discard()
            self.folder.mkdir()
            with replacing(note) as path:
                path.write_text(described, encoding="utf-8")

    @property
    def finished(self) -> int:
        """Number of rows that need not be read again."""
        return self._files()[1]

    def _files(self) -> tuple[list[Path], int]:
        """Return the chunks that follow one another from the first, and where they end."""
        files, end = [], 0
        for path in sorted(self.folder.glob("*.arrow")):
            start, stop = (int(part) for part in path.stem.split("-"))
            if start != end:
                break
            files.append(path)
            end = stop
        return files, end

    def add(self, start: int, stop: int, batch: Any, dropped: Iterable[Dropped]) -> None:
        """Store one chunk."""
        stem = self.folder / f"{start:015d}-{stop:015d}"
        bad = [[drop.row, drop.id, drop.file, drop.reason] for drop in dropped]
        if bad:
            stem.with_suffix(".json").write_text(json.dumps(bad, default=str), encoding="utf-8")
        unfinished = stem.with_suffix(".unfinished")
        with (
            pa.OSFile(str(unfinished), "wb") as sink,
            pa.ipc.new_file(sink, batch.schema) as writer,
        ):
            writer.write_batch(batch)
        unfinished.replace(stem.with_suffix(".arrow"))

    def batches(self) -> Iterator[Any]:
        """Yield the chunks in order; those without rows only if there are no others."""
        for path in self._files()[0]:
            with pa.OSFile(str(path), "rb") as source, pa.ipc.open_file(source) as reader:
                yield reader.get_batch(0)

    def dropped(self) -> list[Dropped]:
        """Return the rows that were left out."""
        notes = (path.with_suffix(".json") for path in self._files()[0])
        return [
            Dropped(*values)
            for note in notes
            if note.exists()
            for values in json.loads(note.read_text(encoding="utf-8"))
        ]

    def finish(
        self, skipped: Path, rows: int, show: Callable[[int, int | None], None] = lambda *_: None
    ) -> list[Dropped]:
        """Put the output in its place, and what was left out in `skipped`; return the latter.

        `rows` is how many were read; `show` is told how many are written.
        """
        if self.finished != rows:
            refuse_file(
                str(self.out),
                f"{self.finished} of {rows} rows are left in {self.folder}",
                "let no other program change it, and run it again",
            )

        def batches() -> Iterator[Any]:
            done = 0
            for batch in self.batches():
                show(done, rows)
                yield batch
                done += batch.num_rows

        whole = self.folder / f"whole{self.out.suffix}"
        WRITERS[self.out.suffix.lower()](batches, whole)
        dropped = self.dropped()
        whole.replace(self.out)
        put_skipped(dropped, skipped)
        self.discard()
        return dropped

    def discard(self) -> None:
        """Remove the finished chunks."""
        shutil.rmtree(self.folder, ignore_errors=True)


def write_skipped(dropped: Iterable[Dropped], stream: IO[bytes]) -> None:
    """Write the rows that were left out, with the reasons."""
    rows = list(dropped)
    columns = [
        [drop.row for drop in rows],
        ["" if drop.id is None else str(drop.id) for drop in rows],
        [drop.file for drop in rows],
        [drop.reason for drop in rows],
    ]
    write_csv([pa.record_batch(columns, names=list(SKIPPED))], stream)


def put_skipped(dropped: Sequence[Dropped], path: Path) -> None:
    """Write the rows that were left out to `path`; if there are none, those of before go."""
    if dropped:
        with replacing(path) as temporary, temporary.open("wb") as stream:
            write_skipped(dropped, stream)
    else:
        remove_earlier(path, SKIPPED)


def remove_earlier(path: Path, columns: Sequence[str]) -> None:
    """Remove what an earlier run has written, a table of these columns, but no other file."""
    with suppress(PredictionFileError):  # what cannot be read is not ours
        if path.is_file() and columns_of(path) == list(columns):
            path.unlink()
