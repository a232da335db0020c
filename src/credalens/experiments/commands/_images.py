"""What the commands of the figures on images share: their options, and the ensemble."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from credalens.experiments.commands._running import conduct

Dataset = Annotated[str, typer.Option(help="fashion-mnist or svhn.")]
Data = Annotated[
    Path | None,
    typer.Option(help="Folder of the images; else CREDALENS_DATA, Debian's dataset-fashion-mnist."),
]
Backbone = Annotated[
    str,
    typer.Option(
        metavar="MODULE:FACTORY",
        help="FACTORY((colours, height, width), classes) returns a PyTorch network.",
    ),
]
Levels = Annotated[str, typer.Option(help="Relative likelihoods, separated by commas.")]
Check = Annotated[
    str, typer.Option(help="When to look at the likelihood: epoch, batch or a number of batches.")
]
Device = Annotated[str | None, typer.Option(help="Where to train, such as cuda.")]
Images = Annotated[
    Path,
    typer.Option(
        "--output", "-o", "--out", help="Folder for the picture and its numbers.", file_okay=False
    ),
]
Ensemble = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the trained ensemble, kept and used again; OUT/DATASET by default.",
        file_okay=False,
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="A sixth of the images.")]
Batches = Annotated[int, typer.Option(min=1, help="Consecutive batches of equal size.")]
Bins = Annotated[int, typer.Option(min=2, help="Points on a rejection curve.")]
SMALL = "credalens.experiments.networks:small"
LEVELS = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
IMAGES_FOLDER = Path("credalens-images")


def with_ensemble(
    draw: Callable[..., str],
    out: Path,
    ensemble: Path | None,
    data: Path | None,
    device: str | None,
    levels: str,
    check_every: str,
    quick: bool,
    **settings: object,
) -> str:
    """Train the ensemble, or take it from its folder, and draw the figure."""
    from dataclasses import replace

    from credalens._files import check_folder
    from credalens.experiments import relative_likelihood as experiment

    with conduct(resumes=True):
        check_folder(out)
        wanted = experiment.Settings(
            levels=experiment.parse_levels(levels),
            size=replace(
                experiment.QUICK if quick else experiment.FULL,
                check_every=experiment.parse_check(check_every),
            ),
            **settings,  # type: ignore[arg-type]
        )
        folder = ensemble or out / f"{wanted.dataset}{'-quick' if quick else ''}"
        return draw(experiment.obtain(wanted, folder, data=data, device=device), out)
