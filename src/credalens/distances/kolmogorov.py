"""The Kolmogorov distance: the largest difference of cumulative probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, Array, map_instances, native
from credalens._edges import Line, on_line, tails
from credalens._protocols import CredalSetLike
from credalens.distances.base import Distance, Seminorm, block_rows


@dataclass(frozen=True)
class Kolmogorov(Distance):
    """Kolmogorov distance for ordered classes, ``max over k of |P(y <= k) - Q(y <= k)|``.

    Unlike `Wasserstein.ordinal`, it depends on the order of the classes and not on their distances.

    Notes
    -----
    ``d(p, delta_y) = max(p(< y), p(> y))`` is convex, not linear, in p. The lower aleatoric end is
    therefore the smallest value of K matrix games between these two functions. For the upper end,
    ``min over y of d(p, delta_y) = max over k of min(F(k), 1 - F(k))`` with ``F(k) = p(<= k)``, and
    F(k) takes all values between its lower and its upper probability. For 2-monotone sets the lower
    end is ``min over y of max(lower(< y), lower(> y), lower(not y) / 2)``.

    Examples
    --------
    >>> import credalens as cl
    >>> float(cl.Kolmogorov()([0.5, 0.0, 0.5], [0.0, 0.75, 0.25]))
    0.5
    """

    #: Number of classes; if given, it is validated.
    n_classes: int | None = None

    def between(self, p: Array, q: Array) -> Array:
        """Return the distances of float64 arrays ``(..., K)`` that broadcast."""
        return np.asarray(np.abs(np.cumsum(p - q, axis=-1)[..., :-1]).max(axis=-1, initial=0.0))

    def seminorm(self, n_classes: int) -> Seminorm:
        """Return the largest difference of the K - 1 cumulative probabilities."""
        return Seminorm(math.inf, on_line(np.arange(n_classes, dtype=np.float64)))

    def line(self, n_classes: int) -> Line:
        """Return the classes in their order."""
        return Line(np.arange(n_classes), np.arange(n_classes, dtype=np.float64), kolmogorov=True)

    def to_diracs(self, points: Array) -> Array:
        """Return ``d(p, delta_y)`` for the rows p of float64 ``(b, M, K)`` and every y."""
        return np.maximum(*tails(points))

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""

        def kernel(block: Array, diameter: Array) -> None:
            _kernels.kolmogorov_diameter(block, diameter, DEFAULT_THREADS)

        (diameter,) = map_instances(kernel, points, [()], large=True)
        return np.asarray(diameter)

    def minimax_dirac_distance(self, points: Array) -> Array:
        """Return ``min over y of max over rows p of max(p(< y), p(> y))``."""

        def kernel(block: Array, worst: Array) -> None:
            self.to_diracs(block).max(axis=1).min(axis=1, out=worst)

        (worst,) = map_instances(kernel, points, [()], rows=block_rows(points))
        return np.asarray(worst)

    def aleatoric(self, Q: CredalSetLike) -> tuple[Any, Any, Any]:
        """Return the ends of ``{min over y of d(p, delta_y) : p in Q}`` and their largest error."""
        sets = Q.detached("aleatoric uncertainty of Kolmogorov")
        lower, upper, error = sets.kolmogorov_aleatoric()
        return lower, upper, error

    def imprecision(self, Q: CredalSetLike) -> tuple[Array, Array]:
        """Return the diameter, which is exact: the test functions are indicators of events."""
        value = self.diameter_of(Q)
        return value, native.zeros_like(value)
