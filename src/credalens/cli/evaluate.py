"""``credalens evaluate``: how well the scores find the errors, and how much can be kept."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import note, print_table, progress
from credalens.cli.options import CommonOptions, Inputs, MeasureOptions, changed_options, examples
from credalens.cli.predictions import open_predictions, skipped_path, write_skipped

if TYPE_CHECKING:
    from credalens.evaluation.bootstrap import BootstrapResult
    from credalens.evaluation.guarantee import Guarantee

#: Names of the files that are written.
EVALUATION, GUARANTEE, CURVES = "evaluation.csv", "guarantee.csv", "rejection_curves.png"
#: Largest number of rows of a score folder that are held in memory.
HELD_ROWS = 10_000_000

EXAMPLES = (
    examples(
        "credalens evaluate 'runs/*.npz' --measures tv,entropy -o evaluation",
        "credalens evaluate model_*.csv --labels truth.csv --target-accuracy 0.99",
    )
    + """
The guarantee: one fifth of the labelled rows, drawn at random, proposes thresholds. On the other
rows each threshold is tested with its exact binomial (Clopper-Pearson) bound, in order of
increasing coverage, up to the first that fails. Fixed-sequence testing corrects for the search over
thresholds (Angelopoulos, Bates, Candes, Jordan, Lei: Learn then Test, 2021). The guarantee holds
for rows drawn from the same distribution; several --score share the confidence level.
"""
)


def command(
    inputs: Inputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for evaluation.csv, rejection_curves.png and, with --target-accuracy, "
            "guarantee.csv.",
            show_default="print only",
        ),
    ] = None,
    bins: Annotated[int, typer.Option(min=2, help="Points on the rejection curve.")] = 30,
    bootstrap: Annotated[int, typer.Option(min=0, help="Number of bootstrap resamples.")] = 2000,
    target_accuracy: Annotated[
        float | None,
        typer.Option(help="Find the largest share that can be kept with this accuracy."),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Confidence level of the intervals and of the guarantee.", show_default="0.95"
        ),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated scores for --target-accuracy.", show_default="the first"
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of the resamples and the split.", show_default="0"),
    ] = None,
) -> None:
    """Evaluate how well each score finds the errors. Labels are required.

    For every score: AUC, the area under accuracy against the share rejected (1 is perfect); MR, the
    share of the steps of the curve that do not lose accuracy; and the accuracy of the remaining
    rows when the most uncertain 0, 10, 20 and 50 % are rejected, all with bootstrap intervals.

    With --target-accuracy: the largest share of the predictions whose accuracy is at least the
    target at the given confidence level, and the threshold to apply to new predictions.

    A folder written by score --engine dask is evaluated from its scores, for any number of rows.
    Above 10 million rows there are no bootstrap intervals, and a guarantee is computed from a
    random sample of about that size.
    """
    from credalens._extras import require
    from credalens._files import check_folder
    from credalens.engine.results import is_score_folder
    from credalens.evaluation.guarantee import guaranteed_threshold

    with common.context():
        if score is not None and target_accuracy is None:
            raise ValueError("--score: applies to --target-accuracy; pass both, or neither")
        if not bootstrap and target_accuracy is None:
            for option, value in (("--confidence", confidence), ("--seed", seed)):
                if value is not None:
                    raise ValueError(
                        f"{option}: applies to --bootstrap and --target-accuracy; omit it"
                    )
        confidence, seed = 0.95 if confidence is None else confidence, seed or 0
        for option, value in (("--target-accuracy", target_accuracy), ("--confidence", confidence)):
            if value is not None and not 0 < value < 1:
                raise ValueError(
                    f"{option}: is {value:g}; pass a number between 0 and 1, e.g. 0.99"
                )
        if output is not None:
            require("matplotlib", "plots")
            check_folder(output)
        settings: dict[str, Any] = {
            "n_bins": bins, "n_resamples": bootstrap, "confidence": confidence, "random_state": seed
        }  # fmt: skip
        if is_score_folder(inputs.files):
            for option in (*changed_options(inputs), *changed_options(measure_options)):
                if option not in ("--labels", "--ignore-label"):
                    raise ValueError(f"{option}: applies to predictions, not to scores; omit it")
            result = _evaluate_folder(inputs, common, score, settings)
        else:
            result = _evaluate_predictions(inputs, measure_options, common, score, settings, output)
        guarantees = {}
        if target_accuracy is not None:
            correct, scores = result.labelled()
            level = 1 - (1 - confidence) / len(scores)  # Bonferroni correction
            for name, values in scores.items():
                guarantees[name] = guaranteed_threshold(
                    correct, values, target_accuracy, level, seed
                )
        # Write the files first: the reader of a pipe may stop reading.
        if output is not None:
            for path in _write(output, result, guarantees):
                note(f"wrote {path}", common.quiet)
        _print_qualities(result.n_rows, result.qualities, settings["n_resamples"], confidence)
        if target_accuracy is not None:
            _print_guarantees(guarantees, target_accuracy, confidence)


@dataclass(frozen=True)
class _Evaluation:
    """Curves and metrics of all scores."""

    n_rows: int
    qualities: dict[str, "BootstrapResult"]
    #: Return which predictions are correct, and the scores that need a guarantee.
    labelled: Callable[[], tuple[Any, dict[str, Any]]]
    #: Whether invalid rows were skipped.
    skipped: bool = False


def _evaluate_predictions(
    inputs: Inputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    score: str | None,
    settings: dict[str, Any],
    output: Path | None,
) -> _Evaluation:
    """Score the predictions and evaluate the scores in memory."""
    import numpy as np

    side = skipped_path(None if output is None else output / EVALUATION)
    written = [] if output is None else [output / name for name in (EVALUATION, GUARANTEE, CURVES)]
    predictions = open_predictions(inputs, measure_options, common, side, *written)
    names = predictions.columns.names
    selected = _selected(score, names)
    if not predictions.ensemble.has_labels:
        raise ValueError("labels: no file has labels; pass --labels FILE or --label-column NAME")
    blocks = [
        {name: np.asarray(values[name])[chunk.labelled] for name in ("correct", *names)}
        for chunk, values, _ in predictions.scored()
    ]
    scores = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    correct = scores.pop("correct")
    if predictions.skipped:
        side.parent.mkdir(parents=True, exist_ok=True)
        write_skipped(predictions.skipped, side)
    if not len(correct):
        raise ValueError("rows: no valid row with a label is left; correct the files")
    qualities = _qualities(correct, scores, settings, common)
    needed = {name: scores[name] for name in selected}
    return _Evaluation(
        len(correct), qualities, lambda: (correct, needed), bool(predictions.skipped)
    )


def _evaluate_folder(
    inputs: Inputs, common: CommonOptions, score: str | None, settings: dict[str, Any]
) -> _Evaluation:
    """Evaluate a folder of scores; without bootstrap, block by block for any number of rows."""
    from credalens.engine.results import ScoreDataset
    from credalens.evaluation.selection import streamed_quality

    dataset = ScoreDataset(Path(inputs.files[0]), inputs.labels, inputs.ignored)
    if dataset.unlabelled:
        note(f"credalens: {dataset.unlabelled} rows without a label are not evaluated",
             common.quiet)  # fmt: skip
    selected = _selected(score, dataset.names)
    if settings["n_resamples"] and dataset.rows > HELD_ROWS:
        note(f"no bootstrap intervals above {HELD_ROWS} rows", common.quiet)
        settings["n_resamples"] = 0
    if settings["n_resamples"]:
        qualities = _qualities(*dataset.load(dataset.names, HELD_ROWS), settings, common)
    else:
        qualities = {}
        with progress("ordering", common.quiet, rows=True) as update:
            for i, name in enumerate(dataset.ranked):
                update(i * dataset.rows, len(dataset.ranked) * dataset.rows)
                blocks = dataset.blocks(dataset.columns(name))
                qualities[name] = streamed_quality(blocks, dataset.rows, settings["n_bins"])
    seed = settings["random_state"]
    return _Evaluation(dataset.rows, qualities, lambda: dataset.load(selected, HELD_ROWS, seed))


def _selected(score: str | None, names: tuple[str, ...]) -> list[str]:
    if score is None:
        return [names[0]]
    selected = [name.strip() for name in score.split(",")]
    for name in selected:
        if name not in names:
            raise ValueError(f"--score: is {name!r}; choose from {', '.join(names)}")
    return selected


def _qualities(
    correct: Any, scores: dict[str, Any], settings: dict[str, Any], common: CommonOptions
) -> dict[str, "BootstrapResult"]:
    from credalens.evaluation.bootstrap import bootstrap
    from credalens.measures import Interval

    ranked = dict(scores)
    for stem in [name.removesuffix("_lower") for name in scores if name.endswith("_lower")]:
        if f"{stem}_upper" in scores:
            ends = (scores[f"{stem}_{end}"] for end in ("lower", "upper"))
            ranked[f"{stem} (interval)"] = Interval(*ends)
    qualities = {}
    with progress("ordering", common.quiet, rows=True) as update:
        for i, (name, score) in enumerate(ranked.items()):
            update(i * len(correct), len(ranked) * len(correct))
            qualities[name] = bootstrap(correct, score, **settings)
    return qualities


def _print_qualities(
    n_rows: int, qualities: dict[str, "BootstrapResult"], bootstrap: int, confidence: float
) -> None:
    from credalens.evaluation.bootstrap import REJECTED

    def percent(estimate: Any) -> str:
        value, low, high = (float(x) for x in estimate)
        interval = "" if math.isnan(low) else f" {100 * low:.1f}-{100 * high:.1f}"
        return f"{100 * value:.2f}{interval}"

    columns: dict[str, list[Any]] = {"score": list(qualities)}
    columns["AUC %"] = [percent(q.auc) for q in qualities.values()]
    columns["MR"] = [f"{float(q.monotonicity_ratio[0]):.2f}" for q in qualities.values()]
    for i, share in enumerate(REJECTED[1:], start=1):
        columns[f"{share:.0%} rejected"] = [percent(q.accuracy_at[i]) for q in qualities.values()]
    overall = next(iter(qualities.values())).accuracy_at[0]
    rows = "the only row" if n_rows == 1 else f"all {n_rows} rows"
    typer.echo(f"Accuracy on {rows} in %: {percent(overall)}")
    print_table("Accuracy in % after rejecting the most uncertain rows", columns)
    if bootstrap:
        typer.echo(f"Ranges: {confidence:.0%} bootstrap intervals, {bootstrap} resamples.")


def _print_guarantees(guarantees: dict[str, "Guarantee"], target: float, confidence: float) -> None:
    from credalens._validation import counted
    from credalens.evaluation.guarantee import least_rows

    for name, result in guarantees.items():
        if result.threshold is None:
            typer.echo(
                f"{name}: no threshold reaches accuracy {target:g} with confidence {confidence:g} "
                f"on {counted(result.n_tested, 'test row')}; at least "
                f"{least_rows(target, result.confidence)} kept rows must be correct."
            )
            continue
        kept = f"{result.kept:.1%} of the predictions, those with {name} <= {result.threshold!r}"
        if result.threshold == math.inf:
            kept = "all predictions"
        typer.echo(
            f"{name}: keep {kept}; their accuracy is at least {target:g} with confidence "
            f"{confidence:g} (observed {result.observed:.4f}, bound {result.bound:.4f}, "
            f"{counted(result.n_tested, 'test row')})."
        )


def _write(folder: Path, result: _Evaluation, guarantees: dict[str, "Guarantee"]) -> list[Path]:
    """Write the tables and the figure.

    Files of an earlier evaluation that this one does not replace are removed first, since they
    would seem to belong to this one.
    """
    from dataclasses import asdict, fields

    from matplotlib.figure import Figure

    from credalens._files import atomic_write
    from credalens.evaluation.guarantee import Guarantee
    from credalens.io.formats import DROPPED_COLUMNS
    from credalens.io.output import as_batch, remove_own_table, write_csv
    from credalens.plots import rejection_curves

    folder.mkdir(parents=True, exist_ok=True)
    tables = {EVALUATION: [_row(*item) for item in result.qualities.items()]}
    if guarantees:
        tables[GUARANTEE] = [
            {"score": name, **{k: math.nan if v is None else v for k, v in asdict(item).items()}}
            for name, item in guarantees.items()
        ]
    else:
        columns = ["score", *(field.name for field in fields(Guarantee))]
        remove_own_table(folder / GUARANTEE, columns)
    if not result.skipped:
        remove_own_table(skipped_path(folder / EVALUATION), DROPPED_COLUMNS)
    for name, rows in tables.items():
        batch = as_batch({key: [row[key] for row in rows] for key in rows[0]})
        with atomic_write(folder / name) as path, path.open("wb") as stream:
            write_csv([batch], stream)
    with atomic_write(folder / CURVES) as path:
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        curves = {name: q.curve for name, q in result.qualities.items()}
        rejection_curves(curves, ax=figure.add_subplot())
        figure.savefig(path, dpi=150)
    return [*(folder / name for name in tables), folder / CURVES]


def _row(name: str, quality: "BootstrapResult") -> dict[str, Any]:
    from credalens.evaluation.bootstrap import REJECTED

    row: dict[str, Any] = {"score": name}
    estimates = {"auc": quality.auc, "mr": quality.monotonicity_ratio}
    for share, accuracy in zip(REJECTED, quality.accuracy_at, strict=True):
        estimates[f"accuracy_at_{share:.0%}".rstrip("%")] = accuracy
    for key, (value, low, high) in estimates.items():
        row.update({key: float(value), f"{key}_low": float(low), f"{key}_high": float(high)})
    return row
