"""The limit of the memory that a file may ask for by the sizes that it states."""

from __future__ import annotations

import math
import os
import re

#: Environment variable of the limit, which the option ``--max-memory`` sets.
VARIABLE = "CREDALENS_MAX_MEMORY"
DEFAULT = 2 << 30
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str, name: str) -> int:
    """Return a number of bytes from text such as ``"500M"`` or ``"8G"``.

    Examples
    --------
    >>> parse_size("1.5G", "--max-memory") == 3 << 29
    True
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    size = 0 if found is None else int(float(found[1]) * _UNITS[found[2].upper()])
    if size <= 0:
        raise ValueError(f"{name}: is {text!r}; pass a size such as 500M or 8G")
    return size


def format_size(size: int) -> str:
    """Return a number of bytes in a unit, rounded up, such that `parse_size` is at least it.

    Examples
    --------
    >>> format_size(3 << 30), format_size((3 << 30) + 1), format_size(500)
    ('3G', '4G', '500')
    """
    unit = next((u for u in reversed(_UNITS) if size >= _UNITS[u]), "")
    return f"{math.ceil(size / _UNITS[unit])}{unit}"


def max_memory() -> int:
    """Return the limit in bytes: ``CREDALENS_MAX_MEMORY``, or 2 GB."""
    text = os.environ.get(VARIABLE)
    return DEFAULT if text is None else parse_size(text, VARIABLE)


def above_limit(size: int) -> tuple[str, str] | None:
    """Return the problem and the fix if `size` bytes are above the limit, else None."""
    limit = max_memory()
    if size <= limit:
        return None
    return (
        f"needs {format_size(size)} of memory, the limit is {format_size(limit)}",
        f"check the file, or pass --max-memory {format_size(size)}",
    )
