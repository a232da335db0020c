"""Entropy, Hartley and geometric queries of a convex hull."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, NUMPY, Array, map_instances, primitive
from credalens.sets import _hull_native, _hull_vjp
from credalens.sets.events import event_count
from credalens.sets.extreme_points import distance_to_hull, extreme_members
from credalens.sets.hull_constructors import HullConstructors
from credalens.sets.member_weights import shares
from credalens.sets.nearest_mixture import tv_distance_to_hull


class HullQueries(HullConstructors):
    """The queries of `ConvexHull` that are not about distances or costs."""

    @abstractmethod
    def _run_validating_kernel(
        self,
        kernel: Callable[..., int],
        shapes: Sequence[tuple[int, ...] | None],
        dtype: Any = None,
        rows: int | None = None,
    ) -> list[Any]:
        """Run a kernel that validates rows while it reads them."""

    @primitive("Q->(),()", vjp=_hull_vjp.max_entropy)
    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        def kernel(block: Array, value: Array, gap: Array, *rest: Any) -> int:
            where, *options = rest if distribution else (None, *rest)
            return _kernels.max_entropy(block, value, gap, None, where, *options)

        return self._entropy(kernel, distribution, rows=1 << 15)

    @primitive("Q->(),()", native=_hull_native.min_entropy)
    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest entropy in nats, 0 and, if requested, the member that attains it."""

        def kernel(block: Array, value: Array, error: Array, *rest: Any) -> int:
            where, *options = rest if distribution else (None, *rest)
            member = None if where is None else np.empty(len(block), np.int64)
            bad = _kernels.min_entropy(block, value, member, *options)
            error.fill(0.0)
            if member is not None and bad < 0:
                where[:] = block[np.arange(len(block)), member]
            return bad

        return self._entropy(kernel, distribution)

    def _entropy(
        self, kernel: Callable[..., int], distribution: bool, rows: int | None = None
    ) -> tuple[Any, ...]:
        shapes: list[tuple[int, ...]] = [(), (), *([(self.n_classes,)] if distribution else [])]
        return tuple(self._run_validating_kernel(kernel, shapes, np.float64, rows))

    @primitive("Q->()", vjp=_hull_vjp.hartley_exact)
    def hartley_exact(self, w: Array) -> Any:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, weights w ``(K + 1,)``.

        O(M 2^(K-1)): sums over the events without the last class, and their complements.
        """

        def kernel(block: Array, value: Array) -> None:
            _kernels.hartley_exact(block, w, value, DEFAULT_THREADS)

        # A block takes about a tenth of a second, so that a long sum can be interrupted.
        rows = max(1, (1 << 29) // (self.n_members << (self.n_classes - 1)))
        (value,) = map_instances(
            kernel, self._members, [()], rows=rows, dtype=np.float64, large=True
        )
        return value

    @primitive("Q->(),()")
    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, max_pairs: int
    ) -> tuple[Any, Any]:
        def kernel(block: Array, value: Array, error: Array) -> None:
            _kernels.hartley_sample(
                block, log_v, seed, pairs, rtol, atol, max_pairs, value, error, DEFAULT_THREADS
            )

        rows = max(64, (1 << 20) // (self.n_members * self.n_classes))
        value, error = map_instances(
            kernel, self._members, [(), ()], rows=rows, dtype=np.float64, large=True
        )
        return value, error

    @primitive("Q->(2^k)")
    def lower_probabilities(self) -> Any:
        n_events = event_count(self.n_classes, self.batch_shape)

        def kernel(block: Array, values: Array) -> None:
            _kernels.lower_probabilities(block, values, DEFAULT_THREADS)

        return map_instances(kernel, self._members, [(n_events,)])[0]

    @primitive("Q->(k)", native=_hull_native.center)
    def center(self) -> Any:
        """Return the mean of the members, ``(..., K)``, by their weights."""
        if self._weights is None:
            return np.asarray(self._members.mean(axis=-2, dtype=np.float64), self.dtype)

        def kernel(block: Array, weights: Array, mean: Array) -> None:
            mean[:] = 0.0
            for share, rows in zip(shares(weights).T, block.swapaxes(0, 1), strict=True):
                mean += share[:, None] * rows

        (mean,) = map_instances(
            kernel, (self._members, self._weights), [(self.n_classes,)], (2, 1),
            dtype=self.dtype, block_dtype=np.float64,
        )  # fmt: skip
        return mean

    @primitive("Q,(k)->Q")
    def translate(self, t: Any) -> Self:
        shift = self._validate_shift(t)
        moved = self._members + shift[..., None, :].astype(self.dtype)
        clipped = self._clip_to_simplex(moved, "entry")
        shape = (*clipped.shape[:-2], self.n_members)
        rest = (None if x is None else np.broadcast_to(x, shape) for x in self._arrays[1:])
        return self._from_validated((clipped, *rest), NUMPY)

    @primitive("Q,(k)->()")
    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        target, limit = self._validate_point(p, tolerance)
        return distance_to_hull(self._members, target) <= limit

    @primitive("Q,(k)->(),()")
    def tv_distance(self, p: Any) -> tuple[Any, Any]:
        target, _ = self._validate_point(p, None)
        return tv_distance_to_hull(self._members, target)

    @primitive("Q->(v,k)")
    def extreme_points(self, tolerance: float | None = None) -> Any:
        """Return the members that are not mixtures of others, ``(..., V, K)``.

        V is the largest number over the batch; an instance with fewer repeats its first one. A
        member is a mixture if one is within `tolerance` (1e-12, or 1e-7 in single precision) in
        every coordinate; the first of equal members is kept.
        """
        limit = (1e-7 if self.dtype.itemsize < 8 else 1e-12) if tolerance is None else tolerance
        return extreme_members(self._members, limit).astype(self.dtype, copy=False)
