"""Rows of Arrow tables as blocks: columns of numbers, lists, or records of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._extras import require
from credalens.io.array_choice import content_of, known_names
from credalens.io.class_columns import sum_to_one
from credalens.io.columns import (
    ID_NAMES,
    LABEL_NAMES,
    OTHER_NAMES,
    PANDAS_INDEX,
    assign_columns,
    columns_option,
    find_known,
)
from credalens.io.source import Block, ReadOptions, Source, find_names, raise_file_error

pa = require("pyarrow", "cli")
arrow_compute = require("pyarrow.compute", "cli")

#: Rows, and bytes, from which the roles of the columns are inferred.
SAMPLE_ROWS, SAMPLE_BYTES = 1000, 1 << 23
FIX = "fix the row so that all have as many members and classes, or pass --on-error skip"


class ArrowRows:
    """Selects the columns of a table, and converts record batches to blocks.

    The predictions are one column per class, or one column of K numbers, of M lists of K numbers,
    of records with one field per class, or of lists of records with a label and a score.
    """

    def __init__(self, path: str, sample: Any, options: ReadOptions) -> None:
        """`sample` is a table with the first rows."""
        schema = sample.schema
        index = (schema.pandas_metadata or {}).get("index_columns", ())
        index = [name for name in index if isinstance(name, str) and name in schema.names]
        names, nested, note = _candidates(path, sample, options)
        first = {name: _sample_values(sample[name]) for name in names}
        if nested is not None:
            options = replace(options, columns=(nested,))
        self.roles = roles = assign_columns(path, names, options, first, index)
        self.types = {name: schema.field(name).type for name in roles.names}
        self.n_members, self.n_classes = 1, len(roles.classes)
        self.class_names: tuple[str, ...] | None = roles.classes
        self.content, self.notes = "", (*note, *roles.notes)
        self._depth, self._fields = 0, ""
        if len(roles.classes) == 1 and _is_nested(self.types[roles.classes[0]]):
            self._read_nested(path, sample[roles.classes[0]])
        for name in roles.classes:
            kind = self.types[name]
            if not _is_nested(kind) and not _is_numeric(kind):
                problem = f"column {name!r} is {kind}"
                raise_file_error(path, problem, "name the class columns by --columns")

    def describe(self, source: Source) -> None:
        """Set the attributes of a source."""
        source.n_members, source.n_classes = self.n_members, self.n_classes
        source.class_names, source.content = self.class_names, self.content
        source.has_labels, source.id_name = self.roles.label is not None, self.roles.id
        source.notes = self.notes
        if self.roles.id is not None and not _numpy_preserves(self.types[self.roles.id]):
            source.id_type = self.types[self.roles.id]

    def _read_nested(self, path: str, column: Any) -> None:
        """Find members, classes and class names in the first row that has them."""
        name = self.roles.classes[0]
        kind = column.type
        self.content, self.class_names = content_of(name), None
        if pa.types.is_struct(kind):
            self._fields = "record"
            self.class_names = tuple(field.name for field in kind)
            self.n_classes = kind.num_fields
            return
        self._depth = depth_of(kind)
        if self._depth == 1 and pa.types.is_struct(kind.value_type):
            self._read_scored(path, column)
            return
        if self._depth > 2:
            raise_file_error(path, f"has lists nested {self._depth} deep", "save M x K lists")
        for chunk in column.chunks:
            for value in chunk:
                shape = _shape(value.as_py(), self._depth)
                if not isinstance(shape, str) and 0 not in shape:
                    self.n_members, self.n_classes = shape
                    return
        raise_file_error(path, f"{name} has no row with lists of equal length", "fix them")

    def _read_scored(self, path: str, column: Any) -> None:
        """Find the classes of lists such as ``[{"label": "cat", "score": 0.9}, ...]``."""
        fields = [field.name for field in column.type.value_type]
        labels, scores = find_known(fields, SCORED), find_names(fields, *SCORES)
        if not labels or not scores:
            problem = f"has records of {', '.join(fields)}"
            raise_file_error(path, problem, "save records with a label and a score")
        first = next((row.as_py() for row in column if row.is_valid and len(row)), None)
        if first is None:
            raise_file_error(path, "has no row with scores", "save at least one")
        self._fields, self._label, self._score = "scored", labels[0], scores[0]
        self.content = self.content or content_of(scores[0])
        # In any order that does not depend on the scores of the first row.
        self.class_names = tuple(sorted(str(record[labels[0]]) for record in first))
        self.n_classes = len(self.class_names)

    def block(self, batch: Any) -> Block:
        """Return a record batch, or a table, as a block."""
        roles = self.roles
        errors: dict[int, str] = {}
        if self._fields == "record":
            values = self._records(batch[roles.classes[0]])
        elif self._fields == "scored":
            values, errors = self._scored(batch[roles.classes[0]])
        elif self._depth:
            values, errors = self._lists(_whole(batch[roles.classes[0]]))
        else:
            columns = [floats(_whole(batch[name])) for name in roles.classes]
            values = np.stack(columns, axis=1)[:, None, :]
        label, identifier = (
            None if name is None else as_numpy(batch[name]) for name in (roles.label, roles.id)
        )
        return Block(values, label, identifier, errors)

    def _records(self, column: Any) -> Array:
        fields = [floats(field) for field in _whole(column).flatten()]
        return np.stack(fields, axis=1)[:, None, :]

    def _scored(self, column: Any) -> tuple[Array, dict[int, str]]:
        """Return scores by label; a row without one for each class becomes NaN with an error."""
        names = self.class_names or ()
        values = np.full((len(column), 1, len(names)), np.nan)
        errors: dict[int, str] = {}
        for i, row in enumerate(column.to_pylist()):
            found = {str(record[self._label]): record[self._score] for record in row or ()}
            if set(found) == set(names):
                values[i, 0] = [np.nan if found[n] is None else found[n] for n in names]
            else:
                errors[i] = f"has scores of {', '.join(sorted(found)) or 'no class'}; {FIX}"
        return values, errors

    def _lists(self, column: Any) -> tuple[Array, dict[int, str]]:
        """Return ``(r, M, K)`` from lists of K, or M lists of K, and errors of other rows."""
        shape = self.n_members, self.n_classes
        values = column
        for size in shape[-self._depth :]:
            lengths = values.value_lengths().to_numpy(zero_copy_only=False)
            # np.unique would sort the lengths, which takes longer than reading the file.
            if values.null_count or not len(lengths) or not lengths.min() == lengths.max() == size:
                return self._lists_by_row(column)
            values = values.flatten()
        return floats(values).reshape(len(column), *shape), {}

    def _lists_by_row(self, column: Any) -> tuple[Array, dict[int, str]]:
        """Do the same row by row; an invalid row becomes NaN with an error."""
        name, shape = self.roles.classes[0], (self.n_members, self.n_classes)
        values = np.full((len(column), *shape), np.nan, _dtype(column.type))
        errors: dict[int, str] = {}
        for i, row in enumerate(column.to_pylist()):
            found = _shape(row, self._depth)
            if found == shape:
                values[i] = row
            elif isinstance(found, str):
                errors[i] = f"{name} {found}; {FIX}"
            else:
                have, want = (" x ".join(map(str, s[-self._depth :])) for s in (found, shape))
                errors[i] = f"{name} is {have} instead of {want}; {FIX}"
        return values, errors


#: Names of the score, and of the class, in a record.
SCORES = ("score", "prob", "probability", "p", "value", "confidence", "logit", "logprob")
SCORED = (*LABEL_NAMES, "token", "choice", "option", "answer", "name", "text")


def _candidates(
    path: str, sample: Any, options: ReadOptions
) -> tuple[list[str], str | None, tuple[str, ...]]:
    """Return the columns to select from, the column of lists or records if there is one, and notes.

    Without a known name, the only column of lists is chosen, unless other columns sum to 1.
    """
    schema = sample.schema
    names = list(schema.names)
    if options.columns is not None:
        return names, None, ()
    nested = [name for name in names if _holds_numbers(schema.field(name).type)]
    chosen = find_names(nested, *known_names(options.logits))
    note: tuple[str, ...] = ()
    if options.key is not None:
        chosen = find_names(names, options.key)
        if not chosen:
            problem = f"has no column {options.key!r} (--key)"
            raise_file_error(path, problem, f"its columns are {', '.join(names)}")
    elif nested and not chosen and not _has_class_columns(path, sample, nested, options):
        if len(nested) > 1:
            fix = f"name the predictions, e.g. --key {nested[0]}"
            raise_file_error(path, f"has lists in {', '.join(nested)}", fix)
        chosen, note = nested, (f"the predictions are read from the column {nested[0]!r}",)
    if not chosen:
        return [name for name in names if not _is_nested(schema.field(name).type)], None, ()
    others = {*find_known(names, (*LABEL_NAMES, *ID_NAMES)), options.label, options.id}
    return [name for name in names if name == chosen[0] or name in others], chosen[0], note


def _has_class_columns(path: str, sample: Any, nested: Sequence[str], options: ReadOptions) -> bool:
    """Return whether a table with lists of numbers has a column for each class instead."""
    schema = sample.schema
    numeric = [name for name in schema.names if _is_numeric(schema.field(name).type)]
    known = {*find_known(schema.names, (*ID_NAMES, *LABEL_NAMES, *OTHER_NAMES)), *PANDAS_INDEX,
             options.label, options.id}  # fmt: skip
    free = [name for name in numeric if name not in known]
    if len(free) < 2:
        return False
    values = np.stack([_sample_values(sample[name]) for name in free], axis=1)
    if not sum_to_one(free, values, ()):
        raise_file_error(
            path,
            f"has lists in {', '.join(nested)} and numbers in {', '.join(free)[:100]}",
            f"name the predictions: pass --key {nested[0]} or {columns_option(free, schema.names)}",
        )
    return True


def _sample_values(column: Any) -> Array:
    """Return the first values of a column: floats if it is numeric, otherwise objects."""
    column = column[:SAMPLE_ROWS]
    if _is_numeric(column.type):
        return floats(_whole(column))
    return np.array([None if v is None else str(v) for v in column.to_pylist()], dtype=object)


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def as_numpy(column: Any) -> Array:
    """Return a column of labels or identifiers; lists of equal length become rows."""
    column = _whole(column)
    if _is_list(column.type) and not column.null_count:
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        if len(lengths) and lengths.min() == lengths.max() > 0:
            return floats(column.flatten()).reshape(len(column), -1)
    if column.null_count and _is_integral(column.type):  # NumPy would convert it to floats
        return np.array(column.to_pylist(), dtype=object)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def read_columns(table: Any, names: Sequence[str]) -> list[Array]:
    """Return columns of a table as arrays."""
    return [as_numpy(table[name]) for name in names]


def _is_integral(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _is_numeric(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind))


def _numpy_preserves(kind: Any) -> bool:
    """Return whether the dtype of the converted values determines the Arrow type."""
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    lost = zoned or pa.types.is_time(kind) or pa.types.is_decimal(kind)
    return not (lost or _is_integral(kind))


def _is_list(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_nested(kind: Any) -> bool:
    return _is_list(kind) or bool(pa.types.is_struct(kind))


def _holds_numbers(kind: Any) -> bool:
    """Return whether a type is lists of numbers, or records with a number for each class."""
    while _is_list(kind):
        kind = kind.value_type
        if _is_numeric(kind):
            return True
    if not pa.types.is_struct(kind) or not kind.num_fields:
        return False
    kinds = [_is_numeric(field.type) for field in kind]
    return all(kinds) or bool(find_names([field.name for field in kind], *SCORES))


def depth_of(kind: Any) -> int:
    """Return the nesting depth of lists."""
    return 1 + depth_of(kind.value_type) if _is_list(kind) else 0


def _dtype(kind: Any) -> Any:
    """Return the dtype that `floats` gives the innermost values of lists."""
    while _is_list(kind):
        kind = kind.value_type
    return kind.to_pandas_dtype() if pa.types.is_floating(kind) else np.float64


def _shape(row: Any, depth: int) -> tuple[int, int] | str:
    """Return members and classes of a row of lists, or what is wrong with it."""
    if row is None:
        return "is missing"
    members = row if depth == 2 else [row]
    if None in members:
        return "has a missing list"
    lengths = sorted({len(member) for member in members})
    if len(lengths) > 1:
        return f"has lists of lengths {lengths[:5]}"
    return len(members), lengths[0] if lengths else 0


def floats(column: Any) -> Array:
    """Return a column as floats, missing values as NaN."""
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    return values if values.dtype.kind == "f" else values.astype(np.float64)
