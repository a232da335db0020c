"""Arrays on disk: ``.npy``, ``.npz`` and ``.zarr``."""

from __future__ import annotations

import importlib
import io
import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from credalens._arrays import Array
from credalens.datasets.files.source import Block, Source, reading, refuse_file, so_called, steps

#: Names under which an archive may hold identifiers and class names.
IDS = ("ids", "id")
NAMES = ("class_names", "classes")


class Stored:
    """An array in the ``.npy`` format, read by rows from a stream.

    Not mapped into memory: a file may be larger than the address space a process is allowed.
    """

    def __init__(self, path: str, stream: Any, size: int | None) -> None:
        self._path, self._stream = path, stream  # a binary file, or one that only goes on
        version = npy.read_magic(stream)
        header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        if version not in header:
            refuse_file(path, f"has .npy version {version}", "save it by numpy.save")
        self.shape, self._fortran, self.dtype = header[version](stream)
        if self.dtype.hasobject:
            refuse_file(
                path,
                "holds pickled Python objects, which may run code and are not opened",
                "save a plain array of numbers",
            )
        if not self.shape:
            refuse_file(path, "holds a single number", "save an array (rows, ..., classes)")
        self._row = self.dtype.itemsize * math.prod(self.shape[1:])
        self._begin = stream.tell() if size is not None else 0
        if size is not None and self._begin + self._row * self.shape[0] > size:
            whole = (size - self._begin) // max(self._row, 1)
            refuse_file(
                path, f"is truncated: {whole} of {self.shape[0]} rows are there", "copy it again"
            )

    def read(self, start: int, stop: int) -> Array:
        """Return the rows ``start:stop``; of a plain stream, those that come next."""
        if self._fortran and len(self.shape) > 1:
            return self._read_columns(start, stop)
        return self._fill(np.empty((stop - start, *self.shape[1:]), self.dtype))

    def skip(self, rows: int) -> None:
        """Go to row `rows`, from the first."""
        if self._begin:
            self._stream.seek(self._begin + rows * self._row)
            return
        left = rows * self._row
        while left:
            read = len(self._stream.read(min(left, 1 << 20)))
            if not read:
                refuse_file(self._path, "is truncated", "copy it again")
            left -= read

    def _fill(self, array: Array) -> Array:
        view: Any = array.reshape(-1).view(np.uint8)
        done = 0
        while done < array.nbytes:
            read = self._stream.readinto(view[done:])
            if not read:
                refuse_file(self._path, "is truncated", "copy it again")
            done += read
        return array

    def _read_columns(self, start: int, stop: int) -> Array:
        """Read rows of an array that is stored column after column."""
        if not self._begin:
            refuse_file(
                self._path, "is stored in Fortran order", "save numpy.ascontiguousarray of it"
            )
        columns = np.empty((math.prod(self.shape[1:]), stop - start), self.dtype)
        for i, column in enumerate(columns):
            at = i * self.shape[0] + start
            self._stream.seek(self._begin + at * self.dtype.itemsize)
            self._fill(column)
        return columns.T.reshape(stop - start, *self.shape[1:], order="F")


def as_members(path: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return members and classes of a stored array, ``(n, M, K)`` or ``(n, K)``."""
    if len(shape) not in (2, 3) or 0 in shape[1:]:
        refuse_file(path, f"has shape {shape}", "save (rows, classes) or (rows, members, classes)")
    if dtype.kind not in "fiub":
        refuse_file(path, f"has dtype {dtype}", "save floats")
    if shape[0] == 0:
        refuse_file(path, "has no rows", "save at least one")
    return (shape[1] if len(shape) == 3 else 1), shape[-1]


def _native(values: Array, n_members: int, n_classes: int) -> Array:
    """Return ``(r, M, K)`` in a native dtype that the kernels and the writers know."""
    kind = values.dtype.newbyteorder("=")
    if kind.kind != "f" or kind.itemsize > 8:
        kind = np.dtype(np.float64)
    return values.astype(kind, copy=False).reshape(-1, n_members, n_classes)


class NpySource(Source):
    """One array in a ``.npy`` file, or on standard input."""

    def __init__(self, path: str, stream: IO[bytes] | None = None) -> None:
        self.path, self._given = path, stream
        with reading(path), ExitStack() as stack:
            stored = self._open(stack)
            self.n_members, self.n_classes = as_members(path, stored.shape, stored.dtype)
            self.n_rows = self.expected_rows = stored.shape[0]
            if stream is not None:
                self._stored = stored

    def _open(self, stack: ExitStack) -> Stored:
        if self._given is not None:
            return Stored(self.path, self._given, None)
        stream = stack.enter_context(io.FileIO(self.path))
        return Stored(self.path, stream, os.fstat(stream.fileno()).st_size)

    def pieces(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield blocks of `rows` rows."""
        with ExitStack() as stack:
            stored = self._stored if self._given is not None else self._open(stack)
            stored.skip(start)
            end = stored.shape[0] if stop is None else stop
            for first in range(start, end, rows):
                values = stored.read(first, min(first + rows, end))
                yield Block(_native(values, self.n_members, self.n_classes))

    def edges(self, rows: int) -> list[int] | None:
        """Cut anywhere, but not what comes through a pipe."""
        return steps(self.n_rows or 0, rows) if self._given is None else None


class NpzSource(Source):
    """The arrays ``probs`` or ``logits``, and perhaps ``labels``, ``ids`` and ``class_names``."""

    def __init__(self, path: str) -> None:
        self.path = path
        with reading(path), zipfile.ZipFile(path) as archive:
            held = [name.removesuffix(".npy") for name in archive.namelist()]
            self.holds = self._name = next((n for n in ("probs", "logits") if n in held), "")
            if not self._name:
                refuse_file(
                    path,
                    f"holds {', '.join(held) or 'nothing'}",
                    "save it by numpy.savez(path, probs=...) or logits=...",
                )
            self._ids = next(iter(so_called(held, *IDS)), None)
            self._labels = next(iter(so_called(held, "labels")), None)
            self.has_labels, self.id_name = self._labels is not None, self._ids
            with ExitStack() as stack:
                stored = self._member(archive, stack, self._name)
                self.n_members, self.n_classes = as_members(path, stored.shape, stored.dtype)
                self.n_rows = self.expected_rows = stored.shape[0]
                for name in filter(None, (self._labels, self._ids)):
                    self._check_vector(self._member(archive, stack, name), name)
                names = next((name for name in NAMES if name in held), None)
                if names is not None:
                    self.class_names = self._read_names(self._member(archive, stack, names))

    def _member(self, archive: zipfile.ZipFile, stack: ExitStack, name: str) -> Stored:
        return Stored(self.path, stack.enter_context(archive.open(f"{name}.npy")), None)

    def _check_vector(self, stored: Stored, name: str) -> None:
        if stored.shape != (self.n_rows,):
            refuse_file(
                self.path,
                f"{name} has shape {stored.shape}",
                f"save ({self.n_rows},), one for each row of {self._name}",
            )

    def _read_names(self, stored: Stored) -> tuple[str, ...]:
        if stored.shape != (self.n_classes,):
            refuse_file(
                self.path,
                f"class_names has shape {stored.shape}",
                f"save ({self.n_classes},), one name per class",
            )
        return tuple(str(name) for name in stored.read(0, self.n_classes))

    def pieces(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield blocks of `rows` rows, decompressed as they are read."""
        end = (self.n_rows or 0) if stop is None else stop
        names = [self._name, self._labels, self._ids]
        with zipfile.ZipFile(self.path) as archive, ExitStack() as stack:
            streams = [
                None if name is None else self._member(archive, stack, name) for name in names
            ]
            for stream in streams:
                if stream is not None:
                    stream.skip(start)
            for first in range(start, end, rows):
                last = min(first + rows, end)
                values, labels, ids = (
                    np.empty(0) if stream is None else stream.read(first, last)
                    for stream in streams
                )
                yield Block(
                    _native(values, self.n_members, self.n_classes),
                    labels if self.has_labels else None,
                    ids if self.has_ids else None,
                )


class ZarrSource(Source):
    """One array in a ``.zarr`` folder."""

    def __init__(self, path: str) -> None:
        self.path = path
        with reading(path):
            array = self._open()
            shape, dtype = tuple(array.shape), np.dtype(array.dtype)
            self.n_members, self.n_classes = as_members(path, shape, dtype)
            self.n_rows = self.expected_rows = shape[0]
            # Where chunks are packed into shards, a shard is what is read.
            self._stored_rows = int((getattr(array, "shards", None) or array.chunks)[0])

    def _open(self) -> Any:
        try:
            zarr: Any = importlib.import_module("zarr")
        except ImportError:
            refuse_file(self.path, "needs the zarr package", "pip install 'credalens[dask]'")
        return zarr.open_array(self.path, mode="r")

    def pieces(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield blocks of `rows` rows."""
        array = self._open()
        end = array.shape[0] if stop is None else stop
        for first in range(start, end, rows):
            values = np.asarray(array[first : min(first + rows, end)])
            yield Block(_native(values, self.n_members, self.n_classes))

    def edges(self, rows: int) -> list[int] | None:
        """Cut between stored chunks."""
        whole = max(1, rows // self._stored_rows) * self._stored_rows
        return steps(self.n_rows or 0, whole)
