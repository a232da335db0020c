"""Measure the throughput and the memory of the Dask engine and update ``docs/scaling.md``.

``python -m benchmarks.scaling throughput`` measures rows per second for several numbers of models
and classes, with one and with two workers, on temporary Parquet files. ``simulate`` scores 10^8
rows (``--rows``) that the workers generate, and records the memory of all processes. Each replaces
its section of the page.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import psutil

from benchmarks.dask_engine import by_cluster, ensembles, write_dataset
from credalens.engine.client import connect
from credalens.engine.job import ScoreJob
from credalens.evaluation.scores import ScoreColumns
from credalens.io import Ensemble, open_ensemble
from credalens.io.source import Block, Source

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
#: Classes, models, and rows such that a run takes a few seconds.
SIZES = ((2, 5, 1_000_000), (10, 5, 1_000_000), (10, 10, 500_000), (10, 50, 100_000),
         (100, 10, 100_000))  # fmt: skip
PARTS = 32
REPEAT = 3


def throughput(rows_factor: float) -> str:
    """Return the table by models and classes, and the estimate for 10^9 rows."""
    lines = [
        "| classes | models | measures | bytes per row | rows/s, one worker | rows/s, two | ratio "
        "| reading only, rows/s per core | CPU µs per row |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    found = {}
    with (
        tempfile.TemporaryDirectory(prefix="credalens-bench-") as name,
        connect(workers=1) as one,
        connect(workers=2) as two,
    ):
        folder = Path(name)
        few = write_dataset(folder / "few", 64, 4, 5, 3)
        for client in (one, two, one, two):
            by_cluster(client, few, folder / "warm")
        for K, M, n in SIZES:
            n = int(n * rows_factor)
            data = write_dataset(folder / f"{K}-{M}", n, PARTS, M, K)
            read = n / reading_seconds(data)
            for measures in (("tv",), ("tv", "entropy")):
                times: dict[str, list[float]] = {"one": [], "two": [], "cpu": []}
                for _ in range(REPEAT):  # interleaved, so that other load affects both
                    before = cpu_seconds(one)
                    times["one"].append(by_cluster(one, data, folder / "out", measures))
                    times["cpu"].append(cpu_seconds(one) - before)
                    times["two"].append(by_cluster(two, data, folder / "out", measures))
                single, double, cpu = (min(times[name]) for name in ("one", "two", "cpu"))
                lines.append(
                    f"| {K} | {M} | `{','.join(measures)}` | {4 * M * K} | {n / single:,.0f} | "
                    f"{n / double:,.0f} | {single / double:.2f} | {read:,.0f} | "
                    f"{cpu / n * 1e6:.2f} |"
                )
                print(lines[-1], flush=True)
                found[K, M, measures] = n / double, cpu / n
    return "\n".join([environment(), "", *lines, "", *estimate(found)])


def estimate(found) -> list[str]:
    """Return the estimated time for 10^9 rows of ten models and ten classes."""
    n, K, M, cores, link = 10**9, 10, 10, 64, 1.25e9
    row = 4 * M * K
    lines = [
        f"10^9 rows, {M} models, {K} classes in single precision are {row * n / 1e9:,.0f} GB of "
        f"predictions. A network of 10 Gbit/s transfers them in {row * n / link / 60:.1f} minutes.",
        "",
    ]
    for measures in (("tv",), ("tv", "entropy")):
        rate, cpu = found[K, M, measures]
        lines.append(
            f"- `{','.join(measures)}`: {cpu * 1e6:.2f} µs of CPU time per row, "
            f"{n * cpu / 3600:,.1f} core hours in total "
            f"({n / rate / 3600:,.1f} hours with the two workers above); "
            f"{n * cpu / 60 / cores:,.1f} minutes on {cores} cores, which requires a read rate of "
            f"{row * cores / cpu / 1e9:,.1f} GB/s. On that network, reading is the bottleneck from "
            f"{link / row * cpu:,.0f} cores on."
        )
    return lines


def reading_seconds(data: Path) -> float:
    """Return the CPU seconds of this thread for reading and decoding."""
    ensemble = open_ensemble([str(data)])
    best = np.inf
    for _ in range(REPEAT):
        start = time.process_time()
        for source in ensemble.sources:
            for _block in source.blocks(ensemble.chunk_rows):
                pass
        best = min(best, time.process_time() - start)
    return best


def cpu_seconds(client) -> float:
    return sum(client.run(time.process_time).values())


class GeneratedSource(Source):
    """Rows that are generated: a few thousand of them repeatedly, with permuted classes."""

    path = os.devnull

    def __init__(self, n_rows: int, M: int, K: int) -> None:
        self.n_rows = self.expected_rows = n_rows
        self.n_members, self.n_classes = M, K

    def raw_blocks(self, rows: int, start: int, stop: int | None) -> Iterator[Block]:
        pool = _pool(self.n_members, self.n_classes)
        end = self.n_rows if stop is None else stop
        for first in range(start, end, len(pool)):
            block = np.roll(pool, first // len(pool), axis=-1)
            yield Block(block[: min(end - first, len(pool))])

    def partition_bounds(self, rows: int) -> list[int]:
        return [*range(0, self.n_rows, rows), self.n_rows]


@cache
def _pool(M: int, K: int) -> np.ndarray:
    return ensembles(np.random.default_rng(0), 1 << 14, M, K)


def simulate(n: int, M: int = 5, K: int = 10) -> str:
    """Return the time of a run and the memory of all processes during it."""
    names = tuple(map(str, range(M)))
    ensemble = Ensemble((GeneratedSource(n, M, K),), names, K, None, None, "", False, 1.0, False)
    seen: list[tuple[int, float, list[int]]] = []
    done = 0
    with tempfile.TemporaryDirectory(prefix="credalens-bench-") as name, connect() as client:
        job = ScoreJob(ensemble, ScoreColumns(("tv",)), Path(name, "out"), {})
        folder, _ = job.prepare()
        start = time.perf_counter()
        ended = threading.Event()

        def watch() -> None:
            last = False
            while not last:
                last = ended.wait(1.0 if seen else 0)
                seen.append((done, time.perf_counter() - start, memory(client)))

        watcher = threading.Thread(target=watch)
        watcher.start()

        def advance(rows: int) -> None:
            nonlocal done
            before, done = done, done + rows
            if done * 20 // n > before * 20 // n:
                print(f"{done:,} rows, {time.perf_counter() - start:.0f} s", flush=True)

        try:
            job.run(client, folder, advance)
        finally:
            ended.set()
            watcher.join()
        seconds = time.perf_counter() - start
        rows, _ = folder.finish(Path(name, "skipped.csv"))
        size = sum(path.stat().st_size for path in Path(name, "out").iterdir())
        parts = len(list(Path(name, "out").glob("part-*.parquet")))
    return _summary(n, M, K, rows, parts, size, seconds, seen)


def memory(client) -> list[int]:
    """Return the resident memory of the driver and of the workers, in MB."""
    pids = [nanny.pid for nanny in client.cluster.workers.values()]
    found = []
    for pid in (os.getpid(), *pids):
        try:
            found.append(psutil.Process(pid).memory_info().rss >> 20)
        except psutil.NoSuchProcess:
            found.append(0)
    return found


def _summary(n, M, K, rows, parts, size, seconds, seen) -> str:
    workers = len(seen[-1][2]) - 1
    lines = [
        environment(),
        "",
        f"{rows:,} rows of {M} models and {K} classes, {4 * n * M * K / 1e9:,.0f} GB of "
        f"predictions, scored by `tv` in {parts} partitions with {workers} workers: "
        f"{seconds:,.0f} s, {rows / seconds:,.0f} rows/s, {size / 1e9:.2f} GB of scores.",
        "",
        "| rows done | seconds | driver, MB | "
        + " | ".join(f"worker {i + 1}, MB" for i in range(workers))
        + " |",
        "|" + "---:|" * (3 + workers),
    ]
    for tenth in range(11):
        done, at, sizes = next((s for s in seen if s[0] >= n * tenth // 10), seen[-1])
        lines.append(f"| {done:,} | {at:,.0f} | " + " | ".join(map(str, sizes)) + " |")
    late = [sizes for done, _, sizes in seen if done >= n // 10]
    highest = [max(column) for column in zip(*late, strict=True)]
    lines.append("| maximum after 10 % of the rows | | " + " | ".join(map(str, highest)) + " |")
    return "\n".join(lines)


def environment() -> str:
    load = os.getloadavg()[0]
    return (
        f"{len(os.sched_getaffinity(0))} cores ({platform.machine()}), Python "
        f"{platform.python_version()}; load average at the end: {load:.1f}."
    )


def fill(name: str, text: str) -> None:
    """Replace the section `name` of the page by `text`."""
    page = PAGE.read_text(encoding="utf-8")
    place = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
    if not place.search(page):
        raise SystemExit(f"{PAGE} has no section {name}")
    PAGE.write_text(place.sub(lambda m: m[1] + text + m[2], page), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("throughput", "simulate"))
    parser.add_argument("--rows", type=float, help="rows to simulate; factor on throughput's rows")
    chosen = parser.parse_args()
    if chosen.what == "throughput":
        fill("throughput", throughput(chosen.rows or 1.0))
    else:
        fill("simulate", simulate(int(chosen.rows or 1e8)))
