"""A Dask cluster of processes on this machine that only this program can use."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from credalens._extras import require

distributed: Any = require("distributed", "dask")

HOST = "127.0.0.1"


class _WithoutHttp:
    """A scheduler or worker without the HTTP server, which has no authentication."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Open no port; called by Dask."""


class LocalScheduler(_WithoutHttp, distributed.Scheduler):  # type: ignore[misc]
    """A scheduler that listens on an encrypted port only."""


class LocalWorker(_WithoutHttp, distributed.Worker):  # type: ignore[misc]
    """A worker that listens on an encrypted port only."""


def start_cluster(n_workers: int, folder: str) -> Any:
    """Return a cluster of `n_workers` processes with one thread each.

    Its processes accept each other by a temporary key, which exists in memory only: everyone on
    this machine can connect to a port of the loopback interface, and whoever can send a task to a
    worker runs code. `folder` is for temporary files.
    """
    require("cryptography", "dask")
    security = distributed.Security.temporary()
    shared = {"host": HOST, "protocol": "tls://", "security": security}
    worker = {
        "cls": distributed.Nanny,
        "options": {
            **shared,
            "worker_class": LocalWorker,
            "nthreads": 1,
            "memory_limit": int(distributed.system.MEMORY_LIMIT // n_workers),
            "local_directory": folder,
            # A worker that dies is restarted and its partition repeated: nothing to report.
            "silence_logs": logging.CRITICAL,
        },
    }
    scheduler = {"cls": LocalScheduler, "options": {**shared, "port": 0, "dashboard": False}}
    with _ignoring_interrupts():
        return distributed.SpecCluster(
            workers=dict.fromkeys(range(n_workers), worker),
            scheduler=scheduler,
            worker=worker,
            security=security,
            silence_logs=logging.CRITICAL,
        )


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C, which a terminal also sends to the processes that are started here.

    They inherit that it is ignored, so that only this process reports it and stops them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def close(cluster: Any) -> None:
    """Close a cluster; errors of a worker that is just restarting must not hide the cause."""
    with suppress(Exception):
        cluster.close()
