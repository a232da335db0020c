"""Which member of an ensemble makes its uncertainty what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, Array, blocks
from credalens.evaluation.likelihood import (
    add_rows,
    class_indices,
    label_probabilities,
    relative_likelihood,
)
from credalens.evaluation.verdicts import find_spoilers, notes, table, verdict
from credalens.sets import ConvexHull, CredalSet

#: A change of uncertainty that is not larger is none.
ROUNDING = 1e-12
#: Two predictions that differ by no more than this in any class are the same to a reader.
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class MemberDiagnosis:
    """What each of M members does to the uncertainty of n instances; see `diagnose_members`.

    Arrays have one entry per member, unless they say otherwise. Uncertainty is that of total
    variation.

    Examples
    --------
    >>> import credalens as cl
    >>> found = cl.diagnose_members([[[0.9, 0.1], [0.8, 0.2]], [[0.3, 0.7], [0.1, 0.9]]])
    >>> found
    MemberDiagnosis(n_members=2, n_instances=2, spoilers=[])
    >>> found.total_change.round(3).tolist()
    [-0.1, -0.05]
    """

    #: Names of the members.
    names: tuple[str, ...]
    #: Number of instances n.
    n_instances: int
    #: Number of classes K.
    n_classes: int
    #: Mean total uncertainty of the whole ensemble.
    mean_total: float
    #: Mean epistemic uncertainty of the whole ensemble.
    mean_epistemic: float
    #: Share of instances whose total uncertainty changes, by more than 1e-12, if this member alone
    #: is left out.
    decides_total: Array
    #: Share of instances with this member in the widest pair; of pairs that tie (within a relative
    #: 1e-12) all count, and where all members agree, none does.
    in_widest_pair: Array
    #: Mean total uncertainty without the member, minus that with it: never positive.
    total_change: Array
    #: Mean epistemic uncertainty without the member, minus that with it: never positive.
    epistemic_change: Array
    #: Does it predict the same for every input?
    constant: Array
    #: Mean squared error of its probabilities, summed over the classes (Brier score), against the
    #: labels or, without any, the vote of the members.
    brier: Array
    #: Share of each class among the labels or, without any, the votes, ``(K,)``.
    frequencies: Array
    #: Share of the inputs after the first with the same prediction as the first, judged by the
    #: largest class and the sum of squares.
    repeats: Array
    #: What it predicts for the first input, ``(M, K)``: for a constant member, for all.
    first_prediction: Array
    #: Log-likelihood of all labels; minus infinity for a member that rules one of them out.
    log_likelihood: Array | None = None
    #: Share of labels that it puts first.
    accuracy: Array | None = None
    #: Members that spoil the uncertainty, by the rule in `diagnose_members`.
    spoilers: list[int] = field(init=False)
    #: A sentence on each member.
    verdicts: list[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "spoilers", find_spoilers(self))
        object.__setattr__(self, "verdicts", [verdict(self, m) for m in range(self.n_members)])

    @property
    def n_members(self) -> int:
        """Number of members M."""
        return len(self.names)

    @property
    def relative_likelihood(self) -> Array | None:
        """Likelihood relative to the best member, for one instance: the scale ``"mean"``."""
        return self.likelihood_ratio("mean")

    def likelihood_ratio(self, scale: str = "mean") -> Array | None:
        """Return the likelihood relative to the best member, or None without labels.

        ``scale="mean"`` is the ratio for one instance (geometric mean), ``"total"`` that of all
        labels together, which is near 0 for all but the best member once there are many labels.
        """
        if self.log_likelihood is None:
            return None
        return relative_likelihood(self.log_likelihood, self.n_instances, scale)

    @property
    def notes(self) -> list[str]:
        """The verdicts of note: spoilers first, then what is constant or weak."""
        return notes(self)

    def __str__(self) -> str:
        return table(self)

    def __repr__(self) -> str:
        return (
            f"MemberDiagnosis(n_members={self.n_members}, n_instances={self.n_instances}, "
            f"spoilers={self.spoilers})"
        )


def diagnose_members(
    members: Any, y: Any = None, names: Sequence[str] | None = None
) -> MemberDiagnosis:
    """Say of each member what it does to the uncertainty, and which one spoils it.

    The measures of total variation look at the extremes of a set, so that one broken member can
    decide them everywhere. This leaves out each member in turn, all in one pass over the data.

    Parameters
    ----------
    members : array-like of shape (n, M, K), or ConvexHull
        The predictions of M members.
    y : array-like of int, shape (n,), optional
        Labels, as positions of the columns. With them the members' fit is told as well.
    names : sequence of str, optional
        Names of the members, "member 0" and so on by default.

    Returns
    -------
    MemberDiagnosis
        With arrays of figures, ``spoilers``, ``verdicts``; prints as a table.

    Raises
    ------
    TypeError
        For Dask arrays, whose values are needed at once: compute them first.

    Notes
    -----
    **The rule.** A member is a *spoiler* if it shapes the set without knowing the input:

    1. it predicts the same for every input (within 1e-6), at least half of the members do not, and
       it decides total uncertainty or belongs to the widest pair somewhere. Not asked if the
       inputs are so few or so much alike that one of the M could be constant by chance, i.e. if
       M times q to the power n - 1 is 5 % or more, where q is the largest share of inputs, the
       first included, for which another member repeats its first prediction; or
    2. it alone decides total uncertainty on at least half of the instances, leaving it out changes
       mean total uncertainty more than leaving out each of the others does taken together, and its
       Brier score is no better than that of always predicting the class frequencies. Not asked of
       two members, of which each decides as much as the other, of fewer than 30 instances, nor if
       the labels are all but equal. Labels are those of `y` or, without it, the votes of the
       members.

    So a member that is merely weak is no spoiler as long as its probabilities say more about the
    labels than their frequencies do; its verdict tells that it is weak. A member that rules out a
    label that occurred has likelihood 0, but that alone makes no spoiler: forests do it often.
    Leaving out one member at a time does not see two copies of the same fault under rule 2: each
    hides the other. Constant members are found up to half of the ensemble.

    Cost O(n M^2 K), about that of `quantify`; nothing of the size of the data is kept. Results do
    not depend on the number of threads or the layout of the array.

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
    >>> found = cl.diagnose_members(P, y)
    >>> found.spoilers
    [5]
    >>> found.verdicts[5]
    'member 5 predicts class 3 for every input and alone sets TU on 72 % of instances'
    """
    hull = _as_hull(members)
    labels = None if y is None else class_indices(y, hull.batch_shape, hull.n_classes).ravel()
    tally = _Tally(hull.n_members, hull.n_classes, labels)
    points = hull.plain().members
    # What a block gives is a few numbers a member and instance: bounded for many members.
    rows = max(1, (1 << 20) // hull.n_members)
    for start, stop, block in blocks(points, 2, rows=rows, large=True):
        tally.add(block, None if labels is None else labels[start:stop])
    return tally.result(_names(names, hull.n_members))


def _as_hull(members: Any) -> ConvexHull:
    if isinstance(members, CredalSet) and not isinstance(members, ConvexHull):
        _validation.refuse(
            "members", f"is a {type(members).__name__}", "pass the predictions, (n, M, K)"
        )
    return members if isinstance(members, ConvexHull) else ConvexHull(members)


def _names(names: Sequence[str] | None, n_members: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"member {m}" for m in range(n_members))
    if isinstance(names, str) or len(names) != n_members:
        _validation.refuse("names", f"is {names!r}", f"pass {n_members} names, one per member")
    return tuple(str(name) for name in names)


class _Tally:
    """Sums over instances, block by block."""

    def __init__(self, n_members: int, n_classes: int, labels: Array | None) -> None:
        self.n, self.n_classes, self.labelled = 0, n_classes, labels is not None
        self.total = self.wide = 0.0
        self.decides, self.widest, self.hits, self.same = np.zeros((4, n_members), np.int64)
        self.lower, self.spread, self.brier, self.logs = np.zeros((4, n_members))
        self.counts = np.zeros(n_classes, np.int64)
        self.constant = np.ones(n_members, bool)
        self.first = np.full((n_members, n_classes), np.nan)

    def add(self, block: Array, labels: Array | None) -> None:
        """Add the instances of a block ``(b, M, K)``."""
        squares, top = self._leave_one_out(block)
        if self.n == 0:
            self.first = block[0].astype(np.float64)
            self.first_squares, self.first_top = squares[0], top[0]
            self.same -= 1  # it is not its own repetition
        alike = (top == self.first_top) & (np.abs(squares - self.first_squares) <= SAME)
        self.same += np.count_nonzero(alike, axis=0)
        self._still_constant(block)
        if labels is None:
            labels = _vote(top, self.n_classes)
        given = label_probabilities(block, labels)
        self.brier = add_rows(self.brier, squares - 2 * given + 1)
        with np.errstate(divide="ignore"):
            self.logs = add_rows(self.logs, np.log(given))
        self.hits += (top == labels[:, None]).sum(axis=0)
        self.counts += np.bincount(labels, minlength=self.n_classes)
        self.n += len(block)

    def _leave_one_out(self, block: Array) -> tuple[Array, Array]:
        b, M = block.shape[:2]
        (best, wide), (lower, spread, squares) = np.empty((2, b)), np.empty((3, b, M))
        widest, top = np.empty((b, M), np.uint8), np.empty((b, M), np.int32)
        _kernels.leave_one_out(block, best, wide, lower, spread, widest, squares, top, AS_WANTED)
        sums = add_rows(np.array([self.total, self.wide]), np.stack([1 - best, wide], axis=1))
        self.total, self.wide = float(sums[0]), float(sums[1])
        self.decides += np.count_nonzero(lower > ROUNDING, axis=0)
        self.widest += np.count_nonzero(widest, axis=0)
        self.lower, self.spread = add_rows(self.lower, lower), add_rows(self.spread, spread)
        return squares, top

    def _still_constant(self, block: Array) -> None:
        # A few instances rule out nearly every member, so that the rest is hardly ever read.
        for part in (block[:16], block[16:]):
            for m in np.flatnonzero(self.constant):
                off = np.abs(part[:, m] - self.first[m].astype(block.dtype))
                self.constant[m] = off.size == 0 or off.max() <= SAME

    def result(self, names: tuple[str, ...]) -> MemberDiagnosis:
        n = max(self.n, 1)
        # One input says nothing of others.
        constant = self.constant & (self.n > 1)
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
            constant=constant,
            brier=self.brier / n,
            frequencies=self.counts / n,
            repeats=self.same / max(self.n - 1, 1),
            first_prediction=self.first,
            log_likelihood=self.logs if self.labelled else None,
            accuracy=self.hits / n if self.labelled else None,
        )


def _vote(top: Array, n_classes: int) -> Array:
    """Return the class that most members put first, of several the smallest."""
    places = top + np.arange(len(top))[:, None] * n_classes
    votes = np.bincount(places.ravel(), minlength=len(top) * n_classes)
    return np.asarray(votes.reshape(len(top), n_classes).argmax(axis=1))
