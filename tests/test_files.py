"""Atomic writes, output locks and messages of operating system errors."""

import errno
import os
import re
from pathlib import Path

import pytest

from credalens._files import atomic_write, check_folder, locked


def write_half(path, error):
    with atomic_write(path) as temporary:
        temporary.write_text("half")
        raise error


def test_the_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "scores.csv"
    with atomic_write(path) as temporary:
        assert temporary.parent == path.parent  # a move within one file system is atomic
        assert temporary.suffix == ".csv"
        assert temporary != path
        temporary.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_existing_file_is_replaced_at_the_end_only(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("old")
    with atomic_write(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_everything_as_it_was(tmp_path, error):
    path = tmp_path / "scores.csv"
    path.write_text("old")
    with pytest.raises(error):
        write_half(path, error)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_nothing_new(tmp_path):
    with pytest.raises(OSError, match="disk full"):
        write_half(tmp_path / "a.png", OSError("disk full"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077])
def test_the_mode_is_that_of_any_other_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        with atomic_write(tmp_path / "a.csv") as temporary:
            temporary.write_text("new")
        assert os.umask(mask) == mask  # left as it was
    finally:
        os.umask(before)
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "no" / "a.csv"):
        pass


def test_a_folder_that_can_be_written_to_is_left_as_it_was(tmp_path):
    check_folder(tmp_path)
    check_folder(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_below_a_file_raises(tmp_path, monkeypatch):
    (tmp_path / "a").touch()
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "a/b/c"):
        with pytest.raises(NotADirectoryError, match=rf"^{folder}: .*a is a file; name a folder"):
            check_folder(Path(folder))


def test_a_folder_on_a_missing_drive_raises(monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda _: False)
    with pytest.raises(FileNotFoundError, match="a/b: none of its parent folders exists; check"):
        check_folder(Path("a/b"))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_read_only_folder_raises():
    for folder in ("/proc", "/proc/a/b"):
        message = rf"^{folder}: /proc cannot be written to \(.*\); name another folder"
        with pytest.raises(PermissionError, match=message):
            check_folder(Path(folder))


@pytest.mark.parametrize("name", [None, "{path}", "{folder}/.a-123.csv"])
def test_errors_name_the_output_instead_of_the_temporary_file(tmp_path, name):
    path = tmp_path / "a.csv"
    where = name and name.format(path=path, folder=tmp_path)
    told = f"{path}: no space left on device; free space and run it again"
    with pytest.raises(OSError, match=re.escape(told)), atomic_write(path):
        raise OSError(errno.ENOSPC, "full", where)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_held_by_one_and_leaves_nothing(tmp_path):
    out = tmp_path / "a.csv"
    with locked(out):
        with pytest.raises(BlockingIOError, match="another run is writing it"), locked(out):
            pass
        assert [path.name for path in tmp_path.iterdir()] == [".a.csv.lock"]
    with locked(out):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_folder_is_in_it(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with locked(out):
        with pytest.raises(BlockingIOError, match="another run is writing it"), locked(out):
            pass
        assert [path.name for path in out.iterdir()] == [".lock"]
        assert list(tmp_path.iterdir()) == [out]
    assert list(out.iterdir()) == []


def test_a_folder_that_takes_no_lock_is_named(tmp_path):
    (tmp_path / ".lock").mkdir()  # which even root cannot write to
    told = f"{tmp_path}: is a directory; name a file"
    with pytest.raises(IsADirectoryError, match=re.escape(told)), locked(tmp_path):
        pass


def test_errors_about_other_files_are_unchanged(tmp_path):
    other = FileNotFoundError(errno.ENOENT, "no such file", "model.npy")
    with pytest.raises(FileNotFoundError) as found, atomic_write(tmp_path / "a.csv"):
        raise other
    assert found.value is other


def test_the_content_is_on_the_disk_before_it_is_moved(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, Path.replace

    def record_fsync(handle):
        events.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        fsync(handle)

    def record_replace(path, target):
        events.append("replace")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "replace", record_replace)
    with atomic_write(tmp_path / "a.csv") as temporary:
        temporary.write_text("new")
    assert events == [temporary.name, "replace", tmp_path.name]


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_an_existing_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "a.csv"
    path.write_text("old")
    path.chmod(mode)
    with atomic_write(path) as temporary:
        assert temporary.stat().st_mode & 0o077 & ~mode == 0  # nor is it readable before
        temporary.write_text("new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == mode


def test_the_umask_of_other_threads_is_not_changed(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "umask")
    with atomic_write(tmp_path / "a.csv") as temporary:
        temporary.write_text("new")


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link.csv", tmp_path / "there" / "a.csv"
    for _ in range(2):  # the target does not exist at first
        link.unlink(missing_ok=True)
        link.symlink_to("there/a.csv")
        with locked(link), atomic_write(link) as temporary:
            assert temporary.parent == target.parent
            with pytest.raises(BlockingIOError), locked(target):
                pass
            temporary.write_text("new")
        assert link.is_symlink()
        assert target.read_text() == "new"
    link.unlink()
    link.symlink_to("link.csv")
    with (
        pytest.raises(OSError, match=r"link.csv: is a symbolic link to itself"),
        atomic_write(link),
    ):
        pass
    assert link.is_symlink()


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    for name in ("a.csv", "b.csv"):
        with pytest.raises(OSError, match="is a pipe or a device"), atomic_write(tmp_path / name):
            pass
        with pytest.raises(OSError, match="is a pipe or a device"), locked(tmp_path / name):
            pass
    assert (tmp_path / "a.csv").is_fifo()


def test_the_lock_does_not_follow_links(tmp_path):
    target = tmp_path / "precious"
    (tmp_path / ".a.csv.lock").symlink_to(target)
    with pytest.raises(OSError, match="is a symbolic link, not a lock file"):
        locked(tmp_path / "a.csv").__enter__()
    assert not target.exists()
