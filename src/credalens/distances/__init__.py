"""Distances between distributions: integral probability metrics."""

import functools
from collections.abc import Callable
from typing import Any

from credalens import _validation
from credalens.distances.base import Distance
from credalens.distances.finite import TestFunctions
from credalens.distances.kolmogorov import Kolmogorov
from credalens.distances.mmd import MMD
from credalens.distances.total_variation import TotalVariation
from credalens.distances.wasserstein import Wasserstein

__all__ = [
    "MMD",
    "Distance",
    "Kolmogorov",
    "TestFunctions",
    "TotalVariation",
    "Wasserstein",
    "as_distance",
]

#: Distances that need no parameter but the number of classes, by the name that functions and the
#: command line take.
NAMES: dict[str, Callable[[Any], Distance]] = {
    "tv": TotalVariation,
    "ordinal": Wasserstein.ordinal,
    "kolmogorov": Kolmogorov,
}
#: Up to this many classes the last few distances that were asked for by name are kept.
FEW_CLASSES = 100


def as_distance(distance: Any, n_classes: int | None = None) -> Distance:
    """Return `distance` if it is one, else the one of that name, for `n_classes` classes.

    Parameters
    ----------
    distance : Distance or str
        A distance, which is returned as it is, or a name: ``"tv"``, ``"ordinal"`` or
        ``"kolmogorov"``.
    n_classes : int, optional
        Number of classes K. A distance whose parameters were made for another number is refused.

    Returns
    -------
    Distance

    Examples
    --------
    >>> from credalens.distances import as_distance
    >>> as_distance("ordinal", 3).dirac_costs
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    if isinstance(distance, str):
        if n_classes is None or n_classes <= FEW_CLASSES:
            return _kept(distance, n_classes)
    elif isinstance(distance, Distance):
        if n_classes is not None:
            distance.check_classes(n_classes)
        return distance
    return NAMES[_validation.one_of(distance, "distance", NAMES)](n_classes)


@functools.lru_cache(maxsize=8)
def _kept(name: str, n_classes: int | None) -> Distance:
    return NAMES[_validation.one_of(name, "distance", NAMES)](n_classes)
