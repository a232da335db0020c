"""The section on sets of labels and on the cost of decisions."""

from __future__ import annotations

import math
from typing import Any

from credalens._html import truncate
from credalens.report.data import ReportData
from credalens.report.label_sets import RULE_LABELS, LabelSets
from credalens.report.markup import Markup, join, tag, user_text
from credalens.report.sections import chart, section, table
from credalens.report.summary_text import counted, number, percent

#: Sizes above are shown together.
MOST = 4


def label_sets_section(data: ReportData) -> Markup | None:
    """Return the sizes of the sets, the confused pairs, the rules, and the cost of decisions."""
    found = data.label_sets
    if data.config.n_classes == 1 or data.config.n_members == 1:
        return None
    single = found.sizes.get(1, 0)
    lead = (
        f"A set of labels keeps every label that is optimal for some mixture of the models: "
        f"{number(single)} predictions ({percent(single, data.n)}) have a single label, "
        f"{number(found.sizes.get(2, 0))} have two."
    )
    return section(
        "sets", "Sets of labels",
        tag("p", lead, _class="lead"),
        tag("div", _sizes(data, found), _pairs(data, found), _class="panels two"),
        _rules(found),
        _costs(data, found),
    )  # fmt: skip


def _sizes(data: ReportData, found: LabelSets) -> Markup:
    rows: list[list[Any]] = []
    for size in range(1, MOST):
        count = found.sizes.get(size, 0)
        rows.append([counted(size, "label"), number(count), percent(count, data.n)])
    more = sum(count for size, count in found.sizes.items() if size >= MOST)
    rows.append([f"{MOST} or more labels", number(more), percent(more, data.n)])
    return tag("div", tag("h3", "Number of labels"),
               table(["set", "predictions", "share"], rows, "numbers"))  # fmt: skip


def _pairs(data: ReportData, found: LabelSets) -> Markup:
    names = [user_text(truncate(name)) for name in data.class_phrases]
    rows: list[list[Any]] = [
        [join([names[a], " or ", names[b]]), number(count)] for a, b, count in found.pairs
    ]
    content = table(["pair of labels", "predictions"], rows, "numbers") if rows else tag(
        "p", "No prediction has exactly two labels."
    )  # fmt: skip
    return tag("div", tag("h3", "Labels that are confused"), content)


def _rules(found: LabelSets) -> Markup:
    head = ["rule", "mean size"]
    rows: list[list[Any]] = [[RULE_LABELS[rule], f"{size:.3f}"]
                             for rule, size in found.mean_sizes.items()]  # fmt: skip
    caption = (
        "E-admissible: optimal for some mixture of the models. Maximal: no other label is more "
        "probable for every model. Interval dominance: its largest probability is not below the "
        "smallest of any other label. Each set contains those above it."
    )
    if not found.metrics:
        return join([tag("h3", "Rules"), table(head, rows, "numbers"),
                     tag("p", caption, _class="note")])  # fmt: skip
    head += ["contains the label", "accuracy of single labels", "u65", "u80"]
    for row, one in zip(rows, found.metrics.values(), strict=True):
        low, high = one.intervals["coverage"]
        single = "" if math.isnan(one.single_accuracy) else f"{100 * one.single_accuracy:.1f} %"
        covered = f"{100 * one.coverage:.1f} % ({100 * low:.1f} % to {100 * high:.1f} %)"
        row += [covered, single, f"{one.u65:.3f}", f"{one.u80:.3f}"]
    caption += (
        " u65 and u80: utility of a set with two labels is 0.65 or 0.8 of that of a correct label."
    )
    figure = chart("sets", "Share of sets that contain the label against their mean size.")
    return join([tag("h3", "Rules"), table(head, rows, "numbers"),
                 tag("p", caption, _class="note"), figure])  # fmt: skip


def _costs(data: ReportData, found: LabelSets) -> Markup | None:
    if not found.risks:
        return None
    head, rows = ["policy", "mean largest expected cost"], list[list[Any]]()
    if found.costs:
        head.append("mean cost with the labels")
    best = min(found.costs.values(), default=None)
    for policy, risk in found.risks.items():
        row: list[Any] = [policy, f"{risk:.4f}"]
        if found.costs:
            text = f"{found.costs[policy]:.4f}"
            row.append(tag("strong", text) if found.costs[policy] == best else text)
        rows.append(row)
    return join([tag("h3", "Cost of decisions"), table(head, rows, "numbers")])
