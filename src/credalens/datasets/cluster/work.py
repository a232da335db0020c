"""What a worker does: one partition in, one file out."""

from __future__ import annotations

import importlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import credalens
from credalens._arrays import num_threads
from credalens._files import replacing
from credalens.datasets.cluster.folder import FOOTER, skipped_rows
from credalens.datasets.cluster.plan import Partition
from credalens.datasets.files import Ensemble, PredictionFileError
from credalens.datasets.files.ensemble import Dropped
from credalens.datasets.files.output import as_batch, write_parquet, write_skipped
from credalens.datasets.files.scoring import scored_chunks
from credalens.evaluation.scores import ScoreColumns

# Typed in some releases and not in others.
distributed: Any = importlib.import_module("distributed")

THREADS = "CREDALENS_NUM_THREADS"


@dataclass(frozen=True, eq=False)
class Job:
    """What all partitions have in common."""

    name: str
    scores: ScoreColumns
    folder: str
    chunk_rows: int | None
    skip: bool
    version: str


@dataclass(frozen=True)
class Finished:
    """A file of scores that is in its place."""

    index: int
    rows: int
    dropped: int


@dataclass(frozen=True)
class Refused:
    """A partition with a bad row, and what to say about it."""

    index: int
    reason: str


def score_partition(job: Job, ensemble: Ensemble, partition: Partition) -> Finished | Refused:
    """Score the rows of a partition and put the file of scores in its place.

    The file appears whole, under a name that only depends on the partition: done twice, by workers
    that know nothing of each other, it is still there once. Rows that are left out are written
    down before it appears.
    """
    out = Path(job.folder, partition.name)
    rows, dropped = 0, list[Dropped]()

    def batches() -> Any:
        nonlocal rows
        for chunk, columns, _ in scored_chunks(
            ensemble, job.scores, job.chunk_rows, partition.start, job.skip, partition.stop,
            numbered=True,
        ):  # fmt: skip
            rows += len(chunk.rows)
            dropped.extend(chunk.dropped)
            yield as_batch(columns, ensemble.id_type)

    def footer() -> dict[str, str]:
        return {FOOTER: f"{partition.fingerprint} {rows} {len(dropped)}"}

    try:
        with replacing(out) as path:
            write_parquet(batches, path, footer)
            if dropped:
                with replacing(skipped_rows(out)) as side, side.open("wb") as stream:
                    write_skipped(dropped, stream)
    except PredictionFileError as error:
        return Refused(partition.index, str(error))
    return Finished(partition.index, rows, len(dropped))


def run(name: str, ensemble: Ensemble, partition: Partition) -> Finished | Refused:
    """Do the partition of a job that this worker was told of."""
    job: Job = distributed.get_worker().plugins[name].job
    if job.version != credalens.__version__:  # a worker that came later
        raise ValueError(
            f"--scheduler: a worker has credalens {credalens.__version__}, this is {job.version}; "
            "install the same everywhere"
        )
    return score_partition(job, ensemble, partition)


@dataclass(frozen=True)
class Surroundings:
    """What a worker has to work with."""

    host: str
    #: Tasks that it runs at once.
    tasks: int
    cores: int
    memory: int


def surroundings(dask_worker: Any) -> Surroundings:
    """Say where a worker runs; called by Dask."""
    memory = dask_worker.memory_manager.memory_limit or distributed.system.MEMORY_LIMIT
    plain = os.environ.pop(THREADS, None)  # the cores, not what somebody set before
    try:
        cores = num_threads()
    finally:
        if plain is not None:
            os.environ[THREADS] = plain
    return Surroundings(socket.gethostname(), dask_worker.state.nthreads, cores, int(memory))


class Session(distributed.WorkerPlugin):  # type: ignore[misc]
    """Tells every worker, also one that is started later, of the job and of its threads."""

    def __init__(self, job: Job, threads: dict[str, int]) -> None:
        self.name, self.job, self.threads = job.name, job, threads

    def setup(self, worker: Any) -> None:
        """Limit the threads of a partition; called by Dask."""
        least = min(self.threads.values())
        threads = self.threads.get(socket.gethostname(), least)
        self.before = os.environ.get(THREADS), pa.cpu_count()
        os.environ[THREADS] = str(threads)
        pa.set_cpu_count(threads)

    def teardown(self, worker: Any) -> None:
        """Leave the worker as it was; called by Dask."""
        threads, arrow = self.before
        os.environ.pop(THREADS, None)
        if threads is not None:
            os.environ[THREADS] = threads
        pa.set_cpu_count(arrow)
