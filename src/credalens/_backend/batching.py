"""The loop over instances: arrays cut into blocks that the kernels can read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from credalens import _kernels
from credalens._backend.backend import Array

#: Bytes of a block: large enough to amortise starting the threads, small enough to convert
#: non-contiguous layouts block by block with little extra memory.
BLOCK_BYTES = 1 << 25
#: Bytes of a block of an array with the batch on the last axes: it stays in the cache between the
#: copy and the kernel that reads it.
PLANES_BYTES = 1 << 22
#: Fewest consecutive instances for which such an array is read in place.
MIN_RUN = 256
#: Bytes that a block may always have, however small the array.
SMALL_BYTES = 1 << 16
#: Bytes of the temporaries of a NumPy expression: these stay in the cache.
CACHE_BYTES = 1 << 20

#: Number of threads of a kernel: decided by the kernel from ``get_num_threads()`` and the work.
DEFAULT_THREADS = 0


def rows_in_cache(floats: int) -> int:
    """Return the number of instances whose temporaries, of so many floats each, fit the cache."""
    return max(1, CACHE_BYTES // (8 * max(1, floats)))


def as_contiguous(array: Array, dtype: Any) -> Array:
    """Return `array` in C order, aligned and in `dtype`; a copy only if necessary."""
    block = np.asarray(array, dtype, order="C")
    return block if block.flags.aligned else block.copy()


def blocks(
    arrays: Sequence[Array],
    core_ndims: Sequence[int],
    dtype: Any = None,
    rows: int | None = None,
    *,
    large: bool = False,
) -> Iterable[tuple[int, int, tuple[Array, ...]]]:
    """Cut arrays with the same leading axes into C-contiguous blocks ``(b, *core axes)``.

    Parameters
    ----------
    arrays : sequence of arrays
        Arrays ``(..., *core axes)``.
    core_ndims : sequence of int
        Number of core axes of each.
    dtype : dtype, optional
        Dtype of the blocks; by default the working dtype of the first array.
    rows : int, optional
        Largest number of instances in a block, for kernels that take long for each.
    large : bool, default=False
        Allow views of a sixteenth of the arrays, for kernels that allocate nothing of a block's
        size.

    Returns
    -------
    iterable of (start, stop, block)
        The instances of each block in the flattened leading axes, and a tuple of arrays. These are
        views if the layout allows it. Copies have at most about `BLOCK_BYTES`, or a sixth of the
        arrays: two are alive while the next one is made. Copies of arrays with the batch on the
        last axes in memory, such as ``(M, N, K, H, W)``, have at most about `PLANES_BYTES`.
    """
    first, core = arrays[0], core_ndims[0]
    if dtype is None:
        dtype = np.float32 if first.dtype.kind == "f" and first.dtype.itemsize <= 4 else np.float64
    lead = first.shape[: first.ndim - core]
    if not lead:
        return ((0, 1, tuple([as_contiguous(array, dtype)[None] for array in arrays])),)
    n, nbytes = math.prod(lead), max([array.nbytes for array in arrays])
    contiguous = all(map(_is_readable, arrays, [dtype] * len(arrays)))
    if large and contiguous:
        limit = max(BLOCK_BYTES, nbytes // 16)
    else:
        limit = min(BLOCK_BYTES, max(nbytes // 6, SMALL_BYTES))
    if not contiguous and _has_planes(first, core, dtype):
        limit = min(limit, PLANES_BYTES)
    if contiguous and 0 < nbytes <= limit and (rows is None or n <= rows):
        return ((0, n, tuple([a.reshape(n, *a.shape[len(lead) :]) for a in arrays])),)
    return _cut(arrays, core_ndims, dtype, rows, large, limit)


def _cut(
    arrays: Sequence[Array],
    core_ndims: Sequence[int],
    dtype: Any,
    rows: int | None,
    large: bool,
    limit: int,
) -> Iterator[tuple[int, int, tuple[Array, ...]]]:
    lead = arrays[0].shape[: arrays[0].ndim - core_ndims[0]]
    if 0 in lead:
        return
    inner = math.prod(lead[1:])
    size = inner * max(math.prod(a.shape[len(lead) :]) for a in arrays) * np.dtype(dtype).itemsize
    if len(lead) > 1 and (size > limit or (rows is not None and inner > rows)):
        for i in range(lead[0]):
            parts = [array[i] for array in arrays]
            for start, stop, block in blocks(parts, core_ndims, dtype, rows, large=large):
                yield i * inner + start, i * inner + stop, block
        return
    step = max(1, limit // max(size, 1))
    if rows is not None:
        step = min(step, max(1, rows // inner))
    for begin in range(0, lead[0], step):
        end = min(lead[0], begin + step)
        parts = [
            _converted(array[begin:end], core, dtype)
            for array, core in zip(arrays, core_ndims, strict=True)
        ]
        block = tuple(part.reshape(-1, *part.shape[len(lead) :]) for part in parts)
        yield begin * inner, end * inner, block


def _has_planes(array: Array, core: int, dtype: Any) -> bool:
    """Return whether consecutive instances are consecutive in memory for each entry of them."""
    unit, strides = array.itemsize, array.strides
    return (
        core == 2
        and array.ndim > 2
        and strides[-3] == unit
        and array.shape[-3] > 1
        and array.dtype.type is dtype
        and array.dtype.isnative
        and array.flags.aligned
        and strides[-2] % unit == strides[-1] % unit == 0
    )


def plane_runs(array: Array) -> list[tuple[int, int, Array]] | None:
    """Return views ``(n, M, K)`` of ``(..., M, K)`` in which consecutive instances are consecutive.

    Each comes with the range of its instances in the flattened leading axes. None if the batch is
    not on the last axes in memory, or the views have few instances.
    """
    kind = array.dtype.type
    if kind not in (np.float32, np.float64) or not _has_planes(array, 2, kind) or array.size == 0:
        return None
    lead, core = array.shape[:-2], array.shape[-2:]
    for outer in range(len(lead)):
        n = math.prod(lead[outer:])
        if n < MIN_RUN:
            return None
        if _merge(array[(0,) * outer], n, core) is not None:
            starts = enumerate(np.ndindex(*lead[:outer]))
            return [(i * n, (i + 1) * n, _merge(array[at], n, core)) for i, at in starts]
    return None


def _merge(array: Array, n: int, core: tuple[int, ...]) -> Any:
    """Return a view with one axis of instances, None if there is none."""
    try:
        return array.reshape(n, *core, copy=False)
    except ValueError:
        return None


def _converted(array: Array, core: int, dtype: Any) -> Array:
    """Return `array` in C order, aligned and in `dtype`; a copy only if necessary."""
    if not array.flags.c_contiguous and _has_planes(array, core, dtype):
        planes = _merge(array, math.prod(array.shape[:-2]), array.shape[-2:])
        if planes is None:
            return as_contiguous(array, dtype)
        out = np.empty(planes.shape, dtype)
        _kernels.gather_instances(planes, out, DEFAULT_THREADS)
        return out.reshape(array.shape)
    return as_contiguous(array, dtype)


def _is_readable(array: Array, dtype: Any) -> bool:
    flags, own = array.flags, array.dtype
    return flags.c_contiguous and flags.aligned and own.type is dtype and own.isnative


def map_instances(
    kernel: Callable[..., Any],
    arrays: Array | Sequence[Array],
    shapes: Sequence[tuple[int, ...] | None],
    core_ndims: Sequence[int] = (2,),
    *,
    dtype: Any = None,
    block_dtype: Any = None,
    rows: int | None = None,
    large: bool = False,
    arguments: tuple[Any, ...] = (),
) -> list[Any]:
    """Run ``kernel(*blocks, *outputs, *arguments)`` over arrays with the same leading axes.

    Parameters
    ----------
    kernel : callable
        Writes float64 outputs. If it returns True, the loop ends and the outputs are undefined.
    arrays : array of shape (..., M, K), or sequence of arrays
        One array of members, or several arrays with `core_ndims` core axes.
    core_ndims, rows, large
        See `blocks`.
    shapes : sequence of tuples or None
        Core shape of each output; an output of shape None is not allocated and passed as None.
    dtype : dtype, optional
        Dtype of the results, by default that of the first array.
    block_dtype : dtype, optional
        Dtype of the blocks, by default float32 or float64 like the first array.

    Returns
    -------
    list of arrays
        Results with the leading axes of `arrays`, None for None.
    """
    if isinstance(arrays, np.ndarray):
        arrays = (arrays,)
    first, core = arrays[0], core_ndims[0]
    if (
        first.ndim == core + 1
        and dtype in (None, np.float64)
        and (rows is None or len(first) <= rows)
    ):
        found = _kernels.call_whole_array(
            kernel, tuple(arrays), shapes, BLOCK_BYTES if large else SMALL_BYTES, arguments
        )
        if found is not None:  # contiguous float64 blocks
            return found[1]
    lead = first.shape[: first.ndim - core]
    result_dtype = first.dtype.newbyteorder("=") if dtype is None else np.dtype(dtype)
    n = math.prod(lead)
    # float64 results are written in place; others are rounded once, from float64.
    direct = result_dtype.type is np.float64
    results = _allocate(n, shapes, result_dtype)
    for start, stop, block in blocks(arrays, core_ndims, block_dtype, rows, large=large):
        parts = [None if r is None else r[start:stop] for r in results]
        outputs = parts if direct else _allocate(stop - start, shapes, np.dtype(np.float64))
        if kernel(*block, *outputs, *arguments):
            break
        if not direct:
            for part, output in zip(parts, outputs, strict=True):
                if part is not None:
                    part[...] = output
    if len(lead) == 1:
        return results
    return [None if r is None else r.reshape(lead + r.shape[1:]) for r in results]


def _allocate(n: int, shapes: Sequence[tuple[int, ...] | None], dtype: np.dtype[Any]) -> list[Any]:
    return [None if shape is None else np.empty((n, *shape), dtype) for shape in shapes]


def first_invalid_row(array: Array, tolerance: float) -> int:
    """Return the flat index of the first row ``(..., K)`` that is no distribution, -1 if none."""
    kind = array.dtype.type
    if (
        kind in (np.float64, np.float32)
        and array.nbytes <= BLOCK_BYTES
        and _is_readable(array, kind)
    ):
        rows = array.reshape(-1, array.shape[-1])
        return _kernels.first_invalid_row(rows, tolerance, DEFAULT_THREADS)
    # All rows of an instance together if the batch is on the last axes in memory.
    core = 2 if _has_planes(array, 2, kind) else 1
    for start, _, (block,) in blocks((array,), (core,), large=True):
        rows = block.reshape(-1, array.shape[-1])
        bad = _kernels.first_invalid_row(rows, tolerance, DEFAULT_THREADS)
        if bad >= 0:
            return start * (block.shape[1] if core == 2 else 1) + bad
    return -1
