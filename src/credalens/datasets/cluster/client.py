"""A Dask cluster to work on: started here or found at an address, checked before it is used."""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import credalens
from credalens._arrays import num_threads
from credalens.datasets.files import Ensemble

if TYPE_CHECKING:
    from credalens.datasets.cluster.work import Surroundings

#: Bytes that a worker needs whatever it reads: Python, Dask, Arrow, buffers, what it writes. Half
#: of it was seen without any work; the rest did not depend on the size of chunks.
IDLE_BYTES = 384 << 20
#: Chunks in memory at once: as decoded, joined, checked and worked on. Three were seen.
COPIES = 4
#: Share of its memory up to which a worker may be filled; Dask stops giving it work at 0.8.
FILLED = 0.7
#: Seconds to wait for a scheduler, and for its first worker.
ANSWER, PATIENCE = 10, 30
#: Dask settings of a cluster that keeps its workers. Some time after one is lost, a local cluster
#: looks whether it is back; should it just then have died again, it is given up for good, and a
#: job that has lost all of them that way would wait for ever.
KEEP_WORKERS = {"distributed.deploy.lost-worker-timeout": "1000 days"}


@contextmanager
def connected(scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Give a client of the cluster at an address, or of one that is started here and ended.

    Parameters
    ----------
    scheduler : str, optional
        Address of a running scheduler.
    workers : int, optional
        Processes of a local cluster; as many as there are cores by default. Each works on one
        partition at a time.
    """
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        raise ModuleNotFoundError(
            "--engine dask needs Dask: pip install 'credalens[dask]'"
        ) from error
    with ExitStack() as stack:
        if scheduler is not None:
            if workers is not None:
                raise ValueError("--workers: is for a local cluster; leave out --scheduler")
            try:
                client = distributed.Client(scheduler, timeout=ANSWER)
            except (OSError, ValueError) as error:
                raise ValueError(f"--scheduler: nothing answers at {scheduler}") from error
            stack.enter_context(_unheard("distributed", "distributed.client"))
            yield stack.enter_context(client)
            return
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="credalens-", ignore_cleanup_errors=True)
        )
        # Dask's profiler asks every thread what it does a hundred times a second.
        dask: Any = importlib.import_module("dask")
        settings = {"distributed.worker.profile.enabled": False, **KEEP_WORKERS}
        stack.enter_context(dask.config.set(settings))
        cluster = distributed.LocalCluster(
            n_workers=workers or num_threads(),
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # any port that is free, for this machine only
            local_directory=folder,
            # A worker that dies is started again and its partition done again: no news.
            silence_logs=logging.CRITICAL,
        )
        stack.callback(_close, cluster)
        yield stack.enter_context(distributed.Client(cluster))


def _close(cluster: Any) -> None:
    """End a cluster; a worker that is just being started again must not hide what went wrong."""
    with suppress(Exception):
        cluster.close()


@contextmanager
def _unheard(*names: str) -> Iterator[None]:
    """Keep Dask from logging tracebacks of what is told in one line."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def inspected(client: Any, paths: Sequence[str]) -> dict[str, Surroundings]:
    """Return what the workers have, by address; refuse those that could not do the work.

    They need the same credalens, and must see the files `paths`.
    """
    from credalens.datasets.cluster.work import surroundings

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise ValueError("--scheduler: has no workers; start some") from None
    for worker, found in client.run(
        importlib.metadata.version, "credalens", on_error="return"
    ).items():
        if found != credalens.__version__:
            has = f"has credalens {found}" if isinstance(found, str) else "has no credalens"
            raise ValueError(
                f"--scheduler: worker {worker} {has}, this is {credalens.__version__}; "
                "install the same everywhere"
            )
    for path in paths:
        for worker, seen in client.run(os.path.exists, path).items():
            if not seen:
                raise ValueError(
                    f"--scheduler: worker {worker} does not see {path}; "
                    "use a folder that all machines share"
                )
    return dict(client.run(surroundings))


def thread_shares(workers: dict[str, Surroundings], threads: int | None = None) -> dict[str, int]:
    """Return the threads of a partition on every host: workers x threads = cores.

    Examples
    --------
    >>> from credalens.datasets.cluster.work import Surroundings
    >>> one = Surroundings("node", tasks=1, cores=8, memory=0)
    >>> thread_shares({"a": one, "b": one})
    {'node': 4}
    """
    tasks: dict[str, int] = {}
    for worker in workers.values():
        tasks[worker.host] = tasks.get(worker.host, 0) + worker.tasks
    cores = {worker.host: worker.cores for worker in workers.values()}
    shares = {host: threads or max(1, cores[host] // tasks[host]) for host in tasks}
    for host, share in shares.items():
        if tasks[host] * share > cores[host]:
            warnings.warn(
                f"{tasks[host]} partitions at once with {share} threads each on the {cores[host]} "
                f"cores of {host}; fewer workers or threads would be faster",
                stacklevel=2,
            )
    return shares


def memory_needed(ensemble: Ensemble, chunk_rows: int | None, threads: int) -> int:
    """Return the bytes that a worker needs for a partition, however long the partition is.

    They are ``IDLE_BYTES + COPIES * 8 * rows * M * K``, where `rows` is `chunk_rows`, M and K are
    models and classes. With more than one thread, two chunks are worked on while a third is read,
    which takes twice as many copies.
    """
    rows = ensemble.chunk_rows if chunk_rows is None else chunk_rows
    chunk = 8 * rows * len(ensemble.names) * ensemble.n_classes
    return IDLE_BYTES + COPIES * (1 if threads == 1 else 2) * chunk


def check_memory(
    workers: dict[str, Surroundings],
    shares: dict[str, int],
    ensemble: Ensemble,
    chunk_rows: int | None,
) -> None:
    """Refuse to begin what would fill the memory of a worker."""
    for address, worker in workers.items():
        needed = memory_needed(ensemble, chunk_rows, shares[worker.host])
        may = FILLED * worker.memory / worker.tasks
        if needed <= may:
            continue
        rows = ensemble.chunk_rows if chunk_rows is None else chunk_rows
        fits = int(rows * (may - IDLE_BYTES) / (needed - IDLE_BYTES))
        small = memory_needed(ensemble, 1, shares[worker.host]) <= may
        fix = f"pass --chunk-rows {fits}" if small else "give workers more memory, or start fewer"
        raise ValueError(
            f"--chunk-rows: {rows} rows of {len(ensemble.names)} models and {ensemble.n_classes} "
            f"classes need {needed >> 20} MB in a worker, {address} may fill {int(may) >> 20} MB "
            f"of its {worker.memory >> 20} MB; {fix}"
        )
