"""Pictures: the simplex, rejection curves."""

from credalens.plots.rejection import rejection_curves
from credalens.plots.simplex import simplex

__all__ = ["rejection_curves", "simplex"]
