"""Display and conversion of result objects that hold named columns of equal length."""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from credalens import _validation

#: Rows that a repr or an HTML table shows; of longer tables the first and the last half.
MAX_ROWS = 10


class TableResult:
    """Mixin: a short repr, an HTML table for notebooks and a data frame.

    A subclass implements `_columns`. It may override `_index` (row labels) and `_summary` (the
    first line of the repr and the caption of the HTML table). A dataclass needs ``repr=False``.

    Examples
    --------
    >>> class Squares(TableResult):
    ...     def _columns(self):
    ...         return {"x": np.arange(100), "square": np.arange(100) ** 2}
    >>> Squares()
    Squares: 100 rows
          x  square
    0     0       0
    1     1       1
    2     2       4
    3     3       9
    4     4      16
    ...
    95   95    9025
    96   96    9216
    97   97    9409
    98   98    9604
    99   99    9801
    >>> Squares().to_pandas().shape
    (100, 2)
    """

    #: Rows in the repr; 0 shows the summary line alone.
    _repr_rows: ClassVar[int] = MAX_ROWS

    def _columns(self) -> Mapping[str, Sequence[Any] | np.ndarray[Any, Any]]:
        """Return one-dimensional columns of equal length by name."""
        raise AssertionError("a subclass defines the columns")

    def _index(self) -> tuple[str | None, Sequence[Any] | np.ndarray[Any, Any]]:
        """Return the name and the values of the index; by default row numbers."""
        return None, range(len(self))

    def _summary(self) -> str:
        """Return one line that describes the result."""
        return f"{type(self).__name__}: {_validation.counted(len(self), 'row')}"

    def __len__(self) -> int:
        return len(next(iter(self._columns().values())))

    def __repr__(self) -> str:
        if not self._repr_rows:
            return self._summary()
        columns, (name, index) = self._columns(), self._index()
        rows = [[name or "", *columns]]
        for i in shown_rows(len(index), self._repr_rows):
            if i is None:
                rows.append(["..."] + [""] * len(columns))
            else:
                rows.append([str(index[i]), *(format_cell(c[i]) for c in columns.values())])
        return "\n".join([self._summary(), *align(rows)])

    def _repr_html_(self) -> str:
        columns, (name, index) = self._columns(), self._index()
        head = "".join(f"<th>{html.escape(str(title))}</th>" for title in (name or "", *columns))
        body = []
        for i in shown_rows(len(index)):
            if i is None:
                body.append(f'<tr><td colspan="{len(columns) + 1}">...</td></tr>')
                continue
            cells = (f"<td>{html.escape(format_cell(c[i]))}</td>" for c in columns.values())
            body.append(f"<tr><th>{html.escape(str(index[i]))}</th>{''.join(cells)}</tr>")
        count = _validation.counted(len(index), "row")
        return (
            f"<div><p>{html.escape(self._summary())}</p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{''.join(body)}</tbody></table><p>{count}</p></div>"
        )

    def to_pandas(self, index: Any = None) -> Any:
        """Return a pandas data frame with one row per entry.

        Parameters
        ----------
        index : sequence, optional
            Row labels.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = optional_library("pandas")
        name, labels = self._index()
        if index is None:
            index = pandas.Index(labels, name=name)
        elif len(index) != len(labels):
            _validation.raise_invalid(
                "index", f"has {len(index)} labels", f"pass one per row, {len(labels)}"
            )
        return pandas.DataFrame(dict(self._columns()), index=index)


def check_slice(rows: Any, result: TableResult) -> slice:
    """Return `rows` if it is a slice that selects at least one row of `result`."""
    if not isinstance(rows, slice):
        raise TypeError(
            f"{type(result).__name__} indices must be slices, not {type(rows).__name__}"
        )
    if not range(len(result))[rows]:
        _validation.raise_invalid(
            "slice", f"selects none of {len(result)} rows", "select at least one"
        )
    return rows


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return table rows as lines: the first column left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if j else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def shown_rows(n: int, limit: int = MAX_ROWS) -> Iterator[int | None]:
    """Yield the row numbers to display, with None in place of the rows left out."""
    if n <= limit:
        yield from range(n)
        return
    yield from range(limit // 2)
    yield None
    yield from range(n - limit // 2, n)


def format_cell(value: Any) -> str:
    """Return a table cell: at most four significant decimals for floats, text otherwise."""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def optional_library(name: str) -> Any:
    """Import a library that a ``to_<name>`` method needs; raise ImportError if it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"to_{name}() needs {name}: pip install {name}", name=name) from None
