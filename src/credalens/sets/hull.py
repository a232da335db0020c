"""The convex hull of a finite number of predictions."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import (
    NUMPY,
    Array,
    Origin,
    num_threads,
    per_instance,
    to_numpy,
)
from credalens.sets.base import CredalSet, HasDiameter, event_count, point
from credalens.sets.corners import corners, distance_to_hull


def _expected(block: Array, cost: Array) -> Array:
    """Return the expectation of each column of `cost` under each row of ``(b, M, K)``."""
    flat = block.reshape(-1, block.shape[-1]).astype(np.float64, copy=False)
    return np.asarray(flat @ cost).reshape(*block.shape[:2], cost.shape[1])


class ConvexHull(CredalSet):
    """The convex hull of the predictions of M models, for a batch of instances.

    Parameters
    ----------
    members : array-like of shape (..., M, K)
        M probability vectors over K classes for each instance.
    normalize : bool, default=False
        Divide each row by its sum first. Without it, a row that does not sum to 1 is refused.
    validate : bool, default=True
        Pass ``False`` for arrays that are known to be good, to save one pass over them.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.ConvexHull([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    >>> Q
    ConvexHull(batch_shape=(), n_members=2, n_classes=3, dtype=float64)
    >>> Q.lower()
    array([0.2, 0.3, 0.1])
    >>> float(Q.upper_probability([0, 2]))
    0.7
    """

    _members: Array

    def __init__(self, members: Any, *, normalize: bool = False, validate: bool = True) -> None:
        origin = to_numpy(members, "members")[1]
        array = _validation.probabilities(
            members, "members", normalize=normalize, validate=validate
        )
        self._set(array, origin)

    def _set(self, array: Array, origin: Origin) -> None:
        view = array.view()
        view.flags.writeable = False
        object.__setattr__(self, "_members", view)
        object.__setattr__(self, "origin", origin)

    @classmethod
    def _of(cls, array: Array, origin: Origin) -> Self:
        hull = cls.__new__(cls)
        hull._set(array, origin)
        return hull

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make a new set")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self._members, self.origin)

    @classmethod
    def from_logits(cls, logits: Any, temperature: float = 1.0) -> Self:
        """Return the hull of the softmax of `logits` ``(..., M, K)``, divided by `temperature`.

        Examples
        --------
        >>> import credalens as cl
        >>> cl.ConvexHull.from_logits([[0.0, 0.0], [1000.0, 0.0]]).members
        array([[0.5, 0.5],
               [1. , 0. ]])
        """
        array, origin = to_numpy(logits, "logits")
        if array.ndim < 2 or 0 in array.shape[-2:]:
            _validation.refuse(
                "logits",
                f"has shape {array.shape}",
                "pass an array (..., members, classes)",
            )
        if not isinstance(temperature, Real) or not 0 < temperature < np.inf:
            _validation.refuse("temperature", f"is {temperature!r}", "pass a positive number")
        array = _validation.finite(logits, "logits")
        work = np.result_type(array.dtype, np.float32)
        with np.errstate(over="ignore"):  # a difference of minus infinity is a probability of 0
            if not 1e-30 < float(temperature) < 1e30:
                work = np.result_type(work, np.float64)
            scaled = array.astype(work)
            scaled -= scaled.max(axis=-1, keepdims=True)
            scaled /= work.type(temperature)
        np.exp(scaled, out=scaled)
        scaled /= scaled.sum(axis=-1, keepdims=True, dtype=np.float64)
        return cls._of(scaled.astype(array.dtype.newbyteorder("="), copy=False), origin)

    @property
    def members(self) -> Any:
        """The predictions, ``(..., M, K)``, as they came in."""
        return self._members if self.origin == NUMPY else self.origin.wrap(self._members)

    @property
    def n_members(self) -> int:
        """Number of members M."""
        return int(self._members.shape[-2])

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self._members.shape[-1])

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch, ``()`` for a single set."""
        return tuple(self._members.shape[:-2])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating dtype of the members."""
        return self._members.dtype.newbyteorder("=")

    def __getitem__(self, index: Any) -> Self:
        if not self.batch_shape:
            raise IndexError("a single credal set cannot be indexed; its batch_shape is ()")
        # Positions in the batch only: an index must not reach into members and classes.
        chosen = np.broadcast_to(np.empty(()), self.batch_shape)[index]
        parts = index if isinstance(index, tuple) else (index,)
        rest = (slice(None),) * 2 if any(part is Ellipsis for part in parts) else (...,)
        picked = self._members[(*parts, *rest)]
        if picked.shape[:-2] != np.shape(chosen):
            raise IndexError(f"index {index!r} does not fit batch_shape {self.batch_shape}")
        return self._of(picked, self.origin)

    def plain(self) -> Self:
        """Return the same sets with NumPy as their origin, sharing memory."""
        return self if self.origin == NUMPY else self._of(self._members, NUMPY)

    def to_hull(self) -> ConvexHull:
        """Return the set itself."""
        return self

    def lower(self, f: Any = None) -> Any:
        """Return the smallest expectation over the set of each test function.

        Parameters
        ----------
        f : array-like, optional
            One test function ``(K,)`` or many ``(F, K)``. By default the indicators of the
            classes, i.e. the lower probability of each class.

        Returns
        -------
        array
            ``(...)`` for one test function, ``(..., F)`` for many, ``(..., K)`` by default. An
            expectation is linear, so that the extremes are found among the members: O(M F K).
        """
        return self._extreme(f, np.minimum)

    def upper(self, f: Any = None) -> Any:
        """Return the largest expectation over the set of each test function; see `lower`."""
        return self._extreme(f, np.maximum)

    def _extreme(self, f: Any, ufunc: np.ufunc) -> Any:
        if f is None:
            result = ufunc.reduce(self._members, axis=-2)
            return self.origin.wrap(result.astype(self.dtype, copy=False))
        functions = _validation.expectands(f, self.n_classes)
        many = np.atleast_2d(functions)

        def kernel(block: Array, output: Array) -> None:
            values = block.reshape(-1, self.n_classes).astype(np.float64, copy=False) @ many.T
            ufunc.reduce(values.reshape(*block.shape[:2], len(many)), axis=1, out=output)

        (result,) = per_instance(self._members, kernel, [(len(many),)])
        return self.origin.wrap(result if functions.ndim == 2 else result[..., 0])

    def maximin(self, cost: Array | None = None) -> tuple[Array, Array]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its certified gap.

        A matrix game between the mixture of the members and the decision y, solved by an exact
        simplex method for each instance on its own. The value is what a mixture attains, computed
        from the data; the gap is its distance to the dual bound, also computed from the data.
        """
        if cost is None:
            return self._tv_maximin()
        costs = np.asarray(cost, np.float64)
        top = float(costs.max())
        scale = max(top - float(costs.min()), np.finfo(float).tiny)

        def kernel(block: Array, value: Array, gap: Array) -> None:
            # The solver minimises a positive pay-off: costs are turned round and moved to [1, 2].
            payoff = _expected(block, costs)
            np.subtract(top + scale, payoff, out=payoff)
            payoff /= scale
            np.clip(payoff, 1.0 - 1e-3, None, out=payoff)
            _kernels.solve_games(payoff, value, gap, None, None, num_threads())
            np.subtract(top, (value - 1.0) * scale, out=value)
            gap *= scale

        value, gap = per_instance(self._members, kernel, [(), ()], rows=self._product_rows())
        return value, gap

    def risks(self, cost: Array) -> tuple[Array, Array]:
        """Return the least over y of the largest, and of the smallest, ``E_p[cost(., y)]``.

        One matrix product over the members of all instances in a block; nothing of the size of
        the batch is kept.
        """
        costs = np.asarray(cost, np.float64)

        def kernel(block: Array, worst: Array, best: Array) -> None:
            expected = _expected(block, costs)
            expected.max(axis=1).min(axis=1, out=worst)
            expected.reshape(len(block), -1).min(axis=1, out=best)

        worst, best = per_instance(self._members, kernel, [(), ()], rows=self._product_rows())
        return worst, best

    def _product_rows(self) -> int | None:
        """Return how many instances to multiply at once so that memory stays within its bound."""
        if self._members.dtype == np.float64:
            return None
        # A block in single precision is held twice more, in double: as it is, and multiplied.
        return max(1, math.prod(self.batch_shape) // 16)

    def _tv_maximin(self) -> tuple[Array, Array]:
        def kernel(block: Array, value: Array, gap: Array) -> None:
            low, high = np.empty((2, len(block)))
            _kernels.closed_forms(block, low, high, None, 0, num_threads())
            _kernels.solve_games(block, value, gap, None, None, num_threads())
            np.clip(value, low, high, out=value)  # true by definition: rounding must not break it
            np.subtract(1.0, value, out=value)

        value, gap = per_instance(self._members, kernel, [(), ()])
        return value, gap

    def diameter(self, distance: HasDiameter) -> Array:
        """Return the largest distance between two members.

        A distance that is convex in both arguments has its maximum at a pair of members.
        """
        return distance.diameter(self._members)

    def tv_extremes(self, *, diameter: bool) -> tuple[Array, Array, Array | None]:
        """Return the largest lower and upper class probability and, if asked, the L1 diameter."""

        def kernel(block: Array, low: Array, high: Array, wide: Array | None = None) -> None:
            _kernels.closed_forms(block, low, high, wide, 0, num_threads())

        results = per_instance(self._members, kernel, [()] * (3 if diameter else 2), large=True)
        return results[0], results[1], results[2] if diameter else None

    def tv_profile(self) -> tuple[Array, Array, Array, Array, Array]:
        """Return `tv_extremes` with the diameter, and ``min_p max_y p_y`` with its gap.

        One pass over the data: an instance is read once and everything is done while it is in the
        cache.
        """

        def kernel(
            block: Array, low: Array, high: Array, wide: Array, value: Array, gap: Array
        ) -> None:
            _kernels.tv_profile(block, low, high, wide, value, gap, num_threads())
            np.clip(value, low, high, out=value)  # as in _tv_maximin

        low, high, wide, value, gap = per_instance(self._members, kernel, [()] * 5, large=True)
        return low, high, wide, value, gap

    def max_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the largest entropy in nats, its certified gap and, if asked, where it is."""

        def kernel(block: Array, value: Array, gap: Array, where: Array | None = None) -> None:
            _kernels.max_entropy(block, value, gap, None, where, num_threads())

        return self._entropy(kernel, distribution, rows=1 << 15)

    def min_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the smallest entropy in nats, which a member has, 0 and, if asked, the member."""

        def kernel(block: Array, value: Array, error: Array, where: Array | None = None) -> None:
            member = None if where is None else np.empty(len(block), np.int64)
            _kernels.min_entropy(block, value, member, num_threads())
            error.fill(0.0)
            if where is not None:
                where[:] = block[np.arange(len(block)), member]

        return self._entropy(kernel, distribution)

    def _entropy(
        self, kernel: Callable[..., None], distribution: bool, rows: int | None = None
    ) -> tuple[Array, Array, Array | None]:
        shapes = [(), (), (self.n_classes,)][: 3 if distribution else 2]
        results = per_instance(self._members, kernel, shapes, rows=rows, dtype=np.float64)
        return results[0], results[1], results[2] if distribution else None

    def hartley_exact(self, w: Array) -> Array:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, weights by size ``(K + 1,)``.

        O(M 2^(K-1)): sums over the events without the last class, whose complements come free.
        """

        def kernel(block: Array, value: Array) -> None:
            _kernels.hartley_exact(block, w, value, num_threads())

        # A block takes about a tenth of a second, so that a long sum can be interrupted.
        rows = max(1, (1 << 29) // (self.n_members << (self.n_classes - 1)))
        return per_instance(self._members, kernel, [()], rows=rows, dtype=np.float64)[0]

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, most: int
    ) -> tuple[Array, Array]:
        """Return an unbiased estimate of `hartley_exact` and its standard error."""

        def kernel(block: Array, value: Array, error: Array) -> None:
            _kernels.hartley_sample(
                block, log_v, seed, pairs, rtol, atol, most, value, error, num_threads()
            )

        rows = max(64, (1 << 20) // (self.n_members * self.n_classes))
        value, error = per_instance(self._members, kernel, [(), ()], rows=rows, dtype=np.float64)
        return value, error

    def lower_probabilities(self) -> Any:
        """Return the lower probability of every event, ``(..., 2**K)``: class y is bit y."""
        n_events = event_count(self.n_classes, self.batch_shape)

        def kernel(block: Array, values: Array) -> None:
            _kernels.lower_probabilities(block, values, num_threads())

        return self.origin.wrap(per_instance(self._members, kernel, [(n_events,)])[0])

    def center(self) -> Any:
        """Return the mean of the members, ``(..., K)``."""
        mean = self._members.mean(axis=-2, dtype=np.float64)
        return self.origin.wrap(np.asarray(mean, self.dtype))

    def translate(self, t: Any) -> Self:
        """Return the set moved by `t`, ``(K,)`` or ``(..., K)``, whose entries sum to 0.

        Refused if a member would leave the simplex.
        """
        shift = _validation.finite(t, "t")
        if shift.ndim < 1 or shift.shape[-1] != self.n_classes:
            _validation.refuse(
                "t", f"has shape {shift.shape}", f"pass one shift a class, (..., {self.n_classes})"
            )
        sums = np.atleast_1d(shift.sum(axis=-1, dtype=np.float64))
        off = np.argwhere(np.abs(sums) > _validation.tolerance_of(self.dtype))
        if len(off):
            at = f"at index {_validation.place(off[0])} (zero-based) " if shift.ndim > 1 else ""
            worst = float(sums[tuple(off[0])])
            _validation.refuse("t", f"{at}sums to {worst:.6g}", "pass a shift that sums to 0")
        moved = self._members + shift[..., None, :].astype(self.dtype)
        slack = 8 * float(np.finfo(self.dtype).eps)
        outside = moved < -slack
        if outside.any():
            where = tuple(np.argwhere(outside)[0])
            _validation.refuse(
                "t",
                f"moves the entry at index {_validation.place(where)} (zero-based) to "
                f"{moved[where]:.6g}, out of the simplex",
                "pass a smaller shift",
            )
        return self._of(np.maximum(moved, 0), self.origin)

    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        """Say whether `p` is in the set.

        Parameters
        ----------
        p : array-like of shape (..., K)
            Distributions, broadcast against the batch.
        tolerance : float, optional
            Largest difference in a coordinate that still counts as in. By default 1e-9, or 1e-6
            for members in single precision or less.

        Returns
        -------
        bool or array of bool
            The largest coordinate difference between `p` and the nearest mixture of members is the
            value of a matrix game, which is solved exactly: ``True`` means that a mixture within
            `tolerance` was found, ``False`` that a separating functional was.
        """
        target, _ = point(p, self.n_classes)
        single = self.dtype.itemsize < 8
        limit = (1e-6 if single else 1e-9) if tolerance is None else float(tolerance)
        inside = distance_to_hull(self._members, target) <= limit
        if self.origin.library == "torch":
            return Origin("torch").wrap(np.asarray(inside))
        return inside[()]

    def extreme_points(self, tolerance: float | None = None) -> Any:
        """Return the members that are not mixtures of others, ``(..., V, K)``.

        V is the largest number over the batch; an instance with fewer repeats its first one. A
        member counts as a mixture if one comes within `tolerance` (1e-12, or 1e-7 in single
        precision) in every coordinate; of equal members the first stays.
        """
        limit = (1e-7 if self.dtype.itemsize < 8 else 1e-12) if tolerance is None else tolerance
        return self.origin.wrap(corners(self._members, limit).astype(self.dtype, copy=False))

    def __repr__(self) -> str:
        return (
            f"ConvexHull(batch_shape={self.batch_shape}, n_members={self.n_members}, "
            f"n_classes={self.n_classes}, dtype={self.dtype})"
        )
