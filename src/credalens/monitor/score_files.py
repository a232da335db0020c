"""Files of scores, read block by block into sketches."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._extras import require
from credalens.io.lines import whole_lines
from credalens.io.parquet import dataset_files
from credalens.io.source import raise_file_error, read_errors
from credalens.io.streams import ByteStream
from credalens.measures.table import MEASURES
from credalens.monitor.outcomes import Coded
from credalens.monitor.sketch import ScoreSketch

pa = require("pyarrow", "cli")
arrow_csv = require("pyarrow.csv", "cli")
arrow_json = require("pyarrow.json", "cli")
arrow_parquet = require("pyarrow.parquet", "cli")

#: Rows that are read at once.
BLOCK_ROWS = 1 << 18
#: Columns of a file of scores that are not scores.
OTHERS = {"row", "id", "rank", "label", "correct", "target", "absolute_error", "cost", "covered"}
#: Columns of categories, which are read as text.
CATEGORIES = ("prediction", "label", "action")
#: Names of columns of families.
_FAMILY = re.compile(r"_((total|aleatoric)(_\w+)?|epistemic)$")
SUFFIXES = (".parquet", ".csv", ".jsonl", ".npz")


def column_types(path: str) -> dict[str, Any]:
    """Return the Arrow types of the columns of a file of scores, by name."""
    suffix = _suffix(path)
    with read_errors(path), ExitStack() as stack:
        if suffix == ".parquet":
            schema = arrow_parquet.read_schema(_parquet_files(path)[0])
        elif suffix == ".csv":
            schema = stack.enter_context(arrow_csv.open_csv(path)).schema
        elif suffix == ".jsonl":
            schema = next(_json_tables(path, stack, None)).schema
        else:
            archive = stack.enter_context(np.load(path, allow_pickle=False))
            return {name: _arrow_type(archive[name]) for name in archive.files}
        return dict(zip(schema.names, schema.types, strict=True))


def _arrow_type(array: Array) -> Any:
    return pa.string() if array.dtype.kind in "US" else pa.from_numpy_dtype(array.dtype)


def score_columns(path: str) -> tuple[str, ...]:
    """Return the columns of a file that are scores: floating-point numbers, and sizes of sets."""
    types = column_types(path)
    found = tuple(
        name
        for name, kind in types.items()
        if name not in OTHERS
        and not name.endswith("_error")
        and (pa.types.is_floating(kind) or (pa.types.is_integer(kind) and _is_score(name)))
    )
    if not found:
        raise_file_error(
            path, "has no columns of scores", "pass a file that credalens score has written"
        )
    return found


def _is_score(name: str) -> bool:
    """Return whether a column of whole numbers, as text files may have them, is a score."""
    return name == "size" or name in MEASURES or bool(_FAMILY.search(name))


def read_sketch(
    path: str,
    empty: ScoreSketch,
    *,
    scores: bool = True,
    progress: Callable[[int], None] = lambda rows: None,
) -> ScoreSketch:
    """Return the sketch of a file of scores.

    Parameters
    ----------
    path : str
        A ``.parquet``, ``.csv``, ``.jsonl`` or ``.npz`` file, or a folder of Parquet files.
    empty : ScoreSketch
        The settings.
    scores : bool, default=True
        As in `ScoreSketch.add`.
    progress : callable
        Called with the number of rows after every block.
    """
    types = column_types(path)
    own = [*empty.columns] if scores else []
    needed = [*own, *([empty.by] if scores and empty.by else [])]
    if empty.policy is not None:
        needed += empty.policy.needed_columns
    by_class = any(one.class_index is not None for one in empty.targets)
    labelled = bool(empty.targets) and "correct" in types
    if not scores and not labelled:
        raise_file_error(path, "has no column 'correct'", "write it by credalens score --labels")
    if labelled:
        needed += ["correct", *(("prediction", "label") if by_class else ())]
    if scores and "prediction" in types and not pa.types.is_floating(types["prediction"]):
        needed.append("prediction")
    needed = list(dict.fromkeys(needed))
    for name in needed:
        if name not in types:
            raise_file_error(
                path, f"has no column {name!r}",
                f"write it with the same options of credalens score; it has {', '.join(types)}",
            )  # fmt: skip
    numbers = {*own, *(() if empty.policy is None else (empty.policy.column, "size"))} - {empty.by}
    for name in numbers & set(needed):
        kind = types[name]
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            raise_file_error(path, f"column {name!r} is {kind}", "pass a column of numbers")
        # The first rows of a text file may be whole numbers, such as 0.
        types[name] = pa.float64() if pa.types.is_integer(kind) else kind
    sketch, rows = empty.empty(), 0
    coded = [name for name in needed if name not in numbers and name != "correct"]
    for table in _read_ahead(_tables(path, needed, coded, types)):
        columns = {name: _column(table[name], name in coded, name) for name in needed}
        sketch.add(columns, scores=scores)
        rows += len(table)
        progress(rows)
    if not rows:
        raise_file_error(path, "has no rows", "leave it out")
    return sketch


def _suffix(path: str) -> str:
    if not Path(path).exists():
        raise_file_error(path, "does not exist", "check the name")
    if Path(path).is_dir():
        if not dataset_files(Path(path)):
            raise_file_error(path, "has no Parquet files", "name files of scores")
        return ".parquet"
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise_file_error(
            path, f"has the file extension {suffix!r}",
            f"files of scores are {', '.join(SUFFIXES)}",
        )  # fmt: skip
    return suffix


def _parquet_files(path: str) -> list[str]:
    return dataset_files(Path(path)) if Path(path).is_dir() else [path]


def _tables(
    path: str, needed: Sequence[str], coded: Sequence[str], types: dict[str, Any]
) -> Iterator[Any]:
    """Yield record batches, tables or dictionaries with the columns."""
    suffix = _suffix(path)
    with read_errors(path), ExitStack() as stack:
        if suffix == ".parquet":
            for name in _parquet_files(path):
                with arrow_parquet.ParquetFile(name, read_dictionary=list(coded)) as file:
                    yield from file.iter_batches(BLOCK_ROWS, columns=list(needed))
        elif suffix == ".csv":
            options = arrow_csv.ConvertOptions(
                include_columns=list(needed), strings_can_be_null=True,
                column_types={n: pa.string() if n in coded else types[n] for n in needed
                              if n in coded or pa.types.is_floating(types[n])},
            )  # fmt: skip
            yield from stack.enter_context(arrow_csv.open_csv(path, convert_options=options))
        elif suffix == ".jsonl":
            yield from _json_tables(path, stack, {name: types[name] for name in needed})
        else:
            archive = stack.enter_context(np.load(path, allow_pickle=False))
            yield _Columns({name: _arrow_array(archive[name]) for name in needed})


def _arrow_array(array: Array) -> Any:
    """Return an array of an ``.npz`` file, in which missing labels are empty texts."""
    if array.dtype.kind in "US":
        return pa.array([text or None for text in array.astype(str).tolist()], pa.string())
    return pa.array(array)


def _read_ahead(tables: Iterator[Any]) -> Iterator[Any]:
    """Yield tables, of which the next one is read while one is counted."""
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(next, tables, None)
        while (table := pending.result()) is not None:
            pending = pool.submit(next, tables, None)
            yield table


class _Columns(dict[str, Any]):
    """Columns of a table, of which `len` is the number of rows."""

    def __len__(self) -> int:
        return len(next(iter(self.values())))


def _json_tables(path: str, stack: ExitStack, types: dict[str, Any] | None) -> Iterator[Any]:
    """Yield the tables of blocks of lines; `types` are the columns to read."""
    options = None
    if types is not None:
        options = arrow_json.ParseOptions(
            explicit_schema=pa.schema(types), unexpected_field_behavior="ignore"
        )
    file = ByteStream(path).open(stack)
    for text in whole_lines(path, file, b"", quotes=False):
        yield arrow_json.read_json(io.BytesIO(text), parse_options=options)


def _column(column: Any, is_coded: bool, name: str) -> Any:
    """Return a column as numbers, as codes, or, of ``correct``, as masked booleans."""
    if name == "correct":
        return _correct(column)
    if not is_coded:
        return column.to_numpy(zero_copy_only=False) if _is_array(column) else column.to_numpy()
    if pa.types.is_integer(column.type):
        if not column.null_count:
            return _integers(np.asarray(column.to_numpy()))
        column = column.cast(pa.string())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    indices = column.indices.fill_null(-1) if column.null_count else column.indices
    return Coded(indices.to_numpy(), np.array(column.dictionary.to_pylist(), dtype=object))


def _is_array(column: Any) -> bool:
    return not isinstance(column, pa.ChunkedArray)


def _integers(values: Array) -> Any:
    """Return class indices as codes, without sorting them; other integers as they are."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if low < 0 or high > 1 << 20:
        return values
    return Coded(values.astype(np.int32), np.arange(high + 1))


def _correct(column: Any) -> Any:
    if not pa.types.is_boolean(column.type):  # text of .npz files, empty without a label
        texts = [str(one).lower() for one in column.to_pylist()]
        known = np.array([text in ("true", "false", "1", "0") for text in texts])
        return np.ma.MaskedArray([text in ("true", "1") for text in texts], ~known)
    missing = (
        column.is_null().to_numpy(zero_copy_only=False)
        if _is_array(column)
        else (column.is_null().to_numpy())
    )
    filled = column.fill_null(False)
    values = filled.to_numpy(zero_copy_only=False) if _is_array(filled) else filled.to_numpy()
    return np.ma.MaskedArray(np.asarray(values, bool), np.asarray(missing, bool))
