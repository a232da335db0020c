"""Dask arrays: the same functions, chunk by chunk, when the results are asked for."""

from __future__ import annotations

import contextvars
import dataclasses
import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from credalens._arrays import Array, is_lazy

#: First index of the chunk at hand along each axis of the batch; messages count from there.
FIRST: contextvars.ContextVar[tuple[int, ...]] = contextvars.ContextVar("first", default=())


@contextmanager
def counted_from(first: tuple[int, ...]) -> Iterator[None]:
    """Let places in messages count from `first` instead of 0."""
    token = FIRST.set(first)
    try:
        yield
    finally:
        FIRST.reset(token)


@dataclasses.dataclass(frozen=True)
class Batch:
    """Arrays that belong together, instance by instance, all of them cut the same way.

    Every array has the same leading axes, and `cores` axes of its own, which are not cut.
    """

    arrays: tuple[Any, ...]
    cores: tuple[int, ...]

    @property
    def shape(self) -> tuple[Any, ...]:
        """Shape of the batch; NaN where Dask does not know it."""
        return self._longest([array.shape[: array.ndim - core] for array, core in self._pairs()])

    @property
    def chunks(self) -> tuple[Any, ...]:
        """How the batch is cut."""
        return self._longest([array.chunks[: array.ndim - core] for array, core in self._pairs()])

    @staticmethod
    def _longest(leads: list[tuple[Any, ...]]) -> tuple[Any, ...]:
        return max(leads, key=len)

    def _pairs(self) -> Iterator[tuple[Any, int]]:
        return zip(self.arrays, self.cores, strict=True)

    def empty(self) -> tuple[Array, ...]:
        """Return arrays of the same kinds without any instance."""
        lead = (0,) * len(self.shape)
        return tuple(
            np.empty(lead + array.shape[array.ndim - core :], array.dtype)
            for array, core in self._pairs()
        )

    def joined(self, array: Any, core: int, name: str) -> Batch:
        """Return the batch with one more array."""
        return batch([*self.arrays, array], [*self.cores, core], [""] * len(self.arrays) + [name])

    def __getitem__(self, index: Any) -> Batch:
        parts = index if isinstance(index, tuple) else (index,)
        dots = any(part is Ellipsis for part in parts)
        picked = [
            array[(*parts, *(slice(None),) * core) if dots else parts]
            for array, core in self._pairs()
        ]
        for before, after, core in zip(self.arrays, picked, self.cores, strict=True):
            if before.shape[before.ndim - core :] != after.shape[after.ndim - core :]:
                raise IndexError(f"index {index!r} does not fit batch_shape {self.shape}")
        return Batch(tuple(picked), self.cores)


def batch(arrays: Sequence[Any], cores: Sequence[int], names: Sequence[str]) -> Batch:
    """Bring arrays of Dask, or of others, together; leading axes broadcast."""
    da = sys.modules["dask.array"]
    given = [array if is_lazy(array) else np.asarray(array) for array in arrays]
    for array, core, name in zip(given, cores, names, strict=True):
        if array.ndim < core or any(math.isnan(size) for size in array.shape[array.ndim - core :]):
            raise ValueError(
                f"{name}: has shape {array.shape}; its last {core} axes must be there and their "
                "sizes known"
            )
    leads = [array.shape[: array.ndim - core] for array, core in zip(given, cores, strict=True)]
    unknown = any(math.isnan(size) for lead in leads for size in lead)
    if unknown:
        longest = max(leads, key=len)
        if any(len(lead) not in (0, len(longest)) for lead in leads):
            raise ValueError(f"{names[-1]}: the batches have shapes {leads}, partly unknown, which "
                             "cannot be matched; call compute_chunk_sizes() first")  # fmt: skip
    else:
        full = np.broadcast_shapes(*leads)
    whole = []
    for array, core, name in zip(given, cores, names, strict=True):
        lazy = array if is_lazy(array) else da.from_array(array, chunks=-1)
        lazy = _in_one_piece(lazy, core, name)
        if not unknown:
            lazy = da.broadcast_to(lazy, full + lazy.shape[lazy.ndim - core :])
        whole.append(lazy)
    return Batch(tuple(_cut_alike(da, whole, cores, unknown)), tuple(cores))


def _in_one_piece(array: Any, core: int, name: str) -> Any:
    """Return the array with its own axes in one piece, and say so if they were not."""
    axes = range(array.ndim - core, array.ndim)
    if all(array.numblocks[axis] == 1 for axis in axes):
        return array
    pieces = " x ".join(str(array.numblocks[axis]) for axis in axes)
    warnings.warn(
        f"{name or 'array'}: its last {core} axes are split into {pieces} chunks and are brought "
        "together, as every instance must be whole; rechunk before, with "
        f"rechunk({{{', '.join(f'{axis - array.ndim}: -1' for axis in axes)}}}), to choose how",
        UserWarning,
        stacklevel=7,
    )
    return array.rechunk(dict.fromkeys(axes, -1))


def _cut_alike(da: Any, arrays: list[Any], cores: Sequence[int], unknown: bool) -> list[Any]:
    if len(arrays) == 1:
        return arrays
    if unknown:
        cut = [a.numblocks[: a.ndim - core] for a, core in zip(arrays, cores, strict=True)]
        blocks = {lead for lead in cut if lead}
        if len(blocks) > 1:
            raise ValueError("arrays: of unknown length, cut into different numbers of chunks; "
                             "call compute_chunk_sizes() first")  # fmt: skip
        return arrays
    pairs: list[Any] = []
    for i, (array, core) in enumerate(zip(arrays, cores, strict=True)):
        pairs += [array, (*range(array.ndim - core), *_own(i, core))]
    return list(da.core.unify_chunks(*pairs)[1])


def _own(i: int, core: int) -> tuple[int, ...]:
    """Return names, which Dask wants to be numbers here, for the own axes of array i."""
    return tuple(100 * (i + 1) + axis for axis in range(core))


def ask(data: Batch, question: Callable[..., Any]) -> Any:
    """Return what ``question(*arrays)`` says of each chunk, as Dask arrays.

    One task per chunk answers everything; picking an array out of its answer is another, cheap one.
    What the answer looks like is found by asking about no instance at all. It may be an array, or
    dataclasses, tuples and dicts of arrays. The batch has at least one axis.
    """
    da = sys.modules["dask.array"]
    template: list[Any] = []
    answer = rebuilt(question(*data.empty()), lambda array: _note(template, array))
    lead = tuple(range(len(data.shape)))
    inputs: list[Any] = []
    for i, (array, core) in enumerate(zip(data.arrays, data.cores, strict=True)):
        inputs += [array, (*lead[: array.ndim - core], *_own(i, core))]
    starts = [_starts(chunks) for chunks in data.chunks]
    for axis, start in enumerate(starts):
        inputs += [da.from_array(start, chunks=1), (axis,)]
    packed = da.blockwise(
        _answer, lead, *inputs, question=question, cores=data.cores,
        concatenate=True, align_arrays=False, dtype=object,
        meta=np.empty((0,) * len(lead), object),
    )  # fmt: skip
    results = [_picked(da, packed, i, lead, like) for i, like in enumerate(template)]
    return rebuilt(answer, lambda place: results[place])


def _note(template: list[Any], array: Any) -> int:
    template.append(np.asarray(array))
    return len(template) - 1


def _starts(chunks: tuple[Any, ...]) -> Array:
    """Return where each chunk starts; minus its number, less one, where that is not known."""
    if any(math.isnan(size) for size in chunks):
        return -1 - np.arange(len(chunks))
    return np.cumsum([0, *chunks[:-1]])


def _picked(da: Any, packed: Any, i: int, lead: tuple[int, ...], like: Array) -> Any:
    sizes = like.shape[len(lead) :]
    tail = dict(zip(_own(0, len(sizes)), sizes, strict=True))
    return da.blockwise(
        _pick, (*lead, *tail), packed, lead, i, None, new_axes=tail, dtype=like.dtype,
        meta=np.empty((0,) * like.ndim, like.dtype), align_arrays=False,
    )  # fmt: skip


def _pick(answers: tuple[Array, ...], i: int) -> Array:
    return answers[i]


def _answer(*blocks: Any, question: Callable[..., Any], cores: tuple[int, ...]) -> Any:
    """Answer for one chunk: its arrays, then where it starts along each axis."""
    arrays, starts = blocks[: len(cores)], [int(np.ravel(x)[0]) for x in blocks[len(cores) :]]
    flat: list[Array] = []
    known = all(start >= 0 for start in starts)
    with counted_from(tuple(starts) if known else ()):
        try:
            answer = question(*arrays)
        except ValueError as error:
            if known:
                raise
            chunk = ", ".join(str(-1 - start) for start in starts if start < 0)
            raise ValueError(
                f"{error} (counted within chunk {chunk}, zero-based, as the sizes of the chunks "
                "are not known)"
            ) from None
    rebuilt(answer, lambda array: flat.append(np.asarray(array)))
    return tuple(flat)


def rebuilt(answer: Any, change: Callable[[Any], Any]) -> Any:
    """Return `answer` with `change` made to every array in it."""
    if isinstance(answer, dict):
        return {key: rebuilt(value, change) for key, value in answer.items()}
    if isinstance(answer, tuple | list):
        return type(answer)(rebuilt(value, change) for value in answer)
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        fields = {field.name: rebuilt(getattr(answer, field.name), change)
                  for field in dataclasses.fields(answer) if field.init}  # fmt: skip
        return dataclasses.replace(answer, **fields)
    if answer is None or isinstance(answer, str):
        return answer
    return change(answer)
