"""Diameters of distances that are norms of linear features, for sets without extreme points."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array, namespace, primitive
from credalens.sets.support import CERTIFIED, SupportSet, raise_uncertified

#: Largest number of features of a distance whose signs are enumerated.
MAX_FEATURES = 12
#: Steps of the search for two members far from each other; it ends when no sign changes.
MAX_STEPS = 20


class FeatureQueries(SupportSet):
    """Distances by expectations of finitely many test functions; no extreme points are listed."""

    def _test_functions(self, distance: Any) -> Array | None:
        """Return functions with ``d(p, q) = max |E_p[f] - E_q[f]|``, None if there are too many.

        For a sum of absolute features, such as the mass across the edges of a line or tree, these
        are the combinations of the features with all signs, for up to 12 features.
        """
        K = self.n_classes
        functions = super()._test_functions(distance) if K > 2 else None
        if functions is not None or K <= 2:
            return functions
        features = self._absolute_features(distance)
        if features is None or len(features) > MAX_FEATURES:
            return None
        F = len(features)
        signs = 1.0 - 2.0 * (np.arange(1 << max(F - 1, 0))[:, None] >> np.arange(F) & 1)
        return np.asarray(signs @ features)

    def _absolute_features(self, distance: Any) -> Array | None:
        """Return f ``(F, K)`` with ``d(p, q) = sum over f of |E_p[f] - E_q[f]|``, or None."""
        norm = distance.seminorm(self.n_classes)
        if norm is None or norm.order != 1:
            return None
        dense = norm.dense()
        matrix = np.eye(self.n_classes) if dense is None else np.asarray(dense, np.float64)
        return np.asarray(norm.scale * matrix.T)

    def vertex_diameter(self, distance: Any) -> Any:
        """Return the largest distance between two members.

        Exact for the Kolmogorov distance, for finitely many test functions, and for Wasserstein
        distances on lines and trees of up to 12 edges. Raises ValueError if only bounds are
        certified, which `vertex_diameter_bounds` returns.
        """
        lower, upper = self.vertex_diameter_bounds(distance)
        if lower is not upper and np.any(np.asarray(upper - lower) > CERTIFIED):
            raise_uncertified(lower, upper, "diameter", self.n_classes)
        return lower

    def vertex_diameter_bounds(self, distance: Any) -> tuple[Any, Any]:
        """Return certified bounds of `vertex_diameter`, the same array twice if it is exact.

        For many edges of a line or tree two members that a search finds, and the sum of the
        largest differences of the mass across each edge.
        """
        features = self._absolute_features(distance) if self.n_classes > 2 else None
        if features is None or len(features) <= MAX_FEATURES:
            diameter = super().vertex_diameter(distance)
            return diameter, diameter
        lower, upper = self._bounds_by_features(features)
        return lower, upper

    @primitive("Q->(),()")
    def _bounds_by_features(self, features: Array) -> tuple[Any, Any]:
        upper = self.widths(features).sum(axis=-1)

        def kernel(*parts: Array) -> None:
            *inputs, lower = parts
            maximiser, every = self._maximiser_of(inputs), np.arange(len(lower))
            signs = np.ones((len(lower), len(features)))
            lower.fill(0.0)
            for _ in range(MAX_STEPS):
                f = signs @ features
                apart = (maximiser(f, every) - maximiser(-f, every)) @ features.T
                np.maximum(lower, np.abs(apart).sum(axis=1), out=lower)
                chosen = np.where(apart < 0, -1.0, 1.0)
                if np.array_equal(chosen, signs):
                    break
                signs = chosen

        (lower,) = self._map(kernel, [()])
        return np.minimum(lower, upper), upper

    def extreme_points(self) -> Any:
        """Return the extreme points of sets of one or two classes, ``(..., K, K)``.

        Raises ValueError for more classes.
        """
        K = self.n_classes
        if K > 2:
            _validation.raise_invalid(
                self.array_names[0],
                f"has {K} classes, and {self._why_no_points}",
                "use total variation, ordered classes, entropy, Hartley, expectations, costs or "
                "decisions, which need no extreme points, or another set, such as "
                "Q.to_intervals()",
            )
        low, high = self.lower(), self.upper()
        xp = namespace(low)
        if K == 1:
            return low[..., None, :]
        ends = [xp.stack([x[..., 0], 1 - x[..., 0]], axis=-1) for x in (low, high)]
        return xp.stack(ends, axis=-2)

    #: Why the extreme points are not listed, for the error message.
    _why_no_points: str
