"""A job of the Dask engine: the client submits partitions, a worker scores one into one file."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import credalens
from credalens._extras import require
from credalens._files import atomic_write
from credalens.engine.client import (
    THREADS,
    WorkerWatch,
    check_memory,
    check_workers,
    distributed,
    threads_per_host,
)
from credalens.engine.partitions import (
    FOOTER,
    Partition,
    ScoreFolder,
    partitions,
    skipped_path,
)
from credalens.io import Ensemble, PredictionFileError
from credalens.io.chunk import DroppedRow
from credalens.io.output import write_dropped_csv
from credalens.io.scoring import RowColumns, scored_chunks, scoring_settings
from credalens.io.tables import as_batch, write_parquet

pa = require("pyarrow", "cli")

#: Retries of a partition after an error that is not about its rows, such as a file server that does
#: not respond. Dask itself counts the workers that die.
RETRIES = 2


@dataclass(eq=False)
class WorkerJob(distributed.WorkerPlugin):  # type: ignore[misc]
    """The settings that all partitions share, given to every worker, even if it joins later."""

    name: str
    scores: RowColumns
    folder: str
    chunk_rows: int | None
    skip: bool
    version: str
    #: Threads per partition, by host.
    threads: dict[str, int] = field(default_factory=dict)

    def setup(self, worker: Any) -> None:
        """Limit the threads of a partition; called by Dask."""
        threads = self.threads.get(socket.gethostname(), min(self.threads.values()))
        self.before = os.environ.get(THREADS), pa.cpu_count()
        os.environ[THREADS] = str(threads)
        pa.set_cpu_count(threads)

    def teardown(self, worker: Any) -> None:
        """Restore the number of threads; called by Dask."""
        threads, arrow_threads = self.before
        os.environ.pop(THREADS, None)
        if threads is not None:
            os.environ[THREADS] = threads
        pa.set_cpu_count(arrow_threads)


@dataclass(frozen=True)
class PartitionResult:
    """Numbers of rows of a finished partition, or the error about an invalid row."""

    index: int
    rows: int = 0
    dropped: int = 0
    error: str = ""
    #: Largest deviation of a row sum from 1, and numbers of rows without a label, see `Chunk`.
    deviation: float = 0.0
    unlabelled: int = 0
    ignored: int = 0


def score_partition(job: WorkerJob, ensemble: Ensemble, partition: Partition) -> PartitionResult:
    """Score the rows of a partition and write them to its file.

    The file is written atomically and its name depends only on the partition, so two workers may
    score the same partition. Dropped rows are written before the scores.
    """
    out = Path(job.folder, partition.name)
    rows, dropped = 0, list[DroppedRow]()
    deviation, unlabelled, ignored = 0.0, 0, 0

    def batches() -> Any:
        nonlocal rows, deviation, unlabelled, ignored
        for chunk, columns, _ in scored_chunks(
            ensemble, job.scores, job.chunk_rows, partition.start, job.skip, partition.stop,
            numbered=True,
        ):  # fmt: skip
            rows += len(chunk.rows)
            dropped.extend(chunk.dropped)
            deviation = max(deviation, chunk.deviation)
            unlabelled += chunk.unlabelled
            ignored += chunk.ignored
            yield as_batch(columns, ensemble.id_type)

    def footer() -> dict[str, str]:
        return {FOOTER: f"{partition.fingerprint} {rows} {len(dropped)}"}

    try:
        with atomic_write(out) as path:
            write_parquet(batches, path, footer)
            if dropped:
                with atomic_write(skipped_path(out)) as side, side.open("wb") as stream:
                    write_dropped_csv(dropped, stream)
    except PredictionFileError as error:
        return PartitionResult(partition.index, error=str(error))
    return PartitionResult(partition.index, rows, len(dropped), "", deviation, unlabelled, ignored)


def run_partition(name: str, ensemble: Ensemble, partition: Partition) -> PartitionResult:
    """Score a partition of a `WorkerJob` that this worker has."""
    job: WorkerJob = distributed.get_worker().plugins[name]
    if job.version != credalens.__version__:  # a worker that joined later
        raise ValueError(
            f"--scheduler: a worker has credalens {credalens.__version__}, the client has "
            f"{job.version}; install the same version everywhere"
        )
    return score_partition(job, ensemble, partition)


@dataclass(frozen=True, eq=False)
class ScoreJob:
    """Score all rows of an ensemble into a folder."""

    #: Opened with ``labels_on_disk=True``.
    ensemble: Ensemble
    scores: RowColumns
    #: The folder; finished partitions of the same job are kept.
    out: Path
    #: All else that the scores depend on, as JSON values. They must equal those of the folder.
    settings: Mapping[str, Any]
    #: Rows in a worker's memory at a time.
    chunk_rows: int | None = None
    #: Whether to drop invalid rows.
    skip: bool = False
    #: Threads per partition; by default as many as make workers x threads = cores.
    threads: int | None = None

    def prepare(self) -> ScoreFolder:
        """Divide the rows into partitions and create the folder, which must then be opened."""
        settings = {**self.settings, **scoring_settings(self.ensemble, self.scores)}
        folder = ScoreFolder(self.out, settings, partitions(self.ensemble, settings))
        folder.create()
        return folder

    def run(
        self,
        client: Any,
        folder: ScoreFolder,
        advance: Callable[[PartitionResult], None] = lambda result: None,
    ) -> None:
        """Score the unfinished partitions; `advance` is called with each result.

        Only as many partitions are submitted as keep the workers busy. If rows are invalid, the
        error is about the first of them.
        """
        waiting = list(folder.waiting())
        if not waiting:
            return
        workers = check_workers(client, [str(self.out), waiting[0].row_ranges[0][0]])
        threads = threads_per_host(workers, self.threads)
        check_memory(workers, threads, self.ensemble, self.chunk_rows)
        job = WorkerJob(f"credalens-{uuid.uuid4().hex}", self.scores, str(self.out),
                        self.chunk_rows, self.skip, credalens.__version__, threads)  # fmt: skip
        window = 2 + 2 * sum(worker.tasks for worker in workers.values())
        client.register_plugin(job)
        try:
            for done in self._results(client, job.name, iter(waiting), window):
                folder.add(done.index, done.rows, done.dropped)
                advance(done)
        finally:
            folder.save(now=True)
            if client.status == "running":
                client.unregister_worker_plugin(job.name)

    def _results(
        self, client: Any, name: str, waiting: Iterator[Partition], window: int
    ) -> Iterator[PartitionResult]:
        """Yield finished partitions in the order of completion."""
        submitted: dict[Any, Partition] = {}
        completed = distributed.as_completed()
        bad: list[PartitionResult] = []
        watch = WorkerWatch(client)

        def submit() -> None:
            partition = None if bad else next(waiting, None)
            if partition is not None:
                part = self.ensemble.restrict(partition.start, partition.stop)
                future = client.submit(
                    run_partition, name, part, partition, key=f"{name}-{partition.index}",
                    retries=RETRIES,
                )  # fmt: skip
                submitted[future] = partition
                completed.add(future)

        for _ in range(window):
            submit()
        while submitted:
            future = watch.wait(completed)
            partition = submitted.pop(future)
            result = _result(watch, future, partition)
            if result.error:
                bad.append(result)
            else:
                yield result
            submit()
            first = min(bad, key=lambda b: b.index, default=None)
            # An earlier partition in progress may have an invalid row, which is then the first.
            if first is not None and all(p.index > first.index for p in submitted.values()):
                client.cancel(list(submitted))
                raise PredictionFileError(first.error)


def _result(watch: WorkerWatch, future: Any, partition: Partition) -> PartitionResult:
    """Return the result of a partition, or raise its error with the names of its files."""
    try:
        result: PartitionResult = watch.result(future)
        return result
    except distributed.KilledWorker as error:
        raise OSError(
            f"{partition.files}: several workers died while scoring rows {partition.start} to "
            f"{partition.stop - 1}, possibly out of memory; pass a smaller --chunk-rows"
        ) from error
    except Exception as error:
        if future.status in ("cancelled", "lost"):
            raise OSError(
                "the connection to the scheduler is lost; run the same command again to continue"
            ) from error
        raise
