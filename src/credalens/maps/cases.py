"""Cases: the files of several models for the same image, matched by their names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from credalens._validation import counted

#: Suffixes of the formats, in the order in which a folder is searched: nnU-Net writes a
#: segmentation in NIfTI beside the probabilities of a case.
FORMATS: Mapping[str, tuple[str, ...]] = {
    "npz": (".npz",),
    "npy": (".npy",),
    "nifti": (".nii.gz", ".nii"),
    "tiff": (".tif", ".tiff"),
}
#: Format of folders with one image per class.
IMAGES = "images"
IMAGE_SUFFIXES = (".png", ".tif", ".tiff", ".bmp", ".pgm")


@dataclass(frozen=True)
class Case:
    """The files of one case, one per model, in the order of the folders."""

    name: str
    format: str
    paths: tuple[Path, ...]
    #: A mask of the true classes.
    reference: Path | None = None
    #: The image that the models have segmented.
    image: Path | None = None

    def absolute(self) -> Case:
        """Return the case with absolute paths, for another process."""
        reference, image = (p and p.absolute() for p in (self.reference, self.image))
        paths = tuple(path.absolute() for path in self.paths)
        return Case(self.name, self.format, paths, reference, image)

    def fingerprint(self) -> list[list[str | int]]:
        """Return names, sizes and modification times of the files, as JSON values."""
        found: list[list[str | int]] = []
        for path in filter(None, (*self.paths, self.reference, self.image)):
            for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                state = file.stat()
                found.append([str(file.absolute()), state.st_size, state.st_mtime_ns])
        return found


def case_name(path: Path, suffixes: Iterable[str]) -> str | None:
    """Return the name of a file without one of the suffixes, None if it has none of them."""
    for suffix in suffixes:
        if path.name.lower().endswith(suffix) and not path.name.startswith("."):
            return path.name[: -len(suffix)]
    return None


def find_cases(folders: Sequence[Path]) -> list[Case]:
    """Return the cases of folders with the predictions of one model each, by name.

    Raises
    ------
    ValueError
        If the folders do not have files of the same format and the same names.
    """
    if len(folders) < 2:
        raise ValueError(
            f"FOLD_DIRS: got {counted(len(folders), 'folder')}; name one per model, at least 2"
        )
    listed = [_files(folder) for folder in folders]
    format_, first = listed[0]
    for folder, (other, _) in zip(folders, listed, strict=True):
        if other != format_:
            raise ValueError(
                f"{folder}: has {other} files, {folders[0]} has {format_}; export all in one format"
            )
    names = sorted(set().union(*(files for _, files in listed)))
    for name in names:
        lacking = [i for i, (_, files) in enumerate(listed) if name not in files]
        if lacking:
            has = next(folder for i, folder in enumerate(folders) if i not in lacking)
            raise ValueError(
                f"{folders[lacking[0]]}: lacks case {name!r}, which {has} has; every folder needs "
                "a file of that name"
            )
    return [Case(name, format_, tuple(files[name] for _, files in listed)) for name in first]


def _files(folder: Path) -> tuple[str, dict[str, Path]]:
    """Return the format of a folder and its files by the name of the case."""
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise ValueError(f"{folder}: {what}; name folders, one per model")
    entries = sorted(folder.iterdir())
    for format_, suffixes in FORMATS.items():
        found: dict[str, Path] = {}
        for path in entries:
            name = case_name(path, suffixes)
            if name is not None and path.is_file():
                if name in found:
                    _raise_twice(found[name], path)
                found[name] = path
        if found:
            return format_, found
    stacks = {
        path.name: path
        for path in entries
        if path.is_dir() and any(case_name(file, IMAGE_SUFFIXES) for file in path.iterdir())
    }
    if stacks:
        return IMAGES, stacks
    raise ValueError(
        f"{folder}: has no .npz, .npy, .nii, .nii.gz or .tif file, and no folder of images; "
        "name folders with one file of probabilities per case"
    )


def _raise_twice(first: Path, second: Path) -> NoReturn:
    raise ValueError(f"{second}: is a second file of the case of {first.name}; remove one of them")


def class_names(folders: Sequence[Path]) -> list[str] | None:
    """Return the names of the classes in the ``dataset.json`` of nnU-Net; None without one.

    Version 2 maps names to numbers, of which ``"ignore"`` is no class, version 1 numbers to names.
    There are no names for regions, which are lists of numbers.
    """
    for folder in folders:
        try:
            text = (folder / "dataset.json").read_text(encoding="utf-8")
            labels = json.loads(text)["labels"]
            if "0" in labels:
                labels = {name: int(number) for number, name in labels.items()}
            named = {k: str(name) for name, k in labels.items() if name != "ignore"}
            if sorted(named) == list(range(len(named))):
                return [named[k] for k in range(len(named))]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return None
