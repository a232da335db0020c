"""How commands run: errors in one line, threads, a bar with the time left, words on stderr."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

from credalens._files import FIXES, told

#: Errors that say in their message what is wrong with the input, the options or the machine.
#: pyarrow raises a NotImplementedError for types of columns that it cannot turn into others.
EXPECTED = (ValueError, OSError, MemoryError, ArithmeticError, NotImplementedError, ImportError)
#: Arguments that errors of the library name, and the options that they come from.
OPTIONS = {
    "measures": "--measures",
    "summary": "--summary",
    "distance": "--distance",
    "cost": "--distance",
    "kernel": "--distance",
    "second_look": "--second-look",
    "path": "-o",
}


@contextmanager
def conduct(
    *, debug: bool = False, quiet: bool = False, threads: int | None = None, resumes: bool = False
) -> Iterator[None]:
    """Run a command: what goes wrong is told in one line on stderr, with exit code 2.

    `resumes` says that a command that was stopped goes on where it was when it is started again.
    """

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        if not quiet:
            typer.echo(f"credalens: warning: {message}", err=True)

    before = os.environ.get("CREDALENS_NUM_THREADS")
    with warnings.catch_warnings(), _open_streams():
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = tell
        try:
            _use_threads(threads)
            yield
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_stdout()  # whoever read our output has seen enough
        except EXPECTED as error:
            _forget_stdout()
            if debug:
                raise
            refuse(error)
        except KeyboardInterrupt:
            goes_on = "Stopped; the same command goes on from here."
            typer.echo(goes_on if resumes else "credalens: interrupted", err=True)
            raise typer.Exit(130) from None
        finally:
            if threads is not None:
                os.environ.pop("CREDALENS_NUM_THREADS", None)
                if before is not None:
                    os.environ["CREDALENS_NUM_THREADS"] = before


@contextmanager
def _open_streams() -> Iterator[None]:
    """Give streams to a process that was started with its own closed, as by ``2>&-``."""
    closed = [name for name in ("stdout", "stderr") if getattr(sys, name) is None]
    if not closed:
        yield
        return
    with open(os.devnull, "w") as nowhere:
        for name in closed:
            setattr(sys, name, nowhere)
        try:
            yield
        finally:
            for name in closed:
                setattr(sys, name, None)


def _forget_stdout() -> None:
    """Print nothing more if that is not possible, lest Python should try it again at its exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # a stream that is no file
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


def refuse(error: object) -> NoReturn:
    """Say in one line what is wrong, and stop with exit code 2."""
    typer.echo(f"credalens: {_one_line(error)}", err=True)
    raise typer.Exit(2)


def _one_line(error: object) -> str:
    if isinstance(error, MemoryError):
        return "not enough memory; pass a smaller --chunk-rows, or give it more"
    # What the system says; a message that was written for the user has no number.
    said = told(error) if isinstance(error, OSError) and error.errno in FIXES else str(error)
    line = " ".join(said.split())
    name = re.match(r"\w+(?=: )", line)
    return line if name is None else OPTIONS.get(name[0], name[0]) + line[name.end() :]


def _use_threads(threads: int | None) -> None:
    if threads is not None:
        import pyarrow

        os.environ["CREDALENS_NUM_THREADS"] = str(threads)
        pyarrow.set_cpu_count(threads)


def note(text: str, quiet: bool = False) -> None:
    """Say something that is no error on stderr."""
    if not quiet:
        typer.echo(text, err=True)


def _seen(quiet: bool = False) -> bool:
    """Tell whether a bar would be seen; forced colours do not make a terminal of a pipe."""
    return not quiet and sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[..., None]]:
    """Give a function that moves a bar with the time left; no bar in a pipe."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(
        console=Console(stderr=True),
        transient=True,
        disable=not _seen(),
        # Pieces take from a second to minutes; a short memory would make the estimate jump.
        speed_estimate_period=600,
    ) as bar:
        task = bar.add_task(escape(what), total=total)

        def advance(by: int, doing: str = what) -> None:
            bar.update(task, advance=by, description=escape(doing))

        yield advance


@contextmanager
def row_progress(what: str, quiet: bool) -> Iterator[Callable[[int, int | None], None]]:
    """Show rows done, rate and time left on a terminal; nothing in a pipe.

    Gives a function to be called with the rows done and the rows expected.
    """
    if not _seen(quiet):
        yield lambda done, expected: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} rows"),
        TextColumn("{task.fields[rate]} rows/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, rate="-")

        def show(done: int, expected: int | None) -> None:
            speed = bar.tasks[0].speed
            total = None if expected is None else max(expected, done)
            rate = "-" if speed is None else f"{speed:,.0f}"
            bar.update(task, completed=done, total=total, rate=rate)

        yield show
