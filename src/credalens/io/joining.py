"""Rows of several files matched by their identifiers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.io.ids import IdIndex
from credalens.io.source import Block, Source, concatenate, raise_file_error

#: Largest size of the predictions of a file, in bytes, that is held in memory to reorder its rows.
MAX_JOINED_BYTES = 1 << 30
#: Rows that are read at once.
BLOCK_ROWS = 1 << 16


class JoinedSource(Source):
    """A source with its rows in another order: row i is row ``order[i]`` of the file.

    Its identifiers are replaced by `ids`, those of the rows of the first source, which may differ
    in folders and file extensions. An uncompressed ``.npz`` is mapped into memory; of other
    formats, the file is held in memory.
    """

    def __init__(self, source: Source, order: Array, ids: Array) -> None:
        self.__dict__.update(copy.copy(source.__dict__))
        self._source, self._order, self._ids = source, order, ids
        self._held: Block | None = None

    @property
    def options(self) -> tuple[str, ...]:  # type: ignore[override]
        """Command-line options that apply to the format."""
        return self._source.options

    def raw_blocks(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield blocks of `rows` rows."""
        end = len(self._order) if stop is None else stop
        for first in range(start, end, rows):
            part = slice(first, min(first + rows, end))
            block = self._source.rows_at(self._order[part])
            found = self._from_memory(self._order[part]) if block is None else block
            yield replace(found, ids=self._ids[part])

    def _from_memory(self, wanted: Array) -> Block:
        if self._held is None:
            self._held = self._load()
        held = self._held
        errors = {i: held.errors[int(row)] for i, row in enumerate(wanted) if row in held.errors}
        labels = None if held.labels is None else held.labels[wanted]
        return Block(held.values[wanted], labels, errors=errors)

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
    IdIndex(first.path, ids, ids)  # raises if one occurs twice
    joined: list[Source] = []
    notes: list[str] = []
    for source in sources:
        if source.id_name is None or source is first:
            joined.append(source)
            continue
        own = read_ids(source)
        index = IdIndex(source.path, own, ids)
        order = _order(first, ids, source, own, index)
        in_order = bool((order == np.arange(len(order))).all())
        if in_order and not index.by_stem:
            joined.append(source)
            continue
        joined.append(JoinedSource(source, order, ids))
        those = f"those of {first.path}"
        what = f"its rows are matched to {those}" if in_order else (
            f"its rows are in another order than {those}; they are matched")  # fmt: skip
        notes.append(f"{source.path}: {what} by their {index.description}")
    return joined, notes


def _order(first: Source, ids: Array, source: Source, own: Array, index: IdIndex) -> Array:
    """Return the row of `source` for each of the identifiers `ids` of the first source."""
    found = index.positions(ids)
    fix = "pass models of the same rows, or --id-column none if their rows are in the same order"
    if (found < 0).any():
        row = int(np.argmax(found < 0))
        raise_file_error(
            source.path, f"has no row with the id {ids[row]!s} (row {row} of {first.path})", fix
        )
    if len(own) > len(ids):
        extra = int(np.setdiff1d(np.arange(len(own)), found)[0])
        raise_file_error(
            source.path, f"has the id {own[extra]!s}, which {first.path} does not have", fix
        )
    return found
