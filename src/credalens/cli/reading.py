"""Options that describe how prediction files are read."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from credalens.io import Ensemble, Predictions, ReadOptions

#: The options on which scores depend, apart from the files.
DEPENDS = (
    "logits", "force_logits", "temperature", "normalize", "percent", "columns", "label_column",
    "id_column", "key", "label_key", "axes", "header", "class_names", "ignore_label", "format",
    "choices", "aggregate",
)  # fmt: skip


def skipped_path(output: Path | None) -> Path:
    """Return the file that lists the rows skipped in `output`."""
    if output is None:
        return Path("credalens.skipped.csv")
    return output.with_name(f"{output.stem}.skipped.csv")


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options that several commands share: what the prediction files contain."""

    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            "--targets",
            help="File of true classes: one label per row, or one number per class (one-hot rows, "
            "distributions, counts), in any format of predictions or as text. If it has ids, "
            "labels are matched by them, and rows may lack one.",
        ),
    ] = None
    ignore_label: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave rows with this label, e.g. 255, out of evaluations; several are separated "
            "by commas."
        ),
    ] = None
    logits: Annotated[
        bool,
        typer.Option("--logits", help="The files contain logits; distributions are refused."),
    ] = False
    force_logits: Annotated[
        bool,
        typer.Option("--force-logits", help="Like --logits, even if rows are distributions."),
    ] = False
    temperature: Annotated[float, typer.Option(help="Divide the logits by this number.")] = 1.0
    normalize: Annotated[bool, typer.Option("--normalize", help="Divide every row by its sum.")] = (
        False
    )
    percent: Annotated[bool, typer.Option("--percent", help="The files contain percentages.")] = (
        False
    )
    columns: Annotated[
        str | None,
        typer.Option(
            help="Class columns of tables: names or zero-based positions, e.g. a,b,c or 2,3,4 or "
            "2-11. By default the columns whose rows sum to 1."
        ),
    ] = None
    label_column: Annotated[
        str | None,
        typer.Option(
            help="Column of labels, in the --labels file if one is passed; none for no labels. By "
            "default a column with a usual name: label, target, y_true, class, ..."
        ),
    ] = None
    id_column: Annotated[
        str | None,
        typer.Option(
            help="Column of identifiers, by which rows of several files are matched; none to match "
            "them by position. By default a column with a usual name: id, image_id, filename, ..."
        ),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            help="Array of predictions in .npz, .h5, .safetensors and .pt files, or column of "
            "lists. By default one with a usual name: probs, predictions, softmax, logits, ..."
        ),
    ] = None
    label_key: Annotated[
        str | None,
        typer.Option(
            help="Array of labels in such files. By default labels, y, y_true, targets, ..."
        ),
    ] = None
    axes: Annotated[
        str | None,
        typer.Option(
            help="Axes of arrays in their order, e.g. models,rows,classes or classes,rows.",
            show_default="rows,models,classes or rows,classes",
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether text files have a header. By default detected: a first line of text, or "
            "0,1,... or 1,2,... above other numbers, is a header.",
        ),
    ] = None
    class_names: Annotated[
        str | None,
        typer.Option(
            help="Class names in order: a,b,c or 1-10 or a file with one name per line. Columns "
            "with these names are matched by name, others by position."
        ),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            help="Format of standard input: csv, tsv, jsonl, npy or logprobs. With logprobs, files "
            "are JSON lines with responses of language models: log-probabilities of the choices of "
            "questions, or lists of tokens (score only)."
        ),
    ] = None
    choices: Annotated[
        str | None,
        typer.Option(
            help="Choices of questions, e.g. A,B,C,D, in responses with lists of tokens: the first "
            "token of the answer is the choice."
        ),
    ] = None
    aggregate: Annotated[
        str | None,
        typer.Option(
            help="How log-probabilities of tokens become that of a choice: sum, or divided by its "
            "length: mean (per token), characters or bytes. How scores of tokens become that of an "
            "answer: mean, max or sum.",
            show_default="sum of a choice, mean of an answer",
        ),
    ] = None
    on_error: Annotated[
        str,
        typer.Option(help="stop at an invalid row, or skip it and list it in a .skipped.csv file."),
    ] = "stop"

    @property
    def skip(self) -> bool:
        """Whether invalid rows are skipped."""
        if self.on_error not in ("stop", "skip"):
            raise ValueError(f"--on-error: is {self.on_error!r}; choose stop or skip")
        return self.on_error == "skip"

    @property
    def ignored(self) -> tuple[str, ...]:
        """Labels to ignore."""
        parts = (part.strip() for text in self.ignore_label or () for part in text.split(","))
        return tuple(part for part in parts if part)

    def open_files(
        self, files: Sequence[str], exclude: Sequence[Path] = (), by_part: bool = False
    ) -> "Ensemble":
        """Open prediction files; with `by_part`, so that other processes can read partitions."""
        from credalens.io import open_ensemble

        labels = self.labels
        if by_part:  # the working directory of workers may differ
            files = [name if name == "-" else os.path.abspath(name) for name in files]
            labels = labels and os.path.abspath(labels)
        return open_ensemble(
            files,
            options=self.read_options,
            labels=labels,
            class_names=read_names(self.class_names),
            logits=self.logits,
            force_logits=self.force_logits,
            temperature=self.temperature,
            normalize=self.normalize,
            percent=self.percent,
            ignore_labels=self.ignored,
            exclude=[*exclude, *self.other_files],
            labels_on_disk=by_part,
            **self.ensemble_options,
        )

    @property
    def read_options(self) -> "ReadOptions":
        """How single files are read."""
        from credalens.io import ReadOptions

        return ReadOptions(
            split_columns(self.columns),
            self.label_column,
            self.id_column,
            self.header,
            self.format,
            self.key,
            self.label_key,
            split_axes(self.axes),
            choices=_split_choices(self.choices),
            aggregate=self.aggregate,
            skip=self.skip,
        )

    @property
    def ensemble_options(self) -> dict[str, Any]:
        """Further arguments of `open_ensemble`."""
        return {}

    @property
    def other_files(self) -> list[Path]:
        """The files that are read besides the predictions."""
        named = filter(None, (self.labels, self.class_names))
        # Unlike Path.is_file, os.path.isfile accepts a list of names longer than a path may be.
        return [Path(name) for name in named if os.path.isfile(name)]

    @property
    def dependencies(self) -> dict[str, str]:
        """The options on which scores depend."""
        return {name: str(getattr(self, name)) for name in DEPENDS}


def split_axes(text: str | None) -> tuple[str, ...] | None:
    """Return the names of axes of the option ``--axes``."""
    return None if text is None else tuple(part.strip().lower() for part in text.split(","))


def _split_choices(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(part.strip() for part in text.split(","))
    if len(names) < 2 or len(set(names)) < len(names) or "" in names:
        raise ValueError(f"--choices: is {text!r}; pass at least two different ones, e.g. A,B,C,D")
    return names


def _numbers(part: str) -> list[str] | None:
    """Return the numbers of a range such as 2-11."""
    span = re.fullmatch(r"(\d+)-(\d+)", part)
    return [str(i) for i in range(int(span[1]), int(span[2]) + 1)] if span else None


def split_columns(text: str | None) -> tuple[str, ...] | None:
    """Return the columns of the option ``--columns``."""
    if text is None:
        return None
    names: list[str] = []
    for part in map(str.strip, text.split(",")):
        names += _numbers(part) or [part]
    return tuple(names)


def read_names(text: str | None) -> list[str] | None:
    """Return the names of the option ``--class-names``: a list, a range or those in a file."""
    if text is None:
        return None
    if "," in text:
        return [name.strip() for name in text.split(",")]
    if not os.path.isfile(text):
        numbers = _numbers(text)
        if numbers:
            return numbers
        raise ValueError(f"--class-names: {text} is not a file; pass a file, or the names as a,b,c")
    lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
    return [line.strip() for line in lines if line.strip()]


def without_unlabelled(predictions: "Predictions") -> tuple["Predictions", int]:
    """Return predictions without the rows that have no label, and the number of these."""
    if predictions.labels is None:
        return predictions, 0
    labelled = predictions.labels >= 0
    kept = replace(
        predictions, members=predictions.members[labelled], labels=predictions.labels[labelled]
    )
    return kept, int((~labelled).sum())
