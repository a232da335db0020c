"""Pictures: the simplex, rejection curves."""

from credalens.plots.decomposition import decomposition
from credalens.plots.rejection import rejection_curves
from credalens.plots.simplex import simplex

__all__ = ["decomposition", "rejection_curves", "simplex"]
