"""Seeded fuzzing of the readers and the command line: ``python tests/fuzzing.py --seconds 600``.

Mutated files of every format are read, files that state enormous sizes are scored, and runs are
killed or interrupted twice and continued. Whatever the input, a reader returns rows or refuses the
file in one line that names it; no process crashes, hangs or takes more than 2 GB; and an output is
the same as without the interruption, or does not exist. The last line has the counts.
"""

import argparse
import collections
import contextlib
import gzip
import io
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np

from prediction_files import FORMATS, command, predictions

#: Seconds after which a single file counts as a hang, bytes that a process may take.
PATIENCE, MOST_BYTES = 60, 2 << 30
DAT = (
    b"@relation fruit\n@attribute weight real [0, 9]\n@attribute 'skin colour' {red, 'light "
    b"green'}\n@attribute kind {apple, pear}\n@inputs weight, 'skin colour'\n@outputs kind\n@data\n"
    + b"1.5, red, apple\n2.5, 'light green', pear\n?, red, pear\n"
    * 8
)


class HangError(Exception):
    """A file was read for more than `PATIENCE` seconds."""


# ---------------------------------------------------------------- mutations


def originals(folder):
    """Return an undamaged file of each format: its extension and its bytes."""
    members, labels = predictions(n=40)
    found = {}
    for kind, (ending, write) in FORMATS.items():
        path = Path(folder, f"original{ending}")
        with contextlib.suppress(ImportError):
            write(path, members[:, 0], labels)
            found[kind] = (ending, path.read_bytes())
    found["keel"] = (".dat", DAT)
    return found


def mutated(data, rng, others):
    """Return bytes that are damaged in one to four places."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(9)
        if kind == 0:  # a bit
            at = min(at, len(out) - 1)
            if at >= 0:
                out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[at : at + 1] = rng.randbytes(1)
        elif kind == 2:
            del out[at : at + rng.randint(1, 40)]
        elif kind == 3:
            out[at:at] = rng.randbytes(rng.randint(1, 40))
        elif kind == 4:  # a number of the header
            out[at : at + 8] = struct.pack("<q", rng.choice([-1, 0, 1 << 31, (1 << 62) + 1, 255]))
        elif kind == 5:
            del out[at:]
        elif kind == 6:  # a part of it twice
            out[at:at] = out[at : at + rng.randint(1, 200)]
        elif kind == 7:  # a part of a file of another format
            other = rng.choice(others)
            start = rng.randrange(len(other))
            out[at : at + 60] = other[start : start + 60]
        else:
            out[at:at] = rng.choice(
                [b"\x00", b'"', b",", b"\n", b"{", b"nan", b"-", b"1e999", b"'"]
            )
    return bytes(out)


def read_file(path):
    """Read a file by its format; return whether it was read, or raise what is no refusal."""
    from credalens.datasets import MalformedFileError, read_dat
    from credalens.io import PredictionFileError, open_ensemble

    try:
        if path.suffix == ".dat":
            read_dat(path)
            return True
        for chunk in open_ensemble([str(path)]).chunks(rows=16, skip=True):
            if not np.isfinite(chunk.members).all():
                raise AssertionError("a row that is no distribution was read")
    except (PredictionFileError, MalformedFileError) as error:
        text = str(error)
        if str(path) not in text or len(text.splitlines()) != 1:
            raise AssertionError(f"a refusal that is no line with the file: {text!r}") from None
        return False
    return True


def _alarm(*_):
    raise HangError


def read_mutations(kind, seed, count, folder):
    """Read `count` mutations of a format; return counts and failures."""
    files = originals(folder)
    ending, data = files[kind]
    others = [content for _, content in files.values()]
    path = Path(folder, f"mutated{ending}")
    counts, failures = collections.Counter(), []
    signal.signal(signal.SIGALRM, _alarm)
    for i in range(count):
        rng = random.Random(f"{kind} {seed} {i}")
        path.write_bytes(mutated(data, rng, others))
        signal.alarm(PATIENCE)
        try:
            with (
                warnings.catch_warnings(action="ignore"),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                counts["read" if read_file(path) else "refused"] += 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            counts["failed"] += 1
            failures.append(f"{kind} {seed} {i}: {type(error).__name__}: {error}"[:300])
        finally:
            signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if peak > MOST_BYTES:
        counts["failed"] += 1
        failures.append(f"{kind} {seed}: {peak >> 20} MB")
    return counts, failures


def read_mutations_apart(kind, seed, count):
    """Call `read_mutations` in a process of its own, which may crash."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, __file__, "--one", kind, str(seed), str(count), folder]
        limit = PATIENCE + 5 * count
        done = subprocess.run(line, capture_output=True, text=True, timeout=limit, check=False)
    if done.returncode:
        reason = f"{kind} {seed}: exit code {done.returncode}: {done.stderr[-300:]}"
        return collections.Counter(failed=1), [reason]
    counts, failures = json.loads(done.stdout.splitlines()[-1])
    return collections.Counter(counts), failures


# ---------------------------------------------------------------- enormous sizes


def _npy_header(shape, dtype="<f8"):
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    text = text + " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def _npz(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("probs.npy", content)


def _gzip(path, content):
    path.write_bytes(gzip.compress(content, 9))


def _hdf5(path, shape):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("probs", shape, "f8", chunks=tuple(min(n, 16) for n in shape))


def _zarr(path, shape):
    import zarr

    zarr.open_array(str(path), mode="w", shape=shape, chunks=tuple(min(n, 16) for n in shape),
                    dtype="f8")  # fmt: skip


def _safetensors(path, shape, size):
    header = {"probs": {"dtype": "F64", "shape": list(shape), "data_offsets": [0, size]}}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"\x00" * 64)


def _parquet(path, rows, size):
    """Write a column in which one long text is repeated."""
    import pyarrow as pa
    import pyarrow.parquet

    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), ["x" * size])
    pyarrow.parquet.write_table(pa.table({"probs": text, "n": np.zeros(rows)}), path)


SHAPES = ((10**9, 10), (2, 10**9), (10**6, 10**6), (2**40, 2**40), (5, 10**5, 10**5), (-5, 2),
          (0, 3), (3, 0), (2**62, 2))  # fmt: skip
#: File name, and a function that writes it.
BOMBS = {
    **{f"npy {shape}": ("a.npy", lambda p, s=shape: p.write_bytes(_npy_header(s) + bytes(64)))
       for shape in SHAPES},
    **{f"npz {shape}": ("a.npz", lambda p, s=shape: _npz(p, _npy_header(s) + bytes(64)))
       for shape in SHAPES},
    **{f"npy.gz {shape}": ("a.npy.gz",
                           lambda p, s=shape: _gzip(p, _npy_header(s) + bytes(64)))
       for shape in SHAPES},
    "npy.gz of zeros": ("a.npy.gz",
                        lambda p: _gzip(p, _npy_header((2**21, 10)) + bytes(16 << 20))),
    **{f"hdf5 {shape}": ("a.h5", lambda p, s=shape: _hdf5(p, s))
       for shape in ((10**9, 10), (2, 10**9), (10**6, 10**6), (5, 10**5, 10**5))},
    **{f"zarr {shape}": ("a.zarr", lambda p, s=shape: _zarr(p, s))
       for shape in ((2, 10**9), (10**6, 10**6), (5, 10**5, 10**5))},
    **{f"safetensors {shape}": ("a.safetensors", lambda p, s=shape: _safetensors(p, s, 64))
       for shape in SHAPES},
    "safetensors header": ("a.safetensors", lambda p: p.write_bytes(b"\xff" * 7 + b"\x00" * 99)),
    "object npy": ("a.npy", lambda p: p.write_bytes(_npy_header((2, 2), "|O") + b"cos\nsystem\n.")),
    "csv.gz of blanks": ("a.csv.gz", lambda p: _gzip(p, b" " * (16 << 20))),
    "csv.gz of zeros": ("a.csv.gz", lambda p: _gzip(p, bytes(16 << 20))),
    "json of brackets": ("a.json", lambda p: p.write_bytes(b"[" * 200_000)),
    "jsonl of brackets": ("a.jsonl", lambda p: p.write_bytes(b'{"probs":' * 50_000)),
    "csv of commas": ("a.csv", lambda p: p.write_bytes(b"," * 300_000 + b"\n")),
    "csv of quotes": ("a.csv", lambda p: p.write_bytes(b'"a,b\n' * 100_000)),
    "parquet of long text": ("a.parquet", lambda p: _parquet(p, 10_000, 100_000)),
    "dat of one line": ("a.csv", lambda p: p.write_bytes(b"@attribute a " + b"{" * 10**6)),
}  # fmt: skip


def run_command(*arguments, cwd, timeout=PATIENCE * 5):
    """Run a command; return its exit code, standard error and largest memory."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command(*arguments), cwd=cwd, stdout=subprocess.DEVNULL,
                                   stderr=errors)  # fmt: skip
        killer = _kill_later(process, timeout)
        _, status, used = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return process.returncode, errors.read().decode("utf-8", "replace"), used.ru_maxrss * 1024


def _kill_later(process, seconds):
    import threading

    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    return timer


def problem_of(code, message, codes=(0, 2)):
    """Return what is wrong with the end of a command; nothing if it is as promised."""
    if code not in codes:
        return f"exit code {code}"
    if "Traceback" in message:
        return "a traceback"
    lines = [line for line in message.splitlines() if not line.startswith("credalens: warning")]
    return f"{len(lines)} lines" if code and len(lines) != 1 else ""


def run_bomb(name):
    """Score a file that states an enormous size; return what is wrong."""
    file, write = BOMBS[name]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, file))
        code, message, peak = run_command("score", file, "-o", "s.csv", cwd=folder)
        problem = problem_of(code, message)
        if not problem and peak > MOST_BYTES:
            problem = f"{peak >> 20} MB"
        if not problem and code and file not in message:
            problem = "a refusal that does not name the file"
        # What is finished is kept for --resume, if reading failed.
        allowed = {file, ".s.csv.parts"} | ({"s.csv", "s.skipped.csv"} if code == 0 else set())
        left = set(os.listdir(folder)) - allowed
        return problem or (f"left {sorted(left)}" if left else "")


# ---------------------------------------------------------------- killed and interrupted runs


def prepare_run(folder):
    """Write predictions, and their scores of an uninterrupted run."""
    rng = np.random.default_rng(0)
    np.save(Path(folder, "a.npy"), rng.dirichlet(np.ones(10), (4000, 4)).astype(np.float32))
    for name in ("s.csv", "s.parquet"):
        code, message, _ = run_command(*_score(name), cwd=folder)
        if code:
            raise RuntimeError(message)
        shutil.move(Path(folder, name), Path(folder, f"expected-{name}"))


def _score(name):
    return ("score", "a.npy", "-o", name, "--measures", "tv,entropy,mmi", "--chunk-rows", "50")


def kill_and_resume(folder, rng, kills=3):
    """Kill a run several times, then finish it; return what is wrong."""
    name = rng.choice(["s.csv", "s.parquet"])
    out = Path(folder, name)
    for _ in range(kills):
        null = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command(*_score(name), "--resume"), cwd=folder, **null)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.3, 2.0))
        process.kill()
        process.wait()
        if out.exists() and not _same(out, Path(folder, f"expected-{name}")):
            return "an output that is not whole"
    code, message, _ = run_command(*_score(name), "--resume", cwd=folder)
    found = problem_of(code, message, (0,)) or (
        "" if _same(out, Path(folder, f"expected-{name}")) else "another output"
    )
    out.unlink(missing_ok=True)
    return found


def _same(path, expected):
    if path.suffix == ".csv":
        return path.read_bytes() == expected.read_bytes()
    import pyarrow.parquet

    tables = (pyarrow.parquet.read_table(p) for p in (path, expected))
    first, second = (table.replace_schema_metadata(None) for table in tables)
    return first.equals(second)


def interrupt_twice(folder, rng):
    """Interrupt a run twice; return what is wrong."""
    name = rng.choice(["s.csv", "s.parquet"])
    process = subprocess.Popen(command(*_score(name)), cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    # Not in the first moments: before the package is imported, Python handles the signal.
    time.sleep(rng.uniform(0.5, 2.5))
    for _ in range(2):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        time.sleep(rng.choice([0.0, 0.001, 0.02, 0.2]))
    killer = _kill_later(process, PATIENCE)
    message = process.communicate()[1]
    killer.cancel()
    out = Path(folder, name)
    found = problem_of(process.returncode, message, (0, 130))
    if not found and out.exists() and not _same(out, Path(folder, f"expected-{name}")):
        found = "an output that is not whole"
    out.unlink(missing_ok=True)
    shutil.rmtree(Path(folder, f".{name}.parts"), ignore_errors=True)
    return found


# ---------------------------------------------------------------- all of them


def fuzz(seconds, seed, batch=150):
    """Run everything for a time; return counts and failures."""
    end = time.monotonic() + seconds
    counts, failures = collections.Counter(), []

    def add(what, problem):
        counts[what] += 1
        if problem:
            counts["failed"] += 1
            failures.append(f"{what}: {problem}")
            print(failures[-1], flush=True)

    for name in BOMBS:
        add("enormous sizes", (problem := run_bomb(name)) and f"{name}: {problem}")
    with tempfile.TemporaryDirectory() as folder:
        prepare_run(folder)
        kinds = list(originals(folder))
        for rounds in range(1 << 30):
            rng = random.Random(f"{seed} {rounds}")
            add("killed and resumed runs", kill_and_resume(folder, rng))
            add("double interrupts", interrupt_twice(folder, rng))
            for kind in kinds:
                if time.monotonic() > end:
                    return counts, failures
                found, bad = read_mutations_apart(kind, f"{seed}-{rounds}", batch)
                counts.update({f"mutations {what}": n for what, n in found.items()
                               if what != "failed"})  # fmt: skip
                counts["failed"] += found["failed"]
                failures += bad
                for line in bad:
                    print(line, flush=True)
    raise AssertionError


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", nargs=4, metavar=("KIND", "SEED", "COUNT", "FOLDER"))
    options = parser.parse_args()
    if options.one:
        kind, seed, count, folder = options.one
        print(json.dumps(read_mutations(kind, seed, int(count), folder)))
        return
    counts, failures = fuzz(options.seconds, options.seed)
    print(", ".join(f"{what} {n}" for what, n in sorted(counts.items())) + f"; seed {options.seed}")
    print(f"{len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
