"""Probability intervals: a lower and an upper probability for each class."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, NUMPY, Array, namespace, native, primitive
from credalens.sets._bounds import broadcast_bounds, reachable_bounds
from credalens.sets.base import CredalSet, class_bounds
from credalens.sets.box_decisions import BoxDecisions
from credalens.sets.box_vertices import box_vertices
from credalens.sets.events import event_sums
from credalens.sets.extreme_points import pad_points
from credalens.sets.hull import ConvexHull
from credalens.sets.support import native_largest_bounds, row_max
from credalens.sets.thresholded_additive import MIDDLE_CLASSES, ThresholdedAdditiveSet

#: Nodes of the branch and bound for the lower entropy before it returns what is certified.
MAX_NODES = 100_000


def _native_minimax(Q: Any) -> tuple[Any, Any]:
    # sum min(u, t) is the minimum over k of the k smallest u plus (K - k) t; t is where it is 1.
    low, high = map(native.widen, Q._arrays)
    xp = namespace(low)
    rising = xp.sort(high, axis=-1)
    before = xp.cumulative_sum(rising, axis=-1) - rising
    count = native.asarray_like(np.arange(Q.n_classes, 0, -1), low)
    level = xp.minimum(xp.max((1 - before) / count, axis=-1), xp.max(high, axis=-1))
    value = xp.maximum(xp.max(low, axis=-1), level)
    return value, native.zeros_like(value)


def _intersection_probability(Q: Any) -> Any:
    """Return the point at the same relative position in every interval, for any backend."""
    low, high = (native.widen(x) if Q.backend is not NUMPY else np.asarray(x, np.float64)
                 for x in Q._arrays)  # fmt: skip
    xp = namespace(low)
    room = 1 - xp.sum(low, axis=-1, keepdims=True)
    width = xp.sum(high - low, axis=-1, keepdims=True)
    share = room / xp.where(width > 0, width, xp.ones_like(width))
    return low + xp.clip(share, 0.0, 1.0) * (high - low)


class ProbabilityIntervals(BoxDecisions, ThresholdedAdditiveSet):
    """All distributions with ``lower <= p <= upper``, for a batch of instances.

    Parameters
    ----------
    lower, upper : array-like of shape (..., K)
        Bounds of the probability of each class, in [0, 1]; they broadcast. Bounds that no
        distribution attains are tightened, which does not change the set; others are not copied.
    strict : bool, default=False
        Raise for bounds that are not reachable instead of tightening them.
    validate : bool, default=True
        ``False`` skips validation, for bounds that are feasible and reachable.

    Notes
    -----
    ``lower_y`` becomes ``max(lower_y, 1 - sum of the other uppers)``, ``upper_y`` becomes
    ``min(upper_y, 1 - sum of the other lowers)``. Reachable intervals are a 2-monotone lower
    probability, ``lower(B) = max(l(B), 1 - u(not B))``.

    References
    ----------
    L. M. de Campos, J. F. Huete, S. Moral, "Probability intervals: a tool for uncertain
    reasoning", 1994.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.ProbabilityIntervals([0.0, 0.1, 0.1], [1.0, 0.2, 0.2])
    >>> Q.lower()
    array([0.6, 0.1, 0.1])
    >>> round(float(cl.total_uncertainty(Q)), 6)
    0.4
    """

    core_ndims: ClassVar[tuple[int, ...]] = (1, 1)
    array_names: ClassVar[tuple[str, ...]] = ("lower", "upper")

    def __init__(
        self, lower: Any, upper: Any, *, strict: bool = False, validate: bool = True
    ) -> None:
        self._init_arrays(lower, upper, strict=strict, validate=validate)

    def _validate(
        self, lower: Any, upper: Any, *, strict: bool, validate: bool
    ) -> tuple[Array, ...]:
        low, high = _validation.numeric(lower, "lower"), _validation.numeric(upper, "upper")
        if low.shape != high.shape or low.ndim < 1 or low.shape[-1] == 0:
            low, high = broadcast_bounds(low, high)
        if low.dtype.type is not high.dtype.type or not (
            low.dtype.isnative and high.dtype.isnative
        ):
            dtype = np.result_type(low.dtype, high.dtype).newbyteorder("=")
            low, high = low.astype(dtype, copy=False), high.astype(dtype, copy=False)
        if validate:
            low, high, self.__dict__["_largest"] = reachable_bounds(
                low, high, strict, _validation.half_rounding(lower, upper)
            )
        return low, high

    def _prepare_native(self, *tensors: Any, **options: Any) -> tuple[Any, ...]:
        xp = namespace(tensors[0])
        low, high = xp.broadcast_arrays(*tensors)
        if options["validate"]:  # as in `reachable_bounds`, which has validated a copy
            low, high = xp.clip(low, 0.0, 1.0), xp.clip(high, 0.0, 1.0)
            lows, highs = xp.sum(low, axis=-1, keepdims=True), xp.sum(high, axis=-1, keepdims=True)
            tight = xp.minimum(xp.maximum(low, 1 - (highs - high)), high)
            low, high = tight, xp.maximum(xp.minimum(high, 1 - (lows - low)), tight)
        return low, high

    @classmethod
    def from_members(cls, members: Any, *, normalize: bool = False) -> Self:
        """Return the smallest box that contains M predictions (credal wrapper).

        Parameters
        ----------
        members : array-like of shape (..., M, K)
            M predictions over K classes for each instance.
        normalize : bool, default=False
            Divide each row by its sum first.

        Returns
        -------
        ProbabilityIntervals

        Examples
        --------
        >>> import credalens as cl
        >>> cl.ProbabilityIntervals.from_members([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]]).upper()
        array([0.6, 0.7, 0.1])
        """
        return cls(*class_bounds(ConvexHull(members, normalize=normalize)), validate=False)

    @property
    def bounds(self) -> tuple[Any, Any]:
        """The reachable lower and upper bounds, ``(..., K)`` each."""
        return self.lower(), self.upper()

    def to_intervals(self) -> ProbabilityIntervals:
        return self

    def _class_bounds(self) -> tuple[Any, Any]:
        low, high = self._arrays
        return low, high

    @primitive("Q->(),()", native=native_largest_bounds)
    def _largest_class_bounds(self) -> tuple[Any, Any]:
        largest = self.__dict__.get("_largest")  # known from the validation
        if largest is None:
            return row_max(self._arrays[0]), row_max(self._arrays[1])
        return largest[..., 0], largest[..., 1]

    def _maximiser(self, f: Array, *parts: Array) -> Array:
        low, width = parts[0], parts[1] - parts[0]
        order = np.broadcast_to(np.argsort(-f, axis=-1, kind="stable"), low.shape)
        room = np.take_along_axis(width, order, axis=1)
        # A fractional knapsack: the mass above l goes to the largest f first, up to u.
        before = np.cumsum(room, axis=1) - room
        given = np.clip(1 - low.sum(axis=1, keepdims=True) - before, 0.0, room)
        best = low.copy()
        np.put_along_axis(best, order, np.take_along_axis(low, order, axis=1) + given, axis=1)
        return best

    def _line_kernel(self) -> Callable[..., None]:
        return _kernels.box_line

    @primitive("Q->(),()", native=_native_minimax)
    def _minimax(self) -> tuple[Any, Any]:
        def kernel(low: Array, high: Array, value: Array) -> None:
            _kernels.box_minimax(low, high, value, DEFAULT_THREADS)

        (value,) = self._map(kernel, [()])
        return value, native.zeros_like(value)

    @primitive("Q->(),(),(),()", native=ThresholdedAdditiveSet._tv_ends)
    def _tv_ends(self) -> tuple[Any, Any, Any, Any]:
        shapes = [(), (), ()]
        total, lower, upper = self._map(_kernels.box_tv, shapes, arguments=(DEFAULT_THREADS,))
        return total, lower, upper, native.zeros_like(total)

    @primitive("Q->(),()")
    def tv_diameter_bounds(self) -> tuple[Any, Any]:
        """Return bounds of ``max_A min(W_A, W - W_A, U - 1, 1 - L)``.

        W are the widths, L and U the sums of the bounds. The same array twice if the subset search
        is exact.
        """
        least, most = self._map(_kernels.box_diameter, [(), ()], arguments=(DEFAULT_THREADS,))
        return least, least if self.n_classes <= MIDDLE_CLASSES else most

    @primitive("Q->(),()")
    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the largest entropy in nats, 0 and, if requested, ``clip(t, l, u)``."""

        def kernel(low: Array, high: Array, value: Array, error: Array, where: Any) -> None:
            _kernels.box_max_entropy(low, high, value, where, DEFAULT_THREADS)
            error.fill(0.0)

        return self._map_entropy(kernel, distribution)

    @primitive("Q->(),()")
    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest entropy in nats, its error and, if requested, the minimiser.

        Branch and bound over the extreme points: exact (error below 1e-12) unless an instance needs
        more than 100 000 nodes, where the minimum is at most the error below the value.
        """

        def kernel(low: Array, high: Array, value: Array, error: Array, where: Any) -> None:
            _kernels.box_min_entropy(low, high, MAX_NODES, value, error, where, DEFAULT_THREADS)

        return self._map_entropy(kernel, distribution)

    @property
    def _hartley_kernel(self) -> Callable[..., None]:
        return _kernels.box_hartley

    def _hartley_terms(self, *parts: Array) -> tuple[Array, Array, Array]:
        # lower(B) = l(B) + max(0, W_B - (U - 1)); summed, l(B) contributes L log2 K.
        widths, lows, highs = _widths(*parts)
        return (1 - lows) * math.log2(self.n_classes), widths, np.maximum(highs - 1, 0.0)

    @primitive("Q->(2^k)")
    def lower_probabilities(self) -> Any:
        low, high = (np.asarray(bound, np.float64) for bound in self._arrays)
        spare = high.sum(axis=-1, keepdims=True) - 1
        values = event_sums(low) + np.maximum(event_sums(high - low) - spare, 0.0)
        values[..., 0], values[..., -1] = 0.0, 1.0
        return values.astype(self.dtype, copy=False)

    @primitive("Q->()")
    def is_two_monotone(self) -> Any:
        return np.ones(self.batch_shape, bool)

    @primitive("Q,(k)->()")
    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        target, limit = self._validate_point(p, tolerance)
        low, high = self._arrays
        return ((target >= low - limit) & (target <= high + limit)).all(axis=-1)

    @primitive("Q,(k)->(),()")
    def tv_distance(self, p: Any) -> tuple[Any, Any]:
        # The mass below the lower bounds and that above the upper bounds move, each at least once.
        target, _ = self._validate_point(p, None)
        low, high = (np.asarray(bound, np.float64) for bound in self._arrays)
        lack = np.maximum(low - target, 0.0).sum(axis=-1)
        distance = np.maximum(lack, np.maximum(target - high, 0.0).sum(axis=-1))
        return distance, np.zeros_like(distance)

    def _contains_set(self, inner: CredalSet, tolerance: float) -> Array:
        low, high = self._arrays
        inside = (inner.lower() >= low - tolerance) & (inner.upper() <= high + tolerance)
        return np.asarray(inside.all(axis=-1))

    @primitive("Q->(k)", native=_intersection_probability)
    def center(self) -> Any:
        """Return the intersection probability, ``(..., K)``."""
        return np.asarray(_intersection_probability(self), self.dtype)

    @primitive("Q,(k)->Q")
    def translate(self, t: Any) -> Self:
        shift = self._validate_shift(t)
        low, high = (np.asarray(bound, np.float64) for bound in self._arrays)
        low, high = np.broadcast_arrays(
            self._clip_to_simplex(low + shift, "lower bound"), high + shift
        )
        moved = low.astype(self.dtype), np.clip(high, low, 1.0).astype(self.dtype)
        return self._from_validated(moved, NUMPY)

    @primitive("Q->(v,k)")
    def extreme_points(self) -> Any:
        """Return the extreme points, ``(..., V, K)``: all classes but one at a bound.

        V is the largest number over the batch; an instance with fewer repeats its first one.
        Raises ValueError, with the number, if an instance has more than a million.
        """
        bounds = (np.asarray(x, np.float64).reshape(-1, self.n_classes) for x in self._arrays)
        pairs = enumerate(zip(*bounds, strict=True))
        points = [box_vertices(low, high, i) for i, (low, high) in pairs]
        return pad_points(points, self.batch_shape, self.n_classes, self.dtype)


CredalSet._intervals_class = ProbabilityIntervals


def _widths(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return the widths of float64 bounds ``(n, K)``, and the sums of both bounds."""
    widths, (lows, highs) = np.empty_like(low), np.empty((2, len(low)))
    _kernels.box_widths(low, high, widths, lows, highs, DEFAULT_THREADS)
    return widths, lows, highs
