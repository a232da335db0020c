"""The Kolmogorov distance: the largest difference of cumulative probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from credalens import _kernels
from credalens._arrays import AS_WANTED, Array, native, per_instance
from credalens.distances.base import Distance, Questions, Seminorm, block_rows
from credalens.distances.games import least_minimax


@dataclass(frozen=True)
class Kolmogorov(Distance):
    """Kolmogorov distance for ordered classes, ``max over k of |P(y <= k) - Q(y <= k)|``.

    Unlike `Wasserstein.ordinal` it does not say how far apart classes are, only in which order
    they come.

    Notes
    -----
    ``d(p, delta_y) = max(p(< y), p(> y))`` is convex, not linear, in p. The lower aleatoric end is
    therefore a small game between these two functions for each y. For the upper end, the class
    that splits p best gives ``min over y of d(p, delta_y) = max over k of min(F(k), 1 - F(k))``
    with ``F(k) = p(<= k)``, and each F(k) takes all values between its lower and upper probability.

    Examples
    --------
    >>> import credalens as cl
    >>> float(cl.Kolmogorov()([0.5, 0.0, 0.5], [0.0, 0.75, 0.25]))
    0.5
    """

    #: Number of classes, checked if given.
    n_classes: int | None = None

    def between(self, p: Array, q: Array) -> Array:
        """Return the distances of float64 arrays ``(..., K)`` that broadcast."""
        return np.asarray(np.abs(np.cumsum(p - q, axis=-1)[..., :-1]).max(axis=-1, initial=0.0))

    def seminorm(self, n_classes: int) -> Seminorm:
        """Return the largest difference of the K - 1 cumulative probabilities."""
        return Seminorm(math.inf, np.triu(np.ones((n_classes, n_classes)))[:, :-1])

    def to_diracs(self, points: Array) -> Array:
        """Return ``d(p, delta_y)`` for the rows p of float64 ``(b, M, K)`` and every y."""
        return np.maximum(*_sides(points))

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""

        def kernel(block: Array, wide: Array) -> None:
            _kernels.cumulative_diameter(block, wide, AS_WANTED)

        (wide,) = per_instance(points, kernel, [()], large=True)
        return wide

    def reach(self, points: Array) -> Array:
        """Return ``min over y of max over rows p of max(p(< y), p(> y))``."""

        def kernel(block: Array, worst: Array) -> None:
            self.to_diracs(block).max(axis=1).min(axis=1, out=worst)

        (worst,) = per_instance(points, kernel, [()], rows=block_rows(points))
        return worst

    def aleatoric(self, Q: Questions) -> tuple[Array, Array, Array]:
        """Return the ends of ``{min over y of d(p, delta_y) : p in Q}`` and their largest error."""

        def kernel(block: Array, lower: Array, upper: Array, error: Array) -> None:
            below, above = _sides(block)
            games = np.stack([below, above], axis=-1).transpose(0, 2, 1, 3)
            lower[:], error[:] = least_minimax(games)
            # F(k) ranges over [least, most]; the value nearest to a half counts.
            least, most = below[..., 1:].min(axis=1), below[..., 1:].max(axis=1)
            nearest = np.clip(0.5, least, most)
            np.minimum(nearest, 1 - nearest).max(axis=1, out=upper, initial=0.0)
            np.minimum(lower, upper, out=lower)  # true by definition, but for rounding

        points = Q.to_hull().members
        lower, upper, error = per_instance(points, kernel, [()] * 3, rows=block_rows(points))
        return lower, upper, error

    def imprecision(self, Q: Questions) -> tuple[Array, Array]:
        """Return the diameter: test functions that are indicators have one level set each."""
        value = Q.diameter(self)
        return value, native.no_error(value)


def _sides(points: Array) -> tuple[Array, Array]:
    """Return the mass before and the mass after each class, in float64."""
    below = np.zeros(points.shape)
    np.cumsum(points[..., :-1], axis=-1, dtype=np.float64, out=below[..., 1:])
    above = np.zeros(points.shape)
    np.cumsum(points[..., :0:-1], axis=-1, dtype=np.float64, out=above[..., -2::-1])
    return below, above
