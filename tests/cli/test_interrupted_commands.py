"""Ctrl-C, once and twice; closed streams; loops of symbolic links; damaged settings; few files."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from credalens.io.formats import MANIFEST
from prediction_files import call, command, predictions

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs the signals of POSIX"),
]


def imported(process, module):
    """Wait until a process has printed, by ``-v``, that it imports a module."""
    for line in process.stderr:
        if f"import {module!r}".encode() in line or f"import '{module}'".encode() in line:
            return
    pytest.fail(f"{module} was not imported")


@pytest.mark.parametrize(
    "module", ["credalens._interrupts", "numpy", "credalens.measures", "credalens.cli"]
)
def test_an_interrupt_during_the_imports_is_one_line(module):
    arguments = [sys.executable, "-v", *command("doctor")[1:]]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        imported(process, module)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    # Other lines are those of -v.
    assert b"credalens: interrupted\n" in rest
    assert b"Traceback" not in rest
    assert b"KeyboardInterrupt" not in rest


@pytest.mark.parametrize("seconds", [0.0, 0.1])
@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
def test_two_interrupts_while_rows_are_scored(tmp_path, name, seconds):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", rng.dirichlet(np.ones(40), (600, 4)).astype(np.float32))
    arguments = command("score", "a.npy", "-o", name, "--measures", "hartley", "--chunk-rows", 20)
    with subprocess.Popen(
        arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        parts = tmp_path / f".{name}.parts"
        end = time.monotonic() + 100
        while not parts.exists() and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        out, message = process.communicate(timeout=100)
    assert out == ""
    if process.returncode == 0:  # on a busy machine it may have been finished
        assert message.startswith("wrote 600 rows")
        return
    assert process.returncode == 130, message
    assert len(message.splitlines()) == 1
    assert message.startswith("credalens: interrupted")
    assert set(os.listdir(tmp_path)) <= {"a.npy", parts.name}  # nothing half written
    call("score", tmp_path / "a.npy", "-o", tmp_path / name, "--measures", "tv")


@pytest.mark.parametrize("seconds", [0.0, 0.3, 2.0])
def test_interrupts_of_a_terminal_with_a_local_cluster(tmp_path, seconds):
    pytest.importorskip("distributed")
    psutil = pytest.importorskip("psutil")
    rng = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", rng.dirichlet(np.ones(60), (60000, 4)).astype(np.float32))
    arguments = command("score", "a.npy", "-o", "out", "--engine", "dask", "--workers", 2,
                        "--measures", "hartley")  # fmt: skip
    with subprocess.Popen(
        arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        end = time.monotonic() + 100
        while process.poll() is None and not psutil.Process(process.pid).children():
            assert time.monotonic() < end
            time.sleep(0.005)
        time.sleep(seconds)  # the workers start, or compute; a terminal interrupts them, too
        while process.poll() is None and time.monotonic() < end:
            os.killpg(process.pid, signal.SIGINT)  # ignored while they start
            time.sleep(3)
        out, message = process.communicate(timeout=100)
    assert out == ""
    assert "Traceback" not in message
    assert "KeyboardInterrupt" not in message
    if process.returncode == 0:  # it was finished before
        assert "wrote 60000 rows" in message
        return
    assert process.returncode == 130, message
    assert message.count("credalens: interrupted") == 1


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "RuntimeError"])
def test_an_interrupt_that_python_wraps_is_one_line(error):
    script = f"""
import sys
sys.argv[0] = "credalens"
import credalens
try:
    raise KeyboardInterrupt
except KeyboardInterrupt as interrupt:
    raise {error} from interrupt
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                           timeout=100)  # fmt: skip
    assert (found.returncode, found.stderr) == (130, "credalens: interrupted\n")


def test_a_program_that_imports_the_library_keeps_its_handler():
    script = """
import signal
import credalens
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                           timeout=100)  # fmt: skip
    assert found.stdout == "True\n", found.stderr


@pytest.mark.parametrize("arguments", ["score - --format csv -o s.csv", "score - --format csv"])
def test_closed_standard_input(tmp_path, arguments):
    line = " ".join(command(*arguments.split()))
    done = subprocess.run(f"{line} <&-", shell=True, cwd=tmp_path, capture_output=True, text=True,
                          timeout=100)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "credalens: stdin: is closed; pipe the predictions to it, or name a file\n"
    )


def test_scores_for_a_closed_standard_output_are_not_lost_silently(tmp_path):
    np.save(tmp_path / "a.npy", predictions(20)[0])
    line = " ".join(command("score", "a.npy"))
    done = subprocess.run(f"{line} >&-", shell=True, cwd=tmp_path, capture_output=True, text=True,
                          timeout=100)  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "credalens: standard output is closed; pass -o FILE\n"


@pytest.mark.parametrize("name", ["loop", "loop.npy", "loop.csv", "loop.parquet"])
def test_loops_of_symbolic_links(tmp_path, name):
    os.symlink(name, tmp_path / name)
    np.save(tmp_path / "a.npy", predictions(20)[0])
    call("score", tmp_path / name, "-o", tmp_path / "s.csv", code=2)
    call("evaluate", tmp_path / "a.npy", "--labels", tmp_path / name, code=2)
    (tmp_path / "folder").mkdir()
    os.symlink(name, tmp_path / "folder" / name)
    call("score", tmp_path / "folder", "-o", tmp_path / "s.csv", code=2)
    if name != "loop":
        call("score", tmp_path / "a.npy", "-o", tmp_path / name, code=2)
    os.symlink(tmp_path / "ring", tmp_path / "ring")
    call("score", tmp_path / "a.npy", "-o", tmp_path / "ring" / "s.csv", code=2)


VALUES = ("", "{", "[]", "null", "5", '"x"', "{}", '{"columns": 5}', "[[[[", "\x00", "\udcff")


@pytest.mark.parametrize("text", VALUES)
def test_damaged_settings_of_an_unfinished_run(tmp_path, text):
    np.save(tmp_path / "a.npy", predictions(20)[0])
    parts = tmp_path / ".s.csv.parts"
    parts.mkdir()
    (parts / "task.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = call("score", tmp_path / "a.npy", "-o", tmp_path / "s.csv", "--resume", code=2)
    assert "resume" in done.stderr


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("scored")
    members, labels = predictions(20)
    np.savez(folder / "a.npz", probs=members)
    np.save(folder / "a.npy", members)
    np.save(folder / "y.npy", labels)
    call("score", folder / "a.npy", "-o", folder / "out", "--engine", "dask", "--workers", 1)
    return folder, json.loads((folder / "out" / MANIFEST).read_text())


WRONG = {
    "settings": None, "partitions": [], "rows": "7", "complete": 1, "left_out": None,
    "settings.columns": 5, "settings.classes": None, "partitions.0.file": 3,
    "partitions.0.rows": None, "partitions.0.status": [], "partitions.0": 1,
}  # fmt: skip


@pytest.mark.parametrize("place", WRONG)
@pytest.mark.parametrize("removed", [False, True])
def test_damaged_manifests(scored, place, removed):
    folder, manifest = scored
    damaged = json.loads(json.dumps(manifest))
    *path, last = (int(key) if key.isdecimal() else key for key in place.split("."))
    inside = damaged
    for key in path:
        inside = inside[key]
    if removed:
        del inside[last]
    else:
        inside[last] = WRONG[place]
    (folder / "out" / MANIFEST).write_text(json.dumps(damaged))
    for arguments in (
        ("evaluate", folder / "out", "--labels", folder / "y.npy"),
        ("score", folder / "a.npy", "-o", folder / "out", "--engine", "dask", "--workers", 1),
    ):
        message = call(*arguments, code=2).stderr
        assert f"{MANIFEST}: " in message
        assert "; score the predictions again, into another folder" in message


@pytest.mark.parametrize("files", [8, 16, 32])
def test_few_descriptors(tmp_path, files):
    for i in range(30):
        np.save(tmp_path / f"m{i:02}.npy", predictions(20)[0][:, i % 3])
    names = " ".join(f"m{i:02}.npy" for i in range(30))
    line = " ".join(command("score", names, "-o", "s.csv", "--quiet"))
    done = subprocess.run(f"ulimit -n {files}; {line}", shell=True, cwd=tmp_path,
                          capture_output=True, text=True, timeout=100)  # fmt: skip
    assert done.returncode in (0, 2), done.stderr
    assert len(done.stderr.splitlines()) == (done.returncode > 0), done.stderr
    assert "Traceback" not in done.stderr
