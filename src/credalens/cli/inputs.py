"""Options that several commands share."""

import hashlib
import inspect
import os
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from credalens.distances import NAMES

if TYPE_CHECKING:
    from credalens.datasets.files import Ensemble
    from credalens.evaluation.scores import ScoreColumns


@dataclass(frozen=True)
class Inputs:
    """Which predictions to read, and how."""

    files: Annotated[
        list[str],
        typer.Argument(
            help="One file with (rows, models, classes) or several with (rows, classes), one per "
            "model: .npy, .npz (probs or logits, perhaps labels), .csv, .tsv, .parquet, .zarr; "
            "folders and quoted patterns too; - is standard input. A folder NAME.parquet, or of "
            "files part-0.parquet, ..., is one model or ensemble, its files' rows in order.",
            show_default=False,
        ),
    ]
    labels: Annotated[
        str | None,
        typer.Option(
            help="File of true classes, one per row: .npy, .npz, .csv, .parquet or text; ids in it "
            "must be those of the rows."
        ),
    ] = None
    logits: Annotated[bool, typer.Option("--logits", help="The files hold logits.")] = False
    temperature: Annotated[float, typer.Option(help="Divides the logits.")] = 1.0
    normalize: Annotated[bool, typer.Option("--normalize", help="Divide every row by its sum.")] = (
        False
    )
    columns: Annotated[
        str | None,
        typer.Option(
            help="Class columns of tables: names or zero-based positions, a,b,c or 2,3,4 or 2-11. "
            "By default all but id and label."
        ),
    ] = None
    label_column: Annotated[
        str | None,
        typer.Option(
            help="Column of labels, that of --labels if given; by default label, if there is one."
        ),
    ] = None
    id_column: Annotated[
        str | None, typer.Option(help="Column of identifiers; by default id, if there is one.")
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether text files begin with a header; by default the first lines tell: text, "
            "or 0,1,... or 1,2,... over other numbers.",
        ),
    ] = None
    class_names: Annotated[
        str | None,
        typer.Option(help="Names of the classes in their order: a,b,c or a file, one per line."),
    ] = None
    format: Annotated[
        str | None, typer.Option(help="Format of standard input: csv, tsv or npy.")
    ] = None
    on_error: Annotated[
        str, typer.Option(help="stop at a bad row, or skip it, count it and write it down.")
    ] = "stop"
    chunk_rows: Annotated[
        int | None, typer.Option(min=1, help="Rows in memory at once.", show_default="about 32 MB")
    ] = None

    @property
    def skip(self) -> bool:
        """Whether bad rows are left out."""
        if self.on_error not in ("stop", "skip"):
            raise ValueError(f"--on-error: is {self.on_error!r}; choose stop or skip")
        return self.on_error == "skip"

    def open(self, measuring: "Measuring", by_part: bool = False) -> "Ensemble":
        """Open the files; `by_part`: so that a partition can be read elsewhere."""
        from credalens.datasets.files import Reading, open_ensemble

        how = Reading(
            _split_columns(self.columns),
            self.label_column,
            self.id_column,
            self.header,
            self.format,
        )
        files, labels = self.files, self.labels
        if by_part:  # workers may have another working folder
            files = [name if name == "-" else os.path.abspath(name) for name in files]
            labels = labels and os.path.abspath(labels)
        return open_ensemble(
            files,
            how=how,
            labels=labels,
            class_names=_read_names(self.class_names),
            logits=self.logits,
            temperature=self.temperature,
            normalize=self.normalize,
            no_models=self._beside(measuring),
            by_part=by_part,
        )

    def _beside(self, measuring: "Measuring") -> list[Path]:
        """Return the files that are read besides the predictions."""
        named = filter(None, (self.labels, self.class_names))
        # Not Path.is_file, which raises an error where a list of names is too long for a file's.
        return [*measuring.files, *(Path(name) for name in named if os.path.isfile(name))]

    def piped(self, measuring: "Measuring") -> bool:
        """Tell whether something comes through a pipe, which can be read once only."""
        beside = [*measuring.files, *(() if self.labels is None else (Path(self.labels),))]
        return "-" in self.files or not all(path.is_file() for path in beside)

    def settings(self, measuring: "Measuring", summary: str) -> dict[str, Any]:
        """Return what scores depend on, besides the predictions: files by what they hold.

        Not whether bad rows are skipped: a partition without any is right either way.
        """
        options = ("logits", "temperature", "normalize", "columns", "label_column", "id_column",
                   "header", "format")  # fmt: skip
        return {
            "measures": [measuring.measures, measuring.distance, summary],
            "options": {name: str(getattr(self, name)) for name in options},
            "labels": None if self.labels is None else _digest(Path(self.labels)),
            "distance": [_digest(path) for path in measuring.files],
        }

    def keep(self, ensemble: "Ensemble", measuring: "Measuring", *outputs: Path | None) -> None:
        """Refuse outputs that would replace what the command reads."""
        from credalens.datasets.files.output import check_apart

        read = self._beside(measuring)
        for source in ensemble.sources:
            spans = source.spans(0, source.n_rows or 0)
            read += [Path(source.path), *(Path(name) for name, _, _ in spans)]
        check_apart(filter(None, outputs), read)


@dataclass(frozen=True)
class Measuring:
    """Which measures to compute."""

    measures: Annotated[
        str,
        typer.Option(
            help="Some of tv,entropy,hartley,mmi; tv stands for the chosen --distance. Also any of "
            "those that credalens axioms lists, say upper_entropy, as a column of that name."
        ),
    ] = "tv"
    distance: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(NAMES)}, a matrix of costs (cost.csv) or a kernel (kernel.npy); "
            "cost:FILE and kernel:FILE say which it is."
        ),
    ] = "tv"

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that the distance is read from."""
        if self.distance in NAMES:
            return ()
        return (Path(self.distance.removeprefix("cost:").removeprefix("kernel:")),)

    def scores(self, n_classes: int, summary: str = "interval") -> "ScoreColumns":
        """Return the columns to compute."""
        from credalens.distances import as_distance
        from credalens.evaluation.scores import ScoreColumns

        given = (name.strip() for name in self.measures.split(","))
        names = tuple(dict.fromkeys(name for name in given if name))
        if self.distance != "tv" and not {"tv", "mmi"}.intersection(names):
            raise ValueError("--distance: no measure goes by it; add tv or mmi to --measures")
        if summary != "interval" and "tv" not in names:
            raise ValueError("--summary: no measure has an interval; add tv to --measures")
        distance, family = _read_distance(self.distance)
        columns = ScoreColumns(names, distance, summary, family)
        as_distance(columns.distance, n_classes)  # refused before anything is read
        return columns


@dataclass(frozen=True)
class Manners:
    """How to work, and how much to say."""

    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads to compute with.", show_default="all cores")
    ] = None
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what is read.")] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, notes or warnings.")
    ] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False


#: What `pick` and `report` call ambiguous or unknown, alike.
SecondLook = Annotated[
    float,
    typer.Option(
        help="Level from which a prediction is ambiguous, or two models disagree: a share of the "
        "largest distance between two predictions."
    ),
]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Spread the parameters of `function` that are groups of options into single options."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in groups:
            parameters.append(
                parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY)
            )
            continue
        signature = inspect.signature(groups[name])
        parameters.extend(p.replace(kind=p.KEYWORD_ONLY) for p in signature.parameters.values())

    def run(**values: Any) -> None:
        for name, kind in groups.items():
            own = {field.name: values.pop(field.name) for field in fields(kind)}
            values[name] = kind(**own)
        function(**values)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _digest(path: Path) -> str | None:
    if not path.is_file():
        return None  # a pipe, which can be read once only
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def typed(options: Any) -> list[str]:
    """Return the options of a group that are not as by default, as they are typed."""
    return [
        f"--{field.name.replace('_', '-')}"
        for field in fields(options)
        if field.default is not MISSING and getattr(options, field.name) != field.default
    ]


def _split_columns(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names: list[str] = []
    for part in text.split(","):
        span = re.fullmatch(r"(\d+)-(\d+)", part.strip())
        if span:
            names.extend(str(i) for i in range(int(span[1]), int(span[2]) + 1))
        else:
            names.append(part.strip())
    return tuple(names)


def _read_names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    if "," not in text and os.path.isfile(text):
        lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
        return [line.strip() for line in lines if line.strip()]
    if "," not in text:
        raise ValueError(f"--class-names: {text} is no file; name one, or the classes as a,b,c")
    return [name.strip() for name in text.split(",")]


def _read_distance(text: str) -> tuple[Any, str]:
    """Return a distance, or its name, and what its columns are called."""
    from credalens.distances import MMD, Wasserstein

    if text in NAMES:
        return text, text
    kind, _, rest = text.partition(":")
    name = rest if kind in ("cost", "kernel") and rest else text
    path = Path(name)
    if path.suffix not in (".csv", ".npy"):
        raise ValueError(
            f"--distance: is {text!r}; choose {', '.join(NAMES)}, "
            "or a matrix in a .csv or .npy file"
        )
    if kind not in ("cost", "kernel"):
        kind = "cost" if path.suffix == ".csv" else "kernel"
    matrix = _read_matrix(path)
    return (Wasserstein(matrix), "wasserstein") if kind == "cost" else (MMD(matrix), "mmd")


def _read_matrix(path: Path) -> Any:
    import numpy as np

    from credalens.datasets.files.source import reading

    with reading(str(path)):
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        return np.loadtxt(path, delimiter=",", ndmin=2)
