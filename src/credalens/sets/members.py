"""What the kernels answer for a hull, from the array of its members."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, BLOCK_BYTES, Array, per_instance
from credalens.sets.base import CredalSet, HasDiameter, is_tv
from credalens.sets.events import event_count


def _expected(block: Array, cost: Array) -> Array:
    """Return the expectation of each column of `cost` under each row of ``(b, M, K)``."""
    flat = block.reshape(-1, block.shape[-1]).astype(np.float64, copy=False)
    return np.asarray(flat @ cost).reshape(*block.shape[:2], cost.shape[1])


class CostGame:
    """The matrix game of expected costs; the solver minimises a positive pay-off."""

    def __init__(self, costs: Array) -> None:
        self.costs, self.top = costs, float(costs.max())
        self.scale = max(self.top - float(costs.min()), np.finfo(float).tiny)

    def payoff(self, block: Array) -> Array:
        """Return the expected costs of the rows of ``(b, M, K)``, turned round, in [1, 2]."""
        payoff = _expected(block, self.costs)
        np.subtract(self.top + self.scale, payoff, out=payoff)
        payoff /= self.scale
        # Rows may sum to a little more than 1; the solver needs what is positive.
        return np.clip(payoff, 1.0 - 1e-3, None, out=payoff)


def checking(dtype: np.dtype[Any]) -> float:
    """Return the tolerance for rows of `dtype` that a kernel checks while it reads them."""
    # A little less than what the door allows, so that the door has the last word.
    return 0.999 * _validation.tolerance_of(dtype)


CHECKING_DOUBLES = checking(np.dtype(np.float64))


def tv_of_array(members: Array, shapes: Sequence[tuple[()] | None]) -> list[Any] | None:
    """Return what `MemberSet.tv_uncertainty` does, of a good array that can be read as it is.

    `shapes` has ``()`` for what is wanted and None for the rest. Of every other array, None.
    """
    found = _kernels.at_once(
        _kernels.tv_uncertainty, members, shapes, BLOCK_BYTES, (AS_WANTED, CHECKING_DOUBLES)
    )
    return None if found is None or found[0] >= 0 else found[1]


class MemberSet(CredalSet):
    """A credal set that is given by its members ``(..., M, K)``, asked by measures."""

    #: What was given. Its shape may be asked for, its values only of `_members`.
    _array: Array

    @cached_property
    def _members(self) -> Array:
        """The members, whose rows are distributions; checked here if nobody has done it so far."""
        return _validation.probabilities(self._array, "members")

    @property
    def _trusted(self) -> bool:
        """Whether nobody needs to check the members any more."""
        return "_members" in self.__dict__

    @property
    def n_members(self) -> int:
        """Number of members M."""
        return int(self._array.shape[-2])

    def maximin(self, cost: Array | None = None) -> tuple[Array, Array]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its certified gap.

        A matrix game between the mixture of the members and the decision y, solved by an exact
        simplex method for each instance on its own. The value is what a mixture attains, computed
        from the data; the gap is its distance to the dual bound, also computed from the data.
        """
        if cost is None:
            _, _, upper, _, gap = self.tv_uncertainty(epistemic=False)
            return upper, gap
        game = CostGame(np.asarray(cost, np.float64))

        def kernel(block: Array, value: Array, gap: Array) -> None:
            _kernels.solve_games(game.payoff(block), value, gap, None, None, AS_WANTED)
            np.subtract(game.top, (value - 1.0) * game.scale, out=value)
            gap *= game.scale

        value, gap = per_instance(self._members, kernel, [(), ()], rows=self._product_rows())
        return value, gap

    def risks(self, cost: Array) -> tuple[Array, Array]:
        """Return the least over y of the largest, and of the smallest, ``E_p[cost(., y)]``.

        One matrix product over the members of all instances in a block; nothing of the size of
        the batch is kept.
        """
        costs = np.asarray(cost, np.float64)

        def kernel(block: Array, worst: Array, best: Array) -> None:
            # The largest of what is turned round is the smallest.
            gains = _expected(block, -costs)
            _kernels.closed_forms(gains, worst, best, None, None, AS_WANTED)
            np.subtract(0.0, worst, out=worst)  # no minus zero
            np.subtract(0.0, best, out=best)

        worst, best = per_instance(self._members, kernel, [(), ()], rows=self._product_rows())
        return worst, best

    def _product_rows(self) -> int | None:
        """Return how many instances to multiply at once so that memory stays within its bound."""
        if self._members.dtype == np.float64:
            return None
        # A block in single precision is held twice more, in double: as it is, and multiplied.
        return max(1, math.prod(self.batch_shape) // 16)

    def _in_passing(
        self,
        kernel: Callable[..., int],
        shapes: Sequence[tuple[int, ...] | None],
        dtype: Any = None,
        rows: int | None = None,
    ) -> list[Array]:
        """Run a kernel that checks rows while it reads them; the rest as in `per_instance`.

        After its outputs it is given the number of threads and a tolerance, negative where rows are
        known to be good; it returns the first instance that is not, or -1.
        """
        array, state = self._array, self.__dict__
        tolerance = -1.0 if "_members" in state else checking(array.dtype)
        found = None
        if rows is None or len(array) <= rows:
            found = _kernels.at_once(kernel, array, shapes, BLOCK_BYTES, (AS_WANTED, tolerance))
        if found is not None:  # nothing to cut or convert
            bad, results = found
            failed = bad >= 0
        else:
            failed = False

            def run(*arrays: Array) -> bool:
                nonlocal failed
                failed = kernel(*arrays, AS_WANTED, tolerance) >= 0
                return failed

            results = per_instance(array, run, shapes, rows=rows, dtype=dtype, large=True)
        if failed:
            self._members  # noqa: B018  # refused, unless it is on the edge of what is allowed
            return self._in_passing(kernel, shapes, dtype, rows)
        state["_members"] = array
        return results

    def diameter(self, distance: HasDiameter) -> Array:
        """Return the largest distance between two members.

        A distance that is convex in both arguments has its maximum at a pair of members.
        """
        if is_tv(distance):
            wide = self._in_passing(_kernels.closed_forms, [None, None, (), None])[2]
            # A single class has none, whatever its rows sum to.
            return np.asarray(wide / 2 if self._array.shape[-1] > 1 else np.zeros_like(wide))
        return distance.diameter(self._members)

    def reach(self, distance: HasDiameter) -> Array:
        """Return ``min over y of max over p of d(p, delta_y)``.

        A distance is convex in p, so that its maximum is at a member.
        """
        return distance.reach(self._members)

    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Array, Array, Any]:
        """Return total, the lower aleatoric end and, if asked, epistemic by total variation."""
        shapes = [(), (), None, () if epistemic else None, None]
        total, lower, _, half, _ = self._in_passing(_kernels.tv_uncertainty, shapes)
        return total, lower, half

    def lower_sum(self) -> Array:
        """Return the sum of the lower probabilities of the classes, float64."""
        total = self._in_passing(_kernels.closed_forms, [None, None, None, ()], np.float64)[3]
        return total if self.n_classes > 1 else np.ones_like(total)

    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Array, Array, Array, Any, Array]:
        """Return total, both aleatoric ends, epistemic if asked, and the certified error.

        One pass over the data: an instance is read once and everything is done while it is in the
        cache.
        """
        shapes = [(), (), (), () if epistemic else None, ()]
        total, lower, upper, half, gap = self._in_passing(_kernels.tv_uncertainty, shapes)
        return total, lower, upper, half, gap

    def max_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the largest entropy in nats, its certified gap and, if asked, where it is."""

        def kernel(block: Array, value: Array, gap: Array, where: Any, *how: Any) -> int:
            return _kernels.max_entropy(block, value, gap, None, where, *how)

        return self._entropy(kernel, distribution, rows=1 << 15)

    def min_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the smallest entropy in nats, which a member has, 0 and, if asked, the member."""

        def kernel(block: Array, value: Array, error: Array, where: Any, *how: Any) -> int:
            member = None if where is None else np.empty(len(block), np.int64)
            bad = _kernels.min_entropy(block, value, member, *how)
            error.fill(0.0)
            if member is not None and bad < 0:
                where[:] = block[np.arange(len(block)), member]
            return bad

        return self._entropy(kernel, distribution)

    def _entropy(
        self, kernel: Callable[..., int], distribution: bool, rows: int | None = None
    ) -> tuple[Array, Array, Array | None]:
        shapes = [(), (), (self.n_classes,) if distribution else None]
        value, error, where = self._in_passing(kernel, shapes, np.float64, rows)
        return value, error, where

    def hartley_exact(self, w: Array) -> Array:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, weights by size ``(K + 1,)``.

        O(M 2^(K-1)): sums over the events without the last class, whose complements come free.
        """

        def kernel(block: Array, value: Array) -> None:
            _kernels.hartley_exact(block, w, value, AS_WANTED)

        # A block takes about a tenth of a second, so that a long sum can be interrupted.
        rows = max(1, (1 << 29) // (self.n_members << (self.n_classes - 1)))
        return per_instance(self._members, kernel, [()], rows=rows, dtype=np.float64, large=True)[0]

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, most: int
    ) -> tuple[Array, Array]:
        """Return an unbiased estimate of `hartley_exact` and its standard error."""

        def kernel(block: Array, value: Array, error: Array) -> None:
            _kernels.hartley_sample(
                block, log_v, seed, pairs, rtol, atol, most, value, error, AS_WANTED
            )

        rows = max(64, (1 << 20) // (self.n_members * self.n_classes))
        value, error = per_instance(
            self._members, kernel, [(), ()], rows=rows, dtype=np.float64, large=True
        )
        return value, error

    def lower_probabilities(self) -> Any:
        """Return the lower probability of every event, ``(..., 2**K)``: class y is bit y."""
        n_events = event_count(self.n_classes, self.batch_shape)

        def kernel(block: Array, values: Array) -> None:
            _kernels.lower_probabilities(block, values, AS_WANTED)

        return self.origin.wrap(per_instance(self._members, kernel, [(n_events,)])[0])
