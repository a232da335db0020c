"""Plots of curves, score distributions and credal sets (needs matplotlib)."""

from credalens.plots.curves import (
    active_learning_curves,
    distributions,
    ood_curves,
    rejection_curves,
)
from credalens.plots.decisions import accuracy_and_size, decision_regions
from credalens.plots.decomposition import decomposition
from credalens.plots.simplex import simplex

__all__ = [
    "accuracy_and_size",
    "active_learning_curves",
    "decision_regions",
    "decomposition",
    "distributions",
    "ood_curves",
    "rejection_curves",
    "simplex",
]
