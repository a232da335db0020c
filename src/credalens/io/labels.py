"""The labels of the rows, the true classes, in files of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from credalens._backend import Array
from credalens.evaluation.labels import canonical_text
from credalens.io.ids import IdIndex, first_difference
from credalens.io.source import raise_file_error, read_errors


class LabelFile:
    """Labels in a ``.npy`` file, read when they are sliced; only the path is pickled."""

    has_ids = False

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
    #: Returns the other columns, which may contain the identifiers under any name.
    others: Callable[[], Mapping[str, Array]] | None = None
    #: What was inferred, for the user.
    notes: list[str] = field(default_factory=list)
    _index: IdIndex | None = None
    _first_id: str = ""
    _matched: int = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def has_ids(self) -> bool:
        """Whether there may be identifiers, so that rows may lack a label."""
        return self.ids is not None or self.others is not None

    @property
    def by_id(self) -> bool:
        """Whether the labels are joined by identifiers, in another order than the rows."""
        return self._index is not None

    def at(self, start: int, n: int, ids: Array | None, invalid: Collection[int]) -> Array:
        """Return the labels of `n` rows from `start` on; NaN or None for rows without a label.

        `ids` are the identifiers of the rows. Those of `invalid` rows may be missing.
        """
        if ids is not None and self.others is not None:
            self._find_ids(ids, self.others())
        own = self.ids
        if ids is None or own is None or (ids.dtype.kind == "M") != (own.dtype.kind == "M"):
            return self.values[start : start + n]  # text can represent a date in several ways
        if self._index is None:
            rows = np.delete(np.arange(n), list(invalid))
            here = own[start : start + n]
            if len(here) == n and first_difference(here[rows], ids[rows]) is None:
                return self.values[start : start + n]
            self._join(own, ids[rows])
        found = np.full(n, -1) if self._index is None else self._index.positions(ids)
        self._matched += int((found >= 0).sum())
        return _take(self.values, found)

    def _find_ids(self, ids: Array, others: Mapping[str, Array]) -> None:
        """Find the column that contains most identifiers of the first rows, unless these count."""
        self.others = None
        wanted = list(map(canonical_text, ids.tolist()))
        if all(text.isdecimal() for text in wanted):
            return
        for name, column in others.items():
            texts = set(map(canonical_text, column.tolist()))
            if len(texts) == len(column) and 2 * sum(t in texts for t in wanted) >= len(wanted):
                self.ids = column
                self.notes.append(f"{self.path}: the column {name} is read as ids")
                return

    def _join(self, own: Array, ids: Array) -> None:
        self._index = IdIndex(self.path, own, ids)
        self._first_id, self._matched = str(ids[0]) if len(ids) else "", 0
        self.notes.append(
            f"{self.path}: labels are matched to rows by their {self._index.description}"
        )

    def check_matches(self) -> None:
        """Raise if labels were matched by identifiers, and no row has one; after the last row."""
        if self._index is not None and self.ids is not None and not self._matched:
            raise_file_error(
                self.path,
                f"has none of the ids of the rows, such as {self._first_id}; its first is "
                f"{self.ids[0]!s}",
                "save the same ids, or pass --id-column none if it has the order of the rows",
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
