"""Cumulative distributions of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.measures import Interval
from credalens.plots.style import LINES, line, new_axes


def distributions(scores: Mapping[str, Any], *, ax: Any = None) -> Any:
    """Draw the cumulative distribution of each score, with a dashed line at its median.

    Parameters
    ----------
    scores : mapping of str to array-like of shape (n,), or Interval
        Both ends of an interval are drawn in one colour, with the space between them filled. It
        shows where the ends lie over all instances, not which belong to one instance.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The share of instances at or below each value, with the median in the legend.

    Examples
    --------
    >>> import credalens as cl
    >>> ax = cl.plots.distributions({"TU": [0.1, 0.2, 0.9], "EU": [0.0, 0.1, 0.1]})
    >>> ax.get_legend_handles_labels()[1]
    ['TU (median 0.200)', 'EU (median 0.100)']
    """
    if not scores:
        _validation.refuse("scores", "is empty", "pass at least one named score")
    checked = {name: _ends(score, f"scores[{name!r}]") for name, score in scores.items()}
    if ax is None:
        ax = new_axes(6.4, 4.4)
    for i, (name, ends) in enumerate(checked.items()):
        colour, dashes = line(i).values()
        for end, values, ls in zip(_words(ends), ends, (dashes, LINES[-1]), strict=False):
            _draw(ax, f"{name}{end}", values, colour, ls)
        if len(ends) == 2:
            _fill(ax, *ends, colour)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("score")
    ax.set_ylabel("share of instances at or below")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _ends(score: Any, name: str) -> tuple[Array, ...]:
    """Return the one or two arrays of numbers of a score, sorted."""
    if isinstance(score, Interval):
        parts = {f"{name}.lower": score.lower, f"{name}.upper": score.upper}
    else:
        parts = {name: score}
    ends = []
    for part, given in parts.items():
        values = _validation.finite(_validation.vector(given, part), part)
        if not len(values):
            _validation.refuse(part, "is empty", "pass at least one value")
        ends.append(np.sort(values.astype(np.float64)))
    if len({len(end) for end in ends}) > 1:
        _validation.refuse(
            name,
            f"has ends of lengths {len(ends[0])} and {len(ends[1])}",
            "pass an Interval whose ends belong together",
        )
    return tuple(ends)


def _words(ends: tuple[Array, ...]) -> tuple[str, ...]:
    return ("",) if len(ends) == 1 else (", lower", ", upper")


def _draw(ax: Any, name: str, values: Array, colour: str, ls: Any) -> None:
    median = float(np.median(values))
    # Not `Axes.ecdf`: with ties it either draws every instance or stops short of 1.
    steps, counts = np.unique(values, return_counts=True)
    ax.plot(
        np.concatenate([steps[:1], steps]),
        np.concatenate([[0.0], np.cumsum(counts) / len(values)]),
        drawstyle="steps-post",
        color=colour,
        ls=ls,
        lw=2,
        label=f"{name} (median {median:.3f})",
    )
    ax.plot([median, median], [0, 0.5], color=colour, ls=(0, (4, 3)), lw=1.1)


def _fill(ax: Any, lower: Array, upper: Array, colour: str) -> None:
    """Fill the space between two cumulative distributions."""
    n = len(lower)
    share = np.arange(1, n + 1) / n
    ax.fill_betweenx(share, lower, upper, step="pre", color=colour, alpha=0.12, lw=0)
