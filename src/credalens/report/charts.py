"""The charts as Vega-Lite specifications.

Colours are CSS variables, so that a change of theme, or printing, needs no new drawing. What is
said of the data in words stands beside each chart; the drawings themselves are hidden from screen
readers.
"""

from __future__ import annotations

from typing import Any

from credalens.evaluation.kinds import KINDS
from credalens.measures.quantify import COMPONENTS
from credalens.report.data import Findings
from credalens.report.figures import Curves

Spec = dict[str, Any]

#: Cells of the drawn density are this many cells of the counts wide and high.
COARSE = (1, 2)
#: Family of measures to its words, its CSS colour and the dashes of its line.
FAMILIES = {
    "tv": ("Total variation", "var(--blue)", [1, 0]),
    "entropy": ("Entropy", "var(--vermilion)", [7, 3]),
    "hartley": ("Hartley", "var(--green)", [2, 3]),
}
ORACLE, RANDOM = ("Oracle", "var(--quiet)", [1, 4]), ("Random", "var(--quiet)", [8, 6])
SHAPES = ("circle", "square", "triangle-up", "diamond")
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


def family_words(found: Findings, family: str) -> str:
    """Return what a family is called; "tv" stands for the distance that was chosen."""
    distance = found.subject.distance
    if family == "tv" and distance != "tv":
        return str(distance if isinstance(distance, str) else type(distance).__name__).capitalize()
    return str(FAMILIES[family][0])


def map_chart(found: Findings, dense: bool) -> Spec:
    """Return the map; the page fills in its data, ``marks`` and ``cells``."""
    rule, main = found.rule, found.main
    right = _axis_end(float(main.aleatoric.midpoint.max()), rule.aleatoric, rule.scale)
    top = _axis_end(float(main.epistemic.max()), rule.epistemic, rule.scale / 2)
    few = {"axis": {"tickCount": 8}}
    x = {"scale": {"domain": [0, right], "nice": False}, "type": "quantitative", **few}
    y = {"scale": {"domain": [0, top], "nice": False}, "type": "quantitative", **few}
    titled_x = {**x, "title": "aleatoric uncertainty (midpoint)"}
    titled_y = {**y, "title": "epistemic uncertainty"}
    marks: Spec = {
        "data": {"name": "marks"},
        "params": [{
            "name": "brush", "select": {"type": "interval", "mark": {
                "fill": "var(--ink)", "fillOpacity": 0.08, "stroke": "var(--ink)",
                "strokeOpacity": 0.9, "strokeDash": [5, 3],
            }},
        }],
        "mark": {"type": "point", "filled": True, "size": 46 if found.n > 300 else 90},
        "encoding": {
            "x": {"field": "x", **titled_x}, "y": {"field": "y", **titled_y},
            "color": _by_kind("range", KIND_COLOURS),
            "shape": _by_kind("range", list(SHAPES)),
            "opacity": {"value": 0.6 if dense else 0.8},
            "tooltip": [
                {"field": name, "title": title} for name, title in _tooltip(found).items()
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
            "tooltip": [{"field": "n", "title": "predictions here", "format": ","}],
        },
    }  # fmt: skip
    return _chart(
        460, layer=[*([density] if dense else []), marks, *_crosshair(found, x, y, right, top)]
    )


def _axis_end(largest: float, threshold: float, scale: float) -> float:
    """Return where an axis ends: beyond every value, with room for both sides of the threshold."""
    step = scale / 20
    return min(scale, step * (1 + int(max(largest, 1.6 * threshold) / step)))


def _by_kind(channel: str, values: list[Any]) -> Spec:
    return {"field": "q", "type": "nominal", "legend": None,
            "scale": {"domain": list(range(len(KINDS))), channel: values}}  # fmt: skip


def _tooltip(found: Findings) -> dict[str, str]:
    words = {"id": "row" if found.ids is None else "id", "p": "prediction"}
    if found.labels is not None:
        words["truth"] = "label"
    return words | {"au": "aleatoric", "eu": "epistemic", "tu": "total"}


def _crosshair(found: Findings, x: Spec, y: Spec, right: float, top: float) -> list[Spec]:
    """Return the two thresholds and the names of the kinds."""
    rule = found.rule
    line = {"type": "rule", "strokeWidth": 1.5, "strokeDash": [6, 4], "tooltip": None}
    names: list[Spec] = []
    for code, kind in enumerate(KINDS):
        far_right, high = code & 1, code & 2
        at = {
            "x": right if far_right else 0,
            "y": top if high else rule.epistemic,
        }
        names.append(
            {
                "data": {"values": [{**at, "name": kind.name}]},
                "mark": {
                    "type": "text",
                    "align": "right" if far_right else "left",
                    "baseline": "top",
                    "dx": -8 if far_right else 8,
                    "dy": 8,
                    "fontSize": 17,
                    "fontWeight": 600,
                    "stroke": "var(--page)",
                    "strokeWidth": 4,
                    "strokeJoin": "round",
                    "tooltip": None,
                },
                "encoding": {
                    "x": {"field": "x", **x},
                    "y": {"field": "y", **y},
                    "text": {"field": "name"},
                },
            }
        )
        # The halo is a text of its own: outlines lie over what they outline.
        names.append(
            {
                **names[-1],
                "mark": {
                    key: value
                    for key, value in names[-1]["mark"].items()
                    if not key.startswith("stroke")
                },
            }
        )
    return [
        {"data": {"values": [{"x": rule.aleatoric}]}, "mark": line,
         "encoding": {"x": {"field": "x", **x}}},
        {"data": {"values": [{"y": rule.epistemic}]}, "mark": line,
         "encoding": {"y": {"field": "y", **y}}},
        *names,
    ]  # fmt: skip


def curve_charts(found: Findings, curves: Curves) -> list[tuple[str, Spec]]:
    """Return a chart of rejection curves for each of total, aleatoric and epistemic uncertainty."""
    charts = []
    for component in COMPONENTS:
        lines = [
            (family_words(found, family), FAMILIES[family][1:], curve)
            for (part, family), curve in curves.scores.items()
            if part == component
        ]
        lines += [(ORACLE[0], ORACLE[1:], curves.oracle), (RANDOM[0], RANDOM[1:], curves.random)]
        values = [
            {"rejected": float(x), "accuracy": round(float(a), 6), "score": name}
            for name, _, curve in lines
            for x, a in zip(curve.rejection, curve.accuracy, strict=True)
        ]  # fmt: skip
        low = min(float(curve.accuracy.min()) for _, _, curve in lines)
        charts.append((component, _curves(values, lines, low)))
    return charts


def _curves(values: list[Spec], lines: list[Any], low: float) -> Spec:
    names = [name for name, _, _ in lines]
    x = {"field": "rejected", "type": "quantitative", "title": "share rejected",
         "scale": {"domain": [0, 1], "nice": False},
         "axis": {"format": "%", "tickCount": 5}}  # fmt: skip
    y = {"field": "accuracy", "type": "quantitative", "title": "accuracy of the rest",
         "scale": {"domain": [max(0, low - 0.08 * (1.001 - low)), 1], "nice": True},
         "axis": {"format": "~%", "tickCount": 5}}  # fmt: skip
    colour = {"field": "score", "type": "nominal", "legend": None,
              "scale": {"domain": names, "range": [style[0] for _, style, _ in lines]}}  # fmt: skip
    dash = {"field": "score", "type": "nominal", "legend": None,
            "scale": {"domain": names, "range": [style[1] for _, style, _ in lines]}}  # fmt: skip
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


def histogram_chart(picture: Spec, n: int) -> Spec:
    """Return a histogram with its median marked."""
    bins = [{**one, "share": one["n"] / n} for one in picture["bins"]]
    x = {"type": "quantitative", "scale": {"domain": [0, picture["end"]], "nice": False},
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
            {"data": {"values": [{"x": picture["median"]}]},
             "mark": {"type": "rule", "color": "var(--vermilion)", "strokeWidth": 3,
                      "tooltip": None},
             "encoding": {"x": {"field": "x", **x}}},
        ],
    )  # fmt: skip


def class_chart(classes: list[Spec], names: list[str]) -> Spec:
    """Return the share of each kind among the predictions of each class."""
    values = [
        {"k": str(entry["class"]), "q": code, "kind": kind.name,
         "n": entry["counts"][code], "share": entry["counts"][code] / entry["n"],
         "name": names[i], "of": entry["n"],
         **dict(zip(("tu", "au", "eu"), entry["medians"], strict=True))}
        for i, entry in enumerate(classes)
        for code, kind in enumerate(KINDS) if entry["counts"][code]
    ]  # fmt: skip
    # By index, so that classes of the same name stay apart.
    shown = {str(entry["class"]): names[i] for i, entry in enumerate(classes)}
    median = {"type": "quantitative", "format": ".3f"}
    return _chart(
        62 + 26 * len(classes),
        data={"values": values},
        params=[{"name": "names", "value": shown}],
        mark={"type": "bar", "stroke": "var(--page)", "strokeWidth": 1},
        encoding={
            "y": {"field": "k", "type": "nominal", "title": None,
                  "sort": [str(entry["class"]) for entry in classes],
                  "axis": {"labelExpr": "names[datum.value]", "labelLimit": 170, "ticks": False,
                           "domain": False}},
            "x": {"field": "share", "type": "quantitative", "title": "share of its predictions",
                  "scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 5}},
            "color": _by_kind("range", KIND_COLOURS),
            "order": {"field": "q", "type": "ordinal", "sort": "descending"},
            "tooltip": [
                {"field": "name", "title": "predicted"}, {"field": "kind"},
                {"field": "n", "title": "predictions", "format": ","},
                {"field": "of", "title": "of", "format": ","},
                {"field": "tu", "title": "median total", **median},
                {"field": "au", "title": "median aleatoric", **median},
                {"field": "eu", "title": "median epistemic", **median},
            ],
        },
    )  # fmt: skip
