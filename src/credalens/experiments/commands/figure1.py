"""``credalens reproduce figure1``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from credalens.experiments.commands._running import conduct

EXAMPLE = "Example: credalens reproduce figure1 -o results"


def command(
    out: Annotated[
        Path,
        typer.Option("--output", "-o", "--out", help="Folder for the picture.", file_okay=False),
    ] = Path("credalens-figure1"),
    predictions: Annotated[
        Path | None,
        typer.Option(help="A .csv or .npy file of members over three classes, one per row."),
    ] = None,
) -> None:
    """Figure 1: the three uncertainties as distances on the simplex."""
    from credalens._files import check_folder
    from credalens.datasets import read_members
    from credalens.experiments import figure1 as experiment

    with conduct():
        check_folder(out)
        Q = experiment.EXAMPLE if predictions is None else read_members(predictions)
        paths = experiment.run(out, Q)
    for path in paths:
        typer.echo(f"wrote {path}", err=True)
