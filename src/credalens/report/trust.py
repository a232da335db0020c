"""Calibration of the models and of their credal set, counted chunk by chunk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.sets import ConvexHull
from credalens.validity.intervals import clopper_pearson
from credalens.validity.reliability_diagram import ReliabilityDiagram
from credalens.validity.top_label_sums import TopLabelSums, confidence_verdicts

#: Simultaneous confidence level of the intervals of a diagram, and level of that of the coverage.
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class Trust:
    """What a report shows of the calibration of the models and of their credal set."""

    #: The diagram of the top label of each model, and that of the mean with the band.
    models: list[ReliabilityDiagram]
    top: ReliabilityDiagram
    #: Number of label distributions that lie in their set, and of all; None without distributions.
    covered: tuple[int, int] | None

    @property
    def verdicts(self) -> list[str]:
        """``"calibrated"``, ``"overconfident"`` or ``"underconfident"``, of each model."""
        columns = [
            (one.mean_center, one.frequency, one.n_outside) for one in self.models
        ]  # fmt: skip
        confidence, accuracy, outside = np.array(columns).T
        return confidence_verdicts(confidence, accuracy, outside.astype(np.intp)).tolist()  # type: ignore[no-any-return]

    @property
    def coverage_interval(self) -> tuple[float, float]:
        """Confidence interval of the share of the distributions that lie in their set."""
        low, high = clopper_pearson(*(self.covered or (0, 1)), CONFIDENCE)
        return float(low), float(high)


class TrustCounter:
    """Counts hits by confidence, and covered label distributions, of chunks of predictions."""

    def __init__(self, n_members: int) -> None:
        self._sums = TopLabelSums(n_members)
        self._covered = self._n = 0
        self._soft = False

    def add(
        self, members: Array, labels: Array | None, votes: Array, distributions: Array | None
    ) -> None:
        """Add predictions ``(r, M, K)``, their class indices, top labels and distributions.

        Rows with a negative label are left out.
        """
        if labels is None:
            return
        known = labels >= 0
        if not known.all():
            members, labels, votes = members[known], labels[known], votes[known]
            distributions = None if distributions is None else distributions[known]
        if not len(labels):
            return
        self._sums.add(members, labels, votes)
        self._n += len(labels)
        self._covered += int(_contained(members, labels, distributions).sum())
        self._soft |= distributions is not None

    def result(self) -> Trust | None:
        """Return the diagrams of all chunks; None without labels."""
        if not self._n:
            return None
        covered = (self._covered, self._n) if self._soft else None
        models = self._sums.of_members(CONFIDENCE)
        return Trust(models, self._sums.of_set(CONFIDENCE), covered)


def _contained(members: Array, labels: Array, distributions: Array | None) -> Array:
    """Return whether each set contains the distribution of its label, or its certain label.

    A chunk has no distributions if all of its labels are certain; a vertex lies in the hull if it
    is a member.
    """
    if distributions is not None:
        return np.asarray(ConvexHull(members, validate=False).contains(distributions))
    largest = members[np.arange(len(labels)), :, labels].max(axis=1)
    return np.asarray(largest >= 1 - _validation.slack_of(members.dtype))
