"""Cost matrices in text files, with names of classes and actions."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from credalens._backend import Array
from credalens.io.source import raise_file_error, read_errors


def read_cost(
    path: Path, class_names: Sequence[str] | None, n_classes: int
) -> tuple[Array, tuple[str, ...] | None]:
    """Return costs ``(K, D)`` from a CSV file, and the names of the actions.

    The first row names the actions, the first column the classes, in any order; a file of numbers
    only has one row per class in order. The names are None if the actions are the classes.
    """
    with read_errors(str(path)), path.open(newline="", encoding="utf-8-sig") as stream:
        sample = stream.read(4096)
        stream.seek(0)
        delimiter = ";" if sample.count(";") > sample.count(",") else ","
        lines = csv.reader(stream, delimiter=delimiter)
        rows = [[cell.strip() for cell in row] for row in lines if any(map(str.strip, row))]
    if not rows:
        raise_file_error(str(path), "is empty", "write one row per class, one column per action")
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise_file_error(str(path), f"has rows of {sorted(lengths)} cells", "write equal rows")
    classes = list(class_names or map(str, range(n_classes)))
    if all(_is_number(cell) for cell in rows[0][1:]) and _is_number(rows[0][0]):
        return _unnamed(path, rows, classes)
    actions, body = rows[0][1:], rows[1:]
    _check_names(path, [row[0] for row in body], classes)
    if len(set(actions)) < len(actions) or not all(actions):
        raise_file_error(str(path), f"names the actions {', '.join(actions)}", "use distinct names")
    by_name = {row[0]: row[1:] for row in body}
    costs = np.array([_numbers(path, name, by_name[name]) for name in classes])
    if sorted(actions) == sorted(classes):
        return costs[:, [actions.index(name) for name in classes]], None
    return costs, tuple(actions)


def _unnamed(
    path: Path, rows: list[list[str]], classes: list[str]
) -> tuple[Array, tuple[str, ...] | None]:
    if len(rows) != len(classes):
        raise_file_error(
            str(path), f"has {len(rows)} rows and no names", f"write {len(classes)}, one per class"
        )
    costs = np.array([_numbers(path, str(i), row) for i, row in enumerate(rows)])
    if costs.shape[1] == len(classes):
        return costs, None
    return costs, tuple(f"action {d}" for d in range(costs.shape[1]))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(path: Path, name: str, cells: Sequence[str]) -> list[float]:
    for cell in cells:
        if not _is_number(cell) or not np.isfinite(float(cell)):
            raise_file_error(str(path), f"row {name} has {cell!r}", "write finite numbers")
    return [float(cell) for cell in cells]


def _check_names(path: Path, found: list[str], classes: list[str]) -> None:
    missing = [name for name in classes if name not in found]
    extra = [name for name in found if name not in classes]
    if missing or extra:
        _raise_names(path, missing, extra, classes)
    if len(found) > len(classes):
        raise_file_error(str(path), "has a class twice", "write one row per class")


def _raise_names(path: Path, missing: list[str], extra: list[str], classes: list[str]) -> NoReturn:
    parts = []
    if missing:
        parts.append(f"lacks rows for {', '.join(missing[:20])}")
    if extra:
        parts.append(f"has rows for {', '.join(extra[:20])}")
    known = ", ".join(classes[:20]) + (", ..." if len(classes) > 20 else "")
    raise_file_error(str(path), " and ".join(parts), f"name its rows by the classes {known}")
