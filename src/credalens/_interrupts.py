"""Ctrl-C on the command line: one line and exit code 130, from the first import to the last.

A signal handler is installed only if this process is the command ``credalens`` (or ``python -m
credalens``). While modules are imported there is nothing to clean up, and the process exits at
once. While a command runs, Ctrl-C raises KeyboardInterrupt, as usual, so that temporary files are
removed; a second one within a second does not interrupt that. When the command has ended, it is
ignored.
"""

from __future__ import annotations

import os
import signal
import sys
import time

TYPE_CHECKING = False  # without an import: an interrupt during it would print a traceback
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NoReturn

#: Exit code of interrupted commands, by the convention of shells.
EXIT_CODE = 130
#: Seconds after an interrupt in which others are ignored.
REPEATED = 1.0

_running = False
_last = -REPEATED


def is_command() -> bool:
    """Return whether this process was started as the command, not as a program that imports it."""
    parent = getattr(sys.modules.get("multiprocessing"), "parent_process", None)
    if parent is not None and parent() is not None:
        return False
    as_module = ("-m", "credalens") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    return as_module or os.path.splitext(name)[0] in ("credalens", "credalens-script")


def install() -> None:
    """Handle Ctrl-C in this process, which is the command."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # ignored by the parent process, as by nohup
    signal.signal(signal.SIGINT, _handle)
    sys.excepthook, sys.unraisablehook = _report_uncaught, _report_unraisable


def start() -> None:
    """Raise KeyboardInterrupt at Ctrl-C from now on."""
    global _running
    _running = True


def finish() -> None:
    """Ignore Ctrl-C from now on: the command has ended, and the interpreter shuts down."""
    if signal.getsignal(signal.SIGINT) is _handle:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def exit_now() -> NoReturn:
    """End the process without waiting for threads, which may compute for long."""
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105  # modules that are imported here delay the handler
            stream.flush()
        except Exception:  # noqa: S110  # closed, or a pipe without a reader
            pass
    os._exit(EXIT_CODE)


def _handle(signum: int, frame: FrameType | None) -> None:
    global _last
    if not _running:
        _write_line()
        os._exit(EXIT_CODE)
    now, before = time.monotonic(), _last
    _last = now
    if now - before >= REPEATED:
        raise KeyboardInterrupt


def _write_line() -> None:
    try:  # noqa: SIM105
        os.write(2, b"credalens: interrupted\n")
    except OSError:  # closed
        pass


def _report_uncaught(kind: Any, error: Any, trace: Any) -> None:
    cause = error
    while cause is not None:  # Python wraps what is raised while a class is created
        if isinstance(cause, KeyboardInterrupt):
            _write_line()
            exit_now()
        cause = cause.__cause__ or cause.__context__
    sys.__excepthook__(kind, error, trace)


def _report_unraisable(found: Any) -> None:
    """Repeat an interrupt that was raised where Python ignores errors, such as in a finalizer."""
    global _last
    if not issubclass(found.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(found)
        return
    _last = -REPEATED
    signal.raise_signal(signal.SIGINT)


if is_command():
    install()
