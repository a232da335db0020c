"""Separator, decimal mark, comments and header of a text table, from its first lines."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from credalens.io.columns import ID_NAMES, LABEL_NAMES, find_known
from credalens.io.source import ReadOptions

#: Separators that are looked for; commas first, unless the file extension is ``.tsv``.
SEPARATORS = (",", ";", "\t", "|", " ")
#: Lines that are inspected.
INSPECTED_LINES = 200


def is_number(text: str) -> bool:
    """Return whether text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _is_decimal_comma(text: str) -> bool:
    return re.fullmatch(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*", text) is not None


@dataclass(frozen=True)
class TextLayout:
    """How to split a text table into columns."""

    separator: str
    #: ``"."`` or ``","``.
    decimal: str
    #: Whether lines that start with ``#`` are comments.
    comments: bool
    #: Names of the columns; their positions if there is no header.
    names: tuple[str, ...]
    #: Whether the first line, or the comment above it, is a header.
    header: bool
    #: Number of lines to skip: titles, and a header that is not a comment.
    skip_lines: int
    #: Text above the table.
    titles: tuple[str, ...] = ()

    def parse(self, text: str) -> list[list[str]]:
        """Return the fields of each line that is not blank."""
        return _split(text, self.separator)

    def reader(self, lines: Iterable[str]) -> Any:
        """Return the reader of the module csv for lines of the table."""
        return _reader(lines, self.separator)

    def number(self, text: str) -> str:
        """Return a number with a decimal point."""
        return text.replace(",", ".") if self.decimal == "," else text


def find_layout(
    path: str, head: bytes, whole: bool, tabs: bool, options: ReadOptions
) -> TextLayout:
    """Return the layout of a table that starts with `head`.

    `whole` says whether `head` is the whole file, so that its last line is complete. `tabs` prefers
    tabs to commas.
    """
    text = head.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not whole and len(lines) > 2:
        lines = lines[:-1]
    lines = lines[:INSPECTED_LINES]
    plain = [line for line in lines if line.strip() and not line.startswith("#")]
    separator, decimal = _separator(plain or lines, tabs)
    comments = _has_comments(lines, plain, separator)
    used = plain if comments else [line for line in lines if line.strip()]
    rows = _split("\n".join(used), separator)
    titles = _titles(rows, separator)
    first, second = (rows[i] if len(rows) > i else [] for i in (len(titles), len(titles) + 1))
    above = _header_comment(lines, first, separator) if comments else None
    if options.header is None and above is not None:
        return TextLayout(separator, decimal, comments, tuple(above), True, 0)
    header = options.header
    if header is None:
        header = _is_header(path, first, second, decimal, options)
    names = first if header else [str(i) for i in range(len(first))]
    if header and len(second) == len(first) + 1:
        # R and pandas write no name above those of the rows; others end lines with a separator.
        names = ["", *first] if second[-1] else [*first, ""]
    skipped = len(titles) + header
    return TextLayout(separator, decimal, comments, tuple(names), header, skipped, tuple(titles))


def _titles(rows: Sequence[Sequence[str]], separator: str) -> list[str]:
    """Return the lines above a table: text without separators, or the hint ``sep=;`` of Excel."""
    widths = [len(row) for row in rows]
    if not rows or max(set(widths), key=widths.count) == 1:
        return []
    found: list[str] = []
    for row in rows:
        if len(row) > 1 and "".join(row).lower() != "sep=":
            break
        found.append(separator.join(row))
    return found


def strip_comments(text: bytes) -> bytes:
    """Return text without the lines that start with ``#``."""
    if b"#" in text and (b"\n#" in text or text.startswith((b"#", b"\xef\xbb\xbf#"))):
        return re.sub(rb"(?m)^(\xef\xbb\xbf)?#[^\n]*\n?", b"", text)
    return text


def _reader(lines: Iterable[str], separator: str) -> Any:
    return csv.reader(lines, delimiter=separator, skipinitialspace=separator == " ")


def _split(text: str, separator: str) -> list[list[str]]:
    rows = _reader(io.StringIO(text, newline=""), separator)
    return [
        [field.strip() for field in row] for row in rows if len(row) > 1 or "".join(row).strip()
    ]


def _separator(lines: Sequence[str], tabs: bool) -> tuple[str, str]:
    """Return the separator that splits all lines into the most numbers, and the decimal mark."""
    text = "\n".join(line.strip(" ") for line in lines)
    order = sorted(SEPARATORS, key=lambda mark: mark != "\t") if tabs else SEPARATORS
    best, best_score, best_decimal = _separator_of_text(lines, order), 0.0, "."
    for mark in order:
        try:
            rows = _split(text, mark)
        except csv.Error:
            continue
        widths = [len(row) for row in rows]
        if not rows or max(widths) < 2:
            continue
        width = max(set(widths), key=widths.count)
        fields = [field for row in rows[len(rows) > 1 :] if len(row) == width for field in row]
        points = sum(map(is_number, fields))
        commas = sum(map(_is_decimal_comma, fields))  # in quotes if commas separate fields
        # Lines of another width, such as those of a file with another separator, count against it.
        score = (points + commas) / max(len(fields), 1) * widths.count(width) / len(widths)
        if score > best_score + 1e-9:
            best, best_score, best_decimal = mark, score, "," if commas else "."
    return best, best_decimal


def _separator_of_text(lines: Sequence[str], order: Sequence[str]) -> str:
    """Return the separator of a table without numbers: one that is as often in every line."""
    for mark in order:
        counts = {line.count(mark) for line in lines}
        if mark != " " and len(counts) == 1 and 0 not in counts:
            return mark
    return order[0]


def _has_comments(lines: Sequence[str], plain: Sequence[str], separator: str) -> bool:
    """Return whether lines that start with ``#`` are comments, not rows with such identifiers."""
    marked = [line for line in lines if line.startswith("#")]
    if not marked or not plain:
        return bool(plain)
    width = len(_split(plain[-1], separator)[0])
    rows = [row for line in marked for row in _split(line, separator)]
    return not any(
        len(row) == width and width > 1 and all(is_number(field) for field in row[1:])
        for row in rows
    )


def _header_comment(lines: Sequence[str], first: Sequence[str], separator: str) -> list[str] | None:
    """Return the names in the comment above the first row, as ``numpy.savetxt`` writes them."""
    above = None
    for line in lines:
        if line.startswith("#"):
            above = line.lstrip("# ")
        elif line.strip():
            break
    if not above or not first or not all(map(is_number, first)):
        return None
    names = _split(above, separator)
    if not names or len(names[0]) != len(first) or any(map(is_number, names[0])):
        return None
    return names[0]


def _is_header(
    path: str, first: Sequence[str], second: Sequence[str], decimal: str, options: ReadOptions
) -> bool:
    """Infer whether the first line of a file is a header, from the class columns of two lines.

    A header contains text, or counts 0,1,2,... or 1,2,3,... above other numbers. If the second line
    consists of integers as well, both lines are rows, one-hot predictions or counts, unless only
    the second is one-hot. The line 0,1 can be either, which is reported as a warning.
    """
    if find_known(first, (*ID_NAMES, *LABEL_NAMES)):
        return True
    names = _class_fields(first, options)
    if not all(is_number(text) or (decimal == "," and _is_decimal_comma(text)) for text in names):
        return not _is_row_with_text(first, second, decimal)
    if not (_counts_up(names) or _counts_up(first)):
        return False
    values = _class_fields(second, options)
    integers = all(re.fullmatch(r"[-+]?\d+", text) for text in values)
    header = not integers or (_is_one_hot(values) and not _is_one_hot(names))
    if _is_one_hot(names) and values:
        warnings.warn(
            f"{path}: its first line, {','.join(first)}, is read as a "
            f"{'header' if header else 'row'}; pass --header or --no-header",
            stacklevel=2,
        )
    return header


def _is_row_with_text(first: Sequence[str], second: Sequence[str], decimal: str) -> bool:
    """Return whether a line has text and numbers in the same fields as the next, so is a row."""

    def numbers(fields: Sequence[str]) -> list[bool]:
        return [is_number(f) or (decimal == "," and _is_decimal_comma(f)) for f in fields]

    pattern = numbers(first)
    return sum(pattern) > 1 and len(first) == len(second) and pattern == numbers(second) and any(
        not re.fullmatch(r"\d+", field) for field, number in zip(first, pattern, strict=True)
        if number
    )  # fmt: skip


def _is_one_hot(fields: Sequence[str]) -> bool:
    return set(fields) <= {"0", "1"} and list(fields).count("1") == 1


def _class_fields(fields: Sequence[str], options: ReadOptions) -> list[str]:
    """Return the fields of the classes, as far as the options select columns by position."""

    def positions(*wanted: str | None) -> set[int]:
        return {int(text) for text in wanted if text is not None and text.isdecimal()}

    chosen = positions(*(options.columns or ()))
    if not chosen:
        chosen = set(range(len(fields))) - positions(options.label, options.id)
    return [text for i, text in enumerate(fields) if i in chosen]


def _counts_up(fields: Sequence[str]) -> bool:
    """Return whether several fields are 0,1,2,... or 1,2,3,...."""
    n = len(fields)
    return n > 1 and any(list(fields) == [str(i) for i in range(a, a + n)] for a in (0, 1))
