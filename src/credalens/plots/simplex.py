"""Credal sets over three classes, drawn in the triangle of all distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.plots.style import COLOURS, QUIET, new_axes
from credalens.sets import as_credal_set

#: Corners of the drawn triangle: classes 0 (left), 1 (right) and 2 (top).
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def to_plane(p: Array) -> Array:
    """Return the points of the plane that stand for distributions ``(..., 3)``."""
    return np.asarray(np.asarray(p, np.float64) @ CORNERS)


def outline(points: Array) -> Array:
    """Return the corners of the convex hull of points of the plane, in order round it."""
    distinct = sorted({(float(x), float(y)) for x, y in points})
    if len(distinct) < 3:
        return np.array(distinct)

    def half(chain: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        turn: list[tuple[float, float]] = []
        for x, y in chain:
            while len(turn) > 1:
                (ax, ay), (bx, by) = turn[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 1e-15:
                    break
                turn.pop()
            turn.append((x, y))
        return turn[:-1]

    return np.array(half(distinct) + half(distinct[::-1]))


def simplex(
    Q: Any,
    *,
    class_names: Sequence[str] = ("0", "1", "2"),
    labels: Sequence[str] | None = None,
    scale: bool = False,
    ax: Any = None,
) -> Any:
    """Draw credal sets over three classes.

    Parameters
    ----------
    Q : credal set, or array-like of shape (M, 3) or (n, M, 3)
        A single set or a short batch.
    class_names : three strings
        Names at the corners.
    labels : sequence of str, optional
        A name for each set, for the legend.
    scale : bool, default=False
        Write the probability of its class at the end of each grid line.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import credalens as cl
    >>> ax = cl.plots.simplex([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3], [0.5, 0.1, 0.4]])
    >>> len(ax.patches)
    2
    """
    hull = as_credal_set(Q).plain().to_hull()
    if hull.n_classes != 3:
        _validation.refuse(
            "Q",
            f"has {hull.n_classes} classes",
            "the triangle shows three; a projection onto three of more classes is another set",
        )
    if len(class_names) != 3:
        _validation.refuse("class_names", f"has {len(class_names)} names", "pass three")
    members = np.asarray(hull.members, np.float64).reshape(-1, hull.n_members, 3)
    if labels is not None and len(labels) != len(members):
        _validation.refuse(
            "labels", f"has {len(labels)} names", f"pass {len(members)}, one per set"
        )
    if ax is None:
        ax = new_axes(5.6, 5.2)
    _triangle(ax, class_names, scale)
    for i, one in enumerate(members):
        _set(ax, one, COLOURS[i % len(COLOURS)], labels[i] if labels else None)
    if labels:
        ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.03))
    return ax


def _set(ax: Any, members: Array, colour: str, label: str | None) -> None:
    from matplotlib.patches import Polygon

    points = to_plane(members)
    corners = outline(points)
    if len(corners) > 2:
        ax.add_patch(Polygon(corners, fc=colour, alpha=0.25, lw=0))
    ax.add_patch(Polygon(corners, closed=len(corners) > 2, fill=False, ec=colour, lw=1.6))
    ax.plot(*points.T, "o", ms=3.5, color=colour, label=label)


def _triangle(ax: Any, class_names: Sequence[str], scale: bool) -> None:
    ax.plot(*CORNERS[[0, 1, 2, 0]].T, color="black", lw=1.2)
    for share in (0.25, 0.5, 0.75):
        for y in range(3):
            a, b = np.eye(3)[(y + 1) % 3], np.eye(3)[(y + 2) % 3]
            ends = share * np.eye(3)[y] + (1 - share) * np.array([a, b])
            ax.plot(*to_plane(ends).T, color=QUIET, lw=0.6, ls=":")
            if scale:
                # Just outside, along the line that it belongs to.
                at = to_plane(ends[1] + 0.035 * (ends[1] - ends[0]) / (1 - share))
                ax.annotate(f"{share:g}", at, ha="center", va="center", fontsize=7, color=QUIET)
    # Where the most probable class changes: the middle, and halfway along each side.
    middle = to_plane(np.full(3, 1 / 3))
    for y in range(3):
        side = to_plane((1 - np.eye(3)[y]) / 2)
        ax.plot(*np.array([middle, side]).T, color=QUIET, lw=0.9)
    for corner, name, align, shift in zip(
        CORNERS, class_names, ("right", "left", "center"),
        ((-0.02, -0.03), (0.02, -0.03), (0, 0.025)), strict=True,
    ):  # fmt: skip
        ax.annotate(name, corner + shift, ha=align, va="bottom" if shift[1] > 0 else "top",
                    fontsize=12)  # fmt: skip
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.margins(0.12)
