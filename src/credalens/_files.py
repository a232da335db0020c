"""Files that are whole or not there, runs that do not meet, and what the system says of both."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FREE = "free space and run it again"
_LEAVE = "change its permissions, or choose another place"
#: What to do about the errors of the system that a user can do something about.
FIXES = {
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EFBIG: _FREE,
    errno.EACCES: _LEAVE,
    errno.EPERM: _LEAVE,
    errno.EROFS: _LEAVE,
    errno.ENOENT: "check the name",
    errno.ENOTDIR: "check the name",
    errno.EISDIR: "name a file",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EMFILE: "raise the number of open files by ulimit -n, or name fewer files",
    errno.EIO: "check the disk and run it again",
    errno.ESTALE: "check the file server and run it again",
    errno.EBADF: "open the stream, or name a file",
}
#: Those that a full disk gives: what is finished may stay, and more space lets it go on.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: What a lock is called in the folder that it is of.
LOCK = ".lock"


def told(error: OSError, path: object = None, fix: str = "") -> str:
    """Say in one line what the system refused, of which file, and what to do."""
    name = error.filename if path is None else path
    reason = os.strerror(error.errno) if error.errno else str(error)
    fix = fix or FIXES.get(error.errno or 0, "run it again")
    return f"{'' if name is None else f'{name}: '}{reason[:1].lower()}{reason[1:]}; {fix}"


@contextmanager
def writing(path: object, when_full: str = "") -> Iterator[None]:
    """Let what the system refuses name `path`, not a temporary file that becomes it.

    Errors about other files, and of kinds that are not about files, stay as they are.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FIXES or not _becomes(error.filename, Path(str(path))):
            raise
        kind = type(error) if type(error).__module__ == "builtins" else OSError
        fix = when_full if error.errno in FULL else ""
        raise kind(told(error, path, fix)) from error


def _becomes(name: Any, path: Path) -> bool:
    """Tell whether an error is about `path`, or about something hidden beside it or in it."""
    if name is None or Path(os.fsdecode(name)) == path:
        return True
    file = Path(os.fsdecode(name)).absolute()
    folders = (path.absolute(), path.absolute().parent)
    inside = (file.relative_to(folder).parts for folder in folders if file.is_relative_to(folder))
    return any(parts[0].startswith(".") for parts in inside if parts)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; move it there when the block ends well.

    If the block fails or is interrupted, the temporary file goes and `path` stays as it was.
    """
    with writing(path):
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent
        )
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


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Let one run at a time write `out`: hold a lock beside it, which dies with the process.

    That of a folder is in it, since what is around it may belong to somebody else. Where the file
    server has no locks, there is none.
    """
    path = out / LOCK if out.is_dir() else out.with_name(f".{out.name}{LOCK}")
    with writing(out), ExitStack() as stack:
        if sys.platform == "win32":  # an open file is not removed there: when all is closed
            stack.callback(_remove, path)
        while True:
            stream = stack.enter_context(path.open("ab"))
            _lock(stream, out)
            # Whoever held it may have removed the file between our opening and locking it.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                    break
        if sys.platform != "win32":  # while it is held: another run may hold it afterwards
            stack.callback(_remove, path)
        yield


def _remove(lock: Path) -> None:
    with suppress(PermissionError):  # Windows: another run has it open by now
        lock.unlink(missing_ok=True)


def _lock(stream: IO[bytes], out: Path) -> None:
    try:
        if sys.platform == "win32":
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:  # the latter on Windows
        raise BlockingIOError(
            f"{out}: another run is writing it; wait for that one, or name another output"
        ) from error
    except OSError:  # a file server without locks
        return


def check_folder(folder: Path) -> None:
    """Refuse, before any work is done, a folder that files could not be written into.

    It need not be there yet: then the nearest folder above it is looked at. Whether a file can be
    made is tried, since modes do not tell of read-only disks, and the file leaves no trace.
    """
    above = (path for path in (folder, *folder.absolute().parents) if path.exists())
    there = next(above, None)
    if there is None:  # a drive of Windows
        raise FileNotFoundError(f"{folder}: no folder above it is there; check the name")
    if not there.is_dir():
        raise NotADirectoryError(f"{folder}: {there} is a file; name a folder")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise PermissionError(
            f"{folder}: {there} cannot be written to ({error.strerror}); name another folder"
        ) from error
