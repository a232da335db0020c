"""Hulls of empirical distributions on the real line."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, Array
from credalens.sets.adapters import as_members
from credalens.sets.real_hull import Missing, RealHull
from credalens.sets.real_validation import check_finite


class RealSamples(RealHull):
    """The hull of M empirical distributions of S samples; see `RealHull.from_samples`."""

    array_names: ClassVar[tuple[str, ...]] = ("samples", "weights", "mask")
    _kind: ClassVar[str] = "samples"
    _axis_name: ClassVar[str] = "samples"

    def __init__(
        self,
        samples: Any,
        *,
        axis: int | None = None,
        weights: Any = None,
        mask: Any = None,
        missing: Missing = "raise",
        validate: bool = True,
    ) -> None:
        members = as_members(samples, axis, "samples", last="samples")
        self._init_ensemble(members, weights, mask, missing, validate=validate)

    def _checked(
        self, array: Array, present: Array | None, missing: str, *, validate: bool
    ) -> Array:
        if validate:
            check_finite(array, present, "samples")
        return array

    @property
    def n_samples(self) -> int:
        """Number of samples S of each member."""
        return int(self._arrays[0].shape[-1])

    def _solve(self, block: Array, *outputs: Any) -> None:
        _kernels.sample_uncertainty(block, *(*outputs, DEFAULT_THREADS))

    def _moments(self, block: Array) -> tuple[Array, Array]:
        means = block.mean(axis=-1)
        apart = block - means[..., None]
        return means, np.einsum("bms,bms->bm", apart, apart) / block.shape[-1]

    def _solve_quantiles(self, block: Array, weights: Array, levels: Array, found: Array) -> None:
        _kernels.sample_quantiles(block, weights, levels, found, DEFAULT_THREADS)

    def _member_quantiles(self, levels: Array) -> Array:
        return np.moveaxis(
            np.quantile(self._members, levels, axis=-1, method="inverted_cdf"), 0, -1
        )


RealHull._samples_class = RealSamples
