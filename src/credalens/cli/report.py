"""``credalens report``: one HTML page on what the models know and what they do not."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.conduct import conduct, note, progress
from credalens.cli.inputs import Inputs, Manners, Measuring, SecondLook, command
from credalens.cli.score import describe, skipped_path, write_dropped
from credalens.distances import NAMES
from credalens.evaluation.kinds import SECOND_LOOK

if TYPE_CHECKING:
    from credalens.datasets.files import Ensemble
    from credalens.report.data import Collector

EXAMPLES = """\
Examples:

credalens report model_*.npy --labels truth.csv -o report.html

credalens report 'runs/*.npz' --class-names cat,dog,fox --title 'Pets, ten networks'

credalens report predictions.npy --distance ordinal --second-look 0.3
"""


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog=EXAMPLES, short_help="Write one HTML page: what the models know, what not.")(
        command(report)
    )


def report(
    inputs: Inputs,
    manners: Manners,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write: .html.")] = Path(
        "report.html"
    ),
    measures: Annotated[
        str | None,
        typer.Option(
            help="Families to compare, some of tv,entropy,hartley; tv stands for --distance.",
            show_default="all, but hartley only if it takes less than half a minute",
        ),
    ] = None,
    distance: Annotated[
        str,
        typer.Option(help=f"{', '.join(NAMES)}, cost:FILE or kernel:FILE, as in score."),
    ] = "tv",
    second_look: SecondLook = SECOND_LOOK,
    title: Annotated[
        str | None, typer.Option(help="Heading of the page.", show_default=False)
    ] = None,
) -> None:
    """Write one HTML page to look at: what the models know, what they do not, and what to do.

    It holds the story in three sentences, a map of all predictions with a table to filter, sort and
    export, rejection curves (with labels), distributions, the twenty most uncertain predictions and
    what each model does to the uncertainty. It opens from disk and asks nothing of the network.

    Files are read once, in chunks. Memory holds about 150 bytes per row, 2 more per model, its
    identifier, and up to 256 MB of predictions to judge the models by. What is counted is exact;
    what is drawn or listed may be a sample, and then the page says so.
    """  # fmt: skip
    with conduct(debug=manners.debug, quiet=manners.quiet, threads=manners.threads):
        start = time.perf_counter()
        from credalens.report import library
        from credalens.report.writing import check_path

        library.require()
        check_path(output)
        measuring, side = Measuring(distance=distance), skipped_path(output)
        ensemble = inputs.open(measuring)
        columns = measuring.scores(ensemble.n_classes)
        inputs.keep(ensemble, measuring, output, side)
        chosen = None if measures is None else [name.strip() for name in measures.split(",")]
        collector = begin(ensemble, columns.distance, chosen, second_look, title)
        describe(ensemble, manners)
        dropped: list[Any] = []
        with progress("measuring", manners.quiet) as show:
            for chunk in ensemble.chunks(inputs.chunk_rows, 0, inputs.skip):
                skipped = len(chunk.dropped)
                collector.add(chunk.members, chunk.labels, chunk.ids, chunk.rows, skipped=skipped)
                dropped.extend(chunk.dropped)
                show(chunk.stop, ensemble.expected_rows)
        finish(output, collector, start, manners)
        write_dropped(dropped, side)


def begin(
    ensemble: "Ensemble",
    distance: Any,
    measures: list[str] | None = None,
    second_look: float = SECOND_LOOK,
    title: str | None = None,
) -> "Collector":
    """Return what collects the chunks of an ensemble for its report."""
    from credalens.report.data import Collector, Subject, choose_measures

    M, K = len(ensemble.names), ensemble.n_classes
    families = choose_measures(measures, (ensemble.expected_rows, M, K))
    names = ensemble.class_names
    return Collector(
        Subject(M, K, ensemble.names, names, distance, families, second_look, title or "")
    )


def finish(output: Path, collector: "Collector", start: float, manners: Manners) -> None:
    """Write the page of what was collected since `start`, and say so."""
    from credalens.report.writing import write_page

    with progress("writing the page", manners.quiet) as show:
        show(collector.n, None)
        write_page(output, collector, start)
    note(f"wrote {output}; open it in a browser", manners.quiet)
