"""The measure under test, with everything that the axioms need for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.measures.measure import Measure
from credalens.measures.table import MEASURES, imprecision
from credalens.sets import ConvexHull, CredalSet

#: Tolerance for points of a set.
INSIDE = 1e-12
#: Function names that are accepted for a measure of the table.
ALIASES = {
    "total_uncertainty": "total",
    "epistemic_uncertainty": "epistemic",
    "maximum_mean_imprecision": "mmi",
    "predictive_entropy": "total:information",
    "expected_entropy": "aleatoric:information",
    "mutual_information": "epistemic:information",
}


@dataclass
class AxiomTarget:
    """A measure, the representation of the sets, and the measures it is compared with."""

    name: str
    measure: Callable[[CredalSet], Any]
    #: Differences up to this are rounding or the certified error of a solver.
    tolerance: float
    bound: float | None = None
    pointwise: Callable[[Array], Any] | None = None
    #: Measures that dominance compares with, by name.
    companions: dict[str, Callable[[CredalSet], Any]] = field(default_factory=dict)
    #: Whether the measure is the total and the companions its parts.
    is_total: bool = False
    imprecision: Callable[[CredalSet], Any] | None = imprecision
    #: Function from members ``(n, M, K)`` to sets; None stands for convex hulls.
    sets: Any = None
    #: Number of sets measured so far.
    n_sets: int = field(default=0, init=False)

    def make_sets(self, members: Array) -> CredalSet:
        """Return the sets of the members."""
        if self.sets is None:  # candidates are probability vectors by construction
            return ConvexHull(members, validate=False)
        Q = getattr(self.sets, "from_members", self.sets)(members)
        if not isinstance(Q, CredalSet) or Q.batch_shape != members.shape[:1]:
            _validation.raise_invalid(
                "sets",
                f"made a {type(Q).__name__} of members of shape {members.shape}",
                f"return a batch of {len(members)} credal sets",
            )
        return Q

    def value(self, members: Array, measure: Callable[[CredalSet], Any] | None = None) -> Array:
        """Return the measure, or another one, of the sets of the members."""
        self.n_sets += len(members) if measure is None else 0
        result = (measure or self.measure)(self.make_sets(members))
        try:
            values = np.asarray(result, np.float64)
        except (TypeError, ValueError):
            values = np.empty(())
        if values.shape != members.shape[:1]:
            _validation.raise_invalid(
                "measure" if measure is None else "total or imprecision",
                f"returned {type(result).__name__} of shape {np.shape(result)} for {len(members)} "
                "sets",
                "return one number per set; of an interval, one of its ends",
            )
        return values

    def set_scale(self, members: Array) -> None:
        """Make the tolerance relative to the largest value on these sets, if that exceeds 1."""
        values = np.abs(self.value(members))
        self.tolerance *= max(1.0, float(values[np.isfinite(values)].max(initial=0.0)))

    def generators(self, members: Array) -> Array:
        """Return the points whose convex hulls are the sets, ``(n, V, K)``."""
        return np.asarray(self.make_sets(members).to_hull().members)

    def attained(self, members: Array, value: Array) -> Array:
        """Return the value of the definition with optima over the generators only.

        A supremum is the largest pointwise value of a generator, an infimum the smallest; the one
        closer to `value` is returned.
        """
        points = self.generators(members)
        if isinstance(self.measure, Measure):
            return self.measure.at_generators(points)
        if self.pointwise is None:
            raise TypeError("attained() needs pointwise")
        n, V, K = points.shape
        at = np.asarray(self.pointwise(points.reshape(-1, K)), np.float64)
        if at.shape != (n * V,):
            _validation.raise_invalid(
                "pointwise", f"returned shape {at.shape} for {n * V} distributions",
                "return one number per row",
            )  # fmt: skip
        high, low = at.reshape(n, V).max(axis=1), at.reshape(n, V).min(axis=1)
        return np.asarray(np.where(np.abs(value - high) <= np.abs(value - low), high, low))

    def lower(self, members: Array) -> Array:
        """Return the lower probability of each class."""
        return np.asarray(self.make_sets(members).lower())

    def nested(self, inner: Array, outer: Array) -> Array:
        """Return which sets of `inner` are subsets of `outer`; hulls are by construction."""
        if self.sets is None:
            return np.ones(len(inner), bool)
        return _all_inside(self.make_sets(outer), self.generators(inner))

    def precise(self, members: Array) -> Array:
        """Return which sets contain a single distribution."""
        Q = self.make_sets(members)
        return np.asarray((Q.upper() - Q.lower()).max(axis=1) <= INSIDE)

    def translates(self, members: Array, moved: Array) -> Array:
        """Return which sets of `moved` are translations of those of `members`."""
        if self.sets is None:
            return np.ones(len(members), bool)
        # A translation of the members does not always translate the set.
        shift = (self.lower(moved) - self.lower(members))[:, None]
        result = np.ones(len(members), bool)
        for start, stop, t in ((members, moved, shift), (moved, members, -shift)):
            points = self.generators(start) + t
            result &= points.min(axis=(1, 2)) >= -INSIDE
            points = np.clip(points, 0, 1)
            points /= points.sum(axis=2, keepdims=True)
            result &= _all_inside(self.make_sets(stop), points)
        return result

    def sets_code(self, members: str) -> str:
        """Return the code of the sets of an expression for members ``(n, M, K)``."""
        if self.sets is None:
            return f"cl.ConvexHull({members})"
        if hasattr(self.sets, "from_members"):
            return f"cl.{self.sets.__name__}.from_members({members})"
        return f"sets({members})"

    def value_code(self, members: str, measure: str = "measure") -> str:
        """Return the code of the measure of the first of these sets."""
        return f"float({measure}({self.sets_code(members)})[0])"

    def header(self) -> list[str]:
        """Return the code that defines `measure`, for measures of the table."""
        builtin = isinstance(self.measure, Measure)
        return [f'measure = cl.axioms.MEASURES["{self.name}"]'] if builtin else []


def _all_inside(Q: CredalSet, points: Array) -> Array:
    """Return which sets contain all of their points ``(n, V, K)``."""
    inside = [np.asarray(Q.contains(points[:, v], INSIDE)) for v in range(points.shape[1])]
    return np.asarray(np.all(inside, axis=0))


def make_target(
    measure: Any,
    n_classes: int,
    tolerance: float,
    pointwise: Any,
    total: Any,
    mmi: Any,
    bound: float | None,
    sets: Any,
) -> AxiomTarget:
    """Return a measure, given by name or as a function, as a target."""
    if bound is not None and not 0 <= bound < np.inf:
        _validation.raise_invalid("bound", f"is {bound!r}", "pass a number >= 0")
    if isinstance(measure, str):
        name = _validation.one_of(ALIASES.get(measure, measure), "measure", MEASURES)
        measure = MEASURES[name]
    if isinstance(measure, Measure):
        others = measure.parts if measure.total is None else (measure.total,)
        target = AxiomTarget(
            measure.name,
            measure,
            tolerance,
            bound=measure.bound(n_classes) if bound is None else bound,
            companions={other: MEASURES[other] for other in others},
            is_total=measure.total is None,
            imprecision=measure.imprecision,
            sets=sets,
        )
    elif callable(measure):
        name = getattr(measure, "__name__", type(measure).__name__)
        target = AxiomTarget(name, measure, tolerance, bound, pointwise, imprecision=mmi, sets=sets)
    else:
        _validation.raise_invalid(
            "measure", f"is {measure!r}", "pass a name, or a function of sets"
        )
    if total is not None:
        if isinstance(total, str):
            total = MEASURES[_validation.one_of(total, "total", MEASURES)]
        target.companions, target.is_total = {"total": total}, False
    return target
