"""Construction of the errors that input validation raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from credalens._backend import Array, lazy, ragged


def raise_invalid(name: str, problem: str, fix: str) -> NoReturn:
    """Raise the error for an invalid argument."""
    raise ValueError(f"{name}: {problem}; {fix}")


def raise_first(bad: Array, values: Array, name: str, problem: str, fix: str) -> None:
    """Raise for the first invalid value, with which and with whose index `problem` is formatted."""
    if np.any(bad):
        where = tuple(np.argwhere(bad)[0])
        at = f" at index {format_index(where)} (zero-based)" if where else ""
        raise_invalid(name, problem.format(float(values[where]), at), fix)


def format_index(index: Iterable[Any]) -> str:
    """Format an index as ``(3, 1)``, or ``3`` if it has one part."""
    parts = [int(i) for i in index]
    block = ragged.INSTANCES.get()
    if block is not None and parts:
        instances, lead = block
        parts[:1] = map(int, np.unravel_index(instances[parts[0]], lead)) if lead else ()
    for axis, first in enumerate(lazy.INDEX_OFFSET.get()[: len(parts)]):
        parts[axis] += first
    return str(parts[0]) if len(parts) == 1 else f"({', '.join(map(str, parts))})"


def counted(count: int, noun: str, show: Callable[[int], str] = str) -> str:
    """Return a count and its noun, in the plural unless the count is one.

    Examples
    --------
    >>> from credalens._errors import counted
    >>> counted(1, "row"), counted(3, "row")
    ('1 row', '3 rows')
    """
    return f"{show(count)} {noun}{'' if count == 1 else 's'}"
