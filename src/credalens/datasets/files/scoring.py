"""From chunks of predictions to rows of a table of scores."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

import credalens
from credalens._arrays import Array, num_threads
from credalens.datasets.files.ensemble import Chunk, Ensemble
from credalens.evaluation import majority_vote
from credalens.evaluation.scores import ScoreColumns
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
    """Yield the chunks of the rows ``start:stop``, their columns and what was measured, in order.

    `numbered` adds the numbers of the rows, as a column ``row``, where some may be left out.

    Two chunks are worked on at once: kernels use all threads, but reading, votes and writing do
    not, and would leave cores idle. Where only one thread is allowed, it does all in turn.
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
    """Return the columns of a chunk: ``id``, ``prediction``, the scores, ``label``, ``correct``.

    Beside them what was measured, by family, of which the columns are a part.

    ``id``, ``label`` and ``correct`` are there if the files bring identifiers and labels. Classes
    are named where they have names, and indices otherwise.
    """
    hull = ConvexHull(chunk.members, validate=False)
    predicted = np.asarray(majority_vote(hull))
    columns: dict[str, Any] = {"row": chunk.rows} if numbered else {}
    if chunk.ids is not None:
        columns["id"] = chunk.ids
    columns["prediction"] = named(predicted, class_names)
    measured = scores.measured(hull)
    columns.update(scores(hull, measured))
    if chunk.labels is not None:
        columns["label"] = named(chunk.labels, class_names)
        columns["correct"] = chunk.labels == predicted
    return columns, measured


def described(ensemble: Ensemble, scores: ScoreColumns) -> dict[str, Any]:
    """Return what is computed, in JSON's terms: what was begun with something else cannot go on."""
    return {
        "columns": scores.names,
        "classes": ensemble.class_names or ensemble.n_classes,
        "models": ensemble.names,
        "version": credalens.__version__,
    }


def named(indices: Array, class_names: tuple[str, ...] | None) -> Array:
    """Return class indices as names, where there are names."""
    return indices if class_names is None else np.array(class_names)[indices]
