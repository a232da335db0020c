"""Consecutive rows of all models, as the commands process them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.sets import ConvexHull


@dataclass(frozen=True)
class DroppedRow:
    """An invalid row that was skipped."""

    row: int
    id: Any
    file: str
    reason: str


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of all models, without invalid rows."""

    #: The range of rows that was read.
    start: int
    stop: int
    #: Row numbers of the valid rows, ``(r,)``.
    rows: Array
    #: Probabilities, ``(r, M, K)``.
    members: Array
    #: Class indices, ``(r,)``; negative for rows whose label is missing or ignored.
    labels: Array | None
    ids: Array | None
    dropped: tuple[DroppedRow, ...]
    #: Distributions of the labels, ``(r, K)``, NaN if missing, if the files have them.
    label_distributions: Array | None = None
    #: Largest deviation of a row sum from 1, 0 if all are exact in single precision.
    deviation: float = 0.0
    #: Numbers of rows without a label, and of rows whose label is ignored.
    unlabelled: int = 0
    ignored: int = 0
    #: Which models have a prediction, ``(r, M)``; the members of others are NaN. None if models
    #: must have all rows.
    mask: Array | None = None
    #: Weights of the models, ``(M,)``; None if they are equal.
    weights: Array | None = None

    def hull(self) -> ConvexHull:
        """Return the credal sets of the rows."""
        if self.mask is None and self.weights is None:
            return ConvexHull(self.members, validate=False)
        return ConvexHull(self.members, weights=self.weights, mask=self.mask, validate=False)

    @property
    def row_weights(self) -> Array | None:
        """The weights of the models for each row, ``(r, M)``."""
        if self.weights is None:
            return None
        return np.broadcast_to(self.weights, self.members.shape[:2])

    def take(self, rows: Array) -> Chunk:
        """Return some rows, given by a mask or by positions."""

        def some(array: Array | None) -> Array | None:
            return None if array is None else array[rows]

        return replace(
            self,
            rows=self.rows[rows],
            members=self.members[rows],
            labels=some(self.labels),
            ids=some(self.ids),
            label_distributions=some(self.label_distributions),
            mask=some(self.mask),
        )

    @property
    def labelled(self) -> Array:
        """Which rows have a label."""
        if self.labels is None:
            return np.zeros(len(self.rows), bool)
        return np.asarray(self.labels >= 0)
