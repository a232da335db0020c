"""Arrow files: ``.feather`` and ``.arrow``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from credalens._backend import Array
from credalens._extras import require
from credalens.io.arrow_rows import SAMPLE_ROWS, ArrowRows, read_columns
from credalens.io.arrow_sizes import check_batches
from credalens.io.source import (
    COLUMN_OPTIONS,
    Block,
    ReadOptions,
    Source,
    raise_file_error,
    slice_blocks,
)

pa = require("pyarrow", "cli")
arrow_feather = require("pyarrow.feather", "cli")


@contextmanager
def _batches(path: str) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Open an Arrow file, stream or Feather file; yield its schema and its record batches."""
    with pa.OSFile(path, "rb") as file, _damage(path):
        start = file.read(6)
        file.seek(0)
        if start == b"ARROW1":
            reader = pa.ipc.open_file(file)
            batches = map(reader.get_batch, range(reader.num_record_batches))
            yield reader.schema, map(_validated, batches)
        elif start.startswith(b"FEA1"):  # the first version of the Feather format
            table = arrow_feather.read_table(path)
            yield table.schema, map(_validated, table.to_batches())
        else:
            reader = pa.ipc.open_stream(file)
            yield reader.schema, map(_validated, reader)


def _validated(batch: Any) -> Any:
    """Return a batch whose offsets are within its buffers, which pyarrow does not check."""
    batch.validate(full=True)
    return batch


@contextmanager
def _damage(path: str) -> Iterator[None]:
    """Report the absurd sizes in a damaged file, which exhaust the memory."""
    try:
        yield
    except MemoryError:
        raise_file_error(path, "has a batch that does not fit into memory", "write it again")


class ArrowSource(Source):
    """A ``.feather`` or ``.arrow`` file; see `ArrowRows` for the columns."""

    options = (*COLUMN_OPTIONS, "--key")

    def __init__(self, path: str, options: ReadOptions) -> None:
        self.path = path
        check_batches(path)
        with _batches(path) as (schema, batches):
            first = next((batch for batch in batches if batch.num_rows), None)
            if first is None:
                raise_file_error(path, "has no rows", "write at least one")
            sample = pa.Table.from_batches([first.slice(0, SAMPLE_ROWS)], schema=schema)
            self._rows = ArrowRows(path, sample, options)
            self._rows.describe(self)

    @classmethod
    def column_names(cls, path: str) -> list[str]:
        """Return the names of the columns."""
        with _batches(path) as (schema, _):
            return list(schema.names)

    @classmethod
    def read_columns(cls, path: str, names: Sequence[str]) -> list[Array]:
        """Return columns."""
        check_batches(path)
        with _batches(path) as (schema, batches):
            table = pa.Table.from_batches(batches, schema=schema)
        return read_columns(table, names)

    def raw_blocks(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield blocks of at most `rows` rows of a record batch."""

        def blocks() -> Iterator[Block]:
            with _batches(self.path) as (_, batches):
                for batch in batches:
                    for first in range(0, batch.num_rows, rows):
                        yield self._rows.block(batch.slice(first, rows))

        yield from slice_blocks(blocks(), start, stop)
