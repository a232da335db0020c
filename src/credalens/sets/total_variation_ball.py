"""Total variation balls round one distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, NUMPY, Array, namespace, primitive
from credalens.sets import _neighbourhoods_native
from credalens.sets.base import CredalSet
from credalens.sets.box_vertices import box_vertices
from credalens.sets.contamination import Contamination
from credalens.sets.events import event_sums
from credalens.sets.extreme_points import pad_points
from credalens.sets.neighbourhood import Neighbourhood
from credalens.sets.support import entropy
from credalens.sets.thresholded_additive import MIDDLE_CLASSES, ThresholdedAdditiveSet

#: Above this number of classes the least probable ones are found by sorting.
MAX_SEARCHED = 64


class TotalVariationBall(Neighbourhood, ThresholdedAdditiveSet):
    """All distributions within total variation distance `radius` of a center.

    Parameters
    ----------
    center : array-like of shape (..., K)
        The center.
    radius : array-like of shape (...)
        Largest difference in the probability of an event, in [0, 1].
    normalize : bool, default=False
        Divide each row by its sum first.
    validate : bool, default=True
        ``False`` skips the validation of the centers.

    Notes
    -----
    ``lower(B) = max(0, center(B) - radius)`` for all events but the sure one, a 2-monotone lower
    probability. The ball is smaller than its box: `to_intervals` may contain distributions of much
    higher entropy.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.TotalVariationBall([0.4, 0.4, 0.1, 0.1], radius=0.15)
    >>> round(float(cl.upper_entropy(Q)), 4)
    1.9341
    """

    array_names: ClassVar[tuple[str, ...]] = ("center", "radius")
    _is_ball: ClassVar[bool] = True

    def __init__(
        self, center: Any, radius: Any, *, normalize: bool = False, validate: bool = True
    ) -> None:
        self._init_arrays(center, radius, normalize=normalize, validate=validate)

    @property
    def radius(self) -> Any:
        """The radius, ``(...)``."""
        return self._array(1)

    @staticmethod
    def _bounds(center: Any, size: Any) -> tuple[Any, Any]:
        xp = namespace(center)
        return xp.clip(center - size, 0.0, None), xp.clip(center + size, None, 1.0)

    @primitive("Q->()", native=CredalSet.lower_sum)
    def lower_sum(self) -> Any:
        if self.n_classes == 1:
            return np.ones(self.batch_shape)

        def kernel(center: Array, radius: Array, value: Array) -> None:
            _kernels.ball_lower_sum(center, radius, value, DEFAULT_THREADS)

        return self._map(kernel, [()])[0]

    def _maximiser(self, f: Array, *parts: Array) -> Array:
        center, radius = parts
        order = np.broadcast_to(np.argsort(f, axis=-1, kind="stable"), center.shape)
        mass = np.take_along_axis(center, order, axis=1)
        # Mass of the radius moves from the smallest f to the largest.
        taken = np.clip(radius[:, None] - (np.cumsum(mass, axis=1) - mass), 0.0, mass)
        mass -= taken
        mass[:, -1] += taken.sum(axis=1)
        best = np.empty_like(center)
        np.put_along_axis(best, order, mass, axis=1)
        return best

    @primitive("Q->(),()", native=_neighbourhoods_native.ball_minimax)
    def _minimax(self) -> tuple[Any, Any]:
        def kernel(center: Array, radius: Array, value: Array) -> None:
            _kernels.ball_minimax(center, radius, value, DEFAULT_THREADS)

        (value,) = self._map(kernel, [()])
        return value, np.zeros_like(value)

    @primitive("Q->(),()")
    def tv_diameter_bounds(self) -> tuple[Any, Any]:
        """Return bounds of ``min(1, radius + max_A min(p(A), 1 - p(A), radius))``.

        The same array twice if the subset search is exact.
        """
        least, most = self._map(_kernels.ball_diameter, [(), ()], arguments=(DEFAULT_THREADS,))
        return least, least if self.n_classes <= MIDDLE_CLASSES else most

    @primitive("Q->(),()", native=_neighbourhoods_native.ball_max_entropy)
    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the largest entropy in nats, 0 and, if requested, the maximiser.

        Mass of the radius moves from the most to the least probable classes.
        """
        return self._extreme_entropy(True, distribution)

    @primitive("Q->(),()", native=_neighbourhoods_native.ball_min_entropy)
    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest entropy in nats, 0 and, if requested, the minimiser.

        Mass of the radius moves from the least probable classes to the most probable one; the
        result majorises every other member.
        """
        if self.n_classes <= MAX_SEARCHED:
            return self._extreme_entropy(False, distribution)

        def kernel(center: Array, radius: Array, value: Array, error: Array, where: Any) -> None:
            best = self._maximiser(center, center, radius)
            value[:], error[:] = entropy(best), 0.0
            if where is not None:
                where[:] = best

        return self._map_entropy(kernel, distribution)

    @property
    def _hartley_kernel(self) -> Callable[..., None]:
        return _kernels.ball_hartley

    def _hartley_terms(self, *parts: Array) -> tuple[Array, Array, Array]:
        center, radius = parts
        return np.full(len(center), math.log2(self.n_classes)), center, radius

    @primitive("Q->(2^k)")
    def lower_probabilities(self) -> Any:
        center, radius = self._wide_arrays()
        values = np.maximum(event_sums(center) - radius, 0.0)
        values[..., -1] = 1.0
        return values.astype(self.dtype, copy=False)

    @primitive("Q,(k)->()")
    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        target, limit = self._validate_point(p, tolerance)
        center, radius = self._wide_arrays()
        return np.abs(target - center).sum(axis=-1) / 2 <= radius[..., 0] + limit

    @primitive("Q,(k)->(),()")
    def tv_distance(self, p: Any) -> tuple[Any, Any]:
        # The segment to the center stays in the simplex.
        target, _ = self._validate_point(p, None)
        center, radius = self._wide_arrays()
        distance = np.abs(target - center).sum(axis=-1) / 2 - radius[..., 0]
        return np.maximum(distance, 0.0), np.zeros_like(distance)

    def _contains_set(self, inner: CredalSet, tolerance: float) -> Array:
        if self.n_classes > 16 or isinstance(inner, Contamination):  # few extreme points
            return super()._contains_set(inner, tolerance)
        inside = inner.lower_probabilities() >= self.lower_probabilities() - tolerance
        return np.asarray(inside.all(axis=-1))

    @primitive("Q,(k)->Q")
    def translate(self, t: Any) -> Self:
        """Return the set translated by `t`, ``(K,)`` or ``(..., K)``, whose entries sum to 0.

        Raises ValueError if the simplex truncates the ball, before or after the translation.
        """
        shift = self._validate_shift(t)
        center, radius = self._wide_arrays()
        lead = np.broadcast_shapes(shift.shape[:-1], self.batch_shape)
        moved = np.broadcast_to(self._arrays[0], (*lead, self.n_classes))
        if shift.any():
            if (center < radius).any():
                _validation.raise_invalid(
                    "t",
                    "would translate a ball that the simplex truncates, which is not a ball",
                    "translate its extreme points, Q.to_hull().translate(t)",
                )
            low = self._clip_to_simplex(center - radius + shift, "lower probability")
            moved = (low + radius).astype(self.dtype)
        return self._from_validated((moved, np.broadcast_to(self._arrays[1], lead)), NUMPY)

    @primitive("Q->(v,k)")
    def extreme_points(self) -> Any:
        """Return the extreme points, ``(..., V, K)``.

        Some classes lose all their mass, one more the rest of the radius, and one class receives
        it. V is the largest number over the batch; an instance with fewer repeats its first one.
        Raises ValueError if an instance has more than a million.
        """
        center, radius = self._wide_arrays()
        flat = center.reshape(-1, self.n_classes)
        points = [
            _ball_vertices(p, float(r), i)
            for i, (p, r) in enumerate(zip(flat, radius.ravel(), strict=True))
        ]
        return pad_points(points, self.batch_shape, self.n_classes, self.dtype)


def _ball_vertices(center: Array, radius: float, instance: int) -> Array:
    K = len(center)
    if radius == 0.0 or K == 1:
        return center[None]
    points = []
    for receiver in range(K):
        point_mass = np.eye(K)[receiver]
        if 1 - center[receiver] <= radius:
            points.append(point_mass[None])
            continue
        # What the other classes lose is an extreme point of a box.
        taken = box_vertices(np.zeros(K), center * (1 - point_mass), instance, total=radius)
        points.append(center - taken + radius * point_mass)
    return np.unique(np.concatenate(points), axis=0)
