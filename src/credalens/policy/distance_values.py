"""Distances as JSON values."""

from __future__ import annotations

from typing import Any

from credalens import _validation
from credalens.distances import MMD, Distance, Kolmogorov, TotalVariation, Wasserstein
from credalens.policy.rules import matrix


def distance_as_json(distance: str | Distance) -> Any:
    """Return the JSON value of a distance: a name, a cost matrix or a kernel matrix.

    Examples
    --------
    >>> import credalens as cl
    >>> distance_as_json(cl.Wasserstein([[0, 1], [1, 0]]))
    {'wasserstein': [[0.0, 1.0], [1.0, 0.0]]}
    """
    if isinstance(distance, str):
        return distance
    if isinstance(distance, Wasserstein):
        return {"wasserstein": distance.cost.tolist()}
    if isinstance(distance, MMD):
        return {"mmd": distance.kernel.tolist()}
    names: dict[type, str] = {TotalVariation: "tv", Kolmogorov: "kolmogorov"}
    if type(distance) not in names:
        _validation.raise_invalid(
            "distance",
            f"is a {type(distance).__name__}, which a policy file cannot contain",
            "pass a name, cl.Wasserstein(cost) or cl.MMD(kernel)",
        )
    return names[type(distance)]


def distance_from_json(value: Any, n_classes: int) -> str | Distance:
    """Return the distance of a JSON value that is valid by the schema."""
    if isinstance(value, str):
        return value
    ((kind, rows),) = value.items()
    array = matrix(rows, f"score.distance.{kind}", n_classes, n_classes)
    return Wasserstein(array) if kind == "wasserstein" else MMD(array)
