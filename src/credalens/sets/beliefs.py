"""Belief functions: random sets of classes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _validation
from credalens._backend import (
    NUMPY,
    Array,
    backend_of,
    is_lazy,
    is_tensor,
    namespace,
    native,
    primitive,
    to_numpy,
)
from credalens._backend.lazy import LazyBatch
from credalens.sets.capacities import LowerProbability
from credalens.sets.events import by_event, event_count, event_sizes
from credalens.sets.set_functions import belief, check_masses, event_dot


def _native_minimax(Q: Any) -> tuple[Any, Any]:
    values = native.widen(Q._values)
    sizes = native.asarray_like(event_sizes(Q.n_classes)[1:], values)
    value = namespace(values).max(values[..., 1:] / sizes, axis=-1)
    return value, native.zeros_like(value)


def _native_hartley(Q: Any, w: Array) -> Any:
    masses = native.widen(Q._arrays[0])
    weights = np.log2(np.maximum(event_sizes(Q.n_classes), 1))
    return namespace(masses).sum(masses * native.asarray_like(weights, masses), axis=-1)


def _native_belief(masses: Any) -> Any:
    xp, total = namespace(masses), native.widen(masses)
    for y in range(int(masses.shape[-1]).bit_length() - 1):
        cube = xp.reshape(total, (*masses.shape[:-1], -1, 2, 1 << y))
        both = xp.stack([cube[..., 0, :], cube[..., 0, :] + cube[..., 1, :]], axis=-2)
        total = xp.reshape(both, masses.shape)
    return xp.astype(xp.clip(total, None, 1.0), masses.dtype, copy=False)


class BeliefFunction(LowerProbability):
    """All distributions that dominate a belief function, the distribution of a random set.

    Parameters
    ----------
    masses : array-like of shape (..., 2**K)
        Probability of each set of classes; class y is bit y of the index. Non-negative, 0 for the
        empty set, summing to 1.
    validate : bool, default=True
        ``False`` skips validation.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.BeliefFunction.from_focal_sets([([0], 0.5), ([1, 2], 0.3), ([0, 1, 2], 0.2)])
    >>> Q.lower(), Q.upper()
    (array([0.5, 0. , 0. ]), array([0.7, 0.5, 0.5]))
    >>> round(float(cl.generalized_hartley(Q)), 4)   # .3 log2 2 + .2 log2 3
    0.617
    """

    array_names: ClassVar[tuple[str, ...]] = ("masses",)

    def __init__(self, masses: Any, *, validate: bool = True) -> None:
        self._init_arrays(masses, validate=validate)

    def _validate(self, masses: Any, *, validate: bool) -> tuple[Array, ...]:
        array = by_event(masses, "masses", finite=not validate)
        if validate:
            array = check_masses(array, _validation.half_rounding(masses))
        return (array,)

    @cached_property
    def _values(self) -> Any:
        """The lower probabilities, computed when they are first read."""
        masses = self._arrays[0]
        return _native_belief(masses) if is_tensor(masses) else belief(masses)

    @cached_property
    def _monotone(self) -> Array:
        return np.ones(self.batch_shape, bool)

    @classmethod
    def from_focal_sets(
        cls, focal_sets: Iterable[tuple[Iterable[int], Any]], n_classes: int | None = None
    ) -> Self:
        """Return the belief function of pairs (classes, mass); masses of the same set are added.

        Parameters
        ----------
        focal_sets : iterable of pairs (classes, mass)
            The indices of the classes in a set, and its mass: a number, or an array with one per
            instance.
        n_classes : int, optional
            Number of classes K; by default the largest index plus one.

        Returns
        -------
        BeliefFunction

        Examples
        --------
        >>> import credalens as cl
        >>> cl.BeliefFunction.from_focal_sets([([0], 0.7), ([0, 1], 0.3)]).upper()
        array([1. , 0.3])
        """
        pairs = [(sorted({int(y) for y in classes}), mass) for classes, mass in focal_sets]
        if not pairs:
            _validation.raise_invalid("focal_sets", "is empty", "pass pairs (classes, mass)")
        last = max((classes[-1] for classes, _ in pairs if classes), default=0)
        K = last + 1 if n_classes is None else _validation.whole_number(n_classes, "n_classes", 1)
        for i, (classes, _) in enumerate(pairs):
            if not classes or classes[0] < 0 or classes[-1] >= K:
                _validation.raise_invalid(
                    "focal_sets",
                    f"pair {i} (zero-based) has the classes {classes}",
                    f"pass at least one class of 0 to {K - 1}",
                )
        backends = [backend_of(mass) for _, mass in pairs]
        values = [_validation.finite(mass, "mass") for _, mass in pairs]
        lead = np.broadcast_shapes(*(value.shape for value in values))
        masses = np.zeros((*lead, event_count(K, lead)), np.result_type(*values))
        for (classes, _), value in zip(pairs, values, strict=True):
            masses[..., sum(1 << y for y in classes)] += value
        return cls(next((b for b in backends if b is not NUMPY), NUMPY).wrap(masses))

    @classmethod
    def possibility(cls, values: Any) -> Self:
        """Return the belief function of a possibility distribution.

        Its focal sets are nested: the sets of classes with at least some degree of possibility.

        Parameters
        ----------
        values : array-like of shape (..., K)
            The degree of possibility of each class, from 0 to 1; the largest is 1.

        Returns
        -------
        BeliefFunction

        Examples
        --------
        >>> import credalens as cl
        >>> cl.BeliefFunction.possibility([1.0, 0.4, 0.1]).upper()
        array([1. , 0.4, 0.1])
        """
        if is_lazy(values):
            return cls._from_lazy(LazyBatch.of([values], [1], ["values"], cls.possibility))
        degrees = _validation.finite(to_numpy(values, "values"), "values")
        if degrees.ndim < 1 or degrees.shape[-1] == 0:
            _validation.raise_invalid(
                "values", f"has shape {degrees.shape}", "pass one degree per class"
            )
        bad = (degrees < 0) | (degrees > 1)
        fix = "pass degrees in [0, 1]"
        _validation.raise_first(bad, degrees, "values", "is {:.6g}{}", fix)
        top = degrees.max(axis=-1)
        slack = max(_validation.tolerance_of(degrees.dtype), _validation.half_rounding(values))
        off = np.abs(top - 1) > slack
        _validation.raise_first(
            off, top, "values", "has largest degree {:.6g}{}", "make the largest degree 1"
        )
        K = degrees.shape[-1]
        order = np.argsort(-degrees, axis=-1, kind="stable")
        steps = -np.diff(np.take_along_axis(degrees, order, axis=-1), axis=-1, append=0.0)
        masses = np.zeros((*degrees.shape[:-1], event_count(K, degrees.shape[:-1])), degrees.dtype)
        np.put_along_axis(masses, np.cumsum(1 << order, axis=-1), steps, axis=-1)
        return cls(backend_of(values).wrap(masses))

    @property
    def masses(self) -> Any:
        """The mass of every set of classes, ``(..., 2**K)``."""
        return self._array(0)

    @primitive("Q->(),()", native=_native_minimax)
    def _minimax(self) -> tuple[Any, Any]:
        return super()._minimax()

    @primitive("Q->()", native=_native_hartley)
    def hartley_exact(self, w: Array) -> Any:
        """Return the generalized Hartley measure in bits: ``sum over A of m(A) log2 |A|``."""
        weights = np.log2(np.maximum(event_sizes(self.n_classes), 1))
        return event_dot(self._arrays[0], weights)

    @primitive("Q,(k)->Q")
    def translate(self, t: Any) -> Self:
        """Return the set translated by `t`, which is added to the masses of single classes."""
        shift = self._validated_translation(t)
        masses = np.broadcast_to(
            self._arrays[0], np.broadcast_shapes(self._arrays[0].shape, (*shift.shape[:-1], 1))
        ).astype(np.float64)
        single = 1 << np.arange(self.n_classes)
        masses[..., single] = np.maximum(masses[..., single] + shift, 0.0)
        return self._from_validated((masses.astype(self.dtype),), NUMPY)
