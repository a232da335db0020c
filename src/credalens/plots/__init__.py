"""Plots of curves, score distributions, maps and credal sets (needs matplotlib)."""

from credalens.plots.class_groups import ternary
from credalens.plots.credal_bars import credal_bars
from credalens.plots.curves import (
    active_learning_curves,
    distributions,
    ood_curves,
    rejection_curves,
    risk_curves,
)
from credalens.plots.decisions import accuracy_and_size, decision_regions
from credalens.plots.decomposition import decomposition
from credalens.plots.maps import uncertainty_curves, uncertainty_maps
from credalens.plots.quantile_bands import quantile_bands, quantile_functions
from credalens.plots.simplex import simplex
from credalens.plots.style import paper

__all__ = [
    "accuracy_and_size",
    "active_learning_curves",
    "credal_bars",
    "decision_regions",
    "decomposition",
    "distributions",
    "ood_curves",
    "paper",
    "quantile_bands",
    "quantile_functions",
    "rejection_curves",
    "risk_curves",
    "simplex",
    "ternary",
    "uncertainty_curves",
    "uncertainty_maps",
]
