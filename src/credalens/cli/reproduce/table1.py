"""``credalens reproduce table1``."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context, progress
from credalens.cli.options import folder_option
from credalens.cli.reproduce import _options

EXAMPLES = "Example: credalens reproduce table1 -o results"


def command(
    context: typer.Context,
    out: Annotated[Path, folder_option("Folder for table and figure.")] = Path("credalens-table1"),
) -> None:
    """Table 1: how the computation time of each measure grows."""
    from credalens._files import check_folder
    from credalens.experiments import table1 as experiment

    names = [measure.name for measure in experiment.TIMED]
    with command_context(), progress("table 1") as update:
        check_folder(out)
        text = experiment.run(
            out,
            command=_options.command_line(context),
            advance=lambda name: update(names.index(name) + 1, len(names), name),
        )
    typer.echo(text)
    typer.echo(f"wrote {out}/table1.txt, .md, .tex, .png, .pdf and table1_times.csv", err=True)
