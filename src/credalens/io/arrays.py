"""Predictions in files of arrays, see `credalens.io.array_stores`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import ClassVar

import numpy as np

from credalens._backend import Array
from credalens._row_kinds import BFLOAT16_ROUNDING
from credalens.io import array_stores
from credalens.io.array_choice import axes_with_rows, choose_arrays, content_of
from credalens.io.limits import check_row, check_shape
from credalens.io.source import ARRAY_OPTIONS, Block, ReadOptions, Source
from credalens.io.streams import ByteStream


class ArraySource(Source):
    """Predictions in an array whose axes are rows, and optionally models and classes.

    An array without an axis of classes contains the probability of the second of two classes.
    A subclass names the store.
    """

    options = ARRAY_OPTIONS
    store_type: ClassVar[Callable[..., array_stores.ArrayStore]]

    def __init__(self, path: str, options: ReadOptions, stream: ByteStream | None = None) -> None:
        self.path = path
        self._store = type(self).store_type(path, stream)
        for name, stored in self._store.arrays.items():
            check_shape(path, name, stored.shape, stored.dtype.itemsize)
        self._chosen = chosen = choose_arrays(self._store, options)
        info = self._store.arrays[chosen.predictions]
        for used in (chosen.predictions, chosen.labels, chosen.ids, chosen.class_names):
            self._store.check_complete(used)
        self.content = content_of(chosen.predictions)
        #: Shape and names of the axes, as stored.
        self.shape, self.axes = info.shape, chosen.axes
        sizes = dict(zip(chosen.axes, info.shape, strict=True))
        self.n_rows = self.expected_rows = sizes["rows"]
        self.n_members, self.n_classes = sizes.get("models", 1), sizes.get("classes", 1)
        check_row(path, self.n_members, self.n_classes)
        self._row_axis = chosen.axes.index("rows")
        self.has_labels, self.id_name = chosen.labels is not None, chosen.ids
        self.notes = chosen.notes
        if info.bfloat16:
            self.rounding = BFLOAT16_ROUNDING
        if chosen.class_names is not None:
            names = np.asarray(self._store.load(chosen.class_names)).ravel().tolist()
            self.class_names = tuple(
                name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
                for name in names
            )

    @classmethod
    def column_names(cls, path: str) -> list[str]:
        """Return the names of the arrays; nothing for a single array without a name."""
        names = list(cls.store_type(path).arrays)
        return [] if names == [""] else names

    @classmethod
    def read_columns(cls, path: str, names: Sequence[str]) -> list[Array]:
        """Return arrays."""
        store = cls.store_type(path)
        for name in names:
            store.check_complete(name)
        return [np.asarray(store.load(name)) for name in names]

    def raw_blocks(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        """Yield blocks of `rows` rows."""
        end = (self.n_rows or 0) if stop is None else stop
        chosen = self._chosen
        with ExitStack() as stack:
            read = self._store.reader(stack, chosen.predictions, self._row_axis, start)
            others = [
                None
                if name is None
                else self._store.reader(stack, name, self._axis_of(name), start)
                for name in (chosen.labels, chosen.ids)
            ]
            for first in range(start, end, rows):
                last = min(first + rows, end)
                labels, ids = (None if one is None else one(first, last) for one in others)
                yield self._block(read(first, last), labels, ids)

    def rows_at(self, rows: Array) -> Block | None:
        """Return rows in any order from a memory map."""
        chosen = self._chosen
        names = (chosen.predictions, chosen.labels, chosen.ids)
        mapped = [None if name is None else self._store.mapped(name) for name in names]
        values, labels, ids = mapped
        if values is None:
            return None
        own, ids = (
            None if array is None or name is None else array.take(rows, axis=self._axis_of(name))
            for array, name in ((labels, chosen.labels), (ids, chosen.ids))
        )
        return self._block(values.take(rows, axis=self._row_axis), own, ids)

    def _axis_of(self, name: str) -> int:
        """Return the axis of the rows of labels or identifiers, which may be a row vector."""
        return 0 if self._store.arrays[name].shape[0] == self.n_rows else 1

    def _block(self, values: Array, labels: Array | None, ids: Array | None) -> Block:
        if labels is not None and self._axis_of(self._chosen.labels or "") == 1:
            labels = labels[0]
        return Block(self._native(values), labels, None if ids is None else ids.reshape(-1))

    def _native(self, values: Array) -> Array:
        """Return ``(r, M, K)`` in a native floating-point dtype of at most 8 bytes."""
        dtype = values.dtype.newbyteorder("=")
        if dtype.kind != "f" or dtype.itemsize > 8:
            dtype = np.dtype(np.float64)
        order = [self.axes.index(name) for name in ("rows", "models", "classes")
                 if name in self.axes]  # fmt: skip
        values = values.transpose(order).reshape(-1, self.n_members, self.n_classes)
        return values.astype(dtype, copy=False)

    def partition_bounds(self, rows: int) -> list[int] | None:
        """Return bounds between stored chunks, ``None`` without random access."""
        if not self._store.random_access:
            return None
        together = self._store.chunk_rows(self._chosen.predictions, self._row_axis)
        n = self.n_rows or 0
        return [*range(0, n, max(1, rows // together) * together), n]

    def other_rows_fix(self, count: int) -> str:
        """Return what to do if there are `count` labels, as entries on another axis."""
        option = axes_with_rows(self.shape, self.axes, count)
        return option and f"{self.path} has shape {self.shape}: if its axes are so, pass {option}"

    def axes_option(self, axis: int) -> str:
        """Return the option that states that `axis` of the blocks ``(r, M, K)`` has the classes.

        Of the other two axes of three, the longer has the rows.
        """
        at = self.axes.index(("rows", "models", "classes")[axis])
        others = sorted((i for i in range(len(self.shape)) if i != at),
                        key=lambda i: -self.shape[i])  # fmt: skip
        names = {at: "classes", **dict(zip(others, ("rows", "models"), strict=False))}
        return f"--axes {','.join(names[i] for i in range(len(self.shape)))}"


class NpySource(ArraySource):
    """One array in a ``.npy`` file, or on standard input."""

    store_type = array_stores.NpyStore


class NpzSource(ArraySource):
    """Arrays in a ``.npz`` archive."""

    store_type = array_stores.NpzStore


class ZarrSource(ArraySource):
    """A Zarr array or group."""

    store_type = array_stores.ZarrStore


class Hdf5Source(ArraySource):
    """Datasets of an HDF5 file."""

    store_type = array_stores.Hdf5Store


class SafetensorsSource(ArraySource):
    """Tensors of a ``.safetensors`` file."""

    store_type = array_stores.SafetensorsStore


class TorchSource(ArraySource):
    """Tensors that ``torch.save`` wrote."""

    store_type = array_stores.TorchStore
