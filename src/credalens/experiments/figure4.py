"""Figure 4 of the paper: the ensemble of Figure 3 with a constant member."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credalens import _validation
from credalens.experiments import selective
from credalens.experiments.figure2 import Curves, curves
from credalens.experiments.output import Cell, Table
from credalens.experiments.relative_likelihood import TrainedEnsemble
from credalens.io import Predictions


def with_constant(predictions: Predictions, constant_class: int) -> Predictions:
    """Return the predictions with a first member p0 that predicts one class for every input."""
    n, _, n_classes = predictions.members.shape
    if _validation.whole_number(constant_class, "constant_class", least=0) >= n_classes:
        _validation.raise_invalid(
            "constant_class", f"is {constant_class}", f"classes are 0 to {n_classes - 1}"
        )
    constant = np.zeros((n, 1, n_classes), predictions.members.dtype)
    constant[..., constant_class] = 1
    members = np.concatenate([constant, predictions.members], axis=1)
    return Predictions(("constant", *predictions.names), members, predictions.labels)


def run(
    ensembles: Sequence[TrainedEnsemble],
    out: Path,
    *,
    constant_class: int = 0,
    batches: int = 10,
    bins: int = 30,
    command: str = "",
) -> str:
    """Draw a figure per ensemble, write figures and numbers to `out`, and return the tables."""
    parts, summary = [], []
    for trained in ensembles:
        part, lines = make_part(trained, out, constant_class, batches, bins)
        parts.append(part)
        summary += [f"{part.section.title}: {line}" for line in lines]
    return selective.write(out, "figure4", parts, summary, command)


def make_part(
    trained: TrainedEnsemble, out: Path, constant_class: int, batches: int, bins: int
) -> tuple[selective.Part, list[str]]:
    """Return the part of the page of one ensemble, and its summary."""
    n_classes = len(trained.class_names)
    options: dict[str, Any] = {"batches": batches, "bins": bins, "seed": trained.settings.seed}
    extended = with_constant(trained.predictions, constant_class)
    before = curves(trained.predictions, ends=True, **options)
    result = curves(extended, ends=True, **options)
    name = f"{constant_class} ({trained.class_names[constant_class]})"
    title = (
        f"{trained.settings.dataset}: with a member that always predicts class {name}, "
        f"accuracy of the vote {result.accuracy:.4f}"
    )
    rows = list(selective.rows(result, n_classes))
    rows_before = list(selective.rows(before, n_classes))
    caption = (
        f"With the constant member p0 = class {name}: accuracy of the vote "
        f"{result.accuracy:.4f}, {batches} batches"
    )
    tables = [
        selective.measures_table(caption, rows),
        _comparison(rows_before, rows),
        _every_class(trained, options),
    ]
    lines = verdicts(rows_before, rows, result)
    notes = [*lines[1:], *selective.describe(trained)]
    part = selective.make_part(out, "figure4", title, trained, result, rows, tables, notes)
    total, epistemic = (
        next(row for row in rows_before if row.name == name) for name in ("TU tv", "EU tv")
    )
    after = {row.name: row.auc[0] for row in rows}
    return part, [
        f"with p0 = class {name}, the AUC of TU tv changes from {total.auc[0]:.2f} to "
        f"{after['TU tv']:.2f} %, of EU tv from {epistemic.auc[0]:.2f} to {after['EU tv']:.2f} %; "
        f"a random order has {100 * result.accuracy:.2f} %. {lines[0]}"
    ]


def verdicts(
    before: Sequence[selective.Row], after: Sequence[selective.Row], result: Curves
) -> list[str]:
    """Return sentences on the measures that are worse than a random order."""
    worse, worse_before = (
        ", ".join(row.name for row in rows if row.worse_than_random) or "none"
        for rows in (after, before)
    )
    lines = [f"Worse than a random order with p0: {worse}; without p0: {worse_before}."]
    constant = ", ".join(row.name for row in after if row.constant)
    if constant:
        lines.append(f"Constant over all images with p0, hence without information: {constant}.")
    minima = []
    for row in after:
        mean = np.mean([c.accuracy for c in result.curves[row.component, row.family]], axis=0)
        lowest = int(np.argmin(mean))
        if row.worse_than_random:
            minima.append(
                f"{row.name} {100 * mean[lowest]:.1f} % at {result.random.rejection[lowest]:.2f} "
                f"rejected, {100 * mean[-1]:.1f} % at the end"
            )
    if minima:
        lines.append(
            f"Accuracy of the vote on all images {100 * result.accuracy:.1f} %; minimum of each "
            f"curve that is worse than random: {'; '.join(minima)}."
        )
    return lines


def _comparison(before: Sequence[selective.Row], after: Sequence[selective.Row]) -> Table:
    table = Table(
        "Without and with p0",
        ("", "measure", "AUC % without", "with", "MR % without", "with",
         "median / maximum without", "with"),
    )  # fmt: skip
    for old, new in zip(before, after, strict=True):
        table.add(
            old.component, old.family,
            Cell(f"{old.auc[0]:.2f}", old.worse_than_random),
            Cell(f"{new.auc[0]:.2f}", new.worse_than_random),
            f"{old.mr[0]:.1f}", f"{new.mr[0]:.1f}", f"{old.share:.3f}", f"{new.share:.3f}",
        )  # fmt: skip
    return table


def _every_class(trained: TrainedEnsemble, options: dict[str, Any]) -> Table:
    """Return the AUC of each measure for every choice of the constant class."""
    n_classes = len(trained.class_names)
    results = [curves(with_constant(trained.predictions, y), **options) for y in range(n_classes)]
    rows = [list(selective.rows(result, n_classes)) for result in results]
    table = Table(
        "AUC % for every class of p0",
        ("p0", "class", "vote %", *(row.name for row in rows[0])),
    )
    for y, name in enumerate(trained.class_names):
        cells = (Cell(f"{row.auc[0]:.2f}", row.worse_than_random) for row in rows[y])
        table.add(str(y), name, f"{100 * results[y].accuracy:.2f}", *cells)
    return table
