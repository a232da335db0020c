"""Figure 3 of the paper: selective prediction with members of increasing relative likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from credalens.experiments import selective
from credalens.experiments.figure2 import curves
from credalens.experiments.relative_likelihood import TrainedEnsemble


def run(
    ensembles: Sequence[TrainedEnsemble],
    out: Path,
    *,
    batches: int = 10,
    bins: int = 30,
    command: str = "",
) -> str:
    """Draw a figure per ensemble, write figures and numbers to `out`, and return the tables."""
    parts = [make_part(trained, out, batches, bins) for trained in ensembles]
    return selective.write(out, "figure3", parts, summary(parts), command)


def make_part(trained: TrainedEnsemble, out: Path, batches: int, bins: int) -> selective.Part:
    """Return the part of the page of one ensemble."""
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
    return selective.make_part(out, "figure3", title, trained, result, rows, tables, notes)


def summary(parts: Sequence[selective.Part]) -> list[str]:
    """Return the areas of each ensemble in sentences."""
    lines = [
        "The paper fine-tunes a vision transformer with 86 million parameters; here small "
        "convolutional networks are trained, so that the protocol is that of the paper and the "
        "numbers, which the paper prints in the legends of its figure, are not."
    ]
    datasets = {part.trained.settings.dataset for part in parts}
    if "mnist" in datasets and "svhn" not in datasets:
        lines.append("MNIST takes the place of SVHN, whose files were not available.")
    for part in parts:
        trained = part.trained
        spread = trained.relative_likelihoods
        worse = ", ".join(row.name for row in part.rows if row.worse_than_random) or "none"
        lines.append(
            f"{part.section.title}: R of the members {spread.min():.2f} to {spread.max():.2f}, "
            f"accuracies {trained.accuracies.min():.3f} to {trained.accuracies.max():.3f}, of the "
            f"vote {part.result.accuracy:.4f}; AUC in %: {selective.aucs(part.rows)}; worse than "
            f"a random order: {worse}."
        )
    return lines
