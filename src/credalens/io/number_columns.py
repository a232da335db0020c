"""Columns and rows of prediction files whose numbers are not distributions over classes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from credalens.io.columns import ID_NAMES, LABEL_NAMES, OTHER_NAMES, PANDAS_INDEX, find_known
from credalens.io.ensemble import raise_label_count_error
from credalens.io.source import Source, raise_file_error


def has_arrays(name: str) -> bool:
    """Return whether the names in a file are those of arrays, not of columns."""
    return Path(name).suffix.lower() in (".npz", ".h5", ".hdf5", ".safetensors", ".pt", ".pth")


def number_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns whose names are not those of identifiers, labels, folds and the like."""
    left_out = {*find_known(names, (*ID_NAMES, *LABEL_NAMES, *OTHER_NAMES)), *PANDAS_INDEX}
    return tuple(name for name in names if name not in left_out)


def check_rows(sources: Sequence[Source], truth: Any, missing: bool) -> None:
    """Raise for files with different numbers of rows, as far as these are known."""
    by_id = all(source.id_name is not None for source in sources)
    known = [source for source in sources if source.n_rows is not None]
    for source in known[1:]:
        if source.n_rows != known[0].n_rows and not (missing and by_id):
            problem = f"has {source.n_rows} rows, {known[0].path} {known[0].n_rows}"
            raise_file_error(source.path, problem, "pass models of the same rows")
    if truth is None or not known or truth.has_ids or missing:
        return
    if len(truth) != known[0].n_rows:
        raise_label_count_error(truth.path, len(truth), known[0].n_rows, sources)
