"""What the neighbourhoods of a distribution share: a centre and a size."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, Array, namespace, to_numpy
from credalens.sets.support import SupportSet, largest


def _in_unit(sizes: Array) -> bool:
    """Say whether all are in [0, 1]; a NaN is not."""
    if sizes.size == 1:  # without what it takes to begin a reduction
        return bool(0 <= sizes.item() <= 1)
    return bool(sizes.min(initial=0.0) >= 0 and sizes.max(initial=0.0) <= 1)


class Neighbourhood(SupportSet):
    """A centre ``(..., K)`` and a size ``(...)`` in [0, 1]."""

    _cores: ClassVar[tuple[int, ...]] = (1, 0)
    _size_name: ClassVar[str]
    #: Whether the size is taken from some classes, and not from all alike.
    _is_ball: ClassVar[bool]

    def __init__(self, center: Any, size: Any, *, normalize: bool, validate: bool) -> None:
        middle = _validation.probabilities(
            center, "center", axes=("classes",), normalize=normalize, validate=validate
        )
        sizes = _validation.numeric(size, self._size_name)
        if not _in_unit(sizes):
            self._refuse_size(sizes)
        if sizes.shape != middle.shape[:-1]:
            try:
                lead = np.broadcast_shapes(middle.shape[:-1], sizes.shape)
            except ValueError:
                _validation.refuse(
                    self._size_name,
                    f"has shape {sizes.shape}",
                    f"pass one number, or one per instance, {middle.shape[:-1]}",
                )
            middle = np.broadcast_to(middle, (*lead, middle.shape[-1]))
            sizes = np.broadcast_to(sizes, lead)
        self._set((middle, sizes), to_numpy(center, "center")[1])

    def _refuse_size(self, sizes: Array) -> NoReturn:
        _validation.finite(sizes, self._size_name)
        where = tuple(np.argwhere((sizes < 0) | (sizes > 1))[0])
        at = f" at index {_validation.place(where)} (zero-based)" if where else ""
        _validation.refuse(self._size_name, f"is {sizes[where]:.6g}{at}", "pass numbers in [0, 1]")

    @classmethod
    def _tensor_parts(cls, arrays: list[Any], options: dict[str, Any]) -> tuple[Any, ...]:
        center, size = arrays
        xp = namespace(center)
        if options.get("normalize"):
            center = center / xp.sum(center, axis=-1, keepdims=True)
        lead = np.broadcast_shapes(tuple(center.shape[:-1]), tuple(size.shape))
        return xp.broadcast_to(center, (*lead, center.shape[-1])), xp.broadcast_to(size, lead)

    def center(self) -> Any:
        """Return the distribution in the middle, ``(..., K)``."""
        return self.origin.wrap(np.asarray(self._parts[0], self.dtype))

    def _data(self) -> tuple[Array, Array]:
        """Return centre and size in float64, the size with an axis for the classes."""
        center, size = self._parts
        return center.astype(np.float64, copy=False), size.astype(np.float64, copy=False)[..., None]

    @staticmethod
    @abstractmethod
    def _low_end(center: Array, size: Array) -> Array:
        """Return the lower probability of a class that has so much in the centre; it grows."""

    @staticmethod
    @abstractmethod
    def _high_end(center: Array, size: Array) -> Array:
        """Return the upper probability of such a class; it grows as well."""

    def _class_lower(self) -> Array:
        return self._class_end(self._low_end)

    def _class_upper(self) -> Array:
        return self._class_end(self._high_end)

    def _class_end(self, end: Callable[[Array, Array], Array]) -> Array:
        if self.n_classes == 1:  # no size makes it less than sure
            return np.ones((*self.batch_shape, 1), self.dtype)
        return np.asarray(end(*self._data()), self.dtype)

    def _class_tops(self) -> tuple[Array, Array]:
        if self.n_classes == 1:
            return np.ones(self.batch_shape), np.ones(self.batch_shape)
        top, size = largest(self._parts[0]), self._parts[1].astype(np.float64, copy=False)
        return self._low_end(top, size), self._high_end(top, size)

    def is_two_monotone(self) -> Any:
        """Say whether the lower probability is 2-monotone: that of a neighbourhood is."""
        return self.origin.wrap(np.ones(self.batch_shape, bool))

    def max_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the largest entropy in nats, 0 and, if asked, where it is.

        The size fills up the smallest classes, in a ball at the cost of the largest ones.
        """
        return self._entropy(True, distribution)

    def min_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the smallest entropy in nats, 0 and, if asked, where it is.

        As much as may be goes from the least probable classes to the most probable one: what
        results majorises every other member.
        """
        return self._entropy(False, distribution)

    def _entropy(self, largest: bool, distribution: bool) -> tuple[Array, Array, Array | None]:
        def kernel(center: Array, size: Array) -> tuple[Array, Array, Array | None]:
            value = np.empty(len(center))
            where = np.empty_like(center) if distribution else None
            _kernels.neighbourhood_entropy(
                self._is_ball, largest, center, size, value, where, AS_WANTED
            )
            return value, np.zeros(len(value)), where

        return self._answer_entropy(kernel, distribution)
