"""Reliability of the top labels of members and of their mean, summed over chunks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from credalens._backend import Array
from credalens.sets import ConvexHull
from credalens.validity.bins import bin_edges
from credalens.validity.reliability_diagram import DiagramSums, ReliabilityDiagram


class TopLabelSums:
    """Sums of the reliability diagrams of the top labels; chunks of instances are added.

    Bins have equal width. The time is linear in the number of probabilities, and the memory that is
    kept does not depend on the numbers of instances and of classes.

    Examples
    --------
    >>> import numpy as np
    >>> members = np.array([[[0.9, 0.1], [0.7, 0.3]]] * 20)
    >>> sums = TopLabelSums(n_members=2)
    >>> sums.add(members[:12], np.zeros(12, int))
    >>> sums.add(members[12:], np.array([0] * 4 + [1] * 4))
    >>> sums.of_set(0.95)
    ReliabilityDiagram(n=20, bins=1, outside=0)
       start  stop   n  center  band_lower  band_upper  observed  lower   upper verdict
    0    0.8   0.9  20     0.8         0.7         0.9       0.8  0.5634  0.9427  inside
    """

    def __init__(self, n_members: int, n_bins: int = 10) -> None:
        edges = bin_edges(np.empty(0), n_bins, "width")
        self._set = DiagramSums(edges)
        self._members = [DiagramSums(edges) for _ in range(n_members)]
        #: Number of instances.
        self.n = 0

    def add(self, points: Array, labels: NDArray[np.intp], votes: Array | None = None) -> None:
        """Add predictions ``(n, M, K)`` and labels ``(n,)``; `votes` are the top labels ``(n, M)``.

        `votes` are computed if they are not given.
        """
        tops = points.argmax(axis=2) if votes is None else votes
        rows, hit = np.arange(len(labels)), tops == labels[:, None]
        for m, sums in enumerate(self._members):
            own = points[rows, m, tops[:, m]].astype(np.float64)
            sums.add(own, own, own, hit[:, m])
        center = np.asarray(ConvexHull(points, validate=False).center(), np.float64)
        top = center.argmax(axis=1)
        chosen = points[rows, :, top].astype(np.float64)
        ends = chosen.min(axis=1), chosen.max(axis=1)
        self._set.add(center[rows, top], *ends, top == labels)
        self.n += len(labels)

    def of_set(self, confidence: float) -> ReliabilityDiagram:
        """Return the diagram of the top label of the mean, with the band of the members."""
        return self._set.diagram(confidence)

    def of_members(self, confidence: float) -> list[ReliabilityDiagram]:
        """Return the diagram of the top label of each member; its band is its mean probability."""
        return [sums.diagram(confidence) for sums in self._members]


def confidence_verdicts(
    mean_confidence: Array, accuracy: Array, bins_outside: NDArray[np.intp]
) -> NDArray[np.str_]:
    """Return ``"calibrated"``, ``"overconfident"`` or ``"underconfident"`` for each member.

    A member is calibrated if no bin is outside; otherwise its mean confidence is compared with its
    accuracy.
    """
    wrong = np.where(mean_confidence > accuracy, "overconfident", "underconfident")
    return np.where(bins_outside == 0, "calibrated", wrong).astype(np.str_)
