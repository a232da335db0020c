"""From findings to one HTML file that needs nothing else."""

from __future__ import annotations

import html
from importlib.resources import files
from string import Template
from typing import Any

from credalens.evaluation.kinds import KINDS
from credalens.report import charts, figures, library, sections
from credalens.report.data import Findings
from credalens.report.markup import Markup, cut, join, script_data, tag, user_text
from credalens.report.method import method_section
from credalens.report.story import counts, number, sizes


def render(found: Findings, seconds: float) -> str:
    """Return the page; `seconds` is what measuring took."""
    chosen = figures.listed(found)
    curves, classes = figures.curves(found), figures.by_class(found)
    pictures = figures.histograms(found)
    body = [
        sections.story(found),
        sections.map_section(found, chosen),
        None if curves is None else sections.curves_section(found, curves),
        sections.distributions(found, pictures, classes),
        sections.cards_section(found),
        sections.members_section(found),
        method_section(found, seconds),
    ]
    dense = found.n > figures.ALL_MARKS
    specs: dict[str, Any] = {"map": charts.map_chart(found, dense)}
    if curves is not None:
        specs |= {f"curve-{name}": spec for name, spec in charts.curve_charts(found, curves)}
    for i, picture in enumerate(pictures):
        specs[f"histogram-{i}"] = charts.histogram_chart(picture, found.n)
    names = [cut(found.class_names[entry["class"]]) for entry in classes]
    specs["classes"] = charts.class_chart(classes, names)
    data = {
        "n": found.n,
        "unit": found.rule.scale / figures.PARTS,
        "cell": list(figures.CELL),
        "last": [figures.PARTS // figures.CELL[0] - 1, figures.PARTS // 2 // figures.CELL[1] - 1],
        "coarse": list(charts.COARSE),
        "cells": figures.cells(found),
        "rows": figures.rows(found, chosen.places),
        "models": found.subject.n_members,
        "drawn": chosen.drawn.tolist(),
        "dense": dense,
        "kinds": [kind.name for kind in KINDS],
        "totals": counts(found),
        "classes": None if found.subject.class_names is None
        else [cut(name) for name in found.subject.class_names],
        "charts": specs,
    }  # fmt: skip
    title = cut(found.subject.title) or _title(found)
    return Template(_part("page.html")).substitute(
        title=html.escape(title),
        style=_part("page.css"),
        head=_head(found, title),
        body=join(body),
        data=script_data(data),
        library=library.bundle(),
        script=_part("page.js"),
    )


def _part(name: str) -> str:
    return files("credalens.report").joinpath(name).read_text(encoding="utf-8")


def _title(found: Findings) -> str:
    M = found.subject.n_members
    return f"What {number(M)} models know and do not know" if M > 1 else (
        "What one model knows and does not know"
    )  # fmt: skip


def _head(found: Findings, title: str) -> Markup:
    parts = [("story", "Story"), ("map", "Map"), ("curves", "Rejection"),
             ("distributions", "Distributions"), ("uncertain", "Most uncertain"),
             ("members", "Models"), ("method", "Method")]  # fmt: skip
    links = [
        tag("a", words, href=f"#{ident}")
        for ident, words in parts
        if ident != "curves" or found.labels is not None
    ]
    return join([
        tag("p", "credalens report", _class="eyebrow"),
        tag("h1", user_text(title)),
        tag("p", sizes(found), _class="sizes"),
        tag("nav", *links, aria_label="Sections"),
    ])  # fmt: skip
