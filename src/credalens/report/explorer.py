"""The explorer page of the most uncertain instances, which the report contains."""

from __future__ import annotations

from credalens.distances import TotalVariation, as_distance
from credalens.explore.output import rows_that_fit
from credalens.explore.page import Row, render
from credalens.report.data import ReportData
from credalens.report.markup import Markup, tag

#: Maximum number of probabilities in the explorer of a report, about 1 MB.
MAX_NUMBERS = 100_000


def explorable(data: ReportData) -> int:
    """Return how many of the instances that are shown individually the explorer contains."""
    fit = rows_that_fit(data.config.n_members, data.config.n_classes, MAX_NUMBERS)
    return min(len(data.shown), fit)


def explorer_button(data: ReportData, i: int) -> Markup | None:
    """Return the button that opens the i-th shown instance in the explorer, if it has it."""
    if i >= explorable(data):
        return None
    other = not isinstance(as_distance(data.config.distance, data.config.n_classes), TotalVariation)
    text = "Open in explorer (total variation)" if other else "Open in explorer"
    return tag("p", tag("button", text, type="button", data_explore=i), _class="actions")


def explorer_page(data: ReportData) -> str | None:
    """Return the explorer with the instances that are shown individually."""
    count = explorable(data)
    if not count:
        return None
    rows = []
    for at, members in zip(data.shown[:count], data.shown_members, strict=False):
        ident = None if data.ids is None else data.ids[at]
        text = f"row {data.rows[at]}" if ident is None else str(ident)
        label = None if data.labels is None else data.class_phrases[data.labels[at]]
        rows.append(Row(text, members, label))
    return render(rows, data.config.class_names, data.config.names)
