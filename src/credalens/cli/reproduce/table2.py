"""``credalens reproduce table2``."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context, note, progress
from credalens.cli.options import folder_option
from credalens.cli.reproduce import _options
from credalens.experiments.forest_spaces import DEFAULT_SPACE, find_space

EXAMPLES = (
    "Examples: credalens reproduce table2 --quick; "
    "credalens reproduce table2 --datasets iris,zoo --data keel/ --jobs 2"
)


def command(
    context: typer.Context,
    datasets: Annotated[
        str, typer.Option(help="Names separated by commas, 'all' (64) or 'small'.")
    ] = "all",
    splits: Annotated[int, typer.Option(min=1, help="Number of stratified 70/30 splits.")] = 10,
    members: _options.Forests = 10,
    bins: _options.Bins = 30,
    space: _options.Space = DEFAULT_SPACE,
    measures: _options.Families = "hartley,entropy,tv",
    data: _options.KeelFolder = None,
    out: Annotated[
        Path, folder_option("Folder for the tables and the results of the finished splits.")
    ] = Path("credalens-table2"),
    store: _options.Store = None,
    timing: Annotated[
        bool,
        typer.Option(
            "--timing",
            help="Compute only the times of the measures, of one split per dataset in one process; "
            "run it alone on an idle machine.",
        ),
    ] = False,
    jobs: _options.Jobs = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the splits and the forests.")] = 0,
    minutes: _options.Minutes = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to run on.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Four datasets of scikit-learn, three splits.")
    ] = False,
) -> None:
    """Table 2: rejection by each measure, random forests on tabular data.

    An interrupted run continues when the command is started again. The paper does not state the
    hyper-parameters of its forests; the default of --space is inferred by credalens reproduce
    spaces.
    """
    from credalens.experiments import table2 as experiment
    from credalens.experiments.protocol import Config

    with command_context(resumes=True):
        from joblib import cpu_count  # a dependency of scikit-learn, which the experiment requires

        families = experiment.check_families(measures)
        sources = experiment.bundled() if quick else experiment.keel(datasets, data)
        splits = min(splits, experiment.QUICK_SPLITS) if quick else splits
        config = Config(seed=seed, members=members, bins=bins, space=find_space(space).name)
        work = {name: _options.SPLIT_ROWS + rows for name, rows in sources.sizes.items()}
        with progress("table 2") as update:
            done = 0

            def advance(name: str, split: int) -> None:
                nonlocal done
                done += work[name]
                rounds = 1 if timing else splits
                update(done, rounds * sum(work.values()), f"{name} {split}")

            result = experiment.run(
                sources,
                out,
                store=store,
                splits=splits,
                config=config,
                families=families,
                timing=timing,
                command=_options.command_line(context),
                jobs=jobs or cpu_count(),
                scheduler=scheduler,
                minutes=minutes,
                advance=advance,
            )
    typer.echo(result.text, nl=False)
    for path in result.files:
        note(f"wrote {path}")
    if result.outcome.failures:
        raise typer.Exit(1)
