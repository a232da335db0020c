"""``credalens reproduce repair``."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context
from credalens.cli.options import folder_option
from credalens.cli.reading import ReadingOptions
from credalens.cli.reproduce import _options
from credalens.experiments.repair_study import NAME

EXAMPLES = (
    "Example: credalens reproduce repair --predictions CIFAR-10=ten/ --predictions CIFAR-100=four/"
)


def command(
    context: typer.Context,
    reading: ReadingOptions,
    predictions: _options.NamedPredictions,
    splits: Annotated[int, typer.Option(min=1, help="Number of random halves.")] = 5,
    out: Annotated[Path, folder_option("Folder for the tables.")] = Path(f"credalens-{NAME}"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the halves.")] = 0,
) -> None:
    """Check the sets of ensembles before and after their repair.

    The repair is fitted to random halves of the rows; calibration and the ranking of errors are
    measured on the other halves.
    """
    from credalens._files import check_folder
    from credalens.experiments import repair_study as experiment

    with command_context():
        check_folder(out)
        named = _options.named_paths(predictions)
        text = experiment.run(
            {name: _options.load_labelled(reading, path) for name, path in named.items()},
            out,
            n_splits=splits,
            seed=seed,
            command=_options.command_line(context),
        )
    typer.echo(text)
    typer.echo(f"wrote {out}/{NAME}.csv and .md", err=True)
