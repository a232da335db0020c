"""The commands ``credalens reproduce ...``: one module per command, found by its name.

A module defines a function ``command``, whose docstring and parameters are the help and the
options, and ``EXAMPLES``. Modules that start with an underscore are not commands.
"""

from __future__ import annotations

from pkgutil import iter_modules
from typing import ClassVar

import typer

from credalens.cli.commands import SETTINGS, LazyGroup


class _Experiments(LazyGroup):
    package = __name__
    summaries: ClassVar[dict[str, str | None]] = {
        module.name.replace("_", "-"): None
        for module in iter_modules(__path__)
        if not module.name.startswith("_")
    }


app = typer.Typer(cls=_Experiments, no_args_is_help=True, add_completion=False, **SETTINGS)


@app.callback()
def _reproduce() -> None:
    """Reproduce the tables and figures of the paper."""
