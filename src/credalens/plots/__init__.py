"""Plots of curves, score distributions and credal sets (needs matplotlib)."""

from credalens.plots.curves import (
    active_learning_curves,
    distributions,
    ood_curves,
    rejection_curves,
)
from credalens.plots.decomposition import decomposition
from credalens.plots.simplex import simplex

__all__ = [
    "active_learning_curves",
    "decomposition",
    "distributions",
    "ood_curves",
    "rejection_curves",
    "simplex",
]
