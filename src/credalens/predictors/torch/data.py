"""Training and test data of any kind, in batches."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
)

from credalens._validation import refuse

Batch = tuple[Any, Any]

#: Without gradients a batch takes less memory, so that larger ones can be evaluated.
EVALUATION_BATCHES = 4


class Data(ABC):
    """Instances in batches ``(x, y)``; y is None where there are no labels."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def shuffled(self, seed: int) -> Iterator[Batch]:
        """Give every instance once, in an order that depends on `seed` alone."""

    @abstractmethod
    def in_order(self) -> Iterator[Batch]:
        """Give every instance once, in its own order; one empty batch if there is none."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return what tells these data from others."""


class Tensors(Data):
    """Data in memory: batches are cut out at once, not put together from single instances."""

    def __init__(self, x: Any, y: Any, batch_size: int) -> None:
        self._x, self.y, self._batch_size = x, y, batch_size

    def __len__(self) -> int:
        return len(self._x)

    def _rows(self, rows: Any) -> Batch:
        return self._x[rows], None if self.y is None else self.y[rows]

    def shuffled(self, seed: int) -> Iterator[Batch]:
        """Cut batches from a permutation."""
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed))
        batches = list(order.split(self._batch_size))
        if len(batches) > 1 and len(batches[-1]) == 1:
            # Batch normalisation cannot be trained on a single instance.
            batches[-2:] = [order[-self._batch_size - 1 :]]
        yield from map(self._rows, batches)

    def in_order(self) -> Iterator[Batch]:
        """Cut batches as the rows come."""
        step = EVALUATION_BATCHES * self._batch_size
        for start in range(0, max(len(self), 1), step):
            yield self._rows(slice(start, start + step))

    def fingerprint(self) -> str:
        """Return the size and a checksum of all of it."""
        return f"{len(self)}-{_checksum(self._x, self.y):08x}"


class Loaded(Data):
    """Data that a `DataLoader` brings.

    Training goes through the loader itself. Evaluation and prediction go through its dataset in
    order and whole, whatever the loader shuffles or drops: the likelihood is that of the training
    set, and predictions stand where their instances do.
    """

    def __init__(self, loader: Any, batch_size: int) -> None:
        self._loader, self._batch_size = loader, loader.batch_size or batch_size
        indices = (
            loader.sampler.indices if isinstance(loader.sampler, SubsetRandomSampler) else None
        )
        self._dataset = loader.dataset if indices is None else Subset(loader.dataset, indices)

    def __len__(self) -> int:
        return len(self._dataset)

    def shuffled(self, seed: int) -> Iterator[Batch]:
        """Go through the loader, its generators seeded."""
        # A loader without a generator of its own draws from the global one, which is seeded too.
        for generator in (self._loader.generator, getattr(self._loader.sampler, "generator", None)):
            if generator is not None:
                generator.manual_seed(seed)
        yield from map(_pair, self._loader)

    def in_order(self) -> Iterator[Batch]:
        """Go through the dataset."""
        loader = DataLoader(
            self._dataset,
            batch_size=EVALUATION_BATCHES * self._batch_size,
            collate_fn=self._loader.collate_fn,
            num_workers=self._loader.num_workers,
        )
        yield from map(_pair, loader)

    def fingerprint(self) -> str:
        """Return the size and a checksum of the first batch."""
        # Reading all of it may take minutes; its beginning tells most datasets apart.
        return f"{len(self)}-{_checksum(*next(self.in_order())):08x}"


def as_data(data: Any, batch_size: int, *, labels: bool) -> Data:
    """Return a loader, a dataset, a pair ``(X, y)`` or, without labels, X alone as `Data`."""
    found: Data
    if isinstance(data, DataLoader):
        if isinstance(data.dataset, IterableDataset):
            _refuse_stream()
        found = Loaded(data, batch_size)
    elif isinstance(data, IterableDataset):
        _refuse_stream()
    elif type(data) is TensorDataset and len(data.tensors) <= 2:
        found = _tensors(*data.tensors, batch_size=batch_size)
    elif isinstance(data, Dataset) or _is_sequence_of_pairs(data):
        found = Loaded(DataLoader(data, batch_size, shuffle=len(data) > 0), batch_size)
    elif isinstance(data, tuple) or (labels and isinstance(data, list)):
        if len(data) != 2:
            refuse("data", f"is a {type(data).__name__} of {len(data)} parts", "pass (X, y)")
        found = _tensors(*data, batch_size=batch_size)
    else:
        found = _tensors(data, batch_size=batch_size)
    if labels and isinstance(found, Tensors) and found.y is None:
        refuse("data", "has no labels", "pass (X, y), a dataset of (x, y), or a DataLoader of one")
    if len(found) == 0 and (labels or isinstance(found, Loaded)):
        refuse("data", "is empty", "pass at least one instance")
    return found


def _refuse_stream() -> NoReturn:
    refuse(
        "data",
        "is a stream (IterableDataset)",
        "pass a dataset with a length: the likelihood is that of a fixed training set",
    )


def _is_sequence_of_pairs(data: Any) -> bool:
    """Tell a home-made dataset, which need not inherit from `Dataset`, from arrays and lists."""
    array = isinstance(data, tuple | list | torch.Tensor) or hasattr(data, "__array__")
    return not array and hasattr(data, "__getitem__") and hasattr(data, "__len__")


def _tensors(x: Any, y: Any = None, *, batch_size: int) -> Tensors:
    x = _tensor(x, "X")
    if x.ndim == 0:
        refuse("X", "is a single number", "pass an array with one instance per row")
    if y is not None:
        y = _tensor(y, "y")
        if y.shape != x.shape[:1]:
            refuse("y", f"has shape {tuple(y.shape)} for {len(x)} instances",
                   "pass one class index per instance")  # fmt: skip
    return Tensors(x, y, batch_size)


def _tensor(array: Any, name: str) -> Any:
    if isinstance(array, torch.Tensor):
        return array.detach()
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        refuse(name, f"is not numeric (dtype {array.dtype})", "pass an array of numbers")
    # PyTorch takes neither foreign byte orders and negative strides nor, quietly, read-only memory.
    plain = array.astype(array.dtype.newbyteorder("="), order="C", copy=not array.flags.writeable)
    return torch.from_numpy(plain)


def _parts(item: Any) -> tuple[Any, ...]:
    return tuple(item) if isinstance(item, tuple | list) else (item,)


def _pair(batch: Any) -> Batch:
    parts = _parts(batch)
    x, y = parts[0], parts[1] if len(parts) > 1 else None
    if len(parts) > 2 or not isinstance(x, torch.Tensor):
        kind = f"{len(parts)} parts" if len(parts) > 2 else type(x).__name__
        refuse("data", f"gives batches of {kind}", "give pairs (x, y) of tensors")
    return x, y


def _checksum(*arrays: Any) -> int:
    value = 0
    for array in arrays:
        if array is not None:
            tensor = torch.as_tensor(array).detach().cpu()
            value = zlib.crc32(f"{tensor.dtype}{tuple(tensor.shape)}".encode(), value)
            value = zlib.crc32(tensor.flatten().view(torch.uint8).numpy().data, value)
    return value
