"""The measure that is put to the test, and all that the axioms need to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.measures.table import MEASURES, Measure, imprecision
from credalens.sets import ConvexHull, CredalSet

#: How far a point may lie outside of a set that is said to contain it.
INSIDE = 1e-12


def _hull(members: Array) -> CredalSet:
    # The search makes probability vectors by construction.
    return ConvexHull(members, validate=False)


@dataclass
class Subject:
    """A measure, the kind of sets that it is asked about, and its companions."""

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
    imprecision_text: str | None = "cl.axioms.imprecision"
    #: From members ``(n, M, K)`` to sets; ``None`` stands for their hulls.
    sets: Any = None
    n_sets: int = field(default=0, init=False)

    @property
    def is_builtin(self) -> bool:
        """Whether the measure is one of `MEASURES`."""
        return isinstance(self.measure, Measure)

    @property
    def has_generator_form(self) -> bool:
        """Whether it is known what the measure is at the generators alone."""
        return self.is_builtin or self.pointwise is not None

    def make(self, members: Array) -> CredalSet:
        """Return the sets that stand for the members."""
        make = _hull if self.sets is None else getattr(self.sets, "from_members", self.sets)
        Q = make(members)
        if not isinstance(Q, CredalSet) or Q.batch_shape != members.shape[:1]:
            _validation.refuse(
                "sets",
                f"made a {type(Q).__name__} of members of shape {members.shape}",
                f"return a batch of {len(members)} credal sets",
            )
        return Q

    def value(self, members: Array, measure: Callable[[CredalSet], Any] | None = None) -> Array:
        """Return the measure, or another one, of the sets that stand for the members."""
        self.n_sets += len(members) if measure is None else 0
        result = (measure or self.measure)(self.make(members))
        try:
            values = np.asarray(result, np.float64)
        except (TypeError, ValueError):
            values = np.empty(())
        if values.shape != members.shape[:1]:
            _validation.refuse(
                "measure" if measure is None else "total or imprecision",
                f"returned {type(result).__name__} of shape {np.shape(result)} for {len(members)} "
                "sets",
                "return one number per set; of an interval, one of its ends",
            )
        return values

    def generators(self, members: Array) -> Array:
        """Return the points whose hulls the sets are, ``(n, V, K)``."""
        return np.asarray(self.make(members).to_hull().members)

    def attained(self, members: Array, value: Array) -> Array:
        """Return what the definition gives at the generators alone.

        A supremum is attained at the generator where the pointwise functional is largest, an
        infimum where it is smallest; the one nearer to the value is returned.
        """
        points = self.generators(members)
        if isinstance(self.measure, Measure):
            return self.measure.at_generators(points)
        if self.pointwise is None:
            raise TypeError("attained() needs pointwise")
        n, V, K = points.shape
        at = np.asarray(self.pointwise(points.reshape(-1, K)), np.float64)
        if at.shape != (n * V,):
            _validation.refuse(
                "pointwise", f"returned shape {at.shape} for {n * V} distributions",
                "return one number per row",
            )  # fmt: skip
        high, low = at.reshape(n, V).max(axis=1), at.reshape(n, V).min(axis=1)
        return np.asarray(np.where(np.abs(value - high) <= np.abs(value - low), high, low))

    def lower(self, members: Array) -> Array:
        """Return the lower probability of each class."""
        return np.asarray(self.make(members).lower())

    def nested(self, inner: Array, outer: Array) -> Array:
        """Say which sets of `inner` lie in those of `outer`; hulls do, by construction."""
        if self.sets is None:
            return np.ones(len(inner), bool)
        return _all_inside(self.make(outer), self.generators(inner))

    def precise(self, members: Array) -> Array:
        """Say which sets hold a single distribution."""
        Q = self.make(members)
        return np.asarray((Q.upper() - Q.lower()).max(axis=1) <= INSIDE)

    def translates(self, members: Array, moved: Array) -> Array:
        """Say where the sets of `moved` are those of `members`, translated."""
        if self.sets is None:
            return np.ones(len(members), bool)
        # Members that move by t need not move their set by t as well.
        shift = (self.lower(moved) - self.lower(members))[:, None]
        there, back = self.generators(members) + shift, self.generators(moved) - shift
        inside = (there.min(axis=(1, 2)) >= -INSIDE) & (back.min(axis=(1, 2)) >= -INSIDE)
        there, back = (np.clip(x, 0, 1) for x in (there, back))
        there, back = (x / x.sum(axis=2, keepdims=True) for x in (there, back))
        both = _all_inside(self.make(moved), there) & _all_inside(self.make(members), back)
        return np.asarray(inside & both)

    def text(self, expression: str) -> str:
        """Return the code that makes sets of an array of members."""
        if self.sets is None:
            return f"cl.ConvexHull({expression})"
        if hasattr(self.sets, "from_members"):
            return f"cl.{self.sets.__name__}.from_members({expression})"
        return f"sets({expression})"

    def measure_line(self, target: str, members: str) -> str:
        """Return the code that measures one set."""
        return f"{target} = float(measure({self.text(members + '[None]')})[0])"

    def array(self, name: str, batch: Array | None) -> str:
        """Return the code that writes down the only array of a batch."""
        rows = str(np.asarray(batch)[0].tolist())
        next_row = "],\n" + " " * len(f"{name} = np.array([")
        return f"{name} = np.array({rows.replace('], ', next_row)})"

    def header(self) -> list[str]:
        """Return the code that defines what it can of `measure` and `sets`."""
        return [f'measure = cl.axioms.MEASURES["{self.name}"]'] if self.is_builtin else []


def _all_inside(Q: CredalSet, points: Array) -> Array:
    """Say for which sets all of their points, ``(n, V, K)``, are inside."""
    inside = np.ones(len(points), bool)
    for v in range(points.shape[1]):
        inside &= np.asarray(Q.contains(points[:, v], INSIDE))
    return inside


def of_builtin(name: str, n_classes: int, tolerance: float, sets: Any) -> Subject:
    """Return a measure of the table as a subject."""
    measure = MEASURES[name]
    others = measure.parts if measure.total is None else (measure.total,)
    return Subject(
        name,
        measure,
        tolerance,
        bound=measure.bound(n_classes),
        companions={other: MEASURES[other] for other in others},
        is_total=measure.total is None,
        imprecision=measure.imprecision,
        sets=sets,
    )
