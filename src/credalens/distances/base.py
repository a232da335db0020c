"""What every distance between distributions can be asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np

from credalens import _validation
from credalens._arrays import Array, to_numpy


class Questions(Protocol):
    """What a distance needs of a credal set (see `credalens.sets.CredalSet`)."""

    def lower(self, f: Any = None) -> Any:
        """Return smallest expectations."""

    def upper(self, f: Any = None) -> Any:
        """Return largest expectations."""

    def maximin(self, cost: Array | None = None) -> tuple[Array, Array]:
        """Return the value and the certified gap of a matrix game."""

    def diameter(self, distance: Any) -> Array:
        """Return the largest distance between two members."""

    def tv_extremes(self, *, diameter: bool) -> tuple[Array, Array, Array | None]:
        """Return largest lower and upper class probabilities, and the L1 diameter."""

    def tv_profile(self) -> tuple[Array, Array, Array, Array, Array]:
        """Return everything that total variation asks, in one pass."""


class Distance(ABC):
    """An integral probability metric between distributions over K classes.

    A distance says how far two distributions are apart and what the diameter of a finite set of
    points is. One that is linear in p when its second argument is a Dirac measure also gives
    `dirac_costs`; total and aleatoric uncertainty then follow from the questions that every set
    answers, as risks of deciding for a class.
    """

    #: Whether the distance separates distributions, is symmetric and keeps the triangle inequality.
    is_metric: bool = True

    @property
    @abstractmethod
    def dirac_costs(self) -> Array | None:
        """``(K, K)`` matrix c with ``d(p, delta_y) = E_p[c(., y)]``, ``None`` if there is none."""

    @abstractmethod
    def between(self, p: Array, q: Array) -> Array:
        """Return the distances of float64 arrays ``(..., K)`` that broadcast."""

    @abstractmethod
    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""

    @abstractmethod
    def total(self, Q: Questions) -> Array:
        """Return ``min over y of max over p of d(p, delta_y)``."""

    @abstractmethod
    def aleatoric(self, Q: Questions) -> tuple[Array, Array, Array]:
        """Return the ends of ``{min over y of d(p, delta_y) : p in Q}`` and the upper end's gap."""

    def epistemic(self, Q: Questions) -> Array:
        """Return half the diameter."""
        return Q.diameter(self) / 2

    def everything(self, Q: Questions) -> tuple[Array, Array, Array, Array, Array]:
        """Return total, both aleatoric ends, epistemic, and the gap of the upper end."""
        lower, upper, gap = self.aleatoric(Q)
        return self.total(Q), lower, upper, self.epistemic(Q), gap

    def __call__(self, p: Any, q: Any) -> Any:
        """Return the distance between `p` and `q`, ``(..., K)`` each, which broadcast."""
        origin = to_numpy(p, "p")[1]
        first = _validation.probabilities(p, "p", axes=("classes",))
        second = _validation.probabilities(q, "q", axes=("classes",))
        if first.shape[-1] != second.shape[-1]:
            _validation.refuse(
                "q", f"has {second.shape[-1]} classes", f"pass {first.shape[-1]}, as in p"
            )
        dtype = np.result_type(first.dtype, second.dtype)
        result = self.between(first.astype(np.float64), second.astype(np.float64))
        return origin.wrap(np.asarray(result, dtype))
