"""Plots of decisions: regions of the simplex, and accuracy against the size of label sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.decisions import SetMetrics, admissible
from credalens.decisions.rules import AdmissibilityRule
from credalens.plots.simplex import draw_triangle, to_plane
from credalens.plots.style import (
    COLOURS,
    QUIET,
    Legend,
    add_legend,
    finish,
    line_width,
    merged,
    new_axes,
)


def decision_regions(
    make_set: Callable[[Array], Any],
    cost: Any = None,
    *,
    rule: AdmissibilityRule = "e_admissible",
    action_names: Sequence[str] | None = None,
    class_names: Sequence[str] = ("0", "1", "2"),
    resolution: int = 120,
    legend: Legend = True,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot which actions are admissible for credal sets around each point of the simplex.

    Parameters
    ----------
    make_set : callable
        Returns the credal sets around distributions ``(n, 3)``, for instance
        ``lambda p: Contamination(p, 0.2)``.
    cost : array-like of shape (3, D), optional
        Costs of D actions, by default the 0-1 costs of predicting a class.
    rule : {"e_admissible", "maximal", "interval_dominance"}
        The criterion of `credalens.admissible`.
    action_names : sequence of str, optional
        Names of the actions, by default those of the classes, then numbers.
    class_names : three strings
        Names at the vertices.
    resolution : int, default=120
        Number of points along a side of the triangle.
    legend : bool or dict, default=True
        Whether to add a legend; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `PolyCollection` for the regions.

    Returns
    -------
    matplotlib Axes
        With one colour for each set of actions that occurs.

    Examples
    --------
    >>> import credalens as cl
    >>> ax = cl.plots.decision_regions(lambda p: cl.Contamination(p, 0.2), resolution=20)
    >>> [text.get_text() for text in ax.get_legend().get_texts()][:4]
    ['0', '1', '2', '0, 1']
    """
    triangles = _small_triangles(_validation.whole_number(resolution, "resolution", least=2))
    mask = np.asarray(admissible(make_set(triangles.mean(axis=1)), cost, rule))
    names = [*class_names, *(str(d) for d in range(3, mask.shape[1]))][: mask.shape[1]]
    names = names if action_names is None else list(action_names)
    if len(names) != mask.shape[1]:
        _validation.raise_invalid(
            "action_names", f"has {len(names)} names", f"pass {mask.shape[1]}, one per action"
        )
    codes = mask @ (1 << np.arange(mask.shape[1]))
    # Single actions first, in order, then larger sets.
    found = sorted(set(codes.tolist()), key=lambda code: (int(code).bit_count(), _reversed(code)))
    from matplotlib.collections import PolyCollection

    ax = new_axes(6.0, 5.8) if ax is None else ax
    draw_triangle(ax, class_names, scale=False)
    plane = to_plane(triangles)
    for code in found:
        actions = [d for d in range(mask.shape[1]) if code >> d & 1]
        colour = np.mean([_rgb(d) for d in actions], axis=0)
        label = ", ".join(names[d] for d in actions)
        style = {"facecolor": colour, "edgecolor": colour, "lw": 0.3, "zorder": 0}
        style = merged("collections.PolyCollection", style, kwargs)
        region = PolyCollection(plane[codes == code], label=label, **style)
        ax.add_collection(region, autolim=False)
    add_legend(ax, legend, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3)
    return ax


def _small_triangles(steps: int) -> Array:
    """Return a subdivision of the simplex: the vertices of its triangles, ``(steps^2, 3, 3)``."""
    first_vertex = np.array([(i, j) for i in range(steps) for j in range(steps - i)])
    up = first_vertex[:, None] + [[0, 0], [1, 0], [0, 1]]
    inner = first_vertex[first_vertex.sum(axis=1) < steps - 1]
    down = inner[:, None] + [[1, 0], [0, 1], [1, 1]]
    first = np.concatenate([up, down]) / steps
    return np.concatenate([first, 1 - first.sum(axis=-1, keepdims=True)], axis=-1)


def _reversed(code: int) -> list[int]:
    """Return the bits of a code, so that sets of the same size are in lexicographic order."""
    return [d for d in range(code.bit_length()) if code >> d & 1]


def _rgb(action: int) -> Array:
    from matplotlib.colors import to_rgb

    # Lighter than lines, so that the grid is visible.
    colour = np.array(to_rgb((*COLOURS[:3], QUIET, *COLOURS[3:])[action % (len(COLOURS) + 1)]))
    return np.asarray(0.35 + 0.65 * colour)


def accuracy_and_size(
    metrics: Mapping[str, SetMetrics], *, legend: Legend = True, ax: Any = None, **kwargs: Any
) -> Any:
    """Plot the coverage of set-valued predictions against their mean size.

    Parameters
    ----------
    metrics : mapping of str to SetMetrics
        Results of `credalens.set_metrics` by name, for instance of several rules. Bootstrap
        intervals are drawn as bars.
    legend : bool or dict, default=True
        Whether to add a legend; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.errorbar`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[[0.9, 0.1], [0.8, 0.2]], [[0.6, 0.4], [0.3, 0.7]]]
    >>> found = cl.set_metrics([0, 1], cl.admissible(members))
    >>> ax = cl.plots.accuracy_and_size({"E-admissible": found})
    >>> ax.get_legend_handles_labels()[1]
    ['E-admissible (u65 0.825)']
    """
    if not metrics:
        _validation.raise_invalid("metrics", "is empty", "pass at least one named result")
    ax = new_axes(5.6, 4.6) if ax is None else ax
    markers = "osD^vP*X"
    for i, (name, found) in enumerate(metrics.items()):
        bars = {}
        for axis, metric in (("xerr", "mean_size"), ("yerr", "coverage")):
            if metric in found.intervals:
                low, high = found.intervals[metric]
                value = getattr(found, metric)
                bars[axis] = [[max(value - low, 0.0)], [max(high - value, 0.0)]]
        style = {"marker": markers[i % len(markers)], "ls": "none", "ms": line_width(8),
                 "color": COLOURS[i % len(COLOURS)]}  # fmt: skip
        style = merged("lines.Line2D", {**style, "capsize": 3}, kwargs)
        label = f"{name} (u65 {found.u65:.3f})"
        ax.errorbar(found.mean_size, found.coverage, **{**style, **bars, "label": label})
    return finish(ax, "mean number of labels", "share of sets with the true label", legend=legend)
