"""Chunks of arrays: their indices, and the sizes that they have in the file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from credalens._backend import Array
from credalens.io.source import raise_file_error

#: Bytes that a compressed chunk may have in addition to twice those of its values.
SLACK = 1 << 16


def chunk_indices(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all indices in order, one at a time: a shape may state any number of them.

    Examples
    --------
    >>> list(chunk_indices((2, 2)))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    if not sizes:
        yield ()
        return
    for i in range(sizes[0]):
        for rest in chunk_indices(sizes[1:]):
            yield (i, *rest)


def checked_reader(
    path: str,
    read: Callable[[int, int], Array],
    shape: Sequence[int],
    chunks: Sequence[int],
    axis: int,
    itemsize: int,
    stored: Callable[[tuple[int, ...]], int],
) -> Callable[[int, int], Array]:
    """Return ``read(start, stop)`` of ranges along `axis`, which checks chunks before reading.

    `stored` returns the bytes of a chunk in the file. Decoders decompress all of them, whatever the
    size of the chunk, so that a chunk must not have more than its values can need.
    """
    counts = [math.ceil(size / chunk) for size, chunk in zip(shape, chunks, strict=True)]
    size = math.prod(chunks) * itemsize
    checked = set[int]()

    def read_checked(start: int, stop: int) -> Array:
        for i in range(start // chunks[axis], math.ceil(stop / chunks[axis])):
            if i in checked:
                continue
            for index in chunk_indices([1 if a == axis else n for a, n in enumerate(counts)]):
                at = (*index[:axis], i, *index[axis + 1 :])
                found = stored(at)
                if found > 2 * size + SLACK:
                    problem = f"the chunk {at} has {found} bytes for values of {size} bytes"
                    raise_file_error(path, problem, "write it again")
            checked.add(i)
        return read(start, stop)

    return read_checked
