"""Rows of several files matched by their identifiers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._validation import counted
from credalens.io.ids import IdIndex
from credalens.io.source import Block, Source, concatenate, raise_file_error

#: Largest size of the predictions of a file, in bytes, that is held in memory to reorder its rows.
MAX_JOINED_BYTES = 1 << 30
#: Rows that are read at once.
BLOCK_ROWS = 1 << 16


class JoinedSource(Source):
    """A source with its rows in another order: row i is row ``order[i]`` of the file.

    Rows of a negative order are missing: their values are NaN. Its identifiers are replaced by
    `ids`, those of the rows of the first source, which may differ in folders and file extensions.
    An uncompressed ``.npz`` is mapped into memory; of other formats, the file is held in memory.
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
            wanted = self._order[part]
            absent = wanted < 0
            block = self._source.rows_at(np.maximum(wanted, 0))
            found = self._from_memory(np.maximum(wanted, 0)) if block is None else block
            found = replace(found, ids=self._ids[part])
            yield _without_rows(found, absent) if absent.any() else found

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
        if self._order[row] < 0:
            return self.path, row
        return self._source.locate(int(self._order[row]))

    def row_ranges(self, start: int, stop: int) -> list[tuple[str, int, int]]:
        """Return the files of the source with all of their rows."""
        return self._source.row_ranges(0, int(np.count_nonzero(self._order >= 0)))


def _without_rows(block: Block, absent: Array) -> Block:
    """Return a block in which the rows that are `absent` have neither values nor labels."""
    kind = block.values.dtype
    values = block.values.astype(kind if kind.kind == "f" else np.float64)
    values[absent] = np.nan
    errors = {i: error for i, error in block.errors.items() if not absent[i]}
    return replace(block, values=values, errors=errors, absent=absent)


def read_ids(source: Source) -> Array:
    """Return the identifiers of all rows."""
    parts: list[Any] = [block.ids for block in source.blocks(BLOCK_ROWS)]
    return np.concatenate(parts)


def join_by_id(
    sources: Sequence[Source], suggest_missing: bool = False
) -> tuple[list[Source], list[str]]:
    """Return sources with their rows in the order of the first that has identifiers, and notes.

    Sources without identifiers are matched by position. With `suggest_missing`, errors suggest the
    option for models that lack rows.
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
        order = _order(first, ids, source, own, index, suggest_missing)
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


def join_all_ids(sources: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """Return sources with the rows of all of them, and notes; rows that a source lacks are NaN.

    The rows are those of the first source, then those that only others have, in their order.
    """
    for source in sources:
        if source.id_name is None:
            raise_file_error(
                source.path,
                "has no ids, by which the rows of models with missing rows are matched",
                "save ids with the predictions of all models, or name them by --id-column",
            )
    own = [read_ids(source) for source in sources]
    every, notes = own[0], list[str]()
    for source, ids in zip(sources, own, strict=True):
        index = IdIndex(sources[0].path, every, ids)
        if index.by_stem:
            raise_file_error(
                source.path,
                f"has ids such as {ids[0]!s}, {sources[0].path} such as {every[0]!s}",
                "save the same ids",
            )
        IdIndex(source.path, ids, ids)  # raises if one occurs twice
        extra = ids[index.positions(ids) < 0]
        if len(extra):
            every = np.concatenate([every, extra])
    joined: list[Source] = []
    shared = np.zeros(len(every), np.intp)
    for source, ids in zip(sources, own, strict=True):
        order = IdIndex(source.path, ids, ids).positions(every)
        shared += order >= 0
        if len(order) == len(ids) and (order == np.arange(len(order))).all():
            joined.append(source)
            continue
        joined.append(JoinedSource(source, order, every))
        joined[-1].n_rows = len(every)
        lacking = int(np.count_nonzero(order < 0))
        what = f"lacks {counted(lacking, 'row')} of {len(every)}" if lacking else (
            "has its rows in another order")  # fmt: skip
        notes.append(f"{source.path}: {what}; rows are matched by their ids")
    if len(every) and shared.max() == 1:
        raise_file_error(
            sources[1].path,
            f"has no id in common with {sources[0].path}: {own[1][0]!s} and {own[0][0]!s}",
            "save the same ids with the predictions of all models",
        )
    return joined, notes


def _order(
    first: Source, ids: Array, source: Source, own: Array, index: IdIndex, suggest_missing: bool
) -> Array:
    """Return the row of `source` for each of the identifiers `ids` of the first source."""
    found = index.positions(ids)
    allow = "--missing allow if models lack rows, " if suggest_missing else ""
    fix = (
        f"pass models of the same rows, {allow}or --id-column none if their rows are in the same "
        "order"
    )
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
