"""How commands behave: errors in one line, threads, progress, words on stderr."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

#: Errors that say in their message what is wrong with the input, the options or the machine.
#: pyarrow raises a NotImplementedError for types of columns that it cannot turn into others.
EXPECTED = (ValueError, OSError, MemoryError, ArithmeticError, NotImplementedError, ImportError)


@contextmanager
def conduct(
    *, debug: bool = False, quiet: bool = False, threads: int | None = None
) -> Iterator[None]:
    """Run a command: what goes wrong is told in one line on stderr, with exit code 2."""

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        if not quiet:
            typer.echo(f"credalens: warning: {message}", err=True)

    before = os.environ.get("CREDALENS_NUM_THREADS")
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = tell
        try:
            _use_threads(threads)
            yield
        except BrokenPipeError:
            # Whoever read our output has seen enough. What is still buffered must not be flushed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except EXPECTED as error:
            if debug:
                raise
            typer.echo(f"credalens: {_one_line(error)}", err=True)
            raise typer.Exit(2) from None
        finally:
            if threads is not None:
                os.environ.pop("CREDALENS_NUM_THREADS", None)
                if before is not None:
                    os.environ["CREDALENS_NUM_THREADS"] = before


def _one_line(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "not enough memory; pass a smaller --chunk-rows"
    return " ".join(str(error).split())


def _use_threads(threads: int | None) -> None:
    if threads is not None:
        import pyarrow

        os.environ["CREDALENS_NUM_THREADS"] = str(threads)
        pyarrow.set_cpu_count(threads)


def note(text: str, quiet: bool = False) -> None:
    """Say something that is no error on stderr."""
    if not quiet:
        typer.echo(text, err=True)


@contextmanager
def progress(what: str, quiet: bool) -> Iterator[Callable[[int, int | None], None]]:
    """Show rows done, rate and time left on a terminal; nothing in a pipe.

    Gives a function to be called with the rows done and the rows expected.
    """
    if quiet or not sys.stderr.isatty():
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
