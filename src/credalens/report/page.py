"""Renders the measurements as one self-contained HTML page."""

from __future__ import annotations

import html
from importlib.resources import files
from string import Template
from typing import Any

from credalens._html import content_hash, script_data, truncate
from credalens.explore.page import explorer_script
from credalens.report import aggregates, charts, sections, vega_bundle
from credalens.report.data import ReportData
from credalens.report.explorer import explorer_page
from credalens.report.label_sets_section import label_sets_section
from credalens.report.markup import Markup, join, tag, user_text
from credalens.report.method import method_section
from credalens.report.ranking import rank_scores
from credalens.report.ranking_section import ranking_section
from credalens.report.summary_text import number, sizes
from credalens.report.trust_section import trust_section

#: Headings of the navigation, by the id of the section.
NAVIGATION = {
    "summary": "Summary",
    "trust": "Trust",
    "map": "Map",
    "curves": "Rejection",
    "sets": "Label sets",
    "distributions": "Distributions",
    "uncertain": "Most uncertain",
    "members": "Models",
    "method": "Method",
}


def render(data: ReportData, seconds: float) -> str:
    """Return the page; `seconds` is the time since the first row was read."""
    listing = aggregates.select_rows(data)
    ranking, classes = rank_scores(data), aggregates.by_class(data)
    histograms = aggregates.histograms(data)
    body = [
        sections.summary_section(data, ranking),
        trust_section(data),
        sections.map_section(data, listing),
        None if ranking is None else ranking_section(data, ranking),
        label_sets_section(data),
        sections.distributions_section(data, histograms, classes),
        sections.cards_section(data),
        sections.members_section(data),
        method_section(data, seconds),
    ]
    dense = data.n > aggregates.ALL_MARKS
    specs: dict[str, Any] = {"map": charts.map_chart(data, dense)}
    if data.trust is not None:
        specs["trust"] = charts.reliability_chart(data.trust.top)
    if ranking is not None:
        specs |= {f"curve-{k}": spec for k, spec in charts.curve_charts(data, ranking).items()}
    if data.label_sets.metrics and data.config.n_members > 1 and data.config.n_classes > 1:
        specs["sets"] = charts.set_chart(data.label_sets)
    for i, histogram in enumerate(histograms):
        specs[f"histogram-{i}"] = charts.histogram_chart(histogram, data.n)
    names = [truncate(name) for name in data.class_names]
    shown = [names[entry["class"]] for entry in classes]
    specs["classes"] = charts.class_chart(data, classes, shown)
    (width, height), steps = aggregates.CELL, aggregates.STEPS
    payload = {
        "n": data.n,
        "unit": data.rule.scale / steps,
        "cell": [width, height],
        "last": [steps // width - 1, steps // 2 // height - 1],
        "coarse": list(charts.COARSE),
        "cells": aggregates.cells(data),
        "rows": aggregates.rows(data, listing.positions),
        "models": data.config.n_members,
        "drawn": listing.drawn.tolist(),
        "dense": dense,
        "kinds": data.kind_labels,
        "totals": data.kind_counts,
        "classes": None if data.config.class_names is None else names,
        "charts": specs,
        "explorer": explorer_page(data),
    }
    title = truncate(data.config.title) or _default_title(data.config.n_members)
    library, script = vega_bundle.bundle(), _resource("page.js")
    # The explorer opens in a page of its own, which inherits the policy.
    hashes = [content_hash(text) for text in (library, script, explorer_script())]
    return Template(_resource("page.html")).substitute(
        title=html.escape(title),
        style=_resource("page.css"),
        head=_head(data, title),
        body=join(body),
        data=script_data(payload),
        library=library,
        script=script,
        script_hashes=" ".join(f"'{value}'" for value in hashes),
        noscript=tag(
            "noscript", tag("p", "The charts and the table need JavaScript.", _class="rule")
        ),
    )


def _resource(name: str) -> str:
    return files("credalens.report").joinpath(name).read_text(encoding="utf-8")


def _default_title(n_members: int) -> str:
    models = f"{number(n_members)} models" if n_members > 1 else "one model"
    return f"Uncertainty of {models}"


def _head(data: ReportData, title: str) -> Markup:
    links = [
        tag("a", heading, href=f"#{ident}")
        for ident, heading in NAVIGATION.items()
        if (ident != "curves" or data.labels is not None)
        and (ident != "trust" or data.trust is not None)
        and (ident != "sets" or (data.config.n_members > 1 and data.config.n_classes > 1))
    ]
    return join([
        tag("p", "credalens report", _class="eyebrow"),
        tag("h1", user_text(title)),
        tag("p", sizes(data), _class="sizes"),
        tag("nav", *links, aria_label="Sections"),
    ])  # fmt: skip
