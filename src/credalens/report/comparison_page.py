"""The comparison of two ensembles as one self-contained HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._html import check_path, truncate
from credalens._validation import counted
from credalens.report.markup import Markup, join, tag, user_text
from credalens.report.sections import section, table
from credalens.report.static_page import method_section, write_static_page
from credalens.validity.ensemble_comparison import METRICS, EnsembleComparison

#: Rows that changed which are listed.
LISTED = 100
#: Size of the drawing of an interval.
WIDTH, HEIGHT = 220, 22

_STYLE = """
.interval { display: block; width: 220px; height: 22px; }
.interval line { stroke: var(--quiet); stroke-width: 2; }
.interval .zero { stroke: var(--line); }
.interval circle { fill: var(--quiet); }
.better line:not(.zero) { stroke: var(--green); } .better circle { fill: var(--green); }
.worse line:not(.zero) { stroke: var(--vermilion); } .worse circle { fill: var(--vermilion); }
.verdict-better { color: var(--green); font-weight: 600; }
.verdict-worse { color: var(--vermilion); font-weight: 600; }
"""


def write_comparison(
    path: Any,
    found: EnsembleComparison,
    labels: Array,
    *,
    names: tuple[str, str] = ("first", "second"),
    class_names: Sequence[str] | None = None,
    ids: Sequence[Any] | None = None,
    row_numbers: Array | None = None,
    title: str = "",
) -> Path:
    """Write the page.

    Parameters
    ----------
    path : str or path
        Output file, ``.html``.
    found : EnsembleComparison
        What `compare_ensembles` returns.
    labels : array of int, shape (n,)
        True classes.
    names : tuple of two str
        Names of the ensembles.
    class_names : sequence of str, optional
        Names of the classes.
    ids : sequence of length n, optional
        Identifiers of the instances.
    row_numbers : array of int, shape (n,), optional
        Numbers of the instances; their positions by default.
    title : str, optional
        Heading of the page.
    """
    file = check_path(path, "compare.html")
    heading = truncate(title) or "Comparison of two ensembles"
    sizes = join([
        user_text(truncate(names[0])), " (first) and ", user_text(truncate(names[1])),
        f" (second) on {counted(found.n, 'row')}",
    ])  # fmt: skip
    body = join([
        _summary(found), _metrics(found),
        _changed(found, labels, class_names, ids, row_numbers), _method(found),
    ])  # fmt: skip
    sections = {"summary": "Summary", "metrics": "Metrics", "changed": "Changed rows",
                "method": "Method"}  # fmt: skip
    return write_static_page(file, "credalens compare", heading, sizes, body, sections, _STYLE)


def summary_sentences(found: EnsembleComparison) -> list[str]:
    """Return what is better, what is worse and what changed, in sentences."""
    by_verdict: dict[str, list[str]] = {"better": [], "worse": [], "": []}
    for metric in found.metrics:
        by_verdict[found.verdict(metric)].append(metric)
    sentences = []
    for verdict in ("better", "worse"):
        if by_verdict[verdict]:
            sentences.append(f"The second is {verdict} in {', '.join(by_verdict[verdict])}.")
    if not sentences:
        sentences.append("No metric is clearly better or worse.")
    (_, gained), (lost, _) = found.correctness.tolist()
    first, second = found.outcomes
    other = int((first.prediction != second.prediction).sum())
    sentences.append(
        f"{counted(other, 'prediction')} changed: {gained} became right, {lost} became wrong "
        f"(p = {found.correctness_pvalue:.2g}, exact McNemar test)."
    )
    kept = found.kept
    left, entered = int((kept[0] & ~kept[1]).sum()), int((kept[1] & ~kept[0]).sum())
    if found.rejected:
        sentences.append(
            f"With the most uncertain {found.rejected:.0%} handed over, {left} that were kept are "
            f"handed over and {entered} that were handed over are kept."
        )
    return sentences


def _summary(found: EnsembleComparison) -> Markup:
    return tag(
        "section", tag("h2", "Summary", id="summary-title", _class="hidden"),
        tag("div", *(tag("p", text) for text in summary_sentences(found)), _class="summary"),
        id="summary", aria_labelledby="summary-title",
    )  # fmt: skip


def _metrics(found: EnsembleComparison) -> Markup:
    rows: list[list[Any]] = []
    for i, metric in enumerate(found.metrics):
        verdict = found.verdict(metric)
        estimate, low, high = found.difference[i].tolist()
        rows.append([
            METRICS[metric][0], f"{found.first[i]:.4f}", f"{found.second[i]:.4f}",
            f"{estimate:+.4f} [{low:+.4f}, {high:+.4f}]", _interval(estimate, low, high, verdict),
            tag("span", verdict, _class=f"verdict-{verdict}") if verdict else "",
        ])  # fmt: skip
    head = ["metric", "first", "second", "difference", "", ""]
    return section("metrics", "Metrics", table(head, rows, "numbers"))


def _interval(estimate: float, low: float, high: float, verdict: str) -> Markup:
    """Return an interval around zero; its scale is its own."""
    if not all(map(math.isfinite, (estimate, low, high))):
        return Markup("")
    scale = max(abs(low), abs(high), abs(estimate)) or 1.0

    def at(value: float) -> str:
        return f"{WIDTH / 2 * (1 + 0.94 * value / scale):.1f}"

    middle = HEIGHT / 2
    return tag(
        "svg", tag("line", x1=at(0), x2=at(0), y1=0, y2=HEIGHT, _class="zero"),
        tag("line", x1=at(low), x2=at(high), y1=middle, y2=middle),
        tag("circle", cx=at(estimate), cy=middle, r=4),
        viewBox=f"0 0 {WIDTH} {HEIGHT}", _class=f"interval {verdict}".rstrip(), role="img",
        aria_label="Interval of the difference",
    )  # fmt: skip


def changed_columns(
    found: EnsembleComparison,
    labels: Array,
    class_names: Sequence[str] | None = None,
    ids: Sequence[Any] | None = None,
    row_numbers: Array | None = None,
    most: int | None = None,
) -> dict[str, Any]:
    """Return the columns of a table of the first `most` rows that changed; arguments as above."""
    chosen = found.changed[:most]
    names = None if class_names is None else np.array(class_names)
    first, second = (one.take(chosen) for one in found.outcomes)
    kept = [one[chosen] for one in found.kept]
    columns: dict[str, Any] = {"row": chosen if row_numbers is None else row_numbers[chosen]}
    if ids is not None:
        columns["id"] = np.asarray(ids)[chosen]

    def label(indices: Array) -> Any:
        return indices if names is None else names[indices]

    columns["label"] = label(np.asarray(labels)[chosen])
    for name, one, keep in (("first", first, kept[0]), ("second", second, kept[1])):
        columns |= {
            f"prediction_{name}": label(one.prediction), f"correct_{name}": one.correct,
            f"total_{name}": one.total, f"epistemic_{name}": one.epistemic, f"kept_{name}": keep,
        }  # fmt: skip
    return columns


def _changed(
    found: EnsembleComparison,
    labels: Array,
    class_names: Sequence[str] | None,
    ids: Sequence[Any] | None,
    row_numbers: Array | None,
) -> Markup | None:
    every = found.changed
    if not len(every):
        return None
    columns = changed_columns(found, labels, class_names, ids, row_numbers, LISTED)
    key = "row" if ids is None else "id"
    rows = []
    for i in range(len(columns["row"])):
        cells: list[Any] = [
            user_text(truncate(columns[key][i])), user_text(truncate(columns["label"][i]))
        ]  # fmt: skip
        for name in ("first", "second"):
            right = columns[f"correct_{name}"][i]
            predicted = user_text(truncate(columns[f"prediction_{name}"][i]))
            cells.append(predicted if right else tag("span", predicted, _class="wrong"))
            cells.append(f"{columns[f'total_{name}'][i]:.3f}")
            cells.append("kept" if columns[f"kept_{name}"][i] else "handed over")
        rows.append(cells)
    head = [key, "label", "first", "TU", "", "second", "TU", ""]
    text = (
        f"{counted(len(every), 'row')} changed the prediction, or are kept by one ensemble only; "
        f"listed are {len(rows)}, first those that became right or wrong."
    )
    return section("changed", "Changed rows", tag("p", text, _class="lead"), table(head, rows))


def _method(found: EnsembleComparison) -> Markup:
    return method_section([
        f"Intervals are {found.confidence:.0%} bootstrap intervals of the differences, second "
        "minus first, on the same resamples of the rows for both ensembles, each on its own. A "
        "metric is better or worse if its interval excludes 0.",
        "Rows are ranked by total uncertainty (TU). The mean of the models is used for the "
        "log-loss, the Brier score and the calibration error, their majority vote for accuracies. "
        "Label sets contain the labels that are E-admissible.",
    ])  # fmt: skip
