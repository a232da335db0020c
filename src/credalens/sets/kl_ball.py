"""Kullback-Leibler balls round one distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _kernels
from credalens._backend import (
    DEFAULT_THREADS,
    Array,
    primitive,
)
from credalens._edges import Edges
from credalens.sets import exponential_tilting as tilting
from credalens.sets.base import CredalSet
from credalens.sets.kl_ball_events import KLBallEvents


class KLBall(KLBallEvents):
    """All distributions p with ``KL(p || center) <= radius``, in bits.

    Parameters
    ----------
    center : array-like of shape (..., K)
        The center.
    radius : array-like of shape (...)
        Largest Kullback-Leibler divergence ``sum_y p_y log2(p_y / center_y)``, at least 0. An
        infinite radius stands for all distributions.
    normalize : bool, default=False
        Divide each row by its sum first.
    validate : bool, default=True
        ``False`` skips the validation of the centers.

    Notes
    -----
    The center is the second argument of the divergence: with a finite radius, a class that has
    probability 0 in the center has probability 0 in every member. A radius of at least
    ``-log2 center_y`` contains the Dirac measure of class y.

    The ball is not a polytope: with more than two classes it has infinitely many extreme points,
    and queries that need them raise a ValueError. These need none:

    - Expectations, and with them risks and decision rules: the member with the largest expectation
      of f is proportional to ``center exp(theta f)``. One root for each expectation.
    - Probabilities of events: the same for two classes. The lower probability is a convex function
      of the center's probability, hence 2-monotone.
    - The smallest largest probability: ``min(t, s center)``, in O(K log K) and one root.
    - The largest and the smallest entropy: a power of the center, below and above 1.
    - The diameter in total variation: that of the event whose probability is closest to 1/2.

    Roots are computed up to rounding; gaps are those of the dual problems. O(K) for each of about 7
    Newton steps.

    References
    ----------
    I. Csiszar (1975), "I-divergence geometry of probability distributions and minimization
    problems".

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.KLBall([0.5, 0.3, 0.2], radius=0.05)
    >>> Q.lower().round(4), Q.upper().round(4)
    (array([0.3691, 0.1848, 0.1026]), array([0.6309, 0.4245, 0.3115]))
    >>> u = cl.quantify(Q)
    >>> print(f"{u.total:.4f} {u.aleatoric.upper:.4f} {u.epistemic:.4f}")
    0.6309 0.6304 0.1309
    """

    _why_no_points = "a Kullback-Leibler ball infinitely many extreme points"
    _unit = ", in bits"

    def _maximiser(self, f: Array, *parts: Array) -> Array:
        center, radius = self._in_nats(*parts)
        return tilting.tilted(center, f, radius)[0]

    # ---- expectations

    def _class_bound(self, upper: bool, dtype: Any = None) -> Array:
        if self.n_classes == 1:
            return np.ones((*self.batch_shape, 1), dtype or self.dtype)

        def kernel(center: Array, radius: Array, bound: Array) -> None:
            center, radius = self._in_nats(center, radius)
            # Sums of the other classes: 1 - center would cancel.
            before = np.cumsum(center, axis=1) - center
            before[:, 1:] = np.cumsum(center[:, :-1], axis=1)
            after = np.zeros_like(center)
            after[:, :-1] = np.cumsum(center[:, :0:-1], axis=1)[:, ::-1]
            bound[:] = tilting.event_bound(center, before + after, radius[:, None], upper=upper)

        return np.asarray(self._map(kernel, [(self.n_classes,)], dtype or self.dtype)[0])

    @primitive("Q->(),()")
    def _largest_class_bounds(self) -> tuple[Any, Any]:
        """Return the bounds of the most probable class of the center, which are the largest."""
        if self.n_classes == 1:
            return np.ones(self.batch_shape), np.ones(self.batch_shape)

        def kernel(center: Array, radius: Array, low: Array, high: Array) -> None:
            center, radius = self._in_nats(center, radius)
            rest = np.sort(center, axis=1)
            top, others = rest[:, -1].copy(), rest[:, :-1].sum(axis=1)
            for bound, upper in ((low, False), (high, True)):
                bound[:] = tilting.event_bound(top, others, radius, upper=upper)

        low, high = self._map(kernel, [(), ()])
        return low, high

    def choquet_is_lower(self) -> Array:
        """Return False, but for sets of one or two classes, of one member or of all.

        Other balls do not contain all distributions that dominate their lower probability.
        """
        radius = np.asarray(self.to_numpy_backed()._arrays[1])
        return np.asarray((radius == 0) | np.isinf(radius) | (self.n_classes <= 2))

    # ---- total variation

    @primitive("Q->(),()")
    def maximin(self, cost: Array | Edges | None = None) -> tuple[Any, Any]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its duality gap.

        In closed form up to one root for the default cost, otherwise by column generation.
        """
        return super().maximin(cost)

    @primitive("Q->(),()")
    def _minimax(self) -> tuple[Any, Any]:
        def kernel(center: Array, radius: Array, value: Array, gap: Array) -> None:
            value[:], gap[:] = tilting.smallest_maximum(*self._in_nats(center, radius))

        value, gap = self._map(kernel, [(), ()])
        return value, gap

    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Any, Any, Any]:
        self._raise_gradient()
        return super().tv_closed_forms(epistemic=epistemic)

    def _raise_gradient(self) -> None:
        if self.backend.grad:
            self.detached("uncertainty of a Kullback-Leibler ball")

    @primitive("Q->(),()")
    def tv_diameter_bounds(self) -> tuple[Any, Any]:
        """Return bounds of ``max_A upper(A) - lower(A)``.

        The difference increases with the smaller of the center's probabilities of A and of its
        complement. Equal if the subset search is exact.
        """
        if self.n_classes == 1:
            return np.zeros(self.batch_shape), np.zeros(self.batch_shape)

        def kernel(center: Array, radius: Array, least: Array, most: Array) -> None:
            center, radius = self._in_nats(center, radius)
            half = np.full(len(center), 0.5)
            _kernels.balanced_partition(center, half, least, most, DEFAULT_THREADS)
            # If one class has at least half of the mass, it is the event: the sum of the others is
            # exact, however small.
            rising = np.sort(center, axis=1)
            rest = rising[:, :-1].sum(axis=1)
            for bound in (least, most):
                np.copyto(bound, rest, where=rising[:, -1] >= 0.5)
                high = tilting.event_bound(bound, 1 - bound, radius, upper=True)
                high -= tilting.event_bound(bound, 1 - bound, radius, upper=False)
                bound[:] = high

        least, most = self._map(kernel, [(), ()])
        return least, most

    # ---- entropy

    @primitive("Q->(),()")
    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the largest entropy in nats, its duality gap and, if requested, the maximiser.

        A power of the center between 0 and 1.
        """
        return self._extreme_power(tilting.largest_entropy, distribution)

    @primitive("Q->(),()")
    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest entropy in nats, its error and, if requested, the minimiser.

        A power of the center of at least 1, or some of the most probable classes.
        """
        return self._extreme_power(tilting.smallest_entropy, distribution)

    def _extreme_power(self, solve: Any, distribution: bool) -> tuple[Any, ...]:
        def kernel(center: Array, radius: Array, value: Array, error: Array, where: Any) -> None:
            value[:], error[:], p = solve(*self._in_nats(center, radius))
            if where is not None:
                where[:] = p

        return self._map_entropy(kernel, distribution)

    # ---- geometry

    @primitive("Q,(k)->()")
    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        target, limit = self._validate_point(p, tolerance)
        center, radius = self._in_nats(*self._wide_arrays())
        target = target.astype(np.float64, copy=False)
        # A member that is at most the tolerance away, if there is one, is towards the center.
        apart = np.abs(center - target).max(axis=-1, keepdims=True)
        share = np.minimum(limit / np.maximum(apart, limit or 1.0), 1.0)
        near = (1 - share) * target + share * center
        near = np.where((center == 0) & (near <= limit), 0.0, near)
        return tilting.divergence(near, center) <= radius[..., 0]

    @primitive("Q,(k)->(),()")
    def tv_distance(self, p: Any) -> tuple[Any, Any]:
        target, _ = self._validate_point(p, None)
        center, radius = self._in_nats(*self._wide_arrays())
        shape = np.broadcast_shapes(target.shape, center.shape)
        rows = [np.broadcast_to(x, shape).reshape(-1, shape[-1]) for x in (target, center)]
        limit = np.broadcast_to(radius[..., 0], shape[:-1]).reshape(-1)
        distance, error = tilting.nearest_distance(rows[0].astype(np.float64), rows[1], limit)
        return distance.reshape(shape[:-1]), error.reshape(shape[:-1])

    def _contains_set(self, inner: CredalSet, tolerance: float) -> Array:
        if isinstance(inner, KLBall):
            return self._contains_ball(inner, tolerance)
        return super()._contains_set(inner, tolerance)

    def _contains_ball(self, inner: KLBall, tolerance: float) -> Array:
        """Return whether each ball of `inner` is in the ball of this set."""
        lead = np.broadcast_shapes(self.batch_shape, inner.batch_shape)
        inside = np.empty(lead, bool)
        outer, own = (self._in_nats(*Q._wide_arrays()) for Q in (self, inner))
        (other, limit), (center, radius) = (
            (np.broadcast_to(p, (*lead, self.n_classes)), np.broadcast_to(r[..., 0], lead))
            for p, r in (outer, own)
        )
        for i in np.ndindex(lead):
            largest = tilting.largest_divergence(center[i], float(radius[i]), other[i])
            inside[i] = largest <= limit[i] + tolerance
        return inside
