"""Distances between distributions: integral probability metrics."""

from typing import Any

from credalens import _validation
from credalens.distances.base import Distance
from credalens.distances.total_variation import TotalVariation

__all__ = ["Distance", "TotalVariation", "as_distance"]

#: Distances that need no parameters, by the name that functions and the command line take.
NAMES: dict[str, type[Distance]] = {"tv": TotalVariation}


def as_distance(distance: Any) -> Distance:
    """Return `distance` if it is one, else the one of that name."""
    if isinstance(distance, Distance):
        return distance
    return NAMES[_validation.one_of(distance, "distance", NAMES)]()
