"""``credalens reproduce figure4``."""

from __future__ import annotations

from typing import Annotated

import typer

from credalens.experiments.commands import _images

EXAMPLE = "Example: credalens reproduce figure4 --quick --constant-class 6"


def command(
    dataset: _images.Dataset = "fashion-mnist",
    data: _images.Data = None,
    backbone: _images.Backbone = _images.SMALL,
    levels: _images.Levels = _images.LEVELS,
    check_every: _images.Check = "epoch",
    constant_class: Annotated[
        int, typer.Option(min=0, help="The class that the constant member predicts.")
    ] = 0,
    batches: _images.Batches = 10,
    bins: _images.Bins = 30,
    out: _images.Images = _images.IMAGES_FOLDER,
    ensemble: _images.Ensemble = None,
    device: _images.Device = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0,
    quick: _images.Quick = False,
) -> None:
    """Figure 4: the ensemble of Figure 3 with a constant member.

    The ensemble is trained once: figure3 and figure4 use the same folder.
    """
    from credalens.experiments import figure4 as experiment

    text = _images.with_ensemble(
        lambda trained, out: experiment.run(
            trained, out, constant_class=constant_class, batches=batches, bins=bins
        ),
        out,
        ensemble,
        data,
        device,
        levels,
        check_every,
        quick,
        dataset=dataset,
        backbone=backbone,
        seed=seed,
    )
    typer.echo(text)
    typer.echo(f"wrote {out}/figure4.png, .pdf, .csv, .md and figure4_curves.csv", err=True)
