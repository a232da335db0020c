"""The sections of the page, from top to bottom."""

from __future__ import annotations

import re
from typing import Any

from credalens._html import truncate
from credalens.distances import as_distance
from credalens.evaluation.kinds import KINDS
from credalens.evaluation.reasons import widest_pairs
from credalens.evaluation.verdicts import fault
from credalens.report import aggregates
from credalens.report.cards import card
from credalens.report.data import ReportData
from credalens.report.markup import Markup, join, tag, user_text
from credalens.report.ranking import Ranking
from credalens.report.summary_text import (
    advice,
    limit_text,
    measure,
    number,
    percent,
    rule_text,
    sentences,
    without_text,
)

#: Symbols of the kinds, shown with their colours.
SYMBOLS = ("●", "■", "▲", "◆")


def section(ident: str, title: str, *content: Any) -> Markup:
    """Return a section with its heading."""
    heading = tag("h2", title, id=f"{ident}-title")
    return tag("section", heading, *content, id=ident, aria_labelledby=f"{ident}-title")


def chart(name: str, caption: Any, _class: str = "chart") -> Markup:
    """Return the placeholder of a chart with its caption."""
    return tag("figure", tag("div", _class=_class, data_chart=name), tag("figcaption", caption))


def table(head: list[Any], rows: list[list[Any]], _class: str = "") -> Markup:
    """Return a table; the first column contains row headers."""
    top = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
        for row in rows
    ]
    content = tag("table", tag("thead", top), tag("tbody", *body), _class=_class or None)
    return tag("div", content, _class="scroll", tabindex="0", role="group")


def summary_section(data: ReportData, ranking: Ranking | None) -> Markup:
    """Return warnings, the three sentences, one tile per kind, and the rule."""
    correct = aggregates.correct_by_kind(data)
    n_models = data.config.n_members
    tiles = []
    for code, (kind, count) in enumerate(zip(KINDS, data.kind_counts, strict=True)):
        symbol = tag("span", SYMBOLS[code], _class="symbol", aria_hidden="true")
        meaning = kind.describe(n_models) if code else limit_text(data)
        lines = [
            tag("h3", symbol, data.kind_labels[code]),
            tag("p", tag("strong", number(count)), tag("span", percent(count, data.n)),
                _class="count"),
            tag("p", f"{meaning}.".capitalize()),
        ]  # fmt: skip
        if data.labels is not None and count:
            accuracy = f"Accuracy {percent(correct[code], count)}."
            lines.append(tag("p", accuracy, _class="accuracy"))
        if n_models > 1 or not kind.unknown:
            lines.append(tag("p", advice(data, kind), _class="advice"))
        tiles.append(tag("li", *lines, _class=f"tile {kind.name}"))
    return tag(
        "section",
        tag("h2", "Summary", id="summary-title", _class="hidden"),
        _warning(data),
        tag("div", *(tag("p", _emphasize(text)) for text in sentences(data)), _class="summary"),
        _better_score(ranking),
        tag("ul", *tiles, _class="tiles"),
        tag("p", rule_text(data), _class="rule"),
        id="summary", aria_labelledby="summary-title",
    )  # fmt: skip


def _warning(data: ReportData) -> Markup | None:
    """Return the warning about models that distort the uncertainty, with figures without them."""
    d = data.diagnosis
    if d is None or not d.spoilers:
        return None
    faults = [
        tag("p", tag("strong", user_text(d.names[m])),
            " distorts the uncertainty on this page: it ", user_text(fault(d, m)), ".")
        for m in d.spoilers
    ]  # fmt: skip
    advice = "Check it, or leave it out." if len(faults) == 1 else "Check them, or leave them out."
    last = tag("p", f"{without_text(data)} {advice}")
    return tag("div", *faults, last, _class="lead warning", role="alert")


def _better_score(ranking: Ranking | None) -> Markup | None:
    if ranking is None or not ranking.best.clearly_better:
        return None
    link = tag("a", "Accuracy after rejection", href="#curves")
    return tag("p", ranking.best.describe(), " See ", link, ".", _class="lead")


def _emphasize(sentence: str) -> Markup:
    """Return a sentence with its numbers in bold."""
    parts = re.split(r"((?:[<>]\s)?\d(?:[\d,.]*\d)?(?:\s%)?)", sentence)
    return join(tag("strong", part) if i % 2 else part for i, part in enumerate(parts))


def map_section(data: ReportData, listing: aggregates.Listing) -> Markup:
    """Return the map, the filters and the table of the listed rows."""
    n, review = data.n, data.n - data.kind_counts[0]
    words = [
        "Each prediction by the lower end of aleatoric uncertainty (to the right) and epistemic "
        "uncertainty (upwards); hover for details. "
    ]
    if n > aggregates.ALL_MARKS:
        drawn = len(listing.drawn)
        pool = f"the {number(review)} to review" if review else "all"
        sample = f"a sample, {number(drawn)} of {pool}" if drawn < (review or n) else pool
        words.append(
            f"The shading shows the number of predictions, {number(n)} in total, on a logarithmic "
            f"scale; the marks are {sample}. "
        )
    elif n > 1:
        words.append(f"All {number(n)} are drawn. ")
    words.append(
        "The dashed lines are the thresholds of the reasons; a prediction beyond one of them is "
        "reviewed if its total uncertainty is above the threshold of the rule. "
    )
    words.append("Drag across the map to list an area, or select a kind or a range below.")
    return section(
        "map", "Map of the uncertainty",
        _keys(data),
        chart("map", join(words), "chart map"),
        _filters(data),
        _listing(data, listing),
    )  # fmt: skip


def _keys(data: ReportData) -> Markup:
    return tag("ul", *(
        tag("li", tag("span", SYMBOLS[code], _class=f"symbol {kind.name}", aria_hidden="true"),
            " ", data.kind_labels[code])
        for code, kind in enumerate(KINDS)
    ), _class="keys")  # fmt: skip


def _filters(data: ReportData) -> Markup:
    counts = data.kind_counts
    totals = [
        ("review", "to review", data.n - counts[0]),
        *((str(code), label, counts[code]) for code, label in enumerate(data.kind_labels)),
        ("all", "all", data.n),
    ]
    buttons = [
        tag("button", f"{label} ", tag("span", number(count)), type="button", data_filter=key,
            aria_pressed="false")
        for key, label, count in totals
    ]  # fmt: skip
    fields = {"x0": "aleatoric from", "x1": "to", "y0": "epistemic from", "y1": "to"}
    ranges = [
        tag("label", label, tag("input", id=f"from-{name}", type="number", step="any", min="0"))
        for name, label in fields.items()
    ]
    return tag(
        "div",
        tag("div", *buttons, _class="buttons", role="group", aria_label="List a kind"),
        tag("form", *ranges, tag("button", "List this range", type="submit"), id="range",
            aria_label="List a range of the map"),
        _class="filters",
    )  # fmt: skip


def _listing(data: ReportData, listing: aggregates.Listing) -> Markup:
    columns = {"id": "row" if data.ids is None else "id", "p": "prediction"}
    if data.labels is not None:
        columns["y"] = "label"
    if data.config.n_members > 1:
        columns["v"] = "votes of the models"
    columns |= {"t": "total", "l": "aleatoric", "e": "epistemic", "q": "kind"}
    cells = [
        tag("th", tag("button", label, type="button", data_sort=key), scope="col", data_key=key)
        for key, label in columns.items()
    ]
    note = f"Values are rounded to {data.rule.scale / aggregates.STEPS:g}."
    if len(listing.positions) < data.n:
        note += (
            f" Of {number(data.n)} predictions this page lists {number(len(listing.positions))}: "
            f"the {number(listing.n_top)} with the largest total uncertainty and a random sample "
            "of the others. Counts include all predictions."
        )
    return tag(
        "div",
        tag("p", id="count", role="status", aria_live="polite"),
        tag("div", tag("table", tag("thead", tag("tr", *cells)), tag("tbody"), id="listing"),
            _class="scroll", tabindex="0", role="group", aria_label="Listed predictions"),
        tag("p", tag("button", "Show more", type="button", id="more"),
            tag("button", "Export as CSV", type="button", id="export"), _class="actions"),
        tag("p", note, _class="note"),
        _class="listing",
    )  # fmt: skip


def distributions_section(data: ReportData, histograms: list[Any], classes: list[Any]) -> Markup:
    """Return histograms with medians, and the kinds by predicted class."""
    panels = [
        tag("div",
            tag("h3", histogram["title"],
                tag("span", f"median {measure(histogram['median'])}", _class="median")),
            tag("div", _class="chart", data_chart=f"histogram-{i}"))
        for i, histogram in enumerate(histograms)
    ]  # fmt: skip
    head = ["predicted", "predictions", *data.kind_labels,
            "median total", "median lower aleatoric", "median epistemic"]  # fmt: skip
    if data.labels is not None:
        head.append("accuracy")
    rows: list[list[Any]] = []
    for entry in classes:
        name = user_text(truncate(data.class_names[entry["class"]]))
        rows.append([name, number(entry["n"]), *map(number, entry["counts"]),
                     *map(measure, entry["medians"])])  # fmt: skip
        if "correct" in entry:
            rows[-1].append(percent(entry["correct"], entry["n"]))
    shown, n_predicted = len(classes), len(set(data.predicted.tolist()))
    which = (
        f"all {shown}"
        if shown == n_predicted
        else f"the {shown} with most to review, of {number(n_predicted)}"
    )
    return section(
        "distributions", "Distribution of the uncertainty",
        tag("figure", tag("div", *panels, _class="panels four"),
            tag("figcaption", f"Counts of all {number(data.n)} predictions in {aggregates.BINS} "
                "bins; the line marks the median.")),
        tag("h3", "By predicted class"),
        _keys(data),
        chart("classes", "Shares of the kinds among the predictions of a class, from exact "
              f"counts; shown: {which} predicted classes."),
        tag("details", tag("summary", "The same as a table"), table(head, rows, "numbers")),
    )  # fmt: skip


def cards_section(data: ReportData) -> Markup:
    """Return the most uncertain instances one by one."""
    distance = as_distance(data.config.distance, data.config.n_classes)
    pairs = widest_pairs(data.shown_members, distance)
    cards = [card(data, i, pair) for i, pair in enumerate(pairs)]
    title = f"The {len(cards)} most uncertain" if len(cards) > 1 else "The prediction"
    words = "Ordered by total uncertainty. Each bar shows the probabilities of one model."
    if data.config.n_members > 1:
        words += (
            " ◀ marks the two models that are farthest apart, which determine epistemic "
            "uncertainty."
        )
    if data.config.n_classes == 3:
        words += " In the triangle, each vertex is a class and each dot a model."
    return section("uncertain", title, tag("p", words, _class="lead"),
                   tag("ol", *cards, _class="cards"))  # fmt: skip


def members_section(data: ReportData) -> Markup:
    """Return the diagnosis of the models."""
    d = data.diagnosis
    if d is None:
        text = (
            "There is only one model: epistemic uncertainty is 0 and all uncertainty is "
            "aleatoric. Pass several models to see where they disagree."
        )
        return section("members", "Models", tag("p", text, _class="lead"))
    head = ["model", "alone sets TU", "in the widest pair", "mean TU without it",
            "mean EU without it"]  # fmt: skip
    if d.accuracy is not None:
        head += ["accuracy", "relative likelihood"]
    rows: list[list[Any]] = []
    for m, name in enumerate(d.names):
        rows.append([user_text(name), f"{d.decides_total[m]:.1%}", f"{d.in_widest_pair[m]:.1%}",
                     _change(d.total_change[m]), _change(d.epistemic_change[m])])  # fmt: skip
        if d.accuracy is not None:
            rows[-1] += [f"{d.accuracy[m]:.1%}", measure(d.relative_likelihood[m])]
    lead = (
        tag("p", tag("a", "See the warning at the top", href="#summary"), ".", _class="lead")
        if d.spoilers
        else tag("p", "No model distorts the uncertainty.", _class="lead")
    )
    if data.n_diagnosed == data.n:
        scope = f"Computed on all {number(data.n)} predictions"
    else:
        scope = (
            f"Computed on one prediction in {-(-data.n // data.n_diagnosed)}, "
            f"{number(data.n_diagnosed)} of {number(data.n)}"
        )
    note = (
        f"{scope}, with total variation. The means are changes when the model is removed; the "
        "relative likelihood is per label, 1 for the best model."
    )
    verdicts = [tag("li", user_text(verdict)) for verdict in d.verdicts]
    return section("members", "Models", lead, tag("ul", *verdicts, _class="verdicts"),
                   table(head, rows, "numbers"), tag("p", note, _class="note"))  # fmt: skip


def _change(value: float) -> str:
    """Return a change with four decimals and a minus sign as wide as a digit."""
    text = f"{value:.4f}"
    return "0" if float(text) == 0 else text.replace("-", "\u2212")
