"""``credalens reproduce figure2``."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context, note
from credalens.cli.options import folder_option
from credalens.cli.reading import ReadingOptions, without_unlabelled
from credalens.cli.reproduce import _options

EXAMPLES = "Example: credalens reproduce figure2 --predictions cifar10/"


def command(
    reading: ReadingOptions,
    predictions: Annotated[
        str,
        typer.Option(
            help="Folder with one file per network, a file with all, or a quoted pattern."
        ),
    ],
    batches: _options.Batches = 10,
    bins: _options.Bins = 30,
    measures: _options.Families = "hartley,entropy,tv",
    out: Annotated[Path, folder_option("Folder for figure and tables.")] = Path(
        "credalens-figure2"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of sampled Hartley measures.")] = 0,
) -> None:
    """Figure 2: accuracy-rejection curves of an ensemble of networks.

    Prediction files are read as by credalens score. Rows without a label are left out.
    """
    from credalens._files import check_folder
    from credalens.experiments import figure2 as experiment
    from credalens.experiments.table2 import check_families
    from credalens.io.opening import load

    with command_context():
        check_folder(out)
        families = check_families(measures)
        ensemble = reading.open_files([predictions])
        loaded, left_out = without_unlabelled(load(ensemble, reading.skip))
        for text in ensemble.notes:
            note(f"credalens: {text}")
        if left_out:
            note(f"credalens: {left_out} rows without a label are left out")
        text = experiment.run(
            loaded,
            out,
            batches=batches,
            bins=bins,
            families=families,
            seed=seed,
        )
    typer.echo(text)
    typer.echo(f"wrote {out}/figure2.png, .pdf, .csv and .md", err=True)
