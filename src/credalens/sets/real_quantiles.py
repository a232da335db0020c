"""Hulls of distributions on the real line that are given by quantiles."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, namespace
from credalens.sets.adapters import as_members
from credalens.sets.real_hull import Missing, RealHull
from credalens.sets.real_validation import as_increasing_levels, check_finite


class RealQuantiles(RealHull):
    """The hull of M distributions with given quantiles; see `RealHull.from_quantiles`."""

    array_names: ClassVar[tuple[str, ...]] = ("values", "weights", "mask")
    parameters: ClassVar[tuple[str, ...]] = ("levels",)
    _kind: ClassVar[str] = "quantiles"
    _axis_name: ClassVar[str] = "levels"
    #: The levels of the quantiles, ``(L,)``.
    levels: Array

    def __init__(
        self,
        values: Any,
        *,
        levels: Any,
        crossing: Literal["raise", "sort"] = "raise",
        axis: int | None = None,
        weights: Any = None,
        mask: Any = None,
        missing: Missing = "raise",
        validate: bool = True,
    ) -> None:
        _validation.one_of(crossing, "crossing", ("raise", "sort"))
        members = as_members(values, axis, "values", last="levels")
        members = members if hasattr(members, "shape") else np.asarray(members)
        if members.ndim:
            levels = as_increasing_levels(levels, int(members.shape[-1]))
            levels.setflags(write=False)
            self.__dict__["levels"] = levels
        self._init_ensemble(
            members, weights, mask, missing, levels=levels, crossing=crossing, validate=validate
        )

    def _checked(  # type: ignore[override]
        self,
        array: Array,
        present: Array | None,
        missing: str,
        *,
        levels: Array,
        crossing: str,
        validate: bool,
    ) -> Array:
        if validate:
            check_finite(array, present, "values")
        if crossing == "sort":
            return np.sort(array, axis=-1)
        if validate:
            self._check_order(array, present)
        return array

    def _check_order(self, array: Array, present: Array | None) -> None:
        bad = array[..., 1:] < array[..., :-1]
        if present is not None:
            bad &= present[..., None]
        if bad.any():
            where = tuple(np.argwhere(bad)[0])
            here, before = (*where[:-1], where[-1] + 1), where
            _validation.raise_invalid(
                "values",
                f"quantiles cross: {array[here]:g} at index {_validation.format_index(here)} "
                f"(zero-based) is below {array[before]:g}, the quantile at a smaller level",
                "pass crossing='sort' to sort the quantiles of each member",
            )

    def _prepare_device(
        self, members: Any, mask: Any, missing: str, **options: Any
    ) -> tuple[Any, Array | None]:
        tensor, present = super()._prepare_device(members, mask, missing, **options)
        if options["crossing"] == "sort":
            tensor = namespace(tensor).sort(tensor, axis=-1)
        return tensor, present

    def _solve(self, block: Array, *outputs: Any) -> None:
        _kernels.piecewise_uncertainty(block, self.levels, *(*outputs, DEFAULT_THREADS))

    def _moments(self, block: Array) -> tuple[Array, Array]:
        levels = self.levels
        share = np.diff(levels)
        means = (block[..., 1:] + block[..., :-1]) @ (share / 2)
        means += levels[0] * block[..., 0] + (1 - levels[-1]) * block[..., -1]
        apart = block - means[..., None]
        square = apart**2
        variances = (square[..., 1:] + square[..., :-1] + apart[..., 1:] * apart[..., :-1]) @ (
            share / 3
        )
        variances += levels[0] * square[..., 0] + (1 - levels[-1]) * square[..., -1]
        return means, variances

    def _solve_quantiles(self, block: Array, weights: Array, levels: Array, found: Array) -> None:
        _kernels.piecewise_quantiles(block, self.levels, weights, levels, found, DEFAULT_THREADS)

    def _member_quantiles(self, levels: Array) -> Array:
        # Linear interpolation between two of the levels.
        known, values = self.levels, self._members
        at = np.interp(levels, known, np.arange(len(known)))
        low = np.floor(at).astype(np.intp)
        share = (at - low).astype(values.dtype)
        high = np.minimum(low + 1, len(known) - 1)
        return np.asarray(values[..., low] + share * (values[..., high] - values[..., low]))


RealHull._quantiles_class = RealQuantiles
