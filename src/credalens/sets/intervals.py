"""Probability intervals: a lower and an upper probability for each class."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, DOUBLE, Array, laid_out, namespace, to_numpy
from credalens.sets.anywhere import wherever
from credalens.sets.base import CredalSet, class_bounds
from credalens.sets.events import event_sums
from credalens.sets.excess import ExcessSet
from credalens.sets.hull import ConvexHull
from credalens.sets.support import largest, smallest_sum
from credalens.sets.tensor_sets import TensorBox

#: Most corners that are listed.
MOST_CORNERS = 1_000_000
#: Nodes that the search for the lower entropy opens before it returns what it has certified.
MOST_NODES = 100_000


class ProbabilityIntervals(ExcessSet):
    """All distributions with ``lower <= p <= upper``, for a batch of instances.

    Parameters
    ----------
    lower, upper : array-like of shape (..., K)
        Bounds of the probability of each class, in [0, 1]; they broadcast. Bounds that no
        distribution reaches are tightened, which does not change the set; others are not copied.
    strict : bool, default=False
        Refuse bounds that are not reachable instead.
    validate : bool, default=True
        Pass ``False`` for bounds that are known to be feasible and reachable.

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

    _cores: ClassVar[tuple[int, ...]] = (1, 1)

    @wherever(1, 1)
    def __init__(
        self, lower: Any, upper: Any, *, strict: bool = False, validate: bool = True
    ) -> None:
        low, high = _validation.numeric(lower, "lower"), _validation.numeric(upper, "upper")
        if low.shape != high.shape or low.ndim < 1 or low.shape[-1] == 0:
            low, high = _matched(low, high)
        if low.dtype is not DOUBLE or high.dtype is not DOUBLE:
            dtype = np.result_type(low.dtype, high.dtype).newbyteorder("=")
            low, high = low.astype(dtype, copy=False), high.astype(dtype, copy=False)
        if validate:
            low, high, tops = _reachable(low, high, strict)
            self.__dict__["_tops"] = tops
        self._set((low, high), to_numpy(lower, "lower")[1])

    @classmethod
    def _tensor_parts(cls, arrays: list[Any], options: dict[str, Any]) -> tuple[Any, ...]:
        xp = namespace(arrays[0])
        low, high = xp.broadcast_arrays(*arrays)
        if options.get("validate", True):
            # As in `_reachable`, which has seen a copy of them.
            low, high = xp.clip(low, min=0.0, max=1.0), xp.clip(high, min=0.0, max=1.0)
            lows, highs = xp.sum(low, axis=-1, keepdims=True), xp.sum(high, axis=-1, keepdims=True)
            tight = xp.minimum(xp.maximum(low, 1 - (highs - high)), high)
            high = xp.maximum(xp.minimum(high, 1 - (lows - low)), tight)
            low = tight
        return low, high

    def _there(self) -> TensorBox:
        return TensorBox(self._parts, self.origin, self.n_classes)

    @classmethod
    def from_members(cls, members: Any, *, normalize: bool = False) -> Self:
        """Return the smallest box round M predictions: the credal wrapper's.

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
        """Return the set itself."""
        return self

    def _class_lower(self) -> Array:
        return self._parts[0].astype(self.dtype)

    def _class_upper(self) -> Array:
        return self._parts[1].astype(self.dtype)

    def _class_tops(self) -> tuple[Array, Array]:
        tops = self.__dict__.get("_tops")  # known from the check, if there was one
        if tops is None:
            return largest(self._parts[0]), largest(self._parts[1])
        return tops[..., 0], tops[..., 1]

    def lower_sum(self) -> Array:
        """Return the sum of the lower probabilities of the classes, float64."""
        return smallest_sum(self._parts[0][..., None, :])

    def _best(self, f: Array, *parts: Array) -> Array:
        low, width = parts[0], parts[1] - parts[0]
        order = np.broadcast_to(np.argsort(-f, axis=-1, kind="stable"), low.shape)
        room = np.take_along_axis(width, order, axis=1)
        # A fractional knapsack: what l leaves is given to the largest f first, up to u.
        before = np.cumsum(room, axis=1) - room
        given = np.clip(1 - low.sum(axis=1, keepdims=True) - before, 0.0, room)
        best = low.copy()
        np.put_along_axis(best, order, np.take_along_axis(low, order, axis=1) + given, axis=1)
        return best

    def _minimax(self) -> Array:
        def kernel(low: Array, high: Array) -> tuple[Array]:
            value = np.empty(len(low))
            _kernels.box_minimax(low, high, value, AS_WANTED)
            return (value,)

        return self._each(kernel, [()])[0]

    def _tv_bounds(self) -> tuple[Array, Array]:
        """``max_A min(W_A, W - W_A, U - 1, 1 - L)``, with W the widths, L and U the sums."""

        def kernel(low: Array, high: Array) -> tuple[Array, Array]:
            widths, lows, highs = _widths(low, high)
            cap = np.maximum(np.minimum(highs - 1, 1 - lows), 0.0)
            lower, upper = np.empty((2, len(low)))
            _kernels.balanced_subsets(widths, cap, lower, upper, AS_WANTED)
            return lower, upper

        lower, upper = self._each(kernel, [(), ()])
        return lower, upper

    def max_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the largest entropy in nats, 0 and, if asked, where it is: ``clip(t, l, u)``."""

        def kernel(low: Array, high: Array) -> tuple[Array, Array, Array | None]:
            value = np.empty(len(low))
            where = np.empty_like(low) if distribution else None
            _kernels.box_max_entropy(low, high, value, where, AS_WANTED)
            return value, np.zeros(len(value)), where

        return self._answer_entropy(kernel, distribution)

    def min_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the smallest entropy in nats, its certified error and, if asked, where it is.

        Branch and bound over the corners, which is exact (error below 1e-12) but for instances
        that need more than 100 000 nodes: there the minimum lies at most `error` below the value.
        """

        def kernel(low: Array, high: Array) -> tuple[Array, Array, Array | None]:
            value, error = np.empty((2, len(low)))
            where = np.empty_like(low) if distribution else None
            _kernels.box_min_entropy(low, high, MOST_NODES, value, error, where, AS_WANTED)
            return value, error, where

        return self._answer_entropy(kernel, distribution)

    def _excess(self, *parts: Array) -> tuple[Array, Array, Array]:
        # lower(B) = l(B) + max(0, W_B - (U - 1)) with W the widths; l(B) sums to L log2 K.
        widths, lows, highs = _widths(*parts)
        return (1 - lows) * math.log2(self.n_classes), widths, np.maximum(highs - 1, 0.0)

    def lower_probabilities(self) -> Any:
        """Return the lower probability of every event, ``(..., 2**K)``: class y is bit y."""
        low, high = (np.asarray(end, np.float64) for end in self._class_ends())
        spare = high.sum(axis=-1, keepdims=True) - 1
        values = event_sums(low) + np.maximum(event_sums(high - low) - spare, 0.0)
        values[..., 0], values[..., -1] = 0.0, 1.0
        return self.origin.wrap(values.astype(self.dtype, copy=False))

    def is_two_monotone(self) -> Any:
        """Say whether the lower probability is 2-monotone: that of intervals is."""
        return self.origin.wrap(np.ones(self.batch_shape, bool))

    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        """Say whether `p` is in the set, up to `tolerance`; see `CredalSet.contains`."""
        target, limit = self._target(p, tolerance)
        low, high = self._class_ends()
        inside = ((target >= low - limit) & (target <= high + limit)).all(axis=-1)
        return self.origin.wrap(np.asarray(inside))

    def _holds(self, inner: CredalSet, tolerance: float) -> Array:
        low, high = self._class_ends()
        held = (inner.lower() >= low - tolerance) & (inner.upper() <= high + tolerance)
        return np.asarray(held.all(axis=-1))

    def center(self) -> Any:
        """Return the intersection probability, equally far into every interval, ``(..., K)``."""
        low, high = (np.asarray(end, np.float64) for end in self._class_ends())
        room, width = 1 - low.sum(axis=-1, keepdims=True), (high - low).sum(axis=-1, keepdims=True)
        share = np.clip(room / np.where(width > 0, width, 1.0), 0.0, 1.0)
        return self.origin.wrap(np.asarray(low + share * (high - low), self.dtype))

    def translate(self, t: Any) -> Self:
        """Return the set moved by `t`, ``(K,)`` or ``(..., K)``, whose entries sum to 0.

        Refused if a lower bound would become negative.
        """
        shift = self._shift(t)
        low, high = (np.asarray(end, np.float64) for end in self._class_ends())
        low, high = np.broadcast_arrays(self._in_simplex(low + shift), high + shift)
        moved = low.astype(self.dtype), np.clip(high, low, 1.0).astype(self.dtype)
        return self._of(moved, self.origin)

    def extreme_points(self) -> Any:
        """Return the corners, ``(..., V, K)``: all classes but one at a bound.

        V is the largest number over the batch; an instance with fewer repeats its first one.
        Refused, with the count, if an instance has more than a million.
        """
        ends = (self._flat(np.asarray(part, np.float64), 1) for part in self._parts)
        pairs = enumerate(zip(*ends, strict=True))
        corners = [box_corners(low, high, i) for i, (low, high) in pairs]
        return self.origin.wrap(padded(corners, self.batch_shape, self.n_classes, self.dtype))


def _widths(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return the widths of float64 bounds ``(n, K)``, and the sums of their ends."""
    widths, (lows, highs) = np.empty_like(low), np.empty((2, len(low)))
    _kernels.box_widths(low, high, widths, lows, highs, AS_WANTED)
    return widths, lows, highs


def padded(
    corners: list[Array], batch_shape: tuple[int, ...], n_classes: int, dtype: np.dtype[Any]
) -> Array:
    """Return lists of corners as one array; an instance with fewer repeats its first one."""
    count = max((len(c) for c in corners), default=1)
    result = np.empty((len(corners), count, n_classes), dtype)
    for row, own in zip(result, corners, strict=True):
        row[: len(own)], row[len(own) :] = own, own[0]
    return result.reshape(*batch_shape, count, n_classes)


def box_corners(low: Array, high: Array, instance: int, total: float = 1.0) -> Array:
    """List the corners of ``{x : low <= x <= high, sum x = total}``, class by class.

    A state says which classes so far are at l (0), at u (1) or in between (2, at most one). States
    that cannot come to the total any more are dropped, so that about as many are kept as there are
    corners.
    """
    rounding = 1e-13
    width, room = high - low, total - low.sum()
    moving = np.flatnonzero(width > rounding)
    if 17 <= len(moving) <= 32:  # fewer have less than a million; more take too long to count
        count = _count_corners(width[moving], room)
        if count > MOST_CORNERS:
            _refuse_corners(f"{count:,} corners, ", instance)
    rest = np.append(np.cumsum(width[moving][::-1])[::-1], 0.0)
    widest = np.append(np.maximum.accumulate(width[moving][::-1])[::-1], 0.0)
    state = np.zeros((1, len(moving)), np.int8)
    used, free = np.zeros(1), np.full(1, -1.0)  # free: width of the class in between, -1 if none
    for k, w in enumerate(width[moving]):
        none = free < 0
        state = np.concatenate([state, state, state[none]])
        state[len(used) : 2 * len(used), k] = 1
        state[2 * len(used) :, k] = 2
        used = np.concatenate([used, used + w, used[none]])
        free = np.concatenate([free, free, np.full(none.sum(), w)])
        slack = np.where(free < 0, widest[k + 1], free)
        keep = (used <= room + rounding) & (used + rest[k + 1] + slack >= room - rounding)
        state, used, free = state[keep], used[keep], free[keep]
        if len(used) > 2 * MOST_CORNERS:
            _refuse_corners("", instance)
    # A class in between that has come to a bound is listed as one at that bound.
    left = room - used
    done = np.where(
        free < 0, np.abs(left) <= rounding, (left > rounding) & (left < free - rounding)
    )
    state, left = state[done], left[done]
    if len(state) > MOST_CORNERS:
        _refuse_corners(f"{len(state):,} corners, ", instance)
    points = np.repeat(low[None], max(len(state), 1), axis=0)
    if len(state):
        points[:, moving] += np.where(state == 2, left[:, None], state * width[moving])
    return points


def _refuse_corners(count: str, instance: int) -> NoReturn:
    _validation.refuse(
        "extreme_points",
        f"instance {instance} (zero-based) has {count}more than {MOST_CORNERS:,}",
        "ask the set itself: total variation, entropies and Hartley need no corners",
    )


def _count_corners(width: Array, room: float) -> int:
    """Count the corners by meeting in the middle, for each class that may be between its bounds."""
    rounding = 1e-13

    def subsets(widths: Array, least: float, most: float) -> int:
        first, second = (np.sort(event_sums(half)) for half in np.array_split(widths, 2))
        above = np.searchsorted(second, most - first, side="right")
        below = np.searchsorted(second, least - first, side="left")
        return int(np.maximum(above - below, 0).sum())

    inside = (
        subsets(np.delete(width, j), room + rounding - w, room - rounding)
        for j, w in enumerate(width)
    )
    return subsets(width, room - rounding, room + rounding) + sum(inside)


def _matched(low: Array, high: Array) -> tuple[Array, Array]:
    """Return bounds with the same shape, ``(..., K)``."""
    for name, bound in (("lower", low), ("upper", high)):
        if bound.ndim < 1 or bound.shape[-1] == 0:
            _validation.refuse(name, f"has shape {bound.shape}", "pass an array (..., classes)")
    if low.shape[-1] != high.shape[-1]:
        _validation.refuse(
            "upper", f"has {high.shape[-1]} classes", f"pass {low.shape[-1]}, as in lower"
        )
    _validation.together("upper", high.shape, "lower", low.shape)
    low, high = np.broadcast_arrays(low, high)
    return low, high


@functools.cache
def _slack(dtype: np.dtype[Any]) -> float:
    """Return how far a bound of `dtype` may be off by rounding."""
    return 8 * float(np.finfo(dtype).eps)


def _reachable(low: Array, high: Array, strict: bool) -> tuple[Array, Array, Array]:
    """Return bounds made reachable where they are not, and the largest ``(..., 2)``, or refuse."""
    dtype, shape = low.dtype, low.shape
    slack, tolerance = _slack(dtype), _validation.tolerance_of(dtype)
    kind = np.float32 if dtype == np.float32 else np.float64
    lows, highs = laid_out(low, kind), laid_out(high, kind)
    if len(shape) != 2:
        lows, highs = lows.reshape(-1, shape[-1]), highs.reshape(-1, shape[-1])
    tops, loose = np.empty((len(lows), 2), kind), np.empty(len(lows), bool)
    if _kernels.check_bounds(lows, highs, slack, tolerance, tops, loose, AS_WANTED) >= 0:
        _refuse_bounds(low, high, slack, tolerance)
    if np.count_nonzero(loose):
        given = low, high
        low, high = _tightened(lows, highs, slack, tolerance, tops, loose)
        low, high = (end.reshape(shape).astype(dtype, copy=False) for end in (low, high))
        if strict:
            fix = "no distribution goes there; strict=False tightens it"
            _refuse_first(low > given[0] + tolerance, "lower", "is {:.6g} at {}", given[0], fix)
            _refuse_first(high < given[1] - tolerance, "upper", "is {:.6g} at {}", given[1], fix)
    tops.setflags(write=False)
    return low, high, tops if len(shape) == 2 else tops.reshape(*shape[:-1], 2)


def _tightened(
    lows: Array, highs: Array, slack: float, tolerance: float, tops: Array, loose: Array
) -> tuple[Array, Array]:
    """Return bounds ``(n, K)`` made reachable where they are loose, and put their `tops` right.

    The others stay as they are: an instance does not depend on its neighbours.
    """
    if loose.all():
        tight = np.empty_like(lows), np.empty_like(highs)
        _kernels.reachable_bounds(lows, highs, slack, tolerance, *tight, tops, AS_WANTED)
        return tight
    own = tops[loose]
    some = _tightened(lows[loose], highs[loose], slack, tolerance, own, loose[loose])
    tops[loose], lows, highs = own, lows.copy(), highs.copy()
    lows[loose], highs[loose] = some
    return lows, highs


def _refuse_bounds(low: Array, high: Array, slack: float, tolerance: float) -> None:
    """Say what is wrong with the bounds, if it is more than the rounding of a sum."""
    low = _validation.finite(low, "lower").astype(np.float64)
    high = _validation.finite(high, "upper").astype(np.float64)
    fix = "pass probabilities in [0, 1]"
    _refuse_first(low < -slack, "lower", "is {:.6g} at {}", low, fix)
    _refuse_first(high > 1 + slack, "upper", "is {:.6g} at {}", high, fix)
    above = "is {:.6g} at {}, above upper"
    _refuse_first(low > high + slack, "lower", above, low, "pass lower <= upper")
    sums = np.clip(low, 0.0, 1.0).sum(axis=-1), np.clip(high, 0.0, 1.0).sum(axis=-1)
    empty = "the set is empty: pass bounds with sum(lower) <= 1 <= sum(upper)"
    _refuse_first(sums[0] > 1 + tolerance, "lower", "sums to {:.6g} at {}", sums[0], empty)
    _refuse_first(sums[1] < 1 - tolerance, "upper", "sums to {:.6g} at {}", sums[1], empty)


def _refuse_first(bad: Array, name: str, problem: str, values: Array, fix: str) -> None:
    if bad.any():
        where = tuple(np.argwhere(bad)[0])
        at = f"index {_validation.place(where)} (zero-based)" if where else "the set"
        _validation.refuse(name, problem.format(float(values[where]), at), fix)
