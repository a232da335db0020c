"""Set functions with one value per event: validation, sums, and the most uniform member."""

from __future__ import annotations

import math

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, blocks, first_invalid_row
from credalens._row_kinds import divide_inexact_rows
from credalens.sets.core import Core


def coherent(values: Array, rounding: float = 0.0) -> tuple[Array, Array]:
    """Return validated lower probabilities and whether each is 2-monotone.

    Raises ValueError unless they are normalised, monotone and coherent. `rounding` is that of
    values in half precision.
    """
    K = values.shape[-1].bit_length() - 1
    tolerance = max(_validation.tolerance_of(values.dtype), rounding)
    limit = max(_validation.slack_of(values.dtype), 2 * rounding)
    found, bad = np.empty(math.prod(values.shape[:-1]), bool), -1
    for start, stop, (block,) in blocks((values,), (1,), large=True):
        part = found[start:stop]
        bad = max(_kernels.check_capacities(block, tolerance, limit, part, DEFAULT_THREADS), bad)
    if bad >= 0:
        _raise_values(values, K, tolerance)
    flags: Array = found.reshape(values.shape[:-1])
    if values[..., 0].any() or (values[..., -1] != 1).any():
        values = values.copy()
        values[..., 0], values[..., -1] = 0.0, 1.0
    for index in () if flags.all() else np.argwhere(~flags):
        _raise_incoherent(values[tuple(index)], index, K, tolerance)
    return values, flags


def _raise_values(values: Array, n_classes: int, tolerance: float) -> None:
    """Raise for the first value that is not finite, normalised or monotone."""
    _validation.finite(values, "values")
    raise_first = _validation.raise_first
    empty, sure = values[..., 0], values[..., -1]
    empty_text = "of the impossible event is {:.6g}{}"
    sure_text = "of the sure event is {:.6g}{}"
    raise_first(np.abs(empty) > tolerance, empty, "values", empty_text, "it must be 0")
    raise_first(np.abs(sure - 1) > tolerance, sure, "values", sure_text, "it must be 1")
    unit = "pass probabilities in [0, 1]"
    outside = (values < -tolerance) | (values > 1 + tolerance)
    raise_first(outside, values, "values", "is {:.6g}{}", unit)
    for y in range(n_classes):
        cube = values.reshape(*values.shape[:-1], 1 << (n_classes - 1 - y), 2, 1 << y)
        bad = np.zeros(cube.shape, bool)
        bad[..., 1, :] = cube[..., 1, :] < cube[..., 0, :] - tolerance
        problem = f"is {{:.6g}}{{}}, less than that of the event without class {y}"
        fix = "pass a monotone set function"
        raise_first(bad.reshape(values.shape), values, "values", problem, fix)


def _raise_incoherent(values: Array, index: Array, n_classes: int, tolerance: float) -> None:
    """Raise if not all values of one instance are attained."""
    where = tuple(int(i) for i in index)
    at = f"instance {_validation.format_index(where)} (zero-based): " if where else ""
    program = Core(np.asarray(values, np.float64), n_classes)
    for event in range(1, (1 << n_classes) - 1):
        inside = (event >> np.arange(n_classes) & 1).astype(np.float64)
        p = program.maximiser(-inside)
        if p is None:
            _validation.raise_invalid(
                "values",
                f"{at}no distribution has these lower probabilities",
                "pass a coherent lower probability",
            )
        if p @ inside > values[event] + tolerance:
            _validation.raise_invalid(
                "values",
                f"{at}not coherent: that of event {event} is {values[event]:.6g}, but the others "
                f"make it at least {p @ inside:.6g}",
                "pass the attained values",
            )


def check_masses(masses: Array, rounding: float = 0.0) -> Array:
    """Return masses if they are a distribution over the events other than the empty one.

    `rounding` is that of masses in half precision, which are divided by their sums.
    """
    tolerance = max(_validation.tolerance_of(masses.dtype), rounding)
    empty = np.abs(masses[..., 0])
    if empty.max(initial=0.0) <= tolerance and first_invalid_row(masses, tolerance) < 0:
        return divide_inexact_rows(masses)[0] if rounding else masses
    raise_first = _validation.raise_first
    _validation.finite(masses, "masses")
    raise_first(masses < 0, masses, "masses", "is {:.6g}{}", "pass masses >= 0")
    raise_first(
        empty > tolerance,
        empty,
        "masses",
        "of the empty set is {:.6g}{}",
        "give its mass to other sets",
    )
    total = masses.sum(axis=-1, dtype=np.float64)
    raise_first(
        np.abs(total - 1) > tolerance,
        total,
        "masses",
        "sum to {:.6g}{}",
        "pass masses that sum to 1",
    )
    return masses


def belief(masses: Array) -> Array:
    """Return the sum of the masses of the subsets of every event."""
    values = np.empty((math.prod(masses.shape[:-1]), masses.shape[-1]), masses.dtype)
    for start, stop, (block,) in blocks((masses,), (1,), large=True):
        part = values[start:stop]
        some = part if block.dtype == part.dtype else np.empty_like(block)
        _kernels.belief_values(block, some, DEFAULT_THREADS)
        if some is not part:
            part[:] = some
    values.flags.writeable = False
    return values.reshape(masses.shape)


def event_dot(values: Array, weights: Array) -> Array:
    """Return the sum over the events of ``(..., 2**K)`` times weights, float64."""
    total = np.empty(math.prod(values.shape[:-1]))
    for start, stop, (block,) in blocks((values,), (1,), large=True):
        _kernels.event_dot(block, weights, total[start:stop], DEFAULT_THREADS)
    return total.reshape(values.shape[:-1])
