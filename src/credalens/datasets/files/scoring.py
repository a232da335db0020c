"""From chunks of predictions to rows of a table of scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens._arrays import Array
from credalens.datasets.files.ensemble import Chunk
from credalens.evaluation import majority_vote
from credalens.evaluation.scores import ScoreColumns
from credalens.sets import ConvexHull


def score_chunk(
    chunk: Chunk, scores: ScoreColumns, class_names: tuple[str, ...] | None
) -> dict[str, Any]:
    """Return the columns of a chunk: ``id``, ``prediction``, the scores, ``label``, ``correct``.

    ``id``, ``label`` and ``correct`` are there if the files bring identifiers and labels. Classes
    are named where they have names, and indices otherwise.
    """
    hull = ConvexHull(chunk.members, validate=False)
    predicted = np.asarray(majority_vote(hull))
    columns: dict[str, Any] = {} if chunk.ids is None else {"id": chunk.ids}
    columns["prediction"] = named(predicted, class_names)
    columns.update(scores(hull))
    if chunk.labels is not None:
        columns["label"] = named(chunk.labels, class_names)
        columns["correct"] = chunk.labels == predicted
    return columns


def named(indices: Array, class_names: tuple[str, ...] | None) -> Array:
    """Return class indices as names, where there are names."""
    return indices if class_names is None else np.array(class_names)[indices]
