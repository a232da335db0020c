"""Named score columns of predictions of several binary labels per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.decisions.columns import joined_names
from credalens.measures import Interval, Uncertainty, summarize
from credalens.measures.multilabel import AGGREGATES, aggregated, label_bounds, label_parts
from credalens.measures.quantify import COMPONENTS
from credalens.measures.results import SUMMARIES

#: The default aggregates.
DEFAULT = ("hamming", "max")


@dataclass(frozen=True)
class MultilabelColumns:
    """The aggregates of several labels to compute, and the names of their columns.

    Examples
    --------
    >>> import types
    >>> Q = types.SimpleNamespace(members=np.array([[[0.9, 0.4], [0.7, 0.6]]]), mask=None)
    >>> scores = MultilabelColumns(("hamming",), "lower", ("cat", "dog"))
    >>> columns, _ = scores.rows(Q)
    >>> {name: x.tolist() for name, x in columns.items() if name != "hamming_epistemic"}
    {'prediction': ['cat'], 'hamming_total': [0.45], 'hamming_aleatoric_lower': [0.25]}
    """

    measures: tuple[str, ...] = DEFAULT
    summary: str = "interval"
    label_names: tuple[str, ...] = ()
    #: Separator of names in the column ``prediction``.
    separator: str = " "

    def __post_init__(self) -> None:
        for name in self.measures:
            if name not in AGGREGATES:
                _validation.raise_invalid(
                    "measures",
                    f"is {name!r}, which predictions of several labels do not have",
                    f"choose from {', '.join(AGGREGATES)}",
                )
        _validation.one_of(self.summary, "summary", SUMMARIES)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the scores, in order."""
        ends = ("lower", "upper") if self.summary == "interval" else (self.summary,)
        parts = (COMPONENTS[0], *(f"{COMPONENTS[1]}_{end}" for end in ends), COMPONENTS[2])
        prefixes = (
            prefix
            for measure in self.measures
            for prefix in (self.label_names if measure == "labels" else (measure,))
        )
        return tuple(f"{prefix}_{part}" for prefix in prefixes for part in parts)

    @property
    def settings(self) -> dict[str, Any]:
        """What the columns depend on besides their names, as JSON values."""
        return {"summary": self.summary, "labels": list(self.label_names)}

    def rows(
        self, Q: Any, labels: Array | None = None, class_names: Sequence[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, Uncertainty]]:
        """Return the columns of a table of rows, and the results by aggregate.

        `Q` has the attributes ``members``, ``(r, M, L)``, and ``mask``. The columns are
        ``prediction``, the names of the predicted labels, the scores and, with labels, ``label``
        and ``hamming_loss``, the share of wrong labels; both are masked where a label is missing.
        """
        low, high = label_bounds(Q.members, Q.mask)
        names, predicted = np.array(self.label_names, dtype=object), 1 - low < high
        columns: dict[str, Any] = {"prediction": joined_names(predicted, names, self.separator)}
        parts = label_parts(low, high)
        measured = {name: aggregated(parts, name) for name in self.measures}
        for measure, u in measured.items():
            if measure != "labels":
                columns |= self._columns(measure, u)
                continue
            for k, label in enumerate(self.label_names):
                columns |= self._columns(label, u[:, k])
        if labels is not None:
            missing = (labels < 0).any(axis=1)
            true = joined_names(labels > 0, names, self.separator)
            columns["label"] = np.ma.masked_array(true, missing)
            loss = (predicted != (labels > 0)).mean(axis=1)
            columns["hamming_loss"] = np.ma.masked_array(loss, missing)
        return columns, measured

    def _columns(self, prefix: str, u: Uncertainty) -> dict[str, Any]:
        """Return the columns of one number of each component, the ends of the interval apart."""
        found: dict[str, Any] = {}
        for component in COMPONENTS:
            value = getattr(u, component)
            if not isinstance(value, Interval):
                found[f"{prefix}_{component}"] = value
            elif self.summary == "interval":
                found[f"{prefix}_{component}_lower"] = value.lower
                found[f"{prefix}_{component}_upper"] = value.upper
            else:
                found[f"{prefix}_{component}_{self.summary}"] = summarize(value, self.summary)
        return found
