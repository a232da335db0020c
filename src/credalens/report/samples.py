"""Rows that a report keeps: the most uncertain ones, and a sample to diagnose the members."""

from __future__ import annotations

import numpy as np

from credalens._backend import Array
from credalens.evaluation import rejection_order

#: Number of most uncertain instances that are shown individually.
SHOWN = 20
#: Bytes of predictions on which the members are diagnosed; above, every second row is dropped.
#: Concatenating them needs as much again.
DIAGNOSED_BYTES = 1 << 27


class Top:
    """The most uncertain instances so far."""

    def __init__(self) -> None:
        self.score: Array = np.empty(0)
        self.positions: Array = np.empty(0, np.intp)
        self.members: Array = np.empty((0, 1, 1))

    def add(self, score: Array, members: Array, start: int) -> None:
        """Add instances, of which the first has the position `start`."""
        best = rejection_order(score)[:SHOWN]
        rows = np.array(members[best])
        scores = np.concatenate([self.score, score[best]])
        keep = rejection_order(scores)[:SHOWN]
        self.members = np.concatenate([self.members.reshape(-1, *rows.shape[1:]), rows])[keep]
        self.positions = np.concatenate([self.positions, start + best])[keep]
        self.score = scores[keep]


class Sample:
    """Rows at a regular stride, which doubles when they exceed `DIAGNOSED_BYTES`."""

    def __init__(self) -> None:
        self.stride = 1
        self._parts: list[tuple[Array, Array | None, Array]] = []

    def add(self, members: Array, labels: Array | None, start: int) -> None:
        """Add instances, of which the first has the position `start`."""
        self._parts.append(self._thin(members, labels, start + np.arange(len(members))))
        while sum(part[0].nbytes for part in self._parts) > DIAGNOSED_BYTES:
            self.stride *= 2
            self._parts = [self._thin(*part) for part in self._parts]

    def _thin(
        self, members: Array, labels: Array | None, positions: Array
    ) -> tuple[Array, Array | None, Array]:
        if self.stride == 1:
            return members, labels, positions
        keep = positions % self.stride == 0
        return members[keep], None if labels is None else labels[keep], positions[keep]

    def result(self) -> tuple[Array, Array | None]:
        """Return the members and the labels of the rows."""
        members = np.concatenate([part[0] for part in self._parts])
        labels = [part[1] for part in self._parts if part[1] is not None]
        return members, np.concatenate(labels) if labels else None
