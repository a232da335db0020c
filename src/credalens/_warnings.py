"""Warnings that point at the caller of the library."""

from __future__ import annotations

import sys
import warnings


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning attributed to the first frame outside of credalens."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_internal(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_internal(module: str) -> bool:
    # Cached properties call from functools.
    return module.partition(".")[0] in ("credalens", "functools")
