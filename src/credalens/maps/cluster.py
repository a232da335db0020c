"""Maps of cases on a Dask cluster: one task per case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from credalens.engine.client import check_workers, connect, distributed, threads_per_host
from credalens.maps.cases import Case
from credalens.maps.job import Progress, process_case, read_cases, unfinished
from credalens.maps.settings import MapSettings


def map_cases_on_cluster(
    cases: Sequence[Case],
    out: Path,
    settings: MapSettings,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Write the maps of all cases that are not finished yet; see `map_cases`.

    The first error stops the run; finished cases are kept.
    """
    report = progress or (lambda done, total, name: None)
    out = out.absolute()
    pending = unfinished(cases, out, settings)
    done = len(cases) - len(pending)
    report(done, len(cases), "")
    if pending:
        with connect(scheduler, workers) as client:
            paths = [str(out), *(str(path.absolute()) for path in pending[0].paths)]
            threads = min(threads_per_host(check_workers(client, paths)).values())
            names = {}
            for case in pending:
                future = client.submit(
                    process_case, case.absolute(), out, settings, threads=threads, pure=False
                )
                names[future] = case.name
            for future in distributed.as_completed(names):
                future.result()
                done += 1
                report(done, len(cases), names[future])
    report(len(cases), len(cases), "")
    return read_cases(cases, out)
