"""The charts as Vega-Lite specifications.

Colours are CSS variables, so that themes and printing need no second drawing. The charts are hidden
from screen readers; the text beside them describes the data.
"""

from __future__ import annotations

import math
from typing import Any

from credalens.evaluation.kinds import KINDS
from credalens.measures.quantify import COMPONENTS
from credalens.report.data import ReportData
from credalens.report.label_sets import RULE_LABELS, LabelSets
from credalens.report.ranking import Ranking, family_label
from credalens.validity.reliability_diagram import ReliabilityDiagram

Spec = dict[str, Any]

#: Width and height of a cell of the drawn density, in cells of the counts.
COARSE = (1, 2)
#: CSS colour and dashes of each family; the baselines are the last two.
FAMILY_STYLES = {
    "tv": ("var(--blue)", [1, 0]),
    "entropy": ("var(--vermilion)", [7, 3]),
    "hartley": ("var(--green)", [2, 3]),
    "confidence": ("var(--both)", [10, 3, 2, 3]),
    "information": ("var(--ambiguous)", [4, 3]),
}
ORACLE, RANDOM = ("var(--quiet)", [1, 4]), ("var(--quiet)", [8, 6])
SHAPES = ["circle", "square", "triangle-up", "diamond"]
KIND_COLOURS = [f"var(--{kind.name})" for kind in KINDS]

CONFIG: Spec = {
    "aria": False,
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "axis": {
        "labelColor": "var(--ink)", "titleColor": "var(--ink)", "gridColor": "var(--line)",
        "domainColor": "var(--quiet)", "tickColor": "var(--quiet)", "labelFontSize": 14,
        "titleFontSize": 15, "titleFontWeight": 500, "titlePadding": 10, "labelPadding": 4,
    },
    "view": {"stroke": None},
    "text": {"color": "var(--ink)", "fontSize": 14},
    "rule": {"color": "var(--ink)"},
}  # fmt: skip


def _chart(height: int, **rest: Any) -> Spec:
    return {
        "config": CONFIG, "width": "container", "height": height,
        "autosize": {"type": "fit", "contains": "padding"}, **rest,
    }  # fmt: skip


def map_chart(data: ReportData, dense: bool) -> Spec:
    """Return the map; the script of the page fills in its data, ``marks`` and ``cells``."""
    rule, main = data.rule, data.main
    right = _axis_end(float(main.aleatoric.lower.max()), rule.aleatoric, rule.scale)
    top = _axis_end(float(main.epistemic.max()), rule.epistemic, rule.scale / 2)
    x, y = (
        {"type": "quantitative", "scale": {"domain": [0, end], "nice": False},
         "axis": {"tickCount": 8}}
        for end in (right, top)
    )  # fmt: skip
    titled_x = {**x, "title": "aleatoric uncertainty, lower end"}
    titled_y = {**y, "title": "epistemic uncertainty"}
    marks: Spec = {
        "data": {"name": "marks"},
        "params": [{
            "name": "brush", "select": {"type": "interval", "mark": {
                "fill": "var(--ink)", "fillOpacity": 0.08, "stroke": "var(--ink)",
                "strokeOpacity": 0.9, "strokeDash": [5, 3],
            }},
        }],
        "mark": {"type": "point", "filled": True, "size": 46 if data.n > 300 else 90},
        "encoding": {
            "x": {"field": "x", **titled_x}, "y": {"field": "y", **titled_y},
            "color": _by_kind(KIND_COLOURS),
            "shape": _by_kind(SHAPES),
            "opacity": {"value": 0.6 if dense else 0.8},
            "tooltip": [
                {"field": "id", "title": "row" if data.ids is None else "id"},
                {"field": "p", "title": "prediction"},
                *([] if data.labels is None else [{"field": "truth", "title": "label"}]),
                {"field": "au", "title": "aleatoric"}, {"field": "eu", "title": "epistemic"},
                {"field": "tu", "title": "total"},
            ],
        },
    }  # fmt: skip
    density: Spec = {
        "data": {"name": "cells"},
        "mark": {"type": "rect", "fill": "var(--density)", "stroke": None, "clip": True},
        "encoding": {
            "x": {"field": "x0", **titled_x}, "x2": {"field": "x1"},
            "y": {"field": "y0", **titled_y}, "y2": {"field": "y1"},
            "opacity": {"field": "n", "type": "quantitative", "legend": None,
                        "scale": {"type": "log", "range": [0.16, 1]}},
            "tooltip": [{"field": "n", "title": "predictions in the cell", "format": ","}],
        },
    }  # fmt: skip
    layers = [*([density] if dense else []), marks, *_thresholds(data, x, y)]
    return _chart(460, layer=[*layers, *_kind_names(data, x, y, right, top)])


def _axis_end(largest: float, threshold: float, scale: float) -> float:
    """Return the end of an axis, above all values and with room above the threshold."""
    step = scale / 20
    return min(scale, step * (1 + int(max(largest, 1.6 * threshold) / step)))


def _by_kind(values: list[Any]) -> Spec:
    return {"field": "q", "type": "nominal", "legend": None,
            "scale": {"domain": list(range(len(KINDS))), "range": values}}  # fmt: skip


def _thresholds(data: ReportData, x: Spec, y: Spec) -> list[Spec]:
    line = {"type": "rule", "strokeWidth": 1.5, "strokeDash": [6, 4], "tooltip": None}
    return [
        {"data": {"values": [{axis: value}]}, "mark": line,
         "encoding": {axis: {"field": axis, **channel}}}
        for axis, value, channel in (("x", data.rule.aleatoric, x), ("y", data.rule.epistemic, y))
    ]  # fmt: skip


def _kind_names(data: ReportData, x: Spec, y: Spec, right: float, top: float) -> list[Spec]:
    """Return the names of the kinds in the four quadrants, each with an outline behind it."""
    outline = {"stroke": "var(--page)", "strokeWidth": 4, "strokeJoin": "round"}
    encoding = {"x": {"field": "x", **x}, "y": {"field": "y", **y}, "text": {"field": "name"}}
    layers = []
    for kind, label in zip(KINDS, data.kind_labels, strict=True):
        text = {
            "type": "text", "baseline": "top", "dy": 8, "fontSize": 17, "fontWeight": 600,
            "tooltip": None, "align": "right" if kind.ambiguous else "left",
            "dx": -8 if kind.ambiguous else 8,
        }  # fmt: skip
        at = {"x": right if kind.ambiguous else 0,
              "y": top if kind.unknown else data.rule.epistemic}  # fmt: skip
        values = {"values": [{**at, "name": label}]}
        # SVG draws a stroke above the fill, so that the outline is a separate text.
        layers += [
            {"data": values, "mark": mark, "encoding": encoding} for mark in (text | outline, text)
        ]
    return layers


def curve_charts(data: ReportData, ranking: Ranking) -> dict[str, Spec]:
    """Return a chart of rejection curves for each of total, aleatoric and epistemic uncertainty."""
    charts = {}
    for component in COMPONENTS:
        lines = [
            (family_label(data, family, component), FAMILY_STYLES[family], curve)
            for (part, family), curve in ranking.scores.items()
            if part == component
        ]
        lines += [("Oracle", ORACLE, ranking.oracle), ("Random", RANDOM, ranking.random)]
        charts[component] = _curve_chart(lines)
    return charts


def _curve_chart(lines: list[Any]) -> Spec:
    values = [
        {"rejected": float(x), "accuracy": round(float(a), 6), "score": name}
        for name, _, curve in lines
        for x, a in zip(curve.rejection, curve.accuracy, strict=True)
    ]
    low = min(float(curve.accuracy.min()) for _, _, curve in lines)
    names = [name for name, _, _ in lines]
    x = {"field": "rejected", "type": "quantitative", "title": "rejection rate",
         "scale": {"domain": [0, 1], "nice": False},
         "axis": {"format": "%", "tickCount": 5}}  # fmt: skip
    y = {"field": "accuracy", "type": "quantitative", "title": "accuracy after rejection",
         "scale": {"domain": [max(0, low - 0.08 * (1.001 - low)), 1], "nice": True},
         "axis": {"format": "~%", "tickCount": 5}}  # fmt: skip
    colour, dash = (
        {"field": "score", "type": "nominal", "legend": None,
         "scale": {"domain": names, "range": [style[i] for _, style, _ in lines]}}
        for i in (0, 1)
    )  # fmt: skip
    return _chart(
        280,
        data={"values": values},
        encoding={"x": x},
        layer=[
            {"mark": {"type": "line", "strokeWidth": 2.5},
             "encoding": {"y": y, "color": colour, "strokeDash": dash}},
            {"transform": [{"filter": {"param": "at", "empty": False}}],
             "mark": {"type": "point", "filled": True, "size": 60},
             "encoding": {"y": y, "color": colour}},
            {"transform": [{"pivot": "score", "value": "accuracy", "groupby": ["rejected"]}],
             "mark": {"type": "rule", "strokeWidth": 1},
             "encoding": {
                 "opacity": {"condition": {"value": 0.5, "param": "at", "empty": False},
                             "value": 0},
                 "tooltip": [{**x, "format": ".0%", "axis": None}, *(
                     {"field": name, "type": "quantitative", "format": ".2%"} for name in names)],
             },
             "params": [{"name": "at", "select": {
                 "type": "point", "fields": ["rejected"], "nearest": True,
                 "on": "pointerover", "clear": "pointerout"}}]},
        ],
    )  # fmt: skip


def reliability_chart(found: ReliabilityDiagram) -> Spec:
    """Return the accuracy of the top label of the mean, with intervals, against the band."""
    names = ("start", "stop", "center", "band_lower", "band_upper", "observed", "lower", "upper")
    values = [
        {"n": int(count), **{name: round(float(getattr(found, name)[i]), 6) for name in names}}
        for i, count in enumerate(found.n)
    ]  # fmt: skip
    least = min(found.start[0], found.lower.min(), found.band_lower.min())
    start = math.floor(10 * round(float(least), 6)) / 10
    axis = {"type": "quantitative", "scale": {"domain": [start, 1], "nice": False},
            "axis": {"format": "%", "tickCount": 5}}  # fmt: skip
    x, y = {**axis, "title": "probability of the top label"}, {**axis, "title": "accuracy"}
    shares = {"probability": "center", "lower end of the band": "band_lower",
              "upper end of the band": "band_upper", "accuracy": "observed",
              "lower end of the interval": "lower",
              "upper end of the interval": "upper"}  # fmt: skip
    tooltip = [
        *({"field": field, "title": title, "format": ".1%"} for title, field in shares.items()),
        {"field": "n", "title": "predictions", "format": ","},
    ]
    return _chart(
        360,
        data={"values": values},
        layer=[
            {"data": {"values": [{"x": start}, {"x": 1}]},
             "mark": {"type": "line", "color": "var(--quiet)", "strokeDash": [6, 4],
                      "strokeWidth": 1.5, "tooltip": None},
             "encoding": {"x": {"field": "x", **x}, "y": {"field": "x", **y}}},
            {"mark": {"type": "rect", "fill": "var(--blue)", "fillOpacity": 0.22,
                      "stroke": "var(--blue)", "strokeWidth": 1.5},
             "encoding": {"x": {"field": "start", **x}, "x2": {"field": "stop"},
                          "y": {"field": "band_lower", **y}, "y2": {"field": "band_upper"},
                          "tooltip": tooltip}},
            {"mark": {"type": "rule", "color": "var(--vermilion)", "strokeWidth": 2.5},
             "encoding": {"x": {"field": "center", **x}, "y": {"field": "lower", **y},
                          "y2": {"field": "upper"}, "tooltip": tooltip}},
            {"mark": {"type": "point", "filled": True, "size": 80, "color": "var(--vermilion)",
                      "opacity": 1},
             "encoding": {"x": {"field": "center", **x}, "y": {"field": "observed", **y},
                          "tooltip": tooltip}},
        ],
    )  # fmt: skip


def set_chart(found: LabelSets) -> Spec:
    """Return the share of sets that contain the label against their mean size, by rule."""
    values = [
        {"rule": RULE_LABELS[rule], "size": one.mean_size, "covered": one.coverage,
         "low": one.intervals["coverage"][0], "high": one.intervals["coverage"][1]}
        for rule, one in found.metrics.items()
    ]  # fmt: skip
    names = [value["rule"] for value in values]
    x = {"field": "size", "type": "quantitative", "title": "mean number of labels",
         "scale": {"zero": False, "padding": 24}}  # fmt: skip
    y = {"type": "quantitative", "title": "share that contains the label",
         "scale": {"zero": False}, "axis": {"format": "~%"}}  # fmt: skip
    colour = {"field": "rule", "type": "nominal", "legend": None,
              "scale": {"domain": names, "range": ["var(--blue)", "var(--vermilion)",
                                                   "var(--green)"]}}  # fmt: skip
    return _chart(
        240,
        data={"values": values},
        encoding={"x": x, "color": colour},
        layer=[
            {"mark": {"type": "rule", "strokeWidth": 2},
             "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 90},
             "encoding": {"y": {"field": "covered", **y}, "tooltip": [
                 {"field": "rule"}, {"field": "size", "format": ".3f"},
                 {"field": "covered", "format": ".2%"}]}},
            {"mark": {"type": "text", "align": "left", "dx": 10},
             "encoding": {"y": {"field": "covered", **y}, "text": {"field": "rule"}}},
        ],
    )  # fmt: skip


def histogram_chart(histogram: Spec, n: int) -> Spec:
    """Return a histogram with a line at its median."""
    bins = [{**one, "share": one["n"] / n} for one in histogram["bins"]]
    x = {"type": "quantitative", "scale": {"domain": [0, histogram["end"]], "nice": False},
         "title": None, "axis": {"grid": False, "tickCount": 5}}  # fmt: skip
    return _chart(
        190,
        layer=[
            {"data": {"values": bins},
             "mark": {"type": "rect", "fill": "var(--blue)", "stroke": "var(--page)",
                      "strokeWidth": 0.5},
             "encoding": {
                 "x": {"field": "from", **x}, "x2": {"field": "to"},
                 "y": {"field": "share", "type": "quantitative", "title": "share",
                       "axis": {"format": "%", "tickCount": 4}},
                 "y2": {"datum": 0},
                 "tooltip": [{"field": "from", "format": ".3f"}, {"field": "to", "format": ".3f"},
                             {"field": "n", "title": "predictions", "format": ","}]}},
            {"data": {"values": [{"x": histogram["median"]}]},
             "mark": {"type": "rule", "color": "var(--vermilion)", "strokeWidth": 3,
                      "tooltip": None},
             "encoding": {"x": {"field": "x", **x}}},
        ],
    )  # fmt: skip


def class_chart(data: ReportData, classes: list[Spec], names: list[str]) -> Spec:
    """Return the share of each kind among the predictions of each class."""
    values = [
        {"k": str(entry["class"]), "q": code, "kind": label,
         "n": entry["counts"][code], "share": entry["counts"][code] / entry["n"],
         "name": name, "of": entry["n"],
         **dict(zip(("tu", "au", "eu"), entry["medians"], strict=True))}
        for entry, name in zip(classes, names, strict=True)
        for code, label in enumerate(data.kind_labels) if entry["counts"][code]
    ]  # fmt: skip
    keys = [str(entry["class"]) for entry in classes]  # two classes may have the same name
    median = {"type": "quantitative", "format": ".3f"}
    return _chart(
        62 + 26 * len(classes),
        data={"values": values},
        params=[{"name": "names", "value": dict(zip(keys, names, strict=True))}],
        mark={"type": "bar", "stroke": "var(--page)", "strokeWidth": 1},
        encoding={
            "y": {"field": "k", "type": "nominal", "title": None, "sort": keys,
                  "axis": {"labelExpr": "names[datum.value]", "labelLimit": 170, "ticks": False,
                           "domain": False}},
            "x": {"field": "share", "type": "quantitative", "title": "share of its predictions",
                  "scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 5}},
            "color": _by_kind(KIND_COLOURS),
            "order": {"field": "q", "type": "ordinal", "sort": "descending"},
            "tooltip": [
                {"field": "name", "title": "predicted"}, {"field": "kind"},
                {"field": "n", "title": "predictions", "format": ","},
                {"field": "of", "title": "of", "format": ","},
                {"field": "tu", "title": "median total", **median},
                {"field": "au", "title": "median lower aleatoric", **median},
                {"field": "eu", "title": "median epistemic", **median},
            ],
        },
    )  # fmt: skip
