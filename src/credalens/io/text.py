"""Text tables, ``.csv``, ``.tsv`` and ``.txt``, parsed by pyarrow in blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._extras import require
from credalens.io.columns import assign_columns
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
from credalens.io.text_layout import TextLayout, find_layout, is_number, strip_comments

pa = require("pyarrow", "cli")
arrow_csv = require("pyarrow.csv", "cli")

#: Values per column from which the roles of the columns are inferred.
SAMPLE_ROWS = 1000


def _parse(text: bytes, layout: TextLayout, names: Sequence[str], types: dict[str, Any]) -> Any:
    """Return the columns in `types` of CSV text as an Arrow table."""
    return arrow_csv.read_csv(
        pa.BufferReader(text),
        # A block holds several lines, also of very many columns.
        read_options=arrow_csv.ReadOptions(
            column_names=names, block_size=max(1 << 20, 8 * (text.find(b"\n") + 1))
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=layout.separator, newlines_in_values=b'"' in text
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            strings_can_be_null=False,
            decimal_point=layout.decimal,
        ),
    )


def _layout(path: str, stream: ByteStream, options: ReadOptions) -> tuple[TextLayout, bytes]:
    """Return the layout of a table, and its first lines."""
    with ExitStack() as stack:
        head, whole = read_head(path, stream.open(stack))
    if not head.strip():
        raise_file_error(path, "is empty", "pass a file with one line per row")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise_file_error(path, "is UTF-16 text", "save it as UTF-8")
    tabs = options.format == "tsv" if path == "stdin" else format_suffix(path) == ".tsv"
    return find_layout(path, head, whole, tabs, options), head


class TextSource(Source):
    """A text table, compressed or not, or standard input: one model, one line per row.

    Separator, decimal mark, comments and header are inferred from the first lines. The text is cut
    into blocks of whole lines, and pyarrow parses each block with all threads. A block that pyarrow
    rejects is parsed again line by line, to report which row is invalid.
    """

    options = (*COLUMN_OPTIONS, "--header")

    def __init__(self, path: str, options: ReadOptions, stream: ByteStream | None = None) -> None:
        self.path = path
        self._stream = ByteStream(path) if stream is None else stream
        self._layout, self._head = _layout(path, self._stream, options)
        self._names = list(self._layout.names)
        self._positions = {name: i for i, name in enumerate(self._names)}
        self._roles = assign_columns(path, self._names, options, self._sample())
        self.n_classes = len(self._roles.classes)
        self.class_names = self._roles.classes if self._layout.header else None
        titles = " ".join(self._layout.titles)
        self.notes = (f"the text above the table is left out: {titles[:100]}",) if titles else ()
        self.notes += self._roles.notes
        self.has_labels = self._roles.label is not None
        # Without a header, the identifiers were selected by their position.
        self.id_name = self._roles.id if self._layout.header or self._roles.id is None else "id"

    @classmethod
    def column_names(cls, path: str) -> list[str]:
        """Return the fields of the first line."""
        return list(_layout(path, ByteStream(path), ReadOptions(header=True))[0].names)

    @classmethod
    def read_columns(
        cls, path: str, names: Sequence[str], header: Sequence[str] | None = None
    ) -> list[Array]:
        """Return columns as strings; `header` names the columns of a file without a header."""
        stream = ByteStream(path)
        layout, _ = _layout(path, stream, ReadOptions(header=header is None))
        with ExitStack() as stack:
            text = read_whole(path, stream.open(stack))
        types = dict.fromkeys(names, pa.string())
        table = _parse(_rows_of(text, layout), layout, header or layout.names, types)
        return [table[name].to_numpy() for name in names]

    def _sample(self) -> dict[str, Array]:
        """Return the values of each column in the first rows, text if it has no numbers."""
        text = _rows_of(self._head, self._layout).decode("utf-8", "replace")
        rows = self._layout.parse(text)[:SAMPLE_ROWS]
        if len(rows) > 2 and not self._head.endswith(b"\n"):
            rows = rows[:-1]  # may be incomplete
        rows = [row for row in rows if len(row) == len(self._names)] or [[""] * len(self._names)]
        found: dict[str, Array] = {}
        for name, texts in zip(self._names, zip(*rows, strict=True), strict=True):
            numbers = [self._layout.number(text) for text in texts]
            if any(map(is_number, numbers)) or not any(texts):
                found[name] = np.array([float(n) if is_number(n) else math.nan for n in numbers])
            else:
                found[name] = np.array(texts, dtype=object)
        return found

    def raw_blocks(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield one block per block of text."""
        yield from slice_blocks(self._blocks(), start, stop)

    def _blocks(self) -> Iterator[Block]:
        row = line = 0
        with ExitStack() as stack:
            file = self._stream.open(stack)
            # The constructor has read the head of a stream.
            pending = b"" if self._stream.can_reopen else self._head
            first = True
            for text in whole_lines(self.path, file, pending, quotes=True):
                rows = _rows_of(text, self._layout, first)
                block = self._parse(rows)
                if b'"' in rows and _count_lines(rows) != len(block):
                    self._check_quotes(rows, text, line, row)
                first, line = False, line + text.count(b"\n")
                if not len(block):
                    continue
                row += len(block)
                if self.expected_rows is None and self._stream.size:
                    self.expected_rows = math.ceil(self._stream.size / (len(text) / len(block)))
                yield block
        if not row:
            raise_file_error(self.path, "has a header but no rows", "pass at least one row")

    def _parse(self, text: bytes) -> Block:
        roles = self._roles
        types = dict.fromkeys(roles.classes, pa.float64())
        types |= dict.fromkeys(roles.names[len(roles.classes) :], pa.string())
        errors: dict[int, str] = {}
        if not text.strip():
            return Block(np.empty((0, 1, self.n_classes)))
        try:
            table = _parse(text, self._layout, self._names, types)
            columns: dict[Any, Array] = {name: table[name].to_numpy() for name in types}
        except pa.ArrowInvalid:
            columns, errors = self._parse_lines(text)
        values = np.stack([columns[name] for name in roles.classes], axis=1)[:, None]
        return Block(values, columns.get(roles.label), columns.get(roles.id), errors)

    def _check_quotes(self, rows: bytes, text: bytes, line: int, row: int) -> None:
        """Raise for a quote that makes several rows one, which is valid CSV.

        It is such a quote if the row is complete at the end of the line. `line` and `row` are the
        numbers of those before the block `text`, `rows` are its lines without the header.
        """
        lines = rows.decode("utf-8", "replace").splitlines(keepends=True)
        reader = self._layout.reader(lines)
        start = 0
        for _ in reader:
            first, *others = lines[start : reader.line_num]
            start = reader.line_num
            if not first.strip():
                continue
            whole = self._layout.parse(first.replace('"', ""))
            more = "".join(others).replace('"', "").strip()
            if more and whole and self._line_error(whole[0]) is None:
                number = line + text.count(b"\n", 0, text.find(first.rstrip("\r\n").encode())) + 1
                raise_file_error(
                    self.path,
                    f"line {number} opens a quote that ends on line {number + len(others)}, so "
                    f"that {1 + len(others)} rows would be read as one",
                    "remove the quote, or double it",
                    row=row,
                )
            row += 1

    def _parse_lines(self, text: bytes) -> tuple[dict[Any, Array], dict[int, str]]:
        """Parse line by line; an invalid line becomes a row of NaN with an error."""
        rows = self._layout.parse(text.decode("utf-8", "replace"))
        errors = {i: error for i, fields in enumerate(rows) if (error := self._line_error(fields))}
        columns: dict[Any, Array] = {}
        for name in self._roles.names:
            k = self._positions[name]
            texts = [fields[k] if k < len(fields) else "" for fields in rows]
            if name in (self._roles.label, self._roles.id):
                columns[name] = np.array(texts, dtype=object)
            else:
                numbers = map(self._layout.number, texts)
                columns[name] = np.array([
                    float(text) if i not in errors and text.strip() else math.nan
                    for i, text in enumerate(numbers)
                ])  # fmt: skip
        return columns, errors

    def _line_error(self, fields: list[str]) -> str | None:
        if len(fields) != len(self._names):
            return f"has {len(fields)} fields instead of {len(self._names)}"
        for name in self._roles.classes:
            text = fields[self._positions[name]]
            if text.strip() and not is_number(self._layout.number(text)):
                return (
                    f"column {name!r} is {text[:40]!r}, not a number; fix it, or name the class "
                    "columns by --columns or this one by --id-column"
                )
        return None


def _count_lines(text: bytes) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


def _rows_of(text: bytes, layout: TextLayout, first: bool = True) -> bytes:
    """Return text without comments and, in the first block, without titles and header."""
    if first:
        text = text.removeprefix(b"\xef\xbb\xbf")
    if layout.comments:
        text = strip_comments(text)
    for _ in range(layout.skip_lines if first else 0):
        text = text.lstrip(b"\r\n")
        text = text[_end_of_line(text) :]
    return text


def _end_of_line(text: bytes) -> int:
    """Return the end of the first line, which may contain line breaks within quotes."""
    end = 0
    while True:
        at = text.find(b"\n", end)
        if at < 0:
            return len(text)
        end = at + 1
        if text.count(b'"', 0, end) % 2 == 0:
            return end
