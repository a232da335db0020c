"""The command line: thin, with imports inside the commands so that help comes at once."""

from __future__ import annotations

import sys
from typing import Any


def main() -> None:
    """Run the command line, which may be interrupted before it is loaded."""
    try:
        from credalens.cli import commands

        commands.main()
    except KeyboardInterrupt:
        print("credalens: interrupted", file=sys.stderr)
        raise SystemExit(130) from None


def __getattr__(name: str) -> Any:
    if name == "app":
        from credalens.cli.commands import app

        return app
    raise AttributeError(f"module 'credalens.cli' has no attribute {name!r}")
