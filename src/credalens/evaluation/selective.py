"""Metrics of selective prediction: AURC, AUGRC, AUARC, PRR and AUROC of a score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens._warnings import warn_caller
from credalens.evaluation.arguments import fraction, score_keys
from credalens.evaluation.curve_metrics import METRICS, curve_metrics
from credalens.evaluation.losses import (
    Loss,
    check_length,
    drop_weightless,
    instance_losses,
    instance_weights,
    labels_of,
)
from credalens.evaluation.risk_coverage import (
    TIES,
    RiskCoverage,
    largest_loss,
    oracle_curve,
    retained_weight,
    retention_order,
    two_values,
)


@dataclass(frozen=True, eq=False, repr=False)
class SelectiveMetrics(TableResult):
    """Metrics of a score for selective prediction; see `selective_metrics`.

    Examples
    --------
    >>> import credalens as cl
    >>> m = cl.selective_metrics([0, 1, 1, 0], [0, 1, 0, 0], [0.1, 0.2, 0.9, 0.3])
    >>> m.auroc, m.eaurc, m.risk_at(0.5), m.coverage_at(0.1)
    (1.0, 0.0, 0.0, 0.75)
    """

    #: Number of instances.
    n: int
    #: Mean loss of all instances, the risk at full coverage.
    risk: float
    #: Area under the risk-coverage curve.
    aurc: float
    #: Excess of `aurc` over that of the oracle, which orders by the losses.
    eaurc: float
    #: Area under the accuracy-rejection curve, ``1 - aurc``; for losses between 0 and 1.
    auarc: float
    #: Area under the generalized risk-coverage curve.
    augrc: float
    #: Excess of `augrc` over that of the oracle.
    eaugrc: float
    #: Prediction-rejection ratio: 0 for a random order, 1 for the oracle.
    prr: float
    #: Area under the ROC curve of the score as a detector of the larger of two losses.
    auroc: float

    _curve: RiskCoverage

    def risk_at(self, coverage: Any) -> Any:
        """Return the mean loss of the most certain instances.

        Parameters
        ----------
        coverage : float in (0, 1], or array of these
            Share of the instances that is retained: ``ceil(coverage * n)`` instances, those with
            the smallest scores.

        Returns
        -------
        float, or array of the shape of `coverage`
        """
        share = np.asarray(coverage, dtype=np.float64)
        if not ((share > 0) & (share <= 1)).all():
            _validation.raise_invalid("coverage", f"is {coverage}", "pass numbers in (0, 1]")
        total = float(self._curve.end_weight[-1])
        retained = share * total
        if total.is_integer():
            # A coverage such as 0.29 is a rounded decimal fraction.
            retained = np.maximum(np.ceil(retained - max(1e-9, 1e-15 * total)), 1)
        risk = self._curve.loss_at(retained) / retained
        return float(risk) if share.ndim == 0 else risk

    def coverage_at(self, risk: Any) -> Any:
        """Return the largest coverage at which the risk is at most a given one.

        Parameters
        ----------
        risk : float, or array of these
            Largest mean loss of the retained instances.

        Returns
        -------
        float, or array of the shape of `risk`
            0 if no coverage has a risk as small.
        """
        risks = np.asarray(risk, dtype=np.float64)
        if np.isnan(risks).any():
            _validation.raise_invalid("risk", "is NaN", "pass a number")
        found = np.array([self._curve.coverage_at(float(one)) for one in risks.ravel()])
        return float(found[0]) if risks.ndim == 0 else found.reshape(risks.shape)

    def _columns(self) -> dict[str, list[float]]:
        return {"value": [getattr(self, name) for name in METRICS]}

    def _index(self) -> tuple[str, list[str]]:
        return "metric", list(METRICS)

    def _summary(self) -> str:
        return f"SelectiveMetrics(n={self.n}, risk={self.risk:.4f})"


@dataclass(frozen=True, eq=False, repr=False)
class GroupedSelectiveMetrics(TableResult, Mapping[Any, SelectiveMetrics]):
    """Metrics of a score in each group of instances; see `selective_metrics`.

    A mapping of the groups, in sorted order, to their `SelectiveMetrics`. `to_pandas` has one row
    per group and one column per metric.

    Examples
    --------
    >>> import credalens as cl
    >>> correct, score = [True, False, True, False], [1, 2, 2, 1]
    >>> m = cl.selective_metrics(correct, None, score, groups=["a", "a", "b", "b"])
    >>> m["a"].aurc, m["b"].aurc
    (0.25, 0.75)
    >>> m.to_pandas()[["n", "risk", "auroc"]]
           n  risk  auroc
    group
    a      2   0.5    1.0
    b      2   0.5    0.0
    """

    #: The metrics by group.
    groups: Mapping[Any, SelectiveMetrics]

    _repr_rows: ClassVar[int] = 8

    def __getitem__(self, group: Any) -> SelectiveMetrics:
        return self.groups[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def _columns(self) -> dict[str, list[Any]]:
        each = self.groups.values()
        return {name: [getattr(m, name) for m in each] for name in ("n", "risk", *METRICS)}

    def _index(self) -> tuple[str, list[Any]]:
        return "group", list(self.groups)


@overload
def selective_metrics(
    y: Any,
    pred: Any,
    score: Any,
    *,
    loss: Loss = ...,
    sample_weight: Any = ...,
    ties: str = ...,
    max_rejection: float = ...,
    groups: None = ...,
) -> SelectiveMetrics: ...
@overload
def selective_metrics(
    y: Any,
    pred: Any,
    score: Any,
    *,
    loss: Loss = ...,
    sample_weight: Any = ...,
    ties: str = ...,
    max_rejection: float = ...,
    groups: Any,
) -> GroupedSelectiveMetrics: ...
def selective_metrics(
    y: Any,
    pred: Any,
    score: Any,
    *,
    loss: Loss = None,
    sample_weight: Any = None,
    ties: str = "average",
    max_rejection: float = 1.0,
    groups: Any = None,
) -> SelectiveMetrics | GroupedSelectiveMetrics:
    """Return AURC, AUGRC, AUARC, PRR and AUROC of an uncertainty score.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels. If `pred` is None, whether each prediction is correct. May be None if `loss` is an
        array.
    pred : array-like of shape (n,) or (n, K), or None
        Predictions: labels, numbers for the losses ``"absolute"`` and ``"squared"``, or
        probabilities ``(n, K)`` for ``"brier"``.
    score : array-like of shape (n,), or Interval
        Larger means more uncertain. Intervals are ordered by the lower end, then the upper end.
    loss : {"zero_one", "brier", "absolute", "squared"}, array-like (n,) or callable, optional
        The loss of each instance, as numbers or as a function of `y` and `pred`. By default 1 for
        an error and 0 otherwise. ``"brier"`` is ``|p - e_y|^2`` with class indices `y`.
    sample_weight : array-like of shape (n,), optional
        Weights as numbers of instances: one of weight 2 counts as two of the same score and loss.
        Weights need not be whole numbers.
    ties : {"average", "first"}, default="average"
        ``"average"``: the exact expectation over random orders of instances of equal score, so that
        the result does not depend on their order. ``"first"``: instances of equal score are
        rejected in their original order, as in the tables of the paper.
    max_rejection : float in (0, 1], default=1
        Largest rejected share of the prediction-rejection ratio.
    groups : array-like of shape (n,), optional
        A group for each instance. The metrics are computed in each group.

    Returns
    -------
    SelectiveMetrics, or GroupedSelectiveMetrics if `groups` is given

    Notes
    -----
    Instances are retained in order of increasing score, with losses ``l_1, ..., l_n`` in this
    order. At the coverage ``k / n`` the risk is ``r_k = (l_1 + ... + l_k) / k``, and the
    generalized risk ``g_k = k r_k / n``. All areas are means over the n coverages
    ``1/n, 2/n, ..., 1``; nothing is interpolated, and coverage 0 does not count.

    - ``aurc = mean_k r_k``, ``auarc = 1 - aurc``, ``augrc = mean_k g_k``;
    - ``eaurc`` and ``eaugrc`` subtract the value of the oracle, which orders the same n instances
      by their losses: the exact value for n instances, not its limit for large n;
    - ``prr = (r_n - a) / (r_n - a*)``, where ``a`` is the mean of ``r_k`` over the coverages
      ``k > n - floor(max_rejection * n)``, ``a*`` that of the oracle, and ``r_n`` that of a random
      order in expectation;
    - ``auroc``: the probability that an instance with the larger loss has the larger score, ties
      counted half. It is NaN if losses take more than two values.

    If all losses are equal, which includes n = 1, ``prr`` and ``auroc`` are undefined: they are
    NaN, and a warning is issued. The other metrics are defined.

    The cost is that of sorting the scores, and of sorting the losses if they take more than two
    values.

    References
    ----------
    Y. Geifman, R. El-Yaniv, "Selective classification for deep neural networks", NIPS 2017 (AURC).
    Y. Geifman, G. Uziel, R. El-Yaniv, "Bias-reduced uncertainty estimation for deep neural
    classifiers", ICLR 2019 (E-AURC).
    J. Traub et al., "Overcoming common flaws in the evaluation of selective classification
    systems", NeurIPS 2024 (AUGRC).
    M. Nadeem, J.-D. Zucker, B. Hanczar, "Accuracy-rejection curves (ARCs) for comparing
    classification methods with a reject option", MLSB 2009 (AUARC).
    A. Malinin, M. Gales, "Uncertainty estimation in autoregressive structured prediction", ICLR
    2021 (PRR).

    Examples
    --------
    >>> import credalens as cl
    >>> m = cl.selective_metrics([0, 1, 1, 0], [0, 1, 0, 1], [0.1, 0.3, 0.2, 0.4])
    >>> m
    SelectiveMetrics(n=4, risk=0.5000)
    metric   value
    aurc    0.3333
    eaurc    0.125
    auarc   0.6667
    augrc     0.25
    eaugrc  0.0625
    prr     0.5714
    auroc     0.75

    Real-valued targets, with the absolute error in the unit of the target:

    >>> m = cl.selective_metrics([1.0, 2.0, 4.0], [1.5, 2.0, 3.0], [2, 1, 3], loss="absolute")
    >>> m.risk, round(m.aurc, 4), m.prr
    (0.5, 0.25, 1.0)

    The order of equal scores does not matter, and any bounded loss can be used:

    >>> cl.selective_metrics([True, False], None, [1, 1]).aurc
    0.5
    >>> probabilities = [[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]]
    >>> round(cl.selective_metrics([0, 0, 1], probabilities, [0.1, 0.4, 0.5], loss="brier").aurc, 4)
    0.2678
    """
    losses = instance_losses(y, pred, loss)
    keys = score_keys(score)
    check_length(keys[0].shape, "score", len(losses), "y" if y is not None else "loss")
    weights = instance_weights(sample_weight, len(losses))
    _validation.one_of(ties, "ties", TIES)
    most = fraction(max_rejection, "max_rejection", one=True)
    if groups is None:
        found = compute_metrics(losses, weights, keys, ties, most)
        warn_undefined(found)
        return found
    labels = labels_of(groups, "groups")
    check_length(labels.shape, "groups", len(losses), "y" if y is not None else "loss")
    each = {}
    names, index = np.unique(labels, return_inverse=True)
    for i, name in enumerate(names.tolist()):
        rows = np.flatnonzero(index == i)
        part = None if weights is None else weights[rows]
        if part is None or part.any():
            columns = [key[rows] for key in keys]
            each[name] = compute_metrics(losses[rows], part, columns, ties, most)
    warn_undefined(*each.values())
    return GroupedSelectiveMetrics(each)


def compute_metrics(
    losses: Array, weights: Array | None, keys: list[Array], ties: str, max_rejection: float = 1.0
) -> SelectiveMetrics:
    """Return the metrics of validated losses, weights and sort keys of a score."""
    n = len(losses)
    losses, weights, keys = drop_weightless(losses, weights, keys)
    values = two_values(losses)
    curve = RiskCoverage.from_instances(losses, weights, *retention_order(keys, ties))
    retained = retained_weight(float(curve.end_weight[-1]), max_rejection)
    found = curve.sums(retained)
    best = oracle_curve(losses, weights, values).sums(retained)
    metrics = curve_metrics(found, best, values, largest_loss(losses))
    numbers = {name: float(value) for name, value in metrics.items()}
    return SelectiveMetrics(n, float(found.loss / found.weight), **numbers, _curve=curve)


def warn_undefined(*found: SelectiveMetrics) -> None:
    """Issue one warning if PRR is undefined."""
    undefined = sum(math.isnan(one.prr) for one in found)
    if undefined:
        where = "" if len(found) == 1 else f" in {undefined} of {len(found)} groups"
        warn_caller(
            f"prr and auroc are NaN{where}: they need two different losses, and prr at least two "
            "coverages up to max_rejection",
            RuntimeWarning,
        )
