"""Influence of each member of an ensemble on its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, blocks
from credalens._results import TableResult
from credalens.evaluation.labels import class_indices
from credalens.evaluation.likelihood import (
    add_rows,
    label_probabilities,
    member_array,
    relative_likelihood,
)
from credalens.evaluation.rejection import RejectionCurve, rejected_counts
from credalens.evaluation.verdicts import find_spoilers, notes, table, verdict

#: Smaller changes of uncertainty are rounding.
ROUNDING = 1e-12
#: Bins of total uncertainty in which votes are counted.
AUC_BINS = 1024
#: Predictions whose class probabilities differ by at most this are considered equal.
SAME = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class MemberDiagnosis(TableResult):
    """Influence of each of M members on the uncertainty of n instances; see `diagnose_members`.

    Arrays have one entry per member unless stated otherwise. Uncertainty is that of total
    variation. ``len(diagnosis)`` is M; ``str(diagnosis)`` is a table with the verdicts of note.

    Examples
    --------
    >>> import credalens as cl
    >>> diagnosis = cl.diagnose_members([[[0.9, 0.1], [0.8, 0.2]], [[0.3, 0.7], [0.1, 0.9]]])
    >>> diagnosis
    MemberDiagnosis(n_members=2, n_instances=2, spoilers=[])
    >>> diagnosis.to_pandas()[["total_change", "epistemic_change"]].round(3)
              total_change  epistemic_change
    member
    member 0         -0.10            -0.075
    member 1         -0.05            -0.075
    """

    #: Names of the members.
    names: tuple[str, ...]
    #: Number of instances n.
    n_instances: int
    #: Number of classes K.
    n_classes: int
    #: Mean total uncertainty of the ensemble.
    mean_total: float
    #: Mean epistemic uncertainty of the ensemble.
    mean_epistemic: float
    #: Share of instances whose total uncertainty changes, by more than 1e-12, if this member is
    #: left out.
    decides_total: Array
    #: Share of instances with this member in the pair of largest distance; pairs that tie (within
    #: a relative 1e-12) all count, and none counts where all members are equal.
    in_widest_pair: Array
    #: Mean total uncertainty without the member, minus that with it: never positive.
    total_change: Array
    #: Mean epistemic uncertainty without the member, minus that with it: never positive.
    epistemic_change: Array
    #: Whether its predictions are the same for every input.
    constant: Array
    #: Brier score (squared error summed over the classes) with respect to the labels or, without
    #: labels, the majority vote.
    brier: Array
    #: Class frequencies of the labels or, without labels, of the votes, ``(K,)``.
    frequencies: Array
    #: Share of instances on which its most probable class is the majority vote of the others.
    agreement: Array
    #: Share of the inputs after the first with the same prediction as the first, compared by the
    #: most probable class and the sum of squares.
    repeats: Array
    #: Prediction for the first input, ``(M, K)``.
    first_prediction: Array
    #: Log-likelihood of all labels; minus infinity if the member gives probability 0 to one.
    log_likelihood: Array | None = None
    #: Accuracy.
    accuracy: Array | None = None
    #: Accuracy of the majority vote of all members.
    vote_accuracy: float | None = None
    #: Area under the accuracy-rejection curve of the vote by total uncertainty, of all members.
    auc: float | None = None
    #: Accuracy of the vote without the member, minus that with it.
    accuracy_change: Array | None = None
    #: `auc` without the member, minus that with it: positive if total uncertainty ranks errors
    #: better without it.
    auc_change: Array | None = None
    #: Members that spoil the uncertainty, by the rule in `diagnose_members`.
    spoilers: list[int] = field(init=False)
    #: One sentence per member.
    verdicts: list[str] = field(init=False)

    _repr_rows: ClassVar[int] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "spoilers", find_spoilers(self))
        object.__setattr__(self, "verdicts", [verdict(self, m) for m in range(self.n_members)])

    @property
    def n_members(self) -> int:
        """Number of members M."""
        return len(self.names)

    @property
    def relative_likelihood(self) -> Array | None:
        """Likelihood relative to the best member, per instance: the scale ``"mean"``."""
        return self.likelihood_ratio("mean")

    def likelihood_ratio(self, scale: str = "mean") -> Array | None:
        """Return the likelihood relative to the best member, or None without labels.

        ``scale="mean"`` is the ratio per instance (geometric mean), ``"total"`` that of all labels
        together, which with many labels is near 0 for all but the best member.
        """
        if self.log_likelihood is None:
            return None
        return relative_likelihood(self.log_likelihood, self.n_instances, scale)

    @property
    def notes(self) -> list[str]:
        """The verdicts of note: spoilers first, then constant and weak members."""
        return notes(self)

    def _columns(self) -> dict[str, Array]:
        names = ("decides_total", "in_widest_pair", "total_change", "epistemic_change", "constant",
                 "brier", "agreement", "accuracy", "accuracy_change", "auc_change",
                 "log_likelihood", "relative_likelihood")  # fmt: skip
        columns = {name: getattr(self, name) for name in names}
        columns["spoiler"] = np.isin(np.arange(self.n_members), self.spoilers)
        return {name: values for name, values in columns.items() if values is not None}

    def _index(self) -> tuple[str, Sequence[str]]:
        return "member", self.names

    def _summary(self) -> str:
        return (
            f"MemberDiagnosis(n_members={self.n_members}, n_instances={self.n_instances}, "
            f"spoilers={self.spoilers})"
        )

    def __str__(self) -> str:
        return table(self)


def diagnose_members(
    members: Any, y: Any = None, names: Sequence[str] | None = None
) -> MemberDiagnosis:
    """Compute the influence of each member on the uncertainty, and find members that spoil it.

    Measures based on total variation depend on the extreme points of a set, so a single faulty
    member can determine them for every input. This function leaves out each member in turn, all in
    one pass over the data.

    Parameters
    ----------
    members : array-like of shape (n, M, K), or ConvexHull
        The predictions of M members.
    y : array-like of int, shape (n,), optional
        Labels as class indices. With them, accuracies and likelihoods are computed as well.
    names : sequence of str, optional
        Names of the members, by default "member 0", "member 1", ...

    Returns
    -------
    MemberDiagnosis
        Arrays with one entry per member, ``spoilers`` and ``verdicts``.

    Raises
    ------
    TypeError
        For Dask arrays; compute them first.

    Notes
    -----
    A member is a *spoiler* if it shapes the set without being informative:

    1. Its predictions are the same for every input (within 1e-6), those of at least half of the
       members are not, and for some input it decides total uncertainty or belongs to the widest
       pair. This rule applies only if ``M q**(n - 1)`` is below 5 %, a bound on the probability of
       a constant member by chance, where q is the largest share of inputs, the first included, for
       which another member repeats its first prediction; or
    2. it is poor, it does harm, and it is not needed:

       - poor: its accuracy is below 75 % of the median accuracy of the other members, by at least
         two standard errors, or its Brier score is not better than that of the class frequencies;
       - harm: it alone decides total uncertainty on at least half of the instances, and leaving it
         out changes mean total uncertainty by more than the sum of the changes for the other
         members; or, with labels, leaving it out raises `auc` by 0.01 or more, and by at least
         two standard errors of the accuracy of the vote;
       - not needed: with labels, leaving it out does not lower `auc`.

       A member that is at least as accurate as the median of the others is never a spoiler by this
       rule. It applies to at least three members, at least 30 instances, and labels that are not
       almost all equal. Without `y`, the accuracy of a member is its `agreement` with the vote of
       the others.

    A weak member that does no harm is not a spoiler, nor is one of likelihood 0, which is common in
    forests; verdicts report both. Two members with the same fault hide each other under rule 2.

    The cost is O(n M^2 K), about that of `quantify`; the memory does not depend on n.

    References
    ----------
    González-García et al. (2026), appendix E, "Pathological case".

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(4, size=500)
    >>> P = rng.dirichlet(np.ones(4), (500, 6)) + 4 * np.eye(4)[y][:, None]
    >>> P /= P.sum(axis=2, keepdims=True)
    >>> cl.diagnose_members(P, y).spoilers
    []
    >>> P[:, 5] = [0, 0, 0, 1]
    >>> diagnosis = cl.diagnose_members(P, y)
    >>> diagnosis.spoilers
    [5]
    >>> diagnosis.verdicts[5]
    'member 5 predicts class 3 for every input and alone sets TU on 72 % of instances'
    """
    hull, points = member_array(members)
    labels = None if y is None else class_indices(y, hull.batch_shape, hull.n_classes).ravel()
    sums = _Sums(hull.n_members, hull.n_classes, labels is not None)
    # The kernel returns several numbers per member and instance; this bounds their memory.
    rows = max(1, (1 << 20) // hull.n_members)
    for start, stop, (block,) in blocks((points,), (2,), rows=rows, large=True):
        sums.add(block, None if labels is None else labels[start:stop])
    return sums.result(_names(names, hull.n_members))


def _names(names: Sequence[str] | None, n_members: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"member {m}" for m in range(n_members))
    if isinstance(names, str) or len(names) != n_members:
        _validation.raise_invalid(
            "names", f"is {names!r}", f"pass {n_members} names, one per member"
        )
    return tuple(str(name) for name in names)


class _Sums:
    """Sums over instances, accumulated block by block."""

    def __init__(self, n_members: int, n_classes: int, labelled: bool) -> None:
        self.n, self.n_classes, self.labelled = 0, n_classes, labelled
        self.total = self.wide = 0.0
        self.decides, self.widest, self.hits, self.same = np.zeros((4, n_members), np.int64)
        self.lower, self.spread, self.brier, self.logs = np.zeros((4, n_members))
        self.counts = np.zeros(n_classes, np.int64)
        self.agreed = np.zeros(n_members, np.int64)
        #: Numbers of correct and of wrong votes by total uncertainty: of all members, and without
        #: each, ``(M + 1, AUC_BINS, 2)``.
        self.histograms = np.zeros((n_members + 1, AUC_BINS, 2), np.int64) if labelled else None
        self.constant = np.ones(n_members, bool)
        self.first = np.full((n_members, n_classes), np.nan)

    def add(self, block: Array, labels: Array | None) -> None:
        """Add the instances of a block ``(b, M, K)``."""
        squares, top, total = self._leave_one_out(block)
        if self.n == 0:
            self.first = block[0].astype(np.float64)
            self.first_squares, self.first_top = squares[0], top[0]
            self.same -= 1  # the first instance does not count as a repetition
        alike = (top == self.first_top) & (np.abs(squares - self.first_squares) <= SAME)
        self.same += np.count_nonzero(alike, axis=0)
        self._update_constant(block)
        votes = leave_one_out_votes(block, top)
        self.agreed += np.count_nonzero(top == votes[:, 1:], axis=0)
        if self.histograms is not None and labels is not None:
            _count(self.histograms, total, votes == labels[:, None])
        labels = votes[:, 0] if labels is None else labels
        of_label = label_probabilities(block, labels)
        self.brier = add_rows(self.brier, squares - 2 * of_label + 1)
        with np.errstate(divide="ignore"):
            self.logs = add_rows(self.logs, np.log(of_label))
        self.hits += (top == labels[:, None]).sum(axis=0)
        self.counts += np.bincount(labels, minlength=self.n_classes)
        self.n += len(block)

    def _leave_one_out(self, block: Array) -> tuple[Array, Array, Array]:
        """Return sums of squares, top classes, and total uncertainty ``(b, 1 + M)``.

        The first column of the last is that of all members, the others without each of them.
        """
        b, M = block.shape[:2]
        (best, wide), (lower, spread, squares) = np.empty((2, b)), np.empty((3, b, M))
        widest, top = np.empty((b, M), np.uint8), np.empty((b, M), np.int32)
        _kernels.leave_one_out(
            block, best, wide, lower, spread, widest, squares, top, DEFAULT_THREADS
        )
        sums = add_rows(np.array([self.total, self.wide]), np.stack([1 - best, wide], axis=1))
        self.total, self.wide = float(sums[0]), float(sums[1])
        self.decides += np.count_nonzero(lower > ROUNDING, axis=0)
        self.widest += np.count_nonzero(widest, axis=0)
        self.lower, self.spread = add_rows(self.lower, lower), add_rows(self.spread, spread)
        total = 1 - best[:, None] - np.concatenate([np.zeros((b, 1)), lower], axis=1)
        return squares, top, total

    def _update_constant(self, block: Array) -> None:
        # A few instances exclude almost every member, so the others are rarely read.
        for part in (block[:16], block[16:]):
            for m in np.flatnonzero(self.constant):
                off = np.abs(part[:, m] - self.first[m].astype(block.dtype))
                self.constant[m] = off.size == 0 or off.max() <= SAME

    def result(self, names: tuple[str, ...]) -> MemberDiagnosis:
        n = max(self.n, 1)
        return MemberDiagnosis(
            names=names,
            n_instances=self.n,
            n_classes=self.n_classes,
            mean_total=self.total / n,
            mean_epistemic=self.wide / 4 / n,
            decides_total=self.decides / n,
            in_widest_pair=self.widest / n,
            total_change=0.0 - self.lower / n,
            epistemic_change=0.0 - self.spread / 4 / n,
            constant=self.constant & (self.n > 1),
            brier=self.brier / n,
            frequencies=self.counts / n,
            repeats=self.same / max(self.n - 1, 1),
            first_prediction=self.first,
            agreement=self.agreed / n,
            **self._labelled(n),
        )

    def _labelled(self, n: int) -> dict[str, Any]:
        if self.histograms is None:
            return {}
        accuracy = self.histograms[:, :, 0].sum(axis=1) / n
        areas = np.array([_area(histogram) for histogram in self.histograms])
        return {
            "log_likelihood": self.logs,
            "accuracy": self.hits / n,
            "vote_accuracy": float(accuracy[0]),
            "auc": float(areas[0]),
            "accuracy_change": accuracy[1:] - accuracy[0],
            "auc_change": areas[1:] - areas[0],
        }


def leave_one_out_votes(block: Array, top: Array) -> Array:
    """Return the majority votes of all members and without each, ``(b, 1 + M)``.

    `top` are the most probable classes of the members, ``(b, M)``. Ties go to the larger mean
    probability, then to the smallest index; without a single member the vote is 0.
    """
    b, M, K = block.shape
    at = np.arange(b)
    counts = np.bincount((top + at[:, None] * K).ravel(), minlength=b * K).reshape(b, K)
    mass = block.sum(axis=1, dtype=np.float64)
    votes = np.empty((b, 1 + M), np.intp)
    votes[:, 0] = _winner(counts, mass)
    for m in range(M):
        counts[at, top[:, m]] -= 1
        votes[:, 1 + m] = _winner(counts, mass - block[:, m])
        counts[at, top[:, m]] += 1
    return votes


def _winner(counts: Array, mass: Array) -> Array:
    most = counts == counts.max(axis=1, keepdims=True)
    return np.asarray(np.where(most, mass, -1.0).argmax(axis=1))


def _count(histograms: Array, total: Array, correct: Array) -> None:
    """Add the votes ``(b, 1 + M)`` to the histograms of total uncertainty."""
    bins = np.clip((total * AUC_BINS).astype(np.intp), 0, AUC_BINS - 1)
    for histogram, index, right in zip(histograms, bins.T, correct.T, strict=True):
        flat = np.bincount(2 * index + ~right, minlength=2 * AUC_BINS)
        histogram += flat.reshape(AUC_BINS, 2)


def _area(histogram: Array, n_bins: int = 30) -> float:
    """Return the area under the accuracy-rejection curve, rows of a bin in random order."""
    n = int(histogram.sum())
    if n == 0:
        return float("nan")
    kept = n - rejected_counts(n, n_bins)
    rows, correct = (np.concatenate([[0], np.cumsum(x)])
                     for x in (histogram.sum(axis=1), histogram[:, 0]))  # fmt: skip
    return RejectionCurve(np.arange(n_bins) / n_bins, np.interp(kept, rows, correct) / kept).auc
