"""Inputs of networks: a tensor, or a dict of tensors with one row per instance each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
import torch

from credalens._validation import raise_invalid

#: Keys of the labels in a dict that holds a whole batch.
LABELS = ("labels", "label")


def is_dict(x: Any) -> bool:
    """Return whether inputs are named, such as the batches of a tokenizer."""
    return isinstance(x, Mapping)


def map_tensors(function: Callable[[Any], Any], x: Any) -> Any:
    """Return inputs with `function` applied to every tensor."""
    return {key: function(value) for key, value in x.items()} if is_dict(x) else function(x)


def tensors_of(x: Any) -> list[Any]:
    """Return the tensors of inputs, those of a dict in the order of their names."""
    return [x[key] for key in sorted(x)] if is_dict(x) else [x]


def count(x: Any) -> int:
    """Return the number of instances."""
    return len(tensors_of(x)[0])


def take(x: Any, rows: Any) -> Any:
    """Return some instances."""
    return map_tensors(lambda tensor: tensor[rows], x)


def as_inputs(x: Any, name: str = "X") -> Any:
    """Return arrays, or a dict of arrays with the same number of rows, as tensors."""
    if not is_dict(x):
        return as_tensor(x, name)
    if not x:
        raise_invalid(name, "is an empty dict", "pass one array per input of the network")
    found = {str(key): as_tensor(value, f"{name}[{key!r}]") for key, value in x.items()}
    for key, tensor in found.items():
        if tensor.ndim == 0:
            raise_invalid(f"{name}[{key!r}]", "is a single number", "pass one row per instance")
    lengths = {key: len(tensor) for key, tensor in found.items()}
    if len(set(lengths.values())) > 1:
        raise_invalid(name, f"has numbers of rows {lengths}", "pass the same number for each key")
    return found


def as_tensor(array: Any, name: str) -> Any:
    """Return a numeric array as a tensor."""
    if isinstance(array, torch.Tensor):
        return array.detach()
    array = np.asarray(array)
    if array.dtype.kind not in "biuf":
        raise_invalid(name, f"is not numeric (dtype {array.dtype})", "pass an array of numbers")
    # PyTorch does not accept non-native byte orders and negative strides; it warns of read-only
    # memory.
    native = array.dtype.newbyteorder("=")
    return torch.from_numpy(array.astype(native, order="C", copy=not array.flags.writeable))


def split_labels(x: Any) -> tuple[Any, Any]:
    """Return the inputs and the labels of a dict that may hold both."""
    for key in LABELS:
        if key in x:
            return {name: value for name, value in x.items() if name != key}, x[key]
    return x, None


def as_pair(batch: Any) -> tuple[Any, Any]:
    """Return a batch of a loader as inputs and labels; None without labels."""
    if is_dict(batch):
        x, y = split_labels(batch)
    else:
        parts = tuple(batch) if isinstance(batch, tuple | list) else (batch,)
        x, y = parts[0], parts[1] if len(parts) > 1 else None
        if len(parts) > 2:
            _raise_batch(f"{len(parts)} parts")
    if is_dict(x):
        x = dict(x)
    if not tensors_of(x) or not all(isinstance(part, torch.Tensor) for part in tensors_of(x)):
        _raise_batch("a dict of other objects" if is_dict(x) else type(x).__name__)
    return x, y


def _raise_batch(kind: str) -> NoReturn:
    raise_invalid(
        "data",
        f"gives batches of {kind}",
        "give pairs (x, y) of tensors, where x may be a dict of tensors",
    )
