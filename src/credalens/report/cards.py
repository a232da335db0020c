"""Cards of the most uncertain instances: the prediction of each model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from credalens._backend import Array
from credalens._html import truncate
from credalens.evaluation.kinds import KINDS
from credalens.evaluation.reasons import apart
from credalens.plots.simplex import outline
from credalens.report.data import ReportData
from credalens.report.explorer import explorer_button
from credalens.report.markup import Markup, join, tag, user_text
from credalens.report.summary_text import counted, measure, span

#: Maximum number of classes with a colour, and of models with a bar.
MAX_CLASSES, MAX_BARS = 4, 12
#: Side length and margin of the triangle, in pixels.
SIDE, MARGIN = 190.0, 16.0


def card(data: ReportData, i: int, pair: list[int] | None) -> Markup:
    """Return the card of the i-th most uncertain instance; `pair`: the models farthest apart."""
    at = int(data.shown[i])
    members = data.shown_members[i].astype(np.float64)
    names = [truncate(name) for name in data.class_phrases]
    models = [truncate(name) for name in data.config.names]
    u, code = data.main, int(data.kinds[at])
    kind = KINDS[code].name
    ident = None if data.ids is None else data.ids[at]
    title = f"row {data.rows[at]}" if ident is None else user_text(truncate(ident))
    facts = ["predicted ", tag("strong", user_text(names[data.predicted[at]]))]
    if data.labels is not None and data.labels[at] == data.predicted[at]:
        facts.append(", correct")
    elif data.labels is not None:
        facts += [", wrong: the label is ", tag("strong", user_text(names[data.labels[at]]))]
    values = (
        f"total {measure(u.total[at])}, "
        f"aleatoric {span(u.aleatoric.lower[at], u.aleatoric.upper[at])}, "
        f"epistemic {measure(u.epistemic[at])}"
    )
    return tag(
        "li",
        tag("h3", tag("span", title), tag("span", data.kind_labels[code], _class=f"badge {kind}")),
        tag("p", *facts), tag("p", values, _class="values"),
        _bars(members, models, names, pair),
        None if pair is None else _pair(members, models, names, pair),
        triangle(members, names, pair) if len(names) == 3 else None,
        explorer_button(data, i),
        _class="card",
    )  # fmt: skip


def _bars(
    members: Array, models: Sequence[str], names: Sequence[str], pair: list[int] | None
) -> Markup:
    """Return one bar per model, divided into the main classes and the others."""
    classes = _main_classes(members, pair)
    legend = [
        tag("li", tag("span", _class=f"swatch c{j}", aria_hidden="true"), user_text(names[k]))
        for j, k in enumerate(classes)
    ]
    if len(classes) < members.shape[1]:
        legend.append(tag("li", tag("span", _class="swatch rest", aria_hidden="true"), "others"))
    rows = []
    for m in _models_shown(len(members), pair):
        wide = pair is not None and m in pair
        segments = [
            tag("i", _class=f"c{j}", style=f"width:{100 * members[m, k]:.2f}%")
            for j, k in enumerate(classes) if members[m, k] >= 5e-5
        ]  # fmt: skip
        label = ", ".join(f"{names[k]} {members[m, k]:.2f}" for k in classes)
        rows.append(tag(
            "li", tag("span", user_text(models[m]), _class="model"),
            tag("span", *segments, _class="bar", role="img", aria_label=label, title=label),
            tag("span", "◀" if wide else "", _class="mark"), _class="wide" if wide else None,
        ))  # fmt: skip
    left = len(members) - len(rows)
    more = tag("li", f"and {counted(left, 'more model')}", _class="more") if left else None
    return join([tag("ul", *legend, _class="legend"), tag("ul", *rows, more, _class="bars")])


def _main_classes(members: Array, pair: list[int] | None) -> list[int]:
    """Return the classes on which the pair differs most, then the most probable ones."""
    if members.shape[1] <= MAX_CLASSES:
        return list(range(members.shape[1]))
    first: list[int] = []
    if pair is not None:
        difference = members[pair[0]] - members[pair[1]]
        first = [int(np.argmax(difference)), int(np.argmin(difference))]
    likely = np.argsort(-members.mean(axis=0), kind="stable")[: MAX_CLASSES + 2].tolist()
    classes = list(dict.fromkeys([*first, *likely]))[:MAX_CLASSES]
    return sorted(classes, key=lambda k: -members[:, k].mean())


def _models_shown(n_members: int, pair: list[int] | None) -> list[int]:
    if n_members <= MAX_BARS:
        return list(range(n_members))
    pair = pair or [0, 1]
    others = [m for m in range(n_members) if m not in pair]
    return sorted([*pair, *others[: MAX_BARS - 2]])


def _pair(members: Array, models: Sequence[str], names: Sequence[str], pair: list[int]) -> Markup:
    text = apart(
        members[pair], [user_text(models[m]) for m in pair], [user_text(name) for name in names]
    )
    return tag("p", "Farthest apart: ", *text, ".", _class="pair")


def triangle(members: Array, names: Sequence[str], pair: list[int] | None) -> Markup:
    """Return the credal set in the probability simplex of three classes, as SVG."""
    height = SIDE * 3**0.5 / 2
    vertices = np.array([[0.0, height], [SIDE, height], [SIDE / 2, 0.0]])
    vertices += np.array([4.0, 1.6]) * MARGIN
    points = members @ vertices

    def path(points: Array, _class: str, close: bool = False) -> Markup:
        steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        return tag("path", d=f"M{steps}{'Z' if close else ''}", _class=_class)

    center, hull = vertices.mean(axis=0), outline(points)
    elements = [path(vertices, "edge", True)]
    elements += [
        path(np.array([center, (vertices[a] + vertices[b]) / 2]), "tie")
        for a, b in ((0, 1), (1, 2), (0, 2))
    ]
    elements.append(path(hull, "hull", len(hull) > 2))
    if pair is not None:
        elements.append(path(points[pair], "widest"))
    for m, (x, y) in enumerate(points):
        wide = pair is not None and m in pair
        elements.append(tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5 if wide else 3.5,
                            _class="dot wide" if wide else "dot"))  # fmt: skip
    for (x, y), name, dy in zip(vertices, names, (18, 18, -8), strict=True):
        short = name if len(name) <= 14 else name[:13] + "…"
        elements.append(tag("text", short, x=f"{x:.1f}", y=f"{y + dy:.1f}", text_anchor="middle"))
    box = f"0 0 {SIDE + 8 * MARGIN:.0f} {height + 3.6 * MARGIN:.0f}"
    return tag("svg", *elements, viewBox=box, _class="simplex", role="img",
               aria_label="The models in the probability simplex")  # fmt: skip
