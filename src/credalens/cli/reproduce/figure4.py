"""``credalens reproduce figure4``."""

from functools import partial
from typing import Annotated

import typer

from credalens.cli.reproduce import _options

EXAMPLES = "Example: credalens reproduce figure4 --quick --constant-class 6"


def command(
    context: typer.Context,
    options: _options.EnsembleOptions,
    constant_class: Annotated[
        int, typer.Option(min=0, help="The class that the constant member predicts.")
    ] = 0,
    batches: _options.Batches = 10,
    bins: _options.Bins = 30,
) -> None:
    """Figure 4: the ensemble of Figure 3 with a constant member.

    An ensemble is trained once: figure3 and figure4 use the same folder.
    """
    from credalens.experiments import figure4

    options.draw(
        "figure4",
        partial(
            figure4.run,
            constant_class=constant_class,
            batches=batches,
            bins=bins,
            command=_options.command_line(context),
        ),
    )
