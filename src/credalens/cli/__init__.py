"""Command-line interface. Commands and their dependencies are imported when they are used."""

from __future__ import annotations

import sys
from typing import Any

from credalens import _interrupts
from credalens._extras import require


def main() -> None:
    """Run the command line (entry point of the ``credalens`` script)."""
    try:
        _interrupts.start()
        _run()
    except KeyboardInterrupt:  # also during the imports
        print("credalens: interrupted", file=sys.stderr)
        _interrupts.exit_now()
    except SystemExit as stop:
        if stop.code == _interrupts.EXIT_CODE:
            _interrupts.exit_now()
        raise
    finally:
        _interrupts.finish()


def _run() -> None:
    try:
        require("typer", "cli")
        from credalens.cli import commands

        commands.main()
    except ModuleNotFoundError as error:
        print(f"credalens: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def __getattr__(name: str) -> Any:
    if name == "app":
        from credalens.cli.commands import app

        return app
    raise AttributeError(f"module 'credalens.cli' has no attribute {name!r}")
