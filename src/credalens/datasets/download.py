"""Downloads that are verified by their SHA-256 before they are used."""

from __future__ import annotations

import hashlib
import urllib.request
from pathlib import Path

from credalens import _validation
from credalens._files import atomic_write

#: Seconds without an answer after which a download fails, and its largest size in bytes.
TIMEOUT, MAX_BYTES = 60, 1 << 30
BLOCK = 1 << 20


def fetch(url: str, path: Path, sha256: str) -> Path:
    """Download `url` to `path`, unless the file exists, and return `path`.

    Parameters
    ----------
    url : str
        An address that starts with ``https://``.
    path : Path
        The file; folders are created. A file with another SHA-256 is never written.
    sha256 : str
        The SHA-256 in lower case, or its first digits, at least eight.

    Raises
    ------
    ValueError
        If the file, or the download, has another SHA-256.
    OSError
        If the download fails.
    """
    if path.is_file():
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        _check(str(path), found, sha256, "remove it, and run the command again")
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as stream:  # noqa: S310  fixed addresses
            while block := stream.read(BLOCK):
                size += len(block)
                if size > MAX_BYTES:
                    _validation.raise_invalid(url, f"has more than {MAX_BYTES} bytes", "report it")
                digest.update(block)
                file.write(block)
        _check(url, digest.hexdigest(), sha256, "try again later; if it persists, do not use it")
    return path


def _check(name: str, found: str, expected: str, fix: str) -> None:
    if len(expected) < 8 or not found.startswith(expected):
        _validation.raise_invalid(name, f"has SHA-256 {found} instead of {expected}", fix)
