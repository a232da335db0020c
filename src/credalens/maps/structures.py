"""Summaries of maps inside each structure and on its boundary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.maps.settings import SCORES
from credalens.maps.tiles import Tile, tiles

#: Bins of the histograms from which percentiles are read: these are exact within 1 / 8192.
BINS = 4096
#: Voxels that are summarised at a time.
BLOCK_VOXELS = 1 << 21
REGIONS = ("inside", "boundary")


def bins_of(values: Array) -> Array:
    """Return the bin of scores between 0 and 1."""
    return np.minimum((values * np.float32(BINS)).astype(np.intp), BINS - 1)


def percentile(counts: Array, share: float) -> float:
    """Return the smallest score with a share of the voxels at or below it, NaN without voxels."""
    total = counts.sum()
    if not total:
        return float("nan")
    at = int(np.searchsorted(np.cumsum(counts), share * total))
    return (min(at, BINS - 1) + 0.5) / BINS


class RegionSums:
    """Means and histograms of all scores in the voxels of each structure."""

    def __init__(self, n_classes: int) -> None:
        self.voxels = np.zeros(n_classes, np.int64)
        self.sums = {name: np.zeros(n_classes) for name in SCORES}
        self.bins = {name: np.zeros((n_classes, BINS), np.int32) for name in SCORES}

    def add(self, labels: Array, scores: Mapping[str, Array]) -> None:
        """Add voxels with labels ``(n,)`` and scores ``(n,)``."""
        K = len(self.voxels)
        self.voxels += np.bincount(labels, minlength=K)
        present = np.unique(labels)
        for name, values in scores.items():
            self.sums[name] += np.bincount(labels, values, minlength=K)
            own = bins_of(values)
            for k in present:
                counts = np.bincount(own[labels == k], minlength=BINS)
                self.bins[name][k] += counts.astype(np.int32)

    def row(self, classes: Sequence[int] | int, prefix: str = "") -> dict[str, float]:
        """Return the mean and the 95th percentile of each score in some classes together."""
        found: dict[str, float] = {}
        chosen = np.atleast_1d(np.asarray(classes, np.intp))
        voxels = self.voxels[chosen].sum()
        for name in SCORES:
            total = self.sums[name][chosen].sum()
            found[f"{prefix}{name}_mean"] = float(total / voxels) if voxels else float("nan")
            counts = self.bins[name][chosen].sum(axis=0)
            found[f"{prefix}{name}_p95"] = percentile(counts, 0.95)
        return found


def boundary(labels: Array) -> Array:
    """Return the voxels with a neighbour of another label; neighbours share a face."""
    found = np.zeros(labels.shape, bool)
    for axis in range(labels.ndim):
        first = [slice(None)] * labels.ndim
        second = [slice(None)] * labels.ndim
        first[axis], second[axis] = slice(None, -1), slice(1, None)
        differ = labels[tuple(first)] != labels[tuple(second)]
        found[tuple(first)] |= differ
        found[tuple(second)] |= differ
    return found


def boundary_tiles(labels: Array) -> Iterator[tuple[Tile, Array]]:
    """Yield tiles of a map of labels and which of their voxels are on a boundary."""
    for tile in tiles(labels.shape, BLOCK_VOXELS):
        wide = tuple(
            slice(max(s.start - 1, 0), min(s.stop + 1, n))
            for s, n in zip(tile, labels.shape, strict=True)
        )
        own = tuple(
            slice(s.start - w.start, s.stop - w.start) for s, w in zip(tile, wide, strict=True)
        )
        yield tile, boundary(np.asarray(labels[wide]))[own]


class Summary:
    """What the tables say about one case."""

    def __init__(self, maps: Mapping[str, Array], n_classes: int, threshold: float) -> None:
        self.regions = {region: RegionSums(n_classes) for region in REGIONS}
        self.above = np.zeros(n_classes, np.int64)
        for tile, edge in boundary_tiles(maps["vote"]):
            labels = np.asarray(maps["vote"][tile]).ravel().astype(np.intp)
            scores = {name: np.asarray(maps[name][tile]).ravel() for name in SCORES}
            self.regions["inside"].add(labels, scores)
            at = np.flatnonzero(edge.ravel())
            self.regions["boundary"].add(labels[at], {n: x[at] for n, x in scores.items()})
            over = scores["total"] > threshold
            self.above += np.bincount(labels[over], minlength=n_classes)

    def row(self, classes: Sequence[int] | int, voxel_volume: float | None) -> dict[str, Any]:
        """Return the columns of some classes together."""
        chosen = np.atleast_1d(np.asarray(classes, np.intp))
        inside, edge = self.regions["inside"], self.regions["boundary"]
        voxels, above = int(inside.voxels[chosen].sum()), int(self.above[chosen].sum())
        found: dict[str, Any] = {
            "voxels": voxels,
            "boundary_voxels": int(edge.voxels[chosen].sum()),
            "voxels_above": above,
        }
        if voxel_volume is not None:
            found["volume_mm3"] = voxels * voxel_volume
            found["volume_above_mm3"] = above * voxel_volume
        return found | inside.row(classes) | edge.row(classes, "boundary_")
