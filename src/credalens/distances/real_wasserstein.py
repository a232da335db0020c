"""The Wasserstein distance between distributions on the real line."""

from __future__ import annotations

from typing import Any

from credalens import _validation
from credalens._backend import namespace
from credalens._protocols import RealHullLike
from credalens.distances.base import Distance, as_distance

#: Its name, the only one of a distance on the real line.
REAL_NAME = "wasserstein"


class _Default(str):
    """A name that is the default of an argument, which is not the same as passing it."""

    __slots__ = ()


#: The default of arguments: total variation for classes, Wasserstein for real-valued targets.
DEFAULT = _Default("tv")


class RealWasserstein:
    """Wasserstein-1 distance with ``|y - y'|``: the L1 distance of the quantile functions.

    It has the methods of `Distance` that measures call.
    """

    def total(self, Q: RealHullLike) -> Any:
        """Return ``min over t of max over p of E_p|Y - t|``."""
        return Q.wasserstein_uncertainty(epistemic=False)[0]

    def total_and_error(self, Q: RealHullLike) -> tuple[Any, Any]:
        """Return the same and its certified error."""
        total, _, _, _, error = Q.wasserstein_uncertainty(epistemic=False)
        return total, error

    def aleatoric(self, Q: RealHullLike) -> tuple[Any, Any, Any]:
        """Return the ends of ``{min over t of E_p|Y - t| : p in Q}`` and their largest error."""
        _, lower, upper, _, error = Q.wasserstein_uncertainty(epistemic=False)
        return lower, upper, error

    def epistemic(self, Q: RealHullLike) -> Any:
        """Return half the diameter."""
        return Q.wasserstein_diameter()[0] / 2

    def diameter_bounds_of(self, Q: RealHullLike) -> tuple[Any, Any]:
        """Return certified bounds of the diameter."""
        return Q.wasserstein_diameter()

    def decompose(self, Q: RealHullLike) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic, and the largest error."""
        return Q.wasserstein_uncertainty()

    def component_errors(self, Q: RealHullLike) -> tuple[Any, Any, Any, Any] | None:
        """Return None: total and upper aleatoric end have the error of `decompose`."""
        return None

    def relative_error(self, error: Any, value: Any) -> Any:
        """Return an error as a share of the value, which has the unit of the target."""
        xp = namespace(error)
        return error / xp.where(value > 0, value, xp.ones_like(value))


def distance_on(Q: Any, distance: str | Distance = DEFAULT) -> Distance | RealWasserstein:
    """Return a distance, or that of a name, between distributions over the outcomes of `Q`."""
    if not Q.on_real_line:
        return as_distance(distance, Q.n_classes)
    if distance is not DEFAULT and distance != REAL_NAME:
        _validation.raise_invalid(
            "distance",
            f"is {distance!r}, which is defined for classes, and Q is a RealHull",
            f"pass {REAL_NAME!r}, the default for real-valued targets",
        )
    return RealWasserstein()
