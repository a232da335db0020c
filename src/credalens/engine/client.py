"""Connect to a Dask cluster, and check its workers before they are used."""

from __future__ import annotations

import gc
import importlib.metadata
import logging
import os
import socket
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import credalens
from credalens._backend import get_num_threads
from credalens._extras import require
from credalens.engine.local_cluster import close, start_cluster
from credalens.io import Ensemble

dask = require("dask", "dask")
distributed: Any = require("distributed", "dask")

#: Bytes that a worker needs in addition to its chunks: Python, Dask, Arrow, buffers, output.
#: Measured: half of it without any work; the rest is independent of the chunk size.
IDLE_BYTES = 384 << 20
#: Copies of a chunk in memory: decoded, concatenated, validated, scored. Measured: three.
COPIES = 4
#: Largest share of a worker's memory to use; Dask pauses a worker at 0.8.
MEMORY_SHARE = 0.7
#: Seconds to wait for a scheduler, for its first worker, and for another one if all are gone.
CONNECT_TIMEOUT, WORKER_TIMEOUT, LOST_TIMEOUT = 10, 25, 20
#: A local cluster removes a worker that has not returned some time after it was lost. If it died
#: again at that moment, it would not be restarted, and a job without workers would never end.
KEEP_WORKERS = {"distributed.deploy.lost-worker-timeout": "1000 days"}
THREADS = "CREDALENS_NUM_THREADS"
#: Variables that limit the threads of a process; Dask sets the second one in its workers.
LIMITS = (THREADS, "OMP_NUM_THREADS")


@contextmanager
def connect(scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Yield a client of the cluster at address `scheduler`, or of a temporary local cluster.

    A local cluster has `workers` processes, one per core by default.
    """
    with ExitStack() as stack:
        stack.enter_context(_without_logs())
        if scheduler is not None:
            if workers is not None:
                raise ValueError("--workers: applies to a local cluster; leave out --scheduler")
            try:
                client = distributed.Client(scheduler, timeout=CONNECT_TIMEOUT)
            except (OSError, ValueError) as error:
                raise ValueError(
                    f"--scheduler: no scheduler responds at {scheduler}; check the address"
                ) from error
            yield stack.enter_context(client)
            return
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="credalens-", ignore_cleanup_errors=True)
        )
        # Dask's profiler interrupts every thread a hundred times per second.
        settings = {"distributed.worker.profile.enabled": False, **KEEP_WORKERS}
        stack.enter_context(dask.config.set(settings))
        cluster = start_cluster(workers or get_num_threads(), folder)
        stack.callback(close, cluster)
        yield stack.enter_context(distributed.Client(cluster))


@contextmanager
def _without_logs() -> Iterator[None]:
    """Silence the tracebacks that Dask and its tasks log in addition to the errors they raise."""
    logger = logging.getLogger("asyncio")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with distributed.utils.silence_logging_cmgr(logging.CRITICAL):
            yield
    finally:
        gc.collect()  # errors of tasks are logged when these are deleted
        logger.setLevel(before)


@dataclass(frozen=True)
class WorkerInfo:
    """The resources of a worker."""

    host: str
    #: Number of tasks that run at the same time.
    tasks: int
    cores: int
    memory: int


def worker_info(dask_worker: Any) -> WorkerInfo:
    """Return the resources of the worker that runs this; called by Dask."""
    memory = dask_worker.memory_manager.memory_limit or distributed.system.MEMORY_LIMIT
    # Count the cores, not the limits of an earlier job and of Dask.
    limits = {name: os.environ.pop(name) for name in LIMITS if name in os.environ}
    try:
        cores = get_num_threads()
    finally:
        os.environ.update(limits)
    return WorkerInfo(socket.gethostname(), dask_worker.state.nthreads, cores, int(memory))


def check_workers(client: Any, paths: Sequence[str]) -> dict[str, WorkerInfo]:
    """Return the workers by address.

    Raise ValueError if there are none, or one has another credalens or cannot access `paths`.
    """
    try:
        client.wait_for_workers(1, timeout=WORKER_TIMEOUT)
    except TimeoutError:
        raise ValueError("--scheduler: the cluster has no workers; start some") from None
    versions = client.run(importlib.metadata.version, "credalens", on_error="return")
    for worker, found in versions.items():
        if found != credalens.__version__:
            has = f"has credalens {found}" if isinstance(found, str) else "has no credalens"
            raise ValueError(
                f"--scheduler: worker {worker} {has}, this process has {credalens.__version__}; "
                "install the same version everywhere"
            )
    for path in paths:
        for worker, exists in client.run(os.path.exists, path).items():
            if not exists:
                raise ValueError(
                    f"--scheduler: worker {worker} cannot access {path}; "
                    "use a folder that all machines share"
                )
    return dict(client.run(worker_info))


class WorkerWatch:
    """Raise OSError if the workers of a cluster are gone while a result is waited for.

    A cluster on this machine restarts its workers; one with a scheduler of its own may have lost
    them for good, and Dask would wait for new ones without an end.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._last = self._checked = time.monotonic()

    def wait(self, completed: Any) -> Any:
        """Return the next future of ``as_completed``."""
        while not completed.has_ready():
            with completed.thread_condition:
                completed.thread_condition.wait(timeout=0.1)
            self._check()
        return next(completed)

    def result(self, future: Any) -> Any:
        """Return the result of a future; it is computed again if its worker is gone."""
        while True:
            try:
                return future.result(timeout=1.0)
            except TimeoutError:
                if future.status == "error":  # raised by the task
                    raise
                self._check()

    def _check(self) -> None:
        client, now = self._client, time.monotonic()
        if client.cluster is not None or now - self._checked < 1.0:
            return
        self._checked = now
        if client.status != "running" or client.scheduler_info()["workers"]:
            self._last = now
        elif now - self._last >= LOST_TIMEOUT:
            raise OSError(
                f"the cluster has had no workers for {now - self._last:.0f} s; start some, and run "
                "the same command again to continue"
            )


def threads_per_host(workers: dict[str, WorkerInfo], threads: int | None = None) -> dict[str, int]:
    """Return the threads per partition on every host, so that tasks x threads = cores.

    Examples
    --------
    >>> from credalens.engine.client import WorkerInfo, threads_per_host
    >>> one = WorkerInfo("node", tasks=1, cores=8, memory=0)
    >>> threads_per_host({"a": one, "b": one})
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
    """Return the bytes that a worker needs, which do not depend on the size of a partition.

    They are ``IDLE_BYTES + COPIES * 8 * rows * M * K`` for chunks of `rows` rows of M models and K
    classes. With several threads, two chunks are scored while a third is read, which doubles the
    number of copies.
    """
    rows = ensemble.chunk_rows if chunk_rows is None else chunk_rows
    chunk = 8 * rows * len(ensemble.names) * ensemble.n_classes
    return IDLE_BYTES + COPIES * (1 if threads == 1 else 2) * chunk


def check_memory(
    workers: dict[str, WorkerInfo],
    threads: dict[str, int],
    ensemble: Ensemble,
    chunk_rows: int | None,
) -> None:
    """Raise ValueError if a chunk does not fit into the memory of a worker."""
    for address, worker in workers.items():
        needed = memory_needed(ensemble, chunk_rows, threads[worker.host])
        usable = MEMORY_SHARE * worker.memory / worker.tasks
        if needed <= usable:
            continue
        rows = ensemble.chunk_rows if chunk_rows is None else chunk_rows
        fits = int(rows * (usable - IDLE_BYTES) / (needed - IDLE_BYTES))
        possible = memory_needed(ensemble, 1, threads[worker.host]) <= usable
        fix = f"pass --chunk-rows {fits}" if possible else "give workers more memory, or use fewer"
        raise ValueError(
            f"--chunk-rows: {rows} rows of {len(ensemble.names)} models and {ensemble.n_classes} "
            f"classes need {needed >> 20} MB, worker {address} can use {int(usable) >> 20} MB of "
            f"its {worker.memory >> 20} MB; {fix}"
        )
