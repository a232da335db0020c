"""The commands ``credalens reproduce ...``, one per file, and ``credalens predict ...``.

A file here is a command: its name is the file's, its options are those of the function
`command`, its example is `EXAMPLE`. Imports stay inside the function, so that help comes at once.
Files that begin with an underscore are what several commands share.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import typer

from credalens.experiments.commands._predict import predict

__all__ = ["predict", "reproduce"]

reproduce = typer.Typer(
    help="Rerun the paper's tables and figures.", no_args_is_help=True, rich_markup_mode=None
)

for _found in iter_modules(__path__):
    if not _found.name.startswith("_"):
        _module = import_module(f"{__name__}.{_found.name}")
        reproduce.command(_found.name, epilog=_module.EXAMPLE)(_module.command)
