"""Influence of each member of an ensemble on its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens.evaluation.labels import class_indices
from credalens.evaluation.likelihood import member_array, relative_likelihood
from credalens.evaluation.member_sums import MemberSums
from credalens.evaluation.verdicts import find_spoilers, notes, table, verdict


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
    #: Number of instances for which the member is present. Shares and scores of a member are over
    #: these; changes of means are over all instances.
    n_present: Array
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
    #: Prediction for the first input for which the member is present, ``(M, K)``.
    first_prediction: Array
    #: Log-likelihood of all labels; minus infinity if the member gives probability 0 to one. That
    #: of a member that is missing for some instances is the mean of the others times n.
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
        if (self.n_present < self.n_instances).any():
            columns["n_present"] = self.n_present
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
        The predictions of M members. A hull may have weights, by which members vote, and missing
        members, without which uncertainty and votes are those of the members that are present.
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
    hull, points = member_array(members, missing=True)
    labels = None if y is None else class_indices(y, hull.batch_shape, hull.n_classes).ravel()
    sums = MemberSums(hull.n_members, hull.n_classes, labels is not None)
    shape, sets = (-1, hull.n_members), hull.to_numpy_backed()
    weights = None if sets.weights is None else sets.weights.reshape(shape)
    mask = sets.mask.reshape(shape) if sets.backend.ragged else None
    sums.add(points.reshape(*shape, hull.n_classes), labels, weights, mask)
    return MemberDiagnosis(names=_names(names, hull.n_members), **sums.figures())


def _names(names: Sequence[str] | None, n_members: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"member {m}" for m in range(n_members))
    if isinstance(names, str) or len(names) != n_members:
        _validation.raise_invalid(
            "names", f"is {names!r}", f"pass {n_members} names, one per member"
        )
    return tuple(str(name) for name in names)
