"""The choice of a policy from labelled predictions: thresholds with guarantees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation.arguments import fraction, score_keys
from credalens.evaluation.guarantee import (
    clopper_pearson_lower,
    split_rows,
    threshold_sequence,
)
from credalens.evaluation.labels import class_indices
from credalens.evaluation.vote import majority_vote
from credalens.policy.policy import Policy
from credalens.policy.records import CalibrationData, PolicyGuarantee, array_digest
from credalens.policy.rules import ThresholdRule


@dataclass(frozen=True)
class Targets:
    """What the kept predictions must reach: accuracy, precision or sensitivity by class index.

    Precision leads to one threshold per class, accuracy and sensitivity to one for all classes.
    """

    accuracy: float | None = None
    precision: Mapping[int, float] = field(default_factory=dict)
    sensitivity: Mapping[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (self.accuracy is not None or self.precision or self.sensitivity):
            _validation.raise_invalid(
                "targets", "is empty", "pass a target accuracy, precision or sensitivity"
            )
        if self.precision and (self.accuracy is not None or self.sensitivity):
            _validation.raise_invalid(
                "target_precision",
                "is passed with another target",
                "pass precision alone: it has one threshold per class, the others one for all",
            )
        if self.accuracy is not None:
            fraction(self.accuracy, "target_accuracy")
        for name in ("precision", "sensitivity"):
            for value in getattr(self, name).values():
                fraction(value, f"target_{name}")

    @property
    def count(self) -> int:
        """Number of guarantees."""
        return (self.accuracy is not None) + len(self.precision) + len(self.sensitivity)


def fit_policy(
    members: Any,
    y: Any,
    *,
    target_accuracy: float | None = None,
    target_precision: float | Mapping[int, float] | None = None,
    target_sensitivity: float | Mapping[int, float] | None = None,
    confidence: float = 0.95,
    measure: str = "tv",
    column: str | None = None,
    distance: Any = "tv",
    weights: Any = None,
    repair: Any = None,
    member_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    random_state: Any = None,
) -> Policy:
    """Choose what to keep from labelled predictions, with guarantees.

    Parameters
    ----------
    members : array-like of shape (n, M, K)
        Predictions of the members for instances that they were not trained on.
    y : array-like of int, shape (n,)
        Labels as class indices.
    target_accuracy : float in (0, 1), optional
        Accuracy of the kept predictions.
    target_precision : float, or mapping of int to float, optional
        For each class of the mapping, or for all classes, the share of the kept predictions of
        the class that are correct. Each class has a threshold of its own; predictions of classes
        without a target are kept. Cannot be combined with other targets.
    target_sensitivity : float, or mapping of int to float, optional
        For each class, the share of its instances that are not kept as another class: they are
        predicted correctly or handed over.
    confidence : float in (0, 1), default=0.95
        Probability, over the draw of the labelled instances, that all guarantees hold.
    measure, column, distance : str
        The score, as in `Policy`; by default the first column of the measure.
    weights, repair, member_names, class_names
        As in `Policy`. Instances from which a repair was fitted are not independent of it: pass
        others.
    random_state : int, RandomState, Generator or None
        Splits the instances into a tuning and a test part.

    Returns
    -------
    Policy
        With a `ThresholdRule`. Where no threshold passes the tests, nothing is kept.

    Notes
    -----
    A random fifth of the instances proposes thresholds. On the others each threshold is tested, in
    increasing order, up to the first one at which a target is not reached by its exact binomial
    (Clopper-Pearson) lower bound, as in `guaranteed_threshold`. With k guarantees, each is tested
    at the level ``1 - (1 - confidence) / k`` (Bonferroni). The tests of a precision use the
    instances that are predicted as the class, those of a sensitivity the instances of the class.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candes, M. Jordan, L. Lei, "Learn then Test: calibrating
    predictive algorithms to achieve risk control", 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.policy import fit_policy
    >>> rng = np.random.default_rng(0)
    >>> true = rng.dirichlet(np.full(3, 0.2), 3000)
    >>> y = (true.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    >>> members = 0.9 * true[:, None] + 0.1 * rng.dirichlet(np.ones(3), (3000, 4))
    >>> policy = fit_policy(members, y, target_precision={0: 0.95, 2: 0.9}, random_state=0)
    >>> [g.quantity for g in policy.guarantees], policy.thresholds.shape
    (['precision', 'precision'], (3,))
    """
    array = np.asarray(members)
    if array.ndim != 3:
        _validation.raise_invalid("members", f"has shape {array.shape}", "pass (n, M, K)")
    n, M, K = array.shape
    labels = class_indices(y, (n,), K)
    targets = Targets(
        target_accuracy,
        by_class(target_precision, K, "target_precision"),
        by_class(target_sensitivity, K, "target_sensitivity"),
    )
    given: dict[str, Any] = {
        "n_classes": K,
        "member_names": tuple(f"model {m}" for m in range(M) if member_names is None)
        or tuple(member_names or ()),
        "class_names": None if class_names is None else tuple(class_names),
        "measure": measure,
        "distance": distance,
        "weights": weights,
        "repair": repair,
    }
    given["column"] = column or _first_column(measure, distance)
    draft = Policy(rule=ThresholdRule(np.array(np.inf)), **given)
    Q = draft.prepare(array)
    score, predicted = draft.apply(array).score, np.asarray(majority_vote(Q))
    rule, guarantees = fit_rule(score, predicted, labels, K, targets, confidence, random_state)
    files = (("members", array_digest(array)), ("y", array_digest(labels)))
    data = calibration_data(rule, score, predicted, labels, files)
    return Policy(rule=rule, guarantees=guarantees, calibration=data, **given)


def _first_column(measure: str, distance: Any) -> str:
    from credalens.evaluation.scores import ScoreColumns

    return ScoreColumns((measure,), distance).names[0]


def by_class(value: Any, n_classes: int, name: str) -> dict[int, float]:
    """Return targets by class index, of one number for all classes or a mapping."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        return dict.fromkeys(range(n_classes), float(value))
    for key in value:
        if not 0 <= key < n_classes:
            _validation.raise_invalid(
                name, f"has the class {key}", f"classes are 0 to {n_classes - 1}"
            )
    return {int(key): float(value[key]) for key in sorted(value)}


def fit_rule(
    score: Any,
    predicted: NDArray[np.intp],
    labels: NDArray[np.intp],
    n_classes: int,
    targets: Targets,
    confidence: float = 0.95,
    random_state: Any = None,
) -> tuple[ThresholdRule, tuple[PolicyGuarantee, ...]]:
    """Return thresholds on a score, and what they guarantee; see `fit_policy`.

    Parameters
    ----------
    score, predicted, labels : arrays of shape (n,)
        Of labelled instances.
    """
    confidence = fraction(confidence, "confidence")
    values = score_keys(_validation.numeric(score, "score"))[0]
    fit = _Fit(values, predicted, labels, confidence, 1 - (1 - confidence) / targets.count)
    if not targets.precision:
        threshold, found = fit.common(targets, split_rows(len(values), random_state))
        return ThresholdRule(np.array(threshold)), found
    thresholds, every = np.full(n_classes, np.inf), []
    for k, target in targets.precision.items():
        rows = np.flatnonzero(predicted == k)
        tuning, testing = split_rows(len(rows), random_state)
        one = Targets(precision={k: target})
        thresholds[k], (guarantee,) = fit.common(one, (rows[tuning], rows[testing]))
        every.append(guarantee)
    return ThresholdRule(thresholds), tuple(every)


@dataclass(frozen=True)
class _Fit:
    """Labelled instances, and the level of each test."""

    values: Array
    predicted: NDArray[np.intp]
    labels: NDArray[np.intp]
    confidence: float
    level: float

    def common(
        self, targets: Targets, parts: tuple[Array, Array]
    ) -> tuple[float, tuple[PolicyGuarantee, ...]]:
        """Return the largest threshold that passes all tests, -inf if none, and the guarantees."""
        tuning, testing = parts
        correct = self.predicted == self.labels
        # The order of the tests starts where the evidence for the accuracy is largest. Without a
        # target of accuracy it starts at the smallest threshold: sensitivity then decreases.
        goal = targets.accuracy or next(iter(targets.precision.values()), None)
        thresholds = threshold_sequence(correct[tuning], self.values[tuning], goal)
        tests = list(self._tests(targets, testing))
        passed = -np.inf, tuple(self._guarantee(*name, np.nan, np.nan, 0) for name, _ in tests)
        for threshold in thresholds:
            kept = self.values[testing] <= threshold
            found = []
            for name, counts in tests:
                hits, trials = counts(kept)
                bound = clopper_pearson_lower(hits, trials, self.level) if trials else np.nan
                observed = hits / trials if trials else np.nan
                found.append(self._guarantee(*name, bound, observed, trials))
            if not all(one.bound >= one.target for one in found):
                break
            passed = float(threshold), tuple(found)
        return passed

    def _tests(
        self, targets: Targets, testing: Array
    ) -> list[tuple[tuple[str, int | None, float], Callable[[Array], tuple[int, int]]]]:
        """Return quantity, class and target of each test, and its successes and trials."""
        predicted, labels = self.predicted[testing], self.labels[testing]
        correct = predicted == labels

        def among_kept(kept: Array) -> tuple[int, int]:
            return int(correct[kept].sum()), int(kept.sum())

        def not_lost(k: int) -> Callable[[Array], tuple[int, int]]:
            own = labels == k
            return lambda kept: (int((own & ~(kept & ~correct)).sum()), int(own.sum()))

        tests: list[Any] = []
        if targets.accuracy is not None:
            tests.append((("accuracy", None, targets.accuracy), among_kept))
        tests += [(("precision", k, p), among_kept) for k, p in targets.precision.items()]
        tests += [(("sensitivity", k, s), not_lost(k)) for k, s in targets.sensitivity.items()]
        return tests

    def _guarantee(
        self, quantity: str, k: int | None, target: float, bound: float, observed: float, n: int
    ) -> PolicyGuarantee:
        return PolicyGuarantee(
            quantity, k, target, self.confidence, self.level, bound, observed, n
        )  # fmt: skip


def calibration_data(
    rule: ThresholdRule,
    score: Any,
    predicted: NDArray[np.intp],
    labels: NDArray[np.intp],
    files: tuple[tuple[str, str | None], ...],
) -> CalibrationData:
    """Return how much a rule keeps of labelled instances."""
    keep = rule.keep(score, predicted)
    kept = int(keep.sum())
    correct = int((predicted == labels)[keep].sum())
    return CalibrationData(len(predicted), kept, kept, correct, files)
