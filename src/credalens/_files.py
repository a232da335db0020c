"""Atomic writes, output locks, and messages for operating system errors."""

from __future__ import annotations

import errno
import os
import secrets
import stat
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

_FREE_SPACE = "free space and run it again"
_PERMISSIONS = "change its permissions, or choose another place"
#: Error numbers that a user can act on, and the advice for each.
FIXES = {
    errno.ENOSPC: _FREE_SPACE,
    errno.EDQUOT: _FREE_SPACE,
    errno.EFBIG: _FREE_SPACE,
    errno.EACCES: _PERMISSIONS,
    errno.EPERM: _PERMISSIONS,
    errno.EROFS: _PERMISSIONS,
    errno.ENOENT: "check the name",
    errno.ENOTDIR: "check the name",
    errno.EISDIR: "name a file",
    errno.ELOOP: "remove the loop of symbolic links",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EMFILE: "raise the number of open files by ulimit -n, or name fewer files",
    errno.EIO: "check the disk and run it again",
    errno.ESTALE: "check the file server and run it again",
    errno.ETIMEDOUT: "check the file server and run it again",
    errno.EINTR: "run it again",
    errno.EBADF: "open the stream, or name a file",
}
#: Error numbers that may be gone when a file is read again: of network file systems and of disks.
TRANSIENT = (errno.EIO, errno.ESTALE, errno.EINTR, errno.ETIMEDOUT, errno.EAGAIN)
#: Error numbers of a full disk.
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Name of the lock file in a locked directory, and suffix of the lock file of another file.
LOCK = ".lock"


def format_os_error(error: OSError, path: object = None, fix: str = "") -> str:
    """Return one line with the path, the reason and what to do."""
    name = error.filename if path is None else path
    reason = os.strerror(error.errno) if error.errno else str(error)
    fix = fix or FIXES.get(error.errno or 0, "run it again")
    return f"{'' if name is None else f'{name}: '}{reason[:1].lower()}{reason[1:]}; {fix}"


@contextmanager
def naming_errors(path: object, when_full: str = "") -> Iterator[None]:
    """Make errors about `path` or its temporary files name `path`.

    Errors about other files, and errors whose number is not in `FIXES`, are not changed.
    `when_full` replaces the advice for a full disk.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FIXES or not _concerns(error.filename, Path(str(path))):
            raise
        kind = type(error) if type(error).__module__ == "builtins" else OSError
        fix = when_full if error.errno in DISK_FULL else ""
        raise kind(format_os_error(error, path, fix)) from error


def _concerns(name: Any, path: Path) -> bool:
    """Return whether an error is about `path`, or about a hidden file beside or inside it."""
    if name is None or Path(os.fsdecode(name)) == path:
        return True
    file = Path(os.fsdecode(name)).absolute()
    folders = (path.absolute(), path.absolute().parent)
    inside = (file.relative_to(folder).parts for folder in folders if file.is_relative_to(folder))
    return any(parts[0].startswith(".") for parts in inside if parts)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same directory; move it to `path` on success.

    If the block raises or is interrupted, the temporary file is removed and `path` is unchanged.
    The content is on the disk before it is moved. An existing file keeps its mode, and a symbolic
    link its target.
    """
    with naming_errors(path):
        target = follow_link(path)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        temporary = target.with_name(f".{target.stem}-{secrets.token_hex(4)}{target.suffix}")
        # The kernel applies the umask, as for any other new file.
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        os.close(os.open(temporary, flags, 0o666 if mode is None else mode | 0o600))
        try:
            yield temporary
            sync(temporary)
            if mode is not None:
                temporary.chmod(mode)
            temporary.replace(target)
            sync(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


def follow_link(path: Path) -> Path:
    """Return the file that an output is written to: `path`, or the target of a symbolic link.

    Raise `OSError` for a pipe or a device, which would be replaced by a file.
    """
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if target.is_symlink():
        raise OSError(f"{path}: is a symbolic link to itself; name a file")
    if target.exists() and not target.is_file() and not target.is_dir():
        raise OSError(f"{path}: is a pipe or a device, not a file; name a file")
    return target


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    is_folder = path.is_dir()
    if is_folder and sys.platform == "win32":  # folders cannot be opened
        return
    handle = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some file systems do not support it, of folders above all.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
            raise
    finally:
        os.close(handle)


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold an exclusive lock on the output `out`, or raise `BlockingIOError`.

    The lock ends with the process. The lock file of a directory is inside it, because its parent
    may not be writable. There is no lock on file systems that do not support it.
    """
    with naming_errors(out), ExitStack() as stack:
        target = follow_link(out)
        path = target / LOCK if target.is_dir() else target.with_name(f".{target.name}{LOCK}")
        if sys.platform == "win32":  # an open file cannot be removed: remove it after closing
            stack.callback(_remove, path)
        while True:
            stream = stack.enter_context(_open_lock(path))
            _lock(stream, out)
            # The previous holder may have removed the file between our open() and flock().
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(stream.fileno()), path.lstat()):
                    break
        if sys.platform != "win32":  # remove it while the lock is still held
            stack.callback(_remove, path)
        yield


def _open_lock(path: Path) -> IO[bytes]:
    """Open or create a lock file, which must not be a symbolic link to another file."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(f"{path}: is a symbolic link, not a lock file; remove it") from error
        raise
    return os.fdopen(handle, "r+b", buffering=0)


def _remove(lock: Path) -> None:
    with suppress(PermissionError):  # Windows: another process has opened it
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
    except OSError:  # the file system does not support locks
        return


def resolved(path: str | os.PathLike[str]) -> Path:
    """Return the path without symbolic links, as far as it exists; a loop of them is no error."""
    return Path(os.path.realpath(path))


def check_folder(folder: Path) -> None:
    """Raise `OSError` if files cannot be created in `folder`, before any work is done.

    If `folder` does not exist, its nearest existing parent is checked. A temporary file is created
    and removed, because permission bits do not show read-only file systems.
    """
    existing = next((p for p in (folder, *folder.absolute().parents) if p.exists()), None)
    if existing is None:  # a drive on Windows
        raise FileNotFoundError(f"{folder}: none of its parent folders exists; check the name")
    if not existing.is_dir():
        raise NotADirectoryError(f"{folder}: {existing} is a file; name a folder")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise PermissionError(
            f"{folder}: {existing} cannot be written to ({error.strerror}); name another folder"
        ) from error
