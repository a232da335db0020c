"""The tables and files of ``credalens evaluate``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credalens.cli.command_context import echo, print_table
from credalens.cli.reading import skipped_path

if TYPE_CHECKING:
    from credalens.cli.evaluate import Evaluation
    from credalens.evaluation.bootstrap import BootstrapResult
    from credalens.evaluation.guarantee import Guarantee

#: Names of the files that are written.
FILES = EVALUATION, GUARANTEE, CURVES = "evaluation.csv", "guarantee.csv", "rejection_curves.png"


def _percent(estimate: Any) -> str:
    value, low, high = (float(x) for x in estimate)
    interval = "" if math.isnan(low) else f" {100 * low:.1f}-{100 * high:.1f}"
    return f"{100 * value:.2f}{interval}"


def print_evaluation(
    result: Evaluation, metrics: Sequence[str], bootstrap: int, confidence: float
) -> None:
    """Print the accuracy, the tables and the best score, after warnings about models."""
    from credalens.evaluation.bootstrap import REJECTED

    qualities = result.qualities
    if result.diagnosis is not None:
        for m in result.diagnosis.spoilers:
            echo(f"Warning: model {result.diagnosis.verdicts[m]}.")
    overall = next(iter(qualities.values())).accuracy_at[0]
    rows = "the only row" if result.n_rows == 1 else f"all {result.n_rows} rows"
    line = f"Accuracy on {rows} in %: {_percent(overall)}"
    if result.majority_class is not None:
        line += f"; of the most frequent class: {100 * result.majority_class:.2f}"
    echo(line)
    names = {name: _label(name) for name in qualities}
    columns: dict[str, list[Any]] = {"score": list(names.values())}
    columns["AUC %"] = [_percent(q.auc) for q in qualities.values()]
    columns["MR"] = [f"{float(q.monotonicity_ratio[0]):.2f}" for q in qualities.values()]
    for i, share in enumerate(REJECTED[1:], start=1):
        columns[f"{share:.0%} rejected"] = [_percent(q.accuracy_at[i]) for q in qualities.values()]
    print_table("Accuracy in % after rejecting the most uncertain rows", columns)
    values = {metric: [float(getattr(q, metric)[0]) for q in qualities.values()]
              for metric in metrics}  # fmt: skip
    if any(not math.isnan(value) for column in values.values() for value in column):
        table: dict[str, list[Any]] = {"score": list(names.values())}
        for metric, column in values.items():
            table[METRIC_LABELS[metric]] = column
        print_table("Metrics of selective prediction", table)
    if bootstrap:
        echo(f"Ranges: {confidence:.0%} bootstrap intervals, {bootstrap} resamples.")
    if result.best is not None:
        echo(result.best.describe())
        if result.best.clearly_better and " " not in result.best.name:
            echo(f"To use it: --score {result.best.name} here, --by in credalens pick.")


#: Headings of the metrics; an arrow points to better values.
METRIC_LABELS = {
    "aurc": "AURC ↓",
    "eaurc": "E-AURC ↓",
    "auarc": "AUARC ↑",
    "augrc": "AUGRC ↓",
    "eaugrc": "E-AUGRC ↓",
    "prr": "PRR ↑",
    "auroc": "AUROC ↑",
}


def _label(name: str) -> str:
    from credalens.evaluation.baselines import BASELINES

    return f"{name} (baseline)" if name in BASELINES else name


def print_guarantees(guarantees: dict[str, Guarantee], target: float, confidence: float) -> None:
    """Print what can be kept at the target accuracy."""
    from credalens._validation import counted
    from credalens.evaluation.guarantee import least_rows

    for name, result in guarantees.items():
        if result.threshold is None:
            echo(
                f"{name}: no threshold reaches accuracy {target:g} with confidence {confidence:g} "
                f"on {counted(result.n_tested, 'test row')}; at least "
                f"{least_rows(target, result.confidence)} kept rows must be correct."
            )
            continue
        kept = f"{result.kept:.1%} of the predictions, those with {name} <= {result.threshold!r}"
        if result.threshold == math.inf:
            kept = "all predictions"
        echo(
            f"{name}: keep {kept}; their accuracy is at least {target:g} with confidence "
            f"{confidence:g} (observed {result.observed:.4f}, bound {result.bound:.4f}, "
            f"{counted(result.n_tested, 'test row')})."
        )


def write_files(folder: Path, result: Evaluation, guarantees: dict[str, Guarantee]) -> list[Path]:
    """Write the tables and the figure.

    Files of an earlier evaluation that this one does not replace are removed first, since they
    would seem to belong to this one.
    """
    from dataclasses import asdict, fields

    from matplotlib.figure import Figure

    from credalens._files import atomic_write
    from credalens.evaluation.guarantee import Guarantee
    from credalens.io.formats import DROPPED_COLUMNS
    from credalens.io.output import remove_own_table
    from credalens.io.tables import as_batch, write_csv
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
        figure = Figure(figsize=(6.4, 5.6), layout="constrained")
        curves = {name: q.curve for name, q in result.qualities.items()}
        rejection_curves(curves, ax=figure.add_subplot())
        figure.savefig(path, dpi=150)
    return [*(folder / name for name in tables), folder / CURVES]


def _row(name: str, quality: BootstrapResult) -> dict[str, Any]:
    from credalens.evaluation.bootstrap import REJECTED
    from credalens.evaluation.curve_metrics import METRICS

    row: dict[str, Any] = {"score": name}
    estimates = {"auc": quality.auc, "mr": quality.monotonicity_ratio}
    for share, accuracy in zip(REJECTED, quality.accuracy_at, strict=True):
        estimates[f"accuracy_at_{share:.0%}".rstrip("%")] = accuracy
    estimates |= {name: getattr(quality, name) for name in METRICS}
    for key, (value, low, high) in estimates.items():
        row.update({key: float(value), f"{key}_low": float(low), f"{key}_high": float(high)})
    return row
