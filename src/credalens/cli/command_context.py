"""The context in which commands run: errors, warnings, threads, notes, tables, progress bars."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

from credalens._extras import require
from credalens._files import FIXES, format_os_error
from credalens._memory import VARIABLE, parse_size

#: Errors whose message describes a problem with the input, the options or the system. pyarrow
#: raises NotImplementedError for column types that it cannot convert.
EXPECTED = (ValueError, OSError, MemoryError, ArithmeticError, NotImplementedError, ImportError)
#: Environment variable that is 0 if cells of CSV are written as they are.
SAFE_CSV = "CREDALENS_SAFE_CSV"
#: Arguments named in error messages of the library, and the options that set them.
OPTIONS = {
    "measures": "--measures",
    "summary": "--summary",
    "distance": "--distance",
    "cost": "--distance",
    "kernel": "--distance",
    "review_threshold": "--review-threshold",
    "review_share": "--reject",
    "target_accuracy": "--target-accuracy",
    "path": "-o",
    "host": "--host",
    "port": "--port",
}


@contextmanager
def command_context(
    *,
    debug: bool = False,
    quiet: bool = False,
    threads: int | None = None,
    resumes: bool = False,
    max_memory: str | None = None,
    safe_csv: bool = True,
) -> Iterator[None]:
    """Run a command; report an error in one line on stderr and exit with code 2.

    Parameters
    ----------
    debug : bool
        Show the traceback of an error.
    quiet : bool
        Print no warnings.
    threads : int, optional
        Number of threads of the kernels and of pyarrow.
    resumes : bool
        The command continues an interrupted run when it is started again.
    max_memory : str, optional
        Limit of the memory that the sizes in a file may ask for, such as ``"8G"``.
    safe_csv : bool
        Write cells of CSV so that spreadsheets do not take them for formulas.
    """

    def print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        note(f"credalens: warning: {message}", quiet)

    with warnings.catch_warnings(), _open_streams(), _thread_limit(threads):
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = print_warning
        try:
            with _memory_limit(max_memory), _environment(SAFE_CSV, str(int(safe_csv))):
                yield
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_stdout()  # the reader of the pipe has closed it
        except EXPECTED as error:
            _discard_stdout()
            if debug:
                raise
            exit_with_error(error)
        except KeyboardInterrupt:
            hint = "; run the same command again to continue" if resumes else ""
            note(f"credalens: interrupted{hint}")
            raise typer.Exit(130) from None


@contextmanager
def _open_streams() -> Iterator[None]:
    """Replace standard streams that were closed by the shell, as with ``2>&-``."""
    closed = [name for name in ("stdout", "stderr") if getattr(sys, name) is None]
    if not closed:
        yield
        return
    with open(os.devnull, "w") as null:
        for name in closed:
            setattr(sys, name, null)
        try:
            yield
        finally:
            for name in closed:
                setattr(sys, name, None)


@contextmanager
def _memory_limit(size: str | None) -> Iterator[None]:
    """Set the limit in the environment, which processes on this machine inherit."""
    if size is not None:
        parse_size(size, "--max-memory")
        with _environment(VARIABLE, size):
            yield
    else:
        yield


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    previous = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if previous is not None:
            os.environ[name] = previous


def binary_stdout() -> Any:
    """Return standard output for a table; raise ValueError if it was closed by the shell."""
    if getattr(sys.stdout, "name", None) == os.devnull:  # see _open_streams
        raise ValueError("standard output is closed; pass -o FILE")
    return sys.stdout.buffer


@contextmanager
def _thread_limit(threads: int | None) -> Iterator[None]:
    if threads is None:
        yield
        return
    pyarrow = require("pyarrow", "cli")
    pyarrow.set_cpu_count(threads)
    with _environment("CREDALENS_NUM_THREADS", str(threads)):
        yield


def _discard_stdout() -> None:
    """Redirect stdout to the null device if it cannot be flushed, else Python retries at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # a stream without a file descriptor
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, sys.stdout.fileno())
            os.close(null)


def exit_with_error(error: object) -> NoReturn:
    """Print an error in one line and exit with code 2."""
    note(f"credalens: {_one_line(error)}")
    raise typer.Exit(2)


def _one_line(error: object) -> str:
    if isinstance(error, MemoryError):
        return "not enough memory; pass a smaller --chunk-rows, or use a machine with more memory"
    if isinstance(error, OSError) and error.errno in FIXES:  # raised by the operating system
        message = format_os_error(error)
    else:
        message = str(error)
    line = " ".join(message.split())
    name = re.match(r"\w+(?=: )", line)
    return line if name is None else OPTIONS.get(name[0], name[0]) + line[name.end() :]


def printable(text: str) -> str:
    r"""Return text whose control characters are escaped, such as those that change a terminal.

    Examples
    --------
    >>> print(printable("caf\u00e9 \x1b[2J"))
    café \x1b[2J
    """
    if text.isprintable():
        return text
    escaped = (
        c
        if c.isprintable() or c == "\n"
        else c.encode("unicode_escape", "backslashreplace").decode()
        for c in text
    )
    return "".join(escaped)


def echo(text: str) -> None:
    """Print text that may contain names from files on standard output."""
    typer.echo(printable(text))


def note(text: str, quiet: bool = False) -> None:
    """Print a line on stderr."""
    if not quiet:
        typer.echo(printable(text), err=True)


def print_table(title: str, columns: dict[str, list[Any]], *, right: bool = False) -> None:
    """Print columns as a table, numbers with four decimals.

    Text is aligned to the left, with `right` only that of the first column.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title=printable(title), box=box.SIMPLE_HEAD, title_justify="left", collapse_padding=True
    )
    for i, (name, values) in enumerate(columns.items()):
        is_text = bool(values) and isinstance(values[0], str)
        table.add_column(
            printable(name.replace("_", " ")),  # a narrow terminal breaks headers between words
            justify="left" if is_text and not (right and i) else "right",
            overflow="fold",
            no_wrap=is_text and i == 0,
        )
    for row in zip(*columns.values(), strict=True):
        cells = ("" if x is None else x for x in row)
        table.add_row(*(f"{x:.4f}" if isinstance(x, float) else _cell(str(x)) for x in cells))
    # A pipe has no width: do not break lines there. Names in files may look like markup.
    width = None if sys.stdout.isatty() else 200
    Console(width=width, markup=False, emoji=False).print(table)


def _cell(text: str) -> str:
    """Return the text of a cell in one line."""
    return printable(text).replace("\n", "\\n")


@contextmanager
def progress(
    description: str, quiet: bool = False, *, rows: bool = False
) -> Iterator[Callable[..., None]]:
    """Show a progress bar with the remaining time on stderr, if it is a terminal.

    Yields a function ``update(done, total, description=None)``. With `rows`, the bar also shows
    the number of rows and the rate.
    """
    # Rich would treat forced colours (FORCE_COLOR) as a terminal.
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total, description=None: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    counts: tuple[Any, ...] = (TaskProgressColumn(),)
    if rows:
        counts = TextColumn("{task.completed:,.0f} rows"), TextColumn("{task.fields[rate]} rows/s")
    with Progress(
        *(TextColumn("{task.description}"), BarColumn(), *counts, Remaining()),
        console=Console(stderr=True),
        transient=True,
        # Splits and figures take from a second to minutes: average over a long period.
        speed_estimate_period=30 if rows else 600,
    ) as bar:
        task = bar.add_task(escape(printable(description)), total=None, rate="-")

        def update(done: int, total: int | None, description: str | None = None) -> None:
            speed = bar.tasks[0].speed
            bar.update(
                task,
                completed=done,
                total=None if total is None else max(total, done),
                rate="-" if speed is None else f"{speed:,.0f}",
                description=None if description is None else escape(printable(description)),
            )

        yield update


@contextmanager
def tracker() -> Iterator[Callable[[Iterable[Any], str], Iterable[Any]]]:
    """Yield a function ``track(items, description)`` that iterates with a progress bar."""
    with progress("") as update:

        def track(items: Iterable[Any], description: str) -> Iterator[Any]:
            values = list(items)
            for i, value in enumerate(values):
                update(i, len(values), description)
                yield value
            update(len(values), len(values), description)

        yield track
