"""True classes: as names or indices, in a prediction file or in one of their own."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from credalens._arrays import Array
from credalens.datasets.files.arrays import IDS
from credalens.datasets.files.source import INDEX, reading, refuse_file, so_called
from credalens.evaluation.labels import is_missing, plain

#: What labels are called if nothing else is said, in capitals or not.
USUAL = ("label", "labels", "y", "y_true", "target", "class", "true_label")


def missing(label: Any) -> bool:
    """Tell whether a label was left out."""
    return is_missing(label) or label == ""


def first_difference(these: Array, those: Array) -> int | None:
    """Return the first place where identifiers are not the same."""
    if np.array_equal(these, those):
        return None
    for i, (a, b) in enumerate(zip(these, those, strict=False)):
        if str(a) != str(b) and plain(a) != plain(b):
            return i
    return None


class LabelFile:
    """Labels in a ``.npy`` file that stay there: only the rows that are asked for are read.

    It can be sent to another process, where only the name of the file goes.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        if Path(path).suffix.lower() != ".npy":
            refuse_file(
                path,
                "cannot be read by partition",
                "save the labels as .npy, or as a column of the Parquet files",
            )
        with reading(path):
            labels = self._mapped()
            if labels.ndim != 1 or labels.dtype.kind not in "iufSUb":
                refuse_file(
                    path, f"has shape {labels.shape} and dtype {labels.dtype}", "save one per row"
                )
            self._length = len(labels)

    def _mapped(self) -> Array:
        return np.asarray(np.load(self.path, mmap_mode="r", allow_pickle=False))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, part: slice) -> Array:
        with reading(self.path):
            return np.array(self._mapped()[part])


def read_labels(
    path: str,
    id_name: str | None = None,
    column: str | None = None,
    classes: Sequence[str] = (),
) -> tuple[Array, Array | None]:
    """Read a file of labels, one per row: ``.npy``, ``.npz``, a table, or plain text.

    The column, or array, is that called `column`, or one of `USUAL`, or the only one. Labels are
    held in memory, unlike predictions, and with them the identifiers, if the file has some that can
    be compared with those called `id_name`. The index of a table, which often only counts the rows,
    is compared with another index alone. A class may be called as a column of labels often is.
    """
    names = INDEX if id_name in INDEX else () if id_name is None else (id_name, *IDS)
    ids: Array | None = None
    with reading(path):
        ending = Path(path).suffix.lower()
        if column is not None and ending not in (".npz", ".csv", ".tsv", ".parquet"):
            refuse_no_columns(path)
        if ending in (".npy", ".npz"):
            labels, ids = _from_arrays(path, names, column)
        elif ending in (".csv", ".tsv", ".parquet"):
            labels, ids = _from_table(path, ending, names, column, classes)
        else:
            lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
            labels = np.array([line for line in lines if line.strip()], dtype=object)
        if labels.ndim != 1:
            refuse_file(path, f"has labels of shape {labels.shape}", "save one per row")
        if labels.dtype.kind not in "iufSUOb":
            refuse_file(path, f"has labels of dtype {labels.dtype}", "save names or indices")
    return labels, ids


def refuse_no_columns(path: str) -> NoReturn:
    """Refuse the name of a column of labels in a file that has none."""
    refuse_file("--label-column", f"{path} has no columns", "leave it out")


def _chosen(path: str, held: Sequence[str], column: str | None) -> str:
    """Return the name of the labels among those that a file holds."""
    if column is None:
        known = so_called(held, *USUAL)
        found = known[0] if known else held[0] if len(held) == 1 else None
    else:
        at = held[int(column)] if column.isdecimal() and int(column) < len(held) else None
        found = column if column in held else at
    if found is None:
        listed = ", ".join(held) or "nothing"
        wanted = "a column of labels" if column is None else f"a column {column!r}"
        refuse_file(path, f"holds {listed}, not {wanted}", "name it by --label-column")
    return found


def _from_arrays(
    path: str, id_names: Sequence[str], column: str | None
) -> tuple[Array, Array | None]:
    held = np.load(path, allow_pickle=False)
    if isinstance(held, np.ndarray):
        return held, None
    with held:
        name = next(iter(so_called(held.files, *id_names)), None)
        others = [other for other in held.files if other not in so_called(held.files, *IDS)]
        labels = held[_chosen(path, others, column)]
        return np.asarray(labels), None if name is None else np.asarray(held[name])


def _from_table(
    path: str, ending: str, id_names: Sequence[str], column: str | None, classes: Sequence[str]
) -> tuple[Array, Array | None]:
    import pyarrow.csv
    import pyarrow.parquet

    if ending == ".parquet":
        table = pyarrow.parquet.read_table(path)
        chosen = _chosen(path, table.column_names, column)
    else:
        delimiter = "\t" if ending == ".tsv" else ","
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = next(csv.reader(file, delimiter=delimiter), [])
        header = [name.strip() for name in first]
        # One column is a list of labels, unless its first line is what labels are called.
        plain = len(header) == 1 and column is None
        plain = plain and (header[0] in classes or header[0].lower() not in USUAL)
        header = ["label"] if plain else header
        chosen = _chosen(path, header, column)
        table = pyarrow.csv.read_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(
                column_names=header, skip_rows_after_names=0 if plain else 1
            ),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(
                    (chosen, *so_called(header, *id_names)), pyarrow.string()
                )
            ),
        )
    name = next(iter(so_called(table.column_names, *id_names)), None)
    ids = None if name is None else np.asarray(table[name].to_numpy())
    return np.asarray(table[chosen].to_numpy()), ids
