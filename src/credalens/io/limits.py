"""Checks of the sizes that files state, before memory is allocated for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import IO

from credalens._memory import above_limit, max_memory
from credalens.io.source import raise_file_error

#: Copies of a row in memory: decoded, converted, concatenated, scored.
COPIES = 4
#: Most entries of an array that NumPy can index.
MAX_ENTRIES = (1 << 63) - 1
#: A stated size is an error only if it is this many times what the file stores: constant values are
#: compressed a thousand times.
RATIO = 1000


def check_memory(path: str, what: str, size: int) -> None:
    """Raise `PredictionFileError` if `what` needs more bytes than the limit."""
    found = above_limit(size)
    if found is not None:
        raise_file_error(path, f"{what} {found[0]}", found[1])


def check_stored(path: str, what: str, size: int, stored: int) -> None:
    """Raise `PredictionFileError` if the `stored` bytes become more than the limit."""
    if size > RATIO * stored:
        check_memory(path, f"{what} has {stored} bytes in the file and", size)


def check_shape(path: str, name: str, shape: Sequence[int], itemsize: int) -> None:
    """Raise `PredictionFileError` for a shape that no array has."""
    prefix = f"{name} has" if name else "has"
    if any(size < 0 for size in shape):
        raise_file_error(path, f"{prefix} the impossible shape {tuple(shape)}", "write it again")
    if max(itemsize, 1) * math.prod(max(size, 1) for size in shape) > MAX_ENTRIES:
        problem = f"{prefix} shape {tuple(shape)}, more than can be addressed"
        raise_file_error(path, problem, "write it again")


def check_row(path: str, members: int, classes: int) -> None:
    """Raise `PredictionFileError` if a single row of predictions does not fit into the limit."""
    what = f"a row of {members} x {classes} values"
    check_memory(path, what, COPIES * 8 * members * classes)


def read_whole(path: str, stream: IO[bytes]) -> bytes:
    """Return all bytes of a stream, which may be compressed."""
    limit = max_memory()
    data = stream.read(limit + 1)
    if len(data) > limit:
        check_memory(path, "its decompressed content", 2 * len(data))
    return data
