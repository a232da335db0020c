"""Scores of chunks of predictions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

import credalens
from credalens._backend import Array, get_num_threads
from credalens.io.chunk import Chunk
from credalens.io.ensemble import Ensemble
from credalens.measures import Uncertainty
from credalens.sets import ConvexHull


class RowColumns(Protocol):
    """The columns that a command computes of each row, such as `ScoreColumns`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of numbers, in order."""

    @property
    def settings(self) -> dict[str, Any]:
        """What else the columns depend on, as JSON values."""

    def rows(
        self, Q: ConvexHull, labels: Array | None, class_names: tuple[str, ...] | None
    ) -> tuple[dict[str, Any], dict[str, Uncertainty]]:
        """Return the columns of a batch, and its uncertainty by measure.

        Labels are class indices, negative for rows without one.
        """


def scored_chunks(
    ensemble: Ensemble,
    scores: RowColumns,
    rows: int | None = None,
    start: int = 0,
    skip: bool = False,
    stop: int | None = None,
    numbered: bool = False,
) -> Iterator[tuple[Chunk, dict[str, Any], dict[str, Uncertainty]]]:
    """Yield the chunks of the rows ``start:stop`` with the results of `score_chunk`, in order.

    Two chunks are scored concurrently, because reading, votes and writing use one thread while the
    kernels use all. With one thread, everything is sequential.
    """
    workers = min(2, get_num_threads())
    if workers == 1:
        for chunk in ensemble.chunks(rows, start, skip, stop):
            yield chunk, *score_chunk(chunk, scores, ensemble.class_names, numbered)
        return
    pending: deque[tuple[Chunk, Future[Any]]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for chunk in ensemble.chunks(rows, start, skip, stop):
            task = pool.submit(score_chunk, chunk, scores, ensemble.class_names, numbered)
            pending.append((chunk, task))
            if len(pending) > workers:
                done, task = pending.popleft()
                yield done, *task.result()
        for done, task in pending:
            yield done, *task.result()
    finally:
        # After an error or an interrupt, nothing waits for chunks that are still being scored.
        pool.shutdown(wait=False, cancel_futures=True)


def score_chunk(
    chunk: Chunk,
    scores: RowColumns,
    class_names: tuple[str, ...] | None,
    numbered: bool = False,
) -> tuple[dict[str, Any], dict[str, Uncertainty]]:
    """Return the columns of a chunk, and its uncertainty by measure.

    The columns are ``row`` if `numbered`, ``id`` if the files have identifiers, ``n_members`` if
    models may lack rows, and those of `scores`.
    """
    columns: dict[str, Any] = {"row": chunk.rows} if numbered else {}
    if chunk.ids is not None:
        columns["id"] = chunk.ids
    hull = chunk.hull()
    own, measured = scores.rows(hull, chunk.labels, class_names)
    if chunk.mask is not None:
        columns["n_members"] = np.asarray(hull.n_present)
    return {**columns, **own}, measured


def scoring_settings(ensemble: Ensemble, scores: RowColumns) -> dict[str, Any]:
    """Return the settings, as JSON values, that must be equal for a run to be resumed."""
    return {
        "columns": scores.names,
        "classes": ensemble.class_names or ensemble.n_classes,
        "models": ensemble.names,
        "weights": None if ensemble.weights is None else ensemble.weights.tolist(),
        "version": credalens.__version__,
        **scores.settings,
    }
