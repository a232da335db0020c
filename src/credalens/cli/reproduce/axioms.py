"""``credalens reproduce axioms``."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context, note, progress
from credalens.cli.options import folder_option
from credalens.cli.reproduce import _options

EXAMPLES = "Example: credalens reproduce axioms -o results"


def command(
    context: typer.Context,
    classes: Annotated[int, typer.Option(min=2, help="Number of classes of the sets.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    out: Annotated[Path, folder_option("Folder for the page.")] = Path("credalens-axioms"),
) -> None:
    """Which of the axioms A1-A5 each measure satisfies, with counterexamples."""
    from credalens._files import check_folder
    from credalens.axioms import MEASURES
    from credalens.experiments import axioms_page as experiment

    with command_context(), progress("axioms") as update:
        check_folder(out)
        names = list(MEASURES)
        text = experiment.run(
            out,
            classes=classes,
            seed=seed,
            command=_options.command_line(context),
            advance=lambda name: update(names.index(name) + 1, len(names), name),
        )
    typer.echo(text)
    note(f"wrote {out}/axioms.md and axioms.csv")
