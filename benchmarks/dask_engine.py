"""The Dask engine with two workers compared with one worker and with the local engine.

``python -m benchmarks.dask_engine --rows 10000000`` uses a size at which constant costs are
negligible. The data is written to a temporary folder (400 bytes per row). The benchmark needs two
idle cores.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from typer.testing import CliRunner

from benchmarks.harness import Row
from credalens.cli import app
from credalens.engine.client import connect
from credalens.engine.job import ScoreJob
from credalens.evaluation.scores import ScoreColumns
from credalens.io import open_ensemble

MEASURES = ("tv", "entropy")
PARTS, M, K = 40, 10, 10


def ensembles(rng, n, M, K):
    """Return ``(n, M, K)`` float32: members that vary about a common centre."""
    P = rng.random((n, M, K), np.float32) ** 4
    P += 2 * rng.random((n, 1, K), np.float32) ** 4
    P += np.float32(1e-6)
    P /= P.sum(axis=-1, keepdims=True)
    return P


def write_dataset(folder: Path, rows: int, parts: int, M: int, K: int) -> Path:
    """Write a Parquet dataset with a column of lists."""
    folder.mkdir(parents=True)
    cuts = np.linspace(0, rows, parts + 1).astype(int)
    for i in range(parts):
        P = ensembles(np.random.default_rng(i), cuts[i + 1] - cuts[i], M, K)
        inner = pa.FixedSizeListArray.from_arrays(pa.array(P.ravel()), K)
        probs = pa.FixedSizeListArray.from_arrays(inner, M)
        pyarrow.parquet.write_table(
            pa.table({"probs": probs}), folder / f"part-{i:05d}.parquet", use_dictionary=False
        )
    return folder


def by_cluster(client, data: Path, out: Path, measures=MEASURES, threads: int | None = 1) -> float:
    """Return the seconds that the engine takes, from opening the files to the finished folder."""
    shutil.rmtree(out, ignore_errors=True)
    start = time.perf_counter()
    ensemble = open_ensemble([str(data)], labels_on_disk=True)
    job = ScoreJob(ensemble, ScoreColumns(tuple(measures)), out, {}, threads=threads)
    folder, _ = job.prepare()
    job.run(client, folder)
    folder.finish(out.with_suffix(".csv"))
    return time.perf_counter() - start


def by_command(data: Path, out: Path, measures=MEASURES) -> float:
    """Return the seconds that the local engine takes."""
    arguments = ["score", str(data), "-o", str(out), "-q", "--measures", ",".join(measures)]
    start = time.perf_counter()
    done = CliRunner().invoke(app, arguments)
    if done.exit_code:
        raise RuntimeError(done.output)
    return time.perf_counter() - start


def rows(n: int = 1_000_000, repeat: int = 3):
    """Yield the two ratios of the smallest of several interleaved times."""
    with tempfile.TemporaryDirectory(prefix="credalens-bench-") as name:
        folder = Path(name)
        data = write_dataset(folder / "data", n, PARTS, M, K)
        few = write_dataset(folder / "few", 2 * PARTS, 4, M, K)
        times = {"one": [], "two": [], "local": []}
        with connect(workers=1) as one, connect(workers=2) as two:
            for client in (one, two, one, two):  # all workers import the package
                by_cluster(client, few, folder / "warm")
            for _ in range(repeat):
                times["one"].append(by_cluster(one, data, folder / "one"))
                times["two"].append(by_cluster(two, data, folder / "two"))
                times["local"].append(by_command(data, folder / "local.parquet"))
        best = {name: min(seconds) / n * 1e6 for name, seconds in times.items()}
        here = pyarrow.parquet.read_table(folder / "local.parquet")
        same = all(pyarrow.parquet.read_table(folder / w).equals(here) for w in ("one", "two"))
    agreement = "bit for bit" if same else "DIFFERENT"
    what = f"score {','.join(MEASURES)}, {PARTS} Parquet files, M={M}, K={K}, n={n}"
    ratio = best["one"] / best["two"]
    yield Row(f"{what}: two single-thread workers", "one", best["two"], best["one"],
              ">= 1.6x", ratio >= 1.6 and same, agreement)  # fmt: skip
    overhead = best["two"] / best["local"] - 1
    yield Row(f"{what}: Dask, two workers (overhead {overhead:.0%})", "the local engine",
              best["two"], best["local"], ">= 0.8x", overhead < 0.25 and same,
              agreement)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    chosen = parser.parse_args()
    for row in rows(chosen.rows, chosen.repeat):
        print(f"{row.what} against {row.against}: {row.ours_us:.3f} and {row.other_us:.3f} us per "
              f"row, {row.ratio:.2f}x, required {row.required} "
              f"[{'met' if row.met else 'MISSED'}] {row.agreement}")  # fmt: skip
