"""From files to files: scoring compared with reading the input and writing the same columns.

CPU time over all threads, which does not count the time in which other processes run. Commands run
in this process, so that the start of Python and imports are not counted. pyarrow writes with its
default options; credalens does not encode columns of floats by dictionaries, which is faster.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from typer.testing import CliRunner

import credalens as cl
from benchmarks.dask_engine import ensembles
from benchmarks.harness import Row, cpu_seconds
from credalens.cli import app

M = 5
#: Rows of binary files, of CSV files, and of the report.
N, N_CSV, N_REPORT = 2_000_000, 200_000, 1_000_000
#: Rows of a row group of the input.
GROUP = 1 << 17


def write_npy(folder: Path, P):
    """Write one array."""
    np.save(folder / "p.npy", P)
    return [folder / "p.npy"]


def write_columns(folder: Path, P):
    """Write one Parquet file per model, with a column per class."""
    paths = [folder / f"m{m}.parquet" for m in range(P.shape[1])]
    for m, path in enumerate(paths):
        table = pa.table({f"p{k}": P[:, m, k] for k in range(P.shape[2])})
        pq.write_table(table, path, row_group_size=GROUP, use_dictionary=False)
    return paths


def write_lists(folder: Path, P):
    """Write one Parquet file with a column of M lists of K numbers."""
    inner = pa.FixedSizeListArray.from_arrays(pa.array(P.ravel()), P.shape[2])
    table = pa.table({"probs": pa.FixedSizeListArray.from_arrays(inner, P.shape[1])})
    path = folder / "p.parquet"
    pq.write_table(table, path, row_group_size=GROUP, use_dictionary=False)
    return [path]


def write_csv(folder: Path, P):
    """Write one CSV file per model."""
    paths = [folder / f"m{m}.csv" for m in range(P.shape[1])]
    for m, path in enumerate(paths):
        table = pa.table({f"p{k}": P[:, m, k] for k in range(P.shape[2])})
        pyarrow.csv.write_csv(table, path)
    return paths


def read(path: Path):
    """Read a file once with NumPy or pyarrow."""
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r").sum()
    if path.suffix == ".csv":
        return pyarrow.csv.read_csv(path)
    return pq.read_table(path)


def write(table, path: Path):
    """Write a table with pyarrow and its default options."""
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pq.write_table(table, path)


def command(*words):
    """Run a command in this process."""
    done = CliRunner().invoke(app, [*map(str, words), "-q"])
    if done.exit_code:
        raise RuntimeError(done.output)


def scored(what, writer, n, K, suffix, most):
    """Return the row of ``score --measures tv``."""
    with tempfile.TemporaryDirectory(prefix="credalens-bench-") as name:
        folder = Path(name)
        paths = writer(folder, ensembles(np.random.default_rng(0), n, M, K))
        out, copy = folder / f"out{suffix}", folder / f"copy{suffix}"

        def score():
            out.unlink(missing_ok=True)
            command("score", *paths, "--measures", "tv", "-o", out)

        def copy_all():
            for path in paths:
                read(path)
            write(table, copy)

        ours = cpu_seconds(score, repeat=3)
        table = read(out)
        reference = cpu_seconds(copy_all, repeat=3)
    return Row(
        f"score --measures tv, ({n}, {M}, {K}) float32, {what} to {suffix[1:]}",
        "reading the input and writing the same columns; CPU time",
        1e6 * ours / n,
        1e6 * reference / n,
        f"at most {most}x the time, i.e. ratio >= {1 / most:.2f}",
        ours <= most * reference,
        "",
    )


def report():
    """Return the row of ``report``."""
    with tempfile.TemporaryDirectory(prefix="credalens-bench-") as name:
        folder = Path(name)
        paths = write_npy(folder, ensembles(np.random.default_rng(0), N_REPORT, M, 10))

        def write_report():
            command("report", *paths, "-o", folder / "report.html")

        ours = cpu_seconds(write_report, repeat=1)
        reference = cpu_seconds(lambda: read(paths[0]))
    return Row(
        f"report ({N_REPORT}, {M}, 10) float32, npy",
        "sum of the array, NumPy; CPU time",
        1e6 * ours / N_REPORT,
        1e6 * reference / N_REPORT,
        "at most 5 s",
        ours <= 5,
        f"{ours:.1f} s",
    )


def vote(n, members, K, required, met):
    """Return the row of the majority vote."""
    P = ensembles(np.random.default_rng(0), n, members, K)
    ours, reference = (cpu_seconds(f) for f in (lambda: cl.majority_vote(P), lambda: P.sum()))
    return Row(
        f"majority_vote ({n}, {members}, {K}) float32",
        "sum of the array, NumPy; CPU time",
        1e6 * ours / n,
        1e6 * reference / n,
        required,
        met(1e6 * ours / n, ours / reference),
        "",
    )


def rows():
    """Yield the rows of the table."""
    yield scored("npy", write_npy, N, 10, ".parquet", 1.4)
    yield scored("Parquet, a column of lists,", write_lists, N, 10, ".parquet", 1.5)
    yield scored("Parquet, a column per class,", write_columns, N // 2, 10, ".parquet", 1.5)
    yield scored("Parquet, a column per class,", write_columns, N, 2, ".parquet", 1.5)
    yield scored("csv", write_csv, N_CSV, 10, ".csv", 1.5)
    yield report()
    yield vote(N, 5, 10, "at most 0.1 us", lambda us, ratio: us <= 0.1)
    yield vote(50_000, 10, 1000, "at most 1.2x the time, i.e. ratio >= 0.83",
               lambda us, ratio: ratio <= 1.2)  # fmt: skip
