"""Diameters of distances that are norms of linear features, for sets without extreme points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array, namespace
from credalens.sets.support import SupportSet

#: Largest number of features of a distance whose signs are enumerated.
MAX_FEATURES = 12


class FeatureQueries(SupportSet):
    """Distances by expectations of finitely many test functions; no extreme points are listed."""

    def vertex_diameter(self, distance: Any) -> Any:
        """Return the largest distance between two members.

        For a norm of features, such as the cumulative probabilities of ordered classes: the largest
        difference of expectations over the features, or over all signs of up to 12 features.
        """
        functions, scale = self._features(distance)
        if functions is None:
            return super().vertex_diameter(distance)
        widths = self.upper(functions) - self.lower(functions)
        return scale * namespace(widths).max(widths, axis=-1)

    def minimax_dirac_distance(self, distance: Any) -> Any:
        """Return ``min over y of max over p of d(p, delta_y)``; see `vertex_diameter`."""
        functions, scale = self._features(distance)
        if functions is None:
            return super().minimax_dirac_distance(distance)
        low, high = np.asarray(self.lower(functions)), np.asarray(self.upper(functions))
        worst = np.maximum(high[..., None] - functions, functions - low[..., None])
        return self.backend.wrap(scale * worst.max(axis=-2).min(axis=-1))

    def _features(self, distance: Any) -> tuple[Array | None, float]:
        """Return test functions with ``d(p, q) = scale max |E_p[f] - E_q[f]|``, None if unknown."""
        K = self.n_classes
        norm = distance.seminorm(K) if K > 2 else None
        if norm is None:
            return None, 1.0
        matrix = np.eye(K) if norm.matrix is None else np.asarray(norm.matrix, np.float64)
        F = matrix.shape[1]
        if norm.order == 1 and F <= MAX_FEATURES:
            signs = 1.0 - 2.0 * (np.arange(1 << (F - 1))[:, None] >> np.arange(F) & 1)
            return signs @ matrix.T, norm.scale
        if norm.order == math.inf:
            return matrix.T, norm.scale
        return None, 1.0

    def extreme_points(self) -> Any:
        """Return the extreme points of sets of one or two classes, ``(..., K, K)``.

        Raises ValueError for more classes.
        """
        K = self.n_classes
        if K > 2:
            _validation.raise_invalid(
                self.array_names[0],
                f"has {K} classes, and {self._why_no_points}",
                "use total variation, entropy, Hartley, expectations, costs or decisions, which "
                "need no extreme points, or another set, such as Q.to_intervals()",
            )
        low, high = self.lower(), self.upper()
        xp = namespace(low)
        if K == 1:
            return low[..., None, :]
        ends = [xp.stack([x[..., 0], 1 - x[..., 0]], axis=-1) for x in (low, high)]
        return xp.stack(ends, axis=-2)

    #: Why the extreme points are not listed, for the error message.
    _why_no_points: str
