"""From names on a command line to open prediction files."""

from __future__ import annotations

import csv
import glob
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from credalens._arrays import Array
from credalens.datasets.files.ensemble import Ensemble, refuse_labels
from credalens.datasets.files.labels import LabelFile, read_labels, refuse_no_columns
from credalens.datasets.files.source import (
    CHOICES,
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
    if not path.is_file():
        return False  # a pipe would wait for somebody to write
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

    return name in MEASURES or bool(re.search(r"_(total|aleatoric(_\w+)?|epistemic|error)$", name))


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
    if how.columns is None and _looks_written(path):
        refuse_file(
            name,
            "holds what a command has written, no predictions",
            "name the files of the models, or class columns by --columns if it is one",
        )
    if path.is_dir() and ending != ".zarr":
        from credalens.datasets.files.parquet import ParquetDataset

        return ParquetDataset(name, how)
    if path.exists() and not (path.is_file() or path.is_dir()):
        refuse_file(
            name, "is a pipe, which can be read once only", f"write - --format csv < {name}"
        )
    if not path.exists() and ending in ("", *ENDINGS):
        refuse_file(name, "is not there", "check the name")
    if ending in (".gz", ".bz2", ".xz", ".zst", ".zip"):
        refuse_file(name, "is compressed", f"unpack it, or: zcat {name} | credalens score - ...")
    if ending not in ENDINGS:
        refuse_file(name, f"has the unknown ending {ending!r}", f"known are {' '.join(ENDINGS)}")
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
        problem = "has no ending" if how.format is None else f"cannot be {how.format}"
        refuse_file("stdin", problem, f"say --format {', '.join(PIPED[:-1])} or {PIPED[-1]}")
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


def open_ensemble(
    names: Sequence[str],
    *,
    how: Reading | None = None,
    labels: str | None = None,
    class_names: Sequence[str] | None = None,
    logits: bool = False,
    temperature: float = 1.0,
    normalize: bool = False,
    stdin: IO[bytes] | None = None,
    no_models: Sequence[Path] = (),
    by_part: bool = False,
) -> Ensemble:
    """Open the prediction files of an ensemble.

    Parameters
    ----------
    names : sequence of str
        Files, folders or patterns; ``"-"`` is standard input. One file with ``(n, M, K)`` or
        several with ``(n, K)``, one per model.
    how : Reading, optional
        Which columns of tables hold what.
    labels : str, optional
        A file of true classes, one per row.
    class_names : sequence of str, optional
        Names of the classes, in their order.
    logits, temperature, normalize : optional
        What is stored: logits, to be divided by `temperature`, or rows to be divided by their sum.
    stdin : binary stream, optional
        Instead of the standard input.
    no_models : sequence of Path, optional
        Files that are no models though they lie in a folder, or match a pattern, of `names`; that
        of `labels` is one.
    by_part : bool, default=False
        Leave `labels`, a ``.npy`` file, on disk, so that nothing grows with the number of rows.

    Returns
    -------
    Ensemble
        Checked for what can be known without reading all rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         np.save(pathlib.Path(folder, f"{name}.npy"), np.full((5, 2), 0.5))
    ...     ensemble = open_ensemble([folder])
    ...     [chunk.members.shape for chunk in ensemble.chunks(rows=3)]
    [(3, 2, 2), (2, 2, 2)]
    """
    if not 0 < temperature < np.inf:
        refuse_file("--temperature", f"is {temperature:g}", "pass a positive number")
    how = how or Reading()
    label_column = None
    if labels is not None:  # the column is then that of the file of labels
        how, label_column = replace(how, label=None), how.label
    files = expand(names, [*no_models, *([] if labels is None else [Path(labels)])])
    sources = tuple(open_source(name, how, stdin) for name in files)
    _refuse_unused(sources, how, logits, temperature, normalize)
    first = sources[0]
    if first.n_classes == 1:
        refuse_file(
            first.path,
            "has one class only",
            "save a column for every class, also where there are two; of tables, name them by "
            "--columns, or others by --id-column",
        )
    for source in sources:
        if logits and source.holds == "probs":
            refuse_file(source.path, "says that it holds probs", "leave out --logits")
    for source in sources[1:]:
        if source.n_classes != first.n_classes:
            refuse_file(source.path, f"has {source.n_classes} classes, {first.path} "
                        f"{first.n_classes}", "pass models of the same classes")  # fmt: skip
        if None not in (source.n_rows, first.n_rows) and source.n_rows != first.n_rows:
            refuse_file(source.path, f"has {source.n_rows} rows, {first.path} {first.n_rows}",
                        "pass models of the same rows")  # fmt: skip
    known = _names(sources, class_names)
    truth: Array | LabelFile | None = None
    label_ids = None
    if labels is not None and by_part:
        if label_column is not None:
            refuse_no_columns(labels)
        truth = LabelFile(labels)
    elif labels is not None:
        id_name = next((source.id_name for source in sources if source.has_ids), None)
        truth, label_ids = read_labels(labels, id_name, label_column, known or ())
    n = next((source.n_rows for source in sources if source.n_rows is not None), None)
    if truth is not None and n is not None and len(truth) != n:
        refuse_labels(labels or "", len(truth), n)
    return Ensemble(
        sources,
        model_names(sources),
        first.n_classes,
        known,
        truth,
        labels or "",
        logits,
        float(temperature),
        normalize,
        label_ids,
    )


def _refuse_unused(
    sources: Sequence[Source], how: Reading, logits: bool, temperature: float, normalize: bool
) -> None:
    """Refuse what would change nothing."""
    some = logits or any(source.is_logits for source in sources)
    if temperature != 1 and not some:
        refuse_file("--temperature", "is for logits", "pass --logits, or leave it out")
    if normalize and (logits or all(source.is_logits for source in sources)):
        refuse_file("--normalize", "is for probabilities", "leave it out, as these are logits")
    if how.format is not None and all(source.path != "stdin" for source in sources):
        refuse_file("--format", "is for standard input", "leave it out: endings of files tell")
    given = dict(zip(CHOICES, (how.columns, how.label, how.id), strict=True))
    for option, value in {**given, "--header": how.header}.items():
        if value is not None and not any(option in source.options for source in sources):
            kind = "text files" if option == "--header" else "tables"
            refuse_file(option, f"is for {kind}, and there is none", "leave it out")


def _names(sources: Sequence[Source], given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the class names that the files agree on, or those given."""
    named = [source for source in sources if source.class_names is not None]
    for source in named[1:]:
        if source.class_names != named[0].class_names:
            refuse_file(
                source.path,
                f"has the classes {', '.join(source.class_names or ())[:200]}, {named[0].path} "
                f"{', '.join(named[0].class_names or ())[:200]}",
                "put the classes in one order, e.g. by --columns",
            )
    names = tuple(given) if given is not None else (named[0].class_names if named else None)
    if names is None or names == tuple(str(k) for k in range(len(names))):
        return None
    if len(names) != sources[0].n_classes or len(set(names)) < len(names):
        refuse_file(
            "--class-names",
            f"are {len(set(names))} different names",
            f"pass {sources[0].n_classes}, one per class",
        )
    return names
