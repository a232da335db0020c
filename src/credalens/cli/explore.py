"""``credalens explore``: a page on which predictions are moved and measured."""

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import note
from credalens.cli.options import CommonOptions, Inputs, MeasureOptions, examples
from credalens.cli.predictions import OpenPredictions, open_predictions, write_skipped
from credalens.cli.reading import skipped_path

if TYPE_CHECKING:
    from credalens.explore.page import Row
    from credalens.io import Chunk

EXAMPLES = examples(
    "credalens explore",
    "credalens explore model_*.npy --top 50",
    "credalens explore model_*.csv --row a17,a23 -o two_images.html",
    "credalens explore runs --labels truth.csv --open",
)


@dataclass(frozen=True, kw_only=True)
class OptionalInputs(Inputs):
    """Options of a command that works without prediction files too."""

    files: Annotated[
        list[str],
        typer.Argument(
            help="Prediction files, as in score. Without files, the page has examples only.",
            show_default=False,
            default_factory=list,
        ),
    ]


def command(
    inputs: OptionalInputs,
    common: CommonOptions,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file: .html.")] = Path(
        "explorer.html"
    ),
    row: Annotated[
        list[str] | None,
        typer.Option(
            help="Row of the page: an id or, without ids, a row number from 0; several are "
            "separated by commas.",
            show_default="those of largest total uncertainty",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of rows of largest total uncertainty on the page.",
            show_default="20",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Heading of the page.", show_default=False)
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser.")
    ] = False,
) -> None:
    """Write a page on which predictions are moved, and their uncertainty is measured at once.

    The page shows one row at a time: each model is a point in the triangle of three classes, or a
    tick on the bars of any number of classes. Points can be dragged, added and removed. Total,
    aleatoric and epistemic uncertainty under total variation, the entropies, the generalized
    Hartley measure (up to 14 classes), mutual information and the decisions follow, and the page
    shows where each of them comes from. It is one file and loads nothing from the network.

    With files, the rows of largest total uncertainty can be selected on the page, or those of
    --row.
    """
    with common.context():
        from credalens._html import check_path
        from credalens.explore.output import write_rows

        check_path(output, "explorer.html")
        if row and top is not None:
            raise ValueError("--row: pass either --row or --top")
        names = class_names = None
        rows: list[Row] = []
        if inputs.files:
            side = skipped_path(output)
            predictions = open_predictions(inputs, MeasureOptions(), common, output, side)
            ensemble = predictions.ensemble
            names, class_names = ensemble.names, ensemble.class_names
            rows = _selected(predictions, row, top)
            write_skipped(predictions.skipped, side)
        elif row or top is not None:
            raise ValueError(f"{'--row' if row else '--top'}: needs prediction files")
        write_rows(output, rows, class_names, names, title or "")
        text = "" if not rows else f" with {len(rows)} row{'s' if len(rows) > 1 else ''}"
        note(f"wrote {output}{text}; open it in a browser", common.quiet)
        if open_browser:
            webbrowser.open(output.resolve().as_uri())


def _selected(predictions: OpenPredictions, row: list[str] | None, top: int | None) -> "list[Row]":
    """Return the rows of the page, in the order in which they were requested."""
    from credalens.explore.output import MAX_NUMBERS, check_classes, rows_that_fit

    ensemble = predictions.ensemble
    check_classes(ensemble.n_classes)
    size = len(ensemble.names), ensemble.n_classes
    fit = rows_that_fit(*size)
    count = 0 if row else top or min(20, max(fit, 1))
    found = _named_rows(predictions, row) if row else _top_rows(predictions, min(count, fit + 1))
    if len(found) > fit:
        raise ValueError(
            f"{'--row' if row else '--top'}: {len(found) if row else count} rows of {size[0]} "
            f"models and {size[1]} classes are more than {MAX_NUMBERS} probabilities; a page has "
            f"at most {fit} such rows"
        )
    if not found:
        raise ValueError("rows: no valid row is left; correct the files")
    return found


def _named_rows(predictions: OpenPredictions, requested: list[str]) -> "list[Row]":
    import numpy as np

    parts = {text: [part.strip() for part in text.split(",")] for text in requested}
    wanted = {*requested, *(part for several in parts.values() for part in several)}
    found: dict[str, Row] = {}
    by_id = True
    for chunk in predictions.chunks("reading"):
        by_id = chunk.ids is not None
        idents = np.asarray(chunk.ids if by_id else chunk.rows).astype(str)
        for i in np.flatnonzero(np.isin(idents, list(wanted))).tolist():
            found.setdefault(str(idents[i]), _page_row(predictions, chunk, i))
    # An id may contain a comma.
    keys = [key for text in requested for key in ([text] if text in found else parts[text])]
    missing = [key for key in keys if key not in found]
    if missing:
        kind = "an id in the files" if by_id else "a valid row; rows are numbered from 0"
        raise ValueError(f"--row: {missing[0]!r} is not {kind}")
    return [found[key] for key in dict.fromkeys(keys)]


def _top_rows(predictions: OpenPredictions, count: int) -> "list[Row]":
    """Return the rows of largest total uncertainty, that of equal ones which comes first."""
    from heapq import nlargest

    from credalens.evaluation import rejection_order
    from credalens.measures import total_uncertainty

    kept: list[tuple[float, int, Row]] = []
    for chunk in predictions.chunks("measuring"):
        score = total_uncertainty(chunk.hull())
        best = [
            (float(score[i]), -int(chunk.rows[i]), _page_row(predictions, chunk, i))
            for i in rejection_order(score)[:count].tolist()
        ]
        kept = nlargest(count, [*kept, *best], key=lambda entry: entry[:2])
    return [row for _, _, row in kept]


def _page_row(predictions: OpenPredictions, chunk: "Chunk", i: int) -> "Row":
    from credalens.explore.page import Row

    names: Any = predictions.ensemble.class_names
    text = f"row {chunk.rows[i]}" if chunk.ids is None else str(chunk.ids[i])
    label = None
    if chunk.labels is not None and chunk.labels[i] >= 0:
        label = str(chunk.labels[i]) if names is None else names[chunk.labels[i]]
    return Row(text, chunk.members[i].copy(), label)
