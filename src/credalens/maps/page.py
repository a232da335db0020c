"""The HTML page of a run: tables, and slices of the most uncertain cases with overlays."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from credalens._files import atomic_write
from credalens._html import truncate
from credalens._validation import counted
from credalens.maps.pictures import PLANES, VIRIDIS, colour_of
from credalens.maps.settings import MapSettings
from credalens.report.markup import Markup, join, tag

#: Cases with pictures, and rows of the table of cases.
DRAWN = 6
LISTED = 200
TITLES = {
    "prediction": "Prediction",
    "total": "Total uncertainty",
    "aleatoric_upper": "Upper aleatoric uncertainty",
    "epistemic": "Epistemic uncertainty",
}
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; img-src data:">
<meta name="generator" content="credalens">
<link rel="icon" href="data:,">
"""

Record = Mapping[str, Any]


def ranked(records: Sequence[Record]) -> list[Record]:
    """Return cases by decreasing mean total uncertainty of the predicted structures."""
    return sorted(records, key=lambda one: (-_score(one), one["case"]))


def _score(record: Record) -> float:
    summary = record["summary"]
    value = summary["foreground_total_mean"]
    return float(summary["total_mean"] if value is None else value)


def write_page(
    records: Sequence[Record],
    selective: Sequence[Mapping[str, Any]],
    out: Path,
    settings: MapSettings,
    n_models: int,
) -> None:
    """Write ``index.html`` of finished cases."""
    worst = ranked(records)
    style = resources.files("credalens.maps").joinpath("page.css").read_text(encoding="utf-8")
    parts = [
        tag("header", tag("h1", "Uncertainty maps"), *_summary(worst, settings, n_models)),
        tag(
            "main",
            _worst_cases(worst, out, settings),
            _structures(worst, settings),
            _selective(selective),
            _cases(worst),
        ),
    ]
    text = f"{_HEAD}<title>Uncertainty maps</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
    with atomic_write(out / "index.html") as temporary:
        temporary.write_text(f"{text}{join(parts)}\n</body>\n</html>\n", encoding="utf-8")


def _summary(worst: Sequence[Record], settings: MapSettings, n_models: int) -> list[Markup]:
    first = worst[0]
    summary = first["summary"]
    dice = summary["dice_mean"]
    agreement = (
        "" if dice is None else f", and two models have a Dice coefficient of {dice:.2f} on average"
    )
    text = (
        f"{counted(len(worst), 'case')}, {counted(n_models, 'model')}. The most uncertain case is "
        f"{truncate(first['case'])}: the mean total uncertainty in its predicted structures is "
        f"{_score(first):.3f}{agreement}."
    )
    found = [tag("p", text, _class="summary")]
    known = [one["reference"]["accuracy"] for one in worst if "reference" in one]
    known = [value for value in known if value is not None]
    if known:
        mean = sum(known) / len(known)
        found.append(tag("p", f"The vote is right for {mean:.2%} of the voxels, mean of cases."))
    share = sum(one["summary"]["voxels_above"] for one in worst) / max(
        sum(one["summary"]["voxels"] for one in worst), 1
    )
    note = f"Total uncertainty is above {settings.threshold:g} in {share:.2%} of the voxels."
    return [*found, tag("p", note, _class="note")]


def _worst_cases(worst: Sequence[Record], out: Path, settings: MapSettings) -> Markup:
    drawn = [one for one in worst if one["views"]][:DRAWN]
    if not drawn:
        return Markup("")
    content: list[Markup] = []
    for record in drawn:
        summary = record["summary"]
        facts = f"mean total uncertainty {_score(record):.3f}"
        if summary["dice_mean"] is not None:
            facts += f", Dice coefficient of two models {summary['dice_mean']:.2f}"
        facts += f", {summary['voxels_above']} voxels above {settings.threshold:g}"
        content += [tag("h3", truncate(record["case"])), tag("p", facts, _class="note")]
        for view in record["views"]:
            content.append(_view(record, view, out))
    return tag(
        "section",
        tag("h2", "The most uncertain cases"),
        tag(
            "p",
            "Along each axis, the slice with the largest mean total uncertainty. Colours show the "
            "class with the most votes, white lines its boundaries, black lines those of the "
            "reference.",
        ),
        _legend(drawn[0], settings),
        *content,
    )


def _view(record: Record, view: Mapping[str, Any], out: Path) -> Markup:
    name = PLANES[3][view["axis"]] if view["axis"] >= 0 else PLANES[2][0]
    where = name if view["axis"] < 0 else f"{name}, slice {view['index']} of {view['of']}"
    figures = []
    ratio = f"aspect-ratio: {view['width']:.6g} / {view['height']:.6g}; object-fit: fill"
    for key, file in view["files"].items():
        data = base64.b64encode((out / record["case"] / file).read_bytes()).decode()
        image = Markup(
            f'<img src="data:image/png;base64,{data}" style="{ratio}" alt="{TITLES[key]}, {where}">'
        )
        figures.append(tag("figure", image, tag("figcaption", TITLES[key])))
    return tag("div", tag("p", f"{where} (zero-based)" if view["axis"] >= 0 else where,
                          _class="note"), tag("div", *figures, _class="views"))  # fmt: skip


def _legend(record: Record, settings: MapSettings) -> Markup:
    stops = ", ".join(f"rgb({int(r)} {int(g)} {int(b)})" for r, g, b in VIRIDIS)
    scale = tag("span", "", _class="scale", style=f"background: linear-gradient(90deg, {stops})")
    items = [tag("span", "0", scale, "1 (epistemic: 0.5)")]
    for k, row in enumerate(record["structures"]):
        if k == settings.background or k > 40:
            continue
        red, green, blue = colour_of(k, settings.background)
        swatch = tag(
            "span", "", _class="swatch", style=f"background: rgb({red:g} {green:g} {blue:g})"
        )
        items.append(tag("span", swatch, truncate(row["structure"])))
    return tag("div", *items, _class="legend")


def _structures(worst: Sequence[Record], settings: MapSettings) -> Markup:
    columns = {
        "total": "total_mean",
        "total, 95 %": "total_p95",
        "on the boundary": "boundary_total_mean",
        "epistemic": "epistemic_mean",
        "Dice of models": "dice_mean",
    }
    if "reference" in worst[0]:
        columns["Dice of the vote"] = "reference_dice"
    rows = []
    for k, first in enumerate(worst[0]["structures"]):
        found: list[Any] = [truncate(first["structure"])]
        present = [one["structures"][k] for one in worst if one["structures"][k]["voxels"]]
        found.append(str(len(present)))
        for column in columns.values():
            if column == "reference_dice":
                values = [one["reference"]["dice"][k] for one in worst if "reference" in one]
            else:
                values = [row[column] for row in present]
            known = [value for value in values if value is not None]
            found.append(sum(known) / len(known) if known else None)
        rows.append(found)
    return tag(
        "section",
        tag("h2", "Structures"),
        tag("p", "Means over the cases in which the structure is predicted."),
        _table(["structure", "cases", *columns], rows),
    )


def _selective(rows: Sequence[Mapping[str, Any]]) -> Markup:
    if not rows:
        return Markup("")
    metrics = ("n", "risk", "aurc", "augrc", "prr", "auroc")
    content = [tag("h2", "Which score finds the errors")]
    for level, text in (
        ("voxels", "Voxels: the loss is 1 where the vote differs from the reference."),
        ("structures", "Structures of cases: the loss is 1 - Dice."),
    ):
        own = [row for row in rows if row["level"] == level]
        if own:
            listed = [[row["score"], *(row[name] for name in metrics)] for row in own]
            content += [tag("p", text), _table(["score", *metrics], listed)]
    return tag("section", *content)


def _cases(worst: Sequence[Record]) -> Markup:
    columns = {
        "total": "foreground_total_mean",
        "total, 95 %": "foreground_total_p95",
        "upper aleatoric": "foreground_aleatoric_upper_mean",
        "epistemic": "foreground_epistemic_mean",
        "Dice of models": "dice_mean",
        "voxels above": "voxels_above",
    }
    rows = []
    for one in worst[:LISTED]:
        row = [truncate(one["case"]), *(one["summary"][name] for name in columns.values())]
        if "reference" in worst[0]:
            row.append(one["reference"]["accuracy"])
        rows.append(row)
    names = ["case", *columns, *(["accuracy"] if "reference" in worst[0] else [])]
    left = len(worst) - len(rows)
    note = (
        tag("p", f"{counted(left, 'further case')} in cases.csv.", _class="note") if left else None
    )
    text = "Means over the predicted structures, largest first."
    return tag("section", tag("h2", "Cases"), tag("p", text), _table(names, rows), note)


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markup:
    head = tag("tr", *(tag("th", name) for name in names))
    body = [tag("tr", *(tag("td", _cell(value)) for value in row)) for row in rows]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), _class="table")


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
