"""How commands of experiments run: errors in one line, a bar with the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

#: Errors that say in their message what is wrong with the input, the options or the machine.
EXPECTED = (ValueError, OSError, ImportError, ArithmeticError)


def refuse(error: object) -> NoReturn:
    """Say in one line what is wrong, and stop with exit code 2."""
    typer.echo(f"credalens: {error}", err=True)
    raise typer.Exit(2)


@contextmanager
def conduct(*, resumes: bool = False) -> Iterator[None]:
    """Run a command: what goes wrong is told in one line.

    `resumes` says that one that was stopped goes on where it was when it is started again.
    """
    try:
        yield
    except EXPECTED as error:
        refuse(error)
    except KeyboardInterrupt:
        if not resumes:
            raise
        typer.echo("Stopped; the same command goes on from here.", err=True)
        raise typer.Exit(130) from None


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[..., None]]:
    """Give a function that moves a bar with the time left; no bar in a pipe."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(
        console=console,
        transient=True,
        disable=not console.is_terminal,
        # Pieces take from a second to minutes; a short memory would make the estimate jump.
        speed_estimate_period=600,
    ) as bar:
        task = bar.add_task(what, total=total)

        def advance(by: int, doing: str = what) -> None:
            bar.update(task, advance=by, description=doing)

        yield advance
