"""Read files of labels: which column or array has the labels, and which the identifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from credalens._backend import Array
from credalens.io.columns import (
    ID_NAMES,
    LABEL_NAMES,
    PANDAS_INDEX,
    find_column,
    find_known,
)
from credalens.io.formats import FORMATS, column_names, source_class
from credalens.io.labels import LabelTable
from credalens.io.limits import read_whole
from credalens.io.source import find_names, raise_file_error, read_errors
from credalens.io.streams import ByteStream, format_suffix
from credalens.io.text_layout import is_number


@dataclass(frozen=True)
class LabelOptions:
    """What is known about the labels of an ensemble."""

    #: Name or position of the column of labels, and name of their array.
    column: str | None = None
    key: str | None = None
    #: Class names; nothing if the classes have none.
    classes: Sequence[str] = ()
    n_classes: int = 0
    #: Name of the identifiers of the rows; ``None`` if they have none.
    id_name: str | None = None
    #: Whether labels are matched by identifiers.
    join: bool = True

    @property
    def id_names(self) -> tuple[str, ...]:
        """Names of columns that can be compared to the identifiers of the rows.

        An index of pandas, which often only numbers the rows, is compared to another one only.
        """
        if self.id_name is None or not self.join:
            return ()
        return PANDAS_INDEX if self.id_name in PANDAS_INDEX else (self.id_name, *ID_NAMES)


def read_labels(path: str, options: LabelOptions | None = None) -> LabelTable:
    """Return the labels in a file, and its identifiers if the rows have some.

    The file has any format of predictions, or is text with one label per line. The labels are the
    column or array that `options` names, one of `LABEL_NAMES`, or the only one. A table with a
    column for each class, but none of labels, has a distribution, or counts, per row.
    """
    options = options or LabelOptions()
    with read_errors(path):
        suffix = format_suffix(path)
        names = [] if suffix == ".txt" else column_names(Path(path))
        if names:
            table = _Table(path, names, options).read()
        elif options.column is not None or options.key is not None:
            raise_no_columns(path, "--label-column" if options.key is None else "--label-key")
        elif suffix in FORMATS and suffix != ".txt":
            table = LabelTable(path, source_class(suffix).read_columns(path, [""])[0])
        else:
            table = LabelTable(path, _read_lines(path, options.classes))
        labels = table.values
        if labels.ndim == 2 and len(labels) == 1 and labels.shape[1] != options.n_classes:
            labels = table.values = labels[0]  # a row vector, as MATLAB writes it
        if labels.ndim not in (1, 2):
            raise_file_error(path, f"has labels of shape {labels.shape}", "save one per row")
        if labels.dtype.kind not in "iufSUOb":
            raise_file_error(path, f"has labels of dtype {labels.dtype}", "save names or indices")
    return table


def _read_lines(path: str, classes: Sequence[str]) -> Array:
    with ExitStack() as stack:
        text = read_whole(path, ByteStream(path).open(stack))
    lines = [line for line in text.decode("utf-8-sig").split("\n") if line.strip()]
    if lines and find_known(lines[:1], LABEL_NAMES) and lines[0].strip() not in classes:
        lines = lines[1:]
    return np.array(lines, dtype=object)


def raise_no_columns(path: str, option: str = "--label-column") -> NoReturn:
    """Raise the error for a label column in a file without columns."""
    raise_file_error(option, f"{path} has no columns", "leave it out")


def _folded(name: str) -> str:
    return name.strip().casefold()


class _Table:
    """A file with columns, or arrays, of which some contain labels and identifiers."""

    def __init__(self, path: str, names: list[str], options: LabelOptions) -> None:
        self.path, self.options = path, options
        self._source = source_class(format_suffix(path))
        self._classes = set(map(_folded, options.classes))
        self._first = names
        is_text = format_suffix(path) in (".csv", ".tsv")
        self._header = not is_text or self._has_header()
        self.names = names if self._header else [str(i) for i in range(len(names))]
        #: Names of the columns of a file without a header.
        self._names_of_columns = None if self._header else self.names
        known = find_known(self.names, options.id_names)
        self._ids = (known or find_names(self.names, *options.id_names))[:1]

    def _has_header(self) -> bool:
        """Return whether the first line has names of columns, rather than a label."""
        names = self._first
        if len(names) == 1:
            return self._is_name(names[0])
        folded = set(map(_folded, names))
        columns_of_classes = bool(self._classes) and self._classes <= folded
        if columns_of_classes or names == [str(k) for k in range(self.options.n_classes)]:
            return True
        if find_known(names, (*LABEL_NAMES, *ID_NAMES)) or self.options.column in names:
            return True
        return folded.isdisjoint(self._classes) and not any(map(is_number, names))

    def _is_name(self, text: str) -> bool:
        """Return whether the only field of the first line is a name, not a label."""
        if is_number(text) or _folded(text) in self._classes:
            return False
        if self._classes or find_known([text], LABEL_NAMES):
            return True
        return all(map(is_number, self._read(["label"], header=["label"])[0][1:]))

    def _read(self, names: Sequence[str], header: Sequence[str] | None = None) -> list[Array]:
        named = {} if header is None else {"header": header}
        found: list[Array] = self._source.read_columns(self.path, names, **named)
        return found

    def read(self) -> LabelTable:
        """Return the labels."""
        label = self._label_column()
        classes = self._class_columns() if label is None else None
        if label is None and classes is None:
            self._raise_no_labels()
        columns = [label] if classes is None else classes
        found = self._read([*columns, *self._ids], self._names_of_columns)
        ids = found[-1] if self._ids and found[-1].ndim == 1 else None
        if classes is None:
            values = found[0]
        else:
            values = np.stack([_as_floats(one) for one in found[: len(classes)]], axis=1)
        table = LabelTable(self.path, values, ids)
        options = self.options
        if ids is None and options.join:
            if options.id_name is None and find_known(self.names, ID_NAMES):
                table.notes.append(
                    f"{self.path}: the predictions have no ids; labels are matched to rows by "
                    "position"
                )
            elif options.id_name not in (None, *PANDAS_INDEX):
                others = [name for name in self.names if name not in columns]
                table.others = (lambda: self._others(others)) if others else None
        return table

    def _others(self, names: Sequence[str]) -> Mapping[str, Array]:
        found = self._read(names, self._names_of_columns)
        return {name: one for name, one in zip(names, found, strict=True) if one.ndim == 1}

    def _label_column(self) -> str | None:
        wanted = self.options.column if self.options.key is None else self.options.key
        if wanted is not None:
            return find_column(self.names, wanted)
        known = find_known(self.names, LABEL_NAMES)
        if known:
            return known[0]
        if not self._header and len(self._first) > 1:
            first = [i for i, text in enumerate(self._first) if _folded(text) in self._classes]
            first = first or [i for i, text in enumerate(self._first) if is_number(text)]
            return str(first[0]) if len(first) == 1 else None
        others = self._without_ids() or self.names
        return others[0] if len(others) == 1 else None

    def _without_ids(self) -> list[str]:
        known = {*find_known(self.names, ID_NAMES), *PANDAS_INDEX}
        return [name for name in self.names if name not in known]

    def _class_columns(self) -> list[str] | None:
        """Return the column of each class, ``None`` if there is not one for each."""
        if not self.options.classes:
            indices = [str(k) for k in range(self.options.n_classes)]
            return indices if len(indices) > 1 and set(indices) <= set(self.names) else None
        by_name = {_folded(name): name for name in self.names}
        exact = [name for name in self.options.classes if name in self.names]
        if len(exact) == len(self.options.classes):
            return exact
        folded = [by_name.get(_folded(name)) for name in self.options.classes]
        found = [name for name in folded if name is not None]
        return found if len(set(found)) == len(self.options.classes) else None

    def _raise_no_labels(self) -> NoReturn:
        options = self.options
        wanted = options.column if options.key is None else options.key
        is_array = "--label-key" in self._source.options
        what, option = ("an array", "--label-key") if is_array else ("a column", "--label-column")
        labels = f"{what} of labels" if wanted is None else f"{what} {wanted!r}"
        fix = f"name it by {option}"
        others = self._without_ids()
        if wanted is None and not options.classes and len(others) == options.n_classes <= 20:
            names = ",".join(others)
            fix += f", or pass --class-names {names} if these are the classes in their order"
        shown = ", ".join(self._first) or "nothing"
        raise_file_error(self.path, f"contains {shown}, not {labels}", fix)


def _as_floats(values: Array) -> Array:
    if values.dtype.kind != "O":
        return values.astype(np.float64)
    numbers: list[Any] = [float(v) if v not in (None, "") else np.nan for v in values.tolist()]
    return np.array(numbers)
