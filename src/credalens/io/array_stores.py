"""Files of arrays: ``.npy``, ``.npz``, ``.zarr``, HDF5, ``.safetensors`` and PyTorch's ``.pt``."""

from __future__ import annotations

import io
import math
import os
import struct
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from credalens._backend import Array
from credalens._extras import require
from credalens.io.limits import check_memory, check_stored
from credalens.io.npy import NpyReader
from credalens.io.source import raise_file_error
from credalens.io.stored_chunks import checked_reader
from credalens.io.streams import ByteStream
from credalens.io.zarr_metadata import check_metadata, missing_chunk

#: Reads a range along the axis of the rows; ranges are consecutive.
Reader = Callable[[int, int], Array]


class ArrayInfo(NamedTuple):
    """Shape and dtype of an array; of bfloat16 the dtype is float32."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    bfloat16: bool = False


class ArrayStore(ABC):
    """Named arrays in one file. A subclass holds the path only, so that it can be pickled."""

    path: str
    #: The arrays by name; the name of the only array of a ``.npy`` file is empty.
    arrays: Mapping[str, ArrayInfo]
    #: Whether reading any range of rows costs as much as these rows.
    random_access: bool = True

    @abstractmethod
    def reader(self, stack: ExitStack, name: str, axis: int, start: int) -> Reader:
        """Return a function that reads ranges along `axis`, the first from `start` on."""

    def load(self, name: str) -> Array:
        """Return a whole array."""
        with ExitStack() as stack:
            return self.reader(stack, name, 0, 0)(0, self.arrays[name].shape[0])

    def mapped(self, name: str) -> Array | None:
        """Return an array as a memory map, ``None`` if the format does not allow it."""
        return None

    def chunk_rows(self, name: str, axis: int) -> int:
        """Return how many rows are stored together."""
        return 1

    def check_complete(self, name: str | None) -> None:
        """Raise `PredictionFileError` if a part of an array does not exist."""
        return


class NpyStore(ArrayStore):
    """One array in a ``.npy`` file, compressed or not, or on standard input."""

    def __init__(self, path: str, stream: ByteStream | None = None) -> None:
        self.path, self._stream = path, stream
        self._opened: NpyReader | None = None
        self._loaded: Array | None = None
        self.random_access = stream is None
        with ExitStack() as stack:
            reader = self._open(stack)
            self.arrays = {"": ArrayInfo(reader.shape, reader.dtype)}

    def _open(self, stack: ExitStack) -> NpyReader:
        if self._stream is None:
            file = stack.enter_context(io.FileIO(self.path))
            return NpyReader(self.path, file, ByteStream(self.path).size)
        if self._stream.can_reopen:
            return NpyReader(self.path, self._stream.open(stack))
        if self._opened is None:  # its header can be read once
            self._opened = NpyReader(self.path, self._stream.open(stack))
        return self._opened

    def reader(self, stack: ExitStack, name: str, axis: int, start: int) -> Reader:
        """Return a function that reads ranges, see `ArrayStore.reader`."""
        if self._loaded is None:
            reader = self._open(stack)
            if self.random_access or reader.sequential(axis):
                reader.skip(start)
                return lambda first, last: reader.read(first, last, axis)
            self._loaded = reader.read_all()
        return _slicer(self._loaded, axis)

    def load(self, name: str) -> Array:
        """Return a whole array."""
        with ExitStack() as stack:
            return self._open(stack).read_all()


class NpzStore(ArrayStore):
    """The arrays of a ``.npz`` archive; ``numpy.savez`` does not compress them."""

    def __init__(self, path: str, stream: ByteStream | None = None) -> None:
        self.path = path
        self._loaded: dict[str, Array] = {}
        self.arrays: dict[str, ArrayInfo] = {}
        with zipfile.ZipFile(path) as archive, ExitStack() as stack:
            entries = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
            for entry in entries:
                reader = NpyReader(path, stack.enter_context(archive.open(entry)))
                name = entry.filename.removesuffix(".npy")
                self.arrays[name] = ArrayInfo(reader.shape, reader.dtype)
            self.random_access = all(e.compress_type == zipfile.ZIP_STORED for e in entries)

    def _open(self, stack: ExitStack, name: str) -> NpyReader:
        archive = stack.enter_context(zipfile.ZipFile(self.path))
        entry = archive.getinfo(f"{name}.npy")
        if not self.random_access:
            return NpyReader(self.path, stack.enter_context(archive.open(entry)))
        file = stack.enter_context(io.FileIO(self.path))
        file.seek(entry.header_offset + 26)  # lengths of the name and of the extra field
        file.seek(entry.header_offset + 30 + sum(struct.unpack("<HH", file.read(4))))
        return NpyReader(self.path, file, file.tell() + entry.file_size)

    def reader(self, stack: ExitStack, name: str, axis: int, start: int) -> Reader:
        """Return a function that reads ranges, see `ArrayStore.reader`."""
        if name not in self._loaded:
            reader = self._open(stack, name)
            if self.random_access or reader.sequential(axis):
                reader.skip(start)
                return lambda first, last: reader.read(first, last, axis)
            # A compressed stream has no random access, so that the whole array is held.
            self._loaded[name] = reader.read_all()
        return _slicer(self._loaded[name], axis)

    def load(self, name: str) -> Array:
        """Return a whole array."""
        with ExitStack() as stack:
            return self._open(stack, name).read_all()

    def mapped(self, name: str) -> Array | None:
        """Return a memory map, ``None`` if the archive is compressed."""
        if not self.random_access:
            return None
        with ExitStack() as stack:
            return self._open(stack, name).mapped()


class ZarrStore(ArrayStore):
    """A Zarr array, or the arrays of a Zarr group.

    Its metadata are checked before anything is decoded, since a codec may run code.
    """

    def __init__(self, path: str, stream: ByteStream | None = None) -> None:
        self.path = path
        check_metadata(path)
        node = self._node()
        arrays = {"": node} if hasattr(node, "shape") else dict(node.arrays())
        self.arrays = {
            name: ArrayInfo(tuple(a.shape), np.dtype(a.dtype)) for name, a in arrays.items()
        }

    def _node(self) -> Any:
        return require("zarr", "dask").open(self.path, mode="r")

    def _array(self, name: str) -> Any:
        node = self._node()
        return node[name] if name else node

    def reader(self, stack: ExitStack, name: str, axis: int, start: int) -> Reader:
        """Return a function that reads ranges, see `ArrayStore.reader`."""
        array = self._array(name)
        read, dtype = _slicer(array, axis), np.dtype(array.dtype)
        if dtype.kind not in "fiub":
            return read
        encode, folder = array.metadata.encode_chunk_key, Path(self.path, name)
        return checked_reader(
            self.path, read, array.shape, _stored_chunks(array), axis, dtype.itemsize,
            lambda index: os.path.getsize(folder / encode(index)),
        )  # fmt: skip

    def chunk_rows(self, name: str, axis: int) -> int:
        """Return how many rows are stored together."""
        array = self._array(name)
        return int(_stored_chunks(array)[axis])

    def check_complete(self, name: str | None) -> None:
        """Raise `PredictionFileError` for a chunk that is lost, which Zarr reads as fill values."""
        if name is None:
            return
        array = self._array(name)
        chunks = _stored_chunks(array)
        where = f"a chunk {tuple(chunks)} of {name or 'the array'}"
        check_memory(self.path, where, math.prod(chunks) * np.dtype(array.dtype).itemsize)
        missing = missing_chunk(Path(self.path, name), array, chunks)
        if missing is not None:
            raise_file_error(
                self.path,
                f"the chunk {f'{name}/' if name else ''}{missing} does not exist",
                "copy it again, or write all chunks: zarr.config.set({'array.write_empty_chunks': "
                "True})",
            )


class Hdf5Store(ArrayStore):
    """The datasets of an HDF5 file, by their path within the file."""

    def __init__(self, path: str, stream: ByteStream | None = None) -> None:
        self.path = path
        self.arrays: dict[str, ArrayInfo] = {}
        with self._h5py.File(path, "r") as file:
            file.visititems(self._add)

    @property
    def _h5py(self) -> Any:
        return require("h5py", "files")

    def _add(self, name: str, node: Any) -> None:
        if isinstance(node, self._h5py.Dataset) and node.shape:
            text = self._h5py.check_string_dtype(node.dtype) is not None
            dtype = np.dtype(np.str_) if text else node.dtype
            if dtype.kind in "fiubSU":
                self.arrays[name] = ArrayInfo(node.shape, dtype)

    def reader(self, stack: ExitStack, name: str, axis: int, start: int) -> Reader:
        """Return a function that reads ranges, see `ArrayStore.reader`."""
        dataset = stack.enter_context(self._h5py.File(self.path, "r"))[name]
        if dataset.chunks is not None:
            size = math.prod(dataset.chunks) * dataset.dtype.itemsize
            check_memory(self.path, f"a chunk {dataset.chunks} of {name}", size)
        if self._h5py.check_string_dtype(dataset.dtype) is not None:
            return _slicer(dataset.asstr(), axis)
        read, chunks = _slicer(dataset, axis), dataset.chunks
        if chunks is None or dataset.is_virtual:
            return read

        def stored(index: tuple[int, ...]) -> int:
            first = tuple(i * chunk for i, chunk in zip(index, chunks, strict=True))
            return int(dataset.id.get_chunk_info_by_coord(first).size)

        return checked_reader(
            self.path, read, dataset.shape, chunks, axis, dataset.dtype.itemsize, stored
        )

    def chunk_rows(self, name: str, axis: int) -> int:
        """Return how many rows are stored together."""
        with self._h5py.File(self.path, "r") as file:
            chunks = file[name].chunks
        return 1 if chunks is None else int(chunks[axis])

    def check_complete(self, name: str | None) -> None:
        """Raise `PredictionFileError` for a dataset or a chunk that was never written."""
        if name is None:
            return
        with self._h5py.File(self.path, "r") as file:
            dataset = file[name]
            if dataset.is_virtual:
                return
            written = dataset.id.get_storage_size() > 0 or dataset.external is not None
            if written and dataset.chunks is not None:
                sizes = zip(dataset.shape, dataset.chunks, strict=True)
                expected = math.prod(-(-size // chunk) for size, chunk in sizes)
                found = dataset.id.get_num_chunks()
                if found < expected:
                    problem = f"{name} has {found} of {expected} chunks"
                    raise_file_error(self.path, problem, "write all of its rows")
            if not written:
                raise_file_error(self.path, f"{name} was never written", "write its rows")


class SafetensorsStore(ArrayStore):
    """The tensors of a ``.safetensors`` file."""

    DTYPES: ClassVar[dict[str, str]] = {
        "F64": "f8", "F32": "f4", "F16": "f2", "BF16": "f4", "BOOL": "?", "I64": "i8", "I32": "i4",
        "I16": "i2", "I8": "i1", "U8": "u1", "U16": "u2", "U32": "u4", "U64": "u8",
    }  # fmt: skip

    def __init__(self, path: str, stream: ByteStream | None = None) -> None:
        self.path = path
        self.arrays: dict[str, ArrayInfo] = {}
        with self._open() as file:
            for name in file.keys():  # noqa: SIM118  # not a mapping
                part = file.get_slice(name)
                kind, shape = part.get_dtype(), tuple(part.get_shape())
                if kind in self.DTYPES:
                    dtype = np.dtype(self.DTYPES[kind])
                    self.arrays[name] = ArrayInfo(shape, dtype, kind == "BF16")

    def _open(self) -> Any:
        require("ml_dtypes", "files")  # registers the dtype bfloat16
        return require("safetensors", "files").safe_open(self.path, framework="np")

    def reader(self, stack: ExitStack, name: str, axis: int, start: int) -> Reader:
        """Return a function that reads ranges, see `ArrayStore.reader`."""
        part = stack.enter_context(self._open()).get_slice(name)
        read, dtype = _slicer(part, axis), self.arrays[name].dtype
        return lambda first, last: np.asarray(read(first, last)).astype(dtype, copy=False)


class TorchStore(ArrayStore):
    """The tensors that ``torch.save`` wrote: one, or a dict or list of them.

    Only tensors are loaded (``weights_only=True``), since other objects can run code.
    """

    random_access = False  # the tensors are held in memory

    def __init__(self, path: str, stream: ByteStream | None = None) -> None:
        self.path = path
        self._tensors = self._load()
        bfloat16 = {name for name, t in self._tensors.items() if str(t.dtype) == "torch.bfloat16"}
        self._tensors = {
            name: t.float() if name in bfloat16 else t for name, t in self._tensors.items()
        }
        self.arrays = {
            name: ArrayInfo(tuple(t.shape), t.numpy().dtype, name in bfloat16)
            for name, t in self._tensors.items()
        }

    def _load(self) -> dict[str, Any]:
        torch = require("torch", "torch")
        try:
            found = torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception as error:
            if "weights_only" not in str(error).lower() and "unsupported" not in str(error).lower():
                raise
            raise_file_error(
                self.path,
                "contains Python objects besides tensors, which are not loaded because they can "
                "run code",
                "save tensors: torch.save({'probs': probs, 'labels': labels}, path)",
            )
        tensors = {k: v for k, v in _leaves(found) if isinstance(v, torch.Tensor)}
        if isinstance(found, list | tuple):
            self._check_list([t for t in tensors.values() if t.ndim == 2 and t.shape[1] > 1])
        held = os.path.getsize(self.path)
        for name, t in tensors.items():  # sparse tensors, and those that repeat their values
            check_stored(self.path, name or "the tensor", t.numel() * t.element_size(), held)
        dense = {name: t.detach().to_dense() for name, t in tensors.items()}
        return {name: t for name, t in dense.items() if t.ndim and not t.is_complex()}

    def _check_list(self, tables: list[Any]) -> None:
        """Raise if a list has several predictions, which may be those of models or of batches."""
        if len(tables) > 1 and len({t.shape[1] for t in tables}) == 1:
            shapes = ", ".join(str(tuple(t.shape)) for t in tables[:3])
            raise_file_error(
                self.path,
                f"contains a list of {len(tables)} tensors {shapes}",
                "save torch.cat(list) if these are batches, torch.stack(list, 1) if models",
            )

    def reader(self, stack: ExitStack, name: str, axis: int, start: int) -> Reader:
        """Return a function that reads ranges, see `ArrayStore.reader`."""
        return _slicer(self._tensors[name].numpy(), axis)


def _leaves(found: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in nested dicts and lists, with their keys joined by slashes."""
    if isinstance(found, list | tuple):
        found = {str(i): value for i, value in enumerate(found)}
    if not isinstance(found, dict):
        yield prefix, found
        return
    for key, value in found.items():
        yield from _leaves(value, f"{prefix}/{key}" if prefix else str(key))


def _stored_chunks(array: Any) -> tuple[int, ...]:
    """Return the shape of what is read at once: a shard where chunks are packed into shards."""
    return tuple(getattr(array, "shards", None) or array.chunks)


def _slicer(array: Any, axis: int) -> Reader:
    def read(start: int, stop: int) -> Array:
        return np.asarray(array[(*[slice(None)] * axis, slice(start, stop))])

    return read
