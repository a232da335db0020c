"""Sets round one distribution: a center and a size, and those with bounds in closed form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, is_tensor, namespace, native, primitive
from credalens.sets.support import SupportSet


class CenteredSet(SupportSet):
    """A set round a center ``(..., K)`` with a size ``(...)``."""

    core_ndims: ClassVar[tuple[int, ...]] = (1, 0)

    def _validate(
        self, center: Any, size: Any, *, normalize: bool, validate: bool
    ) -> tuple[Array, ...]:
        middle = _validation.probabilities(
            center, "center", axes=("classes",), normalize=normalize, validate=validate
        )
        sizes = _validation.numeric(size, self.array_names[1])
        if not self._are_sizes(sizes):
            self._raise_size(sizes)
        if sizes.shape != middle.shape[:-1]:
            try:
                lead = np.broadcast_shapes(middle.shape[:-1], sizes.shape)
            except ValueError:
                _validation.raise_invalid(
                    self.array_names[1],
                    f"has shape {sizes.shape}",
                    f"pass one number, or one per instance, {middle.shape[:-1]}",
                )
            middle = np.broadcast_to(middle, (*lead, middle.shape[-1]))
            sizes = np.broadcast_to(sizes, lead)
        return middle, sizes

    @staticmethod
    @abstractmethod
    def _are_sizes(sizes: Array) -> bool:
        """Return whether all sizes are valid."""

    @abstractmethod
    def _raise_size(self, sizes: Array) -> NoReturn:
        """Raise the error of the first invalid size."""

    def _prepare_native(self, *tensors: Any, **options: Any) -> tuple[Any, ...]:
        center, size = tensors
        xp = namespace(center)
        if options["normalize"]:
            center = center / xp.sum(center, axis=-1, keepdims=True)
        elif options["validate"]:
            center = _validation.divide_inexact_tensor_rows(center)
        lead = np.broadcast_shapes(tuple(center.shape[:-1]), tuple(size.shape))
        return xp.broadcast_to(center, (*lead, center.shape[-1])), xp.broadcast_to(size, lead)

    def _wide_arrays(self) -> tuple[Any, Any]:
        """Return center and size in double precision, the size with an axis for the classes."""
        center, size = self._arrays
        if is_tensor(center):
            return native.widen(center), native.widen(size)[..., None]
        return center.astype(np.float64, copy=False), size.astype(np.float64, copy=False)[..., None]

    def center(self) -> Any:
        """Return the center of the neighbourhood, ``(..., K)``."""
        return self._array(0)


class Neighbourhood(CenteredSet):
    """A center and a size in [0, 1], with closed bounds of the class probabilities."""

    #: Whether mass is taken from some classes, not from all in proportion.
    _is_ball: ClassVar[bool]

    @staticmethod
    def _are_sizes(sizes: Array) -> bool:
        return _is_in_unit_interval(sizes)

    def _raise_size(self, sizes: Array) -> NoReturn:
        name = self.array_names[1]
        _validation.finite(sizes, name)
        where = tuple(np.argwhere((sizes < 0) | (sizes > 1))[0])
        at = f" at index {_validation.format_index(where)} (zero-based)" if where else ""
        _validation.raise_invalid(name, f"is {sizes[where]:.6g}{at}", "pass numbers in [0, 1]")

    @staticmethod
    @abstractmethod
    def _bounds(center: Any, size: Any) -> tuple[Any, Any]:
        """Return the bounds of classes with probabilities `center`; both are increasing."""

    def _class_bounds(self) -> tuple[Any, Any]:
        center, size = self._wide_arrays()
        if self.n_classes == 1:
            return namespace(center).ones_like(center), namespace(center).ones_like(center)
        return self._bounds(center, size)

    @primitive("Q->(),()", native=SupportSet._tv_closed_ends)
    def _tv_closed_ends(self) -> tuple[Any, Any]:
        arguments = (self._is_ball, DEFAULT_THREADS)
        total, lower, _ = self._map(_kernels.neighbourhood_tv, [(), (), None], arguments=arguments)
        return total, lower

    @primitive("Q->(),(),(),()", native=SupportSet._tv_ends)
    def _tv_ends(self) -> tuple[Any, Any, Any, Any]:
        arguments = (self._is_ball, DEFAULT_THREADS)
        total, lower, upper = self._map(
            _kernels.neighbourhood_tv, [(), (), ()], arguments=arguments
        )
        return total, lower, upper, native.zeros_like(total)

    def _line_kernel(self) -> Callable[..., None]:
        def kernel(kolmogorov: bool, *arguments: Any) -> None:
            _kernels.neighbourhood_line(kolmogorov, self._is_ball, *arguments)

        return kernel

    @primitive("Q->()")
    def is_two_monotone(self) -> Any:
        return np.ones(self.batch_shape, bool)

    def _extreme_entropy(self, largest: bool, distribution: bool) -> tuple[Any, ...]:
        def kernel(center: Array, size: Array, value: Array, error: Array, where: Any) -> None:
            _kernels.neighbourhood_entropy(
                self._is_ball, largest, center, size, value, where, DEFAULT_THREADS
            )
            error.fill(0.0)

        return self._map_entropy(kernel, distribution)


def _is_in_unit_interval(sizes: Array) -> bool:
    if sizes.size == 1:  # a reduction would take longer
        return bool(0 <= sizes.item() <= 1)
    return bool(sizes.min(initial=0.0) >= 0 and sizes.max(initial=0.0) <= 1)
