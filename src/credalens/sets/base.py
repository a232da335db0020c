"""What every credal set can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from credalens import _validation
from credalens._arrays import NUMPY, Array, Origin, to_numpy

if TYPE_CHECKING:
    from credalens.sets.hull import ConvexHull


class HasDiameter(Protocol):
    """What a set needs of a distance."""

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""


class CredalSet(ABC):
    """A batch of closed convex sets of probability vectors.

    A representation must say its shape and list its corners (`extreme_points`); every other
    question is then answered here, from the corners. A representation that knows a better way
    overrides the question.
    """

    #: Where the data came from; results go back there.
    origin: Origin = NUMPY

    @property
    @abstractmethod
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch, ``()`` for a single set."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes K."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Floating dtype of the data."""

    @abstractmethod
    def extreme_points(self) -> Any:
        """Return the corners, ``(..., V, K)``; a set with fewer repeats one of its own."""

    @abstractmethod
    def __getitem__(self, index: Any) -> Self:
        """Return the sets at `index` of the batch."""

    @abstractmethod
    def plain(self) -> Self:
        """Return the same sets with NumPy as their origin, sharing memory."""

    def to_hull(self) -> ConvexHull:
        """Return the convex hull of the corners."""
        from credalens.sets.hull import ConvexHull

        return ConvexHull(self.extreme_points(), validate=False)

    def __len__(self) -> int:
        if not self.batch_shape:
            raise TypeError("a single credal set has no len(); its batch_shape is ()")
        return self.batch_shape[0]

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
            ``(...)`` for one test function, ``(..., F)`` for many, ``(..., K)`` by default.
        """
        return self.to_hull().lower(f)

    def upper(self, f: Any = None) -> Any:
        """Return the largest expectation over the set of each test function; see `lower`."""
        return self.to_hull().upper(f)

    def lower_probability(self, event: Any) -> Any:
        """Return the smallest probability of an event: class indices, or a boolean mask.

        A mask ``(F, K)`` stands for many events and gives ``(..., F)``.
        """
        return self.lower(_validation.event(event, self.n_classes))

    def upper_probability(self, event: Any) -> Any:
        """Return the largest probability of an event; see `lower_probability`."""
        return self.upper(_validation.event(event, self.n_classes))

    def maximin(self, cost: Array | None = None) -> tuple[Array, Array]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its certified gap.

        `cost` is ``(K, K)``, rows for what is true, columns for what is decided; by default 1 off
        the diagonal. The value is attained by a p of the set, so that it is a lower bound whose
        distance to the optimum is at most the gap.
        """
        return self.to_hull().maximin(cost)

    def risks(self, cost: Array) -> tuple[Array, Array]:
        """Return the least over y of the largest, and of the smallest, ``E_p[cost(., y)]``.

        `cost` is ``(K, K)`` as in `maximin`.
        """
        return np.min(self.upper(cost.T), axis=-1), np.min(self.lower(cost.T), axis=-1)

    def diameter(self, distance: HasDiameter) -> Array:
        """Return the largest distance between two members of the set."""
        return self.to_hull().diameter(distance)

    def tv_extremes(self, *, diameter: bool) -> tuple[Array, Array, Array | None]:
        """Return the largest lower and upper class probability and, if asked, the L1 diameter."""
        return self.to_hull().tv_extremes(diameter=diameter)

    def tv_profile(self) -> tuple[Array, Array, Array, Array, Array]:
        """Return `tv_extremes` with the diameter, and ``min_p max_y p_y`` with its gap."""
        return self.to_hull().tv_profile()

    def max_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the largest entropy in nats, its certified gap and, if asked, where it is."""
        return self.to_hull().max_entropy(distribution=distribution)

    def min_entropy(self, *, distribution: bool = False) -> tuple[Array, Array, Array | None]:
        """Return the smallest entropy in nats, its certified error and, if asked, where it is."""
        return self.to_hull().min_entropy(distribution=distribution)

    def hartley_exact(self, w: Array) -> Array:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, w by size ``(K + 1,)``."""
        return self.to_hull().hartley_exact(w)

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, most: int
    ) -> tuple[Array, Array]:
        """Return an unbiased estimate of `hartley_exact` and its standard error.

        `log_v` holds the logarithms of the weights times the number of events of each size;
        `pairs` permutations are drawn or, if it is 0, up to `most`, until the standard error is
        below ``max(rtol * value, atol)``.
        """
        return self.to_hull().hartley_sample(log_v, seed, pairs, rtol, atol, most)

    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        """Say whether `p` is in the set, up to `tolerance` in every coordinate."""
        return self.to_hull().contains(p, tolerance)

    def center(self) -> Any:
        """Return a point in the middle of the set, ``(..., K)``."""
        return self.to_hull().center()

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(batch_shape={self.batch_shape}, "
            f"n_classes={self.n_classes}, dtype={self.dtype})"
        )


def point(p: Any, n_classes: int, name: str = "p") -> tuple[Array, Origin]:
    """Return `p` checked as one distribution over `n_classes`, or many, and its origin."""
    origin = to_numpy(p, name)[1]
    array = _validation.probabilities(p, name, axes=("classes",))
    if array.shape[-1] != n_classes:
        _validation.refuse(
            name, f"has {array.shape[-1]} classes", f"pass distributions over {n_classes} classes"
        )
    return array, origin
