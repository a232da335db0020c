"""Distances between distributions: integral probability metrics."""

from credalens.distances.base import NAMES, Distance, as_distance
from credalens.distances.finite import TestFunctions
from credalens.distances.kolmogorov import Kolmogorov
from credalens.distances.mmd import MMD
from credalens.distances.real_wasserstein import DEFAULT, distance_on
from credalens.distances.total_variation import TotalVariation
from credalens.distances.wasserstein import Wasserstein

__all__ = [
    "DEFAULT",
    "MMD",
    "NAMES",
    "Distance",
    "Kolmogorov",
    "TestFunctions",
    "TotalVariation",
    "Wasserstein",
    "as_distance",
    "distance_on",
]

NAMES["tv"] = TotalVariation
NAMES["ordinal"] = Wasserstein.ordinal
NAMES["kolmogorov"] = Kolmogorov
