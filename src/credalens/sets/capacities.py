"""Lower probabilities of all events."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import (
    AS_WANTED,
    Array,
    blocks,
    to_numpy,
)
from credalens.sets.anywhere import wherever
from credalens.sets.base import CredalSet
from credalens.sets.columns import most_entropy
from credalens.sets.core import (
    Core,
    coherent,
    core_corners,
    event_sizes,
    marginal_corners,
    most_even,
    summed,
)
from credalens.sets.events import by_event, event_sums, two_monotone
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
        array = by_event(values, "values", finite=not validate)
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
            _kernels.class_tops(block, lower[start:stop], upper[start:stop], AS_WANTED)
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
            _kernels.widest_event(block, wide[start:stop], AS_WANTED)
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
            _kernels.least_even(values, value, where, AS_WANTED)
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
