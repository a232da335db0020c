"""JSON lines: one record, or one list of numbers, per line; also ``.json`` with a list of these."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import IO, Any

import numpy as np

from credalens._backend import Array
from credalens._extras import require
from credalens._memory import max_memory
from credalens._row_kinds import row_kind
from credalens.io.arrow_rows import ArrowRows, read_columns
from credalens.io.limits import read_whole
from credalens.io.lines import read_head, whole_lines
from credalens.io.source import (
    COLUMN_OPTIONS,
    Block,
    ReadOptions,
    Source,
    raise_file_error,
    slice_blocks,
)
from credalens.io.streams import ByteStream, format_suffix

pa = require("pyarrow", "cli")
arrow_json = require("pyarrow.json", "cli")

#: The name of the only column of lines that are lists.
LISTS = "probs"
#: Bytes in memory for each byte of a ``.json`` file, which is parsed as a whole.
JSON_EXPANSION = 8
FIX = "write one JSON object per line"


def _table(text: bytes, schema: Any = None) -> Any:
    """Return lines of records, or of lists, as an Arrow table."""
    lines = text.lstrip()
    if lines.startswith(b"["):
        text = b"".join(
            b'{"%s": %s}\n' % (LISTS.encode(), line) for line in text.splitlines() if line.strip()
        )
    ignored = "infer" if schema is None else "ignore"
    return arrow_json.read_json(
        pa.BufferReader(text),
        # One block: a record must not exceed the default size of a block.
        read_options=arrow_json.ReadOptions(block_size=len(text) + 1),
        parse_options=arrow_json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior=ignored
        ),
    )


def _open(path: str, stream: ByteStream, stack: ExitStack) -> IO[bytes]:
    """Open a file as JSON lines; the list in a ``.json`` file becomes lines."""
    file = stream.open(stack)
    if format_suffix(path) != ".json":
        return file
    most = max_memory() // JSON_EXPANSION
    data = file.read(most + 1)
    if len(data) > most:
        fix = "write it as .jsonl, or pass a larger --max-memory"
        raise_file_error(path, f"has more than {most} bytes", fix)
    try:
        found = json.loads(data)
    except ValueError:
        return io.BytesIO(data)  # JSON lines under another name
    rows = _rows_of_object(path, found) if isinstance(found, dict) else found
    return io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())


def _rows_of_object(path: str, found: dict[str, Any]) -> list[Any]:
    """Return the rows of one object, which has a list per column, or a list or object per row."""
    inner: list[str] | None = None
    columns = {key: value for key, value in found.items() if isinstance(value, list)}
    if found and all(isinstance(value, dict) for value in found.values()):
        inner = list(next(iter(found.values())))
        columns = {key: [value.get(name) for name in inner] for key, value in found.items()}
    if not columns or len({len(value) for value in columns.values()}) > 1:
        raise_file_error(path, "contains one object", "write a list of objects, one per row")
    if not _are_rows(columns):
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if inner is None:
        return [{"id": key, LISTS: value} for key, value in columns.items()]
    return [{"id": key, **dict(zip(inner, row, strict=True))} for key, row in columns.items()]


def _are_rows(columns: dict[str, list[Any]]) -> bool:
    """Return whether each list is a distribution, so that the names are identifiers of rows."""
    try:
        values = np.array(list(columns.values()), dtype=np.float64)
    except (ValueError, TypeError):
        return False
    return values.ndim == 2 and row_kind(values) == "distributions" != row_kind(values.T)


class JsonLinesSource(Source):
    """Records with a list, or an object, of predictions, or lines of lists; see `ArrowRows`."""

    options = (*COLUMN_OPTIONS, "--key")

    def __init__(self, path: str, options: ReadOptions, stream: ByteStream | None = None) -> None:
        self.path = path
        self._stream = ByteStream(path) if stream is None else stream
        self._head, sample = _sample(path, self._stream)
        self._rows = ArrowRows(path, sample, options)
        self._rows.describe(self)
        roles, fields = self._rows.roles, sample.schema.field
        self._schema = pa.schema([
            pa.field(name, (_double if name in roles.classes else _known)(fields(name).type))
            for name in roles.names
        ])  # fmt: skip

    @classmethod
    def column_names(cls, path: str) -> list[str]:
        """Return the fields of the first records."""
        return list(_sample(path, ByteStream(path))[1].schema.names)

    @classmethod
    def read_columns(cls, path: str, names: Sequence[str]) -> list[Array]:
        """Return fields of all records."""
        with ExitStack() as stack:
            table = _table(read_whole(path, _open(path, ByteStream(path), stack)))
        return read_columns(table, names)

    def raw_blocks(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield one block per block of lines."""
        yield from slice_blocks(self._blocks(), start, stop)

    def _blocks(self) -> Iterator[Block]:
        with ExitStack() as stack:
            file = _open(self.path, self._stream, stack)
            pending = b"" if self._stream.can_reopen else self._head
            row = 0
            for text in whole_lines(self.path, file, pending, quotes=False):
                block = self._parse(text)
                row += len(block)
                if len(block):
                    yield block
        if not row:
            raise_file_error(self.path, "has no rows", "write at least one")

    def _parse(self, text: bytes) -> Block:
        try:
            return self._rows.block(_table(text, self._schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return self._parse_lines(text)

    def _parse_lines(self, text: bytes) -> Block:
        """Parse line by line; an invalid line becomes a row of NaN with an error."""
        lines = [line for line in text.splitlines() if line.strip()]
        tables, errors = [], dict[int, str]()
        for i, line in enumerate(lines):
            try:
                tables.append(_table(line + b"\n", self._schema))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                errors[i] = f"is not a valid record ({str(error).splitlines()[0][:80]}); {FIX}"
                tables.append(self._schema.empty_table())
        block = self._rows.block(pa.concat_tables(tables))
        valid = np.array([i not in errors for i in range(len(lines))], dtype=bool)
        values = np.full((len(lines), *block.values.shape[1:]), np.nan)
        values[valid] = block.values
        positions = np.flatnonzero(valid)
        errors.update({int(positions[i]): error for i, error in block.errors.items()})
        return Block(values, _spread(block.labels, valid), _spread(block.ids, valid), errors)


def _spread(values: Array | None, valid: Array) -> Array | None:
    """Return values of the valid rows with ``None`` for the others."""
    if values is None:
        return None
    spread = np.full((len(valid), *values.shape[1:]), None, dtype=object)
    spread[valid] = values
    return spread


def _double(kind: Any) -> Any:
    """Return a type whose numbers are double precision: the first rows may contain integers."""
    if pa.types.is_list(kind):
        return pa.list_(_double(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _double(field.type)) for field in kind])
    return pa.float64() if pa.types.is_integer(kind) or pa.types.is_null(kind) else kind


def _known(kind: Any) -> Any:
    """Return the type of labels or identifiers, text if all of the first are missing."""
    return pa.string() if pa.types.is_null(kind) else kind


def _sample(path: str, stream: ByteStream) -> tuple[bytes, Any]:
    """Return the first bytes of a file, and the first records as a table."""
    with ExitStack() as stack:
        head, whole = read_head(path, _open(path, stream, stack))
    text = head if whole else head[: head.rfind(b"\n") + 1]
    if not text.strip():
        raise_file_error(path, "is empty", FIX)
    try:
        return head, _table(text)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return head, _first_valid(path, text)


def _first_valid(path: str, text: bytes) -> Any:
    """Return the first line that is a record, if the lines together are not a table."""
    problem = "has no line with a JSON object or a list of numbers"
    for line in text.splitlines():
        if line.strip():
            try:
                return _table(line + b"\n")
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                if line.lstrip().startswith((b"{", b"[")):
                    problem = f"its first record is not a row of a table ({error})"
                    return raise_file_error(path, problem, "write values of one type in each list")
    return raise_file_error(path, problem, FIX)
