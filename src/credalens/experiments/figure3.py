"""The paper's Figure 3: selective prediction with an ensemble of growing relative likelihood."""

from __future__ import annotations

from pathlib import Path

from credalens.experiments import selective
from credalens.experiments.figure1 import save
from credalens.experiments.figure2 import curves
from credalens.experiments.relative_likelihood import Trained


def run(trained: Trained, out: Path, *, batches: int = 10, bins: int = 30) -> str:
    """Draw the figure, write it with its numbers to the folder `out`, and return the tables."""
    given = trained.predictions
    found = curves(given, batches=batches, bins=bins, seed=trained.settings.seed, ends=True)
    n_classes = len(trained.class_names)
    title = (
        f"{trained.settings.dataset}: {len(given.names)} members at the levels "
        f"{trained.levels[0]:g} to {trained.levels[-1]:g}, "
        f"accuracy of the vote {found.accuracy:.4f}"
    )
    save(selective.draw(found, n_classes, title), out, "figure3")
    measured = list(selective.rows(found, n_classes))
    tables = [
        selective.members_table(trained),
        selective.measures_table(
            f"Accuracy of the vote {found.accuracy:.4f}, {batches} batches", measured
        ),
    ]
    return selective.write(out, "figure3", found, measured, tables, selective.describe(trained))
