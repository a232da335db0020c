"""Neighbourhoods of one distribution: contamination models and total variation balls."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, Array
from credalens.sets.anywhere import wherever
from credalens.sets.base import CredalSet, HasDiameter, is_tv
from credalens.sets.centered import Neighbourhood
from credalens.sets.events import event_sums
from credalens.sets.excess import ExcessSet
from credalens.sets.intervals import ProbabilityIntervals, box_corners, padded
from credalens.sets.support import entropy, largest
from credalens.sets.tensor_sets import TensorBall, TensorContamination

#: Up to so many classes, the least probable ones of a ball are looked for one by one; more are
#: sorted.
MOST_SEARCHED = 64


class Contamination(Neighbourhood):
    """All ``(1 - epsilon) center + epsilon q``, q any distribution.

    Parameters
    ----------
    center : array-like of shape (..., K)
        The distribution that is trusted up to `epsilon`.
    epsilon : array-like of shape (...)
        Share that may be anything, in [0, 1].
    normalize : bool, default=False
        Divide each row by its sum first.
    validate : bool, default=True
        Pass ``False`` for centres that are known to be distributions.

    Notes
    -----
    A simplex with K corners; every measure has a closed form.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.Contamination([0.5, 0.3, 0.2], epsilon=0.1)
    >>> Q.lower()
    array([0.45, 0.27, 0.18])
    >>> round(float(cl.epistemic_uncertainty(Q)), 6)
    0.05
    """

    _size_name: ClassVar[str] = "epsilon"
    _is_ball: ClassVar[bool] = False

    @wherever(1, 0)
    def __init__(
        self, center: Any, epsilon: Any, *, normalize: bool = False, validate: bool = True
    ) -> None:
        super().__init__(center, epsilon, normalize=normalize, validate=validate)

    def _there(self) -> TensorContamination:
        return TensorContamination(self._parts, self.origin, self.n_classes)

    @property
    def epsilon(self) -> Any:
        """The share that may be anything, ``(...)``."""
        return self.origin.wrap(np.asarray(self._parts[1]))

    @staticmethod
    def _low_end(center: Array, size: Array) -> Array:
        return np.asarray((1 - size) * center)

    @staticmethod
    def _high_end(center: Array, size: Array) -> Array:
        return np.asarray(np.minimum((1 - size) * center + size, 1.0))

    def lower_sum(self) -> Array:
        """Return the sum of the lower probabilities of the classes, float64."""
        return 1.0 - self._parts[1].astype(np.float64) * (self.n_classes > 1)

    def _best(self, f: Array, *parts: Array) -> Array:
        center, epsilon = parts
        best = (1 - epsilon)[:, None] * center
        top = np.broadcast_to(f.argmax(axis=-1), len(best))
        best[np.arange(len(best)), top] += epsilon
        return best

    def _minimax(self) -> Array:
        epsilon = self._parts[1].astype(np.float64, copy=False)
        return np.maximum((1 - epsilon) * largest(self._parts[0]), 1 / self.n_classes)

    def _tv_bounds(self) -> tuple[Array, Array]:
        wide = self._parts[1].astype(np.float64) * (self.n_classes > 1)
        return wide, wide

    def diameter(self, distance: HasDiameter) -> Array:
        """Return the largest distance between two members.

        Integral probability metrics are norms of ``p - q``: epsilon times the largest distance
        between two classes.
        """
        apart = float(self.n_classes > 1)
        between = apart if is_tv(distance) else float(distance.diameter(np.eye(self.n_classes)))
        return np.asarray(self._parts[1] * between, self.dtype)

    def hartley_exact(self, w: Array) -> Array:
        """Return the generalized Hartley measure in bits: ``epsilon log2 K``."""
        return self._parts[1].astype(np.float64) * math.log2(self.n_classes)

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, most: int
    ) -> tuple[Array, Array]:
        """Return `hartley_exact`, for any number of classes, with error 0."""
        value = self.hartley_exact(log_v)
        return value, np.zeros_like(value)

    def lower_probabilities(self) -> Any:
        """Return the lower probability of every event, ``(..., 2**K)``: class y is bit y."""
        center, epsilon = self._data()
        values = (1 - epsilon) * event_sums(center)
        values[..., -1] = 1.0
        return self.origin.wrap(values.astype(self.dtype, copy=False))

    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        """Say whether `p` is in the set, up to `tolerance`; see `CredalSet.contains`."""
        target, limit = self._target(p, tolerance)
        center, epsilon = self._data()
        inside = (target >= (1 - epsilon) * center - limit).all(axis=-1)
        return self.origin.wrap(np.asarray(inside))

    def _holds(self, inner: CredalSet, tolerance: float) -> Array:
        return np.asarray((inner.lower() >= self._class_lower() - tolerance).all(axis=-1))

    def translate(self, t: Any) -> Self:
        """Return the set moved by `t`, ``(K,)`` or ``(..., K)``, whose entries sum to 0.

        Refused if a lower probability would become negative.
        """
        shift = self._shift(t)
        center, epsilon = self._data()
        low = self._in_simplex((1 - epsilon) * center + shift)
        moved = low / np.where(epsilon < 1, 1 - epsilon, 1.0)
        moved = np.where(epsilon < 1, moved, center).astype(self.dtype)
        return self._of((moved, np.broadcast_to(self._parts[1], moved.shape[:-1])), self.origin)

    def extreme_points(self) -> Any:
        """Return the K corners, ``(..., K, K)``: all of epsilon on one class."""
        center, epsilon = self._data()
        corners = ((1 - epsilon) * center)[..., None, :] + epsilon[..., None] * np.eye(
            self.n_classes
        )
        return self.origin.wrap(np.asarray(corners, self.dtype))

    def to_intervals(self) -> ProbabilityIntervals:
        """Return the same set as probability intervals."""
        return ProbabilityIntervals(self.lower(), self.upper())


class TotalVariationBall(Neighbourhood, ExcessSet):
    """All distributions within total variation `radius` of a centre.

    Parameters
    ----------
    center : array-like of shape (..., K)
        The distribution in the middle.
    radius : array-like of shape (...)
        Largest difference in the probability of an event, in [0, 1].
    normalize : bool, default=False
        Divide each row by its sum first.
    validate : bool, default=True
        Pass ``False`` for centres that are known to be distributions.

    Notes
    -----
    ``lower(B) = max(0, center(B) - radius)`` for all events but the sure one, a 2-monotone lower
    probability. The ball is smaller than its box: `to_intervals` may hold distributions of much
    higher entropy.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.TotalVariationBall([0.4, 0.4, 0.1, 0.1], radius=0.15)
    >>> round(float(cl.upper_entropy(Q)), 4)
    1.9341
    """

    _size_name: ClassVar[str] = "radius"
    _is_ball: ClassVar[bool] = True

    @wherever(1, 0)
    def __init__(
        self, center: Any, radius: Any, *, normalize: bool = False, validate: bool = True
    ) -> None:
        super().__init__(center, radius, normalize=normalize, validate=validate)

    def _there(self) -> TensorBall:
        return TensorBall(self._parts, self.origin, self.n_classes)

    @property
    def radius(self) -> Any:
        """The radius, ``(...)``."""
        return self.origin.wrap(np.asarray(self._parts[1]))

    @staticmethod
    def _low_end(center: Array, size: Array) -> Array:
        return np.asarray(np.maximum(center - size, 0.0))

    @staticmethod
    def _high_end(center: Array, size: Array) -> Array:
        return np.asarray(np.minimum(center + size, 1.0))

    def lower_sum(self) -> Array:
        """Return the sum of the lower probabilities of the classes, float64."""
        if self.n_classes == 1:
            return np.ones(self.batch_shape)

        def kernel(center: Array, radius: Array) -> tuple[Array]:
            value = np.empty(len(center))
            _kernels.ball_lower_sum(center, radius, value, AS_WANTED)
            return (value,)

        return self._each(kernel, [()])[0]

    def _best(self, f: Array, *parts: Array) -> Array:
        center, radius = parts
        order = np.broadcast_to(np.argsort(f, axis=-1, kind="stable"), center.shape)
        mass = np.take_along_axis(center, order, axis=1)
        # The radius is taken from the smallest f and given to the largest.
        taken = np.clip(radius[:, None] - (np.cumsum(mass, axis=1) - mass), 0.0, mass)
        mass -= taken
        mass[:, -1] += taken.sum(axis=1)
        best = np.empty_like(center)
        np.put_along_axis(best, order, mass, axis=1)
        return best

    def _minimax(self) -> Array:
        def kernel(center: Array, radius: Array) -> tuple[Array]:
            value = np.empty(len(center))
            _kernels.ball_minimax(center, radius, value, AS_WANTED)
            return (value,)

        return self._each(kernel, [()])[0]

    def _tv_bounds(self) -> tuple[Array, Array]:
        """``min(1, radius + max_A min(p(A), 1 - p(A), radius))``: by an exact subset search."""

        def kernel(center: Array, radius: Array) -> tuple[Array, Array]:
            lower, upper = np.empty((2, len(center)))
            _kernels.balanced_subsets(center, radius, lower, upper, AS_WANTED)
            return np.minimum(radius + lower, 1.0), np.minimum(radius + upper, 1.0)

        if self.n_classes == 1:
            return np.zeros(self.batch_shape), np.zeros(self.batch_shape)
        lower, upper = self._each(kernel, [(), ()])
        return lower, upper

    def _entropy(self, largest: bool, distribution: bool) -> tuple[Array, Array, Array | None]:
        if largest or self.n_classes <= MOST_SEARCHED:
            return super()._entropy(largest, distribution)

        def kernel(center: Array, radius: Array) -> tuple[Array, Array, Array]:
            where = self._best(center, center, radius)
            value = entropy(where)
            return value, np.zeros(len(value)), where

        return self._answer_entropy(kernel, distribution)

    def _excess(self, *parts: Array) -> tuple[Array, Array, Array]:
        center, radius = parts
        return np.full(len(center), math.log2(self.n_classes)), center, radius

    def lower_probabilities(self) -> Any:
        """Return the lower probability of every event, ``(..., 2**K)``: class y is bit y."""
        center, radius = self._data()
        values = np.maximum(event_sums(center) - radius, 0.0)
        values[..., -1] = 1.0
        return self.origin.wrap(values.astype(self.dtype, copy=False))

    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        """Say whether `p` is in the set, up to `tolerance`; see `CredalSet.contains`."""
        target, limit = self._target(p, tolerance)
        center, radius = self._data()
        away = np.abs(target - center).sum(axis=-1) / 2
        return self.origin.wrap(np.asarray(away <= radius[..., 0] + limit))

    def _holds(self, inner: CredalSet, tolerance: float) -> Array:
        if self.n_classes > 16 or isinstance(inner, Contamination):  # which has few corners
            return super()._holds(inner, tolerance)
        held = inner.lower_probabilities() >= self.lower_probabilities() - tolerance
        return np.asarray(held.all(axis=-1))

    def translate(self, t: Any) -> Self:
        """Return the set moved by `t`, ``(K,)`` or ``(..., K)``, whose entries sum to 0.

        Refused if the ball is cut off by the simplex, before or after: it would not be a ball.
        """
        shift = self._shift(t)
        center, radius = self._data()
        lead = np.broadcast_shapes(shift.shape[:-1], self.batch_shape)
        if not shift.any():
            parts = np.broadcast_to(self._parts[0], (*lead, self.n_classes)), self._parts[1]
            return self._of((parts[0], np.broadcast_to(parts[1], lead)), self.origin)
        if (center < radius).any():
            _validation.refuse(
                "t",
                "would move a ball that the simplex cuts off, which is a ball no more",
                "move its corners, Q.to_hull().translate(t)",
            )
        moved = (self._in_simplex(center - radius + shift) + radius).astype(self.dtype)
        return self._of((moved, np.broadcast_to(self._parts[1], moved.shape[:-1])), self.origin)

    def extreme_points(self) -> Any:
        """Return the corners, ``(..., V, K)``.

        Some classes are emptied, one more gives the rest of the radius, and one receives it all. V
        is the largest number over the batch; an instance with fewer repeats its first one. Refused
        if an instance has more than a million.
        """
        center, radius = self._data()
        flat = center.reshape(-1, self.n_classes)
        corners = [
            _ball_corners(p, float(r), i)
            for i, (p, r) in enumerate(zip(flat, radius.ravel(), strict=True))
        ]
        return self.origin.wrap(padded(corners, self.batch_shape, self.n_classes, self.dtype))


def _ball_corners(center: Array, radius: float, instance: int) -> Array:
    K = len(center)
    if radius == 0.0 or K == 1:
        return center[None]
    corners = []
    for receiver in range(K):
        point_mass = np.eye(K)[receiver]
        if 1 - center[receiver] <= radius:
            corners.append(point_mass[None])
            continue
        # What the others give is a corner of the box between nothing and all that they have.
        taken = box_corners(np.zeros(K), center * (1 - point_mass), instance, total=radius)
        corners.append(center - taken + radius * point_mass)
    return np.unique(np.concatenate(corners), axis=0)
