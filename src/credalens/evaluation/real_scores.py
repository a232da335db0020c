"""Named score columns of a batch of hulls on the real line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.measures import Interval, Uncertainty, quantify, summarize
from credalens.measures.quantify import COMPONENTS, REAL_MEASURES
from credalens.measures.results import SUMMARIES

#: Predictions of a hull, by name.
POINTS = ("mean", "median", "minimax")
#: Scores of the members as a sample, which every evaluation is compared with.
REAL_BASELINES: Mapping[str, str] = {
    "variance_total": "variance of the mixture of the models",
    "variance_aleatoric": "mean of the models' variances",
    "variance_epistemic": "variance of the models' means",
}


@dataclass(frozen=True)
class RealColumns:
    """The measures of real-valued targets to compute, and the names of their columns.

    Examples
    --------
    >>> import credalens as cl
    >>> scores = RealColumns(("wasserstein",), summary="lower")
    >>> scores.names
    ('wasserstein_total', 'wasserstein_aleatoric_lower', 'wasserstein_epistemic')
    >>> columns, _ = scores.rows(cl.RealHull.from_normal([[1.0, 2.0]], 0.5))
    >>> {name: x.round(2).tolist() for name, x in columns.items()}
    {'prediction': [1.5], 'wasserstein_total': [0.58], 'wasserstein_aleatoric_lower': [0.4],
    'wasserstein_epistemic': [0.5]}
    """

    measures: tuple[str, ...] = REAL_MEASURES
    summary: str = "interval"
    point: str = "mean"
    #: What the values of the files are, for the settings of a run.
    distribution: str = ""

    def __post_init__(self) -> None:
        for name in self.measures:
            if name not in REAL_MEASURES:
                _validation.raise_invalid(
                    "measures",
                    f"is {name!r}, which real-valued targets do not have",
                    f"choose from {', '.join(REAL_MEASURES)}",
                )
        _validation.one_of(self.summary, "summary", SUMMARIES)
        _validation.one_of(self.point, "point", POINTS)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scores, in order."""
        ends = ("lower", "upper") if self.summary == "interval" else (self.summary,)
        return tuple(
            f"{measure}_{component}{end}"
            for measure in self.measures
            for component in COMPONENTS
            for end in (
                (f"_{end}" for end in ends)
                if (measure, component) == ("wasserstein", "aleatoric")
                else ("",)
            )
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What the columns depend on besides their names, as JSON values."""
        own = (self.summary, self.point, self.distribution)
        return dict(zip(("summary", "point", "distribution"), own, strict=True))

    def rows(
        self, Q: Any, labels: Array | None = None, class_names: Any = None
    ) -> tuple[dict[str, Any], dict[str, Uncertainty]]:
        """Return the columns of a table of rows, and the results of the measures.

        The columns are ``prediction``, the scores and, with targets as labels, ``target`` and
        ``absolute_error``, masked where the target is NaN.
        """
        prediction = predictions(Q, self.point)
        measured = {name: quantify(Q, name) for name in self.measures}
        columns: dict[str, Any] = {"prediction": prediction}
        for measure, u in measured.items():
            for component in COMPONENTS:
                value = getattr(u, component)
                if not isinstance(value, Interval):
                    columns[f"{measure}_{component}"] = value
                elif self.summary == "interval":
                    ends = {"lower": value.lower, "upper": value.upper}
                    columns |= {f"{measure}_{component}_{end}": x for end, x in ends.items()}
                else:
                    columns[f"{measure}_{component}_{self.summary}"] = summarize(
                        value, self.summary
                    )
        if labels is not None:
            missing = np.isnan(labels)
            columns["target"] = np.ma.masked_array(labels, missing)
            columns["absolute_error"] = np.ma.masked_array(np.abs(labels - prediction), missing)
        return columns, measured


def predictions(Q: Any, point: str) -> Array:
    """Return one prediction of each hull: mean or median of the mixture, or the minimax one."""
    if point == "minimax":
        return np.asarray(Q.minimax().prediction)
    return np.asarray(Q.quantiles(0.5) if point == "median" else Q.center())
