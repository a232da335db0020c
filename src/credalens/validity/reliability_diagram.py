"""Credal reliability diagrams and calibration errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens.evaluation.labels import class_indices
from credalens.sets import ConvexHull, CredalSet, as_credal_set
from credalens.validity.bins import (
    BINNINGS,
    bin_edges,
    bin_indices,
    bin_sums,
    classwise_error,
    top_label_error,
)
from credalens.validity.intervals import clopper_pearson

#: Where the interval of the observed frequency lies with respect to the band.
VERDICTS = ("inside", "below", "above")


@dataclass(frozen=True, eq=False, repr=False)
class ReliabilityDiagram(TableResult):
    """Observed frequencies against the bands of a credal predictor; see `reliability`.

    Arrays have one entry per bin that is not empty.

    Examples
    --------
    >>> import credalens as cl
    >>> found = cl.validity.reliability([[[0.9, 0.1], [0.7, 0.3]]] * 20, [0] * 16 + [1] * 4)
    >>> found.top
    ReliabilityDiagram(n=20, bins=1, outside=0)
       start  stop   n  center  band_lower  band_upper  observed  lower   upper verdict
    0    0.8   0.9  20     0.8         0.7         0.9       0.8  0.5634  0.9427  inside
    """

    #: Edges of the bins of the centre's probability.
    start: Array
    stop: Array
    #: Numbers of instances.
    n: NDArray[np.intp]
    #: Mean probability of the event at the centres of the sets.
    center: Array
    #: Mean lower and mean upper probability of the event.
    band_lower: Array
    band_upper: Array
    #: Relative frequency of the event, and the ends of its confidence interval.
    observed: Array
    lower: Array
    upper: Array

    @property
    def verdict(self) -> NDArray[np.str_]:
        """``"inside"`` if interval and band intersect, else ``"below"`` or ``"above"`` the band."""
        below, above = self.upper < self.band_lower, self.lower > self.band_upper
        return np.select([below, above], ["below", "above"], "inside").astype(np.str_)

    @property
    def calibrated(self) -> bool:
        """Whether no interval lies outside of its band."""
        return self.n_outside == 0

    @property
    def n_outside(self) -> int:
        """Number of bins whose interval lies outside of its band."""
        return int((self.verdict != "inside").sum())

    @property
    def n_center_outside(self) -> int:
        """Number of bins whose interval does not contain the mean probability of the centres."""
        return int(((self.center < self.lower) | (self.center > self.upper)).sum())

    @property
    def band_width(self) -> float:
        """Mean width of the band over all instances."""
        return self._mean(self.band_upper - self.band_lower)

    @property
    def mean_center(self) -> float:
        """Mean probability of the event at the centres of all sets."""
        return self._mean(self.center)

    @property
    def frequency(self) -> float:
        """Relative frequency of the event among all instances."""
        return self._mean(self.observed)

    @property
    def ece(self) -> float:
        """Expected calibration error of the centre."""
        return self._mean(np.abs(self.observed - self.center))

    @property
    def credal_ece(self) -> float:
        """Mean distance of the observed frequency to the nearest point of the band."""
        below, above = self.band_lower - self.observed, self.observed - self.band_upper
        return self._mean(np.maximum(np.maximum(below, above), 0.0))

    def _mean(self, values: Array) -> float:
        return float(self.n @ values / self.n.sum())

    def _columns(self) -> dict[str, Any]:
        names = ("start", "stop", "n", "center", "band_lower", "band_upper", "observed", "lower",
                 "upper", "verdict")  # fmt: skip
        return {name: getattr(self, name) for name in names}

    def _summary(self) -> str:
        bins, n = len(self.n), self.n.sum()
        return f"ReliabilityDiagram(n={n}, bins={bins}, outside={self.n_outside})"


class DiagramSums:
    """Sums over bins that determine a reliability diagram; instances are added in chunks.

    Examples
    --------
    >>> import numpy as np
    >>> sums = DiagramSums(np.array([0.0, 0.5, 1.0]))
    >>> for hit in (True, False):
    ...     sums.add(np.array([0.6]), np.array([0.5]), np.array([0.7]), np.array([hit]))
    >>> found = sums.diagram(0.95)
    >>> found.n.tolist(), found.observed.tolist()
    ([2], [0.5])
    """

    def __init__(self, edges: Array) -> None:
        self._edges = edges
        #: Numbers of instances, and sums of centre, lower, upper and hits, ``(5, bins)``.
        self._sums = np.zeros((5, len(edges) - 1))

    def add(self, center: Array, lower: Array, upper: Array, hit: Array) -> None:
        """Add the probabilities ``(n,)`` of an event, and whether it occurred."""
        index = bin_indices(center, self._edges)
        columns = (center, lower, upper, hit.astype(np.float64))
        self._sums += bin_sums(index, len(self._edges) - 1, *columns)

    @property
    def n_occupied(self) -> int:
        """Number of bins that are not empty."""
        return int((self._sums[0] > 0).sum())

    def diagram(self, confidence: float, n_tests: int | None = None) -> ReliabilityDiagram:
        """Return the diagram, with the Bonferroni correction for `n_tests` intervals.

        By default, as many as there are bins that are not empty.
        """
        occupied = self._sums[0] > 0
        n, center, band_lower, band_upper, hits = self._sums[:, occupied]
        tests = self.n_occupied if n_tests is None else n_tests
        low, high = clopper_pearson(hits, n, 1 - (1 - confidence) / tests)
        start, stop = self._edges[:-1][occupied], self._edges[1:][occupied]
        means = (center / n, band_lower / n, band_upper / n, hits / n)
        return ReliabilityDiagram(start, stop, n.astype(np.intp), *means, low, high)


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(TableResult):
    """Reliability of a credal predictor; see `reliability`.

    `to_pandas` has one row per bin, those of the most probable label (class -1) first.

    Examples
    --------
    >>> import credalens as cl
    >>> found = cl.validity.reliability([[[0.9, 0.1], [0.7, 0.3]]] * 20, [0] * 16 + [1] * 4)
    >>> round(found.ece, 3), found.credal_ece, found.ece_members.round(3).tolist()
    (0.0, 0.0, [0.1, 0.1])
    """

    #: The diagram of the most probable label of the centre.
    top: ReliabilityDiagram
    #: The diagram of each class.
    classes: tuple[ReliabilityDiagram, ...]
    #: Expected calibration errors of the top label of each member, ``(M,)``; None if the sets are
    #: not hulls.
    ece_members: Array | None
    #: Classwise calibration errors of each member, ``(M,)``; None if the sets are not hulls.
    classwise_members: Array | None
    #: Simultaneous confidence level of the intervals of `top`, and of those of `classes`.
    confidence: float

    _repr_rows: ClassVar[int] = 0

    @property
    def ece(self) -> float:
        """Expected calibration error of the top label of the centre, the mean of the members."""
        return self.top.ece

    @property
    def credal_ece(self) -> float:
        """Mean distance of the accuracy of the top label to the band, 0 if the band covers it."""
        return self.top.credal_ece

    @property
    def classwise_ece(self) -> float:
        """Mean over the classes of the calibration errors of the centre."""
        return float(np.mean([diagram.ece for diagram in self.classes]))

    @property
    def classwise_credal_ece(self) -> float:
        """Mean over the classes of the distances to the bands."""
        return float(np.mean([diagram.credal_ece for diagram in self.classes]))

    @property
    def calibrated(self) -> bool:
        """Whether no interval of a diagram lies outside of its band."""
        return self.top.calibrated and all(diagram.calibrated for diagram in self.classes)

    def _columns(self) -> dict[str, Any]:
        diagrams = (self.top, *self.classes)
        sizes = [len(diagram.n) for diagram in diagrams]
        columns: dict[str, Any] = {"class": np.repeat(np.arange(-1, len(self.classes)), sizes)}
        for name in self.top._columns():
            columns[name] = np.concatenate([diagram._columns()[name] for diagram in diagrams])
        return columns

    def _summary(self) -> str:
        return (
            f"Reliability(n={self.top.n.sum()}, ece={self.ece:.4f}, "
            f"credal_ece={self.credal_ece:.4f}, calibrated={self.calibrated})"
        )


def reliability(
    Q: Any,
    y: Any,
    *,
    n_bins: int = 10,
    binning: str = "width",
    confidence: float = 0.95,
) -> Reliability:
    """Return credal reliability diagrams: observed frequencies against bands of probabilities.

    For an event, such as a class, the instances are divided into bins by the probability of the
    event at the centre of their set. If each set contains the true distribution, the expected
    frequency in a bin lies between the mean of the lower and that of the upper probabilities.

    Parameters
    ----------
    Q : CredalSet, or array-like of shape (n, M, K)
        The sets, or the predictions of M members.
    y : array-like of int, shape (n,)
        Labels as class indices.
    n_bins : int, default=10
        Number of bins.
    binning : {"width", "frequency"}, default="width"
        Bins of equal width, or with about equally many instances each.
    confidence : float in (0, 1), default=0.95
        Simultaneous level of the intervals of the diagram of the top label, and of the intervals
        of the diagrams of all classes.

    Returns
    -------
    Reliability
        The diagrams of the top label and of each class, and calibration errors.

    Notes
    -----
    Intervals are exact binomial (Clopper-Pearson) intervals, with the Bonferroni correction for the
    number of bins that are not empty: of the top label, or of all classes together. A bin is
    *inside* if its interval intersects the band. Below the band the predictor is overconfident of
    the event, above it underconfident.

    The expected calibration error (ECE) of a distribution is the mean over the instances of
    ``|frequency - mean probability|`` in their bin; the credal ECE replaces the mean probability by
    the nearest point of the band, and is 0 if the band always contains the frequency. A larger set
    has a smaller credal ECE; the vacuous set has 0. Each member is divided into bins by its own
    probabilities.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks", ICML 2017.
    T. Mortier, V. Bengs, E. Hüllermeier, S. Luca, W. Waegeman, "On the calibration of probabilistic
    classifier sets", AISTATS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> true = rng.dirichlet(np.ones(3), 2000)
    >>> y = (true.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)
    >>> members = np.stack([true**0.5, true**2], axis=1)
    >>> members /= members.sum(axis=2, keepdims=True)
    >>> found = cl.validity.reliability(members, y)
    >>> found.calibrated, bool(found.credal_ece < 0.01), bool(found.ece_members.min() > 0.05)
    (True, True, True)
    """
    sets = as_credal_set(Q).to_numpy_backed()
    if len(sets.batch_shape) != 1 or not sets.batch_shape[0]:
        _validation.raise_invalid(
            "Q", f"has batch shape {sets.batch_shape}", "pass one set per instance, (n,)"
        )
    labels = class_indices(y, sets.batch_shape, sets.n_classes)
    n_bins = _validation.whole_number(n_bins, "n_bins", least=1)
    _validation.one_of(binning, "binning", BINNINGS)
    confidence = _validation.fraction(confidence, "confidence")
    columns = [np.asarray(x, np.float64) for x in (sets.center(), sets.lower(), sets.upper())]
    rows, top = np.arange(len(labels)), columns[0].argmax(axis=1)
    chosen = [column[rows, top] for column in columns]
    of_top = _sums(chosen, top == labels, n_bins, binning)
    of_classes = [
        _sums([column[:, k] for column in columns], labels == k, n_bins, binning)
        for k in range(sets.n_classes)
    ]
    members, classwise = _member_errors(sets, labels, n_bins, binning)
    n_tests = sum(sums.n_occupied for sums in of_classes)
    return Reliability(
        of_top.diagram(confidence),
        tuple(sums.diagram(confidence, n_tests) for sums in of_classes),
        members,
        classwise,
        confidence,
    )


def _sums(columns: list[Array], hit: Array, n_bins: int, binning: str) -> DiagramSums:
    center, lower, upper = columns
    sums = DiagramSums(bin_edges(center, n_bins, binning))
    sums.add(center, lower, upper, hit)
    return sums


def _member_errors(
    sets: CredalSet, labels: NDArray[np.intp], n_bins: int, binning: str
) -> tuple[Array | None, Array | None]:
    """Return the errors of the top label and the classwise errors of the members of hulls."""
    if not isinstance(sets, ConvexHull):
        return None, None
    points, mask = np.asarray(sets.members), np.asarray(sets.mask)
    members = [(points[rows, m], labels[rows]) for m, rows in enumerate(mask.T)]
    each = (top_label_error, classwise_error)
    top, classwise = (
        np.array([error(own, y, n_bins, binning) for own, y in members]) for error in each
    )
    return top, classwise
