"""Tables as text: ``.csv`` and ``.tsv``, parsed by pyarrow in blocks; and the columns of tables."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.csv

from credalens._arrays import Array
from credalens.datasets.files.source import (
    CHOICES,
    INDEX,
    Block,
    Reading,
    Source,
    cut,
    reading,
    refuse_file,
    so_called,
)

#: Bytes of text parsed at once, cut at the end of a line.
TEXT_BLOCK = 1 << 23


@dataclass(frozen=True)
class Roles:
    """Which columns hold what."""

    classes: tuple[str, ...]
    label: str | None
    id: str | None


def assign(
    path: str, names: Sequence[str], how: Reading, named: bool, index: Sequence[str] = ()
) -> Roles:
    """Say which columns hold classes, labels and identifiers; `named`: the names are the file's.

    `index` are columns that pandas says are its index, besides those that are called so.
    """
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        refuse_file(path, f"has two columns {twice!r}", "rename one, or use --no-header")

    def find(wanted: str, option: str) -> str:
        if wanted in names and named:
            return wanted
        if wanted.isdecimal() and int(wanted) < len(names):
            return names[int(wanted)]
        listed = ", ".join(names) if named else f"0 to {len(names) - 1}"
        return refuse_file(
            path, f"has no column {wanted!r} ({option})", f"its columns are {listed}"
        )

    labels = so_called(names, "label") if named else []
    ids = so_called(names, "id", *index, *INDEX) if named else []
    label = next(iter(labels), None) if how.label is None else find(how.label, "--label-column")
    identifier = next(iter(ids), None) if how.id is None else find(how.id, "--id-column")
    if how.columns is None:
        others = {label, identifier, *labels, *ids}
        classes = tuple(name for name in names if name not in others)
    else:
        classes = tuple(find(name, "--columns") for name in how.columns)
    if not classes:
        refuse_file(path, "has no class columns", "name them by --columns")
    return Roles(classes, label, identifier)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _looks_like_header(
    path: str, fields: Sequence[str], below: Callable[[], Sequence[str]], how: Reading
) -> bool:
    """Tell class names from a row, by the class columns of the first line and the one below it.

    Names are text, or count 0,1,2,... or 1,2,3,... over other numbers. If the line below is in
    whole numbers as well, they are two rows, of hard predictions or of counts; unless only the
    second is a hard prediction. 0,1 may be both, which is said.
    """
    if so_called(fields, "id", "label"):
        return True
    names = _class_fields(fields, how)
    if not all(_is_number(text) for text in names):
        return True
    if not (_count_up(names) or _count_up(fields)):
        return False
    values = _class_fields(below(), how)
    whole = all(re.fullmatch(r"[-+]?\d+", text) for text in values)
    header = not whole or (_is_hard(values) and not _is_hard(names))
    if _is_hard(names) and values:
        warnings.warn(
            f"{path}: its first line, {','.join(fields)}, is taken for a "
            f"{'header' if header else 'row'}; say --header or --no-header",
            stacklevel=2,
        )
    return header


def _is_hard(fields: Sequence[str]) -> bool:
    """Tell whether one class has 1 and the others 0."""
    return set(fields) <= {"0", "1"} and list(fields).count("1") == 1


def _class_fields(fields: Sequence[str], how: Reading) -> list[str]:
    """Return the fields of classes, as far as they are said by position: names may not be there."""

    def places(*wanted: str | None) -> set[int]:
        return {int(text) for text in wanted if text is not None and text.isdecimal()}

    chosen = places(*(how.columns or ()))
    if not chosen:
        chosen = set(range(len(fields))) - places(how.label, how.id)
    return [text for i, text in enumerate(fields) if i in chosen]


def _count_up(fields: Sequence[str]) -> bool:
    """Tell whether several fields are 0,1,2,... or 1,2,3,..., written so."""
    n = len(fields)
    return n > 1 and any(
        list(fields) == [str(i) for i in range(first, first + n)] for first in (0, 1)
    )


class TextSource(Source):
    """A ``.csv`` or ``.tsv`` file, or standard input: one model, one line per row.

    Lines are cut into blocks here and each block is parsed by pyarrow on all threads. Only a block
    that it refuses is parsed again line by line, to say which row is bad, and why.
    """

    n_members = 1
    options = (*CHOICES, "--header")

    def __init__(
        self, path: str, how: Reading, delimiter: str = ",", stream: IO[bytes] | None = None
    ) -> None:
        self.path, self._delimiter, self._stream = path, delimiter, stream
        with reading(path):
            size = os.path.getsize(path) if stream is None else 0
            with ExitStack() as stack:
                file = stream or stack.enter_context(open(path, "rb"))
                self._first_lines = self._read_first_lines(file)
            first, second = self._first_lines
            fields = self._fields(first)
            if not fields:
                refuse_file(path, "is empty", "pass a file with a line for each row")
            header = how.header
            if header is None:
                header = _looks_like_header(
                    path, fields, lambda: self._fields(second, "replace"), how
                )
            self._skip_first = header
            self._names = fields if header else [str(i) for i in range(len(fields))]
            self._roles = assign(path, self._names, how, header)
            self._check_separator(self._fields(second or first, "replace"))
        self.n_classes = len(self._roles.classes)
        self.class_names = self._roles.classes if header else None
        self.has_labels = self._roles.label is not None
        # A column without a name is one of identifiers because somebody said so.
        self.id_name = self._roles.id if header or self._roles.id is None else "id"
        self._size = size

    def _fields(self, line: bytes, errors: str = "strict") -> list[str]:
        text = line.decode("utf-8-sig", errors)
        row = next(csv.reader([text], delimiter=self._delimiter), [])
        return [field.strip() for field in row]

    def _check_separator(self, fields: Sequence[str]) -> None:
        """Refuse a table that is separated by something else, seen from its first row."""
        if len(fields) == len(self._names):
            fields = [fields[self._names.index(name)] for name in self._roles.classes]
        text = "".join(fields)
        other = next((mark for mark in (";", "\t", "|") if mark in text), None)
        if other is not None:
            fix = "name it .tsv" if other == "\t" else "write it with commas, or tabs as .tsv"
            refuse_file(self.path, f"its columns are separated by {other!r}", fix)

    def pieces(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield one block for each stretch of text."""
        yield from cut(self._blocks(), start, stop)

    def _blocks(self) -> Iterator[Block]:
        with ExitStack() as stack:
            file = self._stream or stack.enter_context(open(self.path, "rb"))
            # The first lines were taken from a stream already, but not from a file opened anew.
            if self._stream is None:
                self._read_first_lines(file)
            rest = b"".join(self._first_lines[self._skip_first :])
            row = 0
            for text in self._stretches(file, rest):
                block = self._parse(text)
                if not len(block):
                    continue
                row += len(block)
                if self.expected_rows is None and self._size:
                    self.expected_rows = math.ceil(self._size / (len(text) / len(block)))
                yield block
            if not row:
                refuse_file(self.path, "has a header but no rows", "pass at least one row")

    def _read_first_lines(self, file: IO[bytes]) -> tuple[bytes, bytes]:
        """Return the first line that is not blank and the next one, empty if there is none.

        A line may be broken within quotes.
        """
        return self._next_line(file), self._next_line(file)

    def _next_line(self, file: IO[bytes]) -> bytes:
        taken = b""

        def lines() -> Iterator[str]:
            nonlocal taken
            for line in iter(lambda: file.readline(TEXT_BLOCK), b""):
                taken += line
                if len(taken) >= TEXT_BLOCK:
                    self._refuse_long_line()
                yield line.decode("utf-8-sig", "replace")

        for _ in csv.reader(lines(), delimiter=self._delimiter):
            if taken.strip():
                break
            taken = b""
        return taken

    def _stretches(self, file: IO[bytes], begun: bytes) -> Iterator[bytes]:
        """Cut a file into stretches of whole lines."""
        pending = begun
        while data := file.read(TEXT_BLOCK):
            pending += data
            end = _end_of_rows(pending)
            if end:
                yield pending[:end]
                pending = pending[end:]
            elif len(pending) > 2 * TEXT_BLOCK:
                self._refuse_long_line()
        if pending.strip():
            yield pending

    def _refuse_long_line(self) -> NoReturn:
        refuse_file(self.path, f"has a line of more than {TEXT_BLOCK} bytes", "is it text?")

    def _parse(self, text: bytes) -> Block:
        roles = self._roles
        types = dict.fromkeys(roles.classes, pa.float64())
        types.update({name: pa.string() for name in (roles.label, roles.id) if name is not None})
        try:
            table = pyarrow.csv.read_csv(
                pa.BufferReader(text),
                read_options=pyarrow.csv.ReadOptions(column_names=self._names),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=b'"' in text
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=types, include_columns=list(types), strings_can_be_null=False
                ),
            )
        except pa.ArrowInvalid:
            return self._parse_lines(text)
        values = np.empty((table.num_rows, 1, len(roles.classes)))
        for k, name in enumerate(roles.classes):
            values[:, 0, k] = table[name].to_numpy()
        return Block(
            values,
            None if roles.label is None else table[roles.label].to_numpy(),
            None if roles.id is None else table[roles.id].to_numpy(),
        )

    def _parse_lines(self, text: bytes) -> Block:
        """Parse line by line; a bad line becomes a row of NaN with a fault."""
        roles = self._roles
        wanted = [self._names.index(name) for name in roles.classes]
        lines = csv.reader(
            io.StringIO(text.decode("utf-8", "replace"), newline=""), delimiter=self._delimiter
        )
        rows: list[list[float]] = []
        faults: dict[int, str] = {}
        kept: list[list[str]] = []
        for fields in lines:
            if not fields:
                continue
            why = self._fault(fields, wanted)
            if why is not None:
                faults[len(rows)] = why
            bad = why is not None
            rows.append([math.nan if bad else _value(fields[i]) for i in wanted])
            kept.append(fields + [""] * (len(self._names) - len(fields)))
        values = np.array(rows, dtype=np.float64).reshape(len(rows), 1, len(wanted))
        return Block(
            values, self._texts(kept, roles.label), self._texts(kept, roles.id), faults=faults
        )

    def _texts(self, lines: list[list[str]], name: str | None) -> Array | None:
        if name is None:
            return None
        at = self._names.index(name)
        return np.array([fields[at] for fields in lines], dtype=object)

    def _fault(self, fields: list[str], wanted: list[int]) -> str | None:
        if len(fields) != len(self._names):
            return f"has {len(fields)} fields instead of {len(self._names)}"
        for i in wanted:
            if fields[i].strip() and not _is_number(fields[i]):
                return (
                    f"column {self._names[i]!r} is {fields[i][:40]!r}, not a number; mend it, or "
                    "name the class columns by --columns or this one by --id-column"
                )
        return None


def _end_of_rows(text: bytes) -> int:
    """Return where the last whole row ends: at the end of a line, but of none within quotes."""
    end = last = text.rfind(b"\n") + 1
    odd = text.count(b'"', 0, end) % 2
    while end and odd:
        start = text.rfind(b"\n", 0, end - 1) + 1
        odd ^= text.count(b'"', start, end) % 2
        end = start
    # If every line seems to end within quotes, a quote stands in a field that is not quoted.
    return end if end or len(text) <= TEXT_BLOCK else last


def _value(text: str) -> float:
    return float(text) if text.strip() else math.nan
