"""Credal sets as holders of arrays: construction, indexing, pickling, change of the backend."""

from __future__ import annotations

import functools
from abc import ABC
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _validation
from credalens._backend import (
    LAZY,
    NUMPY,
    RAGGED,
    Array,
    Backend,
    backend_of,
    dispatch,
    is_tensor,
    native,
    on_host,
    primitive,
    stop_gradient,
    to_numpy,
)
from credalens._backend.lazy import LazyBatch

#: Types of arguments whose backend is NumPy.
NUMPY_TYPES = frozenset((np.ndarray, np.float64, float, int, bool, list, tuple))


class ArraySet(ABC):
    """A batch of sets that holds arrays of one backend; it is immutable and can be pickled."""

    #: Array backend of the data; results are returned to it.
    backend: Backend = NUMPY
    #: Number of core axes of each array; the first array has the classes on its last axis.
    core_ndims: ClassVar[tuple[int, ...]]
    #: Names of the constructor arguments that hold the arrays, for error messages.
    array_names: ClassVar[tuple[str, ...]]
    #: Attributes, besides the arrays, that sets keep that are made of this one, as by indexing.
    parameters: ClassVar[tuple[str, ...]] = ()
    #: Whether the outcomes are real numbers, not classes.
    on_real_line: ClassVar[bool] = False
    #: Labels of the instances, if the members came in pandas frames; results keep them.
    index: Any = None
    #: Whether instances may have different numbers of members, which results then report.
    may_lack_members: bool = False
    #: NumPy arrays, or tensors if the placement of the backend is "device"; None, or fewer than
    #: `core_ndims`, if arguments are optional.
    _arrays: tuple[Any, ...]
    #: The sets as a function of chunks, if the placement of the backend is "lazy".
    _lazy: LazyBatch

    def _init_arrays(self, *arrays: Any, **options: Any) -> None:
        """Initialise from the arguments of the constructor, in any array library."""
        backend = NUMPY if NUMPY_TYPES.issuperset(map(type, arrays)) else _common_backend(arrays)
        if backend.placement == "lazy":
            build, n = functools.partial(type(self), **options), len(arrays)
            self._init_lazy(LazyBatch.of(arrays, self.core_ndims[:n], self.array_names[:n], build))
        elif backend.placement == "device":
            self._init_native(arrays, backend, options)
        else:
            self._store(self._validate(*arrays, **options), backend)

    def _validate(self, *arrays: Any, **options: Any) -> tuple[Array, ...]:
        """Return the arguments of the constructor as validated NumPy arrays."""
        named = zip(arrays, self.array_names, strict=False)
        return tuple(_validation.numeric(x, name) for x, name in named)

    def _init_native(
        self, arrays: tuple[Any, ...], backend: Backend, options: dict[str, Any]
    ) -> None:
        """Initialise from tensors that stay on their device; copies are validated."""
        if options.get("validate", True):
            if backend.traced:
                unchecked = "validate" in options
                _validation.raise_invalid(
                    self.array_names[0],
                    "is traced by JAX, so that its values cannot be validated",
                    "pass validate=False" if unchecked else "create the set outside of jit",
                )
            type(self)(*map(on_host, arrays, self.array_names), **options)
        like = next(x for x in arrays if backend_of(x) == backend)
        tensors = [
            _validation.native_numeric(x, name)
            if is_tensor(x)
            else native.asarray_like(np.asarray(x), like)
            for x, name in zip(arrays, self.array_names, strict=False)
        ]
        self._store(self._prepare_native(*tensors, **options), backend)

    def _prepare_native(self, *tensors: Any, **options: Any) -> tuple[Any, ...]:
        """Return validated tensors as they are stored: broadcast, normalised."""
        return tensors

    def _store(self, arrays: tuple[Any, ...], backend: Backend) -> None:
        state = self.__dict__
        if backend.placement == "host":
            arrays = tuple([None if x is None else np.asarray(x).view() for x in arrays])
            for array in arrays:
                if array is not None:
                    array.setflags(write=False)
        state["_arrays"] = arrays
        if backend is not NUMPY:
            state["backend"] = backend

    def _init_lazy(self, lazy: LazyBatch) -> None:
        # Metadata come from the sets of no instances.
        self.__dict__.update(vars(lazy.build(*lazy.empty())), backend=LAZY, _lazy=lazy)

    @classmethod
    def _from_validated(cls, arrays: tuple[Any, ...], backend: Backend) -> Self:
        new = cls.__new__(cls)
        new._store(arrays, backend)
        return new

    def _derived(self, arrays: tuple[Any, ...], backend: Backend) -> Self:
        """Return a set of the same kind, with the same parameters, of validated arrays."""
        return self._restored(arrays, backend, self._parameter_values())

    def _parameter_values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.parameters}

    @classmethod
    def _restored(
        cls, arrays: tuple[Any, ...], backend: Backend, parameters: dict[str, Any]
    ) -> Self:
        new = cls._from_validated(arrays, backend)
        new.__dict__.update(parameters)
        return new

    @classmethod
    def _from_lazy(cls, lazy: LazyBatch) -> Self:
        new = cls.__new__(cls)
        new._init_lazy(lazy)
        return new

    def __setattr__(self, name: str, value: Any) -> None:
        if "_arrays" in self.__dict__:
            raise AttributeError(f"{type(self).__name__} is immutable; create a new set")
        object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.backend is LAZY:
            return type(self)._from_lazy, (self._lazy,)
        return type(self)._restored, (self._arrays, self.backend, self._parameter_values())

    @primitive("Q->(...)", native=lambda Q, i: native.copy(Q._arrays[i]))
    def _array(self, i: int) -> Any:
        """Return an array of the set as a read-only view."""
        view: Array = self._arrays[i].view()
        view.setflags(write=False)
        return view[()]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch, ``()`` for a single set."""
        if self.backend is LAZY:
            return self._lazy.batch_shape
        first = self._arrays[0]
        return tuple(first.shape[: first.ndim - self.core_ndims[0]])

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self._arrays[0].shape[-1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating dtype of the data, as a NumPy dtype."""
        first = self._arrays[0]
        if self.backend.placement == "device":
            return native.numpy_dtype(first)
        dtype: np.dtype[Any] = first.dtype
        return dtype if dtype.isnative else dtype.newbyteorder("=")

    def __len__(self) -> int:
        if not self.batch_shape:
            raise TypeError("a single credal set has no len(); its batch_shape is ()")
        return self.batch_shape[0]

    def __getitem__(self, index: Any) -> Self:
        """Return the sets at `index` of the batch."""
        if not self.batch_shape:
            raise IndexError("a single credal set cannot be indexed; its batch_shape is ()")
        if self.backend is LAZY:
            return self._from_lazy(self._lazy[index])
        # The index applies to the batch axes only, not to members and classes.
        shape = np.broadcast_to(np.empty(()), self.batch_shape)[index].shape
        parts = index if isinstance(index, tuple) else (index,)
        has_ellipsis = any(part is Ellipsis for part in parts)
        picked: list[Any] = []
        for array, core in zip(self._arrays, self.core_ndims, strict=False):
            if array is None:
                picked.append(None)
                continue
            rest = (slice(None),) * core if has_ellipsis else (...,)
            picked.append(array[(*parts, *rest)])
            if tuple(picked[-1].shape[: picked[-1].ndim - core]) != shape:
                raise IndexError(f"index {index!r} does not fit batch_shape {self.batch_shape}")
        new = self._derived(tuple(picked), self.backend)
        if self.index is not None and shape:
            new.__dict__["index"] = self.index[index]
        return new

    def to_numpy_backed(self) -> Self:
        """Return the same sets with NumPy arrays, sharing memory if possible.

        Raises
        ------
        TypeError
            If the sets hold Dask arrays.
        """
        if self.backend is NUMPY or self.backend is RAGGED:
            return self
        if self.backend is LAZY:
            raise TypeError(
                "the set holds Dask arrays, and this operation needs their values; compute them "
                "first, for example with members.compute()"
            )
        if self.backend.placement == "device":
            named = zip(self._arrays, self.array_names, strict=False)
            arrays = tuple(
                None if x is None else to_numpy(stop_gradient(x), name) for x, name in named
            )
            return self._derived(arrays, NUMPY)
        new: Self | None = self.__dict__.get("_numpy_backed")
        if new is None:
            new = type(self).__new__(type(self))
            backend = RAGGED if self.backend.ragged else NUMPY
            new.__dict__.update(self.__dict__, backend=backend)
            self.__dict__["_numpy_backed"] = new
        return new

    def detached(self, operation: str) -> Self:
        """Return the same sets, NumPy-backed; raise if `operation` would have a gradient."""
        if self.backend.grad:
            dispatch.raise_no_gradient(self.backend, operation, self.array_names[0])
        return self.to_numpy_backed()

    def with_backend(self, backend: Backend) -> Self:
        """Return the same sets, in host memory, with results in the library of `backend`."""
        return self._derived(self._arrays, replace(backend, placement="host", grad=False))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(batch_shape={self.batch_shape}, "
            f"n_classes={self.n_classes}, dtype={self.dtype})"
        )


def _common_backend(arrays: tuple[Any, ...]) -> Backend:
    """Return the backend of several arguments: Dask first, then devices, then host libraries."""
    backends = [backend_of(x) for x in arrays]
    for placement in ("lazy", "device"):
        for backend in backends:
            if backend.placement == placement:
                return backend
    return next((backend for backend in backends if backend is not NUMPY), NUMPY)
