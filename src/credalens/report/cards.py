"""One uncertain instance: what each member says of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from credalens._arrays import Array
from credalens.evaluation.kinds import KINDS
from credalens.evaluation.reasons import apart
from credalens.report.data import Findings
from credalens.report.markup import Markup, cut, join, tag, user_text
from credalens.report.story import counted, measure, span

#: Classes that get a colour of their own, and members that get a bar.
MOST_CLASSES, MOST_BARS = 4, 12
#: Side of the triangle, and the room that is left around it.
SIDE, MARGIN = 190.0, 16.0


def card(found: Findings, i: int, pair: list[int] | None) -> Markup:
    """Return the card of the instance in place `i` of those shown."""
    at = int(found.shown[i])
    members = found.shown_members[i].astype(np.float64)
    names = found.class_words
    main, code = found.main, int(found.kinds[at])
    ident = None if found.ids is None else found.ids[at]
    called = f"row {found.rows[at]}" if ident is None else user_text(cut(ident))
    facts = ["predicted ", tag("strong", user_text(cut(names[int(found.predicted[at])])))]
    if found.labels is not None:
        right = found.labels[at] == found.predicted[at]
        facts += [", " + ("right" if right else "wrong: it is ")]
        facts += [] if right else [tag("strong", user_text(cut(names[int(found.labels[at])])))]
    ends = main.aleatoric
    values = (
        f"total {measure(main.total[at])}, aleatoric {span(ends.lower[at], ends.upper[at])}, "
        f"epistemic {measure(main.epistemic[at])}"
    )
    return tag(
        "li",
        tag("h3", tag("span", called),
            tag("span", KINDS[code].name, _class=f"badge {KINDS[code].name}")),
        tag("p", *facts), tag("p", values, _class="values"),
        _bars(members, found.subject.names, names, pair),
        _pair_in_words(members, found.subject.names, names, pair),
        triangle(members, [cut(name) for name in names], pair) if len(names) == 3 else None,
        _class="card",
    )  # fmt: skip


def _bars(
    members: Array, models: Sequence[str], names: Sequence[str], pair: list[int] | None
) -> Markup:
    """Return a bar a member, of the classes that matter and the rest."""
    classes = _classes(members, pair)
    legend = [
        tag("li", tag("span", _class=f"swatch c{j}", aria_hidden="true"), user_text(cut(names[k])))
        for j, k in enumerate(classes)
    ]
    if len(classes) < members.shape[1]:
        legend.append(tag("li", tag("span", _class="swatch rest", aria_hidden="true"), "others"))
    rows = []
    for m in _bars_shown(len(members), pair):
        wide = pair is not None and m in pair
        pieces = [
            tag("i", _class=f"c{j}", style=f"width:{100 * members[m, k]:.2f}%")
            for j, k in enumerate(classes) if members[m, k] >= 5e-5
        ]  # fmt: skip
        said = ", ".join(f"{cut(names[k])} {members[m, k]:.2f}" for k in classes)
        label = user_text(cut(models[m]))
        rows.append(tag(
            "li", tag("span", label, _class="model"),
            tag("span", *pieces, _class="bar", role="img", aria_label=said, title=said),
            tag("span", "◀" if wide else "", _class="mark"), _class="wide" if wide else None,
        ))  # fmt: skip
    left = len(members) - len(rows)
    more = tag("li", f"and {counted(left, 'more model')}", _class="more") if left else None
    return join([tag("ul", *legend, _class="legend"), tag("ul", *rows, more, _class="bars")])


def _classes(members: Array, pair: list[int] | None) -> list[int]:
    """Return the classes to show: those the widest pair differs on most, then the likeliest."""
    if members.shape[1] <= MOST_CLASSES:
        return list(range(members.shape[1]))
    first: list[int] = []
    if pair is not None:
        difference = members[pair[0]] - members[pair[1]]
        first = [int(np.argmax(difference)), int(np.argmin(difference))]
    likely = np.argsort(-members.mean(axis=0), kind="stable")[: MOST_CLASSES + 2].tolist()
    chosen = list(dict.fromkeys([*first, *likely]))[:MOST_CLASSES]
    return sorted(chosen, key=lambda k: -members[:, k].mean())


def _bars_shown(n_members: int, pair: list[int] | None) -> list[int]:
    if n_members <= MOST_BARS:
        return list(range(n_members))
    pair = pair or [0, 1]
    others = [m for m in range(n_members) if m not in pair]
    return sorted([*pair, *others[: MOST_BARS - 2]])


def _pair_in_words(
    members: Array, models: Sequence[str], names: Sequence[str], pair: list[int] | None
) -> Markup | None:
    if pair is None:
        return None
    said = apart(members[pair], [user_text(cut(models[m])) for m in pair],
                 [user_text(cut(name)) for name in names])  # fmt: skip
    return tag("p", "Farthest apart: ", *said, ".", _class="pair")


def triangle(members: Array, names: Sequence[str], pair: list[int] | None) -> Markup:
    """Return the credal set in the triangle of all distributions over three classes."""
    height = SIDE * 3**0.5 / 2
    corners = np.array([[0.0, height], [SIDE, height], [SIDE / 2, 0.0]])
    corners += np.array([4.0, 1.6]) * MARGIN
    points = members @ corners
    around = outline(points)

    def path(points: Array, close: bool) -> str:
        steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        return f"M{steps}{'Z' if close else ''}"

    drawn = [tag("path", d=path(corners, True), _class="edge")]
    middle = corners.mean(axis=0)
    drawn += [
        tag("path", d=path(np.array([middle, (corners[a] + corners[b]) / 2]), False),
            _class="tie")
        for a, b in ((0, 1), (1, 2), (0, 2))
    ]  # fmt: skip
    drawn.append(tag("path", d=path(around, len(around) > 2), _class="hull"))
    if pair is not None:
        drawn.append(tag("path", d=path(points[pair], False), _class="widest"))
    for m, (x, y) in enumerate(points):
        wide = pair is not None and m in pair
        drawn.append(tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5 if wide else 3.5,
                         _class="dot wide" if wide else "dot"))  # fmt: skip
    places = ((0, 18, "middle"), (0, 18, "middle"), (0, -8, "middle"))
    for (x, y), name, (dx, dy, anchor) in zip(corners, names, places, strict=True):
        short = name if len(name) <= 14 else name[:13] + "…"
        drawn.append(tag("text", short, x=f"{x + dx:.1f}", y=f"{y + dy:.1f}", text_anchor=anchor))
    width, tall = SIDE + 8 * MARGIN, height + 3.6 * MARGIN
    return tag("svg", *drawn, viewBox=f"0 0 {width:.0f} {tall:.0f}", _class="simplex", role="img",
               aria_label="The models in the triangle of all distributions")  # fmt: skip


def outline(points: Array) -> Array:
    """Return the corners of the convex hull of points of the plane, in order round it.

    Examples
    --------
    >>> outline(np.array([[0.0, 0], [2, 0], [1, 0.5], [0, 2]])).tolist()
    [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]
    """
    distinct = sorted({(float(x), float(y)) for x, y in points})
    if len(distinct) < 3:
        return np.array(distinct)
    chains = []
    for ordered in (distinct, distinct[::-1]):
        chain: list[tuple[float, float]] = []
        for x, y in ordered:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) > (by - ay) * (x - ax):
                    break
                chain.pop()
            chain.append((x, y))
        chains += chain[:-1]
    return np.array(chains)
