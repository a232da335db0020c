"""Lower probabilities of all events, and belief functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import (
    Array,
    Origin,
    blocks,
    is_lazy,
    namespace,
    native,
    num_threads,
    to_numpy,
)
from credalens.sets.anywhere import recipe, wherever
from credalens.sets.base import CredalSet
from credalens.sets.columns import most_entropy
from credalens.sets.core import (
    Core,
    belief,
    check_masses,
    coherent,
    core_corners,
    event_sizes,
    marginal_corners,
    most_even,
    refuse_first,
    summed,
)
from credalens.sets.events import event_count, event_sums, two_monotone
from credalens.sets.intervals import padded
from credalens.sets.support import SupportSet, entropy
from credalens.sets.tensor_sets import TensorEvents


class LowerProbability(SupportSet):
    """All distributions with ``p(B) >= values[B]`` for every event B.

    Parameters
    ----------
    values : array-like of shape (..., 2**K)
        Lower probabilities; class y is bit y of the index, so that ``values[5]`` is that of the
        event {0, 2}.
    validate : bool, default=True
        Check that they are normalised, monotone and coherent, i.e. that every value is attained.
        Pass ``False`` if they are known to be.

    Notes
    -----
    2-monotone lower probabilities have closed forms: a lower expectation is a Choquet integral,
    and the distribution nearest to uniform is found by lifting events of the largest mean
    probability. Others take a linear programme for each expectation, and their check one for each
    event: some tenths of a second an instance at 7 classes, some seconds at 10. Their smallest
    entropy, and the diameters of other distances, come from their corners, which are listed by
    cutting the simplex with one event after the other; that is meant for up to 7 classes.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.LowerProbability([0.0, 0.2, 0.3, 0.6, 0.1, 0.4, 0.5, 1.0])
    >>> Q.lower()
    array([0.2, 0.3, 0.1])
    >>> bool(Q.is_two_monotone())
    True
    >>> float(Q.lower([1.0, 0.0, 0.0]))
    0.2
    """

    _cores: ClassVar[tuple[int, ...]] = (1,)

    @wherever(1)
    def __init__(self, values: Any, *, validate: bool = True) -> None:
        origin = to_numpy(values, "values")[1]
        array = _by_event(values, "values", finite=not validate)
        if validate:
            array, flags = coherent(array)
            object.__setattr__(self, "_flags", flags)
        self._set((array,), origin)

    def _there(self) -> TensorEvents:
        return TensorEvents(self._parts, self.origin, self.n_classes)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self._first().shape[-1]).bit_length() - 1

    @property
    def values(self) -> Any:
        """The lower probability of every event, ``(..., 2**K)``."""
        return self.lower_probabilities()

    def lower_probabilities(self) -> Any:
        """Return the lower probability of every event, ``(..., 2**K)``: class y is bit y."""
        return self.origin.wrap(np.asarray(self._parts[0], self.dtype))

    def is_two_monotone(self) -> Any:
        """Say whether ``lower(A | B) + lower(A & B) >= lower(A) + lower(B)`` for all events."""
        return self.origin.wrap(np.asarray(self._monotone()))

    def _monotone(self) -> Array:
        if "_flags" not in self.__dict__:  # immutable, so that once is enough
            object.__setattr__(self, "_flags", two_monotone(self._parts[0]))
        flags: Array = self.__dict__["_flags"]
        return flags

    def _class_lower(self) -> Array:
        single = 1 << np.arange(self.n_classes)
        return np.asarray(self._parts[0][..., single], self.dtype)

    def _class_upper(self) -> Array:
        others = (1 << self.n_classes) - 1 - (1 << np.arange(self.n_classes))
        return np.asarray(1 - self._parts[0][..., others], self.dtype)

    def _class_tops(self) -> tuple[Array, Array]:
        lower, upper = np.empty((2, math.prod(self.batch_shape)))
        for start, stop, block in blocks(self._parts[0], 1, large=True):
            _kernels.class_tops(block, lower[start:stop], upper[start:stop], num_threads())
        return lower.reshape(self.batch_shape), upper.reshape(self.batch_shape)

    def lower_probability(self, event: Any) -> Any:
        """Return the smallest probability of an event; see `CredalSet.lower_probability`."""
        return self.origin.wrap(np.asarray(self._parts[0][..., self._place(event)], self.dtype))

    def upper_probability(self, event: Any) -> Any:
        """Return the largest probability of an event; see `CredalSet.lower_probability`."""
        others = (1 << self.n_classes) - 1 - self._place(event)
        return self.origin.wrap(np.asarray(1 - self._parts[0][..., others], self.dtype))

    def _place(self, event: Any) -> Any:
        inside = _validation.event(event, self.n_classes).astype(np.int64)
        return inside @ (1 << np.arange(self.n_classes))

    def _best(self, f: Array, *parts: Array) -> Array:
        best = self._marginals(f, parts[0])
        if not self._monotone().all():
            for i in np.flatnonzero(~two_monotone(parts[0])):
                own = Core(parts[0][i], self.n_classes).best(f if f.ndim == 1 else f[i])
                if own is not None:  # values that nobody has checked may have none
                    best[i] = own
        return best

    def _marginals(self, f: Array, values: Array) -> Array:
        """Return the best members of 2-monotone sets.

        Along the order of f, each event of the smallest f gets its lower value.
        """
        order = np.broadcast_to(
            np.argsort(f, axis=-1, kind="stable"), (len(values), self.n_classes)
        )
        nested = np.cumsum(1 << order, axis=1)
        steps = np.diff(np.take_along_axis(values, nested, axis=1), axis=1, prepend=0.0)
        best = np.empty_like(steps)
        np.put_along_axis(best, order, steps, axis=1)
        return best

    def _minimax(self) -> Array:
        def kernel(values: Array, *_: Array) -> tuple[Array]:
            return ((values[:, 1:] / event_sizes(self.n_classes)[1:]).max(axis=1),)

        return self._each(kernel, [()])[0]

    def _minimax_and_gap(self) -> tuple[Array, Array]:
        if self._monotone().all():
            return super()._minimax_and_gap()
        value, gap = self.maximin(1.0 - np.eye(self.n_classes))
        return 1.0 - value, gap

    def _tv_bounds(self) -> tuple[Array, Array]:
        """``max_A upper(A) - lower(A)``, true of every coherent lower probability."""
        values = self._parts[0]
        wide = np.empty(math.prod(self.batch_shape))
        for start, stop, block in blocks(values, 1, large=True):
            _kernels.widest_event(block, wide[start:stop], num_threads())
        wide = wide.reshape(self.batch_shape)
        return wide, wide

    def max_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the largest entropy in nats, its certified gap and, if asked, where it is.

        For 2-monotone sets: the event of the largest mean lower probability gets it, evenly; the
        same again with the classes that are left. Exact, O(K 2^K).
        """
        if not self._monotone().all():
            return self._answer_entropy(
                lambda *parts: most_entropy(self._best_of(parts), len(parts[0]), self.n_classes),
                distribution,
            )

        def kernel(values: Array, *_: Array) -> tuple[Array, Array, Array]:
            where = most_even(values, self.n_classes)
            value = entropy(where)
            return value, np.zeros(len(value)), where

        return self._answer_entropy(kernel, distribution)

    def min_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the smallest entropy in nats, its certified error and, if asked, where it is.

        For 2-monotone sets the corners are orders of the classes, of which a shortest path through
        the events finds the best. Exact, O(K 2^K).
        """
        if not self._monotone().all():
            return super().min_entropy(distribution=distribution)

        def kernel(values: Array, *_: Array) -> tuple[Array, Array, Array]:
            value, where = np.empty(len(values)), np.empty((len(values), self.n_classes))
            _kernels.least_even(values, value, where, num_threads())
            return value, np.zeros(len(value)), where

        return self._answer_entropy(kernel, distribution)

    def hartley_exact(self, w: Array) -> Array:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, weights w ``(K + 1,)``."""
        weights = np.asarray(w)[event_sizes(self.n_classes)]
        inner = summed(self._parts[0], weights)
        return np.maximum(math.log2(self.n_classes) - inner, 0.0)

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, most: int
    ) -> tuple[Array, Array]:
        """Return `hartley_exact`: the values of all events are at hand; error 0."""
        from credalens.sets.excess import size_weights

        value = self.hartley_exact(size_weights(log_v))
        return value, np.zeros_like(value)

    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        """Say whether `p` is in the set, up to `tolerance`; see `CredalSet.contains`."""
        target, limit = self._target(p, tolerance)
        inside = (event_sums(target.astype(np.float64)) >= self._parts[0] - limit).all(axis=-1)
        return self.origin.wrap(np.asarray(inside))

    def _holds(self, inner: CredalSet, tolerance: float) -> Array:
        held = inner.lower_probabilities() >= self._parts[0] - tolerance
        return np.asarray(held.all(axis=-1))

    def center(self) -> Any:
        """Return the mean of the marginals over all orders (Shapley).

        Of a set that is not 2-monotone, the mean of members with the most and the least of a class.
        """
        K, values = self.n_classes, self._parts[0].astype(np.float64)
        sizes = event_sizes(K)
        weight = np.array([1 / (K * math.comb(K - 1, size)) if size < K else 0.0
                           for size in range(K + 1)])[sizes]  # fmt: skip
        events = np.arange(len(sizes))
        mean = np.empty((*self.batch_shape, K))
        for y in range(K):
            without = events[events >> y & 1 == 0]
            gain = values[..., without | 1 << y] - values[..., without]
            mean[..., y] = (gain * weight[without]).sum(axis=-1)
        if not self._monotone().all():
            ends = np.concatenate([np.eye(K), -np.eye(K)])
            for i in map(tuple, np.argwhere(~self._monotone())):
                core = Core(values[i], K)
                members = [p for f in ends if (p := core.best(f)) is not None]
                mean[i] = np.mean(members, axis=0) if members else mean[i]
        np.maximum(mean, 0.0, out=mean)  # of a class without mass, rounding may have left less
        return self.origin.wrap(mean.astype(self.dtype))

    def _moved(self, t: Any) -> Array:
        shift = self._shift(t)
        low = self._class_lower().astype(np.float64)
        self._in_simplex(low + shift)
        return shift

    def translate(self, t: Any) -> Self:
        """Return the set moved by `t`, ``(K,)`` or ``(..., K)``, whose entries sum to 0.

        Refused if the lower probability of a class would become negative.
        """
        values = self._parts[0] + event_sums(self._moved(t))
        values[..., 0], values[..., -1] = 0.0, 1.0
        return self._of((np.maximum(values, 0.0).astype(self.dtype),), self.origin)

    def extreme_points(self) -> Any:
        """Return the corners, ``(..., V, K)``.

        Those of a 2-monotone set are its distinct marginals over the K! orders; those of another
        come from cutting the simplex. An instance with fewer than V repeats its first one. Refused
        if an instance has more than a million.
        """
        if "_corners" not in self.__dict__:
            flat = np.asarray(self._parts[0], np.float64).reshape(-1, 1 << self.n_classes)
            lists = [
                (marginal_corners if flag else core_corners)(values, self.n_classes)
                for values, flag in zip(flat, self._monotone().ravel(), strict=True)
            ]
            corners = padded(lists, self.batch_shape, self.n_classes, self.dtype)
            object.__setattr__(self, "_corners", corners)
        return self.origin.wrap(self.__dict__["_corners"].copy())


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
        array = _by_event(masses, "masses", finite=not validate)
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


def _by_event(x: Any, name: str, *, finite: bool) -> Array:
    array = _validation.finite(x, name) if finite else _validation.numeric(x, name)
    size = array.shape[-1] if array.ndim else 0
    if size < 2 or size & (size - 1):
        _validation.refuse(
            name, f"has shape {array.shape}", "pass one number per event, (..., 2**classes)"
        )
    return array
