"""The sections of the page, from top to bottom."""

from __future__ import annotations

import re
from typing import Any

from credalens.distances import as_distance
from credalens.evaluation.kinds import KINDS
from credalens.evaluation.reasons import widest_pairs
from credalens.measures.quantify import COMPONENTS
from credalens.report import figures
from credalens.report.cards import card
from credalens.report.charts import FAMILIES, ORACLE, RANDOM, family_words
from credalens.report.data import Findings
from credalens.report.markup import Markup, cut, join, tag, user_text
from credalens.report.story import counts, measure, number, percent, rule_in_words, sentences

#: Marks of the kinds, beside their colours.
SYMBOLS = ("●", "■", "▲", "◆")


def section(ident: str, title: str, *content: Any) -> Markup:
    """Return a part of the page with its heading."""
    heading = tag("h2", title, id=f"{ident}-title")
    return tag("section", heading, *content, id=ident, aria_labelledby=f"{ident}-title")


def chart(name: str, caption: Any, _class: str = "chart") -> Markup:
    """Return the place of a chart and the words that go with it."""
    return tag("figure", tag("div", _class=_class, data_chart=name), tag("figcaption", caption))


def table(head: list[Any], rows: list[list[Any]], _class: str = "") -> Markup:
    """Return a table whose first column names the rows and whose other columns are numbers."""
    top = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
        for row in rows
    ]
    inside = tag("table", tag("thead", top), tag("tbody", *body), _class=_class or None)
    return tag("div", inside, _class="scroll", tabindex="0", role="group")


def story(found: Findings) -> Markup:
    """Return the three sentences, the kinds and the rule."""
    told = [tag("p", join(_strong(part))) for part in map(_numbers, sentences(found))]
    right = figures.accuracy_by_kind(found)
    one = found.subject.n_members == 1
    tiles = []
    for code, (kind, count) in enumerate(zip(KINDS, counts(found), strict=True)):
        lines = [
            tag("h3", tag("span", SYMBOLS[code], _class="symbol", aria_hidden="true"),
                kind.name),
            tag("p", tag("strong", number(count)), tag("span", percent(count, found.n)),
                _class="count"),
            tag("p", f"{kind.told(found.subject.n_members)}.".capitalize()),
        ]  # fmt: skip
        if found.labels is not None and count:
            lines.append(tag("p", f"Accuracy {percent(*right[code])}.", _class="accuracy"))
        if not (one and kind.unknown):
            lines.append(tag("p", kind.advice, _class="advice"))
        tiles.append(tag("li", *lines, _class=f"tile {kind.name}"))
    return tag(
        "section",
        tag("h2", "In three sentences", id="story-title", _class="hidden"),
        tag("div", *told, _class="story"),
        tag("ul", *tiles, _class="tiles"),
        tag("p", rule_in_words(found), _class="rule"),
        id="story", aria_labelledby="story-title",
    )  # fmt: skip


def _numbers(sentence: str) -> list[str]:
    """Split a sentence so that every second part is a number."""
    return re.split(r"((?:[<>]\s)?\d(?:[\d,.]*\d)?(?:\s%)?)", sentence)


def _strong(parts: list[str]) -> list[Any]:
    return [tag("strong", part) if i % 2 else part for i, part in enumerate(parts)]


def map_section(found: Findings, chosen: figures.Listed) -> Markup:
    """Return the map, the filters and the table that they fill."""
    n, dense = found.n, found.n > figures.ALL_MARKS
    looked = n - counts(found)[0]
    words = [
        "Each prediction by how hard it is (to the right) and by how much the models disagree "
        "(upwards); hover for the interval. "
    ]
    if dense:
        drawn = len(chosen.drawn)
        pool = f"the {number(looked)} that deserve a second look" if looked else "all"
        sample = f"a sample, {number(drawn)} of {pool}" if drawn < (looked or n) else pool
        words.append(
            f"The shading counts all {number(n)} predictions, stronger for more, on a logarithmic "
            f"scale; the marks are {sample}. "
        )
    else:
        words.append(f"All {number(n)} are drawn. " if n > 1 else "")
    words.append("Drag across the map to list what lies there, or choose a kind or a range below.")
    return section(
        "map", "The map of uncertainty",
        _keys(),
        chart("map", join(words), "chart map"),
        _filters(found),
        _listing(found, chosen),
    )  # fmt: skip


def _keys() -> Markup:
    return tag("ul", *(
        tag("li", tag("span", SYMBOLS[code], _class=f"symbol {kind.name}", aria_hidden="true"),
            " ", kind.name)
        for code, kind in enumerate(KINDS)
    ), _class="keys")  # fmt: skip


def _filters(found: Findings) -> Markup:
    totals = [("look", "second look", found.n - counts(found)[0])]
    totals += [(str(c), q.name, n) for c, (q, n) in enumerate(zip(KINDS, counts(found),
                                                                  strict=True))]  # fmt: skip
    totals.append(("all", "all", found.n))
    buttons = [
        tag("button", f"{words} ", tag("span", number(count)), type="button", data_filter=key,
            aria_pressed="false")
        for key, words, count in totals
    ]  # fmt: skip

    def box(name: str, label: str) -> Markup:
        field = tag("input", id=f"from-{name}", type="number", step="any", min="0")
        return tag("label", label, field)

    ranges = [box("x0", "aleatoric from"), box("x1", "to"),
              box("y0", "epistemic from"), box("y1", "to")]  # fmt: skip
    return tag(
        "div",
        tag("div", *buttons, _class="buttons", role="group", aria_label="List a kind"),
        tag("form", *ranges, tag("button", "List this range", type="submit"), id="range",
            aria_label="List a range, as dragging across the map does"),
        _class="filters",
    )  # fmt: skip


def _listing(found: Findings, chosen: figures.Listed) -> Markup:
    heads = [("id", "row" if found.ids is None else "id"), ("p", "prediction")]
    if found.labels is not None:
        heads.append(("y", "label"))
    if found.subject.n_members > 1:
        heads.append(("v", "votes of the models"))
    heads += [("t", "total"), ("m", "aleatoric"), ("e", "epistemic"), ("q", "kind")]
    cells = [
        tag("th", tag("button", words, type="button", data_sort=key), scope="col", data_key=key)
        for key, words in heads
    ]
    whole = len(chosen.places) == found.n
    note = "" if whole else (
        f" Of {number(found.n)} predictions this page can list {number(len(chosen.places))}: the "
        f"{number(chosen.n_top)} with the largest total uncertainty and a random sample of the "
        "others. Counts are of all."
    )  # fmt: skip
    return tag(
        "div",
        tag("p", id="count", role="status", aria_live="polite"),
        tag("div", tag("table", tag("thead", tag("tr", *cells)), tag("tbody"), id="listing"),
            _class="scroll", tabindex="0", role="group", aria_label="Listed predictions"),
        tag("p", tag("button", "Show more", type="button", id="more"),
            tag("button", "Export as CSV", type="button", id="export"), _class="actions"),
        tag("p", f"Values are rounded to {found.rule.scale / figures.PARTS:g}.{note}",
            _class="note"),
        _class="listing",
    )  # fmt: skip


def curves_section(found: Findings, curves: figures.Curves) -> Markup:
    """Return the rejection curves and their areas."""
    panels = [
        tag("div", tag("h3", f"{component} uncertainty".capitalize()),
            tag("div", _class="chart", data_chart=f"curve-{component}"),
            _areas(found, curves, component))
        for component in COMPONENTS
    ]  # fmt: skip
    words = (
        "Accuracy of what is kept when the most uncertain predictions are rejected first, counted "
        f"over all {number(found.n)}. AUC: area under the curve, 1 is perfect. MR: share of the "
        "curve's steps that do not lose accuracy. The random order is its expectation, its MR the "
        f"mean of {figures.RANDOM_ORDERS} draws. Aleatoric intervals are ranked by their lower "
        "end, then the upper."
    )
    return section(
        "curves", "What rejecting the uncertain brings",
        tag("figure", tag("div", *panels, _class="panels three"), tag("figcaption", words)),
    )  # fmt: skip


def _areas(found: Findings, curves: figures.Curves, component: str) -> Markup:
    """Return the table beside the curves of one component, which is their legend too."""
    rows = []
    for (part, family), curve in curves.scores.items():
        if part == component:
            name = family_words(found, family)
            if (component, family) == ("total", "entropy") and "hartley" in found.families:
                name += ", Hartley"
            rows.append((FAMILIES[family], name, curve.auc, curve.monotonicity_ratio))
    oracle = curves.oracle
    rows.append((ORACLE, "Oracle", oracle.auc, oracle.monotonicity_ratio))
    rows.append((RANDOM, "Random", curves.random.auc, curves.random_ratio))
    cells = [
        [join([_line(style), name]), f"{auc:.4f}", f"{ratio:.2f}"]
        for style, name, auc, ratio in rows
    ]
    return table([tag("span", "ranked by", _class="hidden"), "AUC", "MR"], cells, "numbers")


def _line(style: tuple[str, str, list[int]]) -> Markup:
    _, colour, dash = style
    stroke = tag("line", x1=0, y1=6, x2=34, y2=6, style=f"stroke:{colour}", stroke_width=3,
                 stroke_dasharray=" ".join(map(str, dash)) if dash != [1, 0] else None)  # fmt: skip
    return tag("svg", stroke, width=34, height=12, aria_hidden="true", _class="line")


def distributions(found: Findings, pictures: list[Any], classes: list[Any]) -> Markup:
    """Return histograms with medians, and where the uncertainty sits."""
    panels = [
        tag("div",
            tag("h3", picture["title"],
                tag("span", f"median {measure(picture['median'])}", _class="median")),
            tag("div", _class="chart", data_chart=f"histogram-{i}"))
        for i, picture in enumerate(pictures)
    ]  # fmt: skip
    names = found.class_names
    head = ["predicted", "predictions", *(q.name for q in KINDS),
            "median total", "median aleatoric", "median epistemic"]  # fmt: skip
    rows = []
    for entry in classes:
        row: list[Any] = [user_text(cut(names[entry["class"]])), number(entry["n"])]
        row += [number(count) for count in entry["counts"]]
        row += [measure(value) for value in entry["medians"]]
        rows.append(row + ([percent(entry["right"], entry["n"])] if "right" in entry else []))
    if found.labels is not None:
        head.append("accuracy")
    told = len(classes)
    ever = len(set(found.predicted.tolist()))
    which = f"all {told}" if told == ever else f"the {told} with most to look at, of {number(ever)}"
    words = (
        "Shares of the kinds among the predictions of a class, exact counts"
        f"; shown: {which} classes that were predicted."
    )
    return section(
        "distributions", "Where the uncertainty sits",
        tag("figure", tag("div", *panels, _class="panels four"),
            tag("figcaption", f"Exact counts of all {number(found.n)} in {figures.BINS} bins; "
                "medians marked.")),
        tag("h3", "By predicted class"),
        _keys(),
        chart("classes", words),
        tag("details", tag("summary", "The same as a table"), table(head, rows, "numbers")),
    )  # fmt: skip


def cards_section(found: Findings) -> Markup:
    """Return the most uncertain instances one by one."""
    distance = as_distance(found.subject.distance, found.subject.n_classes)
    pairs = widest_pairs(found.shown_members, distance)
    cards = [card(found, i, pair) for i, pair in enumerate(pairs)]
    count = len(cards)
    title = f"The {count} most uncertain" if count > 1 else "The prediction itself"
    words = "By total uncertainty. Each bar is one model's probabilities."
    if found.subject.n_members > 1:
        words += " The two models farthest apart, which set epistemic uncertainty, are marked ◀."
    if found.subject.n_classes == 3:
        words += " In the triangle, each corner is a class and each dot a model."
    return section("uncertain", title, tag("p", words, _class="lead"),
                   tag("ol", *cards, _class="cards"))  # fmt: skip


def members_section(found: Findings) -> Markup:
    """Return the members in words."""
    d = found.diagnosis
    title = "The models"
    if d is None:
        only = tag("p", "There is one model only: epistemic uncertainty is 0 everywhere, and all "
                   "uncertainty is aleatoric. Report several models to see where they disagree.",
                   _class="lead")  # fmt: skip
        return section("members", title, only)
    rows = []
    for m, name in enumerate(d.names):
        row: list[Any] = [user_text(name)]
        row += [f"{d.decides_total[m]:.1%}", f"{d.in_widest_pair[m]:.1%}",
                _change(d.total_change[m]), _change(d.epistemic_change[m])]  # fmt: skip
        if d.accuracy is not None:
            row += [f"{d.accuracy[m]:.1%}", measure(d.relative_likelihood[m])]
        rows.append(row)
    head = [
        "model",
        "alone sets TU",
        "in the widest pair",
        "mean TU without it",
        "mean EU without it",
    ]
    if d.accuracy is not None:
        head += ["accuracy", "relative likelihood"]
    if d.spoilers:
        several = len(d.spoilers) > 1
        listed = join([", " if i else "", user_text(d.names[m])][j]
                      for i, m in enumerate(d.spoilers) for j in (0, 1))  # fmt: skip
        lead = tag(
            "p", tag("strong", listed), " shape the uncertainty " if several else
            " shapes the uncertainty ", "without knowing the input: look at ",
            "these models" if several else "this model", " before you trust the rest of the page.",
            _class="lead warning",
        )  # fmt: skip
    else:
        lead = tag("p", "No model shapes the uncertainty without knowing the input.",
                   _class="lead")  # fmt: skip
    words = [tag("li", user_text(verdict)) for verdict in d.verdicts]
    scope = (
        f"Counted over all {number(found.n)} predictions"
        if found.n_diagnosed == found.n
        else f"Counted over one prediction in {-(-found.n // found.n_diagnosed)}, "
        f"{number(found.n_diagnosed)} of {number(found.n)}"
    )
    note = tag("p", f"{scope}, with total variation. Means change by so much when the model is "
               "left out; relative likelihood for one label, 1 is the best model.",
               _class="note")  # fmt: skip
    return section("members", title, lead, tag("ul", *words, _class="verdicts"),
                   table(head, rows, "numbers"), note)  # fmt: skip


def _change(value: float) -> str:
    """Return a change with four decimals, and a sign that is as wide as a plus."""
    text = f"{value:.4f}"
    return "0" if float(text) == 0 else text.replace("-", "\u2212")
