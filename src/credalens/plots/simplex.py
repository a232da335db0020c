"""Plots of credal sets over three classes in the probability simplex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.plots.style import (
    COLOURS,
    QUIET,
    Legend,
    add_legend,
    font_size,
    line_width,
    merged,
    new_axes,
)
from credalens.sets import as_credal_set

#: Vertices of the triangle: classes 0 (left), 1 (right) and 2 (top).
VERTICES = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def to_plane(p: Array) -> Array:
    """Return distributions ``(..., 3)`` as points of the plane, ``(..., 2)``."""
    return np.asarray(np.asarray(p, np.float64) @ VERTICES)


def outline(points: Array) -> Array:
    """Return the vertices of the convex hull of points of the plane, in order along it."""
    from scipy.spatial import ConvexHull, QhullError

    distinct = np.unique(points, axis=0)
    try:
        return np.asarray(distinct[ConvexHull(distinct).vertices])
    except QhullError:  # fewer than three points, or collinear ones, in lexicographic order
        return distinct[[0, -1]] if len(distinct) > 1 else distinct


def simplex(
    Q: Any,
    *,
    class_names: Sequence[str] = ("0", "1", "2"),
    labels: Sequence[str] | None = None,
    scale: bool = False,
    legend: Legend = True,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot credal sets over three classes.

    Parameters
    ----------
    Q : credal set, or array-like of shape (M, 3) or (n, M, 3)
        A single set or a short batch.
    class_names : three strings
        Names at the vertices.
    labels : sequence of str, optional
        Names of the sets for the legend.
    scale : bool, default=False
        Label each grid line with the probability of its class.
    legend : bool or dict, default=True
        Whether to add a legend of the `labels`; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.plot` for the members; a colour applies to the sets too.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    ternary : sets over more than three classes.

    Examples
    --------
    >>> import credalens as cl
    >>> ax = cl.plots.simplex([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3], [0.5, 0.1, 0.4]])
    >>> len(ax.patches)
    2
    """
    hull = as_credal_set(Q).to_numpy_backed().to_hull()
    if hull.n_classes != 3:
        _validation.raise_invalid(
            "Q",
            f"has {hull.n_classes} classes",
            "pass sets over three classes, or choose classes with ternary",
        )
    if len(class_names) != 3:
        _validation.raise_invalid("class_names", f"has {len(class_names)} names", "pass three")
    members = np.asarray(hull.generators, np.float64).reshape(-1, hull.n_members, 3)
    if labels is not None and len(labels) != len(members):
        _validation.raise_invalid(
            "labels", f"has {len(labels)} names", f"pass {len(members)}, one per set"
        )
    ax = new_axes(5.6, 5.2) if ax is None else ax
    draw_triangle(ax, class_names, scale)
    for i, one in enumerate(members):
        style = {"color": COLOURS[i % len(COLOURS)], "marker": "o", "ls": "none", "ms": 3.5}
        _set(ax, one, merged("lines.Line2D", style, kwargs), labels[i] if labels else None)
    add_legend(ax, legend, loc="upper center", bbox_to_anchor=(0.5, 0.03))
    return ax


def _set(ax: Any, members: Array, style: dict[str, Any], label: str | None) -> None:
    from matplotlib.patches import Polygon

    points, colour = to_plane(members), style["color"]
    vertices = outline(points)
    if len(vertices) > 2:
        ax.add_patch(Polygon(vertices, fc=colour, alpha=0.25, lw=0))
    ax.add_patch(
        Polygon(vertices, closed=len(vertices) > 2, fill=False, ec=colour, lw=line_width(1.6))
    )
    ax.plot(*points.T, **{**style, "label": label})


def draw_triangle(ax: Any, class_names: Sequence[str], scale: bool) -> None:
    """Draw the simplex with its grid, the boundaries of the most probable class, and names."""
    ax.plot(*VERTICES[[0, 1, 2, 0]].T, color="black", lw=line_width(1.2))
    for share in (0.25, 0.5, 0.75):
        for y in range(3):
            a, b = np.eye(3)[(y + 1) % 3], np.eye(3)[(y + 2) % 3]
            ends = share * np.eye(3)[y] + (1 - share) * np.array([a, b])
            ax.plot(*to_plane(ends).T, color=QUIET, lw=0.6, ls=":")
            if scale:
                # Just outside of the triangle, on the extension of the line.
                at = to_plane(ends[1] + 0.035 * (ends[1] - ends[0]) / (1 - share))
                ax.annotate(f"{share:g}", at, ha="center", va="center", fontsize=7, color=QUIET)
    # The boundaries of the most probable class join the centre and the middle of each side.
    middle = to_plane(np.full(3, 1 / 3))
    for y in range(3):
        side = to_plane((1 - np.eye(3)[y]) / 2)
        ax.plot(*np.array([middle, side]).T, color=QUIET, lw=0.9)
    for vertex, name, align, shift in zip(
        VERTICES, class_names, ("right", "left", "center"),
        ((-0.02, -0.03), (0.02, -0.03), (0, 0.025)), strict=True,
    ):  # fmt: skip
        ax.annotate(name, vertex + shift, ha=align, va="bottom" if shift[1] > 0 else "top",
                    fontsize=font_size(12))  # fmt: skip
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.margins(0.12)
