"""``credalens reproduce figure3``."""

from functools import partial

import typer

from credalens.cli.reproduce import _options

EXAMPLES = "Example: credalens reproduce figure3 --quick"


def command(
    context: typer.Context,
    options: _options.EnsembleOptions,
    batches: _options.Batches = 10,
    bins: _options.Bins = 30,
) -> None:
    """Figure 3: networks of increasing relative likelihood (needs PyTorch).

    Every combination of --dataset and --check-every is an ensemble. An interrupted training
    continues when the command is started again.
    """
    from credalens.experiments import figure3

    options.draw(
        "figure3",
        partial(figure3.run, batches=batches, bins=bins, command=_options.command_line(context)),
    )
