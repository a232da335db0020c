"""Named score columns of a batch of credal sets."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.distances import NAMES, Distance, TotalVariation, as_distance
from credalens.evaluation.vote import majority_vote
from credalens.measures import Interval, Uncertainty, quantify, summarize
from credalens.measures.families import FAMILY_TABLE
from credalens.measures.hartley import is_sampled
from credalens.measures.imprecision import maximum_mean_imprecision
from credalens.measures.quantify import COMPONENTS, FAMILIES
from credalens.measures.results import SUMMARIES
from credalens.measures.table import MEASURES
from credalens.sets import CredalSet

#: Rows of the measure table that are defined for total variation only.
TV_ROWS = ("total", "aleatoric_lower", "aleatoric_upper", "epistemic")


@dataclass(frozen=True)
class ScoreColumns:
    """The measures to compute and the names of their columns.

    A family has the columns ``<family>_total``, ``<family>_aleatoric`` and ``<family>_epistemic``;
    an interval (the aleatoric one of distances and scoring rules, the total of scoring rules) has
    ``_lower`` and ``_upper``, or the chosen summary. The columns of a distance start with its name;
    those of label-wise families are sums over the classes; ``confidence`` has a total only. A row
    of the measure table has one column of its name; ``mmi`` uses the chosen distance. If the
    Hartley measure is sampled, a column ``hartley_error`` has its standard error; it is not a score
    and not in `names`.

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
    #: Prefix of the distance's columns; by default its name.
    family: str = ""

    def __post_init__(self) -> None:
        if not self.measures:
            _validation.raise_invalid(
                "measures", "is empty", f"choose from {', '.join(FAMILIES)}, mmi"
            )
        for name in self.measures:
            if name not in FAMILIES and name not in MEASURES:
                _raise_unknown(name)
        _validation.one_of(self.summary, "summary", SUMMARIES)
        if not isinstance(self.distance, Distance):
            _validation.one_of(self.distance, "distance", NAMES)
        if not self.family:
            named = isinstance(self.distance, str)
            name = self.distance if named else type(self.distance).__name__.lower()
            object.__setattr__(self, "family", name)
        if self.distance != "tv" and not isinstance(self.distance, TotalVariation):
            for name in self.measures:
                if name in TV_ROWS:
                    _validation.raise_invalid(
                        "measures",
                        f"{name!r} is that of total variation, and the distance is {self.family}",
                        "pass tv, which stands for all three components of the chosen distance",
                    )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(name for measure in self.measures for name in self._names(measure))

    def _names(self, measure: str) -> tuple[str, ...]:
        if measure not in FAMILIES:
            return (measure,)
        components: tuple[str, ...] = COMPONENTS
        family, intervals = self.family, frozenset({"aleatoric"})
        if measure != "tv":
            found = FAMILY_TABLE[measure]
            family, components, intervals = measure, found.components, found.intervals
        ends = ("lower", "upper") if self.summary == "interval" else (self.summary,)
        return tuple(
            f"{family}_{component}{end}"
            for component in components
            for end in ((f"_{end}" for end in ends) if component in intervals else ("",))
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What the columns depend on besides their names, as JSON values."""
        return {"summary": self.summary}

    def rows(
        self, Q: CredalSet, labels: Array | None = None, class_names: Sequence[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Uncertainty]]:
        """Return the columns of a table of rows, and the results of the families.

        The columns are ``prediction``, the scores, and, with labels, ``label`` and ``correct``,
        masked where the label is negative. Classes are names, or indices if they have no names.
        """
        predicted = np.asarray(majority_vote(Q))
        measured = self.measured(Q)
        columns = {"prediction": class_labels(predicted, class_names), **self(Q, measured)}
        if labels is not None:
            missing = labels < 0
            names = class_labels(np.where(missing, 0, labels), class_names)
            columns["label"] = np.ma.MaskedArray(names, missing)
            columns["correct"] = np.ma.MaskedArray(labels == predicted, missing)
        return columns, measured

    def measured(self, Q: CredalSet) -> dict[str, Uncertainty]:
        """Return the results of the families among the measures."""
        return measure_families(Q, [m for m in self.measures if m in FAMILIES], self.distance)

    def __call__(
        self, Q: CredalSet, measured: dict[str, Uncertainty] | None = None
    ) -> dict[str, Array]:
        """Return the columns of a batch, in its dtype; `measured` avoids a second computation."""
        measured = self.measured(Q) if measured is None else measured
        columns: dict[str, Array] = {}
        for name in self.measures:
            if name in measured:
                values: Sequence[Any] = self._values(name, measured[name])
            elif name == "mmi":
                values = [maximum_mean_imprecision(Q, as_distance(self.distance, Q.n_classes))]
            else:
                values = [MEASURES[name](Q)]
            columns.update(zip(self._names(name), map(np.asarray, values), strict=True))
            if name == "hartley" and is_sampled(Q.n_classes):
                columns["hartley_error"] = np.asarray(measured[name].error)
        return columns

    def _values(self, family: str, u: Uncertainty) -> list[Any]:
        """Return the numbers of a family, one per instance each."""
        by_class = family != "tv" and FAMILY_TABLE[family].by_class
        values: list[Any] = []
        for value in (u.total, u.aleatoric, u.epistemic):
            if isinstance(value, Interval):
                # The total interval is as wide as the aleatoric one, even if its ends are infinite.
                value = u.aleatoric if self.summary == "width" else value
                value = summarize(value, self.summary)
                values.extend(value if isinstance(value, Interval) else [value])
            elif value is not None:
                values.append(np.sum(value, axis=-1) if by_class else value)
        return values


def class_labels(indices: Array, class_names: Sequence[str] | None) -> Array:
    """Return the names of classes, or their indices if they have no names."""
    return indices if class_names is None else np.array(class_names)[indices]


def _raise_unknown(name: str) -> NoReturn:
    near = difflib.get_close_matches(name, (*FAMILIES, *MEASURES), n=1)
    _validation.raise_invalid(
        "measures",
        f"is {name!r}" + "".join(f", which is close to {one!r}" for one in near),
        f"choose one of the families {', '.join(FAMILIES)}, or a row of the measure table, such as "
        "mmi and upper_entropy, which credalens axioms lists",
    )


def has_interval(measure: str) -> bool:
    """Return whether a family has an interval among its components."""
    return measure == "tv" or (measure in FAMILY_TABLE and bool(FAMILY_TABLE[measure].intervals))


def measure_families(
    Q: CredalSet, families: Sequence[str], distance: Any = "tv"
) -> dict[str, Uncertainty]:
    """Return the result of each of some `FAMILIES`; "tv" stands for `distance`."""
    metric = as_distance(distance, Q.n_classes)
    measures = {name: metric if name == "tv" else name for name in families}
    # A fixed seed makes sampled measures reproducible.
    found = quantify(Q, list(measures.values()), random_state=0)
    return {name: found[measure] for name, measure in measures.items()}
