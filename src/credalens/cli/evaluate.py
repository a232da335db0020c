"""``credalens evaluate``: how well the scores find the errors, and what may be kept."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.conduct import conduct, note, progress
from credalens.cli.inputs import Inputs, Manners, Measuring, command, typed
from credalens.cli.score import describe, show_table, skipped_path, write_dropped

if TYPE_CHECKING:
    from credalens.datasets.files import Ensemble
    from credalens.evaluation.bootstrap import ScoreQuality
    from credalens.evaluation.guarantee import Guarantee
    from credalens.evaluation.scores import ScoreColumns

#: Names of the files that are written.
EVALUATION, GUARANTEE, CURVES = "evaluation.csv", "guarantee.csv", "rejection_curves.png"

EXAMPLES = """\
Examples:

credalens evaluate 'runs/*.npz' --measures tv,entropy -o evaluation

credalens evaluate model_*.csv --labels truth.csv --target-accuracy 0.99 --confidence 0.95

The guarantee: one fifth of the labelled rows, drawn at random, proposes thresholds; on the others
each is tested by its exact binomial (Clopper-Pearson) bound, one after the other, each keeping more
than the one before, up to the first that fails. Testing in a fixed sequence corrects for the search
over thresholds (Angelopoulos, Bates, Candes, Jordan, Lei: Learn then Test, 2021). It holds for rows
drawn like the labelled ones, and for several --score the confidence is shared among them.
"""


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(epilog=EXAMPLES)(command(evaluate))


def evaluate(
    inputs: Inputs,
    measuring: Measuring,
    manners: Manners,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for evaluation.csv, rejection_curves.png and, with --target-accuracy, "
            "guarantee.csv.",
            show_default="only print",
        ),
    ] = None,
    bins: Annotated[int, typer.Option(min=2, help="Points on the rejection curve.")] = 30,
    bootstrap: Annotated[int, typer.Option(min=0, help="Resamples for the intervals.")] = 2000,
    target_accuracy: Annotated[
        float | None,
        typer.Option(help="Find how much can be kept with this accuracy, and the threshold."),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="Confidence of the intervals and of the guarantee.", show_default="0.95"),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(help="Scores for --target-accuracy, a,b,c.", show_default="the first"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of resamples and split.", show_default="0")
    ] = None,
) -> None:
    """Tell how well each score finds the errors; labels are needed.

    For every score: AUC, the area under accuracy against share rejected (1 is perfect); MR, the
    share of the curve's steps that do not lose accuracy; and the accuracy of the rest when the most
    uncertain 0, 10, 20 and 50 % are rejected, all with bootstrap intervals.

    With --target-accuracy: the largest share of predictions that can be kept so that the accuracy
    of what is kept is at least the target with the given confidence, and the threshold to use on
    new predictions.

    A folder that score --engine dask has written is evaluated by the scores in it, of any number of
    rows; from 10 million on there are no bootstrap intervals, and a guarantee comes from about as
    many rows, drawn at random.
    """  # fmt: skip
    from credalens._files import check_folder
    from credalens.datasets.cluster.results import is_score_folder

    with conduct(debug=manners.debug, quiet=manners.quiet, threads=manners.threads):
        if score is not None and target_accuracy is None:
            raise ValueError("--score: is for --target-accuracy; pass both, or neither")
        if not bootstrap and target_accuracy is None:
            for option, given in (("--confidence", confidence), ("--seed", seed)):
                if given is not None:
                    raise ValueError(
                        f"{option}: is for --bootstrap or --target-accuracy; leave it out"
                    )
        confidence, seed = 0.95 if confidence is None else confidence, seed or 0
        _check_shares(target_accuracy, confidence)
        if output is not None:
            check_folder(output)
        resampling: dict[str, Any] = {
            "n_bootstrap": bootstrap,
            "confidence": confidence,
            "random_state": seed,
        }
        if is_score_folder(inputs.files):
            for option in (*typed(inputs), *typed(measuring)):
                if option != "--labels":
                    raise ValueError(
                        f"{option}: is for predictions, these are scores; leave it out"
                    )
            found = _of_folder(inputs, manners, score, bins, resampling)
        else:
            found = _of_predictions(inputs, measuring, manners, score, bins, resampling, output)
        answers = {}
        if target_accuracy is not None:
            answers = _guarantees(*found.labelled(), target_accuracy, confidence, seed)
        # Files first: who reads what is printed may stop reading.
        if output is not None:
            for path in _write(output, found, answers):
                note(f"wrote {path}", manners.quiet)
        _show(found.n_rows, found.qualities, resampling["n_bootstrap"], confidence)
        if target_accuracy is not None:
            _show_guarantees(answers, target_accuracy, confidence)


#: Rows of a folder of scores up to which a few numbers of each are held in memory.
HELD_ROWS = 10_000_000


@dataclass(frozen=True)
class _Found:
    """Curves and numbers of all scores."""

    n_rows: int
    qualities: dict[str, "ScoreQuality"]
    #: Gives what was right, and the scores that a guarantee is wanted for.
    labelled: Callable[[], tuple[Any, dict[str, Any]]]
    #: Whether bad rows were left out, and written down.
    skipped: bool = False


def _of_predictions(
    inputs: Inputs,
    measuring: Measuring,
    manners: Manners,
    score: str | None,
    bins: int,
    resampling: dict[str, Any],
    output: Path | None,
) -> _Found:
    """Score the predictions and evaluate the scores, in memory."""
    ensemble = inputs.open(measuring)
    columns = measuring.scores(ensemble.n_classes)
    chosen = _chosen(score, columns.names)
    side = skipped_path(None if output is None else output / EVALUATION)
    written = [] if output is None else [output / name for name in (EVALUATION, GUARANTEE, CURVES)]
    inputs.keep(ensemble, measuring, side, *written)
    describe(ensemble, manners)
    if not ensemble.has_labels:
        raise ValueError("labels: no file has them; pass --labels FILE or --label-column NAME")
    correct, scores, dropped = _collect(ensemble, columns, inputs, manners)
    if dropped:
        side.parent.mkdir(parents=True, exist_ok=True)
        write_dropped(dropped, side)
    if not len(correct):
        raise ValueError("rows: none is left; mend the files")
    qualities = _qualities(correct, scores, bins, resampling, manners)
    wanted = {name: scores[name] for name in chosen}
    return _Found(len(correct), qualities, lambda: (correct, wanted), bool(dropped))


def _of_folder(
    inputs: Inputs, manners: Manners, score: str | None, bins: int, resampling: dict[str, Any]
) -> _Found:
    """Evaluate scores where they lie; without resamples, whatever their number."""
    from credalens.datasets.cluster.results import ScoreDataset
    from credalens.evaluation.selection import streamed_quality

    stored = ScoreDataset(Path(inputs.files[0]), inputs.labels)
    chosen = _chosen(score, stored.names)
    if resampling["n_bootstrap"] and stored.rows > HELD_ROWS:
        note(f"no bootstrap intervals for more than {HELD_ROWS} rows", manners.quiet)
        resampling["n_bootstrap"] = 0
    if resampling["n_bootstrap"]:
        held = stored.load(stored.names, HELD_ROWS)
        qualities = _qualities(*held, bins, resampling, manners)
    else:
        qualities = {}
        with progress("ordering", manners.quiet) as show:
            for i, name in enumerate(stored.ranked):
                show(i * stored.rows, len(stored.ranked) * stored.rows)
                blocks = stored.blocks(stored.columns(name))
                qualities[name] = streamed_quality(blocks, stored.rows, bins)
    seed = resampling["random_state"]
    return _Found(stored.rows, qualities, lambda: stored.load(chosen, HELD_ROWS, seed))


def _check_shares(target: float | None, confidence: float) -> None:
    for name, value in (("--target-accuracy", target), ("--confidence", confidence)):
        if value is not None and not 0 < value < 1:
            raise ValueError(f"{name}: is {value:g}; pass a number between 0 and 1, e.g. 0.99")


def _chosen(score: str | None, names: tuple[str, ...]) -> list[str]:
    if score is None:
        return [names[0]]
    chosen = [name.strip() for name in score.split(",")]
    for name in chosen:
        if name not in names:
            raise ValueError(f"--score: is {name!r}; choose of {', '.join(names)}")
    return chosen


def _collect(
    ensemble: "Ensemble", columns: "ScoreColumns", inputs: Inputs, manners: Manners
) -> tuple[Any, dict[str, Any], list[Any]]:
    """Return what was right, the scores (these few columns are kept), and what was left out."""
    import numpy as np

    from credalens.datasets.files.scoring import scored_chunks

    pieces: list[dict[str, Any]] = []
    dropped: list[Any] = []
    with progress("scoring", manners.quiet) as show:
        for chunk, found, _ in scored_chunks(ensemble, columns, inputs.chunk_rows, 0, inputs.skip):
            pieces.append({name: found[name] for name in ("correct", *columns.names)})
            dropped.extend(chunk.dropped)
            show(chunk.stop, ensemble.expected_rows)
    whole = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return whole.pop("correct"), whole, dropped


def _qualities(
    correct: Any, scores: dict[str, Any], bins: int, resampling: dict[str, Any], manners: Manners
) -> dict[str, "ScoreQuality"]:
    from credalens.evaluation.bootstrap import score_quality
    from credalens.measures import Interval

    ranked = dict(scores)
    for stem in [name.removesuffix("_lower") for name in scores if name.endswith("_lower")]:
        if f"{stem}_upper" in scores:
            ends = (scores[f"{stem}_{end}"] for end in ("lower", "upper"))
            ranked[f"{stem} (interval)"] = Interval(*ends)
    qualities = {}
    with progress("ordering", manners.quiet) as show:
        for i, (name, score) in enumerate(ranked.items()):
            show(i * len(correct), len(ranked) * len(correct))
            qualities[name] = score_quality(correct, score, n_bins=bins, **resampling)
    return qualities


def _show(
    n_rows: int, qualities: dict[str, "ScoreQuality"], bootstrap: int, confidence: float
) -> None:
    from credalens.evaluation.bootstrap import REJECTED

    def told(numbers: Any) -> str:
        value, low, high = (float(x) for x in numbers)
        ends = "" if math.isnan(low) else f" {100 * low:.1f}-{100 * high:.1f}"
        return f"{100 * value:.2f}{ends}"

    columns: dict[str, list[Any]] = {"score": list(qualities)}
    columns["AUC %"] = [told(q.auc) for q in qualities.values()]
    columns["MR"] = [f"{float(q.monotonicity_ratio[0]):.2f}" for q in qualities.values()]
    for i, share in enumerate(REJECTED[1:], start=1):
        columns[f"{share:.0%} off"] = [told(q.accuracy_at[i]) for q in qualities.values()]
    everything = next(iter(qualities.values())).accuracy_at[0]
    rows = "the only row" if n_rows == 1 else f"all {n_rows} rows"
    typer.echo(f"Accuracy on {rows} in %: {told(everything)}")
    show_table("Accuracy of the rest in %, with the most uncertain share off", columns)
    if bootstrap:
        typer.echo(f"Ranges: {confidence:.0%} bootstrap intervals, {bootstrap} resamples.")


def _guarantees(
    correct: Any, scores: dict[str, Any], target: float, confidence: float, seed: int
) -> dict[str, "Guarantee"]:
    from credalens.evaluation.guarantee import guaranteed_threshold

    shared = 1 - (1 - confidence) / len(scores)
    return {
        name: guaranteed_threshold(correct, score, target, shared, seed)
        for name, score in scores.items()
    }


def _show_guarantees(answers: dict[str, "Guarantee"], target: float, confidence: float) -> None:
    from credalens._validation import counted
    from credalens.evaluation.guarantee import least_rows

    for name, found in answers.items():
        if found.threshold is None:
            typer.echo(
                f"{name}: no threshold reaches accuracy {target:g} with confidence {confidence:g} "
                f"on {counted(found.n_tested, 'test row')}; of those kept, at least "
                f"{least_rows(target, found.confidence)} must be right."
            )
            continue
        which = f"{found.kept:.1%} of the predictions, those with {name} <= {found.threshold!r}"
        if found.threshold == math.inf:
            which = "all predictions"
        typer.echo(
            f"{name}: keep {which}; their accuracy is at least {target:g} with confidence "
            f"{confidence:g} (observed {found.observed:.4f}, bound {found.bound:.4f}, "
            f"{counted(found.n_tested, 'test row')})."
        )


def _write(folder: Path, found: _Found, answers: dict[str, "Guarantee"]) -> list[Path]:
    """Write the numbers and the picture, each whole or not at all.

    What an earlier evaluation has left there and this one does not replace goes first: it would
    look as if it belonged to this one.
    """
    from dataclasses import asdict, fields

    from matplotlib.figure import Figure

    from credalens._files import replacing
    from credalens.datasets.files.opening import SKIPPED
    from credalens.datasets.files.output import as_batch, remove_earlier, write_csv
    from credalens.evaluation.guarantee import Guarantee
    from credalens.plots import rejection_curves

    folder.mkdir(parents=True, exist_ok=True)
    if not answers:
        told = ["score", *(field.name for field in fields(Guarantee))]
        remove_earlier(folder / GUARANTEE, told)
    if not found.skipped:
        remove_earlier(skipped_path(folder / EVALUATION), SKIPPED)
    tables = {EVALUATION: _rows(found.qualities)}
    if answers:
        rows = [{"score": name, **asdict(answer)} for name, answer in answers.items()]
        tables[GUARANTEE] = [
            {k: math.nan if v is None else v for k, v in row.items()} for row in rows
        ]
    for name, rows in tables.items():
        batch = as_batch({key: [row[key] for row in rows] for key in rows[0]})
        with replacing(folder / name) as path, path.open("wb") as stream:
            write_csv([batch], stream)
    with replacing(folder / CURVES) as path:
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        curves = {name: q.curve for name, q in found.qualities.items()}
        rejection_curves(curves, ax=figure.add_subplot())
        figure.savefig(path, dpi=150)
    return [*(folder / name for name in tables), folder / CURVES]


def _rows(qualities: dict[str, "ScoreQuality"]) -> list[dict[str, Any]]:
    from credalens.evaluation.bootstrap import REJECTED

    rows = []
    for name, quality in qualities.items():
        row: dict[str, Any] = {"score": name}
        numbers = {"auc": quality.auc, "mr": quality.monotonicity_ratio}
        for share, told in zip(REJECTED, quality.accuracy_at, strict=True):
            numbers[f"accuracy_at_{share:.0%}".rstrip("%")] = told
        for key, (value, low, high) in numbers.items():
            row.update({key: float(value), f"{key}_low": float(low), f"{key}_high": float(high)})
        rows.append(row)
    return rows
