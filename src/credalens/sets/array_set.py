"""Credal sets that are given by arrays, wherever these are."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _validation
from credalens._arrays import NUMPY, Array, Origin, is_native, native, origin_of, to_numpy
from credalens.sets.anywhere import NeedsHostError
from credalens.sets.base import CredalSet, lazy_error


class ArraySet(CredalSet):
    """A credal set that holds its arrays: it is immutable, can be indexed and pickled.

    A representation checks its arguments, hands its data to `_set`, batch axes first, and says in
    `_cores` how many axes of each are its own; the first has the classes last. What it must answer
    besides is `extreme_points`.
    """

    _parts: tuple[Array, ...]
    _cores: ClassVar[tuple[int, ...]]

    def _set(self, parts: tuple[Array, ...], origin: Origin) -> None:
        if origin.where == "host":
            parts = tuple([np.asarray(part).view() for part in parts])
            for view in parts:
                view.setflags(write=False)
        own = self.__dict__
        own["_parts"], own["origin"] = parts, origin

    def _first(self) -> Array:
        """Return the part that has the shape and the dtype of the set."""
        return self._parts[0]

    def _stay(self, arrays: list[Any], options: dict[str, Any], origin: Origin) -> None:
        """Keep the arguments of the constructor where they are."""
        there = next(x for x in arrays if origin_of(x) == origin)
        tensors = [_validation.native_numeric(x, "array") if is_native(x)
                   else native.constant(np.asarray(x), there) for x in arrays]  # fmt: skip
        self._set(self._tensor_parts(tensors, options), origin)

    @classmethod
    def _tensor_parts(cls, arrays: list[Any], options: dict[str, Any]) -> tuple[Any, ...]:
        """Return the parts that the arguments of the constructor make, as tensors."""
        return tuple(arrays)

    def _there(self) -> Any:
        """Return what answers for tensors that stay where they are."""
        raise NeedsHostError(type(self).__name__)

    @classmethod
    def _of(cls, parts: tuple[Array, ...], origin: Origin) -> Self:
        new = cls.__new__(cls)
        new._set(parts, origin)
        return new

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make a new set")

    def __reduce__(self) -> tuple[Any, ...]:
        if self.origin.where == "lazy":
            return type(self)._deferred, (self._recipe,)
        return type(self)._of, (self._parts, self.origin)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch, ``()`` for a single set."""
        if self.origin.where == "lazy":
            return self._recipe.batch_shape
        first = self._first()
        return tuple(first.shape[: first.ndim - self._cores[0]])

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self._first().shape[-1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating dtype of the data."""
        if self.origin.where == "device":
            return native.numpy_dtype(self._first())
        dtype = self._first().dtype
        return dtype if dtype.isnative else dtype.newbyteorder("=")

    def __getitem__(self, index: Any) -> Self:
        if not self.batch_shape:
            raise IndexError("a single credal set cannot be indexed; its batch_shape is ()")
        if self.origin.where == "lazy":
            return self._deferred(self._recipe[index])
        # Positions in the batch only: an index must not reach into the classes.
        positions = np.arange(math.prod(self.batch_shape)).reshape(self.batch_shape)[index]
        flat = (self._flat(part, core) for part, core in zip(self._parts, self._cores, strict=True))
        return self._of(tuple(part[positions] for part in flat), self.origin)

    def plain(self) -> Self:
        """Return the same sets with NumPy as their origin, sharing memory.

        For tensors that stay where they are, what answers for them there.
        """
        there: Self = self._there() if self.origin.where == "device" else self.on_host()
        return there

    def on_host(self) -> Self:
        """Return the same sets with NumPy as their origin, copied from another device if need be.

        Dask arrays are not computed but refused.
        """
        if self.origin.where == "lazy":
            raise lazy_error()
        if self.origin.where == "device":
            copies = (to_numpy(native.frozen(part), "data")[0] for part in self._parts)
            return self._of(tuple(copies), NUMPY)
        return self if self.origin is NUMPY else self._of(self._parts, NUMPY)

    def settled(self, origin: Origin) -> Self:
        """Return the same sets as if their data had come from `origin`; they are on the host."""
        return self._of(self._parts, replace(origin, where="host", grad=False))

    @staticmethod
    def _flat(part: Array, core: int) -> Array:
        if part.ndim == core + 1:
            return part
        return part.reshape(-1, *part.shape[part.ndim - core :])
