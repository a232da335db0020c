"""Scores of chunks of predictions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

import credalens
from credalens._backend import Array, num_threads
from credalens.evaluation import majority_vote
from credalens.evaluation.scores import ScoreColumns
from credalens.io.ensemble import Chunk, Ensemble
from credalens.measures import Uncertainty
from credalens.sets import ConvexHull


def scored_chunks(
    ensemble: Ensemble,
    scores: ScoreColumns,
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
    workers = min(2, num_threads())
    if workers == 1:
        for chunk in ensemble.chunks(rows, start, skip, stop):
            yield chunk, *score_chunk(chunk, scores, ensemble.class_names, numbered)
        return
    pending: deque[tuple[Chunk, Future[Any]]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for chunk in ensemble.chunks(rows, start, skip, stop):
            task = pool.submit(score_chunk, chunk, scores, ensemble.class_names, numbered)
            pending.append((chunk, task))
            if len(pending) > workers:
                done, task = pending.popleft()
                yield done, *task.result()
        for done, task in pending:
            yield done, *task.result()


def score_chunk(
    chunk: Chunk,
    scores: ScoreColumns,
    class_names: tuple[str, ...] | None,
    numbered: bool = False,
) -> tuple[dict[str, Any], dict[str, Uncertainty]]:
    """Return the columns of a chunk, and its uncertainty by measure.

    The columns are ``row`` if `numbered`, ``id`` if the files have identifiers, ``prediction``, the
    scores, and ``label`` and ``correct`` if the files have labels, masked for rows without one.
    Classes are names, or indices if they have no names.
    """

    def names(indices: Array) -> Array:
        return indices if class_names is None else np.array(class_names)[indices]

    hull = ConvexHull(chunk.members, validate=False)
    predicted = np.asarray(majority_vote(hull))
    columns: dict[str, Any] = {"row": chunk.rows} if numbered else {}
    if chunk.ids is not None:
        columns["id"] = chunk.ids
    columns["prediction"] = names(predicted)
    measured = scores.measured(hull)
    columns.update(scores(hull, measured))
    if chunk.labels is not None:
        missing = chunk.labels < 0
        labels = names(np.where(missing, 0, chunk.labels))
        columns["label"] = np.ma.MaskedArray(labels, missing)
        columns["correct"] = np.ma.MaskedArray(chunk.labels == predicted, missing)
    return columns, measured


def scoring_settings(ensemble: Ensemble, scores: ScoreColumns) -> dict[str, Any]:
    """Return the settings, as JSON values, that must be equal for a run to be resumed."""
    return {
        "columns": scores.names,
        "classes": ensemble.class_names or ensemble.n_classes,
        "models": ensemble.names,
        "version": credalens.__version__,
    }
