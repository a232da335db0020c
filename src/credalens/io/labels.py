"""Files of labels, the true classes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from credalens._backend import Array
from credalens.evaluation.labels import canonical_text
from credalens.io.columns import ID_NAMES, LABEL_NAMES, PANDAS_INDEX, find_column, find_known
from credalens.io.formats import FORMATS, column_names, source_class
from credalens.io.source import find_names, raise_file_error, read_errors
from credalens.io.streams import ByteStream, format_suffix


def first_difference(a: Array, b: Array) -> int | None:
    """Return the first index at which two arrays of identifiers differ."""
    if np.array_equal(a, b):
        return None
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if str(x) != str(y) and canonical_text(x) != canonical_text(y):
            return i
    return None


def positions_by_id(path: str, ids: Array) -> dict[str, int]:
    """Return the position of each identifier; raise if one occurs twice."""
    texts = list(map(canonical_text, ids.tolist()))
    positions = {text: i for i, text in enumerate(texts)}
    if len(positions) < len(texts):
        twice = next(text for i, text in enumerate(texts) if positions[text] != i)
        raise_file_error(
            path,
            f"has the id {twice!r} twice, and its rows are in another order",
            "make ids unique, or pass --id-column none to match rows by position",
        )
    return positions


class LabelFile:
    """Labels in a ``.npy`` file, read when they are sliced; only the path is pickled."""

    ids = None

    def __init__(self, path: str) -> None:
        self.path = path
        if Path(path).suffix.lower() != ".npy":
            fix = "save the labels as .npy, or as a column of the Parquet files"
            raise_file_error(path, "cannot be read by partition", fix)
        with read_errors(path):
            labels = self._mapped()
            if labels.ndim not in (1, 2) or labels.dtype.kind not in "iufSUb":
                problem = f"has shape {labels.shape} and dtype {labels.dtype}"
                raise_file_error(path, problem, "save one label per row")
            self._length = len(labels)

    def _mapped(self) -> Array:
        return np.asarray(np.load(self.path, mmap_mode="r", allow_pickle=False))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, rows: slice) -> Array:
        with read_errors(self.path):
            return np.array(self._mapped()[rows])

    def at(self, start: int, n: int, ids: Array | None, invalid: Collection[int]) -> Array:
        """Return the labels of the rows from `start` on."""
        return self[start : start + n]


@dataclass(eq=False)
class LabelTable:
    """Labels in memory, joined to the rows by identifiers if both have them."""

    path: str
    #: ``(n,)``, or ``(n, K)``.
    values: Array
    ids: Array | None = None
    #: What was inferred, for the user.
    notes: list[str] = field(default_factory=list)
    _positions: dict[str, int] | None = None
    _first_id: str = ""
    _matched: int = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def by_id(self) -> bool:
        """Whether the labels are joined by identifiers, in another order than the rows."""
        return self._positions is not None

    def at(self, start: int, n: int, ids: Array | None, invalid: Collection[int]) -> Array:
        """Return the labels of `n` rows from `start` on; NaN or None for rows without a label.

        `ids` are the identifiers of the rows. Those of `invalid` rows may be missing.
        """
        if (
            self.ids is None
            or ids is None
            or (ids.dtype.kind == "M")
            != (
                self.ids.dtype.kind == "M"  # text can represent a date in several ways
            )
        ):
            return self.values[start : start + n]
        if self._positions is None:
            rows = np.delete(np.arange(n), list(invalid))
            own = self.ids[start : start + n]
            fits = len(own) == n and first_difference(own[rows], ids[rows]) is None
            if fits:
                return self.values[start : start + n]
            self._join(ids[rows])
        positions = self._positions or {}
        found = np.array([positions.get(canonical_text(i), -1) for i in ids.tolist()], np.intp)
        self._matched += int((found >= 0).sum())
        return _take(self.values, found)

    def _join(self, ids: Array) -> None:
        own = self.ids if self.ids is not None else np.empty(0)
        self._positions = positions_by_id(self.path, own)
        self._first_id = str(ids[0]) if len(ids) else ""
        self._matched = 0
        self.notes.append(f"{self.path}: labels are matched to rows by their ids")

    def check_matches(self) -> None:
        """Raise if labels were matched by identifiers, and no row has one; after the last row."""
        if self._positions is not None and self.ids is not None and not self._matched:
            raise_file_error(
                self.path,
                f"has none of the ids of the rows, such as {self._first_id}; its first is "
                f"{self.ids[0]!s}",
                "pass --id-column none to match labels to rows by position",
            )


def _take(values: Array, positions: Array) -> Array:
    """Return values at positions, missing at negative ones."""
    missing = positions < 0
    if not missing.any():
        return values[positions]
    kind = np.float64 if values.ndim == 2 else object
    found = np.full((len(positions), *values.shape[1:]), np.nan, dtype=kind)
    found[~missing] = values[positions[~missing]]
    if values.ndim == 1:
        found[missing] = None
    return found


def read_labels(
    path: str,
    id_name: str | None = None,
    column: str | None = None,
    classes: Sequence[str] = (),
    key: str | None = None,
) -> LabelTable:
    """Return the labels in a file, and its identifiers if they can be compared to `id_name`.

    The file has any format of predictions, or is text with one label per line. `column` is the name
    or position of the labels, `key` the name of their array; the default is one of `LABEL_NAMES`,
    or the only column. A table with a column for each of `classes`, but none of labels, has a
    distribution, or counts, per row. An index of pandas, which often only numbers the rows, is
    compared to another such index only. `classes` are not mistaken for the header of a single
    column.
    """
    if id_name is None:
        id_names: tuple[str, ...] = ()
    else:
        id_names = PANDAS_INDEX if id_name in PANDAS_INDEX else (id_name, *ID_NAMES)
    ids: Array | None = None
    with read_errors(path):
        suffix = format_suffix(path)
        names = [] if suffix == ".txt" else column_names(Path(path))
        wanted = column if key is None else key
        if names:
            labels, ids = _read_table(path, names, id_names, wanted, classes)
        elif wanted is not None:
            raise_no_columns(path, "--label-column" if key is None else "--label-key")
        elif suffix in FORMATS and suffix != ".txt":
            labels = source_class(suffix).read_columns(path, [""])[0]
        else:
            labels = _read_lines(path)
        if labels.ndim not in (1, 2):
            raise_file_error(path, f"has labels of shape {labels.shape}", "save one per row")
        if labels.dtype.kind not in "iufSUOb":
            raise_file_error(path, f"has labels of dtype {labels.dtype}", "save names or indices")
    return LabelTable(path, labels, ids)


def _read_lines(path: str) -> Array:
    with ExitStack() as stack:
        text = ByteStream(path).open(stack).read()
    lines = text.decode("utf-8-sig").split("\n")
    return np.array([line for line in lines if line.strip()], dtype=object)


def raise_no_columns(path: str, option: str = "--label-column") -> NoReturn:
    """Raise the error for a label column in a file without columns."""
    raise_file_error(option, f"{path} has no columns", "leave it out")


def _read_table(
    path: str, names: list[str], id_names: Sequence[str], column: str | None, classes: Sequence[str]
) -> tuple[Array, Array | None]:
    suffix = format_suffix(path)
    source = source_class(suffix)
    named = find_known(names, LABEL_NAMES) and names[0] not in classes
    if suffix in (".csv", ".tsv") and len(names) == 1 and column is None and not named:
        return source.read_columns(path, ["label"], header=["label"])[0], None
    ids = (find_known(names, id_names) or find_names(names, *id_names))[:1]
    others = [name for name in names if name not in find_known(names, ID_NAMES)]
    label = _label_column(path, others or names, names, column)
    if label is None and classes and set(classes) <= set(names):
        found = source.read_columns(path, [*classes, *ids])
        rows = np.stack([_as_floats(one) for one in found[: len(classes)]], axis=1)
        return rows, found[-1] if ids else None
    if label is None:
        wanted = "a column of labels" if column is None else f"a column {column!r}"
        problem = f"contains {', '.join(names) or 'nothing'}, not {wanted}"
        raise_file_error(path, problem, "name it by --label-column")
    found = source.read_columns(path, [label, *ids])
    identifiers = found[1] if ids else None
    return found[0], identifiers if identifiers is None or identifiers.ndim == 1 else None


def _as_floats(values: Array) -> Array:
    if values.dtype.kind != "O":
        return values.astype(np.float64)
    return np.array([float(v) if v not in (None, "") else np.nan for v in values.tolist()])


def _label_column(
    path: str, others: Sequence[str], names: Sequence[str], column: str | None
) -> str | None:
    if column is not None:
        return find_column(names, column)
    known: list[Any] = find_known(names, LABEL_NAMES)
    return known[0] if known else others[0] if len(others) == 1 else None
