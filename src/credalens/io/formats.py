"""The file formats of predictions, and the files that a command line names.

To add a format, implement `credalens.io.source.Source` in a module and list it in `FORMATS`.
"""

from __future__ import annotations

import glob
import importlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, NamedTuple

from credalens._files import resolved
from credalens.io.source import (
    PredictionFileError,
    ReadOptions,
    Source,
    raise_file_error,
    read_errors,
    retry,
)
from credalens.io.streams import ByteStream, format_suffix, is_compressed, standard_input
from credalens.measures.table import MEASURES


class Format(NamedTuple):
    """The module and class that read a format, imported on first use."""

    module: str
    source: str
    #: Whether it can be read from standard input, and from compressed files.
    streams: bool = False
    #: Whether its files in a folder are read; files of weights and notes may have others.
    in_folders: bool = True


#: Formats by file extension.
FORMATS = {
    ".csv": Format("text", "TextSource", streams=True),
    ".tsv": Format("text", "TextSource", streams=True),
    ".txt": Format("text", "TextSource", in_folders=False),
    ".jsonl": Format("json_lines", "JsonLinesSource", streams=True),
    ".ndjson": Format("json_lines", "JsonLinesSource"),
    ".json": Format("json_lines", "JsonLinesSource", in_folders=False),
    ".npy": Format("arrays", "NpySource", streams=True),
    ".npz": Format("arrays", "NpzSource"),
    ".parquet": Format("parquet", "ParquetSource"),
    ".feather": Format("arrow_file", "ArrowSource"),
    ".arrow": Format("arrow_file", "ArrowSource"),
    ".zarr": Format("arrays", "ZarrSource"),
    ".h5": Format("arrays", "Hdf5Source", in_folders=False),
    ".hdf5": Format("arrays", "Hdf5Source", in_folders=False),
    ".safetensors": Format("arrays", "SafetensorsSource", in_folders=False),
    ".pt": Format("arrays", "TorchSource", in_folders=False),
    ".pth": Format("arrays", "TorchSource", in_folders=False),
}
#: What to do about files of other formats.
OTHER_FORMATS = {
    ".xlsx": "save it as CSV: pandas.read_excel('{name}').to_csv('{stem}.csv', index=False)",
    ".pkl": "pickles can run code; save the arrays by numpy.savez, or the table as Parquet",
    ".mat": "convert it: numpy.savez(path, **scipy.io.loadmat('{name}'))",
}
for _suffix, _like in ((".xls", ".xlsx"), (".pickle", ".pkl"), (".joblib", ".pkl")):
    OTHER_FORMATS[_suffix] = OTHER_FORMATS[_like]
STDIN = "-"
#: The format of responses of language models, and the file extensions that it may have.
LOGPROBS, JSON_SUFFIXES = "logprobs", (".jsonl", ".ndjson", ".json")
#: File extensions of outputs.
OUTPUTS = (".csv", ".parquet", ".npz", ".jsonl")
#: Name of the file that describes a folder of scores. Readers of Parquet ignore the underscore.
MANIFEST = "_manifest.json"
#: Columns of the table of dropped rows.
DROPPED_COLUMNS = ("row", "id", "file", "reason")
#: Columns that identify the outputs of ``pick``, of ``--on-error skip`` and of ``evaluate``.
OUTPUT_COLUMNS = (
    {"rank", "row", "prediction", "kind", "reason"},
    {*DROPPED_COLUMNS},
    {"score", "auc", "mr"},
    {"score", "threshold", "kept"},
)
#: Columns of the scores of tokens and of answers.
TOKEN_COLUMNS = frozenset(
    {"position", "token", "n_tokens", "length", "logprob_lower", "logprob_upper"}
)


def source_class(suffix: str) -> Any:
    """Return the subclass of `Source` for a file extension."""
    module = importlib.import_module(f"credalens.io.{FORMATS[suffix].module}")
    return getattr(module, FORMATS[suffix].source)


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of a file; nothing if its format has none."""
    suffix = format_suffix(str(path))
    if suffix not in FORMATS or (is_compressed(str(path)) and not FORMATS[suffix].streams):
        return []
    with read_errors(str(path)):
        return list(source_class(suffix).column_names(str(path)))


def is_output(path: Path) -> bool:
    """Return whether a command wrote a file, by its columns, or a folder, by its manifest."""
    if path.is_dir():
        return (path / MANIFEST).is_file()
    if not path.is_file() or path.suffix.lower() not in OUTPUTS:
        return False  # opening a named pipe would block
    try:
        names = set(column_names(path))
    except PredictionFileError:
        return False  # reported when it is opened
    if any(known <= names for known in OUTPUT_COLUMNS):
        return True
    scores = names - {"row", "id", "n_members", "prediction", "label", "correct", "target"}
    scores -= TOKEN_COLUMNS
    known = "prediction" in names or names >= TOKEN_COLUMNS - {"position", "token"}
    return known and bool(scores) and all(map(_is_score, scores))


def _is_score(name: str) -> bool:
    family = re.search(r"_((total|aleatoric)(_\w+)?|epistemic|error)$", name)
    return name in MEASURES or family is not None


def open_source(name: str, options: ReadOptions, stdin: IO[bytes] | None = None) -> Source:
    """Open one file by its extension, or standard input by `options.format`."""
    if options.format == LOGPROBS:
        return _open_logprobs(name, options, stdin)
    if name == STDIN:
        name, suffix = "stdin", _stdin_suffix(options)
        stream = [ByteStream("stdin", stdin or standard_input())]
    else:
        suffix = _file_suffix(name, options)
        stream = [ByteStream(name)] if is_compressed(name) else []

    def open_again() -> Source:
        with read_errors(name):
            source: Source = source_class(suffix)(name, options, *stream)
        return source

    return open_again() if name == "stdin" else retry(open_again)


def _open_logprobs(name: str, options: ReadOptions, stdin: IO[bytes] | None) -> Source:
    """Open JSON lines with log-probabilities of choices."""
    from credalens.io.language.choice_source import ChoiceSource

    path = "stdin" if name == STDIN else name
    if name != STDIN:
        check_logprobs(name, options)
    with read_errors(path):
        return ChoiceSource(
            path, options,
            ByteStream(path, stdin or standard_input()) if name == STDIN else ByteStream(name),
        )  # fmt: skip


def check_logprobs(name: str, options: ReadOptions) -> None:
    """Raise an error for a file that does not exist, or is not of JSON lines."""
    suffix = _file_suffix(name, options)
    if suffix not in JSON_SUFFIXES:
        raise_file_error(
            name, f"is a {suffix} file, and --format logprobs reads JSON lines",
            "write one response per line in a .jsonl file, or leave out --format",
        )  # fmt: skip


def _stdin_suffix(options: ReadOptions) -> str:
    known = [*(suffix[1:] for suffix, form in FORMATS.items() if form.streams), LOGPROBS]
    given = options.format
    if given not in known:
        problem = "needs a format" if given is None else f"cannot be read as {given}"
        raise_file_error("stdin", problem, f"pass --format {', '.join(known[:-1])} or {known[-1]}")
    return f".{given}"


def _file_suffix(name: str, options: ReadOptions) -> str:
    """Return the file extension of a format, or raise an error if the file cannot be opened."""
    path = Path(name)
    suffix = format_suffix(name)
    if options.columns is None and is_output(path):
        raise_file_error(
            name,
            "is an output of credalens, not predictions",
            "name the files of the models, or, if it is one, its class columns by --columns",
        )
    if path.is_dir():
        return ".zarr" if suffix == ".zarr" else ".parquet"
    if path.exists() and not path.is_file():
        problem = "is a pipe, which can be read only once"
        raise_file_error(name, problem, f"pass - --format csv < {name}")
    if not path.exists():
        raise_file_error(name, "does not exist", "check the name")
    if suffix in OTHER_FORMATS:
        fix = OTHER_FORMATS[suffix].format(name=path.name, stem=path.stem)
        raise_file_error(name, f"is a {suffix} file, which is not read", fix)
    if suffix not in FORMATS:
        fix = f"supported are {' '.join(FORMATS)}"
        raise_file_error(name, f"has the unknown file extension {path.suffix!r}", fix)
    if is_compressed(name) and not FORMATS[suffix].streams:
        raise_file_error(name, "is compressed", f"unpack it: {suffix} is read as it is")
    if path.stat().st_size == 0:
        raise_file_error(name, "is empty", "write it again")
    return suffix


def expand(names: Iterable[str], exclude: Iterable[Path] = ()) -> list[str]:
    """Return the prediction files that `names` denote, with folders and patterns expanded.

    The files of a folder or pattern are sorted; files in `exclude` and outputs of commands are not
    among them. A folder that is one dataset (see `credalens.io.parquet.is_dataset`) is one entry.
    """
    excluded = {resolved(path) for path in exclude}

    def models(paths: Iterable[Path]) -> list[str]:
        return [str(p) for p in paths if resolved(p) not in excluded and not is_output(p)]

    found: list[str] = []
    for name in names:
        path = Path(name)
        if name == STDIN or path.suffix == ".zarr":
            found.append(name)
        elif path.is_dir():
            found.extend([name] if _is_dataset(path) else models(_prediction_files(path)))
        elif not path.exists() and glob.has_magic(name):
            matches = sorted(glob.glob(name, recursive=True))
            if not matches:
                raise_file_error(name, "matches no file", "check the pattern")
            found.extend(models(map(Path, matches)))
        else:
            found.append(name)
    if not found:
        raise_file_error("input", "contains no prediction files", "name at least one")
    seen: set[str] = set()
    for name in found:
        real = name if name == STDIN else str(resolved(name))
        if real in seen:
            raise_file_error(name, "is listed twice", "name every model once")
        seen.add(real)
    return found


def _is_dataset(folder: Path) -> bool:
    others = {suffix for suffix in FORMATS if suffix != ".parquet" and FORMATS[suffix].in_folders}
    if folder.suffix != ".parquet" and (
        any(path.suffix in others for path in folder.iterdir())
        or not any(folder.rglob("*.parquet"))
    ):
        return False
    from credalens.io.parquet import is_dataset

    return is_dataset(folder)


def _prediction_files(folder: Path) -> list[Path]:
    visible = [path for path in folder.iterdir() if not path.name.startswith(".")]
    files = sorted(path for path in visible if _is_in_folders(path))
    if not files:
        others = sorted({p.suffix.lower() for p in visible if p.suffix.lower() in FORMATS})
        fix = f"supported file extensions are {' '.join(FORMATS)}"
        if others:
            fix = f"name them by a pattern, '{folder}/*{others[0]}'"
        raise_file_error(str(folder), "has no prediction files", fix)
    return files


def _is_in_folders(path: Path) -> bool:
    suffix = format_suffix(path.name)
    if suffix not in FORMATS or not FORMATS[suffix].in_folders:
        return False
    return not is_compressed(path.name) or FORMATS[suffix].streams
