"""``credalens score``: the uncertainty of every row of prediction files."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import binary_stdout, note, print_table
from credalens.cli.language import LanguageOptions, score_tokens
from credalens.cli.multilabel import MultilabelOptions, open_multilabel
from credalens.cli.options import CommonOptions, EnsembleInputs, MeasureOptions, examples
from credalens.cli.policies import load_policy, policy_columns, with_class_order
from credalens.cli.predictions import OpenPredictions, note_skipped, open_predictions, write_skipped
from credalens.cli.reading import skipped_path
from credalens.cli.regression import RegressionOptions, open_regression
from credalens.cli.score_dask import EngineOptions, score_partitions

if TYPE_CHECKING:
    from credalens.io import Chunk
    from credalens.io.part_store import PartStore

EXAMPLES = examples(
    "credalens score model_1.npy model_2.csv -o scores.parquet",
    "credalens score 'runs/*.npz' --measures tv,entropy,mmi -o scores.csv",
    "credalens score big.npy -o scores.parquet --resume",
    "credalens score runs --labels truth.csv -o scores.csv --report report.html",
    "credalens score 'today/*.npz' --policy policy.json -o actions.csv",
    "credalens score predictions.parquet/ --engine dask --workers 8 -o scores",
    "credalens score --regression model_*.csv --labels truth.csv -o scores.csv",
    "credalens score --multilabel tags_*.parquet --measures hamming,labels -o scores.csv",
    "zcat probs.csv.gz | credalens score - --format csv > scores.csv",
    "credalens score prompt_1.jsonl prompt_2.jsonl --format logprobs --level token -o tokens.csv",
)


def command(
    inputs: EnsembleInputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    engine: EngineOptions,
    regression: RegressionOptions,
    multilabel: MultilabelOptions,
    language: LanguageOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file: .csv, .parquet, .npz or .jsonl; a folder with --engine dask.",
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
        bool, typer.Option("--resume", help="Continue an interrupted run after its finished rows.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Also write this HTML report, with all measures; see credalens report.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            help="Apply this policy, which evaluate, decide or validate --policy wrote.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compute total, aleatoric and epistemic uncertainty of every row.

    The columns are: row (with --on-error skip or --engine dask), id (if the files have ids),
    n_members (with --missing allow: the number of models that have the row), prediction (the
    majority vote of the models), the total, aleatoric and epistemic uncertainty of every measure
    (tv_total, tv_aleatoric_lower, tv_aleatoric_upper, tv_epistemic; entropy_total, ...;
    information_total, ...), mmi, and, with labels, label and correct. Columns of a distance other
    than tv start with the name of the distance. Totals of the scoring rules are intervals too
    (scoring:brier_total_lower, ...).

    With --policy, predictions are repaired as the policy says, the columns are those of its score,
    of --measures and, if it makes decisions, of decide, and the column action is keep, hand over, a
    decision or a set of labels. Files with other classes or another number of models are refused.

    With --regression the columns are: prediction, wasserstein_total, wasserstein_aleatoric_lower,
    wasserstein_aleatoric_upper (which equals the total), wasserstein_epistemic, variance_total,
    variance_aleatoric, variance_epistemic and, with true values, target and absolute_error.

    With --multilabel the columns are: prediction (the names of the predicted labels),
    hamming_total, hamming_aleatoric_lower, hamming_aleatoric_upper, hamming_epistemic, the same of
    max and of each label, and, with true labels, label and hamming_loss.

    Files are read in chunks and may be larger than memory. The output appears when it is complete.
    Rows are numbered from zero.

    With --format logprobs, files are responses of language models, one per line. A row is a token,
    an answer or a question with choices (--level); the members are the files, the choices of a
    response and lines with the same id. Scores of tokens and answers have the columns position,
    token, n_tokens, length, logprob_lower and logprob_upper, and an error for each score, since
    only the most probable tokens are known.
    """
    from credalens.cli.report import make_collector, note_unlabelled, write_report
    from credalens.io.output import check_output

    with common.context():
        start = time.perf_counter()
        if to not in (None, "csv", "jsonl"):
            raise ValueError(f"--to: is {to!r}; choose csv or jsonl")
        for option, value in (("--to", to), ("--top", top)):
            if output is not None and value is not None:
                raise ValueError(f"{option}: applies to standard output; omit it, or -o")
        if regression.regression and multilabel.multilabel:
            raise ValueError("--multilabel: does not support --regression; omit one of them")
        if regression.regression:
            _refuse_other_targets("--regression", report, engine.is_dask)
        else:
            regression.check_unused()
        if multilabel.multilabel:
            _refuse_other_targets("--multilabel", report, engine.is_dask)
        language.check(inputs)
        if language.reads_tokens(inputs):
            others = {"--report": report, "--resume": resume, "--engine": engine.is_dask}
            for option in (name for name, given in others.items() if given):
                raise ValueError(f"{option}: does not apply to lists of tokens; leave it out")
            if output is not None:
                check_output(output)
            tokens = score_tokens(language, inputs, measure_options, common, summary)
            _write_tokens(tokens, output, to, top)
            return
        if report is not None:
            inputs.refuse_for_report()
            _check_report(report, resume or engine.is_dask)
        options: dict[str, Any] = {"summary": summary}
        own = None
        if policy is not None:
            _refuse_for_policy(regression.regression, report)
            own = load_policy(policy)
            options["columns"] = policy_columns(own, policy, measure_options, summary, common.quiet)
            options["read"] = [policy]
        if engine.is_dask:
            if own is None:
                score_partitions(engine, inputs, measure_options, common, output, **options)
            else:
                with_class_order(inputs, own, lambda given: score_partitions(
                    engine, given, measure_options, common, output, **options))  # fmt: skip
            return
        if output is not None:
            check_output(output)
        outputs = (output, skipped_path(output), report)
        if regression.regression:
            predictions = open_regression(
                regression, inputs, measure_options, common, *outputs, summary=summary
            )
        elif multilabel.multilabel:
            predictions = open_multilabel(
                inputs, measure_options, common, *outputs, summary=summary
            )
        elif own is not None:
            predictions = with_class_order(inputs, own, lambda given: open_predictions(
                given, measure_options, common, *outputs, **options))  # fmt: skip
        else:
            predictions = open_predictions(inputs, measure_options, common, *outputs, **options)
        collector = None if report is None else make_collector(predictions)
        task = ScoreTask(predictions, collector)
        if output is not None:
            task.to_file(output, resume, engine.checksum)
        elif resume:
            raise ValueError("--resume: needs an output file; pass -o FILE")
        elif sys.stdout.isatty():
            task.to_terminal(top or 20)
        else:
            task.to_pipe(to or "csv")
        if report is not None and collector is not None:
            note_unlabelled(predictions)
            write_report(report, collector, start, common.quiet)


def _one_behind(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield each batch after the next one was read, so that errors of short files come first."""
    last = next(batches, None)
    for batch in batches:
        yield last
        last = batch
    if last is not None:
        yield last


def _refuse_other_targets(targets: str, report: Path | None, is_dask: bool) -> None:
    for option, given in (("--report", report is not None), ("--engine dask", is_dask)):
        if given:
            raise ValueError(f"{option}: does not support {targets}; omit one of them")


def _refuse_for_policy(regression: bool, report: Path | None) -> None:
    for option, given in (("--report", report is not None), ("--regression", regression)):
        if given:
            raise ValueError(f"{option}: does not support --policy; omit one of them")


def _write_tokens(task: Any, output: Path | None, to: str | None, top: int | None) -> None:
    """Write the scores of tokens to a file, a terminal or a pipe."""
    if output is not None:
        task.to_file(output)
    elif sys.stdout.isatty():
        task.to_terminal(top or 20)
    else:
        task.to_pipe(to or "csv")


def _check_report(path: Path, incomplete: bool) -> None:
    """Raise an error before any computation if the report cannot be written."""
    from credalens._html import check_path
    from credalens.report import vega_bundle

    if incomplete:
        raise ValueError("--report: needs all rows in one run; omit --resume and --engine dask, "
                         "or run credalens report on the files")  # fmt: skip
    vega_bundle.require()
    check_path(path)


class ScoreTask:
    """Columns of prediction files, written to a file, a pipe or a terminal.

    `collector` is that of a report. `summarize` returns a JSON value of a record batch, which
    `merge` is called with, also for batches of an interrupted run.
    """

    def __init__(
        self,
        predictions: OpenPredictions,
        collector: Any = None,
        summarize: Callable[[Any], Any] = lambda batch: None,
        merge: Callable[[Any], None] = lambda summary: None,
    ) -> None:
        self.predictions, self.quiet = predictions, predictions.common.quiet
        self._collector, self._summarize, self._merge = collector, summarize, merge

    def _batches(
        self, ranges: Sequence[tuple[int, int | None]] = ((0, None),), numbered: bool = False
    ) -> Iterator[tuple["Chunk", Any, Any]]:
        """Yield chunks with their record batches and summaries."""
        from credalens.io.tables import as_batch

        numbered = numbered or self.predictions.inputs.skip
        results = self.predictions.scored(ranges=ranges, numbered=numbered)
        for chunk, scores, measured in results:
            if self._collector is not None:
                from credalens.cli.report import labelled_rows

                kept = labelled_rows(chunk)
                self._collector.add_chunk(kept, measured if kept is chunk else None)
            batch = as_batch(scores, self.predictions.ensemble.id_type)
            summary = self._summarize(batch)
            self._merge(summary)
            yield chunk, batch, summary

    def to_file(self, output: Path, resume: bool, checksum: bool = False) -> None:
        """Write a file, and its SHA-256 with `checksum`; finished rows survive an interruption."""
        from credalens._files import locked, naming_errors
        from credalens._validation import counted
        from credalens.io.output import save_checksum
        from credalens.io.part_store import PartStore

        side = skipped_path(output)
        settings = self._settings(resume)
        when_full = "free space, and continue with --resume" if self._can_resume else ""
        with locked(output), naming_errors(output, when_full):
            rows, skipped = self._fill(PartStore(output, settings, resume), side)
            save_checksum(output, checksum)
        note(f"wrote {counted(rows - skipped, 'row')} to {output}", self.quiet)
        note_skipped(skipped, side)

    def _fill(self, store: "PartStore", side: Path) -> tuple[int, int]:
        """Compute the rows that are not finished; return the numbers of rows and skipped rows."""
        from credalens._validation import counted
        from credalens.io.source import PredictionFileError, UnreadableFileError

        for start, stop in store.damaged:
            note(f"credalens: warning: the finished rows {start} to {stop - 1} are damaged and are "
                 "computed again", self.quiet)  # fmt: skip
        if store.finished:
            note(f"continuing after {counted(store.finished, 'finished row')}", self.quiet)
        for summary in store.summaries:
            self._merge(summary)
        try:
            rows = self._add_missing(store)
            return rows, len(store.finish(side, rows))
        except BaseException as error:
            # Finished rows are kept for --resume, but not after an invalid row: the fixed file is
            # another file.
            invalid = isinstance(error, PredictionFileError)
            if not self._can_resume or (invalid and not isinstance(error, UnreadableFileError)):
                store.discard()
                raise
            done = counted(store.finished, "row")
            if isinstance(error, KeyboardInterrupt):
                store.sync()
                note(f"credalens: interrupted after {done}; continue with --resume")
                raise typer.Exit(130) from None
            if isinstance(error, UnreadableFileError) and store.finished:
                kept = f"{error} ({done} finished; continue with --resume)"
                raise UnreadableFileError(kept) from error
            raise

    def _add_missing(self, store: "PartStore") -> int:
        """Compute and store the rows that are not finished; return the number of all rows.

        With several threads, a part is written while the next ones are computed.
        """
        from concurrent.futures import Future, ThreadPoolExecutor

        from credalens._backend import get_num_threads

        gaps = store.gaps()
        rows = gaps[-1][0]
        with ThreadPoolExecutor(1) as pool:  # waits, so that no part is written half
            pending: Future[None] | None = None
            for chunk, batch, summary in self._batches(gaps):
                part = chunk.start, chunk.stop, batch, chunk.dropped, summary
                rows = max(rows, chunk.stop)
                if pending is not None:
                    pending.result()
                if get_num_threads() > 1:
                    pending = pool.submit(store.add, *part)
                else:
                    store.add(*part)
            if pending is not None:
                pending.result()
        return rows

    @property
    def _can_resume(self) -> bool:
        """Whether an interrupted run can be continued: a pipe cannot be read again."""
        return not self.predictions.inputs.has_stream(self.predictions.measure_options)

    def _settings(self, resume: bool) -> dict[str, Any]:
        """Return what must be unchanged when a run is continued."""
        from credalens.io.scoring import scoring_settings
        from credalens.io.source import file_signature
        from credalens.io.tables import safe_csv

        if resume and not self._can_resume:
            raise ValueError("--resume: a pipe cannot be read again; pass files")
        run = self.predictions
        sources = run.ensemble.sources
        spans = (span for source in sources for span in source.row_ranges(0, source.n_rows or 0))
        return {
            **run.inputs.settings(run.measure_options),
            **scoring_settings(run.ensemble, run.columns),
            "files": [[str(Path(path).resolve()), file_signature(path)] for path, _, _ in spans],
            "handling of bad rows": run.inputs.on_error,
            "handling of formulas in CSV": safe_csv(),
        }

    def to_pipe(self, to: str) -> None:
        """Stream to standard output."""
        from credalens.io.tables import write_csv, write_jsonl

        write: Callable[[Iterator[Any], Any], None] = write_csv if to == "csv" else write_jsonl
        stream = binary_stdout()
        write(_one_behind(batch for _, batch, _ in self._batches()), stream)
        stream.flush()
        write_skipped(self.predictions.skipped, skipped_path(None))

    def to_terminal(self, top: int, file: str = "scores.csv") -> None:
        """Print the rows with the largest first number; only these are held in memory."""
        import pyarrow as pa
        import pyarrow.compute

        key = self.predictions.columns.names[0]
        best: Any = None
        rows = 0
        for _, batch, _ in self._batches(numbered=True):
            table = pa.Table.from_batches([batch])
            best = table if best is None else pa.concat_tables([best, table])
            order = pyarrow.compute.sort_indices(best, [(key, "descending"), ("row", "ascending")])
            best = best.take(order[:top])
            rows += len(batch)
        title = f"The {len(best)} most uncertain of {rows} rows, by {key}"
        print_table(title, best.to_pydict())
        write_skipped(self.predictions.skipped, skipped_path(None))
        note(f"Pass -o {file} to write all rows.", self.quiet)
