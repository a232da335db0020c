"""The convex hull of tensors that stay where they are: another device, or a recorded gradient."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from credalens import _validation
from credalens._arrays import Array, Origin, namespace, native
from credalens._arrays.host import HostFunction, through_host
from credalens.sets import pullbacks
from credalens.sets.anywhere import NeedsHostError


class TensorHull:
    """Answers the questions to `ConvexHull` in tensors of the library that the members came from.

    Closed forms run where the members are; what needs a solver runs on the host, with its gradient.
    What neither can answer raises `NeedsHostError`. Like plain sets it answers measures and
    distances, not users.
    """

    def __init__(self, members: Any, origin: Origin) -> None:
        self._members, self.origin = members, origin

    def __getattr__(self, name: str) -> NoReturn:
        raise NeedsHostError(name)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return int(self._members.shape[-1])

    @property
    def members(self) -> Any:
        """The predictions, ``(..., M, K)``; a copy where they could be written to."""
        return native.copied(self._members)

    def _near(self) -> bool:
        """Say whether the kernels can read the members, and all there is to do are gradients."""
        return self.origin.library == "torch" and self.origin.device.type == "cpu"

    def _by_host(self, function: HostFunction) -> tuple[Any, ...]:
        return through_host(function, self._members)

    def lower(self, f: Any = None) -> Any:
        """Return the smallest expectation over the set of each test function."""
        return self._extreme(f, namespace(self._members).min)

    def upper(self, f: Any = None) -> Any:
        """Return the largest expectation over the set of each test function."""
        return self._extreme(f, namespace(self._members).max)

    def _extreme(self, f: Any, best: Any) -> Any:
        if f is None:
            return best(self._members, axis=-2)
        functions = _validation.expectands(f, self.n_classes)
        many = np.atleast_2d(functions)
        numbers = self._members.shape[-2] * (len(many) + self.n_classes)
        (values,) = native.each(
            self._members, lambda block: (best(native.mapped(block, many.T), axis=1),), numbers
        )
        return values if functions.ndim == 2 else values[..., 0]

    def lower_sum(self) -> Any:
        """Return the sum of the lower probabilities of the classes."""
        return native.row_sums(self.lower())

    def lower_probability(self, event: Any) -> Any:
        """Return the smallest probability of an event."""
        return self.lower(_validation.event(event, self.n_classes))

    def upper_probability(self, event: Any) -> Any:
        """Return the largest probability of an event."""
        return self.upper(_validation.event(event, self.n_classes))

    def center(self) -> Any:
        """Return the mean of the members, ``(..., K)``."""
        xp = namespace(self._members)
        total = xp.sum(self._members, axis=-2, dtype=native.wide_dtype(self._members))
        return total / self._members.shape[-2]

    def risks(self, cost: Array) -> tuple[Any, Any]:
        """Return the least over y of the largest, and of the smallest, ``E_p[cost(., y)]``."""
        xp = namespace(self._members)

        def extremes(block: Any) -> tuple[Any, Any]:
            expected = native.mapped(block, cost)
            worst = xp.min(xp.max(expected, axis=1), axis=-1)
            return worst, xp.min(xp.min(expected, axis=1), axis=-1)

        worst, best = native.each(self._members, extremes, 3 * math.prod(self._members.shape[-2:]))
        return worst, best

    def maximin(self, cost: Array | None = None) -> tuple[Any, Any]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its certified gap."""
        game = pullbacks.TV_MAXIMIN if cost is None else pullbacks.maximin(np.asarray(cost, float))
        value, gap = self._by_host(game)
        return value, gap

    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Any, Any, Any]:
        """Return total, the lower aleatoric end and, if asked, epistemic by total variation."""
        xp = namespace(self._members)
        low = xp.max(xp.min(self._members, axis=-2), axis=-1)
        high = xp.max(xp.max(self._members, axis=-2), axis=-1)
        half = native.diameter(self._members, 1, None) / 4 if epistemic else None
        return native.rest(low), native.rest(high), half

    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic if asked, and the certified error."""
        if epistemic and self._near():
            total, lower, upper, half, gap = self._by_host(pullbacks.TV_UNCERTAINTY)
            return total, lower, upper, half, gap
        total, lower, half = self.tv_closed_forms(epistemic=epistemic)
        upper, gap = self.maximin()
        # True by definition: rounding must not break it.
        return total, lower, namespace(upper).clip(upper, lower, total), half, gap

    def diameter(self, distance: Any) -> Any:
        """Return the largest distance between two members."""
        norm = distance.seminorm(self.n_classes)
        if norm is None and hasattr(distance, "widest_functions"):
            return self._by_host(pullbacks.diameter(distance))[0]
        if norm is None:
            raise NeedsHostError("diameter")
        return norm.scale * native.diameter(self._members, norm.order, norm.matrix)

    def diameter_bounds(self, distance: Any) -> tuple[Any, Any]:
        """Return the diameter twice: it is known exactly."""
        value = self.diameter(distance)
        return value, value

    def reach(self, distance: Any) -> Any:
        """Return ``min over y of max over p of d(p, delta_y)``."""
        norm = distance.seminorm(self.n_classes)
        if norm is None or norm.matrix is None:
            raise NeedsHostError("reach")
        return norm.scale * native.radius(self._members, norm.order, norm.matrix)

    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, Any, None]:
        """Return the largest entropy in nats and its certified gap."""
        if distribution:
            raise NeedsHostError("the maximising distribution")
        value, gap = self._by_host(pullbacks.MAX_ENTROPY)
        return value, gap, None

    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, Array, None]:
        """Return the smallest entropy in nats, and 0."""
        if distribution:
            raise NeedsHostError("the minimising distribution")
        error = np.zeros(tuple(self._members.shape[:-2]))
        return native.least_entropy(self._members), error, None

    def hartley_exact(self, w: Array) -> Any:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``."""
        return self._by_host(pullbacks.hartley(np.asarray(w)))[0]
