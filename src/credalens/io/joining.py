"""Rows of several files matched by their identifiers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.evaluation.labels import canonical_text
from credalens.io.labels import positions_by_id
from credalens.io.source import Block, Source, concatenate, raise_file_error

#: Largest size of the predictions of a file, in bytes, that is held in memory to reorder its rows.
MAX_JOINED_BYTES = 1 << 30
#: Rows that are read at once.
BLOCK_ROWS = 1 << 16


class JoinedSource(Source):
    """A source with its rows in another order: row i is row ``order[i]`` of the file.

    An uncompressed ``.npz`` is mapped into memory; of other formats, the file is held in memory.
    """

    def __init__(self, source: Source, order: Array) -> None:
        self.__dict__.update(copy.copy(source.__dict__))
        self._source, self._order = source, order
        self._held: Block | None = None

    @property
    def options(self) -> tuple[str, ...]:  # type: ignore[override]
        """Command-line options that apply to the format."""
        return self._source.options

    def raw_blocks(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield blocks of `rows` rows."""
        end = len(self._order) if stop is None else stop
        for first in range(start, end, rows):
            wanted = self._order[first : min(first + rows, end)]
            block = self._source.rows_at(wanted)
            yield self._from_memory(wanted) if block is None else block

    def _from_memory(self, wanted: Array) -> Block:
        if self._held is None:
            self._held = self._load()
        held = self._held
        errors = {i: held.errors[int(row)] for i, row in enumerate(wanted) if row in held.errors}
        labels, ids = (None if a is None else a[wanted] for a in (held.labels, held.ids))
        return Block(held.values[wanted], labels, ids, errors)

    def _load(self) -> Block:
        blocks: list[Block] = []
        size = 0
        for block in self._source.blocks(BLOCK_ROWS):
            blocks.append(block)
            size += block.values.nbytes
            if size > MAX_JOINED_BYTES:
                raise_file_error(
                    self.path,
                    "its rows are in another order than those of the first model, and it has more "
                    f"than {MAX_JOINED_BYTES >> 30} GB of predictions",
                    "sort the files by id",
                )
        return concatenate(blocks)

    def locate(self, row: int) -> tuple[str, int]:
        """Return the file that contains a row, and the number of the row in that file."""
        return self._source.locate(int(self._order[row]))

    def row_ranges(self, start: int, stop: int) -> list[tuple[str, int, int]]:
        """Return the files of the source with all of their rows."""
        return self._source.row_ranges(0, len(self._order))


def read_ids(source: Source) -> Array:
    """Return the identifiers of all rows."""
    parts: list[Any] = [block.ids for block in source.blocks(BLOCK_ROWS)]
    return np.concatenate(parts)


def join_by_id(sources: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """Return sources with their rows in the order of the first that has identifiers, and notes.

    Sources without identifiers are matched by position.
    """
    first = next(source for source in sources if source.id_name is not None)
    ids = read_ids(first)
    joined: list[Source] = []
    notes: list[str] = []
    for source in sources:
        if source.id_name is None or source is first:
            joined.append(source)
            continue
        order = _order(first, ids, source, read_ids(source))
        if (order == np.arange(len(order))).all():
            joined.append(source)
            continue
        joined.append(JoinedSource(source, order))
        notes.append(
            f"{source.path}: its rows are in another order than those of {first.path}; they are "
            "matched by their ids"
        )
    return joined, notes


def _order(first: Source, ids: Array, source: Source, own: Array) -> Array:
    positions_by_id(first.path, ids)
    positions = positions_by_id(source.path, own)
    found = np.array([positions.get(canonical_text(i), -1) for i in ids.tolist()], np.intp)
    fix = "pass models of the same rows, or --id-column none to match rows by position"
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        raise_file_error(
            source.path, f"has no row with the id {ids[row]!s} (row {row} of {first.path})", fix
        )
    if len(own) > len(ids):
        known = set(map(canonical_text, ids.tolist()))
        extra = next(i for i, x in enumerate(own.tolist()) if canonical_text(x) not in known)
        raise_file_error(
            source.path, f"has the id {own[extra]!s}, which {first.path} does not have", fix
        )
    return found
