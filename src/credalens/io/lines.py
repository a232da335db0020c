"""Text in blocks of whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, NoReturn

from credalens.io.source import raise_file_error

#: Bytes of text that are parsed at once, cut at the end of a line.
TEXT_BLOCK = 1 << 23
#: Bytes, and least lines, from which the layout of a file is inferred.
HEAD_BYTES, HEAD_LINES = 1 << 17, 3


def read_head(path: str, file: IO[bytes]) -> tuple[bytes, bool]:
    """Return the first bytes of a file, and whether they are the whole file.

    They contain at least `HEAD_LINES` lines if the file does.
    """
    head = b""
    while len(head) < HEAD_BYTES or head.count(b"\n") < HEAD_LINES:
        data = file.read(min(HEAD_BYTES, TEXT_BLOCK))
        if not data:
            return head, True
        head += data
        if len(head) > 4 * max(TEXT_BLOCK, HEAD_BYTES):
            raise_long_line(path)
    return head, False


def whole_lines(path: str, file: IO[bytes], pending: bytes, *, quotes: bool) -> Iterator[bytes]:
    """Yield `pending` and the rest of a file in blocks of whole lines.

    With `quotes`, line breaks within double quotes do not end a line.
    """
    while data := file.read(TEXT_BLOCK):
        pending += data
        end = end_of_rows(pending) if quotes else pending.rfind(b"\n") + 1
        if end:
            yield pending[:end]
            pending = pending[end:]
        elif len(pending) > 2 * TEXT_BLOCK:
            raise_long_line(path)
    if pending.strip():
        yield pending


def raise_long_line(path: str) -> NoReturn:
    """Raise the error for a line that does not end."""
    problem = f"has a line of more than {TEXT_BLOCK} bytes"
    raise_file_error(path, problem, "check that it is a text file")


def end_of_rows(text: bytes) -> int:
    """Return the end of the last whole row: the end of a line that is not within quotes."""
    end = last = text.rfind(b"\n") + 1
    odd = text.count(b'"', 0, end) % 2
    while end and odd:
        start = text.rfind(b"\n", 0, end - 1) + 1
        odd ^= text.count(b'"', start, end) % 2
        end = start
    # If every line seems to end within quotes, an unquoted field contains a quote.
    return end if end or len(text) <= TEXT_BLOCK else last
