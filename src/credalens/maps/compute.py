"""The maps of one case, computed tile by tile."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from credalens._backend import Array
from credalens.decisions import admissible
from credalens.evaluation import majority_vote
from credalens.maps.settings import COUNTS, SCORES, MapSettings
from credalens.maps.tiles import TILE_BYTES, read_planes, tiles
from credalens.maps.volumes import Volume
from credalens.measures import quantify
from credalens.sets import ConvexHull

#: Members that agree on the class by more than this have no other admissible one.
CLEAR_MARGIN = 1e-9


class DiceCounts:
    """Numbers of voxels from which the Dice coefficients of all pairs of models follow."""

    def __init__(self, n_models: int, n_classes: int) -> None:
        self.sizes = np.zeros((n_models, n_classes), np.int64)
        self.shared = np.zeros((n_models, n_models, n_classes), np.int64)

    def add(self, labels: Array) -> None:
        """Add the most probable classes ``(M, n)`` of some voxels."""
        M, K = self.sizes.shape
        equal = (labels == labels[0]).all(axis=0)
        agreed = np.bincount(labels[0, equal], minlength=K)
        self.sizes += agreed
        self.shared += agreed
        rest = labels[:, ~equal]
        for i in range(M):
            self.sizes[i] += np.bincount(rest[i], minlength=K)
            for j in range(i):
                both = rest[i] == rest[j]
                self.shared[i, j] += np.bincount(rest[i, both], minlength=K)

    def pairwise(self) -> Array:
        """Return the Dice coefficients ``(pairs, K)``; NaN where both models lack the class."""
        first, second = np.tril_indices(len(self.sizes), -1)
        total = self.sizes[first] + self.sizes[second]
        with np.errstate(invalid="ignore"):
            return np.asarray(2 * self.shared[first, second] / np.where(total, total, np.nan))


def voxels_per_tile(n_models: int, n_classes: int) -> int:
    """Return how many voxels have probabilities of `TILE_BYTES`."""
    return max(1, TILE_BYTES // (4 * n_models * n_classes))


def compute_maps(
    volumes: Sequence[Volume],
    settings: MapSettings,
    folder: Path,
    advance: Callable[[float], None],
) -> tuple[dict[str, Array], DiceCounts]:
    """Compute the maps of a case as memory maps ``folder/NAME.npy``, and the Dice coefficients.

    `advance` is called with the share of the case that is done.
    """
    n_classes, *space = volumes[0].array.shape
    whole = np.uint8 if n_classes < 256 else np.uint16
    dtypes = dict.fromkeys(SCORES, np.float32) | dict.fromkeys(COUNTS, whole)
    maps: dict[str, Array] = {
        name: np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype, tuple(space))
        for name, dtype in dtypes.items()
    }
    dice = DiceCounts(len(volumes), n_classes)
    done, size = 0, math.prod(space)
    for tile in tiles(space, voxels_per_tile(len(volumes), n_classes)):
        planes = read_planes(volumes, tile, settings.kind)
        Q = ConvexHull(planes, axis=0, class_axis=1, validate=False)
        u = quantify(Q)
        maps["total"][tile] = u.total
        maps["aleatoric_lower"][tile] = u.aleatoric.lower
        maps["aleatoric_upper"][tile] = u.aleatoric.upper
        maps["epistemic"][tile] = u.epistemic
        vote = majority_vote(Q)
        maps["vote"][tile] = vote
        labels, clear = _top_classes(planes)
        maps["set_size"][tile] = _set_sizes(planes, labels, clear, settings.rule)
        dice.add(labels.reshape(len(volumes), -1))
        done += vote.size
        advance(done / size)
    return maps, dice


def _top_classes(planes: Array) -> tuple[Array, Array]:
    """Return the most probable class of each model, and where it is clear for every one."""
    M, K = planes.shape[:2]
    labels = np.zeros((M, *planes.shape[2:]), np.uint8 if K < 256 else np.uint16)
    clear = np.ones(planes.shape[2:], bool)
    for m, plane in enumerate(planes):
        best, second = plane[0].copy(), np.zeros_like(plane[0])
        for k in range(1, K):
            larger = plane[k] > best
            labels[m][larger] = k
            np.maximum(second, np.minimum(best, plane[k]), out=second)
            np.maximum(best, plane[k], out=best)
        clear &= best - second > CLEAR_MARGIN
    return labels, clear


def _set_sizes(planes: Array, labels: Array, clear: Array, rule: str) -> Array:
    """Return the number of admissible labels of every voxel."""
    sizes = np.ones(planes.shape[2:], np.intp)
    if rule == "interval_dominance":  # keeps labels that no model prefers
        open_ = np.ones(sizes.shape, bool)
    else:
        open_ = ~(clear & (labels == labels[0]).all(axis=0))
    if open_.any():
        members = np.ascontiguousarray(planes[:, :, open_].transpose(2, 0, 1))
        Q = ConvexHull(members, validate=False)
        sizes[open_] = admissible(Q, rule=rule).sum(axis=-1)  # type: ignore[call-overload]
    return sizes
