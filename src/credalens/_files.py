"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; move it there when the block ends well.

    If the block fails or is interrupted, the temporary file goes and `path` stays as it was.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes private files; a result gets the mode that any other new file would.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_folder(folder: Path) -> None:
    """Refuse, before any work is done, a folder that files could not be written into.

    It need not be there yet: then the nearest folder above it is looked at. Whether a file can be
    made is tried, since modes do not tell of read-only disks, and the file leaves no trace.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise NotADirectoryError(f"{folder}: {there} is a file; name a folder")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise PermissionError(
            f"{folder}: {there} cannot be written to ({error.strerror}); name another folder"
        ) from error
