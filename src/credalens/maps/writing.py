"""Maps in the format and the geometry of the inputs."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._extras import require
from credalens.maps.volumes import Geometry


def write_maps(
    maps: Mapping[str, Array], format_: str, geometry: Geometry | None, scratch: Path, folder: Path
) -> None:
    """Write maps that are memory maps ``scratch/NAME.npy`` to a folder.

    NIfTI for inputs with a geometry: NIfTI images, and ``.npz`` files with a segmentation in NIfTI
    beside them. Otherwise the format of the inputs: one ``.npz`` file, or a ``.npy`` or TIFF file
    for each map.
    """
    if geometry is not None:
        _write_nifti(maps, geometry, folder)
    elif format_ == "npz":
        with zipfile.ZipFile(
            folder / "maps.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1
        ) as archive:
            for name in maps:
                archive.write(scratch / f"{name}.npy", f"{name}.npy")
    elif format_ == "npy":
        for name in maps:
            (scratch / f"{name}.npy").replace(folder / f"{name}.npy")
    else:
        images: Any = require("PIL.Image", "plots")
        for name, values in maps.items():
            images.fromarray(np.asarray(values)).save(folder / f"{name}.tif")


def _write_nifti(maps: Mapping[str, Array], geometry: Geometry, folder: Path) -> None:
    nibabel = require("nibabel", "nifti")
    for name, values in maps.items():
        image = nibabel.Nifti1Image(values.T, geometry.affine)
        for kind in ("qform", "sform"):
            code = int(geometry.header[f"{kind}_code"])
            if code:
                getattr(image, f"set_{kind}")(geometry.affine, code)
        image.header.set_xyzt_units(*geometry.header.get_xyzt_units())
        image.header["descrip"] = b"credalens map"
        nibabel.save(image, folder / f"{name}.nii.gz")
