"""The result of monitoring as one self-contained HTML page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._html import check_path, truncate
from credalens._validation import counted
from credalens.monitor.check import KEEP_RATE, VOTE, Change, MonitorResult, TargetCheck
from credalens.monitor.histogram import Histogram, common_table
from credalens.monitor.sketch import ScoreSketch
from credalens.report.markup import Markup, join, tag, user_text
from credalens.report.sections import section, table
from credalens.report.static_page import method_section, write_static_page

#: Bars of a histogram, and its size in pixels.
BARS, WIDTH, HEIGHT = 48, 520, 170
#: Rows of a table on the page.
MOST_ROWS = 500

_STYLE = """
.monitor { display: block; width: 100%; height: auto; }
.monitor text { font-size: 13px; fill: var(--quiet); }
.monitor .reference { fill: var(--rest); }
.monitor .new { fill: none; stroke: var(--vermilion); stroke-width: 2; }
.monitor .axis { stroke: var(--quiet); stroke-width: 1; }
.monitor .limit { stroke: var(--ink); stroke-dasharray: 5 4; }
.monitor .dot { fill: var(--vermilion); }
#tests table { font-size: 14px; }
#tests tbody th { white-space: nowrap; }
#tests th, #tests td { padding-right: 10px; }
.alarm { color: var(--vermilion); font-weight: 600; }
"""


@dataclass(frozen=True)
class PartSummary:
    """A part of the new data, for the section on parts."""

    name: str
    sketch: ScoreSketch


def write_page(
    path: Any,
    result: MonitorResult,
    reference: ScoreSketch,
    new: ScoreSketch,
    *,
    names: tuple[str, str] = ("reference", "new"),
    parts: Sequence[PartSummary] = (),
    part_names: Sequence[str] = (),
    title: str = "",
) -> Path:
    """Write the page.

    Parameters
    ----------
    path : str or path
        Output file, ``.html``, written atomically.
    result : MonitorResult
        What `check` found.
    reference, new : ScoreSketch
        What was compared.
    names : tuple of two str
        Names of the reference and of the new data.
    parts : sequence of PartSummary
        Earlier parts and those of the new data, in the order of arrival.
    part_names : sequence of str
        Names of the parts of the evidence of `TargetCheck`.
    title : str, optional
        Heading of the page.

    Returns
    -------
    path
    """
    file = check_path(path, "monitor.html")
    heading = truncate(title) or "Monitoring of uncertainty"
    body = join([
        _summary(result, names),
        _charts(result, reference, new),
        _changes(result),
        _targets(result, part_names),
        _parts(reference, parts),
        _method(result),
    ])  # fmt: skip
    sizes = join([
        f"{counted(result.n_new, 'row')} of ", user_text(truncate(names[1])),
        f" against {counted(result.n_reference, 'row')} of ", user_text(truncate(names[0])),
    ])  # fmt: skip
    sections = {"summary": "Summary", "columns": "Distributions", "tests": "Tests",
                "targets": "Guarantees", "parts": "Parts", "method": "Method"}  # fmt: skip
    return write_static_page(
        file, "credalens monitor", heading, sizes, body, sections, _STYLE,
        {"alarm": result.alarm},
    )  # fmt: skip


def sentence(change: Change) -> str:
    """Return a change as a sentence."""
    of = f" of {change.group}" if change.group else ""
    if change.column == VOTE:
        return (
            f"The predicted classes{of} changed by {change.distance:.1%} of the rows; most of all "
            f"{change.direction}, from {change.reference:.1%} to {change.new:.1%}."
        )
    if change.column == KEEP_RATE:
        return f"The keep rate{of} is {change.new:.1%} instead of {change.reference:.1%}."
    how = f"is {change.direction}" if change.direction else "has another distribution"
    return (
        f"{change.column}{of} {how}: mean {change.new:.4g} instead of {change.reference:.4g}; "
        f"shares below a threshold differ by up to {change.distance:.1%}."
    )


def target_sentence(one: TargetCheck) -> str:
    """Return the check of a guarantee as a sentence."""
    if not one.trials:
        return f"{one.target.name}: no labels yet."
    state = "is violated" if one.alarm else "no evidence that it is violated"
    return (
        f"{one.target.name}: {state}; observed {one.share:.4f} in {counted(one.trials, 'label')}, "
        f"evidence {_short(one.largest)} of {_short(one.limit)}."
    )


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1e5 else f"{value:.1e}"


def _summary(result: MonitorResult, names: tuple[str, str]) -> Markup:
    raised = [sentence(one) for one in result.changes if one.alarm and not one.group]
    groups = [sentence(one) for one in result.changes if one.alarm and one.group]
    raised += [target_sentence(one) for one in result.targets if one.alarm]
    first = (
        f"An alarm is raised: {counted(result.n_alarms, 'test')} of "
        f"{len(result.changes) + len(result.targets)}."
        if result.alarm
        else "No alarm is raised."
    )
    shown = [tag("li", user_text(text)) for text in (raised + groups)[:20]]
    more = len(raised) + len(groups) - len(shown)
    notes = []
    if more:
        notes.append(tag("p", f"{counted(more, 'further alarm')} in the table of tests."))
    if result.unknown_groups:
        listed = ", ".join(map(truncate, result.unknown_groups[:10]))
        notes.append(tag("p", "Groups that the reference does not have: ", user_text(listed), "."))
    return tag(
        "section",
        tag("h2", "Summary", id="summary-title", _class="hidden"),
        tag("div", tag("p", first, _class="alarm" if result.alarm else None), _class="summary"),
        tag("ul", *shown) if shown else None,
        *notes,
        id="summary", aria_labelledby="summary-title",
    )  # fmt: skip


def _charts(result: MonitorResult, reference: ScoreSketch, new: ScoreSketch) -> Markup:
    first, second = reference.total, new.total
    figures = []
    for column in new.columns:
        if column in first.histograms and column in second.histograms:
            drawn = histogram_svg(column, first.histograms[column], second.histograms[column])
            if drawn is not None:
                figures.append(tag("figure", tag("h3", user_text(column)), drawn))
    caption = "Shares of rows: filled, the reference; the line, the new rows."
    return section(
        "columns", "Distributions", tag("p", caption, _class="lead"),
        tag("div", *figures, _class="panels two"),
    )  # fmt: skip


def histogram_svg(name: str, first: Histogram, second: Histogram) -> Markup | None:
    """Return the histograms of a column in both samples; None without finite values."""
    values, *counts = common_table(first, second)
    finite = np.isfinite(values)
    if not finite.any():
        return None
    values = values[finite]
    low, high = min(float(values[0]), 0.0), float(values[-1])
    high = high if high > low else low + 1
    at = np.minimum((BARS * (values - low) / (high - low)).astype(int), BARS - 1)
    shares = [
        np.bincount(at, one[finite], BARS) / max(int(one.sum()), 1) for one in counts
    ]  # fmt: skip
    top = max(float(np.max(shares)), 1e-12)
    step = WIDTH / BARS
    heights = [HEIGHT * one / top for one in shares]
    bars = [
        tag("rect", x=_number(i * step), y=_number(HEIGHT - h), width=_number(step),
            height=_number(h), _class="reference")
        for i, h in enumerate(heights[0].tolist()) if h > 0
    ]  # fmt: skip
    points = " ".join(
        f"{_number(i * step)},{_number(HEIGHT - h)} {_number((i + 1) * step)},{_number(HEIGHT - h)}"
        for i, h in enumerate(heights[1].tolist())
    )
    return tag(
        "svg", *bars, tag("polyline", points=points, _class="new"),
        tag("line", x1=0, x2=WIDTH, y1=HEIGHT, y2=HEIGHT, _class="axis"),
        tag("text", f"{low:.3g}", x=0, y=HEIGHT + 18),
        tag("text", f"{high:.3g}", x=WIDTH, y=HEIGHT + 18, text_anchor="end"),
        viewBox=f"-2 -4 {WIDTH + 4} {HEIGHT + 28}", _class="monitor", role="img",
        aria_label=f"Histograms of {name}",
    )  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.1f}"


def _interval(values: Array, digits: int = 3) -> str:
    estimate, low, high = values.tolist()
    if math.isnan(estimate):
        return ""
    return f"{estimate:+.{digits}g} [{low:+.{digits}g}, {high:+.{digits}g}]"


def _alarm(raised: bool) -> Markup:
    return tag("span", "alarm", _class="alarm") if raised else Markup("")


def _changes(result: MonitorResult) -> Markup:
    head = ["column", "group", "reference", "new", "difference", "P(new > reference)", "distance",
            "direction", "p, corrected", ""]  # fmt: skip
    ordered = sorted(result.changes, key=lambda one: (not one.alarm, one.adjusted))
    rows: list[list[Any]] = []
    for one in ordered[:MOST_ROWS]:
        chance, low, high = one.superiority.tolist()
        rows.append([
            user_text(one.column), user_text(truncate(one.group) or "all"),
            f"{one.reference:.4g}", f"{one.new:.4g}", _interval(one.difference),
            "" if math.isnan(chance) else f"{chance:.3f} [{low:.3f}, {high:.3f}]",
            f"{one.distance:.4f}", user_text(truncate(one.direction)), f"{one.adjusted:.2g}",
            _alarm(one.alarm),
        ])  # fmt: skip
    more = len(ordered) - len(rows)
    note = tag("p", f"{counted(more, 'further test')} without an alarm.") if more else None
    return section("tests", "Tests of change", table(head, rows, "numbers"), note)


def _targets(result: MonitorResult, part_names: Sequence[str]) -> Markup | None:
    if not result.targets:
        return None
    content: list[Any] = []
    for one in result.targets:
        content.append(tag("h3", user_text(one.target.name)))
        content.append(
            tag("p", user_text(target_sentence(one)), _class="alarm" if one.alarm else None)
        )
        if one.trials and len(one.evidence) > 1:
            content.append(_evidence_svg(one))
    return section("targets", "Guarantees", *content)


def _evidence_svg(one: TargetCheck) -> Markup:
    """Return the logarithm of the evidence after each part, with its limit."""
    logs = np.log10(np.clip(one.evidence, 1e-3, 1e12))
    limit = math.log10(one.limit)
    low, high = min(float(logs.min()), 0.0), max(float(logs.max()), limit) + 0.2
    x = np.linspace(0, WIDTH, len(logs)).tolist()
    y = (HEIGHT * (1 - (logs - low) / (high - low))).tolist()
    at = HEIGHT * (1 - (limit - low) / (high - low))
    points = " ".join(f"{_number(a)},{_number(b)}" for a, b in zip(x, y, strict=True))
    drawn = tag(
        "svg", tag("line", x1=0, x2=WIDTH, y1=_number(at), y2=_number(at), _class="limit"),
        tag("polyline", points=points, _class="new"),
        *(tag("circle", cx=_number(a), cy=_number(b), r=3, _class="dot")
          for a, b in zip(x, y, strict=True)),
        viewBox=f"-6 -6 {WIDTH + 12} {HEIGHT + 12}", _class="monitor", role="img",
        aria_label="Evidence by part",
    )  # fmt: skip
    caption = (
        f"Evidence against the guarantee after each part, on a logarithmic scale from "
        f"{10**low:.2g} to {10**high:.2g}; the dashed line is the limit {_short(one.limit)}."
    )
    return tag("figure", drawn, tag("figcaption", caption))


def _parts(reference: ScoreSketch, parts: Sequence[PartSummary]) -> Markup | None:
    if len(parts) < 2:
        return None
    rows = []
    first, with_policy = reference.columns[0], reference.policy is not None
    for name, sketch in [("reference", reference), *((p.name, p.sketch) for p in parts)]:
        total = sketch.total
        values, counts = total.histograms[first].table()
        mean = f"{counts @ values / counts.sum():.4g}" if len(values) else ""
        kept = [f"{total.kept / total.rows:.1%}"] if with_policy else []
        rows.append([user_text(truncate(name)), f"{total.rows:,}", mean, *kept])
    head = ["part", "rows", f"mean of {first}", *(["keep rate"] if with_policy else [])]
    return section("parts", "Parts", table(head, rows[:1] + rows[1:][-MOST_ROWS:], "numbers"))


def _method(result: MonitorResult) -> Markup:
    notes = [
        "The distribution of each column is compared by the largest difference of the distribution "
        "functions (two-sample Kolmogorov-Smirnov test, exact for up to 5000 rows), the predicted "
        "classes and the keep rate by Fisher's exact test. The p-values are corrected for their "
        f"number by the method of Holm. An alarm requires a corrected p-value of at most "
        f"{result.change_level:.2g} and a distance of at least {result.least_change:g}. The tests "
        "assume independent rows.",
        f"Intervals are {result.confidence:.0%} bootstrap intervals, each on its own.",
    ]
    if result.targets:
        notes.append(
            "Guarantees are tested sequentially, by the likelihood ratio of higher error rates. If "
            f"all hold, the probability that an alarm is ever raised is at most "
            f"{result.target_level:.2g}, however often labels are added."
        )
    return method_section(notes)
