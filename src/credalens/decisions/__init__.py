"""Decisions with credal sets: decision rules, set-valued predictions and their metrics."""

from credalens.decisions.costs import as_cost, cost_with_abstention
from credalens.decisions.label_sets import UTILITIES, best_label_set
from credalens.decisions.listed_classes import admissible_listed
from credalens.decisions.multilabel import decide_multilabel
from credalens.decisions.rules import ADMISSIBILITY_RULES, DECISION_RULES, admissible, decide
from credalens.decisions.set_metrics import GroupedSetMetrics, SetMetrics, set_metrics

__all__ = [
    "ADMISSIBILITY_RULES",
    "DECISION_RULES",
    "UTILITIES",
    "GroupedSetMetrics",
    "SetMetrics",
    "admissible",
    "admissible_listed",
    "as_cost",
    "best_label_set",
    "cost_with_abstention",
    "decide",
    "decide_multilabel",
    "set_metrics",
]
