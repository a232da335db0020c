"""``credalens report``: an HTML report on the uncertainty of the models."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import note, progress
from credalens.cli.options import CommonOptions, Inputs, MeasureOptions, ReviewThreshold, examples
from credalens.cli.predictions import OpenPredictions, open_predictions, write_skipped
from credalens.cli.reading import skipped_path
from credalens.distances import NAMES

if TYPE_CHECKING:
    from credalens.io import Chunk, Ensemble
    from credalens.report.data import Collector

EXAMPLES = examples(
    "credalens report model_*.npy --labels truth.csv -o report.html",
    "credalens report 'runs/*.npz' --class-names cat,dog,fox --title 'Pets, ten networks'",
    "credalens report model_*.npy --labels truth.csv --target-accuracy 0.98",
    "credalens report predictions.npy --distance ordinal --reject 0.05",
)


def command(
    inputs: Inputs,
    common: CommonOptions,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file: .html.")] = Path(
        "report.html"
    ),
    measures: Annotated[
        str | None,
        typer.Option(
            help="Families to compare, from tv,entropy,hartley; tv is that of --distance.",
            show_default="all, but hartley only if it takes less than half a minute",
        ),
    ] = None,
    distance: Annotated[
        str,
        typer.Option(help=f"{', '.join(NAMES)}, cost:FILE or kernel:FILE, as in score."),
    ] = "tv",
    review_threshold: ReviewThreshold = None,
    reject: Annotated[
        float | None,
        typer.Option(help="Share of the predictions to review, e.g. 0.1.", show_default=False),
    ] = None,
    target_accuracy: Annotated[
        float | None,
        typer.Option(
            help="Accuracy of the predictions that are kept, which needs labels.",
            show_default="the largest of 0.99, 0.95 and 0.9 that keeps half of them",
        ),
    ] = None,
    cost: Annotated[
        Path | None,
        typer.Option(
            help="CSV file of costs, as in credalens decide; adds the cost of each decision rule.",
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Heading of the page.", show_default=False)
    ] = None,
) -> None:
    """Write an HTML report: where the models are uncertain, why, and what to do about it.

    It contains warnings about models that distort the uncertainty, a summary in three sentences,
    the calibration of the models and of their credal set (with labels), a map of all predictions
    with a table to filter, sort and export, rejection curves and metrics of all scores and
    baselines (with labels), distributions, the twenty most uncertain predictions and the influence
    of each model. The page is one file and loads nothing from the network.

    With labels, the summary states which share of the predictions can be kept at a target accuracy
    with 95 % confidence; without, which ones to review first.

    Files are read once, in chunks. Memory use is about 150 bytes per row, 2 more per model, the
    identifiers, and up to 256 MB of predictions to diagnose the models. Counts are exact; what is
    drawn or listed may be a sample, which the page then states.
    """
    with common.context():
        start = time.perf_counter()
        from credalens._html import check_path
        from credalens.report import vega_bundle

        vega_bundle.require()
        check_path(output)
        side = skipped_path(output)
        measure_options = MeasureOptions(distance=distance)
        read = [] if cost is None else [cost]
        predictions = open_predictions(inputs, measure_options, common, output, side, read=read)
        families = None if measures is None else [name.strip() for name in measures.split(",")]
        if target_accuracy is not None and not predictions.ensemble.has_labels:
            raise ValueError("--target-accuracy: needs labels, and no file has any; pass --labels")
        collector = make_collector(
            predictions,
            families,
            title=title or "",
            review_threshold=review_threshold,
            review_share=reject,
            target_accuracy=target_accuracy,
            **_costs(cost, predictions.ensemble),
        )
        for chunk in predictions.chunks("measuring"):
            collector.add_chunk(labelled_rows(chunk))
        note_unlabelled(predictions)
        write_report(output, collector, start, common.quiet)
        write_skipped(predictions.skipped, side)


def _costs(path: Path | None, ensemble: "Ensemble") -> dict[str, Any]:
    """Return the costs and the actions in a file, as options of `ReportConfig`."""
    if path is None:
        return {}
    from credalens.io.cost_file import read_cost

    cost, actions = read_cost(path, ensemble.class_names, ensemble.n_classes)
    return {"cost": cost, "actions": actions}


def make_collector(
    predictions: OpenPredictions, measures: list[str] | None = None, **options: Any
) -> "Collector":
    """Return a collector for the chunks of prediction files; `options` are of `ReportConfig`."""
    from credalens.report.data import Collector, ReportConfig, choose_measures

    ensemble, distance = predictions.ensemble, predictions.columns.distance
    M, K, names = len(ensemble.names), ensemble.n_classes, ensemble.class_names
    families = choose_measures(measures, (ensemble.expected_rows, M, K))
    return Collector(ReportConfig(M, K, ensemble.names, names, distance, families, **options))


def labelled_rows(chunk: "Chunk") -> "Chunk":
    """Return a chunk without the rows that have no label, if others have one."""
    if chunk.labels is None or chunk.labelled.all():
        return chunk
    return chunk.take(chunk.labelled)


def note_unlabelled(predictions: OpenPredictions) -> None:
    """Report the number of rows without a label, which are left out of the report."""
    from credalens._validation import counted

    found = predictions.findings
    count = found.unlabelled + found.ignored
    if count:
        text = f"the report leaves out {counted(count, 'row')} without a label"
        note(f"credalens: {text}", predictions.common.quiet)


def write_report(output: Path, collector: "Collector", start: float, quiet: bool) -> None:
    """Write the report of the collected chunks; `start` is the time at which reading started."""
    from credalens.report.output import write_page

    with progress("writing the page", quiet, rows=True) as update:
        update(collector.n, None)
        write_page(output, collector, start)
    note(f"wrote {output}; open it in a browser", quiet)
