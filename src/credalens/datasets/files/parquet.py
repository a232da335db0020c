"""Parquet: single files, and datasets, folders of files whose rows follow one another."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from credalens._arrays import Array
from credalens.datasets.files.source import (
    CHOICES,
    Block,
    Reading,
    Source,
    cut,
    reading,
    refuse_file,
    so_called,
)
from credalens.datasets.files.tables import assign

#: Bytes of a column that are read ahead. Without it a whole row group is read at once, however
#: large; it costs no time.
READ_AHEAD = 1 << 20
FIX = "every row must have as many members and classes; mend it, or leave it out by --on-error skip"


def opened(path: str) -> Any:
    """Open a Parquet file so that reading it takes little memory."""
    return pyarrow.parquet.ParquetFile(path, buffer_size=READ_AHEAD, pre_buffer=False)


class ParquetSource(Source):
    """A ``.parquet`` file: one column per class, or one column ``probs`` of lists, M x K or K."""

    n_members = 1
    options = CHOICES

    def __init__(self, path: str, how: Reading) -> None:
        self.path = path
        with reading(path), opened(path) as file:
            schema = file.schema_arrow
            self.n_rows = self.expected_rows = file.metadata.num_rows
            self._groups = _groups(file.metadata)
            if not self.n_rows:
                refuse_file(path, "has no rows", "write at least one")
            self._roles = assign(path, self._candidates(schema, how), how, True, _index(schema))
            self._nested = len(self._roles.classes) == 1 and _is_list(
                schema.field(self._roles.classes[0]).type
            )
            if self._nested:
                self.n_members, self.n_classes = self._first_shape(file)
                self.holds = self._roles.classes[0]
            else:
                self._check_numbers(schema)
                self.n_classes = len(self._roles.classes)
                self.class_names = self._roles.classes
        self._types = {name: _type(schema, name) for name in self.columns}
        self.has_labels, self.id_name = self._roles.label is not None, self._roles.id
        if self.id_name is not None and not _told_by_numpy(self._types[self.id_name]):
            self.id_type = self._types[self.id_name]

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are read."""
        roles = self._roles
        return [*roles.classes, *(n for n in (roles.label, roles.id) if n is not None)]

    def _candidates(self, schema: Any, how: Reading) -> list[str]:
        """Return the columns to choose from: with nested predictions, no others are classes."""
        nested = [
            n for n in ("probs", "logits") if n in schema.names and _is_list(_type(schema, n))
        ]
        if not nested or how.columns is not None:
            return list(schema.names)
        others = {*so_called(schema.names, "label", "id"), how.label, how.id}
        return [name for name in schema.names if name == nested[0] or name in others]

    def _check_numbers(self, schema: Any) -> None:
        for name in self._roles.classes:
            kind = _type(schema, name)
            if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
                refuse_file(
                    self.path, f"column {name!r} is {kind}", "name the class columns by --columns"
                )

    def beside(self, path: str, n_rows: int, groups: tuple[int, ...]) -> ParquetSource:
        """Return a file of the same columns, without opening it."""
        other = copy.copy(self)
        other.path, other._groups = path, groups
        other.n_rows = other.expected_rows = n_rows
        return other

    def same_columns(self, path: str, schema: Any) -> None:
        """Refuse a file that has not the same columns."""
        for name, kind in self._types.items():
            if name not in schema.names:
                refuse_file(path, f"has no column {name!r}, {self.path} has", "write it again")
            if _type(schema, name) != kind:
                refuse_file(
                    path,
                    f"column {name!r} is {_type(schema, name)}, in {self.path} {kind}",
                    "give all files of a dataset the same types",
                )

    def pieces(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield one block for each batch that pyarrow reads, of the row groups that are needed."""
        end = (self.n_rows or 0) if stop is None else stop
        ends = list(accumulate(self._groups))
        wanted = [i for i, last in enumerate(ends) if last > start and last - self._groups[i] < end]
        if not wanted:
            return
        before = ends[wanted[0]] - self._groups[wanted[0]]

        def batches() -> Iterator[Block]:
            with opened(self.path) as file:
                for batch in file.iter_batches(rows, row_groups=wanted, columns=self.columns):
                    yield self._block(batch)

        yield from cut(batches(), start - before, end - before)

    def edges(self, rows: int) -> list[int] | None:
        """Cut between row groups."""
        return gathered(accumulate(self._groups, initial=0), rows)

    def _block(self, batch: Any) -> Block:
        roles = self._roles
        faults: dict[int, str] = {}
        if self._nested:
            values, faults = self._lists(batch.column(roles.classes[0]))
        else:
            columns = [_floats(batch.column(name)) for name in roles.classes]
            values = np.stack(columns, axis=1)[:, None, :]
        return Block(values, _column(batch, roles.label), _column(batch, roles.id), faults)

    def _first_shape(self, file: Any) -> tuple[int, int]:
        """Return members and classes of the first row that has as many classes for each member."""
        name = self._roles.classes[0]
        deep = _depth(file.schema_arrow.field(name).type)
        if deep > 2:
            refuse_file(self.path, f"has lists nested {deep} deep", "save M x K lists")
        for batch in file.iter_batches(1, columns=[name]):
            shape = _shape(batch.column(0)[0].as_py(), deep)
            if not isinstance(shape, str) and 0 not in shape:
                return shape
        return refuse_file(self.path, f"{name} has no row of lists of one length", "mend them")

    def _lists(self, column: Any) -> tuple[Array, dict[int, str]]:
        """Return ``(r, M, K)`` from lists of K, or lists of M lists of K, and rows that are not."""
        shape = self.n_members, self.n_classes
        values = column
        for size in shape[-_depth(column.type) :]:
            lengths = values.value_lengths().to_numpy(zero_copy_only=False)
            # Smallest and largest, as sorting all of them would take longer than reading does.
            if values.null_count or not lengths.min() == lengths.max() == size:
                return self._one_by_one(column)
            values = values.flatten()
        return _floats(values).reshape(len(column), *shape), {}

    def _one_by_one(self, column: Any) -> tuple[Array, dict[int, str]]:
        """Do the same row by row; a bad row becomes NaN with a fault."""
        name, deep = self._roles.classes[0], _depth(column.type)
        shape = self.n_members, self.n_classes
        values = np.full((len(column), *shape), np.nan, _dtype(column.type))
        faults: dict[int, str] = {}
        for i, row in enumerate(column.to_pylist()):
            found = _shape(row, deep)
            if found == shape:
                values[i] = row
            elif isinstance(found, str):
                faults[i] = f"{name} {found}; {FIX}"
            else:
                have, want = (" x ".join(map(str, both[-deep:])) for both in (found, shape))
                faults[i] = f"{name} is {have} instead of {want}; {FIX}"
        return values, faults


@dataclass(frozen=True)
class _File:
    """One file of a dataset, and the number of its first row."""

    path: str
    start: int
    groups: tuple[int, ...]

    @property
    def stop(self) -> int:
        return self.start + sum(self.groups)

    def inside(self, row: int) -> int:
        """Return the number of a row in this file, or the nearest there is."""
        return min(max(row, self.start), self.stop) - self.start


class ParquetDataset(Source):
    """A folder of Parquet files with the same columns, whose rows follow one another.

    Files come in the order of their names, numbers in them by value, as ``part.10.parquet`` comes
    after ``part.9.parquet``. Only footers are read here; files without rows are left out.
    """

    options = CHOICES

    def __init__(self, path: str, how: Reading, names: Sequence[str] | None = None) -> None:
        self.path = path
        self._files: list[_File] = []
        first: ParquetSource | None = None
        row = 0
        for name in dataset_files(Path(path)) if names is None else names:
            with reading(name):
                with opened(name) as file:
                    metadata, schema = file.metadata, file.schema_arrow
                if not metadata.num_rows:
                    continue
                if first is None:
                    first = ParquetSource(name, how)
                first.same_columns(name, schema)
            self._files.append(_File(name, row, _groups(metadata)))
            row += metadata.num_rows
        if first is None:
            refuse_file(path, "has no Parquet files with rows", "write at least one")
        self._first = first
        self.n_rows = self.expected_rows = row
        self.n_members, self.n_classes = first.n_members, first.n_classes
        self.class_names, self.holds = first.class_names, first.holds
        self.has_labels, self.id_name = first.has_labels, first.id_name
        self.id_type = first.id_type

    def pieces(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield the rows of one file after the other."""
        for file in self._between(start, (self.n_rows or 0) if stop is None else stop):
            source = self._first.beside(file.path, file.stop - file.start, file.groups)
            last = None if stop is None else file.inside(stop)
            with reading(file.path):
                yield from source.pieces(rows, file.inside(start), last)

    def _between(self, start: int, stop: int) -> list[_File]:
        return [file for file in self._files if file.start < stop and file.stop > start]

    def place(self, row: int) -> tuple[str, int]:
        """Return the file of the dataset that holds a row, and its number there."""
        for file in self._files:
            if file.start <= row < file.stop:
                return file.path, row - file.start
        return self.path, row

    def edges(self, rows: int) -> list[int] | None:
        """Cut between files, and between the row groups of large files."""
        cuts = [0]
        for file in self._files:
            inside = gathered(accumulate(file.groups, initial=0), rows)
            cuts.extend(file.start + end for end in inside[1:])
        return cuts

    def part(self, start: int, stop: int) -> Source:
        """Return the dataset with only the files that hold these rows."""
        some = copy.copy(self)
        some._files = self._between(start, stop)
        return some

    def spans(self, start: int, stop: int) -> list[tuple[str, int, int]]:
        """Return the files of the dataset that hold these rows, and which of theirs."""
        return [
            (file.path, file.inside(start), file.inside(stop))
            for file in self._between(start, stop)
        ]


def gathered(cuts: Iterator[int], rows: int) -> list[int]:
    """Leave out cuts so that about `rows` lie between two of them, or more where there is no cut.

    Examples
    --------
    >>> gathered(iter([0, 10, 20, 30, 100]), 25)
    [0, 20, 30, 100]
    """
    kept = [next(cuts)]
    before = kept[0]
    for at in cuts:
        if at - kept[-1] > rows and before > kept[-1]:
            kept.append(before)
        before = at
    return [*kept, before] if before > kept[-1] else kept


def dataset_files(folder: Path) -> list[str]:
    """Return the Parquet files of a dataset, also in folders inside it, in their order.

    Names that begin with ``.`` or ``_`` belong to whoever wrote the dataset.
    """
    found = []
    for path in folder.rglob("*.parquet"):
        inside = path.relative_to(folder)
        if path.is_file() and not any(part[0] in "._" for part in inside.parts):
            found.append(path)
    return [str(path) for path in sorted(found, key=_natural)]


def is_dataset(folder: Path) -> bool:
    """Tell whether the Parquet files of a folder hold one model's rows, not one model each.

    They do if the folder is called ``.parquet``, or its files are called as those that Spark, Dask
    and Arrow write (``part-00000``, ``part.0``), or each of them holds a whole ensemble.
    """
    if folder.suffix == ".parquet":
        return True
    if any(path.suffix in _OTHERS for path in folder.iterdir()):
        return False
    files = dataset_files(folder)
    if files and all(re.match(r"part[-.]?\d", Path(name).name) for name in files):
        return True
    if len(files) < 2:
        return False
    return all(_is_ensemble(name) for name in files)


def _is_ensemble(path: str) -> bool:
    """Tell whether a file holds the predictions of several models."""
    with reading(path):
        schema = pyarrow.parquet.read_schema(path)
    names = [name for name in ("probs", "logits") if name in schema.names]
    return any(_depth(_type(schema, name)) == 2 for name in names)


#: Endings of prediction files that stand for a model each.
_OTHERS = (".npy", ".npz", ".csv", ".tsv", ".zarr")


def _natural(path: Path) -> list[tuple[bool, int, str]]:
    """Order names by their letters, but numbers in them by value."""
    pieces = re.split(r"(\d+)", str(path))
    return [(p.isdecimal(), int(p) if p.isdecimal() else 0, p) for p in pieces]


def _groups(metadata: Any) -> tuple[int, ...]:
    return tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))


def _column(batch: Any, name: str | None) -> Array | None:
    if name is None:
        return None
    column = batch.column(name)
    if column.null_count and _has_no_missing(column.type):
        return np.array(column.to_pylist(), dtype=object)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _has_no_missing(kind: Any) -> bool:
    """Tell whether NumPy would make floats, or objects, of a type to mark missing values."""
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _told_by_numpy(kind: Any) -> bool:
    """Tell whether values in NumPy's terms show what type they had, missing ones or not."""
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    unknown = zoned or pa.types.is_time(kind) or pa.types.is_decimal(kind)
    return not (unknown or _has_no_missing(kind))


def _type(schema: Any, name: str) -> Any:
    return schema.field(name).type


def _index(schema: Any) -> list[str]:
    """Return the columns that pandas, which wrote the file, says are its index."""
    known = (schema.pandas_metadata or {}).get("index_columns", ())
    return [name for name in known if isinstance(name, str) and name in schema.names]


def _is_list(kind: Any) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _depth(kind: Any) -> int:
    """Return how deep lists are nested."""
    return 1 + _depth(kind.value_type) if _is_list(kind) else 0


def _dtype(kind: Any) -> Any:
    """Return the dtype of what `_floats` makes of the innermost values of lists."""
    while _is_list(kind):
        kind = kind.value_type
    return kind.to_pandas_dtype() if pa.types.is_floating(kind) else np.float64


def _shape(row: Any, deep: int) -> tuple[int, int] | str:
    """Return members and classes of a row of lists, or what is wrong with it."""
    if row is None:
        return "is missing"
    members = row if deep == 2 else [row]
    if None in members:
        return "has a missing list"
    lengths = sorted({len(member) for member in members})
    if len(lengths) > 1:
        return f"has lists of lengths {lengths[:5]}"
    return len(members), lengths[0] if lengths else 0


def _floats(column: Any) -> Array:
    """Return a column as floats, missing values as NaN."""
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    return values if values.dtype.kind == "f" else values.astype(np.float64)
