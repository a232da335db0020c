"""``credalens reproduce findings``."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context, note
from credalens.cli.options import folder_option
from credalens.cli.reproduce import _options

EXAMPLES = "Example: credalens reproduce findings -o results"


def command(
    context: typer.Context,
    out: Annotated[
        Path, folder_option("Folder for the page; it quotes the results in this folder.")
    ] = Path("credalens-findings"),
) -> None:
    """List what the reproduction showed that is not in the paper, with code that shows it."""
    from credalens._files import check_folder
    from credalens.experiments import findings as experiment

    with command_context():
        check_folder(out)
        text = experiment.run(out, command=_options.command_line(context))
    typer.echo(text, nl=False)
    note(f"wrote {out}/findings.md")
