"""What sets and distances need of each other; neither imports the other."""

from __future__ import annotations

from typing import Any, Protocol

from credalens._backend import Array
from credalens._edges import Edges, Line


class DistanceLike(Protocol):
    """What a credal set needs of a distance (see `credalens.distances.Distance`)."""

    def diameter_of(self, Q: Any) -> Any:
        """Return the largest distance between two members of each set."""

    def diameter_bounds_of(self, Q: Any) -> tuple[Any, Any]:
        """Return certified bounds of the diameter of each set."""

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""

    def diameter_bounds(self, points: Array) -> tuple[Array, Array]:
        """Return certified bounds of the diameter of each ``(..., V, K)``."""

    def minimax_dirac_distance(self, points: Array) -> Array:
        """Return ``min over y of max over rows p of d(p, delta_y)`` of each ``(..., V, K)``."""

    def seminorm(self, n_classes: int) -> Any:
        """Return the distance as a norm of linear features, or None."""

    def line(self, n_classes: int) -> Line | None:
        """Return the classes on a line that the distance is a function of, or None."""


class CredalSetLike(Protocol):
    """What a distance needs of a credal set (see `credalens.sets.CredalSet`)."""

    @property
    def n_classes(self) -> int:
        """Number of classes K."""

    def detached(self, operation: str) -> Any:
        """Return the same sets, NumPy-backed; raise if a gradient is requested."""

    def widths(self, f: Any = None) -> Array:
        """Return largest minus smallest expectations, float64."""

    def choquet_is_lower(self) -> Array:
        """Return whether Choquet integrals by the lower probability are lower expectations."""

    def minimax_and_minimin_risk(self, cost: Array | Edges) -> tuple[Any, Any]:
        """Return the minimum over decisions of the largest and of the smallest expected cost."""

    def cost_uncertainty(self, cost: Array | Edges) -> tuple[Any, Any, Any, Any]:
        """Return both risks, the value of the matrix game, clipped to them, and its gap."""

    def minimax_dirac_distance(self, distance: Any) -> Any:
        """Return ``min over y of max over p of d(p, delta_y)``."""

    def vertex_diameter(self, distance: Any) -> Any:
        """Return the largest distance between two extreme points."""

    def vertex_diameter_bounds(self, distance: Any) -> tuple[Any, Any]:
        """Return certified bounds of the largest distance between two extreme points."""

    def kolmogorov_aleatoric(self) -> tuple[Any, Any, Any]:
        """Return the aleatoric ends of the Kolmogorov distance, and their largest error."""

    def tv_diameter(self) -> Any:
        """Return the diameter in total variation."""

    def tv_diameter_bounds(self) -> tuple[Any, Any]:
        """Return certified bounds of the diameter in total variation."""

    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Any, Any, Any]:
        """Return total, lower aleatoric and, if requested, epistemic uncertainty (TV)."""

    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic if requested, and the certified error."""

    def tv_errors(self) -> tuple[Any, Any, Any, Any] | None:
        """Return the errors of total, both aleatoric ends and epistemic uncertainty (TV)."""


class RealHullLike(Protocol):
    """What a distance needs of a hull on the real line (see `credalens.sets.RealHull`)."""

    def wasserstein_uncertainty(self, *, epistemic: bool = True) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic if requested, and the certified error."""

    def wasserstein_diameter(self) -> tuple[Any, Any]:
        """Return certified bounds of the largest distance of two members."""
