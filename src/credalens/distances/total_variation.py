"""Total variation: the largest difference in the probability of an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, map_instances, native
from credalens._protocols import CredalSetLike
from credalens.distances.base import Distance, Seminorm


@dataclass(frozen=True)
class TotalVariation(Distance):
    """Total variation distance, ``max over A of p(A) - q(A) = sum |p - q| / 2``.

    It needs no geometry on the classes, and its measures have closed forms except for the upper
    aleatoric end, a matrix game (González-García et al. 2026, Proposition 4.7).

    Examples
    --------
    >>> import credalens as cl
    >>> float(cl.TotalVariation()([0.5, 0.5, 0.0], [0.5, 0.0, 0.5]))
    0.5
    """

    #: Number of classes; only `dirac_costs` needs it.
    n_classes: int | None = None

    def __post_init__(self) -> None:
        if self.n_classes is not None:
            _validation.whole_number(self.n_classes, "n_classes", least=1)

    @property
    def dirac_costs(self) -> Array | None:
        """``1 - I``, as ``d(p, delta_y) = 1 - p_y``; ``None`` until `n_classes` is given.

        The measures do not use it: sets compute the closed forms.
        """
        return None if self.n_classes is None else 1.0 - np.eye(self.n_classes)

    def between(self, p: Array, q: Array) -> Array:
        """Return the distances of float64 arrays ``(..., K)`` that broadcast."""
        return np.asarray(np.abs(p - q).sum(axis=-1) / 2)

    def seminorm(self, n_classes: int) -> Seminorm:
        """Return half the sum of the absolute differences."""
        return Seminorm(1, scale=0.5)

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""

        def kernel(block: Array, diameter: Array) -> None:
            _kernels.closed_forms(block, None, None, diameter, None, DEFAULT_THREADS)

        (diameter,) = map_instances(kernel, points, [()], large=True)
        return np.asarray(diameter / 2)

    def diameter_of(self, Q: CredalSetLike) -> Any:
        """Return the largest distance between two members of each set."""
        # A subclass may define another `diameter`.
        return Q.tv_diameter() if type(self) is TotalVariation else super().diameter_of(Q)

    def diameter_bounds_of(self, Q: CredalSetLike) -> tuple[Any, Any]:
        """Return certified bounds of the diameter, equal where it is known exactly."""
        if type(self) is TotalVariation:
            return Q.tv_diameter_bounds()
        return super().diameter_bounds_of(Q)

    def total(self, Q: CredalSetLike) -> Any:
        """Return ``1 - max over y of the lower probability of y``."""
        return Q.tv_closed_forms(epistemic=False)[0]

    def aleatoric(self, Q: CredalSetLike) -> tuple[Any, Any, Any]:
        """Return ``1 - max over p, y of p_y``, ``1 - min over p of max over y of p_y``, its gap."""
        _, lower, upper, _, gap = Q.tv_uncertainty(epistemic=False)
        return lower, upper, gap

    def decompose(self, Q: CredalSetLike) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic, and the largest error of the ends."""
        return Q.tv_uncertainty() if type(self) is TotalVariation else super().decompose(Q)

    def component_errors(self, Q: CredalSetLike) -> tuple[Any, Any, Any, Any] | None:
        """Return the errors of total, both aleatoric ends and epistemic uncertainty."""
        return Q.tv_errors() if type(self) is TotalVariation else None

    def imprecision(self, Q: CredalSetLike) -> tuple[Any, Any]:
        """Return the diameter (González-García et al. 2026, Corollary 4.10) and its error."""
        value, errors = self.diameter_of(Q), self.component_errors(Q)
        return value, native.zeros_like(value) if errors is None else 2 * errors[3]
