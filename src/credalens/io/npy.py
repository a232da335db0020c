"""The ``.npy`` format, read by ranges of rows along any axis."""

from __future__ import annotations

import io
import math
import struct
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy

from credalens._backend import Array
from credalens.io.limits import check_memory, check_shape
from credalens.io.source import UnreadableFileError, raise_file_error

#: Largest header: a shape and a dtype. NumPy has the same limit.
MAX_HEADER = 10_000


def raise_pickled(path: str, name: str = "") -> NoReturn:
    """Raise the error for an array of Python objects."""
    problem = "contains pickled Python objects, which are not loaded because they can run code"
    raise_file_error(path, f"{name} {problem}".strip(), "save an array of numbers, or of text")


class NpyReader:
    """Reads ranges of rows of an array in the ``.npy`` format from a binary stream.

    The file is not memory-mapped, because it may exceed the address space limit of the process.
    `size` is the length of a seekable stream. A stream that cannot be seeked is read from its
    first row on, see `sequential`.
    """

    def __init__(self, path: str, stream: Any, size: int | None = None) -> None:
        self._path, self._stream = path, stream
        version = npy.read_magic(stream)
        header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        if version not in header:
            raise_file_error(path, f"has .npy version {version}", "save it by numpy.save")
        self.shape, self._fortran, self.dtype = header[version](self._header(stream, version))
        check_shape(path, "", self.shape, self.dtype.itemsize)
        self._seekable = size is not None
        self._begin = stream.tell() if size is not None else 0
        if size is not None and self.shape and not self.dtype.hasobject:
            self._check_size(size - self._begin)

    def _header(self, stream: Any, version: tuple[int, int]) -> io.BytesIO:
        """Return the header, which NumPy would read whatever its size."""
        kind = "<H" if version == (1, 0) else "<I"
        start = stream.read(struct.calcsize(kind))
        size = struct.unpack(kind, start)[0] if len(start) == struct.calcsize(kind) else 0
        if size > MAX_HEADER:
            raise_file_error(self._path, f"has a header of {size} bytes", "save it by numpy.save")
        return io.BytesIO(start + stream.read(size))

    def _check_size(self, held: int) -> None:
        row = self.dtype.itemsize * math.prod(self.shape[1:])
        if row * self.shape[0] > held:
            problem = f"is truncated: it has {held // max(row, 1)} of {self.shape[0]} rows"
            raise UnreadableFileError(f"{self._path}: {problem}; copy it again")

    def mapped(self) -> Array:
        """Return an array in a file as a memory map."""
        self._check_no_objects()
        order: Any = "F" if self._fortran else "C"
        return np.memmap(self._path, self.dtype, "r", self._begin, self.shape, order)

    def sequential(self, axis: int) -> bool:
        """Return whether the rows along `axis` are stored one after the other."""
        return axis == 0 and (not self._fortran or len(self.shape) == 1)

    def read(self, start: int, stop: int, axis: int = 0) -> Array:
        """Return the entries ``start:stop`` along `axis`.

        A stream that cannot be seeked must be at `start`, and its rows must be sequential.
        """
        self._check_no_objects()
        # In Fortran order, the reversed array is in C order.
        shape, axis = (self.shape[::-1], -1 - axis) if self._fortran else (self.shape, axis)
        axis %= len(shape)
        outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        self._check_memory((stop - start) * outer * inner)
        parts = np.empty((outer, (stop - start) * inner), self.dtype)
        for i, part in enumerate(parts):
            if self._seekable:
                offset = (i * shape[axis] + start) * inner * self.dtype.itemsize
                self._stream.seek(self._begin + offset)
            self._fill(part)
        array = parts.reshape(*shape[:axis], stop - start, *shape[axis + 1 :])
        return array.T if self._fortran else array

    def read_all(self) -> Array:
        """Return the whole array from a stream that is at its first row."""
        self._check_no_objects()
        self._check_memory(math.prod(self.shape))
        array = self._fill(np.empty(math.prod(self.shape), self.dtype))
        return array.reshape(self.shape, order="F" if self._fortran else "C")

    def skip(self, rows: int) -> None:
        """Move a stream that cannot be seeked from the first row to row `rows`."""
        left = 0 if self._seekable else rows * self.dtype.itemsize * math.prod(self.shape[1:])
        while left:
            left -= self._check_read(len(self._stream.read(min(left, 1 << 20))))

    def _check_memory(self, entries: int) -> None:
        check_memory(self._path, f"an array of {entries} values", entries * self.dtype.itemsize)

    def _check_no_objects(self) -> None:
        if self.dtype.hasobject:
            raise_pickled(self._path)

    def _fill(self, array: Array) -> Array:
        view: Any = array.reshape(-1).view(np.uint8)
        done = 0
        while done < array.nbytes:
            done += self._check_read(self._stream.readinto(view[done:]))
        return array

    def _check_read(self, count: int) -> int:
        if not count:
            raise UnreadableFileError(f"{self._path}: is truncated; copy it again")
        return count
