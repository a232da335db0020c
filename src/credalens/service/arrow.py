"""Predictions in Arrow streams, and answers as Arrow streams."""

from __future__ import annotations

import io
import struct
from typing import Any, NoReturn

import numpy as np

from credalens._backend import Array
from credalens._extras import require
from credalens.policy.policy import Policy

pa = require("pyarrow", "serve")
ipc = require("pyarrow.ipc", "serve")

#: The column of predictions of all members, and of identifiers.
PREDICTIONS, IDS = "predictions", "id"


def read(body: bytes, policy: Policy) -> tuple[Array, Any]:
    """Return the predictions ``(n, M, K)`` and identifiers of an Arrow stream.

    The columns are one per member, lists of K numbers, or one column ``predictions`` of M lists of
    K numbers (or fixed-shape tensors); ``id`` is optional.
    """
    try:
        table = _table(body)
    except (pa.ArrowException, struct.error, OSError, MemoryError) as error:
        message = " ".join(str(error).split())
        raise ValueError(f"body: is not an Arrow stream ({message}); send record batches") from None
    names, M, K = table.schema.names, policy.n_members, policy.n_classes
    ids = table.column(IDS).to_pylist() if IDS in names else None
    found = [name for name in names if name != IDS]
    if found == [PREDICTIONS] and PREDICTIONS not in policy.member_names:
        values = _flat(table, PREDICTIONS, {"members": M, "classes": K})
        return values.reshape(-1, M, K), ids
    if sorted(found) != sorted(policy.member_names):
        raise ValueError(
            f"body: has the columns {', '.join(names)}; send one column per member of the policy, "
            f"{', '.join(policy.member_names)}, or one named {PREDICTIONS}, and optionally {IDS}"
        )
    columns = (_flat(table, name, {"classes": K}) for name in policy.member_names)
    return np.stack([column.reshape(-1, K) for column in columns], axis=1), ids


def _table(body: bytes) -> Any:
    # Compressed buffers could be much larger than the limit of the size of a body.
    for message in ipc.MessageReader.open_stream(body):
        if message.type == "record batch" and _is_compressed(message.metadata.to_pybytes()):
            raise ValueError("body: has compressed record batches; send them without compression")
    with ipc.open_stream(body) as reader:
        table = reader.read_all()
    table.validate(full=True)
    return table.combine_chunks()


def _is_compressed(metadata: bytes) -> bool:
    """Return whether the flatbuffer of a record batch names a compression."""
    (table,) = struct.unpack_from("<I", metadata)
    header = _field(metadata, table, 2)
    if header is None:
        return False
    batch = header + struct.unpack_from("<I", metadata, header)[0]
    return _field(metadata, batch, 3) is not None


def _field(metadata: bytes, table: int, index: int) -> int | None:
    """Return the position of a field of a flatbuffer table, None if it has its default value."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    (size,) = struct.unpack_from("<H", metadata, vtable)
    slot = 4 + 2 * index
    offset = struct.unpack_from("<H", metadata, vtable + slot)[0] if size >= slot + 2 else 0
    return table + offset if offset else None


def _flat(table: Any, name: str, shape: dict[str, int]) -> Array:
    """Return the numbers of a column of nested lists, or of tensors, of this shape."""
    array = table.column(name).combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # older versions of pyarrow
        array = array.chunk(0)
    if isinstance(array, pa.ExtensionArray):
        tensor = array.type
        own = list(getattr(tensor, "shape", ()))
        order = list(getattr(tensor, "permutation", None) or range(len(own)))
        if own != list(shape.values()) or order != sorted(order):
            expected = " x ".join(f"{n} {what}" for what, n in shape.items())
            raise ValueError(f"{name}: has the type {tensor}; send tensors of {expected}")
        if array.null_count:
            _raise_null(array, name)
        return _numbers(array.storage.flatten(), name)
    for what, length in shape.items():
        array = _flattened(array, length, name, what)
    return _numbers(array, name)


def _flattened(array: Any, length: int, name: str, what: str) -> Any:
    """Return the values of lists that all have this length."""
    kind = array.type
    fixed = pa.types.is_fixed_size_list(kind)
    if not (fixed or pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise ValueError(f"{name}: has entries of the type {kind}; send lists of {length} {what}")
    if array.null_count:
        _raise_null(array, name)
    sizes = np.full(1, kind.list_size) if fixed else array.value_lengths().to_numpy()
    other = np.flatnonzero(sizes != length)
    if len(other):
        raise ValueError(
            f"{name}: has a list of {int(sizes[other[0]])} {what} at entry {int(other[0])} "
            f"(zero-based), the policy is for {length}; send lists of {length}"
        )
    return array.flatten()


def _numbers(array: Any, name: str) -> Array:
    if not pa.types.is_floating(array.type) and not pa.types.is_integer(array.type):
        raise ValueError(f"{name}: has entries of the type {array.type}; send floats")
    if array.null_count:
        _raise_null(array, name)
    values = array.to_numpy(zero_copy_only=False)
    return np.asarray(values if values.dtype.kind == "f" else values.astype(np.float64))


def _raise_null(array: Any, name: str) -> NoReturn:
    first = int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
    raise ValueError(f"{name}: entry {first} (zero-based) is null; send numbers")


def write(answer: dict[str, Any]) -> bytes:
    """Return an answer as an Arrow stream, one row per prediction."""
    columns = {
        name: column if isinstance(column, np.ndarray | list) else [column]
        for name, column in answer.items()
    }
    arrays = {
        name: pa.array(np.asarray(values).tolist() if _is_text(values) else values,
                       pa.string() if name == "reason" else None)
        for name, values in columns.items()
    }  # fmt: skip
    batch = pa.record_batch(list(arrays.values()), names=list(arrays))
    sink = io.BytesIO()
    with ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _is_text(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "UO"
