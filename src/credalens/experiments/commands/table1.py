"""``credalens reproduce table1``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from credalens.experiments.commands._running import conduct, progress

EXAMPLE = "Example: credalens reproduce table1 -o results"


def command(
    out: Annotated[
        Path,
        typer.Option(
            "--output", "-o", "--out", help="Folder for table and picture.", file_okay=False
        ),
    ] = Path("credalens-table1"),
) -> None:
    """Table 1: how the time of each measure grows."""
    from credalens._files import check_folder
    from credalens.experiments import table1 as experiment

    with conduct(), progress(len(experiment.TIMED), "table 1") as advance:
        check_folder(out)
        text = experiment.run(out, advance=lambda name: advance(1, name))
    typer.echo(text)
    typer.echo(f"wrote {out}/table1.txt, .md, .tex, .png, .pdf and table1_times.csv", err=True)
