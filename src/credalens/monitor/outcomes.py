"""Which rows of a table of scores are kept, and how often a guarantee was violated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation.labels import label_indices
from credalens.policy import DecisionRule, Policy, ThresholdRule
from credalens.policy.rules import prediction_indices


class Coded(NamedTuple):
    """A column of categories: the number of the category of each row, -1 if missing."""

    codes: NDArray[np.integer[Any]]
    names: Array


def as_coded(values: Any, name: str) -> Coded:
    """Return a column of categories, texts or integers, as codes."""
    if isinstance(values, Coded):
        return values
    masked = isinstance(values, np.ma.MaskedArray)
    missing = np.ma.getmaskarray(values) if masked else None
    array = _validation.vector(np.ma.getdata(values) if masked else values, name)
    names, codes = np.unique(array, return_inverse=True)
    return Coded(codes if missing is None else np.where(missing, -1, codes), names)


def kept_rows(policy: Policy, columns: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which rows of a table of scores the policy keeps."""
    rule = policy.rule
    if isinstance(rule, ThresholdRule) and rule.by_class:
        predicted = as_coded(columns["prediction"], "prediction")
        index = prediction_indices(predicted.names, policy.class_names, policy.n_classes)
        return rule.keep(columns[policy.column], index[predicted.codes])
    if isinstance(rule, DecisionRule) and rule.report == "decision":
        action = as_coded(columns["action"], "action")
        return np.asarray(policy.keep_from_scores({"action": action.names})[action.codes])
    return policy.keep_from_scores(columns)


@dataclass(frozen=True)
class Target:
    """An error rate that may not be exceeded: a guarantee of a policy, or a target accuracy."""

    #: ``"accuracy"``, ``"precision"`` or ``"sensitivity"``; see `PolicyGuarantee`.
    quantity: str
    #: Index of the class, None for all.
    class_index: int | None
    #: The least share of instances that are not errors.
    share: float
    #: Name of the class.
    class_name: str = ""

    @property
    def name(self) -> str:
        """The quantity and the class."""
        of = f" of {self.class_name}" if self.class_name else ""
        return f"{self.quantity}{of} >= {self.share:g}"

    def count(self, kept: Any, correct: Any, predicted: Any, truth: Any) -> tuple[int, int]:
        """Return the numbers of instances and of errors.

        Parameters
        ----------
        kept : array of bool, shape (n,)
        correct : array of int, shape (n,)
            1, 0 or, without a label, -1.
        predicted, truth : array of int, shape (n,), or None
            Indices of classes, -1 if unknown; needed for quantities of a class.
        """
        wrong, known = correct == 0, correct >= 0
        if self.quantity == "accuracy":
            trials = known & kept
        elif self.quantity == "precision":
            trials = known & kept & (predicted == self.class_index)
        else:
            trials = known & (truth == self.class_index)
        return int(trials.sum()), int((trials & kept & wrong).sum())


def targets(policy: Policy | None, target_accuracy: float | None = None) -> tuple[Target, ...]:
    """Return what is tested with labels: the guarantees of a policy, and a target accuracy."""
    found = []
    for one in () if policy is None else policy.guarantees:
        k = one.class_index
        name = "" if k is None or policy is None else policy.labels[k]
        found.append(Target(one.quantity, k, one.target, name))
    if target_accuracy is not None:
        found.append(
            Target("accuracy", None, _validation.fraction(target_accuracy, "target_accuracy"))
        )
    return tuple(dict.fromkeys(found))


def class_indices(
    column: Any, name: str, class_names: tuple[str, ...] | None, n_classes: int
) -> NDArray[np.int64]:
    """Return a column of classes as indices, -1 where it is missing."""
    coded = as_coded(column, name)
    texts = np.array([str(one) for one in coded.names.tolist()], dtype=object)
    index = np.append(label_indices(texts, class_names, n_classes), -1)
    return np.asarray(index[coded.codes], np.int64)
