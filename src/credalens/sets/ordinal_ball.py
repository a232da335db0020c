"""Wasserstein balls round one distribution of ordered classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array, map_instances, primitive, rows_in_cache
from credalens._edges import Edges
from credalens.sets import column_generation
from credalens.sets.events import event_count, event_sums
from credalens.sets.ordinal_transport import event_upper, transported, vertex_candidates
from credalens.sets.radius_ball import RadiusBall
from credalens.sets.set_functions import event_dot
from credalens.sets.support import entropy
from credalens.sets.thresholded_additive import size_weights

#: Largest number of classes for which all extreme points are enumerated.
MAX_ENUMERATED = 6
#: Largest number of classes for which all events are enumerated.
MAX_EVENTS = 14


class OrdinalBall(RadiusBall):
    """All distributions within Wasserstein-1 distance `radius` of a center, for ordered classes.

    Parameters
    ----------
    center : array-like of shape (..., K)
        The center; classes in their order.
    radius : array-like of shape (...)
        Largest cost of transport, ``sum_k |F_p(k) - F_center(k)|`` with cumulative probabilities,
        at least 0. A radius of ``K - 1`` contains all distributions.
    normalize : bool, default=False
        Divide each row by its sum first.
    validate : bool, default=True
        ``False`` skips the validation of the centers.

    Notes
    -----
    The largest expectation of f is a fractional knapsack: mass of class y can move to class z at
    cost ``|y - z|`` with the gain ``f_z - f_y``, best gain per cost first, in O(K^3 log K). The
    upper entropy and games are solved by column generation, with duality gaps. The diameter in
    total variation and the Hartley measure are exact for up to 14 classes. The lower entropy is
    exact for up to 6 classes. Beyond, it is a local optimum, whose certified error is the distance
    to the lower entropy of the smallest probability intervals.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.OrdinalBall([0.6, 0.3, 0.1], radius=0.2)
    >>> Q.lower().round(3), Q.upper().round(3)
    (array([0.4, 0.1, 0. ]), array([0.8, 0.5, 0.3]))
    """

    _why_no_points = "the extreme points of a Wasserstein ball are too many to list"

    @property
    def _floats(self) -> int:
        return 4 * self.n_classes**3

    @property
    def _parts(self) -> tuple[Array, ...]:
        center, radius = self._wide_arrays()  # rows in single precision do not sum to 1
        return center / center.sum(axis=-1, keepdims=True), radius[..., 0]

    def _maximiser(self, f: Array, *parts: Array) -> Array:
        center, radius = parts
        return transported(center, np.broadcast_to(f, center.shape), radius)

    # ---- expectations

    def _class_bound(self, upper: bool, dtype: Any = None) -> Array:
        K = self.n_classes
        if K == 1:
            return np.ones((*self.batch_shape, 1), dtype or self.dtype)

        def kernel(center: Array, radius: Array, bound: Array) -> None:
            for y, inside in enumerate(np.eye(K, dtype=bool)):
                own = event_upper(center, radius, inside if upper else ~inside)
                bound[:, y] = own if upper else np.maximum(1 - own, 0.0)

        return np.asarray(self._map(kernel, [(K,)], dtype or self.dtype)[0])

    @primitive("Q->(),()")
    def _largest_class_bounds(self) -> tuple[Any, Any]:
        low, high = self._class_bounds()
        return low.max(axis=-1), high.max(axis=-1)

    @primitive("Q->(2^k)")
    def lower_probabilities(self) -> Any:
        K = self.n_classes
        event_count(K, self.batch_shape)

        def kernel(center: Array, radius: Array, values: Array) -> None:
            for event in range(1 << K):
                outside = (event >> np.arange(K) & 1) == 0
                values[:, event] = np.maximum(1 - event_upper(center, radius, outside), 0.0)
            values[:, 0], values[:, -1] = 0.0, 1.0

        return self._map(kernel, [(1 << K,)], self.dtype)[0]

    def choquet_is_lower(self) -> Array:
        """Return False: balls may not contain all that dominates their lower probability."""
        return np.full(self.batch_shape, self.n_classes <= 2)

    # ---- total variation

    @primitive("Q->(),()")
    def maximin(self, cost: Array | Edges | None = None) -> tuple[Any, Any]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its duality gap.

        By column generation.
        """
        return super().maximin(cost)

    @primitive("Q->(),()")
    def _minimax(self) -> tuple[Any, Any]:
        value, gap = super().maximin(1 - np.eye(self.n_classes))
        return 1 - np.asarray(value, np.float64), np.asarray(gap, np.float64)

    @primitive("Q->(),()")
    def tv_diameter_bounds(self) -> tuple[Any, Any]:
        """Return bounds of ``max_A upper(A) - lower(A)``, equal for up to 14 classes.

        Beyond, the largest over the events of one class and of the first classes, and twice the
        radius.
        """
        K = self.n_classes
        if K == 1:
            return np.zeros(self.batch_shape), np.zeros(self.batch_shape)
        if K <= MAX_EVENTS:
            events = (np.arange(1, 1 << (K - 1))[:, None] >> np.arange(K) & 1).astype(bool)
        else:
            events = np.concatenate([np.eye(K, dtype=bool), np.tri(K, dtype=bool)[:-1]])

        def kernel(center: Array, radius: Array, least: Array, most: Array) -> None:
            least.fill(0.0)
            for inside in events:
                width = event_upper(center, radius, inside) - 1
                width += event_upper(center, radius, ~inside)
                np.maximum(least, width, out=least)
            most[:] = least if K <= MAX_EVENTS else np.minimum(2 * radius, 1.0)

        least, most = self._map(kernel, [(), ()])
        return least, most

    # ---- entropy and Hartley

    @primitive("Q->(),()")
    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the largest entropy in nats, its duality gap and, if requested, the maximiser.

        By column generation.
        """
        K = self.n_classes

        def kernel(*parts: Array) -> None:
            *inputs, value, gap, where = parts
            found = column_generation.largest_entropy(self._maximiser_of(inputs), len(value), K)
            value[:], gap[:] = found[:2]
            if where is not None:
                where[:] = found[2]

        return self._map_entropy(kernel, distribution)

    @primitive("Q->(),()")
    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest entropy in nats, its error and, if requested, the member.

        For up to 6 classes the smallest of all extreme points. Beyond, the best one that linear
        steps from the members with the largest probability of each class lead to; no member has
        less entropy than the value minus the error, the value of the smallest probability
        intervals.
        """
        K = self.n_classes

        def kernel(*parts: Array) -> None:
            *inputs, value, _, where = parts
            if K <= MAX_ENUMERATED:
                own, best = _smallest_of_vertices(*inputs)
            else:
                own, best = _local_minimum(self._maximiser_of(inputs), len(value), K)
            value[:] = own
            if where is not None:
                where[:] = best

        value, _, *where = self._map_entropy(kernel, distribution)
        bound = value if K <= MAX_ENUMERATED else self.to_intervals().min_entropy()[0]
        return value, np.maximum(value - bound, 0.0), *where

    @primitive("Q->()")
    def hartley_exact(self, w: Array) -> Any:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, for at most 14 classes."""
        K = self.n_classes
        if K > MAX_EVENTS:
            _validation.raise_invalid(
                "Q",
                f"has {K} classes, and the Hartley measure is a sum over 2**{K} events",
                f"pass at most {MAX_EVENTS} classes",
            )
        sizes = event_sums(np.ones(K)).astype(np.int64)
        values = np.asarray(self.lower_probabilities(), np.float64)
        total = event_dot(values, np.asarray(w, np.float64)[sizes])
        return np.maximum(np.log2(K) - total, 0.0)

    @primitive("Q->(),()")
    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, max_pairs: int
    ) -> tuple[Any, Any]:
        """Return `hartley_exact` with error 0."""
        value = self.hartley_exact(size_weights(log_v))
        return value, np.zeros_like(value)

    @primitive("Q,(k)->()")
    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        target, limit = self._validate_point(p, tolerance)
        center, radius = self._wide_arrays()
        apart = np.abs(np.cumsum(target - center, axis=-1)[..., :-1]).sum(axis=-1)
        return apart <= radius[..., 0] + limit

    @primitive("Q,(k)->(),()")
    def tv_distance(self, p: Any) -> tuple[Any, Any]:
        target, _ = self._validate_point(p, None)
        center, radius = self._parts
        K = self.n_classes
        shape = np.broadcast_shapes(target.shape, center.shape)
        limits = np.broadcast_to(radius, shape[:-1])[..., None]
        inputs = [np.broadcast_to(x, shape) for x in (target, center)]

        def kernel(goal: Array, own: Array, limit: Array, distance: Array, error: Array) -> None:
            maximiser = self._maximiser_of([own, limit[:, 0]])
            distance[:], error[:] = column_generation.nearest_in_total_variation(maximiser, goal)

        distance, error = map_instances(
            kernel, [*inputs, limits], [(), ()], (1, 1, 1),
            dtype=np.float64, block_dtype=np.float64, rows=rows_in_cache(4 * K**3),
        )  # fmt: skip
        return distance, error


def _local_minimum(maximiser: column_generation.Maximiser, n: int, K: int) -> tuple[Array, Array]:
    """Return the smallest entropy found by linear steps from K members, and its distribution.

    The entropy is concave: the member that minimises its linearisation has a smaller one.
    """
    rows = np.arange(n)
    value, best = np.full(n, np.inf), np.empty((n, K))
    for f in np.eye(K):
        p = maximiser(f, rows)
        own = entropy(p)
        for _ in range(20):
            step = maximiser(np.log(np.maximum(p, column_generation.TINY)), rows)
            after = entropy(step)
            better = after < own - 1e-14
            if not better.any():
                break
            p[better], own[better] = step[better], after[better]
        found = own < value
        value[found], best[found] = own[found], p[found]
    return value, best


def _smallest_of_vertices(center: Array, radius: Array) -> tuple[Array, Array]:
    """Return the smallest entropy of the extreme points of each ball, and its distribution."""
    value, best = np.empty(len(center)), np.empty_like(center)
    for i, (p, r) in enumerate(zip(center, radius, strict=True)):
        points = vertex_candidates(p, float(r))
        own = entropy(points)
        value[i], best[i] = own.min(), points[own.argmin()]
    return value, best
