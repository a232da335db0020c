"""``credalens reproduce figure2``."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context
from credalens.cli.options import folder_option
from credalens.cli.reading import ReadingOptions
from credalens.cli.reproduce import _options

EXAMPLES = (
    "Examples: credalens reproduce figure2 --predictions cifar10/; "
    "credalens reproduce figure2 --predictions CIFAR-10=ten/ --predictions CIFAR-100=four/"
)


def command(
    context: typer.Context,
    reading: ReadingOptions,
    predictions: _options.NamedPredictions,
    batches: _options.Batches = 10,
    bins: _options.Bins = 30,
    measures: _options.Families = "hartley,entropy,tv",
    out: Annotated[Path, folder_option("Folder for figures and tables.")] = Path(
        "credalens-figure2"
    ),
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of sampled Hartley measures and of the halves.")
    ] = 0,
) -> None:
    """Figure 2: accuracy-rejection curves of ensembles of networks.

    Prediction files are read as by credalens score. Rows without a label are left out. An ensemble
    with models that distort the uncertainty is also shown without them, and repaired.
    """
    from credalens._files import check_folder
    from credalens.experiments import figure2 as experiment
    from credalens.experiments.table2 import check_families

    with command_context():
        check_folder(out)
        families = check_families(measures)
        named = _options.named_paths(predictions)
        text = experiment.run(
            {name: _options.load_labelled(reading, path) for name, path in named.items()},
            out,
            batches=batches,
            bins=bins,
            families=families,
            seed=seed,
            command=_options.command_line(context),
        )
    typer.echo(text)
    names = ", ".join(f"figure2-{name}.png" for name in named)
    typer.echo(f"wrote {out}/{names}, .pdf, figure2.csv and figure2.md", err=True)
