"""Hulls of normal distributions."""

from __future__ import annotations

import sys
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, is_lazy, is_tensor
from credalens.sets.adapters import as_members, library_of
from credalens.sets.real_hull import Missing, RealHull
from credalens.sets.real_validation import check_finite


class RealNormals(RealHull):
    """The hull of M normal distributions; see `RealHull.from_normal`.

    Its array ``(..., M, 2)`` has their means and standard deviations.
    """

    array_names: ClassVar[tuple[str, ...]] = ("parameters", "weights", "mask")
    _kind: ClassVar[str] = "normal"
    _axis_name: ClassVar[str] = "parameters"
    #: Exponential and error function are correct to a few units in the last place.
    _rounding: ClassVar[float] = 2.0**-49

    def __init__(
        self,
        parameters: Any,
        *,
        weights: Any = None,
        mask: Any = None,
        missing: Missing = "raise",
        validate: bool = True,
    ) -> None:
        self._init_ensemble(parameters, weights, mask, missing, validate=validate)

    @classmethod
    def from_parameters(cls, mean: Any, std: Any, *, axis: int | None, **options: Any) -> Self:
        """Return the hull of normal distributions; see `RealHull.from_normal`."""
        arrays = [_with_shape(x) for x in (mean, std)]
        kinds = [x for x in arrays if is_lazy(x)] or [x for x in arrays if is_tensor(x)] or arrays
        library = sys.modules["dask.array"] if is_lazy(kinds[0]) else library_of(kinds[0])
        if is_tensor(kinds[0]):
            arrays = [x if is_tensor(x) else library.asarray(x) for x in arrays]
        broadcast = getattr(library, "broadcast_tensors", None) or library.broadcast_arrays
        try:
            arrays = list(broadcast(*arrays))
        except (ValueError, RuntimeError):
            _validation.raise_invalid(
                "std",
                f"has shape {tuple(arrays[1].shape)}, mean {tuple(arrays[0].shape)}",
                "pass shapes that broadcast",
            )
        if arrays[0].ndim == 0:
            _validation.raise_invalid("mean", "is one number", "pass one per member, (..., M)")
        members = library.stack(arrays, -1)
        if is_lazy(members):
            members = members.rechunk({-1: -1})
        if axis is not None:
            axis = axis + arrays[0].ndim if axis < 0 else axis
            members = as_members(members, axis, "mean", last="parameters")
        return cls(members, **options)

    def _checked(
        self, array: Array, present: Array | None, missing: str, *, validate: bool
    ) -> Array:
        if validate:
            for i, name in enumerate(("mean", "std")):
                check_finite(array[..., i], present, name, one_per_member=True)
            negative = array[..., 1] < 0
            if present is not None:
                negative &= present
            _validation.raise_first(
                negative, array[..., 1], "std", "is {:.6g}{}", "pass standard deviations >= 0"
            )
        return array

    def _repr_size(self) -> str:
        return ""

    @property
    def mean(self) -> Any:
        """Means of the members, ``(..., M)``."""
        return self.members[..., 0]

    @property
    def std(self) -> Any:
        """Standard deviations of the members, ``(..., M)``."""
        return self.members[..., 1]

    def _solve(self, block: Array, *outputs: Any) -> None:
        _kernels.normal_uncertainty(block, *(*outputs, DEFAULT_THREADS))

    def _moments(self, block: Array) -> tuple[Array, Array]:
        return block[..., 0], block[..., 1] ** 2

    def _solve_quantiles(self, block: Array, weights: Array, levels: Array, found: Array) -> None:
        _kernels.normal_quantiles(
            block, _normal_quantiles(levels), weights, levels, found, DEFAULT_THREADS
        )

    def _member_quantiles(self, levels: Array) -> Array:
        mean, std = self._members[..., :1], self._members[..., 1:]
        return np.asarray(mean + std * _normal_quantiles(levels))


def _normal_quantiles(levels: Array) -> Array:
    from scipy.special import ndtri

    return np.asarray(ndtri(levels), np.float64)


def _with_shape(x: Any) -> Any:
    return x if hasattr(x, "shape") else np.asarray(x)


RealHull._normals_class = RealNormals
