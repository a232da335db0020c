"""``credalens score``: uncertainty of every row of prediction files."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.conduct import conduct, note, progress
from credalens.cli.engine import Engine, score_partitions
from credalens.cli.inputs import Inputs, Manners, Measuring, command

if TYPE_CHECKING:
    from credalens.datasets.files import Chunk, Ensemble
    from credalens.datasets.files.output import Parts

EXAMPLES = """\
Examples:

credalens score model_1.npy model_2.csv -o scores.parquet

credalens score 'runs/*.npz' --measures tv,entropy,mmi -o scores.csv

credalens score big.npy -o scores.parquet --resume

credalens score runs --labels truth.csv -o scores.csv --report report.html

credalens score predictions.parquet/ --engine dask --workers 8 -o scores

zcat probs.csv.gz | credalens score - --format csv > scores.csv
"""


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(
        epilog=EXAMPLES, short_help="Measure the uncertainty of every row of prediction files."
    )(command(score))


def score(
    inputs: Inputs,
    measuring: Measuring,
    manners: Manners,
    engine: Engine,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write: .csv, .parquet, .npz or .jsonl; a folder with --engine dask.",
            show_default="a table on a terminal, CSV in a pipe",
        ),
    ] = None,
    summary: Annotated[
        str,
        typer.Option(
            help="Aleatoric columns: lower, upper, midpoint, width, or interval (both ends)."
        ),
    ] = "interval",
    to: Annotated[
        str | None, typer.Option(help="Format for a pipe: csv or jsonl.", show_default="csv")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="Rows of the table on a terminal.", show_default="20"),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after what an interrupted run has finished.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Also write this HTML page, see credalens report; it has all measures.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Measure the uncertainty of every row: total, aleatoric and epistemic.

    The columns are: row (with --on-error skip or --engine dask), id (if the files have one),
    prediction (the majority of the models), for every measure its total, aleatoric and epistemic
    uncertainty (tv_total, tv_aleatoric_lower, tv_aleatoric_upper, tv_epistemic; entropy_total, ...;
    hartley_total, ...), mmi, and, with labels, label and correct. Distances other than tv give
    their own name to their columns.

    Files are read in chunks, so that they may be larger than memory. The output appears when it is
    whole. Rows are counted from zero.
    """  # fmt: skip
    from credalens.datasets.files.output import check_output

    with conduct(debug=manners.debug, quiet=manners.quiet, threads=manners.threads):
        if to not in (None, "csv", "jsonl"):
            raise ValueError(f"--to: is {to!r}; choose csv or jsonl")
        for option, value in (("--to", to), ("--top", top)):
            if output is not None and value is not None:
                raise ValueError(f"{option}: is for standard output; leave it out, or -o")
        if report is not None:
            _check_report(report, resume or engine.is_dask)
        if engine.is_dask:
            score_partitions(engine, inputs, measuring, manners, output, summary)
            return
        if output is not None:
            check_output(output)
        ensemble = inputs.open(measuring)
        scores = measuring.scores(ensemble.n_classes, summary)
        inputs.keep(ensemble, measuring, output, skipped_path(output), report)
        describe(ensemble, manners)
        task = _Task(ensemble, scores, inputs, measuring, manners)
        if report is not None:
            task.also_report()
        if output is not None:
            task.to_file(output, resume)
        elif resume:
            raise ValueError("--resume: needs a file to go on with; name it by -o")
        elif sys.stdout.isatty():
            task.to_terminal(top or 20)
        else:
            task.to_pipe(to or "csv")
        if report is not None:
            task.write_report(report)


def _check_report(path: Path, partly: bool) -> None:
    """Refuse, before any work is done, a report that could not be written."""
    from credalens.report import library
    from credalens.report.writing import check_path

    if partly:
        raise ValueError("--report: needs all rows in one run; leave out --resume and --engine "
                         "dask, or run credalens report on the files")  # fmt: skip
    library.require()
    check_path(path)


def describe(ensemble: "Ensemble", manners: Manners) -> None:
    """Say what was opened, if that is wanted, and what is surely not meant."""
    from credalens._validation import counted

    if manners.verbose:
        rows = ensemble.n_rows
        named = ", ".join(ensemble.class_names or ()) or "without names"
        files, models = (
            counted(len(ensemble.sources), "file"),
            counted(len(ensemble.names), "model"),
        )
        note(f"{files}, {models}: {', '.join(ensemble.names)}")
        note(f"{'unknown number of rows' if rows is None else counted(rows, 'row')}, "
             f"{ensemble.n_classes} classes ({named}), "
             f"labels: {'yes' if ensemble.has_labels else 'no'}")  # fmt: skip
    for source in ensemble.sources:
        if source.n_rows is not None and source.n_rows < source.n_members:
            note(f"credalens: warning: {source.path} has {counted(source.n_rows, 'row')} of "
                 f"{source.n_members} models; if it is (models, rows, classes), swap the first two "
                 "axes", manners.quiet)  # fmt: skip
    if len(ensemble.names) == 1:
        note("credalens: warning: one model only, so that epistemic uncertainty is 0; name the "
             "files of all models", manners.quiet)  # fmt: skip


class _Task:
    """Scores on their way from chunks to a file, a pipe or a terminal."""

    def __init__(
        self,
        ensemble: "Ensemble",
        scores: Any,
        inputs: Inputs,
        measuring: Measuring,
        manners: Manners,
    ) -> None:
        self.ensemble, self.scores = ensemble, scores
        self.inputs, self.measuring, self.manners = inputs, measuring, manners
        self._report: Any = None
        self._start = time.perf_counter()

    def also_report(self) -> None:
        """Collect what a report needs while the rows go by."""
        from credalens.cli.report import begin

        self._report = begin(self.ensemble, self.scores.distance)

    def write_report(self, path: Path) -> None:
        """Write the report of the rows that went by."""
        from credalens.cli.report import finish

        finish(path, self._report, self._start, self.manners)

    def _chunks(self, start: int = 0, numbered: bool = False) -> Iterator[tuple["Chunk", Any]]:
        from credalens.datasets.files.output import as_batch
        from credalens.datasets.files.scoring import scored_chunks

        inputs = self.inputs
        with progress("scoring", self.manners.quiet) as show:
            show(start, self.ensemble.expected_rows)
            for chunk, columns, measured in scored_chunks(
                self.ensemble, self.scores, inputs.chunk_rows, start, inputs.skip,
                numbered=numbered or inputs.skip,
            ):  # fmt: skip
                if self._report is not None:
                    self._report.add(
                        chunk.members, chunk.labels, chunk.ids, chunk.rows, measured,
                        len(chunk.dropped),
                    )  # fmt: skip
                yield chunk, as_batch(columns, self.ensemble.id_type)
                show(chunk.stop, self.ensemble.expected_rows)

    def to_file(self, output: Path, resume: bool) -> None:
        """Write a file; what is finished survives an interruption."""
        from credalens._files import locked, writing
        from credalens._validation import counted
        from credalens.datasets.files.output import Parts

        side = skipped_path(output)
        task = self._described(resume)
        with locked(output), writing(output, "free space, and go on by --resume" * self._resumes):
            parts = Parts(output, task, resume)
            rows, dropped = self._fill(parts, side)
        note(f"wrote {counted(rows - dropped, 'row')} to {output}", self.manners.quiet)
        tell_dropped(dropped, side)

    def _fill(self, parts: "Parts", side: Path) -> tuple[int, int]:
        """Compute what is missing; return the number of rows, and of those left out."""
        from credalens._validation import counted

        rows = parts.finished
        if rows:
            note(f"going on after {counted(rows, 'finished row')}", self.manners.quiet)
        try:
            for chunk, batch in self._chunks(rows):
                parts.add(chunk.start, chunk.stop, batch, chunk.dropped)
                rows = chunk.stop
            with progress("writing", self.manners.quiet) as show:
                return rows, len(parts.finish(side, rows, show))
        except BaseException as error:
            # With a full disk, say, what is finished stays for --resume, but not with bad rows.
            if not self._resumes or not isinstance(error, KeyboardInterrupt | OSError):
                parts.discard()
            elif isinstance(error, KeyboardInterrupt):
                done = counted(parts.finished, "row")
                note(f"credalens: interrupted after {done}; --resume goes on there")
                raise typer.Exit(130) from None
            raise

    @property
    def _resumes(self) -> bool:
        """Whether a run that is stopped can go on: what came through a pipe is gone."""
        return not self.inputs.piped(self.measuring)

    def _described(self, resume: bool) -> dict[str, Any]:
        """Return what must be the same for a run to go on."""
        from credalens.datasets.files.scoring import described
        from credalens.datasets.files.source import stamp

        if resume and not self._resumes:
            raise ValueError("--resume: what comes through a pipe cannot be read again; name files")
        sources = self.ensemble.sources
        spans = (span for source in sources for span in source.spans(0, source.n_rows or 0))
        return {
            **self.inputs.settings(self.measuring, self.scores.summary),
            **described(self.ensemble, self.scores),
            "files": [[str(Path(path).resolve()), stamp(path)] for path, _, _ in spans],
            "handling of bad rows": self.inputs.on_error,
        }

    def to_pipe(self, to: str) -> None:
        """Stream to standard output."""
        from credalens.datasets.files.output import write_csv, write_jsonl

        dropped: list[Any] = []

        def batches() -> Iterator[Any]:
            for chunk, batch in self._chunks():
                dropped.extend(chunk.dropped)
                yield batch

        write: Callable[[Iterator[Any], Any], None] = write_csv if to == "csv" else write_jsonl
        write(batches(), sys.stdout.buffer)
        sys.stdout.buffer.flush()
        write_dropped(dropped, skipped_path(None))

    def to_terminal(self, top: int) -> None:
        """Show the most uncertain rows, which are all that is kept."""
        import pyarrow as pa
        import pyarrow.compute

        key = self.scores.names[0]
        best: Any = None
        rows = 0
        dropped: list[Any] = []
        for chunk, batch in self._chunks(numbered=True):
            table = pa.Table.from_batches([batch])
            best = table if best is None else pa.concat_tables([best, table])
            order = pyarrow.compute.sort_indices(best, [(key, "descending"), ("row", "ascending")])
            best = best.take(order[:top])
            rows += len(batch)
            dropped.extend(chunk.dropped)
        show_table(f"The {len(best)} most uncertain of {rows} rows, by {key}", best.to_pydict())
        write_dropped(dropped, skipped_path(None))
        note("-o scores.csv writes all rows.", self.manners.quiet)


def skipped_path(output: Path | None) -> Path:
    """Return where the rows that were left out of `output` are written."""
    if output is None:
        return Path("credalens.skipped.csv")
    return output.with_name(f"{output.stem}.skipped.csv")


def write_dropped(dropped: list[Any], side: Path) -> None:
    """Write down which rows were left out, and why, and say so."""
    from credalens.datasets.files.output import put_skipped

    if dropped or side != skipped_path(None):  # which is of no output, and stays
        put_skipped(dropped, side)
    tell_dropped(len(dropped), side)


def tell_dropped(count: int, side: Path) -> None:
    """Say how many rows were left out, even to those who want quiet."""
    from credalens._validation import counted

    if count:
        note(f"credalens: left out {counted(count, 'bad row')}; see {side}")


def show_table(title: str, columns: dict[str, list[Any]]) -> None:
    """Print columns as a table, numbers with four digits."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", collapse_padding=True)
    for i, (name, values) in enumerate(columns.items()):
        text = bool(values) and isinstance(values[0], str)
        # Names are broken between words on a narrow terminal.
        table.add_column(
            name.replace("_", " "),
            justify="left" if text else "right",
            overflow="fold",
            no_wrap=text and i == 0,
        )
    for row in zip(*columns.values(), strict=True):
        cells = ("" if x is None else x for x in row)
        table.add_row(*(f"{x:.4f}" if isinstance(x, float) else str(x) for x in cells))
    # A pipe has no width: lines are not broken there. Names from files may look like markup.
    width = None if sys.stdout.isatty() else 200
    Console(width=width, markup=False, emoji=False).print(table)
