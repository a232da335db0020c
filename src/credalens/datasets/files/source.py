"""What every prediction file can be asked, whatever its format."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from credalens._arrays import Array
from credalens._files import FIXES, told

#: Characters of a file's contents or of a library's message that an error repeats at most.
LONGEST = 300
#: What the index is called that pandas writes to CSV and Parquet.
INDEX = ("", "__index_level_0__", "Unnamed: 0")

#: Options that choose columns.
CHOICES = ("--columns", "--label-column", "--id-column")


class PredictionFileError(ValueError):
    """A file that cannot be used; one line says which, where, and what to do."""


def refuse_file(
    path: str, problem: str, fix: str, row: int | None = None, overall: int | None = None
) -> NoReturn:
    """Raise the one kind of error that a bad file gets; rows are zero-based.

    `overall` is the row's number where the file is one of several that follow one another.
    """
    at = "" if row is None else f" row {row} (zero-based):"
    if overall is not None and overall != row:
        at = f" row {row} (zero-based; {overall} of the whole):"
    raise PredictionFileError(f"{path}:{at} {_shown(problem)}; {_shown(fix)}")


def _shown(text: str) -> str:
    """Return text that may quote a damaged file as one line that is fit for a terminal."""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn whatever a format's library raises about a damaged file into one line.

    The libraries that decode files raise errors of a dozen kinds on damaged ones, not all of them
    documented, so that every kind is caught here and kept as the cause.
    """
    try:
        yield
    except (PredictionFileError, MemoryError):
        raise
    except FileNotFoundError as error:
        problem = "is not there"
        raise PredictionFileError(f"{path}: {problem}; check the name") from error
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FIXES:
            raise PredictionFileError(told(error, path)) from error
        lines = str(error).strip().splitlines()
        what = _shown(f"{type(error).__name__}: {lines[0] if lines else 'no details'}")
        raise PredictionFileError(
            f"{path}: cannot be read ({what}); check its ending and write it again"
        ) from error


def so_called(names: Iterable[str], *usual: str) -> list[str]:
    """Return the names that are among the usual ones, in capitals or not, in the order of these."""
    held = [(name.strip().lower(), name) for name in names]
    return [name for known in usual for plain, name in held if plain == known.lower()]


def stamp(path: str) -> list[Any]:
    """Return what changes with a file: its size and time, of a folder those of all its files."""
    if not os.path.exists(path):
        return []  # made up as it is read
    if not os.path.isdir(path):
        stat = os.stat(path)
        return [stat.st_size, stat.st_mtime_ns]
    held = sorted(
        os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names
    )
    known = [[os.path.relpath(name, path), *stamp(name)] for name in held]
    return [len(held), hashlib.sha256(json.dumps(known).encode()).hexdigest()]


@dataclass(frozen=True)
class Reading:
    """How the columns of a table are to be read."""

    #: Names or zero-based positions of the class columns; all that are left by default.
    columns: tuple[str, ...] | None = None
    #: Name or position of the column of labels; ``label`` if there is one, in any case.
    label: str | None = None
    #: Name or position of the column of identifiers; ``id`` if there is one, in any case.
    id: str | None = None
    #: Whether the first line of a text file is a header; ``None``: look at it.
    header: bool | None = None
    #: Format of standard input, which has no ending.
    format: str | None = None


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows of a file."""

    #: ``(r, M, K)``, as stored: not checked yet.
    values: Array
    labels: Array | None = None
    ids: Array | None = None
    #: What is wrong with rows that could not be parsed; their values are NaN.
    faults: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, part: slice) -> Block:
        start, stop, _ = part.indices(len(self))
        return Block(
            self.values[part],
            None if self.labels is None else self.labels[part],
            None if self.ids is None else self.ids[part],
            {i - start: why for i, why in self.faults.items() if start <= i < stop},
        )


class Source(ABC):
    """One prediction file: ``n_members`` models over ``n_classes`` classes, row after row."""

    path: str
    n_members: int
    n_classes: int
    #: Number of rows, ``None`` if only reading to the end will tell.
    n_rows: int | None = None
    #: The same, but perhaps a guess from the size of the file.
    expected_rows: int | None = None
    class_names: tuple[str, ...] | None = None
    #: What the file itself says that it holds: ``probs``, ``logits``, or nothing.
    holds: str = ""
    has_labels: bool = False
    #: What the identifiers are called, ``None`` if there are none.
    id_name: str | None = None
    #: Options that say how to read it.
    options: tuple[str, ...] = ()
    #: The type of identifiers in Arrow's terms, where their values in NumPy's do not tell.
    id_type: Any = None

    @property
    def is_logits(self) -> bool:
        """Whether the file itself says that it holds logits."""
        return self.holds == "logits"

    @property
    def has_ids(self) -> bool:
        """Whether the file brings identifiers."""
        return self.id_name is not None

    @abstractmethod
    def pieces(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield the rows ``start:stop``, in blocks of any length, about `rows` each."""

    def blocks(self, rows: int, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Yield the rows ``start:stop``, in blocks of `rows` rows; the last may be shorter."""
        with reading(self.path):
            yield from regrouped(self.pieces(rows, start, stop), rows)

    def place(self, row: int) -> tuple[str, int]:
        """Return the file that holds a row, and the number of the row in that file."""
        return self.path, row

    def edges(self, rows: int) -> list[int] | None:
        """Return where to cut the rows into partitions of about `rows`, from 0 to the end.

        ``None`` if a partition could only be reached by reading all that comes before it.
        """
        return None

    def part(self, start: int, stop: int) -> Source:
        """Return what is needed to read the rows ``start:stop``, under the same numbers."""
        return self

    def spans(self, start: int, stop: int) -> list[tuple[str, int, int]]:
        """Return the files that hold the rows ``start:stop``, and which of theirs these are."""
        return [(self.path, start, stop)]


def regrouped(pieces: Iterable[Block], rows: int) -> Iterator[Block]:
    """Cut and join blocks so that each has `rows` rows, but for the last."""
    waiting: list[Block] = []
    count = 0
    for piece in pieces:
        waiting.append(piece)
        count += len(piece)
        if count < rows:
            continue
        whole = joined(waiting)
        full = count - count % rows
        for first in range(0, full, rows):
            yield whole[first : first + rows]
        waiting, count = ([whole[full:count]], count - full) if count > full else ([], 0)
    if count:
        yield joined(waiting)


def joined(blocks: list[Block]) -> Block:
    """Return several blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    faults: dict[int, str] = {}
    start = 0
    for block in blocks:
        faults.update({start + i: why for i, why in block.faults.items()})
        start += len(block)
    labels = [block.labels for block in blocks if block.labels is not None]
    ids = [block.ids for block in blocks if block.ids is not None]
    return Block(
        np.concatenate([block.values for block in blocks]),
        np.concatenate(labels) if labels else None,
        np.concatenate(ids) if ids else None,
        faults,
    )


def cut(pieces: Iterable[Block], start: int, stop: int | None) -> Iterator[Block]:
    """Leave out the rows before `start` and from `stop` on."""
    first = 0
    for piece in pieces:
        last = first + len(piece)
        end = last if stop is None else min(stop, last)
        if start < end:
            yield piece[max(start - first, 0) : end - first]
        if stop is not None and last >= stop:
            return
        first = last


def steps(n: int, rows: int) -> list[int]:
    """Return the numbers from 0 to `n` in steps of `rows`, the last step perhaps shorter."""
    return [*range(0, n, rows), n]
