"""The columns of a table of decisions, one row per credal set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.decisions.costs import cost_with_abstention
from credalens.decisions.rules import ADMISSIBILITY_RULES, DECISION_RULES, first_smallest
from credalens.sets import CredalSet

#: Name of the action of abstaining.
ABSTAIN = "abstain"


@dataclass(frozen=True, eq=False)
class DecisionColumns:
    """The rules and costs of decisions, and the columns that follow from them.

    Examples
    --------
    >>> import credalens as cl
    >>> columns = DecisionColumns(n_classes=2, abstain=0.3)
    >>> members = [[[0.9, 0.1], [0.8, 0.2]], [[0.9, 0.1], [0.2, 0.8]]]
    >>> table, _ = columns.rows(cl.ConvexHull(members), None, ("cat", "dog"))
    >>> table["decision"].tolist(), table["labels"].tolist()
    (['cat', 'abstain'], ['cat', 'cat dog'])
    """

    n_classes: int
    #: Costs ``(K, D)``, None for 0-1 costs.
    cost: Array | None = None
    #: Names of the actions of `cost`; None if they are the classes.
    actions: tuple[str, ...] | None = None
    #: Price of abstaining, which is then one more possible decision, but not in the sets.
    abstain: float | None = None
    #: The rule of the sets, and the criterion of the decision among their actions and abstention.
    rule: str = "e_admissible"
    criterion: str = "gamma_minimax"
    alpha: float = 0.5
    #: Separator of names in the column ``labels``.
    separator: str = " "

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of numbers."""
        return ("size", "risk_lower", "risk_upper")

    @property
    def settings(self) -> dict[str, Any]:
        """What the columns depend on, as JSON values."""
        return {
            "rule": [self.rule, self.criterion, self.alpha, self.abstain],
            "cost": None if self.cost is None else self.cost.tolist(),
            "actions": self.actions,
        }

    @cached_property
    def costs(self) -> Array | None:
        """Costs of all actions; None for 0-1 costs without abstention."""
        if self.abstain is None:
            return self.cost
        return cost_with_abstention(self.n_classes, self.abstain, self.cost)

    def action_names(self, class_names: Sequence[str] | None) -> list[str]:
        """Return the names of all actions."""
        names = list(self.actions or class_names or map(str, range(self.n_classes)))
        return names if self.abstain is None else [*names, ABSTAIN]

    def rows(
        self, Q: CredalSet, labels: Array | None = None, class_names: Sequence[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the columns of a table; the second result is empty.

        With labels: ``label``, whether the set contains it (``covered``; only if the actions are
        classes), and the ``cost`` of the decision, masked where the label is negative.
        """
        names = np.array(self.action_names(class_names))
        mask = np.asarray(ADMISSIBILITY_RULES[self.rule](Q, self.cost)[0])
        criterion = np.asarray(DECISION_RULES[self.criterion](Q, self.costs, self.alpha))
        possible = (
            mask if self.abstain is None else np.pad(mask, ((0, 0), (0, 1)), constant_values=True)
        )
        chosen = first_smallest(np.where(possible, criterion, np.inf), self.costs)
        lower, upper = (np.asarray(end) for end in Q.expected_costs(self.costs))
        size = mask.sum(axis=-1)
        own = chosen[:, None]
        columns: dict[str, Any] = {
            "decision": names[chosen],
            "labels": joined_names(mask, names[: mask.shape[1]], self.separator),
            "size": size,
            "risk_lower": np.take_along_axis(lower, own, axis=-1)[:, 0],
            "risk_upper": np.take_along_axis(upper, own, axis=-1)[:, 0],
            "reason": self._reasons(size, chosen == mask.shape[1]),
        }
        if labels is not None:
            columns.update(self._outcomes(mask, chosen, labels, class_names))
        return columns, {}

    def _reasons(self, size: Array, abstains: Array) -> Array:
        """Return why, one of a few texts per row."""
        most = int(size.max(initial=1))
        what = "label" if self.actions is None else "action"
        texts = [f"only one {what} remains", *(f"{n} {what}s remain" for n in range(2, most + 1))]
        abstaining = "abstaining costs less than the safest "
        reasons = np.array(["", *texts, *(f"{text}; {abstaining}{what}" for text in texts)])
        return np.asarray(reasons[size + most * abstains])

    def _outcomes(
        self, mask: Array, chosen: Array, labels: Array, class_names: Sequence[str] | None
    ) -> dict[str, Any]:
        missing = labels < 0
        known = np.where(missing, 0, labels)
        names = known if class_names is None else np.array(class_names)[known]
        found: dict[str, Any] = {"label": np.ma.MaskedArray(names, missing)}
        if self.actions is None:
            hit = np.take_along_axis(mask, known[:, None], axis=-1)[:, 0]
            found["covered"] = np.ma.MaskedArray(hit, missing)
        costs = self.costs
        paid = (chosen != known).astype(np.float64) if costs is None else costs[known, chosen]
        found["cost"] = np.ma.MaskedArray(paid, missing)
        return found


def joined_names(mask: Array, names: Array, separator: str) -> Array:
    """Return the names of the marked columns of each row, joined; few rows are different."""
    packed = np.ascontiguousarray(np.packbits(mask, axis=1))
    keys = packed.view(f"V{packed.shape[1]}")[:, 0]
    _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    texts = np.array([separator.join(names[mask[i]]) for i in first], dtype=object)
    return np.asarray(texts[index])
