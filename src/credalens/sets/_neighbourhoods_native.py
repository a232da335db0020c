"""Queries of contamination models and total variation balls in the array API, for tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import namespace, native


def _level(levels: Any, amount: Any) -> Any:
    """Return t with ``sum max(0, t - levels) = amount`` for each row (water-filling)."""
    xp = namespace(levels)
    filled = xp.cumulative_sum(xp.sort(levels, axis=-1), axis=-1) + amount
    count = native.asarray_like(np.arange(1, levels.shape[-1] + 1), filled)
    return xp.min(filled / count, axis=-1)


def _exact(value: Any) -> tuple[Any, Any]:
    return value, native.zeros_like(value)


def contaminated_expectation(Q: Any, f: Any, sign: float) -> Any:
    """See `SupportSet._native_expectation`."""
    center, epsilon = Q._wide_arrays()
    xp = namespace(center)
    functions = _validation.as_test_functions(f, Q.n_classes)
    many = native.asarray_like(sign * np.atleast_2d(functions).T, center)
    values = (1 - epsilon) * xp.matmul(center, many) + epsilon * xp.max(many, axis=0)
    return sign * (values if functions.ndim == 2 else values[..., 0])


def contamination_minimax(Q: Any) -> tuple[Any, Any]:
    """See `Contamination._minimax`."""
    center, epsilon = Q._wide_arrays()
    xp = namespace(center)
    top = (1 - epsilon[..., 0]) * xp.max(center, axis=-1)
    return _exact(xp.clip(top, 1 / Q.n_classes, None))


def ball_minimax(Q: Any) -> tuple[Any, Any]:
    """See `TotalVariationBall._minimax`."""
    center, radius = Q._wide_arrays()
    return _exact(namespace(center).clip(-_level(-center, radius), 1 / Q.n_classes, None))


def contamination_max_entropy(Q: Any, *, distribution: bool = False) -> Any:
    """See `Contamination.max_entropy`."""
    if distribution:
        return NotImplemented
    center, epsilon = Q._wide_arrays()
    low = (1 - epsilon) * center
    p = namespace(low).maximum(low, _level(low, epsilon)[..., None])
    return _exact(native.entropy(p))


def contamination_min_entropy(Q: Any, *, distribution: bool = False) -> Any:
    """See `Contamination.min_entropy`."""
    if distribution:
        return NotImplemented
    center, epsilon = Q._wide_arrays()
    xp = namespace(center)
    rising = xp.sort((1 - epsilon) * center, axis=-1)
    p = xp.concat([rising[..., :-1], rising[..., -1:] + epsilon], axis=-1)
    return _exact(native.entropy(p))


def ball_max_entropy(Q: Any, *, distribution: bool = False) -> Any:
    """See `TotalVariationBall.max_entropy`."""
    if distribution:
        return NotImplemented
    center, radius = Q._wide_arrays()
    xp = namespace(center)
    bottom, top = _level(center, radius)[..., None], -_level(-center, radius)[..., None]
    clipped = xp.minimum(xp.maximum(center, bottom), top)
    uniform = xp.full_like(center, 1 / Q.n_classes)
    return _exact(native.entropy(xp.where(bottom >= top, uniform, clipped)))


def ball_min_entropy(Q: Any, *, distribution: bool = False) -> Any:
    """See `TotalVariationBall.min_entropy`."""
    if distribution:
        return NotImplemented
    center, radius = Q._wide_arrays()
    xp = namespace(center)
    rising = xp.sort(center, axis=-1)
    before = xp.cumulative_sum(rising, axis=-1) - rising
    taken = xp.minimum(xp.clip(radius - before, 0.0, None), rising)
    left, given = rising - taken, xp.sum(taken, axis=-1, keepdims=True)
    p = xp.concat([left[..., :-1], left[..., -1:] + given], axis=-1)
    return _exact(native.entropy(p))
