"""Boxes, neighbourhoods and capacities of tensors that stay where they are.

As `TensorHull` for hulls: closed forms in the library of the tensors, which are differentiable
there; `NeedsHostError` for the rest.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from credalens import _validation
from credalens._arrays import Array, Origin, namespace, native
from credalens.sets.anywhere import NeedsHostError
from credalens.sets.base import is_tv
from credalens.sets.core import event_sizes


class TensorSet:
    """What follows from the lower and the upper probability of each class, ``(..., K)``."""

    def __init__(self, parts: tuple[Any, ...], origin: Origin, n_classes: int) -> None:
        self._parts, self.origin, self.n_classes = parts, origin, n_classes
        self._xp = namespace(parts[0])

    def __getattr__(self, name: str) -> NoReturn:
        raise NeedsHostError(name)

    def _ends(self) -> tuple[Any, Any]:
        """Return the lower and the upper probability of each class."""
        raise NeedsHostError("class probabilities")

    def _minimax(self) -> Any:
        """Return ``min over p of max over y of p_y``."""
        raise NeedsHostError("maximin")

    def _wide(self) -> Any:
        """Return the total variation diameter."""
        raise NeedsHostError("diameter")

    def lower(self, f: Any = None) -> Any:
        """Return the lower probability of each class, or smallest expectations."""
        return self._ends()[0] if f is None else -self._greatest(-self._functions(f), f)

    def upper(self, f: Any = None) -> Any:
        """Return the upper probability of each class, or largest expectations."""
        return self._ends()[1] if f is None else self._greatest(self._functions(f), f)

    def lower_sum(self) -> Any:
        """Return the sum of the lower probabilities of the classes."""
        return native.row_sums(self.lower())

    def _functions(self, f: Any) -> Array:
        return np.atleast_2d(_validation.expectands(f, self.n_classes))

    def _greatest(self, many: Array, f: Any) -> Any:
        values = self._expectations(many)
        return values if np.ndim(f) == 2 else values[..., 0]

    def _expectations(self, many: Array) -> Any:
        """Return the largest expectations of test functions ``(F, K)``."""
        raise NeedsHostError("expectations")

    def risks(self, cost: Array) -> tuple[Any, Any]:
        """Return the least over y of the largest, and of the smallest, ``E_p[cost(., y)]``."""
        worst, best = self.upper(cost.T), self.lower(cost.T)
        return self._xp.min(worst, axis=-1), self._xp.min(best, axis=-1)

    def maximin(self, cost: Array | None = None) -> tuple[Any, Any]:
        """Return ``max over p of min over y of 1 - p_y``, and 0."""
        if cost is not None:
            raise NeedsHostError("maximin")
        value = 1 - self._minimax()
        return value, native.no_error(value)

    def diameter(self, distance: Any) -> Any:
        """Return the largest distance in total variation."""
        if not is_tv(distance):
            raise NeedsHostError("diameter")
        return self._wide()

    def diameter_bounds(self, distance: Any) -> tuple[Any, Any]:
        """Return the diameter twice."""
        value = self.diameter(distance)
        return value, value

    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Any, Any, Any]:
        """Return total, the lower aleatoric end and, if asked, epistemic by total variation."""
        total, lower = [native.rest(self._xp.max(end, axis=-1)) for end in self._ends()]
        return total, lower, self._wide() / 2 if epistemic else None

    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic if asked, and the certified error."""
        total, lower, half = self.tv_closed_forms(epistemic=epistemic)
        upper = self._xp.clip(1 - self._minimax(), lower, total)
        return total, lower, upper, half, native.no_error(upper)

    def _entropy(self, p: Any) -> tuple[Any, Any, None]:
        value = native.entropy(p)
        return value, native.no_error(value), None


class TensorBox(TensorSet):
    """Lower and upper bounds ``(..., K)``, reachable."""

    def _ends(self) -> tuple[Any, Any]:
        return self._parts[0], self._parts[1]

    def _minimax(self) -> Any:
        # The sum of min(u, t) is the least, over k, of the k smallest u plus (K - k) t; t is where
        # it reaches 1.
        xp, (low, high) = self._xp, map(native.widened, self._ends())
        K = self.n_classes
        rising = xp.sort(high, axis=-1)
        before = xp.cumulative_sum(rising, axis=-1) - rising
        level = xp.max((1 - before) / native.constant(np.arange(K, 0, -1), low), axis=-1)
        level = xp.minimum(level, xp.max(high, axis=-1))
        return xp.maximum(xp.max(low, axis=-1), level)

    def center(self) -> Any:
        """Return the intersection probability."""
        xp, (low, high) = self._xp, map(native.widened, self._ends())
        room = 1 - xp.sum(low, axis=-1, keepdims=True)
        width = xp.sum(high - low, axis=-1, keepdims=True)
        share = room / xp.where(width > 0, width, xp.ones_like(width))
        return low + xp.clip(share, min=0.0, max=1.0) * (high - low)


class _TensorNeighbourhood(TensorSet):
    """A centre ``(..., K)`` and a size ``(...)``."""

    def _data(self) -> tuple[Any, Any]:
        return native.widened(self._parts[0]), native.widened(self._parts[1])[..., None]

    def center(self) -> Any:
        """Return the distribution in the middle."""
        return native.copied(self._parts[0])

    def _level(self, levels: Any, amount: Any) -> Any:
        """Return t with ``sum max(0, t - levels) = amount`` for each row.

        Water of that amount fills the k lowest classes to ``(amount + their sum) / k``, and the
        level is the smallest of these: the minimum for amount 0.
        """
        xp = self._xp
        filled = xp.cumulative_sum(xp.sort(levels, axis=-1), axis=-1) + amount
        return xp.min(filled / native.constant(np.arange(1, self.n_classes + 1), filled), axis=-1)


class TensorContamination(_TensorNeighbourhood):
    """Contamination models: everything is a closed form."""

    @property
    def epsilon(self) -> Any:
        """The share that may be anything."""
        return native.copied(self._parts[1])

    def _ends(self) -> tuple[Any, Any]:
        center, epsilon = self._data()
        if self.n_classes == 1:
            return self._xp.ones_like(center), self._xp.ones_like(center)
        low = (1 - epsilon) * center
        return low, self._xp.clip(low + epsilon, max=1.0)

    def _expectations(self, many: Array) -> Any:
        center, epsilon = self._data()
        functions = native.constant(many.T, center)
        best = self._xp.max(functions, axis=0)
        return (1 - epsilon) * self._xp.matmul(center, functions) + epsilon * best

    def _minimax(self) -> Any:
        center, epsilon = self._data()
        top = (1 - epsilon[..., 0]) * self._xp.max(center, axis=-1)
        return self._xp.clip(top, min=1 / self.n_classes)

    def _wide(self) -> Any:
        return native.widened(self._parts[1]) * (self.n_classes > 1)

    def diameter(self, distance: Any) -> Any:
        """Return epsilon times the largest distance between two classes."""
        return native.widened(self._parts[1]) * float(distance.diameter(np.eye(self.n_classes)))

    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, Any, None]:
        """Return the largest entropy in nats, and 0: epsilon fills up the smallest classes."""
        if distribution:
            raise NeedsHostError("the maximising distribution")
        center, epsilon = self._data()
        low = (1 - epsilon) * center
        return self._entropy(self._xp.maximum(low, self._level(low, epsilon)[..., None]))

    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, Any, None]:
        """Return the smallest entropy in nats, and 0: epsilon goes to the most probable class."""
        if distribution:
            raise NeedsHostError("the minimising distribution")
        center, epsilon = self._data()
        rising = self._xp.sort((1 - epsilon) * center, axis=-1)
        top = rising[..., -1:] + epsilon
        return self._entropy(self._xp.concat([rising[..., :-1], top], axis=-1))

    def hartley_exact(self, w: Array) -> Any:
        """Return ``epsilon log2 K``."""
        return native.widened(self._parts[1]) * math.log2(self.n_classes)

    def hartley_sample(self, *_: Any) -> tuple[Any, Any]:
        """Return `hartley_exact`, with error 0."""
        value = self.hartley_exact(np.empty(0))
        return value, native.no_error(value)


class TensorBall(_TensorNeighbourhood):
    """Total variation balls."""

    @property
    def radius(self) -> Any:
        """The radius."""
        return native.copied(self._parts[1])

    def _ends(self) -> tuple[Any, Any]:
        center, radius = self._data()
        if self.n_classes == 1:
            return self._xp.ones_like(center), self._xp.ones_like(center)
        xp = self._xp
        return xp.clip(center - radius, min=0.0), xp.clip(center + radius, max=1.0)

    def _minimax(self) -> Any:
        center, radius = self._data()
        return self._xp.clip(-self._level(-center, radius), min=1 / self.n_classes)

    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, Any, None]:
        """Return the largest entropy in nats, and 0: cut from the top, filled at the bottom."""
        if distribution:
            raise NeedsHostError("the maximising distribution")
        center, radius = self._data()
        bottom = self._level(center, radius)[..., None]
        top = -self._level(-center, radius)[..., None]
        even = self._xp.full_like(center, 1 / self.n_classes)
        where = self._xp.minimum(self._xp.maximum(center, bottom), top)
        return self._entropy(self._xp.where(bottom >= top, even, where))

    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, Any, None]:
        """Return the smallest entropy in nats, and 0: from the smallest classes to the largest."""
        if distribution:
            raise NeedsHostError("the minimising distribution")
        xp, (center, radius) = self._xp, self._data()
        rising = xp.sort(center, axis=-1)
        before = xp.cumulative_sum(rising, axis=-1) - rising
        taken = xp.minimum(xp.clip(radius - before, min=0.0), rising)
        left, given = rising - taken, xp.sum(taken, axis=-1, keepdims=True)
        return self._entropy(xp.concat([left[..., :-1], left[..., -1:] + given], axis=-1))


class TensorEvents(TensorSet):
    """Lower probabilities of all events ``(..., 2**K)``; of belief functions, their masses too."""

    @property
    def masses(self) -> Any:
        """The mass of every set of classes."""
        if len(self._parts) == 1:
            raise NeedsHostError("masses")
        return native.copied(self._parts[1])

    @property
    def values(self) -> Any:
        """The lower probability of every event."""
        return native.copied(self._parts[0])

    def lower_probabilities(self) -> Any:
        """Return the lower probability of every event."""
        return self.values

    def _ends(self) -> tuple[Any, Any]:
        v = self._parts[0]
        single = [1 << y for y in range(self.n_classes)]
        low = self._xp.stack([v[..., one] for one in single], axis=-1)
        rest = [v[..., (1 << self.n_classes) - 1 - one] for one in single]
        return low, 1 - self._xp.stack(rest, axis=-1)

    def _minimax(self) -> Any:
        if len(self._parts) == 1:  # whether it is 2-monotone, the data would have to say
            raise NeedsHostError("maximin")
        sizes = native.constant(event_sizes(self.n_classes)[1:], self._parts[0])
        return self._xp.max(native.widened(self._parts[0])[..., 1:] / sizes, axis=-1)

    def _wide(self) -> Any:
        v = native.widened(self._parts[0])
        return self._xp.max(1 - self._xp.flip(v, axis=-1) - v, axis=-1)

    def hartley_exact(self, w: Array) -> Any:
        """Return the generalized Hartley measure in bits."""
        sizes = event_sizes(self.n_classes)
        if len(self._parts) == 2:
            weights = np.log2(np.maximum(sizes, 1))
            return self._summed(self._parts[1], weights)
        rest = math.log2(self.n_classes) - self._summed(self._parts[0], np.asarray(w)[sizes])
        return self._xp.clip(rest, min=0.0)

    def _summed(self, x: Any, weights: Array) -> Any:
        return self._xp.sum(native.widened(x) * native.constant(weights, x), axis=-1)
