"""The labels of the rows of a chunk, as class indices."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.evaluation.labels import (
    UNKNOWN,
    UNLABELLED,
    canonical_text,
    has_numeric_names,
    is_missing,
    label_distributions,
    label_indices,
)

#: Text that stands for a missing label, unless a class has that name.
MISSING_TEXTS = ("", "nan", "na", "n/a", "<na>", "null", "none")


@dataclass(frozen=True, eq=False)
class RowLabels:
    """Labels of consecutive rows."""

    #: Class indices, `UNLABELLED` for missing and ignored labels, `UNKNOWN` for invalid ones.
    indices: Array
    #: Distributions ``(r, K)``, if there is one per row.
    distributions: Array | None
    missing: int = 0
    ignored: int = 0


def row_labels(
    raw: Array, class_names: tuple[str, ...] | None, n_classes: int, ignore: Collection[str] = ()
) -> RowLabels:
    """Return labels as indices.

    Parameters
    ----------
    raw : array of shape (r,), (r, 1) or (r, K)
        Names or indices of classes; or one-hot rows, distributions or counts.
    class_names : tuple of str, optional
        Names of the classes.
    n_classes : int
        Number of classes.
    ignore : collection of str
        Labels that are treated as missing, as text.

    Returns
    -------
    RowLabels

    Raises
    ------
    ValueError
        If rows have neither one label nor one number per class.

    Examples
    --------
    >>> import numpy as np
    >>> found = row_labels(np.array([0, 255, 1], np.uint8), None, 3, ["255"])
    >>> found.indices.tolist(), found.ignored
    ([0, -2, 1], 1)
    """
    if raw.ndim == 2 and raw.shape[1] == 1:
        raw = raw[:, 0]
    if raw.ndim == 2:
        if raw.shape[1] != n_classes:
            raise ValueError(
                f"has labels of shape (rows, {raw.shape[1]}); "
                f"save one label per row, or one number for each of {n_classes} classes"
            )
        indices, distributions = label_distributions(_as_float64(raw))
        return RowLabels(indices, distributions, int((indices == UNLABELLED).sum()))
    missing = _missing(raw, class_names or ())
    ignored = ~missing & _equals_any(raw, ignore)
    indices = np.full(len(raw), UNLABELLED, np.intp)
    rest = ~(missing | ignored)
    indices[rest] = label_indices(raw[rest], class_names, n_classes)
    return RowLabels(indices, None, int(missing.sum()), int(ignored.sum()))


def _as_float64(raw: Array) -> Array:
    if raw.dtype.kind != "O":
        return raw.astype(np.float64)
    return np.array([[np.nan if v is None else float(v) for v in row] for row in raw])


def _missing(raw: Array, class_names: tuple[str, ...]) -> Array:
    if raw.dtype.kind in "iub":
        return np.zeros(len(raw), bool)
    if raw.dtype.kind == "f":
        return np.isnan(raw)
    names = {name.lower() for name in class_names}
    texts = [text for text in MISSING_TEXTS if text not in names]

    def of(label: Any) -> bool:
        if is_missing(label):
            return True
        if isinstance(label, bytes):
            label = label.decode("utf-8", "replace")
        return isinstance(label, str) and label.strip().lower() in texts

    return np.fromiter(map(of, raw.tolist()), bool, len(raw))


def _equals_any(raw: Array, texts: Collection[str]) -> Array:
    if not texts:
        return np.zeros(len(raw), bool)
    wanted = {canonical_text(text) for text in texts}
    if raw.dtype.kind in "iu":
        numbers = [int(text) for text in wanted if text.lstrip("-").isdecimal()]
        limits = np.iinfo(raw.dtype)
        return np.isin(raw, [n for n in numbers if limits.min <= n <= limits.max])
    return np.fromiter((canonical_text(x) in wanted for x in raw.tolist()), bool, len(raw))


def label_fix(raw: Array, label: Any, class_names: tuple[str, ...] | None, n_classes: int) -> str:
    """Return what to do about a label that is not a class, in view of all labels `raw`.

    If the label K occurs and 0 does not, labels may count from one, and ignoring K would be wrong.
    Names of classes that have no names are not to be ignored either.
    """
    if raw.ndim == 2 and raw.shape[1] > 1:
        return "save one-hot rows, distributions or counts, which are not negative"
    texts = {canonical_text(x) for x in raw.reshape(-1).tolist()}
    if class_names is None and not any(re.fullmatch(r"-?\d+(\.\d+)?", text) for text in texts):
        return "the classes have no names: pass --class-names in the order of the columns"
    known = ", ".join((class_names or ())[:20])
    if has_numeric_names(class_names):
        return f"labels are {known}; pass --ignore-label {canonical_text(label)} or relabel"
    known += f"{' or ' if known else ''}0 to {n_classes - 1}"
    if str(n_classes) in texts and "0" not in texts:
        return f"labels are {known}; if these start at 1, pass --class-names 1-{n_classes}"
    return f"labels are {known}; pass --ignore-label {canonical_text(label)} or relabel"


__all__ = ["UNKNOWN", "UNLABELLED", "RowLabels", "label_fix", "row_labels"]
