"""Queries of second-order measures and scoring rules, with default implementations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from credalens import _validation
from credalens._backend import namespace
from credalens.sets.array_set import ArraySet

if TYPE_CHECKING:
    from credalens.sets.hull import ConvexHull

#: Scoring rules, by the number that the kernels have for each.
LOSSES = ("log", "brier", "spherical", "zero_one")


class ScoringQueries(ArraySet):
    """Queries about the generalised entropy of a scoring rule, and its divergence.

    ::

        loss       G(p)                 D(p, q)
        log        -sum_y p_y ln p_y    sum_y p_y ln(p_y / q_y)
        brier      1 - |p|^2            |p - q|^2
        spherical  1 - |p|              |p| - <p, q> / |q|
        zero_one   1 - max_y p_y        max_y p_y - p_z, z = argmax q
    """

    if TYPE_CHECKING:

        def to_hull(self) -> ConvexHull: ...

    def second_order(self, loss: str, weights: Any = None) -> tuple[Any, Any, Any]:
        """Return ``G(mean)``, the mean of G, and their difference, over the members of a hull.

        Parameters
        ----------
        loss : {"log", "brier", "spherical", "zero_one"}
            The scoring rule.
        weights : array-like of shape (M,) or (..., M), optional
            Weights of the members, by default equal; they are divided by their sum.

        Raises
        ------
        ValueError
            If the set has no members.
        """
        self._raise_no_members()

    def second_order_errors(self, loss: str, weights: Any = None) -> tuple[Any, Any, Any] | None:
        """Return the errors of the results of `second_order`, ``None`` if these are exact."""
        return None

    def second_order_by_class(self, loss: str, weights: Any = None) -> tuple[Any, Any, Any]:
        """Return the same of ``(p_y, 1 - p_y)`` for each class y, ``(..., K)``.

        With ``"log"`` the binary entropy, with ``"brier"`` half of its score: ``p_y (1 - p_y)``.
        """
        self._raise_no_members()

    def median_distance(self, weights: Any = None) -> Any:
        """Return the smallest expected total variation distance of the members to a distribution.

        See `second_order` for the weights.
        """
        self._raise_no_members()

    def _raise_no_members(self) -> NoReturn:
        _validation.raise_invalid(
            "Q",
            f"is a {type(self).__name__}, which has no members, and second-order measures treat "
            "the members as a sample",
            "pass the predictions (..., M, K) or their ConvexHull, or choose a measure of the set, "
            "such as 'tv', 'entropy' or 'scoring:log'",
        )

    def min_norm_point(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest ``|p|^2`` over the set, its gap and, if requested, the minimiser.

        The gap is ``max over q in the set of <p, p - q>``: no q has ``|q|^2 < |p|^2 - 2 gap``.
        """
        return self.to_hull().min_norm_point(distribution=distribution)

    def max_square_norm(self) -> Any:
        """Return the largest ``|p|^2`` over the set, which an extreme point attains."""
        return self.to_hull().max_square_norm()

    def max_divergence(self, loss: str) -> Any:
        """Return ``max over p, q in the set of D(p, q)`` for log, Brier or spherical scores.

        Two extreme points attain it: the first two divergences are jointly convex; the third is
        convex in p and, for non-negative p, quasiconvex in q. The logarithmic one is infinite if
        one extreme point has a zero that another has not.
        """
        hull = self.to_hull()
        if loss == "log":  # zeros of computed extreme points may be off by rounding
            points = hull.members
            tiny = points < 16 * float(np.finfo(self.dtype).eps)
            hull = type(hull)(namespace(points).where(tiny, 0.0 * points, points), validate=False)
        return hull.max_divergence(loss)

    def max_zero_one_divergence(self) -> Any:
        """Return ``max over p, q in the set of max_z p_z - p_y``, where y is an argmax of q."""
        return self.to_hull().max_zero_one_divergence()
