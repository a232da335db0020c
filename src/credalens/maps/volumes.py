"""Volumes: arrays ``(K, *space)`` of probabilities in files, of which parts are read."""

from __future__ import annotations

import gzip
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._extras import require
from credalens.maps.cases import IMAGE_SUFFIXES, Case, case_name

#: Names of the array of probabilities in a ``.npz`` file, of versions 2 and 1 of nnU-Net.
NPZ_NAMES = ("probabilities", "softmax")
#: Axis of the classes in files, by format; NIfTI arrays are (x, y, z, classes).
CLASS_AXES = {"npz": 0, "npy": 0, "nifti": -1, "tiff": 0, "images": 0}


@dataclass(frozen=True)
class Geometry:
    """What places a volume in space: the header of a NIfTI image, and the volume of a voxel.

    The axes of arrays are those of the image in reverse order, as in nnU-Net and SimpleITK.
    """

    affine: Array
    header: Any
    #: Sizes of a voxel along the axes of arrays.
    sizes: tuple[float, ...]

    @property
    def voxel_volume(self) -> float:
        """Volume of a voxel, in the cube of the unit of the header, usually mm."""
        return float(np.prod(self.sizes))


@dataclass(frozen=True)
class Volume:
    """Probabilities of one model for one case, in memory or in a memory map."""

    path: Path
    #: Array (K, *space).
    array: Array
    geometry: Geometry | None = None
    #: Value of a probability of 1: 255 in an 8-bit image.
    unit: float = 1.0

    @property
    def rounding(self) -> float:
        """By how much a sum of probabilities may miss 1."""
        if self.unit != 1.0:
            return max(1e-3, int(self.array.shape[0]) / self.unit)
        return 1e-2 if int(self.array.dtype.itemsize) == 2 else 1e-3


def open_volumes(case: Case, class_axis: int | None, scratch: Path) -> list[Volume]:
    """Return the volumes of a case, of which all have one shape.

    Compressed files are decompressed to the folder `scratch` piece by piece, so that no array is
    held in memory.
    """
    opened = []
    for m, path in enumerate(case.paths):
        file = scratch / f"model-{m}.npy"
        volume = _OPENERS[case.format](path, file)
        opened.append(_with_classes_first(volume, case.format, class_axis))
    first = opened[0]
    for volume in opened[1:]:
        if volume.array.shape != first.array.shape:
            raise ValueError(
                f"{volume.path}: has shape {volume.array.shape}, {first.path} has "
                f"{first.array.shape}; predict all models on the same grid"
            )
        if volume.geometry is not None and first.geometry is not None:
            _check_same_space(volume, first)
    return opened


def _check_same_space(volume: Volume, first: Volume) -> None:
    affines = [x.geometry.affine for x in (volume, first) if x.geometry is not None]
    if not np.allclose(affines[0], affines[-1], atol=1e-4):
        raise ValueError(
            f"{volume.path}: has another affine than {first.path}; resample one of them"
        )


def _with_classes_first(volume: Volume, format_: str, class_axis: int | None) -> Volume:
    array, axis = volume.array, CLASS_AXES[format_] if class_axis is None else class_axis
    if array.ndim < 2:
        raise ValueError(f"{volume.path}: has shape {array.shape}; pass probabilities (K, H, W)")
    if not -array.ndim <= axis < array.ndim:
        raise ValueError(
            f"--class-axis: is {axis}, and {volume.path} has shape {_in_file(volume, format_)}; "
            f"pass 0 to {array.ndim - 1}"
        )
    if format_ == "nifti":  # the array is reversed
        axis = array.ndim - 1 - axis % array.ndim
    moved = np.moveaxis(array, axis, 0)
    if moved.dtype.kind not in "fu" or 0 in moved.shape:
        raise ValueError(
            f"{volume.path}: has dtype {moved.dtype} and shape {array.shape}; pass probabilities"
        )
    return Volume(volume.path, moved, volume.geometry, volume.unit)


def _in_file(volume: Volume, format_: str) -> tuple[int, ...]:
    shape = volume.array.shape
    return shape[::-1] if format_ == "nifti" else shape


# ---------------------------------------------------------------- formats


def open_npy(path: Path, _: Path | None = None) -> Volume:
    """Return the array of a ``.npy`` file as a memory map."""
    try:
        return Volume(path, np.load(path, mmap_mode="r", allow_pickle=False))
    except ValueError as error:
        raise ValueError(
            f"{path}: is not an array in .npy format ({error}); save it by numpy.save"
        ) from None


def open_npz(path: Path, scratch: Path) -> Volume:
    """Return the array of probabilities of a ``.npz`` file, or its only array."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            found = [f"{name}.npy" for name in NPZ_NAMES if f"{name}.npy" in names]
            if not found and len(names) != 1:
                listed = ", ".join(name.removesuffix(".npy") for name in names) or "none"
                raise ValueError(
                    f"{path}: has no array {NPZ_NAMES[0]!r} (arrays: {listed}); export with "
                    "--save_probabilities"
                )
            with archive.open((found or names)[0]) as source, scratch.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path}: is not a .npz file ({error}); export it again") from None
    volume = open_npy(scratch, scratch)
    return Volume(path, volume.array, _geometry_beside(path))


def _geometry_beside(path: Path) -> Geometry | None:
    """Return the geometry of the segmentation that nnU-Net writes beside a ``.npz`` file."""
    stem = path.name[: -len(".npz")]
    for suffix in (".nii.gz", ".nii"):
        image = path.with_name(stem + suffix)
        if image.is_file():
            return geometry_of(require("nibabel", "nifti").load(image))
    return None


def geometry_of(image: Any) -> Geometry:
    """Return the geometry of an image of nibabel, for maps of its first three axes."""
    sizes = tuple(float(size) for size in image.header.get_zooms()[:3][::-1])
    return Geometry(np.asarray(image.affine), image.header, sizes)


def open_nifti(path: Path, scratch: Path) -> Volume:
    """Return the array of a NIfTI image, its axes in reverse order."""
    nibabel = require("nibabel", "nifti")
    file = path
    if path.name.lower().endswith(".gz"):
        file = scratch.with_suffix(".nii")
        with gzip.open(path) as source, file.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    try:
        image = nibabel.load(file)
    except nibabel.filebasedimages.ImageFileError as error:
        raise ValueError(f"{path}: is not a NIfTI image ({error}); export it again") from None
    data = image.dataobj
    slope, intercept = float(data.slope), float(data.inter)
    if slope == 1 and intercept == 0:
        array = np.asanyarray(data).T  # a memory map
    else:  # scaled integers, slice by slice
        array = np.lib.format.open_memmap(scratch, "w+", np.float32, image.shape[::-1])
        for k in np.ndindex(*array.shape[:-2]):
            array[k] = np.asarray(data[(..., *k[::-1])], np.float32).T
    return Volume(path, array, geometry_of(image))


def _open_pages(path: Path, scratch: Path) -> Volume:
    """Return the pages of a TIFF file, one per class."""
    image_module = require("PIL.Image", "plots")
    with image_module.open(path) as image:

        def page(k: int) -> Array:
            image.seek(k)
            return np.asarray(image)

        return _stack(path, [page] * getattr(image, "n_frames", 1), scratch)


def _open_folder(path: Path, scratch: Path) -> Volume:
    """Return the images of a folder in the order of their names, one per class."""
    image_module = require("PIL.Image", "plots")
    files = sorted(file for file in path.iterdir() if case_name(file, IMAGE_SUFFIXES))

    def page(k: int) -> Array:
        with image_module.open(files[k]) as image:
            return np.asarray(image)

    return _stack(path, [page] * len(files), scratch)


def _stack(path: Path, pages: Sequence[Any], scratch: Path) -> Volume:
    first = pages[0](0)
    if first.ndim != 2 or (first.dtype.kind != "f" and first.dtype not in (np.uint8, np.uint16)):
        raise ValueError(
            f"{path}: has images of shape {first.shape} and dtype {first.dtype}; save one image in "
            "shades of gray per class, with 8, 16 or 32 bits"
        )
    array = np.lib.format.open_memmap(scratch, "w+", first.dtype, (len(pages), *first.shape))
    for k, read in enumerate(pages):
        page = first if k == 0 else read(k)
        if page.shape != first.shape or page.dtype != first.dtype:
            raise ValueError(
                f"{path}: image {k} (zero-based) differs in size or depth from the first"
            )
        array[k] = page
    unit = 1.0 if first.dtype.kind == "f" else float(np.iinfo(first.dtype).max)
    return Volume(path, array, None, unit)


_OPENERS: dict[str, Any] = {
    "npz": open_npz,
    "npy": open_npy,
    "nifti": open_nifti,
    "tiff": _open_pages,
    "images": _open_folder,
}
