"""True labels, given as names or indices, as class indices."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array, to_numpy

#: Index of a label that is not a class.
UNKNOWN = -1
#: Index of a row whose label is missing or ignored.
UNLABELLED = -2


def class_indices(
    y: Any, batch_shape: tuple[int, ...], n_classes: int, name: str = "y"
) -> NDArray[np.intp]:
    """Return labels as class indices of shape `batch_shape`; raise ValueError for other values."""
    labels = to_numpy(y, name)
    if labels.shape != batch_shape:
        _validation.raise_invalid(
            name, f"has shape {labels.shape}", f"pass labels of shape {batch_shape}"
        )
    if labels.size == 0:
        return np.zeros(batch_shape, np.intp)
    if labels.dtype.kind not in "iub":
        _validation.raise_invalid(
            name,
            f"has dtype {labels.dtype}",
            f"pass class indices, integers from 0 to {n_classes - 1}, in the order of the columns",
        )
    outside = (labels < 0) | (labels >= n_classes)
    if outside.any():
        where = tuple(np.argwhere(outside)[0])
        at = f" at index {_validation.format_index(where)} (zero-based)" if where else ""
        _validation.raise_invalid(
            name, f"is {labels[where]}{at}", f"classes are 0 to {n_classes - 1}"
        )
    return labels.astype(np.intp)


def label_indices(
    labels: Array, class_names: tuple[str, ...] | None, n_classes: int
) -> NDArray[np.intp]:
    """Return labels ``(n,)``, given as class names or indices, as indices; `UNKNOWN` for others.

    If a class name is a number, numeric labels are names: with classes 1, 2, 3, label 1 is the
    first class and label 0 is unknown. The text "1.0" is read as 1 unless a class has that name:
    pandas writes integers as floats if a value was missing. False and True, also as text in any
    case, are 0 and 1 unless a class has such a name. Other names are compared without regard to
    case if no two classes differ only in that.
    """
    names_are_numbers = has_numeric_names(class_names)
    if labels.dtype.kind in "iuf" and not names_are_numbers:
        inside = (labels >= 0) & (labels < n_classes)
        if labels.dtype.kind == "f":
            inside &= labels == np.floor(np.where(inside, labels, 0))
        # Of unsigned labels, the sentinel would wrap; of NaN, the conversion is undefined.
        indices = np.where(inside, labels, np.zeros_like(labels)).astype(np.intp)
        indices[~inside] = UNKNOWN
        return indices
    table = {str(i): i for i in range(n_classes)} if not names_are_numbers else {}
    table.update({name: i for i, name in enumerate(class_names or ())})
    booleans = {name.lower(): i for name, i in table.items() if name.lower() in ("false", "true")}
    if not booleans:
        digits = {"false": "0", "true": "1"}
        booleans = {word: table[text] for word, text in digits.items() if text in table}
    for word, i in booleans.items():
        table = {word: i, word.title(): i, word.upper(): i} | table
    folded = _case_insensitive(class_names or ())

    def index(label: Any) -> int:
        text = _text(label)
        for names, key in ((table, text), (table, canonical_text(label)), (folded, _fold(text))):
            if key in names:
                return names[key]
        return UNKNOWN

    return np.fromiter(map(index, labels.tolist()), np.intp, len(labels))


def _fold(name: str) -> str:
    return " ".join(name.casefold().split())


def _case_insensitive(class_names: tuple[str, ...]) -> dict[str, int]:
    """Return the indices of names without regard to case; none if two names then are equal."""
    folded = {_fold(name): i for i, name in enumerate(class_names)}
    return folded if len(folded) == len(class_names) else {}


def label_distributions(labels: Array) -> tuple[NDArray[np.intp], Array | None]:
    """Return the most probable class of rows ``(n, K)``, and the rows as distributions.

    Parameters
    ----------
    labels : array of shape (n, K)
        One-hot rows, distributions, or counts of annotators. A row of zeros, or with NaN, has no
        label.

    Returns
    -------
    indices : array of int, shape (n,)
        The first of several most probable classes; `UNLABELLED` for a row without a label, and
        `UNKNOWN` for one that cannot be a distribution.
    distributions : array of float, shape (n, K), or None
        Rows that sum to 1, NaN without a label; ``None`` if all are one-hot.

    Examples
    --------
    >>> import numpy as np
    >>> label_distributions(np.array([[3, 1], [0, 4]]))
    (array([0, 1]), array([[0.75, 0.25], [0.  , 1.  ]]))
    """
    rows = np.asarray(labels, np.float64)
    missing = np.isnan(rows).any(axis=1) | (rows == 0).all(axis=1)
    with np.errstate(invalid="ignore"):
        invalid = ~missing & ~((rows >= 0) & (rows < np.inf)).all(axis=1)
        sums = rows.sum(axis=1)
        shares = rows / np.where(missing | invalid, np.nan, sums)[:, None]
    indices = np.where(missing | invalid, 0.0, rows.argmax(axis=1)).astype(np.intp)
    indices[missing], indices[invalid] = UNLABELLED, UNKNOWN
    one_hot = ((rows == 0) | (rows == 1)).all(axis=1) & (sums == 1)
    return indices, None if (one_hot | missing | invalid).all() else shares


def has_numeric_names(class_names: tuple[str, ...] | None) -> bool:
    """Return whether a class name is a number, so that numeric labels are names, not indices."""
    return class_names is not None and any(name.isdecimal() for name in class_names)


def canonical_text(value: Any) -> str:
    """Return a label or an identifier as text, equal for 1, 1.0, "1.0" and b"1"."""
    text = _text(value)
    whole = re.fullmatch(r"(-?\d+)\.0+", text)
    return whole[1] if whole else text


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip()


def is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or pandas' equivalent of these."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA compares as neither equal nor unequal
        return True
