"""Tables of scores as CSV, JSON lines, Parquet and ``.npz``, written batch by batch."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from credalens._backend import Array
from credalens._extras import require

pa = require("pyarrow", "cli")
arrow_compute = require("pyarrow.compute", "cli")
arrow_csv = require("pyarrow.csv", "cli")
arrow_parquet = require("pyarrow.parquet", "cli")

#: Returns an iterator over the record batches of a table; can be called several times.
Batches = Callable[[], Iterator[Any]]
#: Integers that are different in every row, so that a dictionary of them saves nothing.
NUMBERS = ("row", "id", "rank")
#: Text that spreadsheets take for a formula, also after spaces and in full width, and numbers.
FORMULA = r"^[\s\x00]*[=+\-@\t\r\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
NUMBER = r"^\s*[+\-]?(\d+\.?\d*|\.\d+)([eE][+\-]?\d+)?\s*$"
#: Characters that are escaped in JSON: controls, quotes, backslashes, and all but ASCII.
ESCAPED = r"[^ !#-\[\]-~]"


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
        elif mask is None and array.dtype.kind in "fiu" and array.dtype.isnative:
            arrays.append(_numbers(array))
        else:
            arrays.append(pa.array(array, mask=mask))
    return pa.record_batch(arrays, names=list(columns))


def _numbers(array: Array) -> Any:
    """Return an Arrow array that shares the memory of numbers; `pyarrow.array` imports pandas."""
    kind = pa.from_numpy_dtype(array.dtype)
    return pa.Array.from_buffers(
        kind, len(array), [None, pa.py_buffer(np.ascontiguousarray(array))]
    )


def _strings(array: Array, mask: Array | None = None) -> Any:
    if array.dtype.kind == "S":
        array = array.astype(np.str_)
    try:
        return pa.array(array, pa.string(), mask=mask)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # objects that are not strings
        texts = np.array([None if value is None else str(value) for value in array], dtype=object)
        return pa.array(texts, pa.string(), mask=mask)


def write_csv(batches: Iterable[Any], stream: IO[bytes], header: bool = True) -> None:
    """Write CSV; floats have the fewest digits that are read back as the same bits.

    Text that a spreadsheet would take for a formula is written after an apostrophe, unless the
    environment variable ``CREDALENS_SAFE_CSV`` is 0.
    """
    options = arrow_csv.WriteOptions(include_header=False)
    for batch in batches:
        if header:
            stream.write((",".join(batch.schema.names) + "\n").encode())
            header = False
        arrow_csv.write_csv(_without_formulas(batch) if safe_csv() else batch, stream, options)


def safe_csv() -> bool:
    """Return whether text in CSV must not be a formula of spreadsheets."""
    return os.environ.get("CREDALENS_SAFE_CSV") != "0"


def _without_formulas(batch: Any) -> Any:
    """Return a batch with an apostrophe before each text that is a formula, but not a number."""
    columns = list(batch.columns)
    for i, column in enumerate(columns):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        formulas = arrow_compute.match_substring_regex(column, FORMULA)
        if arrow_compute.any(formulas).as_py():
            numbers = arrow_compute.match_substring_regex(column, NUMBER)
            formulas = arrow_compute.and_not(formulas, numbers)
            marked = arrow_compute.binary_join_element_wise("'", column, "")
            columns[i] = arrow_compute.if_else(formulas, marked, column)
    return pa.record_batch(columns, schema=batch.schema)


def write_jsonl(batches: Iterable[Any], stream: IO[bytes]) -> None:
    """Write one JSON object per line, floats as in `write_csv`."""
    for batch in batches:
        if batch.num_rows:
            stream.write(_json_lines(batch))


def _json_lines(batch: Any) -> Any:
    """Return the buffer of all lines: columns of text are joined, with the names between them."""
    pieces: list[Any] = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        between = f"{', ' if pieces else '{'}{json.dumps(name)}: "
        pieces += [_large_text(between), _json_texts(column)]
    lines = _joined(*pieces, _large_text("}\n"))
    _, offsets, text = lines.buffers()
    bounds = np.frombuffer(offsets, np.int64, len(lines) + 1, 8 * lines.offset)
    return text.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))


def _large_text(text: str) -> Any:
    return pa.scalar(text, pa.large_string())


def _joined(*pieces: Any) -> Any:
    return arrow_compute.binary_join_element_wise(*pieces, _large_text(""))


def _json_texts(column: Any) -> Any:
    kind = column.type
    texts = column.cast(pa.large_string())
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        texts = _quoted(texts)
    return texts.fill_null("null")


def _quoted(texts: Any) -> Any:
    escaped = arrow_compute.match_substring_regex(texts, ESCAPED)
    if not arrow_compute.any(escaped).as_py():
        return _joined(_large_text('"'), texts, _large_text('"'))
    coded = texts.dictionary_encode()
    known = pa.array(map(json.dumps, coded.dictionary.to_pylist()), pa.large_string())
    return known.take(coded.indices)


def parquet_options(schema: Any) -> dict[str, Any]:
    """Return the encodings of the columns of a table of scores."""
    # A dictionary does not compress floats, it only takes time.
    coded = [
        field.name
        for field in schema
        if pa.types.is_string(field.type)
        or (pa.types.is_integer(field.type) and field.name not in NUMBERS)
    ]
    # Differences of row numbers take almost no space.
    delta = {name: "DELTA_BINARY_PACKED" for name in schema.names if name == "row"}
    return {"use_dictionary": coded, "column_encoding": delta or None, "write_page_checksum": True}


def write_parquet(
    batches: Batches, path: Any, metadata: Callable[[], Mapping[str, str]] | None = None
) -> None:
    """Write a Parquet file; `metadata` is called after the last batch and goes into the footer."""
    rest = batches()
    first = next(rest)
    with arrow_parquet.ParquetWriter(path, first.schema, **parquet_options(first.schema)) as writer:
        writer.write_batch(first)
        for batch in rest:
            writer.write_batch(batch)
        if metadata is not None:
            writer.add_key_value_metadata(dict(metadata()))


def write_npz(batches: Batches, path: Path) -> None:
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
    ".npz": write_npz,
    ".jsonl": _to_file(write_jsonl),
}
