"""Colours, line styles and axes shared by the plots."""

from __future__ import annotations

from typing import Any

from credalens._extras import require

#: The Okabe-Ito palette, distinguishable with colour vision deficiency, without its yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
#: Line styles, distinguishable in greyscale.
LINES = ("-", "--", "-.", (0, (3, 1, 1, 1, 1, 1)), (0, (5, 1)), (0, (1, 1)), ":")
#: Colour of reference curves and grid lines.
QUIET = "#888888"


def new_axes(width: float, height: float, columns: int = 1) -> Any:
    """Return axes, or an array of them, in a new pyplot figure."""
    pyplot = require("matplotlib.pyplot", "plots")
    return pyplot.subplots(1, columns, figsize=(width, height), layout="constrained")[1]


def line(i: int) -> dict[str, Any]:
    """Return colour and line style of curve `i`; the first 49 combinations are distinct."""
    return {"color": COLOURS[i % len(COLOURS)], "ls": LINES[(i + i // len(COLOURS)) % len(LINES)]}


def mean_and_band(ax: Any, x: Any, mean: Any, spread: Any, style: dict[str, Any]) -> None:
    """Plot a curve with a band of `spread` around it; without a band if `spread` is zero."""
    ax.plot(x, mean, **style)
    if spread.any():
        band = {"color": style["color"], "alpha": 0.15, "lw": 0}
        ax.fill_between(x, mean - spread, mean + spread, **band)


def finish(ax: Any, xlabel: str, ylabel: str, **legend: Any) -> Any:
    """Add axis labels, a grid and a legend below the axes; return the axes.

    Curves can fill the axes, so that a legend inside would cover them.
    """
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 2, "fontsize": 9}
    ax.legend(**{"frameon": False, **below, **legend})
    return ax
