"""True classes, as names or indices."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens._arrays import Array

#: Stands for a label that is no class.
UNKNOWN = -1


def label_indices(
    labels: Array, class_names: tuple[str, ...] | None, n_classes: int
) -> NDArray[np.intp]:
    """Return labels, given as names or indices, as indices; `UNKNOWN` where they are neither.

    If a class is called by a number, numbers are names: if the classes are called 1, 2, 3, then a
    label 1 is the first class and 0 is none. 1.0 in a text is 1, unless a class is called 1.0:
    pandas writes integers so if one was ever missing. False and True, also in a text and in
    capitals or not, are 0 and 1; if a class is called by one of them, they are names.
    """
    names_are_numbers = numbered(class_names)
    if labels.dtype.kind in "iu" and not names_are_numbers:
        inside = (labels >= 0) & (labels < n_classes)
        return np.where(inside, labels, UNKNOWN).astype(np.intp)
    table = {str(i): i for i in range(n_classes)} if not names_are_numbers else {}
    table.update({name: i for i, name in enumerate(class_names or ())})
    truths = {name.lower(): i for name, i in table.items() if name.lower() in ("false", "true")}
    if not truths:
        numbers = {"false": "0", "true": "1"}
        truths = {word: table[text] for word, text in numbers.items() if text in table}
    for word, i in truths.items():
        table = {word: i, word.title(): i, word.upper(): i} | table
    found = (_found(table, label) for label in labels.tolist())
    return np.fromiter(found, np.intp, len(labels))


def numbered(class_names: tuple[str, ...] | None) -> bool:
    """Tell whether a class is called by a number, so that numbers are no indices."""
    return class_names is not None and any(name.isdecimal() for name in class_names)


def _found(table: dict[str, int], label: Any) -> int:
    index = table.get(_text(label))
    return table.get(plain(label), UNKNOWN) if index is None else index


def plain(value: Any) -> str:
    """Return a label or an identifier as text, the same for 1, 1.0, "1.0" and b"1"."""
    text = _text(value)
    whole = re.fullmatch(r"(-?\d+)\.0+", text)
    return whole[1] if whole else text


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)).strip()


def is_missing(label: Any) -> bool:
    """Say whether a label is None, NaN, or what pandas has for them."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA, which is neither equal nor unequal
        return True
