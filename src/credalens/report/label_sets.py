"""Sets of labels and decisions of all predictions, counted chunk by chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credalens._backend import Array
from credalens.decisions import ADMISSIBILITY_RULES, DECISION_RULES, SetMetrics
from credalens.decisions.set_metrics import OutcomeCounts
from credalens.sets import ConvexHull

#: Names of the rules on the page.
RULE_LABELS = {
    "e_admissible": "E-admissible",
    "maximal": "maximal",
    "interval_dominance": "interval dominance",
}
CRITERION_LABELS = {
    "gamma_minimax": "smallest largest expected cost (Gamma-minimax)",
    "gamma_minimin": "smallest smallest expected cost (Gamma-minimin)",
    "hurwicz": "mean of both (Hurwicz)",
    "minimax_regret": "smallest largest regret",
}


@dataclass(frozen=True, eq=False)
class LabelSets:
    """What a report shows of sets of labels and of decisions."""

    #: Numbers of E-admissible labels, and how many predictions have so many.
    sizes: dict[int, int]
    #: Pairs of labels that are both E-admissible, and no other, most frequent first.
    pairs: list[tuple[int, int, int]]
    #: Mean numbers of labels by rule.
    mean_sizes: dict[str, float]
    #: Metrics by rule, with labels.
    metrics: dict[str, SetMetrics]
    #: Mean cost of each policy, by its label; empty without labels.
    costs: dict[str, float]
    #: Mean largest expected cost of each policy.
    risks: dict[str, float]


class LabelSetCounter:
    """Counts the sets of labels of chunks of predictions."""

    def __init__(self, n_classes: int, cost: Array | None, actions: Sequence[str] | None) -> None:
        self._n_classes, self._cost, self._actions = n_classes, cost, actions
        self._n = 0
        self._sizes: Counter[int] = Counter()
        self._pairs: Counter[int] = Counter()
        self._totals: Counter[str] = Counter()
        self._outcomes = {rule: OutcomeCounts() for rule in ADMISSIBILITY_RULES}
        self._labelled = 0
        self._paid: dict[str, float] = dict.fromkeys(self._policies(), 0.0)
        self._risk: dict[str, float] = dict.fromkeys(self._policies(), 0.0)

    def _policies(self) -> list[str]:
        vote = ["majority vote"] if self._actions is None else []
        return [*vote, *(CRITERION_LABELS[name] for name in DECISION_RULES)]

    def add(self, hull: ConvexHull, labels: Array | None, predicted: Array) -> None:
        """Add predictions, their class indices and their majority vote."""
        self._n += len(predicted)
        for rule, admissible in ADMISSIBILITY_RULES.items():
            mask = np.asarray(admissible(hull, None)[0])
            size = mask.sum(axis=1)
            self._totals[rule] += int(size.sum())
            if rule == "e_admissible":
                self._sizes.update(_counts(size))
                two = mask[size == 2]
                first, last = two.argmax(axis=1), mask.shape[1] - 1 - two[:, ::-1].argmax(axis=1)
                self._pairs.update(_counts(first * mask.shape[1] + last))
            if labels is not None:
                hit = mask[np.arange(len(mask)), labels]
                self._outcomes[rule].add(size, hit, np.zeros(len(size)))
        if self._cost is not None:
            self._add_costs(hull, labels, predicted, self._cost)

    def _add_costs(
        self, hull: ConvexHull, labels: Array | None, predicted: Array, cost: Array
    ) -> None:
        upper = np.asarray(hull.expected_costs(cost)[1])
        chosen = {
            CRITERION_LABELS[name]: np.asarray(criterion(hull, cost, 0.5)).argmin(axis=1)
            for name, criterion in DECISION_RULES.items()
        }
        if self._actions is None:
            chosen["majority vote"] = predicted
        each = np.arange(len(predicted))
        for policy, actions in chosen.items():
            self._risk[policy] += float(upper[each, actions].sum())
            if labels is not None:
                self._paid[policy] += float(cost[labels, actions].sum())
        self._labelled += 0 if labels is None else len(labels)

    def result(self) -> LabelSets:
        """Return the counts of all chunks."""
        K, n = self._n_classes, max(self._n, 1)
        found = {rule: one.metrics(2000, random_state=0) for rule, one in self._outcomes.items()}
        labelled = self._labelled
        return LabelSets(
            dict(sorted(self._sizes.items())),
            [(code // K, code % K, count) for code, count in self._pairs.most_common(10)],
            {rule: self._totals[rule] / n for rule in ADMISSIBILITY_RULES},
            {rule: metrics for rule, metrics in found.items() if metrics is not None},
            {name: paid / labelled for name, paid in self._paid.items()} if labelled else {},
            {} if self._cost is None else {name: x / n for name, x in self._risk.items()},
        )


def _counts(values: Array) -> dict[int, int]:
    distinct, counts = np.unique(values, return_counts=True)
    return dict(zip(distinct.tolist(), counts.tolist(), strict=True))
