"""The columns of scores that measures give for the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.distances import NAMES, Distance, TotalVariation, as_distance
from credalens.measures import Interval, Uncertainty, quantify
from credalens.measures.hartley import is_sampled
from credalens.measures.imprecision import maximum_mean_imprecision
from credalens.measures.interval import SUMMARIES
from credalens.measures.quantify import FAMILIES
from credalens.measures.table import MEASURES
from credalens.sets import CredalSet

#: Rows of the measure table that do not say so but are for total variation only.
TV_ROWS = ("total", "aleatoric_lower", "aleatoric_upper", "epistemic")


@dataclass(frozen=True)
class ScoreColumns:
    """Which measures to compute, and what their columns are called.

    Columns are ``<family>_total``, ``<family>_aleatoric`` (for distances ``_lower`` and ``_upper``,
    or what `summary` says) and ``<family>_epistemic``; a distance that is not total variation gives
    its own name to its columns. A row of the measure table is one column of its name, of which
    ``mmi`` is for the chosen distance. Where the Hartley measure is estimated, a column
    ``hartley_error``, by which nothing is ranked and which `names` has not, says how well.

    Examples
    --------
    >>> import credalens as cl
    >>> scores = ScoreColumns(("tv", "mmi"))
    >>> scores.names
    ('tv_total', 'tv_aleatoric_lower', 'tv_aleatoric_upper', 'tv_epistemic', 'mmi')
    >>> {k: round(float(v), 2) for k, v in scores(cl.ConvexHull([[0.6, 0.4], [0.2, 0.8]])).items()}
    {'tv_total': 0.6, 'tv_aleatoric_lower': 0.2, 'tv_aleatoric_upper': 0.5, 'tv_epistemic': 0.2,
    'mmi': 0.4}
    """

    measures: tuple[str, ...] = ("tv",)
    #: A name or a distance.
    distance: Any = "tv"
    summary: str = "interval"
    #: Name of the distance in the columns; by default its own.
    family: str = ""

    def __post_init__(self) -> None:
        if not self.measures:
            _validation.refuse("measures", "is empty", f"choose of {', '.join(FAMILIES)}, mmi")
        for name in self.measures:
            _validation.one_of(name, "measures", (*FAMILIES, *MEASURES))
        _validation.one_of(self.summary, "summary", SUMMARIES)
        if not isinstance(self.distance, Distance):
            _validation.one_of(self.distance, "distance", NAMES)
        if not self.family:
            known = self.distance if isinstance(self.distance, str) else type(self.distance)
            name = known if isinstance(known, str) else known.__name__.lower()
            object.__setattr__(self, "family", name)
        if self.distance != "tv" and not isinstance(self.distance, TotalVariation):
            for name in self.measures:
                if name in TV_ROWS:
                    _validation.refuse(
                        "measures",
                        f"{name!r} is that of total variation, and the distance is {self.family}",
                        "write tv, which stands for all three parts by the chosen distance",
                    )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in their order."""
        return tuple(name for measure in self.measures for name in self._names(measure))

    def _names(self, measure: str) -> tuple[str, ...]:
        if measure not in FAMILIES:
            return (measure,)
        if measure != "tv":
            return tuple(f"{measure}_{part}" for part in ("total", "aleatoric", "epistemic"))
        ends = ("lower", "upper") if self.summary == "interval" else (self.summary,)
        middle = (f"{self.family}_aleatoric_{end}" for end in ends)
        return (f"{self.family}_total", *middle, f"{self.family}_epistemic")

    def measured(self, Q: CredalSet) -> dict[str, Uncertainty]:
        """Return what the families among the measures say of a batch of sets."""
        return measure_families(Q, [m for m in self.measures if m in FAMILIES], self.distance)

    def __call__(
        self, Q: CredalSet, measured: dict[str, Uncertainty] | None = None
    ) -> dict[str, Array]:
        """Return the columns for a batch, in its dtype; what is `measured` already is not again."""
        measured = self.measured(Q) if measured is None else measured
        columns: dict[str, Array] = {}
        for name in self.measures:
            if name in measured:
                u = measured[name]
                values: Sequence[Any] = [u.total, *self._ends(u.aleatoric), u.epistemic]
            elif name == "mmi":
                values = [maximum_mean_imprecision(Q, as_distance(self.distance, Q.n_classes))]
            else:
                values = [MEASURES[name](Q)]
            columns.update(zip(self._names(name), map(np.asarray, values), strict=True))
            if name == "hartley" and is_sampled(Q.n_classes):
                columns["hartley_error"] = np.asarray(measured[name].error)
        return columns

    def _ends(self, aleatoric: Any) -> Sequence[Any]:
        if not isinstance(aleatoric, Interval):
            return [aleatoric]
        if self.summary == "interval":
            return [aleatoric.lower, aleatoric.upper]
        return [getattr(aleatoric, self.summary)]


def measure_families(
    Q: CredalSet, families: Sequence[str], distance: Any = "tv"
) -> dict[str, Uncertainty]:
    """Return what each of some `FAMILIES` says; "tv" stands for the distance."""
    geometry = as_distance(distance, Q.n_classes)
    asked = {name: geometry if name == "tv" else name for name in families}
    # Seeded, so that a measure that is sampled gives the same numbers when run again.
    found = quantify(Q, list(asked.values()), random_state=0)
    return {name: found[one] for name, one in asked.items()}
