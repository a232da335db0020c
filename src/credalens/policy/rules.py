"""What is kept: thresholds on a score, or decisions and sets of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens.decisions.columns import ABSTAIN, DecisionColumns
from credalens.evaluation.labels import label_indices
from credalens.sets import CredalSet

#: The actions of rows that are kept, and that a person decides.
KEEP, HAND_OVER = "keep", "hand over"
#: Names of infinite thresholds in policy files.
_UNBOUNDED = {"all": np.inf, "none": -np.inf}


@dataclass(frozen=True, eq=False)
class ThresholdRule:
    """Keep predictions whose score is at most a threshold, one for all or one per class.

    Examples
    --------
    >>> from credalens.policy import ThresholdRule
    >>> rule = ThresholdRule([0.2, 0.5])
    >>> rule.keep([0.3, 0.3], [0, 1]).tolist()
    [False, True]
    """

    #: Float64, ``()`` or ``(K,)``: infinite where all predictions are kept, minus infinity where
    #: none is. A threshold of a class applies to the predictions of this class.
    threshold: Array

    def __post_init__(self) -> None:
        threshold = np.array(self.threshold, np.float64)
        if threshold.ndim > 1 or np.isnan(threshold).any():
            _validation.raise_invalid(
                "threshold", f"is {self.threshold!r}", "pass one number, or one per class"
            )
        threshold.flags.writeable = False
        object.__setattr__(self, "threshold", threshold)

    @property
    def by_class(self) -> bool:
        """Whether each class has a threshold of its own."""
        return self.threshold.ndim == 1

    def keep(self, score: Any, prediction: Any = None) -> NDArray[np.bool_]:
        """Return which predictions are kept.

        Parameters
        ----------
        score : array-like of shape (n,)
            A prediction whose score is NaN is not kept.
        prediction : array-like of int, shape (n,), optional
            Index of the predicted class; needed if each class has a threshold.

        Returns
        -------
        array of bool, shape (n,)
        """
        # In single precision, a threshold between two scores could be rounded to one of them.
        values = np.asarray(score, np.float64)
        if not self.by_class:
            return np.asarray(values <= self.threshold)
        if prediction is None:
            _validation.raise_invalid(
                "prediction", "is missing", "pass the predicted classes, which have own thresholds"
            )
        return np.asarray(values <= self.threshold[np.asarray(prediction)])

    def actions(self, keep: Array) -> Array:
        """Return the action of each prediction: ``"keep"`` or ``"hand over"``."""
        return np.where(keep, KEEP, HAND_OVER)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON value of the rule."""
        values = [_named(float(one)) for one in np.atleast_1d(self.threshold)]
        return {"kind": "threshold", "threshold": values if self.by_class else values[0]}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any], n_classes: int) -> ThresholdRule:
        """Return the rule of a JSON value that is valid by the schema."""
        given = value["threshold"]
        several = given if isinstance(given, list) else [given]
        numbers = [_UNBOUNDED[one] if isinstance(one, str) else float(one) for one in several]
        if isinstance(given, list) and len(given) != n_classes:
            _validation.raise_invalid(
                "rule.threshold", f"has {len(given)} numbers", f"write {n_classes}, one per class"
            )
        return cls(np.array(numbers if isinstance(given, list) else numbers[0]))

    def describe(self, column: str, class_names: Sequence[str]) -> str:
        """Return the rule in a sentence."""
        if not self.by_class:
            return _sentence(column, float(self.threshold))
        each = zip(class_names, self.threshold.tolist(), strict=True)
        return "; ".join(f"{name}: {_sentence(column, one)}" for name, one in each)


def _named(threshold: float) -> float | str:
    names = {number: name for name, number in _UNBOUNDED.items()}
    return names.get(threshold, threshold)


def _sentence(column: str, threshold: float) -> str:
    if np.isinf(threshold):
        return "all are kept" if threshold > 0 else "none is kept"
    return f"kept if {column} <= {threshold!r}"


@dataclass(frozen=True, eq=False)
class DecisionRule:
    """Decisions with costs, or the set of labels that remain possible.

    Examples
    --------
    >>> from credalens.policy import DecisionRule
    >>> DecisionRule(n_classes=3, abstain=0.2).report
    'decision'
    """

    n_classes: int
    #: Costs ``(K, D)``, None for 0-1 costs, and the names of their columns, None for the classes.
    cost: Array | None = None
    actions: tuple[str, ...] | None = None
    #: Price of abstaining, which means to hand over; None if it is not possible.
    abstain: float | None = None
    #: The rule of the sets, the criterion of the decision and its weight.
    admissible: str = "e_admissible"
    criterion: str = "gamma_minimax"
    alpha: float = 0.5
    #: ``"labels"`` or ``"decision"``: which of them is the action; by default the decision if there
    #: are costs or a price of abstaining.
    report: str = ""
    columns: DecisionColumns = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.report:
            chosen = self.cost is not None or self.abstain is not None
            object.__setattr__(self, "report", "decision" if chosen else "labels")
        _validation.one_of(self.report, "report", ("labels", "decision"))
        columns = DecisionColumns(
            self.n_classes, self.cost, self.actions, self.abstain, self.admissible, self.criterion,
            self.alpha,
        )  # fmt: skip
        object.__setattr__(self, "columns", columns)

    def table(
        self, Q: CredalSet, labels: Array | None, class_names: Sequence[str] | None
    ) -> tuple[dict[str, Any], NDArray[np.bool_], Array]:
        """Return the columns of `DecisionColumns`, which rows are kept, and their actions."""
        joined = any(" " in name for name in self.columns.action_names(class_names))
        columns = replace(self.columns, separator="; " if joined else " ")
        table, _ = columns.rows(Q, labels, class_names)
        if self.report == "labels":
            return table, np.asarray(table["size"] == 1), np.asarray(table["labels"])
        decision = np.asarray(table["decision"])
        if self.abstain is None:
            return table, np.ones(len(decision), bool), decision.astype(np.str_)
        keep = decision != ABSTAIN
        return table, keep, np.where(keep, decision.astype(np.str_), HAND_OVER)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON value of the rule."""
        return {
            "kind": "decision",
            "cost": None if self.cost is None else np.asarray(self.cost).tolist(),
            "actions": None if self.actions is None else list(self.actions),
            "abstain": self.abstain,
            "admissible": self.admissible,
            "criterion": self.criterion,
            "alpha": self.alpha,
            "report": self.report,
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any], n_classes: int) -> DecisionRule:
        """Return the rule of a JSON value that is valid by the schema."""
        cost = None if value["cost"] is None else matrix(value["cost"], "rule.cost", n_classes)
        actions = None if value["actions"] is None else tuple(value["actions"])
        columns = n_classes if cost is None else cost.shape[1]
        if actions is not None and len(actions) != columns:
            _validation.raise_invalid(
                "rule.actions", f"has {len(actions)} names", f"write {columns}, one per action"
            )
        if actions is None and columns != n_classes:
            _validation.raise_invalid(
                "rule.actions", f"is null, rule.cost has {columns} columns", "name the actions"
            )
        rest = {name: value[name] for name in ("abstain", "admissible", "criterion", "report")}
        return cls(n_classes, cost, actions, alpha=float(value["alpha"]), **rest)

    def describe(self, column: str, class_names: Sequence[str]) -> str:
        """Return the rule in a sentence."""
        what = "the decision" if self.report == "decision" else "the set of labels that remain"
        return f"the action is {what} ({self.criterion}, {self.admissible})"


def matrix(rows: Sequence[Sequence[float]], name: str, n_rows: int, n_columns: int = 0) -> Array:
    """Return rows of numbers of a policy file as an array; `n_columns` of 0 is any number."""
    lengths = {len(row) for row in rows}
    if len(rows) != n_rows or len(lengths) != 1 or (n_columns and lengths != {n_columns}):
        columns = n_columns or "equally many"
        _validation.raise_invalid(
            name, f"has {len(rows)} rows of {sorted(lengths)} numbers",
            f"write {n_rows} rows of {columns} numbers",
        )  # fmt: skip
    return np.array(rows, np.float64)


def prediction_indices(
    prediction: Any, class_names: tuple[str, ...] | None, n_classes: int
) -> NDArray[np.intp]:
    """Return a column of predictions, names or indices, as class indices."""
    values = _validation.vector(prediction, "prediction")
    found = label_indices(values, class_names, n_classes)
    if (found < 0).any():
        i, names = int(np.argmax(found < 0)), class_names or map(str, range(n_classes))
        _validation.raise_invalid(
            "prediction",
            f"is {values[i]} at index {i} (zero-based)",
            f"pass predictions of the classes {', '.join(names)}",
        )
    return found
