"""``credalens reproduce figure2``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from credalens.experiments.commands._running import conduct

EXAMPLE = "Example: credalens reproduce figure2 --predictions cifar10/"


def command(
    predictions: Annotated[
        Path, typer.Option(help="Folder with one .npz, .npy or .csv file per network.")
    ],
    labels: Annotated[
        Path | None, typer.Option(help="File of true classes, if no .npz holds them.")
    ] = None,
    batches: Annotated[int, typer.Option(min=1, help="Consecutive batches of equal size.")] = 10,
    bins: Annotated[int, typer.Option(min=2, help="Points on a rejection curve.")] = 30,
    measures: Annotated[
        str, typer.Option(help="Families separated by commas; any distance's name will do.")
    ] = "hartley,entropy,tv",
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            "--out",
            help="Folder for the picture and its numbers.",
            file_okay=False,
        ),
    ] = Path("credalens-figure2"),
    seed: Annotated[int, typer.Option(min=0, help="Seeds Hartley where it is sampled.")] = 0,
) -> None:
    """Figure 2: accuracy-rejection curves of an ensemble of networks."""
    from credalens._files import check_folder
    from credalens.datasets import read_predictions
    from credalens.experiments import figure2 as experiment
    from credalens.experiments.table2 import check_families

    with conduct():
        check_folder(out)
        text = experiment.run(
            read_predictions(predictions, labels),
            out,
            batches=batches,
            bins=bins,
            families=check_families(measures),
            seed=seed,
        )
    typer.echo(text)
    typer.echo(f"wrote {out}/figure2.png, .pdf, .csv and .md", err=True)
