"""Weights of the models, from the command line or from a file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np

from credalens._backend import Array
from credalens._validation import counted
from credalens.io.source import raise_file_error, read_errors

#: The name in errors about weights that are not in a file.
OPTION = "--weights"


def read_weights(text: str, names: Sequence[str]) -> Array:
    r"""Return the weights ``(M,)`` of the models with these `names`.

    `text` has one number per model, separated by commas, or is the name of a file: numbers in the
    order of the models, in lines or separated by commas, an array in ``.npy``, or lines with the
    name of a model and its weight, in any order.

    Examples
    --------
    >>> read_weights("1, 2.5", ["a", "b"])
    array([1. , 2.5])
    """
    path = text if os.path.isfile(text) else OPTION
    if path == OPTION:
        cells: list[list[str]] = [[cell] for cell in text.split(",")]
        if not all(_is_number(cell) for (cell,) in cells):
            raise_file_error(
                OPTION, f"{text} is neither a file nor numbers", "pass a file, or w1,w2,..."
            )
    elif text.lower().endswith(".npy"):
        with read_errors(path):
            array = np.load(text, allow_pickle=False)
        cells = [[str(x)] for x in array.ravel().tolist()]
    else:
        with read_errors(path), open(text, encoding="utf-8-sig") as stream:
            lines = [line.strip() for line in stream if line.strip()]
        cells = [re.split(r"[,;\t]", line) for line in lines]
        named = all(len(row) == 2 for row in cells) and {row[0].strip() for row in cells} >= {
            *names
        }
        if not named and all(_is_number(cell) for row in cells for cell in row):
            cells = [[cell] for row in cells for cell in row]
    if cells and all(len(row) == 1 for row in cells):
        return _checked(path, [row[0] for row in cells], names)
    return _checked(path, _by_name(path, cells, names), names)


def _by_name(path: str, rows: list[list[str]], names: Sequence[str]) -> list[str]:
    """Return the weights of named models in their order; a header is left out."""
    pairs = [[cell.strip() for cell in row] for row in rows]
    if pairs and len(pairs[0]) == 2 and not _is_number(pairs[0][1]) and pairs[0][0] not in names:
        pairs = pairs[1:]
    if not pairs or any(len(row) != 2 or not _is_number(row[1]) for row in pairs):
        raise_file_error(
            path,
            "has lines that are not weights",
            "write one number per model, or lines with a model and its weight",
        )
    found: dict[str, str] = dict(pairs)
    if len(found) < len(pairs):
        raise_file_error(path, "names a model twice", "write one line per model")
    for name in names:
        if name not in found:
            listed = ", ".join(list(found)[:10])
            raise_file_error(
                path, f"has no weight of the model {name} (it has {listed})", "add a line for it"
            )
    return [found[name] for name in names]


def _checked(path: str, cells: Sequence[str], names: Sequence[str]) -> Array:
    weights = np.array([float(cell) for cell in cells])
    if len(weights) != len(names):
        listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise_file_error(
            path,
            f"has {counted(len(weights), 'weight')}, there are {len(names)} models ({listed})",
            "pass one per model, in this order",
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        m = int(bad[0])
        raise_file_error(path, f"has the weight {weights[m]:g} of {names[m]}", "pass numbers >= 0")
    if not weights.any():
        raise_file_error(path, "has no positive weight", "pass one for a model at least")
    return weights


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
