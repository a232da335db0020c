"""``credalens compare``: two ensembles on the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import echo, note, print_table, progress
from credalens.cli.options import CommonOptions, examples
from credalens.cli.reading import ReadingOptions
from credalens.distances import NAMES

if TYPE_CHECKING:
    from credalens._backend import Array
    from credalens.io import Ensemble
    from credalens.validity.ensemble_comparison import EnsembleComparison, EnsembleOutcomes

EXAMPLES = examples(
    "credalens compare old/ new/ --labels truth.csv",
    "credalens compare 'old/*.npy' 'new/*.npy' --labels truth.csv --report compare.html",
    "credalens compare runs/ --drop model_3 --labels truth.csv -o changed.csv",
)


def command(
    reading: ReadingOptions,
    common: CommonOptions,
    first: Annotated[
        str,
        typer.Argument(
            help="Files of the first ensemble: a folder, a quoted pattern or a file with all "
            "models.",
            show_default=False,
        ),
    ],
    second: Annotated[
        str | None,
        typer.Argument(help="Files of the second ensemble, unless --drop.", show_default=False),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare the first ensemble with itself without this model; can be repeated.",
            show_default=False,
        ),
    ] = None,
    distance: Annotated[
        str, typer.Option(help=f"{', '.join(NAMES)}, cost:FILE or kernel:FILE, as in score.")
    ] = "tv",
    reject: Annotated[
        float, typer.Option(help="Share of the rows that is handed over, for the changed rows.")
    ] = 0.1,
    resamples: Annotated[int, typer.Option(min=1, help="Resamples of the intervals.")] = 1000,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resamples.")] = 0,
    report: Annotated[
        Path | None, typer.Option(help="Also write this HTML page.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Also write the rows that changed: .csv, .parquet, .npz or "
            ".jsonl.", show_default=False,
        ),
    ] = None,
    chunk_rows: Annotated[
        int | None,
        typer.Option(min=1, help="Rows to hold in memory at once.", show_default="about 32 MB"),
    ] = None,
) -> None:  # fmt: skip
    """Compare two ensembles, or one with and without some models, on the same labelled rows.

    Prints accuracy, selective prediction by total uncertainty, log-loss, Brier score and
    calibration error of the mean, metrics of the sets of labels that remain possible, and mean
    uncertainties of both, each difference with an interval of a bootstrap that draws the same rows
    for both; and how many predictions became right or wrong. Rows are matched by their ids if both
    have ids, otherwise by position.
    """
    with common.context():
        from credalens._html import check_path
        from credalens._validation import fraction
        from credalens.io.output import check_not_inputs, check_output
        from credalens.report.comparison_page import write_comparison
        from credalens.validity.ensemble_comparison import compare_outcomes

        if (second is None) == (not drop):
            raise ValueError("files: pass a second ensemble, or --drop MODEL for one ensemble")
        fraction(confidence, "--confidence")
        fraction(reject, "--reject", zero=True)
        if report is not None:
            check_path(report, "compare.html")
        if output is not None:
            check_output(output)
        outputs = [path for path in (report, output) if path is not None]
        named = [Path(name) for name in (first, second) if name is not None]
        check_not_inputs(outputs, [*named, *reading.other_files])
        run = _Reader(reading, common, chunk_rows, distance, outputs)
        if second is None:
            pair = run.with_and_without(first, drop or [])
            names = first, f"{first} without {', '.join(drop or [])}"
        else:
            pair, names = run.both(first, second), (first, second)
        found = compare_outcomes(
            pair[0].outcomes, pair[1].outcomes, rejected=reject, n_resamples=resamples,
            confidence=confidence, random_state=seed,
        )  # fmt: skip
        _print(found, names)
        a = pair[0]
        own: dict[str, Any] = {"class_names": a.class_names, "ids": a.ids, "row_numbers": a.rows}
        if output is not None:
            _write_changed(output, found, a.labels, **own)
            note(f"wrote {len(found.changed)} rows to {output}", common.quiet)
        if report is not None:
            write_comparison(report, found, a.labels, names=names, **own)
            note(f"wrote {report}; open it in a browser", common.quiet)


@dataclass(frozen=True, eq=False)
class _Outcomes:
    """The labelled rows of an ensemble."""

    name: str
    class_names: tuple[str, ...] | None
    n_classes: int
    labels: "Array"
    #: Numbers of the rows in the files.
    rows: "Array"
    ids: "Array | None"
    outcomes: "EnsembleOutcomes"

    def take(self, rows: "Array") -> "_Outcomes":
        """Return some rows."""
        ids = None if self.ids is None else self.ids[rows]
        return replace(
            self, labels=self.labels[rows], rows=self.rows[rows], ids=ids,
            outcomes=self.outcomes.take(rows),
        )  # fmt: skip


@dataclass
class _Reader:
    """Reads ensembles."""

    reading: ReadingOptions
    common: CommonOptions
    chunk_rows: int | None
    distance: str
    outputs: Sequence[Path]

    def both(self, first: str, second: str) -> tuple[_Outcomes, _Outcomes]:
        """Return the outcomes of two ensembles, on the same rows in the same order."""
        a, b = (self._read(name, [()])[0] for name in (first, second))
        if a.n_classes != b.n_classes:
            raise ValueError(
                f"{second}: has {b.n_classes} classes, {first} has {a.n_classes}; pass ensembles "
                "of the same classes"
            )
        if a.class_names is not None and b.class_names is not None and (
            a.class_names != b.class_names
        ):  # fmt: skip
            raise ValueError(
                f"{second}: has the classes {', '.join(b.class_names)}, {first} "
                f"{', '.join(a.class_names)}; pass --class-names to match columns by name"
            )
        return _aligned(a, b)

    def with_and_without(self, name: str, drop: Sequence[str]) -> tuple[_Outcomes, _Outcomes]:
        """Return the outcomes of an ensemble with and without some models."""
        a, b = self._read(name, [(), tuple(drop)])
        return a, b

    def _read(self, name: str, drops: Sequence[tuple[str, ...]]) -> list[_Outcomes]:
        """Return the outcomes of an ensemble, without each of some groups of models."""
        import numpy as np

        from credalens.cli.options import _read_distance
        from credalens.sets import ConvexHull
        from credalens.validity.ensemble_comparison import EnsembleOutcomes

        ensemble = self.reading.open_files([name], self.outputs)
        if not ensemble.has_labels:
            raise ValueError(f"{name}: has no labels; pass --labels FILE or --label-column NAME")
        kept = [_kept_members(ensemble, drop) for drop in drops]
        metric, _ = _read_distance(self.distance)
        parts: list[list[Any]] = [[] for _ in drops]
        labels, rows, ids = [], [], []
        for chunk in self._labelled(ensemble, name):
            labels.append(chunk.labels)
            rows.append(chunk.rows)
            ids.append(chunk.ids)
            for found, members in zip(parts, kept, strict=True):
                Q = ConvexHull(chunk.members[:, members], validate=False)
                found.append(EnsembleOutcomes.of(Q, chunk.labels, metric))
        if not labels:
            raise ValueError(f"{name}: no row has a label; pass a file of labels of these rows")
        known = None if any(one is None for one in ids) else np.concatenate(ids)
        return [
            _Outcomes(
                name, ensemble.class_names, ensemble.n_classes, np.concatenate(labels),
                np.concatenate(rows), known, EnsembleOutcomes.concatenate(found),
            )
            for found in parts
        ]  # fmt: skip

    def _labelled(self, ensemble: "Ensemble", name: str) -> "Any":
        total = ensemble.expected_rows
        with progress(f"measuring {name}", self.common.quiet, rows=True) as update:
            for chunk in ensemble.chunks(self.chunk_rows, 0, self.reading.skip):
                kept = chunk.take(chunk.labelled)
                if len(kept.rows):
                    yield kept
                update(chunk.stop, total)


def _kept_members(ensemble: "Ensemble", drop: Sequence[str]) -> list[int]:
    unknown = [name for name in drop if name not in ensemble.names]
    if unknown:
        raise ValueError(
            f"--drop: there is no model {unknown[0]!r}; choose from {', '.join(ensemble.names)}"
        )
    kept = [m for m, name in enumerate(ensemble.names) if name not in drop]
    if not kept:
        raise ValueError("--drop: leaves no model; drop fewer")
    return kept


def _aligned(a: _Outcomes, b: _Outcomes) -> tuple[_Outcomes, _Outcomes]:
    """Return both on the rows of the first, matched by their ids."""
    import numpy as np

    if a.ids is not None and b.ids is not None and not np.array_equal(a.ids, b.ids):
        where = {one: i for i, one in enumerate(b.ids.tolist())}
        missing = [one for one in a.ids.tolist() if one not in where]
        if missing or len(where) != len(a.ids):
            what = f"has no labelled row {missing[0]!r}" if missing else "has other rows"
            raise ValueError(f"{b.name}: {what}, unlike {a.name}; pass predictions of equal rows")
        b = b.take(np.array([where[one] for one in a.ids.tolist()]))
    if len(a.labels) != len(b.labels):
        raise ValueError(
            f"{b.name}: has {len(b.labels)} labelled rows, {a.name} has {len(a.labels)}; pass "
            "predictions of equal rows"
        )
    other = np.flatnonzero(a.labels != b.labels)
    if len(other):
        raise ValueError(
            f"{b.name}: has another label than {a.name} in labelled row {other[0]} (zero-based); "
            "pass the labels of both by --labels"
        )
    return a, b


def _print(found: "EnsembleComparison", names: tuple[str, str]) -> None:
    from credalens._validation import counted
    from credalens.report.comparison_page import summary_sentences
    from credalens.validity.ensemble_comparison import METRICS

    columns: dict[str, list[Any]] = {
        "metric": [METRICS[metric][0] for metric in found.metrics],
        "first": found.first.tolist(),
        "second": found.second.tolist(),
        "difference": [
            f"{value:+.4f} ({low:+.4f} to {high:+.4f})" for value, low, high in found.difference
        ],
        "second is": [found.verdict(metric) for metric in found.metrics],
    }
    title = f"{names[0]} (first) and {names[1]} (second), {counted(found.n, 'row')}"
    print_table(title, columns)
    for sentence in summary_sentences(found):
        echo(sentence)


def _write_changed(path: Path, found: "EnsembleComparison", labels: "Array", **names: Any) -> None:
    from credalens._files import atomic_write
    from credalens.io.tables import WRITERS, as_batch
    from credalens.report.comparison_page import changed_columns

    batch = as_batch(changed_columns(found, labels, **names))
    with atomic_write(path) as temporary:
        WRITERS[path.suffix.lower()](lambda: iter([batch]), temporary)
