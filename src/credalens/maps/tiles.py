"""Tiles: parts of volumes of which the probabilities of all models fit into a small buffer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from credalens._backend import Array
from credalens._row_kinds import EXACT
from credalens.maps.volumes import Volume

#: Bytes of the probabilities of a tile, in single precision. The measures need about as much again.
TILE_BYTES = 1 << 25

Tile = tuple[slice, ...]


def tiles(shape: Sequence[int], most: int) -> Iterator[Tile]:
    """Cut an array into consecutive tiles of at most `most` elements, at least one each."""
    if len(shape) == 0:
        yield ()
        return
    inner = math.prod(shape[1:])
    if inner > most:
        for i in range(shape[0]):
            for rest in tiles(shape[1:], most):
                yield (slice(i, i + 1), *rest)
        return
    step = max(1, most // max(inner, 1))
    for start in range(0, shape[0], step):
        yield (slice(start, min(start + step, shape[0])), *(slice(0, n) for n in shape[1:]))


def read_planes(volumes: Sequence[Volume], tile: Tile, kind: str) -> Array:
    """Return the probabilities of all models in a tile, float32 or float64, ``(M, K, *tile)``.

    `kind` is what the files have: ``"probabilities"``, which must sum to 1, ``"normalize"`` for
    numbers >= 0 that are divided by their sums, or ``"logits"``.
    """
    wide = max(volume.array.dtype.itemsize for volume in volumes) > 4
    n_classes = volumes[0].array.shape[0]
    shape = tuple(s.stop - s.start for s in tile)
    planes = np.empty((len(volumes), n_classes, *shape), np.float64 if wide else np.float32)
    for plane, volume in zip(planes, volumes, strict=True):
        plane[:] = volume.array[(slice(None), *tile)]
        if volume.unit != 1.0:
            plane /= plane.dtype.type(volume.unit)
        if kind == "logits":
            _softmax(plane, volume, tile)
        _check(plane, volume, tile, kind)
    return planes


def _softmax(plane: Array, volume: Volume, tile: Tile) -> None:
    bad = np.asarray(~np.isfinite(plane).all(axis=0))
    if bad.any():
        raise ValueError(
            f"{volume.path}: a logit of {_voxel(bad, tile)} is not finite; export it again"
        )
    plane -= plane.max(axis=0)
    np.exp(plane, out=plane)
    plane /= plane.sum(axis=0, dtype=np.float64)


def _check(plane: Array, volume: Volume, tile: Tile, kind: str) -> None:
    """Divide probabilities by their sums if one is not 1 exactly; raise if it is not near 1."""
    with np.errstate(invalid="ignore", over="ignore"):
        if kind == "normalize":
            np.maximum(plane, 0, out=plane)  # interpolation may leave small negative numbers
        total = plane.sum(axis=0, dtype=np.float64)
        off = np.abs(total - 1)
        valid = total > 0 if kind == "normalize" else off <= volume.rounding
        valid &= np.isfinite(total) & (plane.min(axis=0) >= 0)
    if not valid.all():
        where = tuple(int(i) for i in np.argwhere(~valid)[0])
        values = plane.reshape(len(plane), -1)[:, np.ravel_multi_index(where, valid.shape)]
        _raise_voxel(values, volume, _voxel(~valid, tile), kind)
    if kind == "normalize" or off.max(initial=0.0) > EXACT:
        plane /= total


def _raise_voxel(values: Array, volume: Volume, voxel: str, kind: str) -> None:
    if np.isnan(values).any():
        raise ValueError(f"{volume.path}: a probability of {voxel} is NaN; export it again")
    if kind == "normalize":
        raise ValueError(f"{volume.path}: all probabilities of {voxel} are 0; export it again")
    if (values < 0).any():
        fix = "pass --logits if these are logits, or --normalize after an interpolation"
        problem = f"a probability of {voxel} is {values.min():.6g}"
    else:
        fix = (
            "pass --normalize if that is rounding, --class-axis if the classes are on another "
            "axis; structures that overlap (regions) are several binary problems"
        )
        problem = f"the probabilities of {voxel} sum to {values.sum(dtype=np.float64):.6g}"
    raise ValueError(f"{volume.path}: {problem}; {fix}")


def _voxel(bad: Array, tile: Tile) -> str:
    where = np.argwhere(bad)[0]
    index = tuple(int(i) + s.start for i, s in zip(where, tile, strict=True))
    return f"voxel {index} (zero-based)"
