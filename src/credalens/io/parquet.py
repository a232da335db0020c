"""Parquet: single files, and datasets, folders of files that are read one after the other."""

from __future__ import annotations

import copy
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from credalens._backend import Array
from credalens._extras import require
from credalens.io.array_choice import known_names
from credalens.io.arrow_rows import SAMPLE_BYTES, SAMPLE_ROWS, ArrowRows, depth_of, read_columns
from credalens.io.parquet_sizes import check_sizes, check_text
from credalens.io.source import (
    COLUMN_OPTIONS,
    Block,
    ReadOptions,
    Source,
    find_names,
    raise_file_error,
    read_errors,
    slice_blocks,
)

pa = require("pyarrow", "cli")
arrow_parquet = require("pyarrow.parquet", "cli")

#: Bytes of a column that are read ahead. Without a limit pyarrow reads a whole row group.
READ_AHEAD = 1 << 20
#: Most files of a dataset of which each is a partition of its own.
MANY_FILES = 256


def open_parquet(path: str) -> Any:
    """Open a Parquet file for reading with little memory; the checksums of pages are verified."""
    return arrow_parquet.ParquetFile(
        path, buffer_size=READ_AHEAD, pre_buffer=False, page_checksum_verification=True
    )


@dataclass(frozen=True)
class _File:
    """One file, the number of its first row, and the numbers of rows in its row groups."""

    path: str
    start: int
    groups: tuple[int, ...]

    @property
    def stop(self) -> int:
        return self.start + sum(self.groups)

    def clip(self, row: int) -> int:
        """Return the nearest number of a row within this file."""
        return min(max(row, self.start), self.stop) - self.start


class ParquetSource(Source):
    """A ``.parquet`` file, or a folder of them with the same columns.

    See `ArrowRows` for the columns. The files of a folder are in the natural order of their names,
    ``part.10.parquet`` after ``part.9.parquet``; those without rows are ignored. The constructor
    reads only footers, and a sample of the first file.
    """

    options = (*COLUMN_OPTIONS, "--key")

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = path
        self._files: list[_File] = []
        row = 0
        for name in dataset_files(Path(path)) if Path(path).is_dir() else [path]:
            with read_errors(name), open_parquet(name) as file:
                if not file.metadata.num_rows:
                    continue
                check_sizes(name, file)
                if self._files:
                    self._check_schema(name, file.schema_arrow)
                else:
                    self._read_schema(name, file, options)
                groups = range(file.metadata.num_row_groups)
                sizes = tuple(file.metadata.row_group(i).num_rows for i in groups)
            self._files.append(_File(name, row, sizes))
            row += sum(sizes)
        if not row:
            raise_file_error(path, "has no rows", "write at least one")
        self.n_rows = self.expected_rows = row

    def _read_schema(self, path: str, file: Any, options: ReadOptions) -> None:
        group = file.metadata.row_group(0)
        rows = SAMPLE_BYTES * max(group.num_rows, 1) // max(group.total_byte_size, 1)
        rows = min(max(rows, 1), SAMPLE_ROWS)
        check_text(path, file.metadata, file.schema_arrow.names, rows, first=True)
        batch = next(file.iter_batches(rows))
        self._rows = ArrowRows(path, pa.Table.from_batches([batch]), options)
        self._rows.describe(self)

    @classmethod
    def column_names(cls, path: str) -> list[str]:
        """Return the names of the columns."""
        return list(arrow_parquet.read_schema(path).names)

    @classmethod
    def read_columns(cls, path: str, names: Sequence[str]) -> list[Array]:
        """Return columns."""
        wanted = list(dict.fromkeys(names))
        with open_parquet(path) as file:
            check_sizes(path, file)
            check_text(path, file.metadata, wanted, file.metadata.num_rows)
        table = arrow_parquet.read_table(path, columns=wanted, page_checksum_verification=True)
        return read_columns(table, names)

    def _check_schema(self, path: str, schema: Any) -> None:
        """Raise an error if a file of a dataset does not have the columns of the first."""
        first = self._files[0].path
        for name, kind in self._rows.types.items():
            if name not in schema.names:
                raise_file_error(path, f"has no column {name!r}, unlike {first}", "write it again")
            found = schema.field(name).type
            if found != kind:
                problem = f"column {name!r} is {found}, in {first} {kind}"
                raise_file_error(path, problem, "write all files of a dataset with the same types")

    def raw_blocks(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield one block per batch of pyarrow, from the required row groups."""
        end = (self.n_rows or 0) if stop is None else stop
        for file in self._between(start, end):
            first, last = file.clip(start), file.clip(end)
            ends = list(accumulate(file.groups))
            groups = [i for i, e in enumerate(ends) if e > first and e - file.groups[i] < last]
            before = ends[groups[0]] - file.groups[groups[0]]
            with read_errors(file.path), open_parquet(file.path) as opened:
                columns, roles = self._rows.roles.names, self._rows.roles
                check_text(file.path, opened.metadata, (roles.label, roles.id), rows)
                batches = opened.iter_batches(rows, row_groups=groups, columns=columns)
                blocks = map(self._rows.block, batches)
                yield from slice_blocks(blocks, first - before, last - before)

    def _between(self, start: int, stop: int) -> list[_File]:
        # Not a loop over all files: it would take quadratic time for a partition per file.
        first = bisect_right(self._files, start, key=lambda f: f.start) - 1
        last = bisect_left(self._files, stop, key=lambda f: f.start)
        return [f for f in self._files[max(first, 0) : last] if start < f.stop and start < stop]

    def partition_bounds(self, rows: int) -> list[int] | None:
        """Return bounds between files, and between the row groups of large files.

        Of thousands of small files, several form a partition, because a task takes longer than
        they do.
        """
        together = -(-len(self._files) // MANY_FILES)
        bounds, files = [0], 0
        for file in self._files:
            inside = merge_bounds(accumulate(file.groups, initial=0), rows)
            if files and (files == together or file.stop - bounds[-1] > rows):
                bounds.append(file.start)
                files = 0
            files += 1
            if len(inside) > 2:
                bounds.extend(file.start + end for end in inside[1:-1])
        return [*bounds, self._files[-1].stop]

    def restrict(self, start: int, stop: int) -> Source:
        """Return a source with only the files that contain the rows ``start:stop``."""
        part = copy.copy(self)
        part._files = self._between(start, stop)
        return part

    def row_ranges(self, start: int, stop: int) -> list[tuple[str, int, int]]:
        """Return the files that contain the rows ``start:stop``, each with its range of rows."""
        return [(f.path, f.clip(start), f.clip(stop)) for f in self._between(start, stop)]


def merge_bounds(bounds: Iterator[int], rows: int) -> list[int]:
    """Remove bounds so that about `rows` rows are between two of them, or more if unavoidable.

    Examples
    --------
    >>> merge_bounds(iter([0, 10, 20, 30, 100]), 25)
    [0, 20, 30, 100]
    """
    kept = [next(bounds)]
    before = kept[0]
    for bound in bounds:
        if bound - kept[-1] > rows and before > kept[-1]:
            kept.append(before)
        before = bound
    return [*kept, before] if before > kept[-1] else kept


def dataset_files(folder: Path) -> list[str]:
    """Return the Parquet files in a folder and its subfolders, in natural order.

    Names that start with ``.`` or ``_`` are metadata of the program that wrote the dataset.
    """

    def natural(path: Path) -> list[tuple[bool, int, str]]:
        parts = re.split(r"(\d+)", str(path))
        return [(p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in parts]

    found = [
        path
        for path in folder.rglob("*.parquet")
        if path.is_file() and not any(p[0] in "._" for p in path.relative_to(folder).parts)
    ]
    return [str(path) for path in sorted(found, key=natural)]


def is_dataset(folder: Path) -> bool:
    """Return whether the Parquet files in a folder are parts of one table, not one per model.

    They are if the folder is named ``.parquet``, if their names are those that Spark, Dask and
    Arrow write (``part-00000``, ``part.0``), or if each file contains several models.
    """
    files = dataset_files(folder)
    if folder.suffix == ".parquet" or (
        files and all(re.match(r"part[-.]?\d", Path(name).name) for name in files)
    ):
        return True
    return len(files) > 1 and all(_has_members(name) for name in files)


def _has_members(path: str) -> bool:
    with read_errors(path):
        schema = arrow_parquet.read_schema(path)
    return any(
        depth_of(schema.field(name).type) == 2
        for name in find_names(schema.names, *known_names(False))
    )
