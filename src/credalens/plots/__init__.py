"""Pictures: the simplex, rejection curves, distributions of scores."""

from credalens.plots.active import active_learning_curves
from credalens.plots.decomposition import decomposition
from credalens.plots.distributions import distributions
from credalens.plots.ood import ood_curves
from credalens.plots.rejection import rejection_curves
from credalens.plots.simplex import simplex

__all__ = [
    "active_learning_curves",
    "decomposition",
    "distributions",
    "ood_curves",
    "rejection_curves",
    "simplex",
]
