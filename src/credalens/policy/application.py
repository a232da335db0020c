"""The columns that a policy computes, and its result for arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens.evaluation.scores import ScoreColumns
from credalens.evaluation.vote import majority_vote
from credalens.measures import Uncertainty
from credalens.policy.rules import DecisionRule
from credalens.sets import ConvexHull, CredalSet

if TYPE_CHECKING:
    from credalens.policy.policy import Policy


@dataclass(frozen=True, eq=False, repr=False)
class PolicyResult(TableResult):
    """What a policy does with each instance; see `Policy.apply`.

    Examples
    --------
    >>> from credalens.policy import Policy, ThresholdRule
    >>> policy = Policy(n_classes=2, member_names=["a", "b"], rule=ThresholdRule(0.3))
    >>> policy.apply([[[0.9, 0.1], [0.8, 0.2]], [[0.9, 0.1], [0.4, 0.6]]])
    PolicyResult: 1 of 2 rows are kept
       prediction  tv_total   keep     action
    0           0       0.2   True       keep
    1           0       0.6  False  hand over
    """

    #: ``"keep"`` or ``"hand over"``, a decision, or a set of labels, ``(n,)``.
    action: NDArray[np.str_]
    #: Which instances are kept, ``(n,)``.
    keep: NDArray[np.bool_]
    #: Index of the predicted class, the vote of the repaired members, ``(n,)``.
    prediction: NDArray[np.intp]
    #: Name and values of the score, ``(n,)``.
    column: str
    score: Array
    #: The labels that remain, for a rule of decisions, ``(n,)`` texts; else None.
    labels: Array | None = None

    _repr_rows: ClassVar[int] = 10

    def _columns(self) -> dict[str, Any]:
        return {
            "prediction": self.prediction,
            self.column: self.score,
            "keep": self.keep,
            "action": self.action,
        }

    def __len__(self) -> int:
        return len(self.action)

    def _summary(self) -> str:
        rows = _validation.counted(len(self), "row")
        return f"PolicyResult: {int(self.keep.sum())} of {rows} are kept"


class PreparedColumns:
    """The columns of a policy for credal sets that are repaired already.

    They are those of `ScoreColumns`, and for a rule of decisions those of `DecisionColumns`,
    followed by ``action``, unless the policy has no rule. `extra` are further measures.
    """

    def __init__(
        self, policy: Policy, extra: Sequence[str] = (), summary: str = "interval"
    ) -> None:
        own = policy.score_columns
        measures = tuple(dict.fromkeys([*own.measures, *extra]))
        self.policy, self.own = policy, own
        self.scores: ScoreColumns = replace(own, measures=measures, summary=summary)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of numbers."""
        rule = self.policy.rule
        return self.scores.names + (rule.columns.names if isinstance(rule, DecisionRule) else ())

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of the scores."""
        return self.scores.measures

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What the columns depend on, as JSON values."""
        return {**self.scores.settings, "policy": self.policy.as_dict()}

    def rows(
        self, Q: CredalSet, labels: Array | None = None, class_names: Sequence[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Uncertainty]]:
        """Return the columns of a batch, and its uncertainty by measure."""
        columns, measured = self.scores.rows(Q, labels, class_names)
        outcome: dict[str, Any] = {
            name: columns.pop(name) for name in ("label", "correct") if name in columns
        }
        rule = self.policy.rule
        if isinstance(rule, DecisionRule):
            table, _, action = rule.table(Q, labels, class_names)
            outcome |= {name: table.pop(name) for name in ("covered", "cost") if name in table}
            table.pop("label", None)
            columns |= {**table, "action": action}
        elif rule is not None:
            score = columns.get(self.policy.column)
            if score is None:  # the summary of the table is another one
                score = self.own(Q, measured)[self.policy.column]
            predicted = np.asarray(majority_vote(Q)) if rule.by_class else None
            columns["action"] = rule.actions(rule.keep(score, predicted))
        return columns | outcome, measured

    def result(self, Q: ConvexHull) -> PolicyResult:
        """Return the result for repaired sets."""
        policy = self.policy
        rule = policy._rule()
        score = np.asarray(self.own(Q)[policy.column])
        predicted = np.asarray(majority_vote(Q))
        if isinstance(rule, DecisionRule):
            table, keep, action = rule.table(Q, None, policy.class_names)
            labels = np.asarray(table["labels"])
            return PolicyResult(action, keep, predicted, policy.column, score, labels)
        keep = rule.keep(score, predicted)
        return PolicyResult(rule.actions(keep), keep, predicted, policy.column, score)


class PolicyColumns(PreparedColumns):
    """The columns of a policy for credal sets as they are read, which are repaired first."""

    def rows(
        self, Q: CredalSet, labels: Array | None = None, class_names: Sequence[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Uncertainty]]:
        """Return the columns of a batch, and its uncertainty by measure."""
        return super().rows(self.policy.prepare(Q), labels, self.policy.class_names or class_names)
