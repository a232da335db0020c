"""Groups of options that several commands share."""

import hashlib
import inspect
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from credalens.cli.command_context import command_context
from credalens.cli.reading import ReadingOptions
from credalens.distances import NAMES

if TYPE_CHECKING:
    from credalens.evaluation.scores import ScoreColumns
    from credalens.io import Ensemble


@dataclass(frozen=True, kw_only=True)
class Inputs(ReadingOptions):
    """Options that select and describe the prediction files."""

    files: Annotated[
        list[str],
        typer.Argument(
            help="One file of shape (rows, models, classes), or one file of shape (rows, classes) "
            "per model: .npy, .npz, .csv, .tsv, .jsonl, .parquet, .feather, .zarr, .h5, "
            ".safetensors, .pt; text and .npy also as .gz, .zst, .bz2, .xz or .zip; folders and "
            "quoted patterns are expanded; - reads standard input. A folder NAME.parquet, or a "
            "folder of files part-0.parquet, ..., is one dataset whose files are concatenated.",
            show_default=False,
        ),
    ]
    chunk_rows: Annotated[
        int | None,
        typer.Option(min=1, help="Rows to hold in memory at once.", show_default="about 32 MB"),
    ] = None

    def open(self, other_files: Sequence[Path], by_part: bool = False) -> "Ensemble":
        """Open the files; with `by_part`, so that other processes can read partitions.

        A folder does not select `other_files`, which the command reads for something else.
        """
        return self.open_files(self.files, other_files, by_part)

    def has_stream(self, measure_options: "MeasureOptions") -> bool:
        """Return whether an input is a pipe, which can be read only once."""
        others = [*measure_options.files, *(() if self.labels is None else (Path(self.labels),))]
        return "-" in self.files or not all(path.is_file() for path in others)

    def settings(self, measure_options: "MeasureOptions") -> dict[str, Any]:
        """Return what the scores depend on besides the predictions; files by their digest.

        Whether invalid rows are skipped is not included: it does not change a partition without
        invalid rows.
        """
        return {
            "measures": [measure_options.measures, measure_options.distance],
            "options": self.dependencies,
            "labels": None if self.labels is None else file_digest(Path(self.labels)),
            "distance": [file_digest(path) for path in measure_options.files],
        }

    def check_outputs(
        self, ensemble: "Ensemble", other_files: Sequence[Path], *outputs: Path | None
    ) -> None:
        """Raise ValueError if an output would overwrite an input.

        A list of skipped rows must not overwrite another file either.
        """
        from credalens.cli.reading import skipped_path
        from credalens.io.formats import DROPPED_COLUMNS
        from credalens.io.output import check_not_inputs, check_own_table

        read = [*other_files, *self.other_files]
        for source in ensemble.sources:
            spans = source.row_ranges(0, source.n_rows or 0)
            read += [Path(source.path), *(Path(name) for name, _, _ in spans)]
        check_not_inputs(filter(None, outputs), read)
        named = [Path(os.path.abspath(path)) for path in outputs if path is not None]
        sides = {skipped_path(path) for path in [*named, Path(os.path.abspath("credalens"))]}
        for path in sides.intersection(named) if self.skip else ():
            check_own_table(path, DROPPED_COLUMNS)


@dataclass(frozen=True, kw_only=True)
class EnsembleInputs(Inputs):
    """Options of commands whose models may have weights and lack rows."""

    weights: Annotated[
        str | None,
        typer.Option(
            help="Weights of the models, in votes and in measures of the models as a sample: "
            "w1,w2,... in their order, or a file with one number per model, or with lines "
            "NAME,WEIGHT. The credal set does not depend on them.",
            show_default="equal",
        ),
    ] = None
    missing: Annotated[
        str,
        typer.Option(
            help="stop if a model lacks a row, or allow it: rows are matched by their ids, and "
            "rows of NaN are missing. The column n_members is the number of models with the row."
        ),
    ] = "stop"

    @property
    def allows_missing(self) -> bool:
        """Whether models may lack rows."""
        if self.missing not in ("stop", "allow"):
            raise ValueError(f"--missing: is {self.missing!r}; choose stop or allow")
        return self.missing == "allow"

    @property
    def ensemble_options(self) -> dict[str, Any]:
        """Further arguments of `open_ensemble`."""
        return {"weights": self.weights, "missing": self.allows_missing}

    @property
    def other_files(self) -> list[Path]:
        """The files that are read besides the predictions."""
        own = [] if self.weights is None or not os.path.isfile(self.weights) else [self.weights]
        return [*super().other_files, *map(Path, own)]

    @property
    def dependencies(self) -> dict[str, str]:
        """The options on which scores depend."""
        return {**super().dependencies, "missing": self.missing}

    def refuse_for_report(self) -> None:
        """Raise ValueError if a report is requested, which needs equal weights and all rows."""
        for option, given in (("--missing", self.allows_missing), ("--weights", self.weights)):
            if given:
                raise ValueError(
                    f"{option}: the report does not support it; leave it out, or leave out --report"
                )


@dataclass(frozen=True)
class MeasureOptions:
    """Options that select the measures."""

    measures: Annotated[
        str,
        typer.Option(
            help="Comma-separated families: tv (of the selected --distance), entropy, hartley, "
            "information, variance, zero_one, spherical, second_order_distance, confidence, "
            "scoring:log, scoring:brier, scoring:spherical, scoring:zero_one, labelwise:entropy, "
            "labelwise:variance, labelwise:credal (summed over the classes); or single measures: "
            "mmi, and any that credalens axioms lists, e.g. upper_entropy."
        ),
    ] = "tv"
    distance: Annotated[
        str,
        typer.Option(
            help=f"{', '.join(NAMES)}, a cost matrix (cost.csv) or a kernel matrix (kernel.npy); "
            "cost:FILE and kernel:FILE state which one it is."
        ),
    ] = "tv"

    @property
    def names(self) -> tuple[str, ...]:
        """The selected measures, each once."""
        return tuple(dict.fromkeys(filter(None, map(str.strip, self.measures.split(",")))))

    @property
    def files(self) -> tuple[Path, ...]:
        """The file of the distance, if it is read from one."""
        if self.distance in NAMES:
            return ()
        return (Path(self.distance.removeprefix("cost:").removeprefix("kernel:")),)

    def scores(self, n_classes: int, summary: str = "interval") -> "ScoreColumns":
        """Return the columns to compute."""
        from credalens.distances import as_distance
        from credalens.evaluation.scores import ScoreColumns, has_interval

        names = self.names
        if self.distance != "tv" and not {"tv", "mmi"}.intersection(names):
            raise ValueError("--distance: no measure uses it; add tv or mmi to --measures")
        if summary != "interval" and not any(map(has_interval, names)):
            raise ValueError("--summary: no measure has an interval; add tv to --measures")
        distance, family = _read_distance(self.distance)
        columns = ScoreColumns(names, distance, summary, family)
        as_distance(columns.distance, n_classes)  # fail before any row is read
        return columns


@dataclass(frozen=True)
class CommonOptions:
    """Options of every command that reads prediction files."""

    threads: Annotated[
        int | None, typer.Option(min=1, help="Number of threads.", show_default="all cores")
    ] = None
    max_memory: Annotated[
        str | None,
        typer.Option(
            help="Largest memory that the sizes stated in a file may need at once, e.g. 8G: an "
            "array or a row that needs more is refused before it is read. Also: "
            "CREDALENS_MAX_MEMORY.",
            show_default="2G",
        ),
    ] = None
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv/--no-safe-csv",
            help="Write text in CSV that begins with = + - @ after an apostrophe, so that "
            "spreadsheets do not run it as a formula; numbers are written as they are.",
        ),
    ] = True
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Describe the inputs.")] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress, notes or warnings.")
    ] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False

    def context(self) -> AbstractContextManager[None]:
        """Return the context in which the command runs."""
        return command_context(
            debug=self.debug,
            quiet=self.quiet,
            threads=self.threads,
            max_memory=self.max_memory,
            safe_csv=self.safe_csv,
        )


#: The option of `pick` and `report`.
ReviewThreshold = Annotated[
    float | None,
    typer.Option(
        help="Total uncertainty above which a prediction is reviewed; half of it is the threshold "
        "of the reasons.",
        show_default="chosen from the data",
    ),
]


def examples(*commands: str) -> str:
    """Return the examples that the help of a command ends with, one paragraph each."""
    return "\n\n".join(["Examples:", *commands, ""])


def folder_option(text: str) -> Any:
    """Return the option ``--output`` of a command that writes several files to a folder."""
    return typer.Option("--output", "-o", "--out", help=text, file_okay=False)


def expand_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameters of `function` that are option groups by their single options."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters.extend(inspect.signature(groups[name]).parameters.values())
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    def run(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        function(**values)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    return run


def changed_options(options: Any) -> list[str]:
    """Return the options of a group that differ from their default, as typed on a terminal."""
    return [
        f"--{field.name.replace('_', '-')}"
        for field in fields(options)
        if field.default is not MISSING and getattr(options, field.name) != field.default
    ]


def file_digest(path: Path) -> str | None:
    """Return the SHA-256 digest of a file, None for a pipe or a folder."""
    if not path.is_file():
        return None  # a pipe, which can be read only once
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_distance(text: str) -> tuple[Any, str]:
    """Return a distance, or its name, and the prefix of its columns."""
    import numpy as np

    from credalens.distances import MMD, Wasserstein
    from credalens.io.source import read_errors

    if text in NAMES:
        return text, text
    kind, _, rest = text.partition(":")
    path = Path(rest if kind in ("cost", "kernel") and rest else text)
    if path.suffix not in (".csv", ".npy"):
        raise ValueError(
            f"--distance: is {text!r}; choose {', '.join(NAMES)}, "
            "or a matrix in a .csv or .npy file"
        )
    if kind not in ("cost", "kernel"):
        kind = "cost" if path.suffix == ".csv" else "kernel"
    with read_errors(str(path)):
        matrix = (
            np.load(path, allow_pickle=False)
            if path.suffix == ".npy"
            else np.loadtxt(path, delimiter=",", ndmin=2)
        )
    return (Wasserstein(matrix), "wasserstein") if kind == "cost" else (MMD(matrix), "mmd")
