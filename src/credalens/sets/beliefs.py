"""Belief functions: random sets of classes."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _validation
from credalens._arrays import Array, Origin, is_lazy, namespace, native, to_numpy
from credalens.sets.anywhere import recipe, wherever
from credalens.sets.capacities import LowerProbability
from credalens.sets.core import belief, check_masses, event_sizes, refuse_first, summed
from credalens.sets.events import by_event, event_count


class BeliefFunction(LowerProbability):
    """All distributions above a belief function: a random set of classes.

    Parameters
    ----------
    masses : array-like of shape (..., 2**K)
        Probability of each set of classes as the true random set; class y is bit y of the index.
        Non-negative, nothing on the empty set, summing to 1.
    validate : bool, default=True
        Pass ``False`` for masses that are known to be good.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.BeliefFunction.from_focal_sets([([0], 0.5), ([1, 2], 0.3), ([0, 1, 2], 0.2)])
    >>> Q.lower(), Q.upper()
    (array([0.5, 0. , 0. ]), array([0.7, 0.5, 0.5]))
    >>> round(float(cl.generalized_hartley(Q)), 4)   # .3 log2 2 + .2 log2 3
    0.617
    """

    _cores: ClassVar[tuple[int, ...]] = (1, 1)
    _masses: Array

    @wherever(1)
    def __init__(self, masses: Any, *, validate: bool = True) -> None:
        origin = to_numpy(masses, "masses")[1]
        array = by_event(masses, "masses", finite=not validate)
        if validate:
            check_masses(array)
        self._set((array,), origin)

    @functools.cached_property
    def _parts(self) -> tuple[Array, ...]:  # type: ignore[override]
        """The lower probabilities, added up when they are first asked for, and the masses."""
        return belief(self._masses), self._masses

    def _set(self, parts: tuple[Array, ...], origin: Origin) -> None:
        super()._set(parts, origin)
        object.__setattr__(self, "_masses", self._parts[-1])
        if len(parts) == 1:
            del self.__dict__["_parts"]

    def _first(self) -> Array:
        return self._masses

    @classmethod
    def _tensor_parts(cls, arrays: list[Any], options: dict[str, Any]) -> tuple[Any, ...]:
        (masses,) = arrays
        xp, total = namespace(masses), native.widened(masses)
        for y in range(int(masses.shape[-1]).bit_length() - 1):
            parts = (*masses.shape[:-1], -1, 2, 1 << y)
            cube = xp.reshape(total, parts)
            both = xp.stack([cube[..., 0, :], cube[..., 0, :] + cube[..., 1, :]], axis=-2)
            total = xp.reshape(both, masses.shape)
        belief = xp.astype(xp.clip(total, max=1.0), masses.dtype, copy=False)
        return belief, masses

    @classmethod
    def from_focal_sets(
        cls, focal_sets: Iterable[tuple[Iterable[int], Any]], n_classes: int | None = None
    ) -> Self:
        """Return the belief function of pairs (classes, mass); masses of one set add up.

        Parameters
        ----------
        focal_sets : iterable of pairs (classes, mass)
            The indices of the classes in a set, and its mass: a number, or an array with one per
            instance.
        n_classes : int, optional
            Number of classes K; by default they go up to the largest one named.

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
            _validation.refuse("focal_sets", "is empty", "pass pairs (classes, mass)")
        last = max((classes[-1] for classes, _ in pairs if classes), default=0)
        K = last + 1 if n_classes is None else _validation.whole_number(n_classes, "n_classes", 1)
        for i, (classes, _) in enumerate(pairs):
            if not classes or classes[0] < 0 or classes[-1] >= K:
                _validation.refuse("focal_sets", f"pair {i} (zero-based) has the classes {classes}",
                                   f"pass at least one class of 0 to {K - 1}")  # fmt: skip
        parts = [to_numpy(mass, "mass") for _, mass in pairs]
        values = [_validation.finite(mass, "mass") for _, mass in pairs]
        lead = np.broadcast_shapes(*(value.shape for value in values))
        masses = np.zeros((*lead, event_count(K, lead)), np.result_type(*values))
        for (classes, _), value in zip(pairs, values, strict=True):
            masses[..., sum(1 << y for y in classes)] += value
        origin = next((o for _, o in parts if o.library != "numpy"), Origin())
        return cls(origin.wrap(masses))

    @classmethod
    def possibility(cls, values: Any) -> Self:
        """Return the belief function of a possibility distribution.

        Its focal sets are nested: the classes that are possible to at least some degree.

        Parameters
        ----------
        values : array-like of shape (..., K)
            The degree to which each class is possible, from 0 to 1; the largest is 1.

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
            return cls._deferred(recipe(cls.possibility, [values], [1], ["values"]))
        degrees, origin = _validation.finite(values, "values"), to_numpy(values, "values")[1]
        if degrees.ndim < 1 or degrees.shape[-1] == 0:
            _validation.refuse("values", f"has shape {degrees.shape}", "pass one degree per class")
        bad = (degrees < 0) | (degrees > 1)
        refuse_first(bad, degrees, "values", "is {:.6g} at {}", "pass degrees in [0, 1]")
        top = degrees.max(axis=-1)
        off = np.abs(top - 1) > _validation.tolerance_of(degrees.dtype)
        refuse_first(
            off, top, "values", "has largest degree {:.6g} at {}", "make one class fully possible"
        )
        K = degrees.shape[-1]
        order = np.argsort(-degrees, axis=-1, kind="stable")
        steps = -np.diff(np.take_along_axis(degrees, order, axis=-1), axis=-1, append=0.0)
        masses = np.zeros((*degrees.shape[:-1], event_count(K, degrees.shape[:-1])), degrees.dtype)
        np.put_along_axis(masses, np.cumsum(1 << order, axis=-1), steps, axis=-1)
        return cls(origin.wrap(masses))

    @property
    def masses(self) -> Any:
        """The mass of every set of classes, ``(..., 2**K)``."""
        return self.origin.wrap(np.asarray(self._masses, self.dtype))

    def _monotone(self) -> Array:
        return np.ones(self.batch_shape, bool)

    def hartley_exact(self, w: Array) -> Array:
        """Return the generalized Hartley measure in bits: ``sum over A of m(A) log2 |A|``."""
        return summed(self._masses, np.log2(np.maximum(event_sizes(self.n_classes), 1)))

    def translate(self, t: Any) -> Self:
        """Return the set moved by `t`: the masses of single classes change by it."""
        shift = self._moved(t)
        masses = np.broadcast_to(
            self._masses, np.broadcast_shapes(self._masses.shape, (*shift.shape[:-1], 1))
        ).astype(np.float64)
        single = 1 << np.arange(self.n_classes)
        masses[..., single] = np.maximum(masses[..., single] + shift, 0.0)
        return type(self)(self.origin.wrap(masses.astype(self.dtype)), validate=False)
