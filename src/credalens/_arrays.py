"""Any array library in, the same one out; and arrays cut into blocks for the kernels."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Bytes handed to a kernel at once: large enough that starting threads costs nothing, small enough
#: that converting an awkward layout block by block takes little memory.
BLOCK_BYTES = 1 << 25


@dataclass(frozen=True)
class Origin:
    """Where an array came from, so that results go back there."""

    library: str = "numpy"
    dtype: Any = None

    def wrap(self, array: Array) -> Any:
        """Return `array` as an array of the library and dtype that came in."""
        if self.library == "torch":
            torch = sys.modules["torch"]
            # A scalar has no memory to share, and what is read-only must not be shared.
            share = isinstance(array, np.ndarray) and array.flags.writeable
            tensor = torch.from_numpy(array if share else np.array(array))
            return tensor if self.dtype is None else tensor.to(self.dtype)
        return array[()]  # a zero-dimensional array becomes a NumPy scalar


NUMPY = Origin()


def to_numpy(x: Any, name: str) -> tuple[Array, Origin]:
    """Return `x` as a NumPy array, sharing memory where that can be, and its origin."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _from_torch(torch, x, name)
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f"{name}: has masked entries; fill them, or drop these instances, first")
    try:
        if isinstance(x, np.ndarray) or hasattr(x, "__array__") or not hasattr(x, "__dlpack__"):
            return np.asarray(x), NUMPY
        return np.from_dlpack(x), NUMPY
    except ValueError as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"{name}: a ragged list ({error}); every row must have the same length"
            ) from None
        raise


def _from_torch(torch: Any, x: Any, name: str) -> tuple[Array, Origin]:
    if x.requires_grad:
        raise ValueError(f"{name}: the tensor requires grad; pass {name}.detach()")
    if x.device.type != "cpu":
        raise ValueError(f"{name}: the tensor is on {x.device}; pass {name}.cpu()")
    dtype = x.dtype if x.is_floating_point() else None
    if x.dtype == torch.bfloat16:
        x = x.float()
    return x.resolve_neg().numpy(), Origin("torch", dtype)


def num_threads() -> int:
    """Return the number of kernel threads: ``CREDALENS_NUM_THREADS``, or the cores at hand."""
    text = os.environ.get("CREDALENS_NUM_THREADS", "")
    if not text:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"CREDALENS_NUM_THREADS: is {text!r}; set it to a whole number >= 1")
    return int(text)


def working_dtype(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """Return the dtype in which the kernels read an array of `dtype`."""
    return np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64


def blocks(
    array: Array,
    core: int,
    dtype: type[np.floating[Any]] | None = None,
    rows: int | None = None,
    *,
    large: bool = False,
) -> Iterator[tuple[int, int, Array]]:
    """Cut ``(..., *core axes)`` into C-contiguous native blocks ``(b, *core axes)``.

    Yields ``(start, stop, block)`` in the order of the flattened leading axes. A block is a view
    where the layout allows it, a copy of at most about `BLOCK_BYTES`, or a quarter of the array,
    otherwise. `rows` bounds the instances in a block, for kernels that take long on each; `large`
    allows views of a sixteenth of the array, for kernels that hold nothing of a block's size.
    """
    dtype = working_dtype(array.dtype) if dtype is None else dtype
    lead, tail = array.shape[: array.ndim - core], array.shape[array.ndim - core :]
    if not lead:
        yield 0, 1, np.ascontiguousarray(array, dtype)[None]
        return
    if array.size == 0 and 0 in lead:
        return
    if large and array.flags.c_contiguous and array.dtype == dtype:
        # Nothing is copied. Few blocks, as a thread takes long to start on some systems.
        limit = max(BLOCK_BYTES, array.nbytes // 16)
    else:
        limit = min(BLOCK_BYTES, max(array.nbytes // 4, 1 << 16))
    per_index = math.prod(lead[1:])
    index_bytes = per_index * math.prod(tail) * np.dtype(dtype).itemsize
    if len(lead) > 1 and (index_bytes > limit or (rows is not None and per_index > rows)):
        for i, part in enumerate(array):
            for start, stop, block in blocks(part, core, dtype, rows, large=large):
                yield i * per_index + start, i * per_index + stop, block
        return
    step = max(1, limit // max(index_bytes, 1))
    if rows is not None:
        step = min(step, max(1, rows // per_index))
    for first in range(0, lead[0], step):
        part = np.ascontiguousarray(array[first : first + step], dtype)
        stop = min(lead[0], first + step)
        yield first * per_index, stop * per_index, part.reshape(-1, *tail)


def per_instance(
    array: Array,
    kernel: Callable[..., None],
    shapes: Sequence[tuple[int, ...]],
    *,
    rows: int | None = None,
    dtype: type[np.floating[Any]] | None = None,
    large: bool = False,
) -> list[Array]:
    """Run ``kernel(block, *outputs)`` over the instances of ``(..., M, K)``.

    `shapes` are the trailing shapes of the float64 outputs; results come back with the leading
    axes of `array` and in its dtype, or in `dtype`.
    """
    lead = array.shape[:-2]
    kind = array.dtype.newbyteorder("=") if dtype is None else np.dtype(dtype)
    n = math.prod(lead)
    results = [np.empty((n, *shape), kind) for shape in shapes]
    for start, stop, block in blocks(array, 2, rows=rows, large=large):
        # A float64 result is written in place, any other is rounded once, at the end.
        direct = kind == np.float64
        outputs = [r[start:stop] if direct else np.empty((stop - start, *r.shape[1:]))
                   for r in results]  # fmt: skip
        kernel(block, *outputs)
        if not direct:
            for result, output in zip(results, outputs, strict=True):
                result[start:stop] = output
    return [r.reshape(lead + shape) for r, shape in zip(results, shapes, strict=True)]
