"""Repairs of ensembles as JSON values, and as maps of chunks of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.policy.rules import matrix
from credalens.validity.ensemble_repair import RepairScaling
from credalens.validity.scaling import IsotonicScaling, Scaling, TemperatureScaling, VectorScaling


def repair_as_dict(repair: RepairScaling) -> dict[str, Any]:
    """Return the JSON value of the map of a repair."""
    scaling = repair.scaling
    value: dict[str, Any] | None
    if scaling is None:
        value = None
    elif isinstance(scaling, TemperatureScaling):
        value = {"temperature": scaling.temperature.tolist()}
    elif isinstance(scaling, VectorScaling):
        value = {"scale": scaling.scale.tolist(), "bias": scaling.bias.tolist()}
    elif isinstance(scaling, IsotonicScaling):
        value = {"isotonic": [[_pair(*knots) for knots in member] for member in scaling.knots]}
    else:
        _validation.raise_invalid(
            "repair", f"has a {type(scaling).__name__}", "recalibrate by a method of repair"
        )
    return {
        "kept": repair.kept.tolist(),
        "recalibrated": repair.recalibrated.tolist(),
        "scaling": value,
        "common_temperature": float(repair.common_temperature),
    }


def repair_from_dict(value: Mapping[str, Any], n_members: int, n_classes: int) -> RepairScaling:
    """Return the map of a JSON value that is valid by the schema."""
    kept, recalibrated = value["kept"], value["recalibrated"]
    if sorted(set(kept)) != kept or kept[-1] >= n_members:
        _validation.raise_invalid(
            "repair.kept", f"is {kept}", f"write increasing indices from 0 to {n_members - 1}"
        )
    if len(recalibrated) != n_members:
        _validation.raise_invalid(
            "repair.recalibrated", f"has {len(recalibrated)} entries", f"write {n_members}"
        )
    return RepairScaling(
        _scaling(value["scaling"], n_members, n_classes),
        np.array(recalibrated, bool),
        np.array(kept, np.intp),
        float(value["common_temperature"]),
    )


def _pair(x: Array, y: Array) -> list[list[float]]:
    return [np.asarray(x, np.float64).tolist(), np.asarray(y, np.float64).tolist()]


def _scaling(value: Mapping[str, Any] | None, n_members: int, n_classes: int) -> Scaling | None:
    if value is None:
        return None
    if "temperature" in value:
        (row,) = matrix([value["temperature"]], "repair.scaling.temperature", 1, n_members)
        return TemperatureScaling(row)
    if "scale" in value:
        scale, bias = (
            matrix(value[name], f"repair.scaling.{name}", n_members, n_classes)
            for name in ("scale", "bias")
        )
        return VectorScaling(scale, bias)
    members = value["isotonic"]
    if [len(classes) for classes in members] != [n_classes] * n_members:
        _validation.raise_invalid(
            "repair.scaling.isotonic",
            f"has {len(members)} members of {[len(classes) for classes in members]} classes",
            f"write {n_members} members of {n_classes} classes",
        )
    return IsotonicScaling(tuple(tuple(map(_knots, classes)) for classes in members))


def _knots(pair: Sequence[Sequence[float]]) -> tuple[Array, Array]:
    x, y = matrix(pair, "repair.scaling.isotonic", 2)
    if (np.diff(x) < 0).any():
        _validation.raise_invalid(
            "repair.scaling.isotonic", "has knots that decrease", "write increasing knots"
        )
    return x, y
