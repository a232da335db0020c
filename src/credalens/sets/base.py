"""The queries of a credal set, each with a default implementation based on extreme points."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credalens import _validation
from credalens._backend import Array, is_tensor, namespace, native, primitive
from credalens._edges import Edges
from credalens.sets.decision_queries import DecisionQueries
from credalens.sets.events import event_count, two_monotone

if TYPE_CHECKING:
    from credalens._protocols import DistanceLike
    from credalens.sets.hull import ConvexHull
    from credalens.sets.intervals import ProbabilityIntervals


class CredalSet(DecisionQueries):
    """A batch of closed convex sets of probability vectors.

    ``Q[i]`` indexes the batch, ``len(Q)`` is its length, and ``Q <= R`` tests each set for
    inclusion in that of R.

    A representation validates its arguments (`_validate`), passes them to `_init_arrays`, declares
    the number of core axes of each array (`core_ndims`), and implements `extreme_points`. Every
    other query has a default implementation based on the extreme points; a representation
    overrides those that it knows in closed form.

    Examples
    --------
    >>> import credalens as cl
    >>> Q = cl.Contamination([0.7, 0.2, 0.1], 0.1)
    >>> isinstance(Q, cl.CredalSet), Q.batch_shape, Q.n_classes
    (True, (), 3)
    >>> Q.to_hull()
    ConvexHull(batch_shape=(), n_members=3, n_classes=3, dtype=float64)
    >>> bool(Q <= cl.Contamination([0.7, 0.2, 0.1], 0.3))
    True
    """

    #: Whether only the largest probabilities are known, so that every value has an error.
    truncated: ClassVar[bool] = False
    #: The classes of other representations, registered by their modules, which import this one.
    _hull_class: ClassVar[type[ConvexHull]]
    _intervals_class: ClassVar[type[ProbabilityIntervals]]

    @abstractmethod
    def extreme_points(self) -> Any:
        """Return the extreme points, ``(..., V, K)``; a set with fewer repeats its first one."""

    @primitive("Q->Q")
    def to_hull(self) -> ConvexHull:
        """Return the convex hull of the extreme points."""
        return self._hull_class(self.extreme_points(), validate=False)

    def to_intervals(self) -> ProbabilityIntervals:
        """Return the smallest box that contains the set: its class probability bounds."""
        return self._intervals_class(*class_bounds(self))

    def lower(self, f: Any = None) -> Any:
        """Return the smallest expectation over the set of each test function.

        Parameters
        ----------
        f : array-like, optional
            One test function ``(K,)`` or many ``(F, K)``. By default the indicators of the
            classes, i.e. the lower probability of each class.

        Returns
        -------
        array
            ``(...)`` for one test function, ``(..., F)`` for many, ``(..., K)`` by default.

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.ConvexHull([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
        >>> Q.lower(), float(Q.lower([0, 1, 10]))
        (array([0.2, 0.3, 0.1]), 1.3)
        """
        return self.to_hull().lower(f)

    def upper(self, f: Any = None) -> Any:
        """Return the largest expectation over the set of each test function; see `lower`."""
        return self.to_hull().upper(f)

    def lower_probability(self, event: Any) -> Any:
        """Return the smallest probability of an event.

        Parameters
        ----------
        event : sequence of int, or array-like of bool
            The classes of the event, or a mask ``(K,)`` of them; ``(F, K)`` for many events.

        Returns
        -------
        array
            ``(...)`` for one event, ``(..., F)`` for many.

        Examples
        --------
        >>> import credalens as cl
        >>> Q = cl.ConvexHull([[0.5, 0.25, 0.25], [0.125, 0.625, 0.25]])
        >>> float(Q.lower_probability([0, 2])), float(Q.upper_probability([0, 2]))
        (0.375, 0.75)
        """
        return self.lower(_validation.event(event, self.n_classes))

    def upper_probability(self, event: Any) -> Any:
        """Return the largest probability of an event; see `CredalSet.lower_probability`."""
        return self.upper(_validation.event(event, self.n_classes))

    def widths(self, f: Any = None) -> Array:
        """Return ``upper(f) - lower(f)`` of each test function, float64; see `lower`."""
        upper = np.asarray(self.upper(f), np.float64)
        return np.asarray(upper - np.asarray(self.lower(f), np.float64))

    def lower_sum(self) -> Any:
        """Return the sum of the lower probabilities of the classes, float64."""
        low = self.lower()
        xp = namespace(low)
        dtype = native.wide_dtype(low) if is_tensor(low) else np.float64
        return xp.sum(low, axis=-1, dtype=dtype)

    def maximin(self, cost: Array | Edges | None = None) -> tuple[Any, Any]:
        """Return ``max over p of min over y of E_p[cost(., y)]`` and its duality gap.

        `cost` is ``(K, D)``, one row per class and one column per decision, or the edges of a line
        or tree whose distances are the costs; by default 1 off the diagonal. A p of the set attains
        the value, which is below the optimum by at most the gap.
        """
        return self.to_hull().maximin(cost)

    def minimax_and_minimin_risk(self, cost: Array | Edges) -> tuple[Any, Any]:
        """Return the minimum over y of the largest, and of the smallest, ``E_p[cost(., y)]``.

        `cost` is as in `maximin`.
        """
        costs = cost.dense() if isinstance(cost, Edges) else cost
        worst, best = self.upper(costs.T), self.lower(costs.T)
        xp = namespace(worst)
        return xp.min(worst, axis=-1), xp.min(best, axis=-1)

    def cost_uncertainty(self, cost: Array | Edges) -> tuple[Any, Any, Any, Any]:
        """Return the minimax and the minimin risk, the maximin risk between them, and its gap."""
        total, lower = self.minimax_and_minimin_risk(cost)
        upper, gap = self.maximin(cost)
        # Both inequalities hold by definition; rounding may break them.
        lower = namespace(lower).minimum(lower, total)
        return total, lower, native.clip_values(upper, lower, total), gap

    @primitive("Q->(2^k)")
    def lower_probabilities(self) -> Any:
        """Return the lower probability of every event, ``(..., 2**K)``; class y is bit y.

        Raises
        ------
        ValueError
            If the values of the batch take more than 4 GB.
        """
        n_events = event_count(self.n_classes, self.batch_shape)
        steps = []
        for start in range(0, n_events, 256):
            events = np.arange(start, min(n_events, start + 256))[:, None]
            steps.append(self.lower((events >> np.arange(self.n_classes) & 1).astype(np.float64)))
        return np.concatenate(steps, axis=-1)

    @primitive("Q->()")
    def is_two_monotone(self) -> Any:
        """Return whether ``lower(A | B) + lower(A & B) >= lower(A) + lower(B)`` for all events.

        If so, Choquet integrals are the lower expectations over all distributions that dominate the
        lower probability: those of the set, if it contains all of them. O(K^2 2^K).
        """
        return two_monotone(self.lower_probabilities())

    @primitive("Q->(f)")
    def choquet(self, f: Any) -> Any:
        """Return the Choquet integrals of test functions by the lower probability.

        `f` is ``(K,)`` or ``(F, K)``. A lower bound of ``lower(f)``, equal to it for 2-monotone
        sets that contain all distributions that dominate their lower probability. It needs the
        lower probabilities of K nested events, the level sets of f.
        """
        functions = _validation.as_test_functions(f, self.n_classes)
        values = []
        for one in np.atleast_2d(functions):
            order = np.argsort(-one, kind="stable")
            nested = np.zeros((self.n_classes, self.n_classes), bool)
            for size, y in enumerate(order):
                nested[size:, y] = True
            steps = one[order] - np.append(one[order][1:], 0.0)
            values.append(np.sum(self.lower_probability(nested) * steps, axis=-1))
        result = np.stack(values, axis=-1) if values else np.empty((*self.batch_shape, 0))
        result = np.asarray(result, self.dtype)
        return result if functions.ndim == 2 else result[..., 0]

    @primitive("Q->()")
    def choquet_is_lower(self) -> Array:
        """Return whether Choquet integrals are known to be the lower expectations.

        They are for 2-monotone sets that contain all distributions that dominate their lower
        probability.
        """
        return np.zeros(self.batch_shape, bool)

    def diameter(self, distance: DistanceLike) -> Any:
        """Return the largest distance between two members of each set."""
        return distance.diameter_of(self)

    def diameter_bounds(self, distance: DistanceLike) -> tuple[Any, Any]:
        """Return certified bounds of the diameter, equal where it is known exactly."""
        return distance.diameter_bounds_of(self)

    def vertex_diameter(self, distance: DistanceLike) -> Any:
        """Return the largest distance between two extreme points, by pairs."""
        return self.to_hull().vertex_diameter(distance)

    def vertex_diameter_bounds(self, distance: DistanceLike) -> tuple[Any, Any]:
        """Return certified bounds of `vertex_diameter`, the same array twice if it is exact."""
        diameter = self.vertex_diameter(distance)
        return diameter, diameter

    def minimax_dirac_distance(self, distance: DistanceLike) -> Any:
        """Return ``min over y of max over p of d(p, delta_y)``, attained at an extreme point."""
        return self.to_hull().minimax_dirac_distance(distance)

    def kolmogorov_aleatoric(self) -> tuple[Any, Any, Any]:
        """Return the ends of ``{min over y of max(p(< y), p(> y))}`` and their largest error."""
        return self.to_hull().kolmogorov_aleatoric()

    def tv_diameter(self) -> Any:
        """Return the diameter in total variation."""
        return self.to_hull().tv_diameter()

    def tv_diameter_bounds(self) -> tuple[Any, Any]:
        """Return certified bounds of the diameter in total variation."""
        diameter = self.tv_diameter()
        return diameter, diameter

    def tv_closed_forms(self, *, epistemic: bool) -> tuple[Any, Any, Any]:
        """Return total, lower aleatoric and, if requested, epistemic uncertainty (TV)."""
        return self.to_hull().tv_closed_forms(epistemic=epistemic)

    def tv_uncertainty(self, *, epistemic: bool = True) -> tuple[Any, Any, Any, Any, Any]:
        """Return total, both aleatoric ends, epistemic if requested, and the certified error."""
        return self.to_hull().tv_uncertainty(epistemic=epistemic)

    def tv_errors(self) -> tuple[Any, Any, Any, Any] | None:
        """Return the errors of total, both aleatoric ends and epistemic uncertainty (TV).

        ``None`` if only the upper aleatoric end has one, that of `tv_uncertainty`.
        """
        return None

    def max_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the largest entropy in nats, its duality gap and, if requested, the maximiser."""
        return self.to_hull().max_entropy(distribution=distribution)

    def min_entropy(self, *, distribution: bool = False) -> tuple[Any, ...]:
        """Return the smallest entropy in nats, its error and, if requested, the minimiser."""
        return self.to_hull().min_entropy(distribution=distribution)

    def hartley_exact(self, w: Array) -> Any:
        """Return ``log2 K - sum over events B of w(|B|) lower(B)``, weights w ``(K + 1,)``."""
        return self.to_hull().hartley_exact(w)

    def hartley_sample(
        self, log_v: Array, seed: int, pairs: int, rtol: float, atol: float, max_pairs: int
    ) -> tuple[Any, Any]:
        """Return an unbiased estimate of `hartley_exact` and its standard error.

        `log_v` holds the logarithms of the weights times the number of events of each size. If
        `pairs` is 0, up to `max_pairs` pairs of permutations are drawn, until the standard error is
        below ``max(rtol * value, atol)``.
        """
        return self.to_hull().hartley_sample(log_v, seed, pairs, rtol, atol, max_pairs)

    def hartley_parts(self) -> Iterator[tuple[Array, CredalSet, Array]] | None:
        """Yield sets whose Hartley measure replaces that of this one, ``None`` for none.

        Each is the rows of the flattened batch, the sets, and how far their measure may be off, in
        bits.
        """
        return None

    def contains(self, p: Any, tolerance: float | None = None) -> Any:
        """Return whether `p` is in the set.

        Parameters
        ----------
        p : array-like of shape (..., K)
            Distributions, broadcast against the batch.
        tolerance : float, optional
            Largest difference in a coordinate. By default 1e-9, 1e-6 for data in single precision.

        Returns
        -------
        bool or array of bool
        """
        return self.to_hull().contains(p, tolerance)

    def tv_distance(self, p: Any) -> tuple[Any, Any]:
        """Return the total variation distance of `p` to the nearest member, and its error.

        Parameters
        ----------
        p : array-like of shape (..., K)
            Distributions, broadcast against the batch.

        Returns
        -------
        distance, error : arrays
            A member has this distance; the smallest distance is at most `error` below it.

        Examples
        --------
        >>> import credalens as cl
        >>> distance, error = cl.ConvexHull([[0.6, 0.4], [0.5, 0.5]]).tv_distance([0.9, 0.1])
        >>> round(float(distance), 6), bool(error < 1e-9)
        (0.3, True)
        """
        return self.to_hull().tv_distance(p)

    def center(self) -> Any:
        """Return a representative point of the set, ``(..., K)``."""
        return self.to_hull().center()

    def center_max(self) -> Any:
        """Return the largest probability of the center."""
        center = self.center()
        return namespace(center).max(center, axis=-1)

    def translate(self, t: Any) -> CredalSet:
        """Return the set translated by `t`.

        Parameters
        ----------
        t : array-like of shape (K,) or (..., K)
            Added to the probability of each class; the entries sum to 0.

        Returns
        -------
        CredalSet
            Of the same representation, or a `ConvexHull`.

        Raises
        ------
        ValueError
            If an extreme point would leave the simplex.
        """
        return self.to_hull().translate(t)

    def __le__(self, other: Any) -> Any:
        """Return whether each set is a subset of the set of `other`, up to rounding."""
        if not isinstance(other, CredalSet):
            return NotImplemented
        if other.n_classes != self.n_classes:
            _validation.raise_invalid(
                "other", f"has {other.n_classes} classes", f"pass a set over {self.n_classes}"
            )
        slack = _validation.slack_of(self.dtype, other.dtype)
        _validation.check_broadcastable("other", other.batch_shape, "batch_shape", self.batch_shape)
        inside = other.to_numpy_backed()._contains_set(self.to_numpy_backed(), slack)
        return self.backend.wrap(np.asarray(inside))

    def __ge__(self, other: Any) -> Any:
        """Return whether each set is a superset of the set of `other`, up to rounding."""
        # Not `other <= self`: Python tries the subclass first, which would recurse.
        return other.__le__(self) if isinstance(other, CredalSet) else NotImplemented

    def _contains_set(self, inner: CredalSet, tolerance: float) -> Array:
        """Return whether the extreme points of `inner` are in this set."""
        points = np.moveaxis(np.asarray(inner.extreme_points()), -2, 0)
        inside = np.ones(np.broadcast_shapes(self.batch_shape, inner.batch_shape), bool)
        step = max(1, (1 << 20) // max(1, math.prod(points.shape[1:])))
        for start in range(0, len(points), step):
            inside &= np.all(self.contains(points[start : start + step], tolerance), axis=0)
        return inside

    # ---------------------------------------------------------------- arguments of queries

    def _validate_point(self, p: Any, tolerance: float | None) -> tuple[Array, float]:
        """Return `p` validated as distributions over the classes, and the tolerance."""
        target = _validation.distributions(p, "p")
        if target.shape[-1] != self.n_classes:
            _validation.raise_invalid(
                "p",
                f"has {target.shape[-1]} classes",
                f"pass distributions over {self.n_classes} classes",
            )
        _validation.check_broadcastable("p", target.shape[:-1], "batch_shape", self.batch_shape)
        if tolerance is None:
            return target, _validation.slack_of(self.dtype)
        return target, _validation.number(tolerance, "tolerance", least=0)

    def _validate_shift(self, t: Any) -> Array:
        """Return `t` validated as a translation, float64."""
        shift = _validation.finite(t, "t").astype(np.float64, copy=False)
        if shift.ndim < 1 or shift.shape[-1] != self.n_classes:
            _validation.raise_invalid(
                "t",
                f"has shape {shift.shape}",
                f"pass one number per class, (..., {self.n_classes})",
            )
        _validation.check_broadcastable("t", shift.shape[:-1], "batch_shape", self.batch_shape)
        sums = np.asarray(shift.sum(axis=-1))
        _validation.raise_first(
            np.abs(sums) > _validation.tolerance_of(self.dtype),
            sums, "t", "sums to {:.6g}{}", "pass a translation that sums to 0",
        )  # fmt: skip
        return shift

    def _clip_to_simplex(self, moved: Array, what: str) -> Array:
        """Return translated probabilities without rounding below 0; raise if they are below."""
        _validation.raise_first(
            moved < -8 * float(np.finfo(self.dtype).eps),
            moved, "t", f"moves the {what} to {{:.6g}}{{}}, out of the simplex",
            "pass a smaller translation",
        )  # fmt: skip
        return np.maximum(moved, 0.0)


def class_bounds(Q: CredalSet) -> tuple[Any, Any]:
    """Return lower and upper class probabilities of at most 1, in the backend of `Q`."""
    # A row that sums to slightly more than 1 may have an entry above 1.
    low, high = Q.lower(), Q.upper()
    xp = namespace(low)
    return xp.clip(low, None, 1.0), xp.clip(high, None, 1.0)
