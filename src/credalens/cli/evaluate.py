"""``credalens evaluate``: how well the scores find the errors, and how much can be kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import note, progress
from credalens.cli.evaluate_output import FILES, print_evaluation, print_guarantees, write_files
from credalens.cli.evaluate_policy import EvaluatedRows, PolicyOptions, RepairedColumns
from credalens.cli.evaluate_regression import evaluate_regression
from credalens.cli.options import (
    CommonOptions,
    EnsembleInputs,
    MeasureOptions,
    changed_options,
    examples,
)
from credalens.cli.policies import check_repair, load_policy
from credalens.cli.predictions import open_predictions, write_skipped
from credalens.cli.reading import skipped_path
from credalens.cli.regression import RegressionOptions

if TYPE_CHECKING:
    from credalens.engine.results import ScoreDataset
    from credalens.evaluation.best_score import BestScore
    from credalens.evaluation.bootstrap import BootstrapResult
    from credalens.evaluation.diagnosis import MemberDiagnosis

#: Largest number of rows of a score folder that are held in memory.
HELD_ROWS = 10_000_000

#: Metrics that are printed by default; `evaluation.csv` has all.
DEFAULT_METRICS = "aurc,augrc,prr,auroc"

EXAMPLES = (
    examples(
        "credalens evaluate 'runs/*.npz' --measures tv,entropy -o evaluation",
        "credalens evaluate 'runs/*.npz' --metrics aurc,eaurc,auroc",
        "credalens evaluate model_*.csv --labels truth.csv --target-accuracy 0.99",
        "credalens evaluate model_*.csv --labels truth.csv --target-accuracy 0.99 --policy p.json",
        "credalens evaluate model_*.csv --labels truth.csv --target-precision cat=0.9,dog=0.95",
        "credalens evaluate --regression model_*.csv --labels truth.csv --loss squared",
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
    inputs: EnsembleInputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    regression: RegressionOptions,
    policy: PolicyOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for evaluation.csv, rejection_curves.png (with --regression "
            "risk_curves.png) and, with --target-accuracy, guarantee.csv.",
            show_default="print only",
        ),
    ] = None,
    metrics: Annotated[
        str,
        typer.Option(
            help="Comma-separated metrics of the second table: aurc, eaurc, auarc, augrc, eaugrc, "
            "prr, auroc."
        ),
    ] = DEFAULT_METRICS,
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
    loss: Annotated[
        str | None,
        typer.Option(
            help="With --regression, the error of a prediction: absolute or squared.",
            show_default="absolute",
        ),
    ] = None,
) -> None:
    """Evaluate how well each score finds the errors. Labels are required.

    For every score: AUC, the area under accuracy against the share rejected (1 is perfect); MR, the
    share of the steps of the curve that do not lose accuracy; the accuracy of the remaining rows
    when the most uncertain 0, 10, 20 and 50 % are rejected; and the metrics of selective prediction
    that --metrics lists. The files have bootstrap intervals of all of them.

    Baselines are always included: confidence_total (1 minus the largest mean probability),
    information_total (entropy of the mean) and information_epistemic (mutual information). A line
    names the best score, with a paired bootstrap interval of its difference to the first one.

    With --target-accuracy: the largest share of the predictions whose accuracy is at least the
    target at the given confidence level, and the threshold to apply to new predictions.

    With --target-precision: one threshold per class, such that the share of the kept predictions of
    this class that are correct reaches the target. With --target-sensitivity: one threshold, such
    that the share of the instances of a class that are not kept as another class reaches the
    target. With --repair, predictions are repaired first. With --policy, the threshold, the score
    and the guarantees are written to a file that score --policy and serve apply to new predictions.

    With --regression, --labels has the true values. The tables have the mean absolute or squared
    error of the remaining rows, and the prediction-rejection ratio PRR: 1 if the score orders the
    rows by their errors, 0 for a random order. Baselines are variance_total, variance_aleatoric and
    variance_epistemic, those of the models as a sample.

    A folder written by score --engine dask is evaluated from its scores, for any number of rows.
    Above 10 million rows there are no bootstrap intervals, and a guarantee is computed from a
    random sample of about that size.
    """
    from credalens._extras import require
    from credalens._files import check_folder
    from credalens.engine.results import is_score_folder
    from credalens.evaluation.guarantee import guaranteed_threshold

    with common.context():
        shown = _selected_metrics(metrics)
        if not regression.regression:
            regression.check_unused()
            if loss is not None:
                raise ValueError("--loss: applies to --regression; pass both, or neither")
        policy.check(target_accuracy, score, inputs, measure_options.files)
        if score is not None and target_accuracy is None and not policy.by_class:
            raise ValueError("--score: applies to --target-accuracy; pass both, or neither")
        if not bootstrap and target_accuracy is None and not policy.by_class:
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
        if regression.regression:
            of_classes = {"--target-accuracy": target_accuracy, "--score": score, **policy.given}
            for option, given in of_classes.items():
                if given is not None:
                    raise ValueError(f"{option}: applies to classes; omit it, or --regression")
            evaluate_regression(
                regression, inputs, measure_options, common, output,
                None if metrics == DEFAULT_METRICS else shown, loss or "absolute", settings,
            )  # fmt: skip
            return
        if is_score_folder(inputs.files):
            for option in (*changed_options(inputs), *changed_options(measure_options)):
                if option not in ("--labels", "--ignore-label"):
                    raise ValueError(f"{option}: applies to predictions, not to scores; omit it")
            for option in (name for name, given in policy.given.items() if given is not None):
                raise ValueError(f"{option}: needs the predictions; pass their files")
            result = _evaluate_folder(inputs, common, score, settings)
        else:
            result = _evaluate_predictions(
                inputs, measure_options, common, score, settings, output, policy.repair
            )
        guarantees = {}
        if target_accuracy is not None:
            correct, scores = result.labelled()
            level = 1 - (1 - confidence) / len(scores)  # Bonferroni correction
            for name, values in scores.items():
                guarantees[name] = guaranteed_threshold(
                    correct, values, target_accuracy, level, seed
                )
        chosen = policy.choose(result.rows, inputs, target_accuracy, confidence, seed)
        # Write the files first: the reader of a pipe may stop reading.
        if output is not None:
            for path in write_files(output, result, guarantees):
                note(f"wrote {path}", common.quiet)
        print_evaluation(result, shown, settings["n_resamples"], confidence)
        if target_accuracy is not None:
            print_guarantees(guarantees, target_accuracy, confidence)
        policy.finish(chosen, common.quiet)


@dataclass(frozen=True)
class Evaluation:
    """Curves and metrics of all scores."""

    n_rows: int
    qualities: dict[str, "BootstrapResult"]
    #: Return which predictions are correct, and the scores that need a guarantee.
    labelled: Callable[[], tuple[Any, dict[str, Any]]]
    #: Whether invalid rows were skipped.
    skipped: bool = False
    #: The score with the largest AUC.
    best: "BestScore | None" = None
    #: Share of the most frequent label.
    majority_class: float | None = None
    diagnosis: "MemberDiagnosis | None" = None
    #: What a policy is chosen from.
    rows: "EvaluatedRows | None" = None


def _selected_metrics(text: str) -> list[str]:
    from credalens.evaluation.curve_metrics import METRICS

    names = [name.strip().lower().replace("-", "") for name in text.split(",") if name.strip()]
    for name in names:
        if name not in METRICS:
            raise ValueError(f"--metrics: is {name!r}; choose from {', '.join(METRICS)}")
    return names


def _evaluate_predictions(
    inputs: EnsembleInputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    score: str | None,
    settings: dict[str, Any],
    output: Path | None,
    repair: Path | None = None,
) -> Evaluation:
    """Score the predictions and evaluate the scores in memory."""
    import numpy as np

    from credalens.evaluation.baselines import BASELINE_FAMILIES, BASELINES
    from credalens.evaluation.diagnosis import MemberDiagnosis
    from credalens.evaluation.member_sums import MemberSums

    side = skipped_path(None if output is None else output / FILES[0])
    written = [] if output is None else [output / name for name in FILES]
    predictions = open_predictions(inputs, measure_options, common, side, *written, diagnose=False)
    ensemble, own = predictions.ensemble, predictions.columns
    if not ensemble.has_labels:
        raise ValueError("labels: no file has labels; pass --labels FILE or --label-column NAME")
    names = tuple(dict.fromkeys([*own.names, *BASELINES]))
    selected = _selected(score, names)
    added = (family for family in BASELINE_FAMILIES if family not in own.measures)
    columns = replace(own, measures=(*own.measures, *added))
    sums = MemberSums(len(ensemble.names), ensemble.n_classes, labelled=True)
    counts = np.zeros(ensemble.n_classes, np.int64)
    blocks = []
    own_policy = None if repair is None else load_policy(repair)
    rows = EvaluatedRows(ensemble, columns)
    scored: Any = columns
    if own_policy is not None and repair is not None:
        check_repair(own_policy, ensemble, inputs, repair, common.quiet)
        rows.repair, scored = own_policy.repair, RepairedColumns(own_policy, columns)
    for chunk, values, _ in predictions.scored(scored):
        kept = chunk.labelled
        blocks.append({name: np.asarray(values[name])[kept] for name in ("correct", *names)})
        if chunk.labels is not None:
            labels = chunk.labels[kept]
            rows.add(labels, np.asarray(values["prediction"])[kept])
            counts += np.bincount(labels, minlength=ensemble.n_classes)
            if len(ensemble.names) > 1:
                some = chunk if kept.all() else chunk.take(kept)
                sums.add(some.members, labels, some.row_weights, some.mask)
    scores = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    correct = scores.pop("correct")
    if predictions.skipped:
        side.parent.mkdir(parents=True, exist_ok=True)
        write_skipped(predictions.skipped, side)
    if not len(correct):
        raise ValueError("rows: no valid row with a label is left; correct the files")
    needed = {name: scores[name] for name in selected}
    rows.scores = needed
    qualities, best = _qualities(correct, scores, settings, common)
    diagnosis = MemberDiagnosis(names=ensemble.names, **sums.figures()) if sums.n else None
    return Evaluation(
        len(correct),
        qualities,
        lambda: (correct, needed),
        bool(predictions.skipped),
        best,
        float(counts.max() / counts.sum()),
        diagnosis,
        rows,
    )


def _evaluate_folder(
    inputs: EnsembleInputs, common: CommonOptions, score: str | None, settings: dict[str, Any]
) -> Evaluation:
    """Evaluate a folder of scores; without bootstrap, block by block for any number of rows."""
    from credalens.engine.results import ScoreDataset

    dataset = ScoreDataset(Path(inputs.files[0]), inputs.labels, inputs.ignored)
    if dataset.unlabelled:
        note(f"credalens: {dataset.unlabelled} rows without a label are not evaluated",
             common.quiet)  # fmt: skip
    selected = _selected(score, dataset.names)
    if settings["n_resamples"] and dataset.rows > HELD_ROWS:
        note(f"no bootstrap intervals above {HELD_ROWS} rows", common.quiet)
        settings["n_resamples"] = 0
    if dataset.rows <= HELD_ROWS:
        loaded = dataset.load(dataset.names, HELD_ROWS)
        qualities, best = _qualities(*loaded, settings, common)
    else:
        qualities, best = _streamed_qualities(dataset, settings["n_bins"], common)
    seed = settings["random_state"]
    _note_missing_baselines(dataset.names, common)
    return Evaluation(
        dataset.rows,
        qualities,
        lambda: dataset.load(selected, HELD_ROWS, seed),
        best=best,
        majority_class=dataset.majority_class(),
    )


def _streamed_qualities(
    dataset: "ScoreDataset", bins: int, common: CommonOptions
) -> tuple[dict[str, "BootstrapResult"], "BestScore"]:
    """Return the curves of each score, computed block by block, and the best one."""
    from credalens.evaluation.best_score import best_score
    from credalens.evaluation.selection import streamed_quality

    qualities = {}
    with progress("ordering", common.quiet, rows=True) as update:
        for i, name in enumerate(dataset.ranked):
            update(i * dataset.rows, len(dataset.ranked) * dataset.rows)
            blocks = dataset.blocks(dataset.columns(name))
            qualities[name] = streamed_quality(blocks, dataset.rows, bins)
    areas = {name: float(quality.auc[0]) for name, quality in qualities.items()}
    return qualities, best_score([], areas, areas, n_resamples=0)


def _note_missing_baselines(names: Sequence[str], common: CommonOptions) -> None:
    from credalens.evaluation.baselines import BASELINE_FAMILIES, BASELINES

    if not set(BASELINES) <= set(names):
        families = ",".join(BASELINE_FAMILIES)
        note("credalens: the folder has no baselines to compare with; score the files with "
             f"--measures tv,{families}", common.quiet)  # fmt: skip


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
) -> tuple[dict[str, "BootstrapResult"], "BestScore"]:
    """Return the metrics of each score, and the best one."""
    from credalens.evaluation.best_score import best_score
    from credalens.evaluation.bootstrap import bootstrap
    from credalens.measures import Interval

    ranked: dict[str, Any] = {}
    for name, score in scores.items():
        ranked[name] = score
        stem = name.removesuffix("_upper")
        if stem != name and f"{stem}_lower" in scores:
            ranked[f"{stem} (interval)"] = Interval(scores[f"{stem}_lower"], score)
    qualities = {}
    with progress("ordering", common.quiet, rows=True) as update:
        for i, (name, score) in enumerate(ranked.items()):
            update(i * len(correct), (len(ranked) + 1) * len(correct))
            qualities[name] = bootstrap(correct, score, **settings)
        areas = {name: float(quality.auc[0]) for name, quality in qualities.items()}
        update(len(ranked) * len(correct), (len(ranked) + 1) * len(correct), "comparing")
        return qualities, best_score(correct, ranked, areas, **settings)
