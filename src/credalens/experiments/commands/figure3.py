"""``credalens reproduce figure3``."""

from __future__ import annotations

from typing import Annotated

import typer

from credalens.experiments.commands import _images

EXAMPLE = "Example: credalens reproduce figure3 --quick"


def command(
    dataset: _images.Dataset = "fashion-mnist",
    data: _images.Data = None,
    backbone: _images.Backbone = _images.SMALL,
    levels: _images.Levels = _images.LEVELS,
    check_every: _images.Check = "epoch",
    batches: _images.Batches = 10,
    bins: _images.Bins = 30,
    out: _images.Images = _images.IMAGES_FOLDER,
    ensemble: _images.Ensemble = None,
    device: _images.Device = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0,
    quick: _images.Quick = False,
) -> None:
    """Figure 3: networks of growing likelihood (needs PyTorch).

    A training that was stopped goes on where it was when it is started again.
    """
    from credalens.experiments import figure3 as experiment

    text = _images.with_ensemble(
        lambda trained, out: experiment.run(trained, out, batches=batches, bins=bins),
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
    typer.echo(f"wrote {out}/figure3.png, .pdf, .csv, .md and figure3_curves.csv", err=True)
