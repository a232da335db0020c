"""Lower probabilities of all events."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import (
    DEFAULT_THREADS,
    NUMPY,
    Array,
    is_tensor,
    map_instances,
    namespace,
    native,
    primitive,
)
from credalens.sets.base import CredalSet
from credalens.sets.column_generation import largest_entropy
from credalens.sets.core import Core, core_vertices, marginal_vertices
from credalens.sets.events import by_event, event_sizes, event_sums, two_monotone
from credalens.sets.extreme_points import pad_points
from credalens.sets.set_functions import coherent, event_dot
from credalens.sets.support import SupportSet, native_largest_bounds
from credalens.sets.thresholded_additive import size_weights


def _native_hartley(Q: Any, w: Array) -> Any:
    weights = native.asarray_like(np.asarray(w)[event_sizes(Q.n_classes)], Q._values)
    xp = namespace(Q._values)
    inner = xp.sum(native.widen(Q._values) * weights, axis=-1)
    return xp.clip(math.log2(Q.n_classes) - inner, 0.0, None)


def _native_tv_diameter(Q: Any) -> tuple[Any, Any]:
    values = native.widen(Q._values)
    xp = namespace(values)
    wide = xp.max(1 - xp.flip(values, axis=-1) - values, axis=-1)
    return wide, wide


class LowerProbability(SupportSet):
    """All distributions with ``p(B) >= values[B]`` for every event B.

    Parameters
    ----------
    values : array-like of shape (..., 2**K)
        Lower probabilities; class y is bit y of the index, so that ``values[5]`` is that of the
        event {0, 2}.
    validate : bool, default=True
        Validate that they are normalised, monotone and coherent, i.e. that every value is attained.

    Notes
    -----
    2-monotone lower probabilities have closed forms: a lower expectation is a Choquet integral,
    and the distribution of largest entropy is found by a greedy algorithm. Others take a linear
    program for each expectation, and their validation one for each event: some tenths of a second
    per instance at 7 classes, some seconds at 10. Their smallest entropy, and the diameters of
    other distances, come from their extreme points, which the double description method lists; it
    is meant for up to 7 classes.

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

    core_ndims: ClassVar[tuple[int, ...]] = (1,)
    array_names: ClassVar[tuple[str, ...]] = ("values",)

    def __init__(self, values: Any, *, validate: bool = True) -> None:
        self._init_arrays(values, validate=validate)

    def _validate(self, values: Any, *, validate: bool) -> tuple[Array, ...]:
        array = by_event(values, "values", finite=not validate)
        if validate:
            rounding = _validation.half_rounding(values)
            array, self.__dict__["_monotone"] = coherent(array, rounding)
        return (array,)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self._arrays[0].shape[-1]).bit_length() - 1

    @property
    def values(self) -> Any:
        """The lower probability of every event, ``(..., 2**K)``."""
        return self.lower_probabilities()

    @property
    def _values(self) -> Any:
        return self._arrays[0]

    @property
    def _parts(self) -> tuple[Array, ...]:
        return (self._values,)

    @primitive("Q->(2^k)", native=lambda Q: native.copy(Q._values))
    def lower_probabilities(self) -> Any:
        return np.asarray(self._values, self.dtype)

    @cached_property
    def _monotone(self) -> Array:
        """Whether each set is 2-monotone."""
        return two_monotone(self._values)

    @cached_property
    def _all_monotone(self) -> bool:
        """Whether all sets are 2-monotone."""
        return bool(self._monotone.all())

    @primitive("Q->()")
    def is_two_monotone(self) -> Any:
        return self._monotone

    def _class_bounds(self) -> tuple[Any, Any]:
        values, K = self._values, self.n_classes
        single = [1 << y for y in range(K)]
        others = [(1 << K) - 1 - event for event in single]
        if is_tensor(values):
            xp = namespace(values)
            low, rest = (
                xp.stack([values[..., event] for event in events], axis=-1)
                for events in (single, others)
            )
            return low, 1 - rest
        return values[..., single], 1 - values[..., others]

    @primitive("Q->(),()", native=native_largest_bounds)
    def _largest_class_bounds(self) -> tuple[Any, Any]:
        lower, upper = self._map_events(_kernels.max_class_bounds, 2)
        return lower, upper

    def _map_events(self, kernel: Callable[..., Any], n_outputs: int) -> list[Any]:
        """Run a kernel for both precisions that has one value of each instance as outputs."""
        return map_instances(
            kernel, self._parts, [()] * n_outputs, (1,), dtype=np.float64, large=True,
            arguments=(DEFAULT_THREADS,),
        )  # fmt: skip

    @primitive("Q->(f)")
    def lower_probability(self, event: Any) -> Any:
        return np.asarray(self._values[..., self._event_index(event)], self.dtype)[()]

    @primitive("Q->(f)")
    def upper_probability(self, event: Any) -> Any:
        others = (1 << self.n_classes) - 1 - self._event_index(event)
        return np.asarray(1 - self._values[..., others], self.dtype)[()]

    def _event_index(self, event: Any) -> Any:
        inside = _validation.event(event, self.n_classes).astype(np.int64)
        return inside @ (1 << np.arange(self.n_classes))

    def _maximiser(self, f: Array, *parts: Array) -> Array:
        return self._certified_maximiser(f, *parts)[0]

    def _certified_maximiser(self, f: Array, *parts: Array) -> tuple[Array, Array]:
        (values,) = parts
        best, short = self._marginals(f, values), np.zeros(len(values))
        if not self._all_monotone:
            for i in np.flatnonzero(~two_monotone(values)):
                core = Core(values[i], self.n_classes)
                own = core.certified_maximiser(f if f.ndim == 1 else f[i])
                if own is not None:  # the core of values that were not validated may be empty
                    best[i], short[i] = own
        return best, short

    def _marginals(self, f: Array, values: Array) -> Array:
        """Return the maximisers of 2-monotone sets, the marginal vectors of the order of f."""
        order = np.broadcast_to(
            np.argsort(f, axis=-1, kind="stable"), (len(values), self.n_classes)
        )
        nested = np.cumsum(1 << order, axis=1)
        steps = np.diff(np.take_along_axis(values, nested, axis=1), axis=1, prepend=0.0)
        best = np.empty_like(steps)
        np.put_along_axis(best, order, steps, axis=1)
        return best

    def _line_kernel(self) -> Callable[..., None] | None:
        return _kernels.events_line if self._all_monotone else None

    # From the extreme points: a maximiser may be a linear programme for each instance.
    min_norm_point = CredalSet.min_norm_point
    max_zero_one_divergence = CredalSet.max_zero_one_divergence

    @primitive("Q->(),()")
    def _minimax(self) -> tuple[Any, Any]:
        if not self._all_monotone:
            value, gap = self.maximin(1.0 - np.eye(self.n_classes))
            return 1.0 - value, gap
        (value,) = self._map(_kernels.max_event_mean, [()], arguments=(DEFAULT_THREADS,))
        return value, native.zeros_like(value)

    @primitive("Q->(),()", native=_native_tv_diameter)
    def tv_diameter_bounds(self) -> tuple[Any, Any]:
        """Return ``max_A upper(A) - lower(A)`` twice: exact for coherent lower probabilities."""
        (wide,) = self._map_events(_kernels.max_event_width, 1)
        return wide, wide

    @primitive("Q->(),()")
    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the largest entropy in nats, its gap and, if requested, the maximiser.

        For 2-monotone sets exact and O(K 2^K): the event of the largest mean lower probability gets
        it, uniformly; the same is repeated with the remaining classes.
        """
        monotone = self._all_monotone

        def kernel(values: Array, value: Array, error: Array, where: Any) -> None:
            if monotone:
                _kernels.capacity_max_entropy(values, value, where, DEFAULT_THREADS)
                error.fill(0.0)
                return
            maximiser = self._maximiser_of([values])
            value[:], error[:], best = largest_entropy(maximiser, len(values), self.n_classes)
            if where is not None:
                where[:] = best

        return self._map_entropy(kernel, distribution)

    @primitive("Q->(),()")
    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest entropy in nats, its error and, if requested, the minimiser.

        The extreme points of 2-monotone sets belong to orders of the classes; a shortest path
        through the events finds the best one. Exact, O(K 2^K).
        """
        if not self._all_monotone:
            return super().min_entropy(distribution=distribution)

        def kernel(values: Array, value: Array, error: Array, where: Any) -> None:
            best = np.empty((len(values), self.n_classes)) if where is None else where
            _kernels.capacity_min_entropy(values, value, best, DEFAULT_THREADS)
            error.fill(0.0)

        return self._map_entropy(kernel, distribution)

    @primitive("Q->()", native=_native_hartley)
    def hartley_exact(self, w: Array) -> Any:
        inner = event_dot(self._values, np.asarray(w)[event_sizes(self.n_classes)])
        return np.maximum(math.log2(self.n_classes) - inner, 0.0)

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, max_pairs: int
    ) -> tuple[Any, Any]:
        """Return `hartley_exact`, as the values of all events are known, with error 0."""
        value = self.hartley_exact(size_weights(log_v))
        return value, native.zeros_like(value)

    @primitive("Q,(k)->()")
    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        target, limit = self._validate_point(p, tolerance)
        return (event_sums(target.astype(np.float64)) >= self._values - limit).all(axis=-1)

    def _contains_set(self, inner: CredalSet, tolerance: float) -> Array:
        inside = inner.lower_probabilities() >= self._values - tolerance
        return np.asarray(inside.all(axis=-1))

    @primitive("Q->(k)")
    def center(self) -> Any:
        """Return the Shapley value, the mean of the marginal vectors over all orders.

        For a set that is not 2-monotone, the mean of the members with the largest and the smallest
        probability of each class.
        """
        K, values = self.n_classes, self._values.astype(np.float64)
        sizes = event_sizes(K)
        weight = np.array(
            [1 / (K * math.comb(K - 1, size)) if size < K else 0.0 for size in range(K + 1)]
        )[sizes]
        events = np.arange(len(sizes))
        mean = np.empty((*self.batch_shape, K))
        for y in range(K):
            without = events[events >> y & 1 == 0]
            gain = values[..., without | 1 << y] - values[..., without]
            mean[..., y] = (gain * weight[without]).sum(axis=-1)
        for i in map(tuple, np.argwhere(~self._monotone)):
            core = Core(values[i], K)
            found = (core.maximiser(f) for f in np.concatenate([np.eye(K), -np.eye(K)]))
            members = [p for p in found if p is not None]
            mean[i] = np.mean(members, axis=0) if members else mean[i]
        np.maximum(mean, 0.0, out=mean)  # rounding may leave less for a class without mass
        return mean.astype(self.dtype)

    def _validated_translation(self, t: Any) -> Array:
        shift = self._validate_shift(t)
        low = self._class_bounds()[0].astype(np.float64)
        self._clip_to_simplex(low + shift, "lower probability")
        return shift

    @primitive("Q,(k)->Q")
    def translate(self, t: Any) -> Self:
        values = self._values + event_sums(self._validated_translation(t))
        values[..., 0], values[..., -1] = 0.0, 1.0
        return self._from_validated((np.maximum(values, 0.0).astype(self.dtype),), NUMPY)

    @primitive("Q->(v,k)")
    def extreme_points(self) -> Any:
        """Return the extreme points, ``(..., V, K)``.

        Those of a 2-monotone set are its distinct marginal vectors over the K! orders; those of
        others are listed by the double description method. An instance with fewer than V repeats
        its first one. Raises ValueError if an instance has more than a million.
        """
        return self._vertices.copy()

    @cached_property
    def _vertices(self) -> Array:
        flat = np.asarray(self._values, np.float64).reshape(-1, 1 << self.n_classes)
        points = [
            (marginal_vertices if monotone else core_vertices)(values, self.n_classes)
            for values, monotone in zip(flat, self._monotone.ravel(), strict=True)
        ]
        return pad_points(points, self.batch_shape, self.n_classes, self.dtype)
