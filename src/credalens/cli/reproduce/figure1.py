"""``credalens reproduce figure1``."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context, note
from credalens.cli.options import folder_option

EXAMPLES = "Example: credalens reproduce figure1 -o results"


def command(
    out: Annotated[Path, folder_option("Folder for the figure.")] = Path("credalens-figure1"),
    predictions: Annotated[
        Path | None,
        typer.Option(help="A .csv or .npy file of distributions over three classes, one per row."),
    ] = None,
) -> None:
    """Figure 1: the three uncertainties as distances on the simplex."""
    from credalens._files import check_folder
    from credalens.experiments import figure1 as experiment
    from credalens.io import read_members

    with command_context():
        check_folder(out)
        Q = experiment.EXAMPLE if predictions is None else read_members(predictions)
        for path in experiment.run(out, Q):
            note(f"wrote {path}")
