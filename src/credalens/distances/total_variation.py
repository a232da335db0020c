"""Total variation: the largest difference in the probability of an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, Array, native, per_instance
from credalens.distances.base import Distance, Questions, Seminorm


@dataclass(frozen=True)
class TotalVariation(Distance):
    """Total variation distance, ``max over A of p(A) - q(A) = sum |p - q| / 2``.

    It needs no geometry on the classes, and all of its measures have closed forms but for the
    upper aleatoric end, a matrix game (González-García et al. 2026, Proposition 4.7).

    Examples
    --------
    >>> import credalens as cl
    >>> float(cl.TotalVariation()([0.5, 0.5, 0.0], [0.5, 0.0, 0.5]))
    0.5
    """

    #: Number of classes; only `dirac_costs` needs it.
    n_classes: int | None = None
    #: How sets with a closed form of their own know it: they do not import distances.
    name: ClassVar[str] = "tv"

    def __post_init__(self) -> None:
        if self.n_classes is not None:
            _validation.whole_number(self.n_classes, "n_classes", least=1)

    @property
    def dirac_costs(self) -> Array | None:
        """``1 - I``, as ``d(p, delta_y) = 1 - p_y``; ``None`` until `n_classes` is given.

        The measures do not use it: they ask sets for the closed forms.
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

        def kernel(block: Array, wide: Array) -> None:
            _kernels.closed_forms(block, None, None, wide, None, AS_WANTED)

        (wide,) = per_instance(points, kernel, [()], large=True)
        return wide / 2

    def total(self, Q: Questions) -> Array:
        """Return ``1 - max over y of the lower probability of y``."""
        return Q.tv_closed_forms(epistemic=False)[0]

    def aleatoric(self, Q: Questions) -> tuple[Array, Array, Array]:
        """Return ``1 - max over p, y of p_y``, ``1 - min over p of max over y of p_y``, its gap."""
        _, lower, upper, _, gap = Q.tv_uncertainty(epistemic=False)
        return lower, upper, gap

    def everything(self, Q: Questions) -> tuple[Array, Array, Array, Array, Array]:
        """Return total, both aleatoric ends, epistemic, and the largest error of the ends."""
        return Q.tv_uncertainty()

    def imprecision(self, Q: Questions) -> tuple[Array, Array]:
        """Return the diameter (González-García et al. 2026, Corollary 4.10), which is exact."""
        value = Q.diameter(self)
        return value, native.no_error(value)
