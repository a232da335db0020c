"""The driver: hands out partitions, keeps no rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import credalens
from credalens.datasets.cluster.client import check_memory, inspected, thread_shares
from credalens.datasets.cluster.folder import ScoreFolder
from credalens.datasets.cluster.plan import Partition, partitions
from credalens.datasets.files import Ensemble, PredictionFileError
from credalens.datasets.files.scoring import described
from credalens.evaluation.scores import ScoreColumns

#: How often a partition is tried again when something other than its rows is wrong with it, a file
#: server that does not answer, say. A worker that dies is another matter, which Dask counts.
RETRIES = 2


@dataclass(frozen=True, eq=False)
class ScoreJob:
    """Scores of all rows of an ensemble, on their way into a folder.

    Parameters
    ----------
    ensemble : Ensemble
        Opened with ``by_part=True``.
    scores : ScoreColumns
        What to compute.
    out : Path
        The folder; if it holds finished partitions of the same job, these are kept.
    settings : mapping
        Whatever the scores depend on, in JSON's terms: a folder that was begun with others is
        refused.
    chunk_rows : int, optional
        Rows in a worker's memory at once.
    skip : bool, default=False
        Leave out bad rows.
    threads : int, optional
        For each partition; by default as many as make workers x threads = cores.
    """

    ensemble: Ensemble
    scores: ScoreColumns
    out: Path
    settings: Mapping[str, Any]
    chunk_rows: int | None = None
    skip: bool = False
    threads: int | None = None

    def prepare(self) -> ScoreFolder:
        """Cut into partitions and make the folder of their scores, which is then to be opened."""
        ensemble = self.ensemble
        settings = {**self.settings, **described(ensemble, self.scores)}
        folder = ScoreFolder(self.out, settings, partitions(ensemble, settings))
        folder.make()
        return folder

    def run(
        self, client: Any, folder: ScoreFolder, advance: Callable[[int], None] = lambda rows: None
    ) -> None:
        """Score what is not finished; `advance` is told how many rows came to an end.

        The driver holds a few numbers per partition, and hands out no more partitions than keep the
        workers busy. If rows are bad, the first bad row of the files is the one that is told.
        """
        from credalens.datasets.cluster.work import Job, Session

        waiting = list(folder.waiting())
        if not waiting:
            return
        workers = inspected(client, [str(self.out), waiting[0].spans[0][0]])
        shares = thread_shares(workers, self.threads)
        check_memory(workers, shares, self.ensemble, self.chunk_rows)
        job = Job(f"credalens-{uuid.uuid4().hex}", self.scores, str(self.out), self.chunk_rows,
                  self.skip, credalens.__version__)  # fmt: skip
        window = 2 + 2 * sum(worker.tasks for worker in workers.values())
        client.register_plugin(Session(job, shares))
        try:
            for done in self._results(client, job.name, iter(waiting), window):
                folder.add(done.index, done.rows, done.dropped)
                advance(done.rows + done.dropped)
        finally:
            folder.save(now=True)
            if client.status == "running":
                client.unregister_worker_plugin(job.name)

    def _results(
        self, client: Any, name: str, waiting: Iterator[Partition], window: int
    ) -> Iterator[Any]:
        """Yield what workers have finished, in the order in which that happens."""
        from credalens.datasets.cluster.work import Refused, distributed, run

        under_way: dict[Any, Partition] = {}
        done = distributed.as_completed()
        refused: list[Refused] = []

        def submit() -> None:
            partition = None if refused else next(waiting, None)
            if partition is not None:
                part = self.ensemble.part(partition.start, partition.stop)
                future = client.submit(
                    run, name, part, partition, key=f"{name}-{partition.index}", retries=RETRIES
                )
                under_way[future] = partition
                done.add(future)

        for _ in range(window):
            submit()
        for future in done:
            partition = under_way.pop(future)
            result = _result(future, partition)
            if isinstance(result, Refused):
                refused.append(result)
            else:
                yield result
            submit()
            first = min((bad.index for bad in refused), default=None)
            # Earlier partitions may still have a bad row, which is then the first.
            if first is not None and all(p.index > first for p in under_way.values()):
                client.cancel(list(under_way))
                raise PredictionFileError(min(refused, key=lambda bad: bad.index).reason)


def _result(future: Any, partition: Partition) -> Any:
    """Return what a worker has to say about a partition, or raise what went wrong."""
    from credalens.datasets.cluster.work import distributed

    where = ", ".join(dict.fromkeys(name for name, _, _ in partition.spans))
    try:
        return future.result()
    except distributed.KilledWorker as error:
        raise OSError(
            f"{where}: several workers died over the rows {partition.start} to "
            f"{partition.stop - 1}, perhaps for want of memory; pass a smaller --chunk-rows"
        ) from error
    except Exception as error:
        if future.status in ("cancelled", "lost"):
            raise OSError("the scheduler is gone; the same command goes on") from error
        raise
