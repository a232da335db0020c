"""From names on a command line to open prediction files."""

from __future__ import annotations

import csv
import glob
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO

from credalens.datasets.files.source import (
    PredictionFileError,
    Reading,
    Source,
    reading,
    refuse_file,
)

#: Endings of prediction files.
ENDINGS = (".npy", ".npz", ".csv", ".tsv", ".parquet", ".zarr")
#: Formats that can be read from a pipe.
PIPED = ("csv", "tsv", "npy")
STDIN = "-"
#: Describes a folder of scores. The underscore keeps readers from taking it for data.
MANIFEST = "_manifest.json"
#: Columns of the table of rows that were left out.
SKIPPED = ("row", "id", "file", "reason")
#: Columns by which the tables of ``pick``, of rows left out and of ``evaluate`` are known again.
WRITTEN = (
    {"rank", "row", "prediction", "kind", "reason"},
    {*SKIPPED},
    {"score", "auc", "mr"},
    {"score", "threshold", "kept"},
)


def expand(names: Iterable[str], leave_out: Iterable[Path] = ()) -> list[str]:
    """Return the files that are meant: globs and folders become what they hold, sorted.

    A folder that is one dataset (see `parquet.is_dataset`) stays as it is.

    `leave_out` are files of labels, of costs and so on, which may lie in the same folder as the
    models, as may what commands have written: what a glob or a folder holds of these is no model. A
    name that is given is.
    """
    others = {path.resolve() for path in leave_out}

    def models(held: Iterable[str]) -> list[str]:
        paths = map(Path, held)
        return [str(p) for p in paths if p.resolve() not in others and not _looks_written(p)]

    found: list[str] = []
    for name in names:
        path = Path(name)
        if name == STDIN or path.suffix == ".zarr":
            found.append(name)
        elif path.is_dir():
            found.extend([name] if _is_dataset(path) else models(_inside(path)))
        elif not path.exists() and glob.has_magic(name):
            matches = sorted(glob.glob(name, recursive=True))
            if not matches:
                refuse_file(name, "matches no file", "check the pattern")
            found.extend(models(matches))
        else:
            found.append(name)
    if not found:
        refuse_file("input", "no prediction files are left", "name at least one")
    seen: set[str] = set()
    for name in found:
        same = name if name == STDIN else str(Path(name).resolve())
        if same in seen:
            refuse_file(name, "is given twice", "name every model once")
        seen.add(same)
    return found


def _is_dataset(folder: Path) -> bool:
    from credalens.datasets.files.parquet import is_dataset

    return is_dataset(folder)


def _looks_written(path: Path) -> bool:
    """Tell by its columns whether a file, or by its manifest a folder, was written by a command."""
    if path.is_dir():
        return (path / MANIFEST).is_file()
    try:
        names = set(columns_of(path))
    except PredictionFileError:
        return False  # said when it is opened
    if any(known <= names for known in WRITTEN):
        return True
    scores = names - {"row", "id", "prediction", "label", "correct"}
    return "prediction" in names and bool(scores) and all(map(_is_score, scores))


def columns_of(path: Path) -> list[str]:
    """Return the names of the columns of a file, in those formats that scores are written in."""
    ending = path.suffix.lower()
    with reading(str(path)):
        if ending == ".csv":
            with path.open(newline="", encoding="utf-8-sig") as file:
                return next(csv.reader([file.readline(1 << 16)]), [])
        if ending == ".npz":
            with zipfile.ZipFile(path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist()]
        if ending == ".parquet":
            import pyarrow.parquet

            return list(pyarrow.parquet.read_schema(path).names)
    return []


def _is_score(name: str) -> bool:
    from credalens.measures.table import MEASURES

    return name in MEASURES or bool(re.search(r"_(total|aleatoric(_\w+)?|epistemic)$", name))


def _inside(folder: Path) -> list[str]:
    files = sorted(
        str(path)
        for path in folder.iterdir()
        if path.suffix.lower() in ENDINGS and not path.name.startswith(".")
    )
    if not files:
        refuse_file(str(folder), "has no prediction files", f"their endings: {' '.join(ENDINGS)}")
    return files


def open_source(name: str, how: Reading, stdin: IO[bytes] | None = None) -> Source:
    """Open one file by its ending, or standard input by its format."""
    if name == STDIN:
        return _open_pipe(how, stdin or sys.stdin.buffer)
    path = Path(name)
    ending = path.suffix.lower()
    if path.is_dir() and ending != ".zarr":
        from credalens.datasets.files.parquet import ParquetDataset

        return ParquetDataset(name, how)
    if ending not in ENDINGS:
        refuse_file(name, f"has the unknown ending {ending!r}", f"known are {' '.join(ENDINGS)}")
    if not path.exists():
        refuse_file(name, "is not there", "check the name")
    if path.is_file() and path.stat().st_size == 0:
        refuse_file(name, "is empty", "write it again")
    if ending in (".npy", ".npz", ".zarr"):
        from credalens.datasets.files.arrays import NpySource, NpzSource, ZarrSource

        kinds: dict[str, Callable[[str], Source]] = {
            ".npy": NpySource,
            ".npz": NpzSource,
            ".zarr": ZarrSource,
        }
        return kinds[ending](name)
    if ending == ".parquet":
        from credalens.datasets.files.parquet import ParquetSource

        return ParquetSource(name, how)
    from credalens.datasets.files.tables import TextSource

    return TextSource(name, how, "\t" if ending == ".tsv" else ",")


def _open_pipe(how: Reading, stream: IO[bytes]) -> Source:
    if how.format not in PIPED:
        refuse_file("stdin", f"its format is {how.format}", f"say --format {'|'.join(PIPED)}")
    if how.format == "npy":
        from credalens.datasets.files.arrays import NpySource

        return NpySource("stdin", stream)
    from credalens.datasets.files.tables import TextSource

    return TextSource("stdin", how, "\t" if how.format == "tsv" else ",", stream)


def model_names(sources: Sequence[Source]) -> tuple[str, ...]:
    """Return a name for every member: the stem of its file, numbered if the file holds several.

    Files of the same name are called by their folders as well.
    """
    paths = [Path(source.path).absolute() for source in sources]
    stems = [path.stem for path in paths]
    for longer in (lambda path: f"{path.parent.name}/{path.stem}", str):
        count = Counter(stems)
        stems = [
            longer(path) if count[stem] > 1 else stem
            for path, stem in zip(paths, stems, strict=True)
        ]
    names: list[str] = []
    for source, stem in zip(sources, stems, strict=True):
        several = [f"{stem}[{m}]" for m in range(source.n_members)]
        names.extend([stem] if source.n_members == 1 else several)
    return tuple(names)
