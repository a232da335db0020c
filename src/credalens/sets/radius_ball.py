"""Balls of any radius round one distribution, whose extreme points are not listed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn

import numpy as np

from credalens import _validation
from credalens._backend import Array, primitive
from credalens.sets.feature_queries import FeatureQueries
from credalens.sets.neighbourhood import CenteredSet


class RadiusBall(FeatureQueries, CenteredSet):
    """A center and a radius of at least 0; representations compute the bounds of the classes."""

    array_names: ClassVar[tuple[str, ...]] = ("center", "radius")
    #: The unit of the radius in error messages.
    _unit: ClassVar[str] = ""

    def __init__(
        self, center: Any, radius: Any, *, normalize: bool = False, validate: bool = True
    ) -> None:
        self._init_arrays(center, radius, normalize=normalize, validate=validate)

    @property
    def radius(self) -> Any:
        """The radius, ``(...)``."""
        return self._array(1)

    @staticmethod
    def _are_sizes(sizes: Array) -> bool:
        return bool((sizes >= 0).all())

    def _raise_size(self, sizes: Array) -> NoReturn:
        where = tuple(np.argwhere(~(sizes >= 0))[0])
        at = f" at index {_validation.format_index(where)} (zero-based)" if where else ""
        word = "NaN" if np.isnan(sizes[where]) else f"{sizes[where]:.6g}"
        _validation.raise_invalid("radius", f"is {word}{at}", f"pass numbers >= 0{self._unit}")

    def _line_kernel(self) -> Callable[..., None] | None:
        return None  # balls do not contain all distributions above their lower probability

    @abstractmethod
    def _class_bound(self, upper: bool, dtype: Any = None) -> Array:
        """Return the lower or upper probability of each class, by default in the set's dtype."""

    @primitive("Q->(f)")
    def lower(self, f: Any = None) -> Any:
        return self._class_bound(False) if f is None else self._expectation(f, -1.0)

    @primitive("Q->(f)")
    def upper(self, f: Any = None) -> Any:
        return self._class_bound(True) if f is None else self._expectation(f, 1.0)

    def _class_bounds(self) -> tuple[Any, Any]:
        return self._class_bound(False, np.float64), self._class_bound(True, np.float64)

    @primitive("Q->()")
    def lower_sum(self) -> Any:
        return self._class_bound(False, np.float64).sum(axis=-1)
