"""Dask arrays: functions that run chunk by chunk when the results are computed."""

from __future__ import annotations

import contextvars
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credalens._backend.backend import Array, is_lazy, tree_map
from credalens._warnings import warn_caller

#: Index of the first instance of the current chunk, which error messages add to their indices.
INDEX_OFFSET: contextvars.ContextVar[tuple[int, ...]] = contextvars.ContextVar(
    "index_offset", default=()
)


def _as_tuple(*arrays: Any) -> tuple[Any, ...]:
    return arrays


@dataclass(frozen=True)
class LazyBatch:
    """Dask arrays with the same leading axes and chunks, and what is built of each chunk."""

    #: Arrays with at least one leading axis; their core axes are in one chunk.
    arrays: tuple[Any, ...]
    core_ndims: tuple[int, ...]
    #: Builds, and validates, the credal sets of a chunk.
    build: Callable[..., Any] = _as_tuple
    #: Whether it is a single instance, to which a leading axis of length 1 was added.
    single: bool = False

    @classmethod
    def of(
        cls,
        arrays: Sequence[Any],
        core_ndims: Sequence[int],
        names: Sequence[str],
        build: Callable[..., Any] = _as_tuple,
    ) -> LazyBatch:
        """Return arrays, at least one of them of Dask, broadcast and chunked alike."""
        da = sys.modules["dask.array"]
        lazy, leads = [], []
        for array, core, name in zip(arrays, core_ndims, names, strict=True):
            array = array if is_lazy(array) else da.from_array(np.asarray(array), chunks=-1)
            if array.ndim < core or any(map(math.isnan, array.shape[array.ndim - core :])):
                raise ValueError(
                    f"{name}: has shape {array.shape}; it must have {core} trailing axes of known "
                    "size"
                )
            lazy.append(_merge_core_chunks(array, core, name))
            leads.append(array.shape[: array.ndim - core])
        if any(math.isnan(size) for lead in leads for size in lead):
            blocks = {a.numblocks[: a.ndim - c] for a, c in zip(lazy, core_ndims, strict=True)}
            if len(blocks - {()}) > 1:
                raise ValueError(
                    f"{names[-1]}: the batches have shapes {leads}, some of them unknown, and "
                    "cannot be matched; call compute_chunk_sizes() first"
                )
        else:
            shape, pairs = np.broadcast_shapes(*leads), list[Any]()
            for i, (array, core) in enumerate(zip(lazy, core_ndims, strict=True)):
                whole = da.broadcast_to(array, shape + array.shape[array.ndim - core :])
                pairs += [whole, (*range(len(shape)), *_core_labels(i, core))]
            lazy = list(da.core.unify_chunks(*pairs)[1]) if len(lazy) > 1 else [pairs[0]]
        single = not max(leads, key=len)
        lazy = [array[None] for array in lazy] if single else lazy
        return cls(tuple(lazy), tuple(core_ndims), build, single)

    def _longest(self, attribute: str) -> tuple[Any, ...]:
        pairs = zip(self.arrays, self.core_ndims, strict=True)
        return max((getattr(a, attribute)[: a.ndim - core] for a, core in pairs), key=len)

    @property
    def batch_shape(self) -> tuple[Any, ...]:
        """Shape of the batch; NaN where Dask does not know it."""
        return () if self.single else self._longest("shape")

    def empty(self) -> tuple[Array, ...]:
        """Return NumPy arrays of the same dtypes and core shapes with no instances."""
        lead = (0,) * len(self._longest("shape"))
        pairs = zip(self.arrays, self.core_ndims, strict=True)
        return tuple(np.empty(lead + a.shape[a.ndim - core :], a.dtype) for a, core in pairs)

    def __getitem__(self, index: Any) -> LazyBatch:
        parts = index if isinstance(index, tuple) else (index,)
        has_ellipsis = any(part is Ellipsis for part in parts)
        picked = []
        for array, core in zip(self.arrays, self.core_ndims, strict=True):
            new = array[(*parts, *(slice(None),) * core) if has_ellipsis else parts]
            if array.shape[array.ndim - core :] != new.shape[new.ndim - core :]:
                raise IndexError(f"index {index!r} does not fit batch_shape {self.batch_shape}")
            picked.append(new)
        single = picked[0].ndim == self.core_ndims[0]
        picked = [array[None] for array in picked] if single else picked
        return replace(self, arrays=tuple(picked), single=single)

    def map(self, function: Callable[..., Any], arguments: Sequence[Any] = ()) -> Any:
        """Return ``function(build(*arrays), *arguments)`` of each chunk.

        Arguments ``(..., K)`` have one row per instance. The result consists of Dask arrays, or is
        a set of them: one task per chunk computes all of it, another, cheap one picks each array.
        """
        whole, task = self, _ChunkTask(self.build, function, len(self.arrays))
        if arguments:
            core_ndims = (*self.core_ndims, *(1 for _ in arguments))
            names = [*[""] * len(self.arrays), *["argument"] * len(arguments)]
            whole = LazyBatch.of([*self.arrays, *arguments], core_ndims, names)
            single = self.single and all(np.ndim(x) == 1 for x in arguments)
            whole = replace(whole, single=single)
        template = task(*whole.empty())
        if hasattr(template, "batch_shape"):
            return type(template)._from_lazy(replace(whole, build=task))
        result = whole._run(task, template)
        return tree_map(lambda array: array[0], result) if whole.single else result

    def _run(self, task: Callable[..., Any], template: Any) -> Any:
        da = sys.modules["dask.array"]
        lead = tuple(range(len(self._longest("shape"))))
        inputs: list[Any] = []
        for i, (array, core) in enumerate(zip(self.arrays, self.core_ndims, strict=True)):
            inputs += [array, (*lead[: array.ndim - core], *_core_labels(i, core))]
        for axis, chunks in enumerate(self._longest("chunks")):
            inputs += [da.from_array(_chunk_starts(chunks), chunks=1), (axis,)]
        packed = da.blockwise(
            _run_chunk, lead, *inputs, task=task, n_arrays=len(self.arrays), concatenate=True,
            align_arrays=False, dtype=object, meta=np.empty((0,) * len(lead), object),
        )  # fmt: skip
        count = itertools.count()

        def pick(like: Any) -> Any:
            like = np.asarray(like)
            sizes = like.shape[len(lead) :]
            core = dict(zip(_core_labels(0, len(sizes)), sizes, strict=True))
            return da.blockwise(
                _pick, (*lead, *core), packed, lead, next(count), None, new_axes=core,
                dtype=like.dtype, meta=np.empty((0,) * like.ndim, like.dtype), align_arrays=False,
            )  # fmt: skip

        return tree_map(pick, template)


@dataclass(frozen=True)
class _ChunkTask:
    """Apply a function to what is built of a chunk; unlike a closure it can be pickled."""

    build: Callable[..., Any]
    function: Callable[..., Any]
    n_arrays: int

    def __call__(self, *arrays: Array) -> Any:
        built = self.build(*arrays[: self.n_arrays])
        first = built if isinstance(built, tuple) else (built,)
        return self.function(*first, *arrays[self.n_arrays :])


def _merge_core_chunks(array: Any, core: int, name: str) -> Any:
    """Return the array with its core axes in one chunk; warn if they were split."""
    axes = range(array.ndim - core, array.ndim)
    if all(array.numblocks[axis] == 1 for axis in axes):
        return array
    pieces = " x ".join(str(array.numblocks[axis]) for axis in axes)
    fix = ", ".join(f"{axis - array.ndim}: -1" for axis in axes)
    warn_caller(
        f"{name or 'array'}: its last {core} axes are split into {pieces} chunks, which are "
        f"merged; call rechunk({{{fix}}}) first to control how",
        UserWarning,
    )
    return array.rechunk(dict.fromkeys(axes, -1))


def _core_labels(i: int, core: int) -> tuple[int, ...]:
    """Return labels of the core axes of array i, which Dask requires to be integers."""
    return tuple(100 * (i + 1) + axis for axis in range(core))


def _chunk_starts(chunks: tuple[Any, ...]) -> Array:
    """Return chunk start offsets; ``-1 - i`` for chunk i if the sizes are unknown."""
    if any(map(math.isnan, chunks)):
        return -1 - np.arange(len(chunks))
    return np.cumsum([0, *chunks[:-1]])


def _pick(results: tuple[Array, ...], i: int) -> Array:
    return results[i]


def _run_chunk(*blocks: Any, task: Callable[..., Any], n_arrays: int) -> Any:
    """Compute the results of one chunk: its arrays, then its start along each axis."""
    starts = tuple(int(np.ravel(x)[0]) for x in blocks[n_arrays:])
    known = all(start >= 0 for start in starts)
    token = INDEX_OFFSET.set(starts if known else ())
    try:
        result = task(*blocks[:n_arrays])
    except ValueError as error:
        if known:
            raise
        chunk = ", ".join(str(-1 - start) for start in starts if start < 0)
        raise ValueError(
            f"{error} (index within chunk {chunk}, zero-based; chunk sizes are unknown)"
        ) from None
    finally:
        INDEX_OFFSET.reset(token)
    flat: list[Array] = []
    tree_map(lambda array: flat.append(np.asarray(array)), result)
    return tuple(flat)
