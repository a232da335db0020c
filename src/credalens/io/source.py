"""The interface of a prediction file, and the errors that reading one raises."""

from __future__ import annotations

import hashlib
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import numpy as np

from credalens._backend import Array
from credalens._files import FIXES, TRANSIENT, format_os_error
from credalens._row_kinds import ROUNDING

#: Most characters of a file's content or of a library's message that an error quotes.
MAX_QUOTED = 300
#: Options that select columns of tables, and arrays of files that hold several.
COLUMN_OPTIONS = ("--columns", "--label-column", "--id-column")
ARRAY_OPTIONS = ("--key", "--label-key", "--axes")


T = TypeVar("T")
#: Seconds to wait before a file is read again after a transient error.
RETRY_DELAYS = (0.1, 1.0, 5.0)


class PredictionFileError(ValueError):
    """A file that cannot be used; the message names the file, the row and what to do."""


class UnreadableFileError(PredictionFileError):
    """A file that could not be read or decoded, which says nothing about its rows."""


def raise_file_error(
    path: str, problem: str, fix: str, row: int | None = None, overall: int | None = None
) -> NoReturn:
    """Raise `PredictionFileError` in one line; rows are zero-based.

    `overall` is the number of the row in a dataset of several files, `row` that within `path`.
    """
    at = "" if row is None else f" row {row} (zero-based):"
    if overall is not None and overall != row:
        at = f" row {row} (zero-based; {overall} of the whole):"
    raise PredictionFileError(f"{path}:{at} {_printable(problem)}; {_printable(fix)}")


def _printable(text: str) -> str:
    """Return text that may quote a damaged file as one printable line of limited length."""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return line if len(line) <= MAX_QUOTED else line[: MAX_QUOTED - 3] + "..."


@contextmanager
def read_errors(path: str) -> Iterator[None]:
    """Convert any error of a decoding library into a `PredictionFileError` of one line.

    On damaged files, the libraries raise exceptions of many types, not all of them documented.
    A missing library stays a `ModuleNotFoundError`.
    """
    try:
        yield
    except (PredictionFileError, MemoryError, ModuleNotFoundError):
        raise
    except FileNotFoundError as error:
        raise PredictionFileError(f"{path}: does not exist; check the name") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FIXES:
            raise UnreadableFileError(format_os_error(error, path)) from error
        lines = str(error).strip().splitlines()
        what = _printable(f"{type(error).__name__}: {lines[0] if lines else 'no details'}")
        raise UnreadableFileError(
            f"{path}: cannot be read ({what}); check its file extension and write it again"
        ) from error


def is_transient(error: BaseException | None) -> bool:
    """Return whether an error, or its cause, may be gone when the file is read again."""
    if isinstance(error, OSError):
        return error.errno in TRANSIENT
    return isinstance(error, UnreadableFileError) and is_transient(error.__cause__)


def retry(action: Callable[[], T]) -> T:
    """Return what a function returns, called again after a transient error."""
    for delay in RETRY_DELAYS:
        try:
            return action()
        except (OSError, UnreadableFileError) as error:
            if not is_transient(error):
                raise
            time.sleep(delay)
    return action()


def read_again(read: Callable[[int], Iterator[Block]], row: int) -> Iterator[Block]:
    """Yield the blocks of ``read(row)``; after a transient error, continue with the next row."""
    attempt = 0
    while True:
        try:
            for block in read(row):
                yield block
                row, attempt = row + len(block), 0
            return
        except (OSError, UnreadableFileError) as error:
            if not is_transient(error) or attempt == len(RETRY_DELAYS):
                raise
            time.sleep(RETRY_DELAYS[attempt])
            attempt += 1


def find_names(names: Iterable[str], *wanted: str) -> list[str]:
    """Return the `names` that equal one of `wanted`, ignoring case, in the order of `wanted`."""
    lower = [(name.strip().lower(), name) for name in names]
    return [name for known in wanted for key, name in lower if key == known.lower()]


def file_signature(path: str) -> list[Any]:
    """Return size and modification time of a file, or a digest of those in a folder."""
    if not os.path.exists(path):
        return []  # a source without a file
    if not os.path.isdir(path):
        stat = os.stat(path)
        return [stat.st_size, stat.st_mtime_ns]
    files = sorted(
        os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names
    )
    entries = [[os.path.relpath(name, path), *file_signature(name)] for name in files]
    return [len(files), hashlib.sha256(json.dumps(entries).encode()).hexdigest()]


@dataclass(frozen=True)
class ReadOptions:
    """How to read tables, arrays and standard input."""

    #: Names or zero-based positions of the class columns; default: found from names and values.
    columns: tuple[str, ...] | None = None
    #: Name or position of the label column; default: one of `LABEL_NAMES`; ``"none"``: no labels.
    label: str | None = None
    #: Name or position of the identifier column; default: one of `ID_NAMES`; ``"none"``: no ids.
    id: str | None = None
    #: Whether the first line of a text file is a header; ``None``: inferred.
    header: bool | None = None
    #: Format of standard input; ``"logprobs"`` for files, too.
    format: str | None = None
    #: Name of the array, or of the column of lists, with the predictions.
    key: str | None = None
    #: Name of the array with the labels.
    label_key: str | None = None
    #: Names of the axes of arrays, for example ``("models", "rows", "classes")``.
    axes: tuple[str, ...] | None = None
    #: Whether the files are known to contain logits, or values that are rescaled, so that rows
    #: need not sum to 1.
    logits: bool = False
    rescaled: bool = False
    #: Choices that are tokens, and how log-probabilities of tokens become that of a choice.
    choices: tuple[str, ...] | None = None
    aggregate: str | None = None
    #: Whether invalid lines of language models are left out.
    skip: bool = False


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a file."""

    #: ``(r, M, K)`` as stored, not validated.
    values: Array
    #: ``(r,)``, or ``(r, K)`` if there is a distribution, or a one-hot row, per row.
    labels: Array | None = None
    ids: Array | None = None
    #: Messages for rows that could not be parsed; their values are NaN.
    errors: dict[int, str] = field(default_factory=dict)
    #: Rows that the file does not have, ``(r,)``; their values are NaN. None if it has all.
    absent: Array | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Block:
        start, stop, _ = rows.indices(len(self))
        arrays = (self.labels, self.ids, self.absent)
        labels, ids, absent = (None if a is None else a[rows] for a in arrays)
        errors = {i - start: error for i, error in self.errors.items() if start <= i < stop}
        return Block(self.values[rows], labels, ids, errors, absent)


class Source(ABC):
    """One prediction file: ``n_members`` models over ``n_classes`` classes.

    A subclass implements one format. Its constructor takes the path, `ReadOptions` and, if the
    format can be read from standard input and compressed files, a `ByteStream`. It sets the
    attributes below and implements `raw_blocks`. `credalens.io.formats` lists the subclasses by
    file extension.
    """

    path: str
    n_members: int = 1
    n_classes: int
    #: Number of rows; ``None`` if it is known only after reading the file.
    n_rows: int | None = None
    #: Number of rows, possibly estimated from the file size.
    expected_rows: int | None = None
    class_names: tuple[str, ...] | None = None
    #: ``"probs"``, ``"logits"`` or ``"logprobs"`` if the file names its content, else empty.
    content: str = ""
    #: Largest deviation of row sums from 1 that is rounding.
    rounding: float = ROUNDING
    #: What was inferred about the file, in one sentence each.
    notes: tuple[str, ...] = ()
    has_labels: bool = False
    #: Name of the identifiers; ``None`` if the file has none.
    id_name: str | None = None
    #: Command-line options that apply to the format.
    options: tuple[str, ...] = ()
    #: Arrow type of the identifiers if their NumPy dtype does not determine it.
    id_type: Any = None

    @abstractmethod
    def raw_blocks(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield the rows ``start:stop`` in blocks of any length, about `rows` each."""

    @classmethod
    def column_names(cls, path: str) -> list[str]:
        """Return the names of the columns or arrays in a file, or nothing if they have none."""
        return []

    @classmethod
    def read_columns(cls, path: str, names: Sequence[str]) -> list[Array]:
        """Return columns or arrays of a file, as a whole."""
        raise AssertionError(f"{cls.__name__} has no columns")

    def other_rows_fix(self, count: int) -> str:
        """Return what to do if there are `count` labels; nothing if that is not known."""
        return ""

    def rows_at(self, rows: Array) -> Block | None:
        """Return rows in any order, ``None`` if the format has no random access to them."""
        return None

    def blocks(self, rows: int, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Yield the rows ``start:stop`` in blocks of `rows` rows; the last may be shorter."""
        with read_errors(self.path):
            if self.path == "stdin":  # it can be read once
                found = self.raw_blocks(rows, start, stop)
            else:
                found = read_again(lambda first: self.raw_blocks(rows, first, stop), start)
            yield from rechunk(found, rows)

    def locate(self, row: int) -> tuple[str, int]:
        """Return the file that contains a row, and the number of the row in that file."""
        path, number, _ = self.row_ranges(row, row + 1)[0]
        return path, number

    def partition_bounds(self, rows: int) -> list[int] | None:
        """Return the bounds, from 0 to the number of rows, of partitions of about `rows` rows.

        ``None`` if the format has no random access to rows.
        """
        return None

    def restrict(self, start: int, stop: int) -> Source:
        """Return a source that can read the rows ``start:stop``, with unchanged row numbers."""
        return self

    def row_ranges(self, start: int, stop: int) -> list[tuple[str, int, int]]:
        """Return the files that contain the rows ``start:stop``, each with its range of rows."""
        return [(self.path, start, stop)]


def rechunk(blocks: Iterable[Block], rows: int) -> Iterator[Block]:
    """Split and concatenate blocks so that each has `rows` rows; the last may be shorter."""
    pending: list[Block] = []
    count = 0
    for block in blocks:
        pending.append(block)
        count += len(block)
        if count < rows:
            continue
        merged = concatenate(pending)
        full = count - count % rows
        for first in range(0, full, rows):
            yield merged[first : first + rows]
        pending, count = ([merged[full:count]], count - full) if count > full else ([], 0)
    if count:
        yield concatenate(pending)


def concatenate(blocks: list[Block]) -> Block:
    """Return consecutive blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    errors: dict[int, str] = {}
    start = 0
    for block in blocks:
        errors.update({start + i: error for i, error in block.errors.items()})
        start += len(block)
    values = np.concatenate([block.values for block in blocks])
    others: Any = ([block.labels for block in blocks], [block.ids for block in blocks])
    labels, ids = (None if c[0] is None else np.concatenate(c) for c in others)
    absent = None
    if any(block.absent is not None for block in blocks):
        parts = (np.zeros(len(b), bool) if b.absent is None else b.absent for b in blocks)
        absent = np.concatenate(list(parts))
    return Block(values, labels, ids, errors, absent)


def slice_blocks(blocks: Iterable[Block], start: int, stop: int | None) -> Iterator[Block]:
    """Yield the rows ``start:stop`` of consecutive blocks."""
    first = 0
    for block in blocks:
        last = first + len(block)
        end = last if stop is None else min(stop, last)
        if start < end:
            yield block[max(start - first, 0) : end - first]
        if stop is not None and last >= stop:
            return
        first = last
