"""Renders the explorer: its scripts, its style and rows of predictions in one HTML page."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from string import Template

import numpy as np

from credalens._backend import Array
from credalens._html import content_hash, script_data, truncate
from credalens.evaluation.kinds import KINDS, REVIEW_THRESHOLD

#: Scripts of the page, each after those that it uses.
SCRIPTS = (
    "matrix_game", "entropy", "hartley", "measures", "credal_sets", "state", "triangle", "handles",
    "bars", "words", "app",
)  # fmt: skip
#: Heading of a page without a title.
TITLE = "Explore a credal set"


@dataclass(frozen=True, eq=False)
class Row:
    """The predictions of M models for one instance."""

    id: str
    #: Probabilities, ``(M, K)``.
    members: Array
    #: Name of the true class, if it is known.
    label: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return the row as it is stored in the page, with the digits that its dtype has."""
        digits = 7 if self.members.dtype.itemsize <= 4 else 12
        rows = self.members.astype(np.float64).tolist()
        members = [[float(f"{value:.{digits}g}") for value in row] for row in rows]
        label = None if self.label is None else truncate(self.label)
        return {"id": truncate(self.id), "label": label, "members": members}


def render(
    rows: Iterable[Row] = (),
    class_names: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    title: str = "",
) -> str:
    """Return the page; without rows it starts with an example."""
    data = {
        "rows": [row.to_json() for row in rows],
        "classes": None if class_names is None else [truncate(name) for name in class_names],
        "models": None if names is None else [truncate(name) for name in names],
        "kinds": [asdict(kind) for kind in KINDS],
        "threshold": REVIEW_THRESHOLD,
    }
    script = explorer_script()
    style = _resource("page.css")
    return Template(_resource("page.html")).substitute(
        title=html.escape(truncate(title) or TITLE),
        style=style,
        style_hash=content_hash(style),
        data=script_data(data),
        script=script,
        script_hash=content_hash(script),
    )


def explorer_script() -> str:
    """Return the script of the page."""
    return "\n".join(_resource(f"{name}.js") for name in SCRIPTS)


def _resource(name: str) -> str:
    return files("credalens.explore").joinpath(name).read_text(encoding="utf-8")
