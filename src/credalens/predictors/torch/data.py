"""Batches from arrays, tensors, datasets and data loaders."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
)

from credalens._validation import raise_invalid
from credalens.predictors.torch.inputs import (
    as_inputs,
    as_pair,
    as_tensor,
    count,
    is_dict,
    split_labels,
    take,
    tensors_of,
)

Batch = tuple[Any, Any]

#: Evaluation batches are larger by this factor, since they need no memory for gradients.
EVALUATION_BATCHES = 4


class TensorData:
    """Tensors in memory, from which batches ``(x, y)`` are sliced; y is None without labels."""

    def __init__(self, x: Any, y: Any, batch_size: int) -> None:
        self._x, self.y, self._batch_size = x, y, batch_size

    def __len__(self) -> int:
        return count(self._x)

    def _rows(self, rows: Any) -> Batch:
        return take(self._x, rows), None if self.y is None else self.y[rows]

    def shuffled(self, seed: int) -> Iterator[Batch]:
        """Yield every instance once, in an order that depends on `seed` only."""
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed))
        batches = list(order.split(self._batch_size))
        if len(batches) > 1 and len(batches[-1]) == 1:
            # Batch normalisation cannot be trained on a single instance.
            batches[-2:] = [order[-self._batch_size - 1 :]]
        yield from map(self._rows, batches)

    def in_order(self) -> Iterator[Batch]:
        """Yield every instance once, in its original order; one empty batch if there is none."""
        step = EVALUATION_BATCHES * self._batch_size
        for start in range(0, max(len(self), 1), step):
            yield self._rows(slice(start, start + step))

    def fingerprint(self) -> str:
        """Return the number of instances and a checksum."""
        return f"{len(self)}-{_checksum(*tensors_of(self._x), self.y):08x}"


class LoaderData:
    """Data of a `DataLoader`, with the methods of `TensorData`.

    Training iterates over the loader. Evaluation and prediction iterate over its whole dataset in
    order, whatever the loader shuffles or drops.
    """

    def __init__(self, loader: Any, batch_size: int) -> None:
        self._loader, self._batch_size = loader, loader.batch_size or batch_size
        self._dataset = loader.dataset
        if isinstance(loader.sampler, SubsetRandomSampler):
            self._dataset = Subset(loader.dataset, loader.sampler.indices)

    def __len__(self) -> int:
        return len(self._dataset)

    def shuffled(self, seed: int) -> Iterator[Batch]:
        """Yield the batches of the loader, with its generators seeded."""
        # A loader without a generator uses the global one, which the trainer seeds.
        for generator in (self._loader.generator, getattr(self._loader.sampler, "generator", None)):
            if generator is not None:
                generator.manual_seed(seed)
        yield from map(as_pair, self._loader)

    def in_order(self) -> Iterator[Batch]:
        """Yield the whole dataset in its original order."""
        loader = DataLoader(
            self._dataset,
            batch_size=EVALUATION_BATCHES * self._batch_size,
            collate_fn=self._loader.collate_fn,
            num_workers=self._loader.num_workers,
        )
        yield from map(as_pair, loader)

    def fingerprint(self) -> str:
        """Return the number of instances and a checksum of the first batch, to save time."""
        x, y = next(self.in_order())
        return f"{len(self)}-{_checksum(*tensors_of(x), y):08x}"


#: Instances in batches.
Data = TensorData | LoaderData


def as_data(data: Any, batch_size: int, *, labels: bool) -> Data:
    """Return a loader, a dataset, a pair ``(X, y)`` or, without labels, X alone as `Data`.

    X may be a dict of arrays. A dict may have the labels among them.
    """
    found: Data
    if isinstance(data.dataset if isinstance(data, DataLoader) else data, IterableDataset):
        raise_invalid(
            "data",
            "is a stream (IterableDataset)",
            "pass a dataset with a length: the likelihood is that of a fixed training set",
        )
    if isinstance(data, DataLoader):
        found = LoaderData(data, batch_size)
    elif type(data) is TensorDataset and len(data.tensors) <= 2:
        found = _tensors(*data.tensors, batch_size=batch_size)
    elif is_dict(data):
        found = _tensors(*split_labels(data), batch_size=batch_size)
    elif isinstance(data, Dataset) or _is_map_style_dataset(data):
        found = LoaderData(DataLoader(data, batch_size, shuffle=len(data) > 0), batch_size)
    elif isinstance(data, tuple) or (labels and isinstance(data, list)):
        if len(data) != 2:
            raise_invalid("data", f"is a {type(data).__name__} of {len(data)} parts", "pass (X, y)")
        found = _tensors(*data, batch_size=batch_size)
    else:
        found = _tensors(data, batch_size=batch_size)
    if labels and isinstance(found, TensorData) and found.y is None:
        raise_invalid(
            "data", "has no labels", "pass (X, y), a dataset of (x, y), or a DataLoader of one"
        )
    if len(found) == 0 and (labels or isinstance(found, LoaderData)):
        raise_invalid("data", "is empty", "pass at least one instance")
    return found


def _is_map_style_dataset(data: Any) -> bool:
    """Return whether an object that is no `Dataset` implements its protocol and is no array."""
    array = isinstance(data, tuple | list | torch.Tensor) or hasattr(data, "__array__")
    return not array and hasattr(data, "__getitem__") and hasattr(data, "__len__")


def _tensors(x: Any, y: Any = None, *, batch_size: int) -> TensorData:
    x = as_inputs(x)
    if tensors_of(x)[0].ndim == 0:
        raise_invalid("X", "is a single number", "pass an array with one instance per row")
    if y is not None:
        y = as_tensor(y, "y")
        if y.shape != (count(x),):
            raise_invalid(
                "y",
                f"has shape {tuple(y.shape)} for {count(x)} instances",
                "pass one class index per instance",
            )
    return TensorData(x, y, batch_size)


def _checksum(*arrays: Any) -> int:
    value = 0
    for array in arrays:
        if array is not None:
            tensor = torch.as_tensor(array).detach().cpu()
            value = zlib.crc32(f"{tensor.dtype}{tuple(tensor.shape)}".encode(), value)
            value = zlib.crc32(tensor.flatten().view(torch.uint8).numpy().data, value)
    return value
