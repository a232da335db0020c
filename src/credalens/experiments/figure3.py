"""Figure 3 of the paper: selective prediction with members of increasing relative likelihood."""

from __future__ import annotations

from pathlib import Path

from credalens.experiments import selective
from credalens.experiments.figure2 import curves
from credalens.experiments.relative_likelihood import TrainedEnsemble


def run(trained: TrainedEnsemble, out: Path, *, batches: int = 10, bins: int = 30) -> str:
    """Draw the figure, write it and its numbers to the folder `out`, and return the tables."""
    predictions, settings = trained.predictions, trained.settings
    result = curves(predictions, batches=batches, bins=bins, seed=settings.seed, ends=True)
    title = (
        f"{settings.dataset}: {len(predictions.names)} members at the levels "
        f"{trained.levels[0]:g} to {trained.levels[-1]:g}, "
        f"accuracy of the vote {result.accuracy:.4f}"
    )
    rows = list(selective.rows(result, len(trained.class_names)))
    caption = f"Accuracy of the vote {result.accuracy:.4f}, {batches} batches"
    tables = [selective.members_table(trained), selective.measures_table(caption, rows)]
    notes = selective.describe(trained)
    return selective.write(out, "figure3", title, trained, result, rows, tables, notes)
