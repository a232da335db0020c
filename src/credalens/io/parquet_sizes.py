"""Sizes of Parquet columns that few bytes can state, checked before they are decoded."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from credalens._extras import require
from credalens._memory import max_memory
from credalens.io.limits import check_memory, check_stored
from credalens.io.parquet_footer import footer_size, level_histograms, parse_footer
from credalens.io.source import raise_file_error

pa = require("pyarrow", "cli")
arrow_compute = require("pyarrow.compute", "cli")
arrow_parquet = require("pyarrow.parquet", "cli")


def check_sizes(path: str, file: Any) -> None:
    """Raise an error if a column of few bytes states a very large size.

    Values of columns without lists are decoded in batches, those of one row with lists at once.
    """
    for field in file.schema_arrow:
        check_memory(path, f"a row of the column {field.name!r}", _fixed_size(field.type))
    _check_histograms(path, file)
    metadata = file.metadata
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            column = group.column(j)
            what, stored = f"the column {column.path_in_schema!r}", column.total_compressed_size
            size = column.total_uncompressed_size
            if column.num_values > group.num_rows:
                size = max(size, 8 * column.num_values)
            check_stored(path, what, size, stored)


def _check_histograms(path: str, file: Any) -> None:
    """Raise an error if the statistics of levels of a column contradict the schema.

    pyarrow ends the process when it reads such metadata of a column.
    """
    with open(path, "rb") as raw:
        raw.seek(-8, os.SEEK_END)
        raw.seek(-8 - footer_size(raw.read(8)), os.SEEK_END)
        data = raw.read()
    try:
        found = list(level_histograms(parse_footer(data)))
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        problem = f"has a damaged footer ({type(error).__name__})"
        raise_file_error(path, problem, "write it again")
    for j, sizes in found:
        if j >= len(file.schema):
            raise_file_error(path, f"has a damaged footer (column {j})", "write it again")
        column = file.schema.column(j)
        levels = column.max_repetition_level + 1, column.max_definition_level + 1
        for size, expected in zip(sizes, levels, strict=True):
            if size not in (0, expected):
                problem = (
                    f"has statistics of {size} levels in the column {column.path!r}, which has "
                    f"{expected}"
                )
                raise_file_error(path, problem, "write it again")


def _fixed_size(kind: Any) -> int:
    """Return the bytes of a value of a type, as far as the type determines them."""
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size) * _fixed_size(kind.value_type)
    if pa.types.is_fixed_size_binary(kind):
        return int(kind.byte_width)
    return 8


def check_text(
    path: str, metadata: Any, names: Iterable[str | None], rows: int, first: bool = False
) -> None:
    """Raise an error if `rows` rows of columns of text need more memory than the limit.

    A dictionary stores a long text once for any number of rows. The lengths are read where that is
    possible; with `first`, of the first rows only.
    """
    wanted = {name for name in names if name is not None}
    sizes: dict[str, int] = {}
    prefixes = set[str]()
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            column = group.column(j)
            name, size = column.path_in_schema, column.total_uncompressed_size
            is_text = column.physical_type == "BYTE_ARRAY" and name in wanted
            if is_text and min(rows, group.num_rows) * size > max_memory():
                sizes[name] = max(size, sizes.get(name, 0))
            if "DELTA_BYTE_ARRAY" in column.encodings:
                prefixes.add(name)
    for name, size in sizes.items():
        # Text that shares prefixes is decoded in steps that fit if each row has all of the bytes.
        step = max(1, max_memory() // size) if name in prefixes else rows
        options = {} if name in prefixes else {"read_dictionary": [name]}
        with arrow_parquet.ParquetFile(path, pre_buffer=False, **options) as file:
            _check_lengths(path, name, file.iter_batches(step, columns=[name]), rows, first)


def _check_lengths(path: str, name: str, batches: Any, rows: int, first: bool) -> None:
    """Check the text of each `rows` rows of a column, or of the first."""
    count = total = 0
    for batch in batches:
        column = batch.column(0)
        if pa.types.is_dictionary(column.type):
            lengths = arrow_compute.binary_length(column.dictionary).cast(pa.int64())
            total += arrow_compute.sum(lengths.take(column.indices)).as_py() or 0
        else:
            total += column.nbytes
        count += len(batch)
        check_memory(path, f"the text of {count} rows in the column {name!r}", total)
        if count >= rows:
            if first:
                return
            count = total = 0
