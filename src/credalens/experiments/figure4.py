"""The paper's Figure 4: the ensemble of Figure 3 with a member that always says the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credalens import _validation
from credalens.datasets import Predictions
from credalens.experiments import selective
from credalens.experiments.figure1 import save
from credalens.experiments.figure2 import Curves, curves
from credalens.experiments.relative_likelihood import Trained
from credalens.experiments.tables import Cell, Table


def with_constant(predictions: Predictions, constant_class: int) -> Predictions:
    """Return the predictions with the paper's p0 in front: all mass on one class, whatever x is.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.datasets import Predictions
    >>> from credalens.experiments.figure4 import with_constant
    >>> given = Predictions(("a",), np.full((2, 1, 2), 0.5), np.array([0, 1]))
    >>> with_constant(given, 1).members[0]
    array([[0. , 1. ],
           [0.5, 0.5]])
    """
    n, _, n_classes = predictions.members.shape
    if _validation.whole_number(constant_class, "constant_class", least=0) >= n_classes:
        _validation.refuse(
            "constant_class", f"is {constant_class}", f"classes are 0 to {n_classes - 1}"
        )
    constant = np.zeros((n, 1, n_classes), predictions.members.dtype)
    constant[..., constant_class] = 1
    members = np.concatenate([constant, predictions.members], axis=1)
    return Predictions(("constant", *predictions.names), members, predictions.labels)


def run(
    trained: Trained, out: Path, *, constant_class: int = 0, batches: int = 10, bins: int = 30
) -> str:
    """Draw the figure, write it with its numbers to the folder `out`, and return the tables."""
    n_classes = len(trained.class_names)
    options: dict[str, Any] = {"batches": batches, "bins": bins, "seed": trained.settings.seed}
    spoiled = with_constant(trained.predictions, constant_class)
    before = curves(trained.predictions, ends=True, **options)
    found = curves(spoiled, ends=True, **options)
    name = f"{constant_class} ({trained.class_names[constant_class]})"
    title = (
        f"{trained.settings.dataset}: with a member that puts all mass on class {name}, "
        f"accuracy of the vote {found.accuracy:.4f}"
    )
    save(selective.draw(found, n_classes, title), out, "figure4")
    measured = list(selective.rows(found, n_classes))
    healthy = list(selective.rows(before, n_classes))
    tables = [
        selective.measures_table(
            f"With the constant member p0 = class {name}: accuracy of the vote "
            f"{found.accuracy:.4f}, {batches} batches",
            measured,
        ),
        _beside(healthy, measured),
        _every_class(trained, options),
    ]
    notes = [*verdicts(healthy, measured, found), *selective.describe(trained)]
    return selective.write(out, "figure4", found, measured, tables, notes)


def verdicts(
    healthy: Sequence[selective.Row], spoiled: Sequence[selective.Row], found: Curves
) -> list[str]:
    """Say which curves were turned over, as the numbers have it."""
    worse, were = (
        ", ".join(row.name for row in some if row.worse_than_random) or "none"
        for some in (spoiled, healthy)
    )
    constant = ", ".join(row.name for row in spoiled if row.constant)
    dips = []
    for row in spoiled:
        mean = np.mean([c.accuracy for c in found.curves[row.component, row.family]], axis=0)
        lowest = int(np.argmin(mean))
        if row.worse_than_random:
            dips.append(
                f"{row.name} {100 * mean[lowest]:.1f} % at {found.random.rejection[lowest]:.2f} "
                f"rejected, {100 * mean[-1]:.1f} % at the end"
            )
    lines = [f"Worse than a random order with p0: {worse}; without p0: {were}."]
    if constant:
        lines.append(f"The same for every image with p0, so of no use: {constant}.")
    if dips:
        lines.append(
            f"Accuracy of the vote on all {100 * found.accuracy:.1f} %; lowest point of each curve "
            f"that is worse than random: {'; '.join(dips)}."
        )
    return lines


def _beside(healthy: Sequence[selective.Row], spoiled: Sequence[selective.Row]) -> Table:
    table = Table(
        "Without p0 and with it",
        ("", "measure", "AUC % without", "with", "MR % without", "with", "median share without",
         "with"),
    )  # fmt: skip
    for old, new in zip(healthy, spoiled, strict=True):
        table.rows.append(
            [
                Cell(old.component),
                Cell(old.family),
                Cell(f"{old.auc[0]:.2f}", old.worse_than_random),
                Cell(f"{new.auc[0]:.2f}", new.worse_than_random),
                Cell(f"{old.mr[0]:.1f}"),
                Cell(f"{new.mr[0]:.1f}"),
                Cell(f"{old.share:.3f}"),
                Cell(f"{new.share:.3f}"),
            ]
        )
    return table


def _every_class(trained: Trained, options: dict[str, Any]) -> Table:
    """Return the AUC of each measure for every choice of the constant class."""
    n_classes = len(trained.class_names)
    found = [curves(with_constant(trained.predictions, y), **options) for y in range(n_classes)]
    measured = [list(selective.rows(each, n_classes)) for each in found]
    table = Table(
        "AUC % for every class that p0 may predict",
        ("p0", "class", "vote %", *(row.name for row in measured[0])),
    )
    for y, name in enumerate(trained.class_names):
        table.rows.append(
            [
                Cell(str(y)),
                Cell(name),
                Cell(f"{100 * found[y].accuracy:.2f}"),
                *(Cell(f"{row.auc[0]:.2f}", row.worse_than_random) for row in measured[y]),
            ]
        )
    return table
