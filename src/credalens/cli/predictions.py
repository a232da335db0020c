"""The opened prediction files of a command: their chunks, scores and skipped rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credalens.cli.command_context import note, progress
from credalens.cli.options import CommonOptions, Inputs, MeasureOptions
from credalens.cli.reading import skipped_path

if TYPE_CHECKING:
    from credalens.engine.job import PartitionResult
    from credalens.evaluation.agreement import RowSample
    from credalens.io import Chunk, Ensemble
    from credalens.io.scoring import RowColumns


@dataclass
class OpenPredictions:
    """Opened prediction files, the columns to compute and the options of the command."""

    ensemble: "Ensemble"
    columns: Any
    inputs: Inputs
    measure_options: MeasureOptions
    common: CommonOptions
    #: Invalid rows that were skipped so far.
    skipped: list[Any] = field(default_factory=list)
    #: What was found while the rows were read.
    findings: "ReadingFindings" = field(default_factory=lambda: ReadingFindings())
    #: Whether to look for models that distort the uncertainty, in a sample of the rows.
    diagnose: bool = True
    #: Number of notes of the ensemble that were printed.
    _printed: int = 0

    def chunks(self, description: str) -> Iterator["Chunk"]:
        """Yield all rows in chunks, with a progress bar."""
        chunks = self.ensemble.chunks(self.inputs.chunk_rows, 0, self.inputs.skip)
        for (chunk,) in self._tracked(((chunk,) for chunk in chunks), description):
            yield chunk

    def scored(
        self,
        columns: "RowColumns | None" = None,
        ranges: Sequence[tuple[int, int | None]] = ((0, None),),
        numbered: bool = False,
    ) -> Iterator[tuple["Chunk", dict[str, Any], Any]]:
        """Yield `ranges` of rows in chunks, with scores and uncertainties by family."""
        from credalens.io.scoring import scored_chunks

        inputs, columns = self.inputs, columns or self.columns
        results = (
            result
            for start, stop in ranges
            for result in scored_chunks(
                self.ensemble, columns, inputs.chunk_rows, start, inputs.skip, stop, numbered
            )
        )
        return self._tracked(results, "scoring", ranges[0][0])

    def _tracked(self, results: Iterable[Any], description: str, start: int = 0) -> Iterator[Any]:
        total = self.ensemble.expected_rows
        with progress(description, self.common.quiet, rows=True) as update:
            update(start, total)
            for result in results:
                self.skipped += result[0].dropped
                self.findings.add(result[0])
                self._print_notes()
                yield result
                update(result[0].stop, total)
        self.report_findings()

    def inspect_sample(self) -> None:
        """Read some rows for the comparison of the models, before workers read all."""
        import numpy as np

        from credalens.evaluation.agreement import sample_rows

        ensemble = self.ensemble
        rows = sample_rows(len(ensemble.names), ensemble.n_classes)
        total = rows if ensemble.n_rows is None else ensemble.n_rows
        size = min(rows // 10 or 1, total)
        # A worker reports invalid rows, after those before them are finished.
        for start in np.linspace(0, total - size, min(10, total // size)).astype(int).tolist():
            for chunk in ensemble.chunks(size, start, skip=True, stop=start + size):
                self.findings.compare(chunk)
        self._print_comparison()

    def _print_notes(self) -> None:
        """Print what was inferred from the files; not before the first rows are valid."""
        notes = self.ensemble.notes
        for text in notes[self._printed :]:
            note(f"credalens: {text}", self.common.quiet)
        self._printed = len(notes)

    def _print_comparison(self) -> None:
        for text in self.findings.comparison(self.ensemble.names, self.diagnose):
            note(f"credalens: warning: {text}", self.common.quiet)

    def report_findings(self) -> None:
        """Print notes and warnings about the rows that were read, once."""
        self._print_notes()
        for text in self.findings.report(self.ensemble):
            note(f"credalens: {text}", self.common.quiet)
        self._print_comparison()


class ReadingFindings:
    """Rounding, missing labels and likely mistakes, found while rows are read."""

    def __init__(self) -> None:
        self.deviation = 0.0
        self.unlabelled = self.ignored = 0
        self._sample: RowSample | None = None
        self._labels: RowSample | None = None
        self._soft = self._reported = False

    def add(self, chunk: "Chunk") -> None:
        """Add a chunk of rows; those of the second pass of a command are ignored."""
        if self._reported:
            return
        self.merge(chunk)
        self.compare(chunk)

    def merge(self, part: "Chunk | PartitionResult") -> None:
        """Add the counts of a chunk, or of a partition."""
        self.deviation = max(self.deviation, part.deviation)
        self.unlabelled += part.unlabelled
        self.ignored += part.ignored

    def compare(self, chunk: "Chunk") -> None:
        """Add rows to the sample from which the models are compared."""
        import numpy as np

        from credalens.evaluation.agreement import RowSample, sample_rows

        self._soft |= chunk.label_distributions is not None
        if chunk.mask is not None:  # rows of all models are compared
            chunk = chunk.take(np.flatnonzero(chunk.mask.all(axis=1)))
        if self._sample is None:
            limit = sample_rows(*chunk.members.shape[1:])
            self._sample = RowSample(limit)
            self._labels = None if chunk.labels is None else RowSample(limit)
        self._sample.add(chunk.members)
        if self._labels is not None and chunk.labels is not None:
            self._labels.add(chunk.labels)

    def comparison(self, names: tuple[str, ...], diagnose: bool) -> list[str]:
        """Return the warnings about models, nothing if they were returned before."""
        from credalens.evaluation.agreement import member_agreement

        sample, self._sample = self._sample, None
        if sample is None or len(names) < 2:
            return []
        members = sample.rows()
        if not len(members):
            return []
        agreement = member_agreement(members)
        found = agreement.warnings(names)
        if diagnose and not agreement.permuted_classes and not agreement.permuted_rows:
            labels = None if self._labels is None else self._labels.rows()
            found += _distorting(members, labels, names)
        return found

    def report(self, ensemble: "Ensemble") -> list[str]:
        """Return the notes about the rows, nothing if they were returned before."""
        from credalens._validation import counted

        if self._reported:
            return []
        self._reported = True
        found: list[str] = []
        if ensemble.labels is not None:
            found += getattr(ensemble.labels, "notes", ())
        if self.deviation:
            found.append(
                f"rows sum to 1 within {self.deviation:.2g}, which is rounding; they are divided "
                "by their sums"
            )
        if self._soft:
            found.append("labels are distributions; the most probable class is taken as the label")
        for count, what in ((self.ignored, "with an ignored label"), (self.unlabelled, "without a "
                            "label")):  # fmt: skip
            if count:
                verb = "is" if count == 1 else "are"
                found.append(f"{counted(count, 'row')} {what} {verb} scored but not evaluated")
        return found


def _distorting(members: Any, labels: Any, names: tuple[str, ...]) -> list[str]:
    """Return a warning about each model that distorts the uncertainty of a sample."""
    from credalens._validation import counted
    from credalens.evaluation import diagnose_members

    if labels is not None:
        labelled = labels >= 0
        members, labels = (
            (members[labelled], labels[labelled]) if labelled.any() else (members, None)
        )
    d = diagnose_members(members, labels, names)
    return [
        f"model {d.verdicts[m]} ({counted(d.n_instances, 'row')} compared); check it with "
        "credalens diagnose, or leave its file out"
        for m in d.spoilers
    ]


def open_predictions(
    inputs: Inputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    *outputs: Path | None,
    summary: str = "interval",
    by_part: bool = False,
    diagnose: bool = True,
    several: bool = False,
    columns: "Callable[[Ensemble], RowColumns] | None" = None,
    read: Sequence[Path] = (),
) -> OpenPredictions:
    """Open the files; check the options and the `outputs` before any row is read.

    With `several`, a single model is an error. `columns` makes other columns than the scores, from
    the files `read`.
    """
    other_files = [*measure_options.files, *read]
    ensemble = inputs.open(other_files, by_part)
    if several and len(ensemble.names) < 2:
        raise ValueError("models: there is only one; pass the files of several models")
    if columns is None:
        table: RowColumns = measure_options.scores(ensemble.n_classes, summary)
    else:
        table = columns(ensemble)
    inputs.check_outputs(ensemble, other_files, *outputs)
    _describe(ensemble, common)
    return OpenPredictions(ensemble, table, inputs, measure_options, common, diagnose=diagnose)


def _describe(ensemble: "Ensemble", common: CommonOptions) -> None:
    """Print what the files contain, with ``--verbose``, and warn about likely mistakes."""
    from credalens._validation import counted

    if common.verbose:
        n_rows, names = ensemble.n_rows, ", ".join(ensemble.class_names or ()) or "without names"
        rows = "unknown number of rows" if n_rows is None else counted(n_rows, "row")
        models = f"{counted(len(ensemble.names), 'model')}: {', '.join(ensemble.names)}"
        note(f"{counted(len(ensemble.sources), 'file')}, {models}")
        labels = "yes" if ensemble.has_labels else "no"
        note(f"{rows}, {ensemble.n_classes} classes ({names}), labels: {labels}")
    for source in ensemble.sources:
        if source.n_rows is not None and source.n_rows < source.n_members:
            note(f"credalens: warning: {source.path} has {counted(source.n_rows, 'row')} of "
                 f"{source.n_members} models; if its shape is (models, rows, classes), pass "
                 "--axes models,rows,classes", common.quiet)  # fmt: skip
    if len(ensemble.names) == 1:
        note("credalens: warning: there is only one model, so epistemic uncertainty is 0; pass "
             "the files of all models", common.quiet)  # fmt: skip


def write_skipped(skipped: list[Any], path: Path) -> None:
    """List the skipped rows and the reasons in a file, and report their number."""
    from credalens.io.output import save_dropped

    # Without an output, a file left by an earlier command is kept unless rows are skipped.
    if skipped or path != skipped_path(None):
        save_dropped(skipped, path)
    note_skipped(len(skipped), path)


def note_skipped(count: int, path: Path) -> None:
    """Report the number of skipped rows, even with ``--quiet``."""
    from credalens._validation import counted

    if count:
        note(f"credalens: skipped {counted(count, 'invalid row')}; see {path}")
