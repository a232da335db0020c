"""The bytes of a file: plain, compressed, or from standard input."""

from __future__ import annotations

import io
import lzma
import os
import sys
import zipfile
from contextlib import ExitStack
from pathlib import PurePath
from typing import IO, Any

from credalens._extras import require
from credalens.io.source import raise_file_error

#: Codecs of pyarrow, by file extension.
CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
#: File extensions of compressed files.
COMPRESSED = (*CODECS, ".xz", ".zip")


def format_suffix(path: str) -> str:
    """Return the file extension of the format in lower case, without that of the compression.

    Examples
    --------
    >>> format_suffix("runs/a.CSV.gz")
    '.csv'
    """
    name = PurePath(path)
    return PurePath(name.stem if name.suffix.lower() in COMPRESSED else name).suffix.lower()


def file_stem(name: str) -> str:
    """Return the name of a file without the extensions of its compression and format."""
    path = PurePath(name)
    return PurePath(path.stem).stem if path.suffix.lower() in COMPRESSED else path.stem


def is_compressed(path: str) -> bool:
    """Return whether a file is compressed, by its file extension."""
    return PurePath(path).suffix.lower() in COMPRESSED


def standard_input() -> IO[bytes]:
    """Return the bytes of standard input, which the shell may have closed (``<&-``)."""
    if sys.stdin is None:
        raise_file_error("stdin", "is closed", "pipe the predictions to it, or name a file")
    return sys.stdin.buffer


class ByteStream:
    """A file that can be opened several times, or a stream that can be read once."""

    def __init__(self, path: str, stream: IO[bytes] | None = None) -> None:
        self.path, self._stream = path, stream
        #: Size in bytes; 0 if it is unknown.
        self.size = 0 if stream is not None or is_compressed(path) else os.path.getsize(path)

    @property
    def can_reopen(self) -> bool:
        """Whether `open` can be called again to read from the beginning."""
        return self._stream is None

    def open(self, stack: ExitStack) -> IO[bytes]:
        """Open the file; the caller's `stack` closes it."""
        if self._stream is not None:
            return self._stream
        suffix = PurePath(self.path).suffix.lower()
        if suffix in CODECS:
            pa = require("pyarrow", "cli")
            raw = stack.enter_context(pa.OSFile(self.path))
            stream: Any = pa.CompressedInputStream(raw, CODECS[suffix])
            return stack.enter_context(io.BufferedReader(stream, 1 << 20))
        if suffix == ".xz":
            return stack.enter_context(lzma.open(self.path))
        if suffix == ".zip":
            return self._open_zip(stack)
        return stack.enter_context(open(self.path, "rb"))

    def _open_zip(self, stack: ExitStack) -> IO[bytes]:
        archive = stack.enter_context(zipfile.ZipFile(self.path))
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        if len(names) != 1:
            problem = f"contains {len(names)} files"
            raise_file_error(self.path, problem, "unpack it, and name the files")
        return stack.enter_context(archive.open(names[0]))
