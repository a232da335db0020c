"""Distances between distributions: integral probability metrics."""

from credalens.distances.base import NAMES, Distance, as_distance
from credalens.distances.finite import TestFunctions
from credalens.distances.kolmogorov import Kolmogorov
from credalens.distances.mmd import MMD
from credalens.distances.total_variation import TotalVariation
from credalens.distances.wasserstein import Wasserstein

__all__ = [
    "MMD",
    "NAMES",
    "Distance",
    "Kolmogorov",
    "TestFunctions",
    "TotalVariation",
    "Wasserstein",
    "as_distance",
]

NAMES["tv"] = TotalVariation
NAMES["ordinal"] = Wasserstein.ordinal
NAMES["kolmogorov"] = Kolmogorov
