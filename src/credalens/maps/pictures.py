"""Pictures of the most uncertain slices of a case: PNG files with overlays."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.maps.structures import BLOCK_VOXELS, boundary
from credalens.maps.tiles import tiles

#: Longest side of a picture in pixels.
MAX_SIDE = 384
#: Colours of the scale of matplotlib's viridis, at equal distances.
VIRIDIS = np.array(
    [[68, 1, 84], [72, 40, 120], [62, 73, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137],
     [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37]], float
)  # fmt: skip
#: Colours of structures: Okabe and Ito.
COLOURS = np.array(
    [[0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0],
     [240, 228, 66]], float
)  # fmt: skip
#: Maps that are drawn, with the largest possible value.
HEAT = {"total": 1.0, "aleatoric_upper": 1.0, "epistemic": 0.5}
PLANES = {3: ("first axis", "second axis", "third axis"), 2: ("image",)}


def colour_of(k: int, background: int | None) -> Array:
    """Return the colour of a class."""
    return np.asarray(COLOURS[(k - (background == 0 and k > 0)) % len(COLOURS)])


def worst_slices(total: Array) -> list[tuple[int, int]]:
    """Return for each axis of a volume the slice with the largest mean; none for an image."""
    if total.ndim != 3:
        return []
    sums = [np.zeros(n) for n in total.shape]
    for tile in tiles(total.shape, BLOCK_VOXELS):
        values = np.asarray(total[tile])
        for axis in range(3):
            other = tuple(i for i in range(3) if i != axis)
            sums[axis][tile[axis]] += values.sum(axis=other, dtype=np.float64)
    return [(axis, int(one.argmax())) for axis, one in enumerate(sums)]


def draw(
    maps: Mapping[str, Array],
    background: int | None,
    folder: Path,
    *,
    image: Array | None = None,
    reference: Array | None = None,
    sizes: Sequence[float] | None = None,
) -> list[dict[str, Any]]:
    """Write pictures of the slices with the largest total uncertainty; return a list of views.

    `sizes` are the sizes of a voxel along the axes of the maps.
    """
    space = maps["total"].shape
    if len(space) not in PLANES:
        return []
    picks = worst_slices(maps["total"]) or [(-1, 0)]
    views = []
    for axis, index in picks:
        at = tuple(index if i == axis else slice(None) for i in range(len(space)))
        shape = [n for i, n in enumerate(space) if i != axis]
        lengths = [1.0, 1.0] if sizes is None else [s for i, s in enumerate(sizes) if i != axis]
        step = max(1, -(-max(shape) // MAX_SIDE))

        def cut(array: Array, at: Any = at, step: int = step) -> Array:
            part = np.asarray(array[at])[::step, ::step]
            return part[::-1] if sizes is not None else part

        stem = f"slice_{max(axis, 0)}"
        pictures = {
            "prediction": _prediction(
                cut(maps["vote"]), background,
                None if image is None else cut(image),
                None if reference is None else cut(reference),
            )
        } | {
            name: _heat(cut(maps[name]), cut(maps["vote"]), top) for name, top in HEAT.items()
        }  # fmt: skip
        for name, pixels in pictures.items():
            (folder / f"{stem}_{name}.png").write_bytes(png(pixels))
        views.append({
            "axis": axis, "index": index, "of": space[axis] if axis >= 0 else 1,
            "height": shape[0] * lengths[0], "width": shape[1] * lengths[1],
            "files": {name: f"{stem}_{name}.png" for name in pictures},
        })  # fmt: skip
    return views


def _heat(values: Array, vote: Array, top: float) -> Array:
    """Return colours of a scale from 0 to `top`, with the boundaries of the vote in white."""
    at = np.clip(values / top, 0, 1) * (len(VIRIDIS) - 1)
    grid = np.arange(len(VIRIDIS))
    pixels = np.stack([np.interp(at, grid, VIRIDIS[:, c]) for c in range(3)], axis=-1)
    edge = boundary(vote)
    pixels[edge] = 0.45 * pixels[edge] + 0.55 * 255
    return pixels.astype(np.uint8)


def _prediction(
    vote: Array, background: int | None, image: Array | None, reference: Array | None
) -> Array:
    """Return the classes in colours over the image, with the boundaries of the reference."""
    if image is None:
        gray = np.full(vote.shape, 225.0)
    else:
        low, high = np.percentile(image, [1, 99])
        gray = 255 * np.clip((image - low) / max(high - low, 1e-12), 0, 1)
    pixels = np.repeat(gray[..., None], 3, axis=-1)
    for k in np.unique(vote):
        if k != background:
            inside = vote == k
            pixels[inside] = 0.45 * pixels[inside] + 0.55 * colour_of(int(k), background)
    if reference is not None:
        pixels[boundary(reference)] = 20
    return pixels.astype(np.uint8)


def png(pixels: Array) -> bytes:
    """Return an image ``(H, W, 3)`` of 8 bits in PNG format."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # the filter of each row is none
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            chunk(b"IHDR", header),
            chunk(b"IDAT", zlib.compress(rows.tobytes(), 6)),
            chunk(b"IEND", b""),
        ]
    )
