"""Colours, line styles, sizes, axes and legends shared by the plots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from credalens import _validation
from credalens._extras import require

#: The Okabe-Ito palette, distinguishable with colour vision deficiency, without its yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
#: Line styles, distinguishable in greyscale.
LINES = ("-", "--", "-.", (0, (3, 1, 1, 1, 1, 1)), (0, (5, 1)), (0, (1, 1)), ":")
#: Colour of reference curves and grid lines.
QUIET = "#888888"
#: Colours of the components of an uncertainty, as in the report and the explorer.
COMPONENTS = {"total": "#B5568F", "aleatoric": "#E69F00", "epistemic": "#0072B2"}
#: Widths in inches of one column and of the text of a paper with two columns.
PAPER_WIDTHS = {1: 3.25, 2: 6.75}
#: Whether a plot has a legend, or keyword arguments of its legend.
Legend = bool | dict[str, Any]
#: Width and aspect ratio of new figures inside of `paper`.
_PAPER: ContextVar[tuple[float, float | None] | None] = ContextVar("paper", default=None)


@contextmanager
def paper(
    columns: int = 1, *, width: float | None = None, aspect: float | None = None
) -> Iterator[None]:
    r"""Make new figures as wide as one or two columns of a paper, with text of 8 points.

    Parameters
    ----------
    columns : {1, 2}, default=1
        One column of a paper with two columns (3.25 inches), or both with the space between them
        (6.75 inches).
    width : float, optional
        Width in inches instead, for instance that of ``\the\columnwidth`` in LaTeX, where an inch
        is 72.27 points.
    aspect : float, optional
        Height divided by width; by default that of each plot.

    Returns
    -------
    context manager

    Notes
    -----
    Only figures that are created inside of the ``with`` block are affected; other settings of
    matplotlib are restored after it. Include the figure without scaling, so that its text has the
    size that it states. Save it without ``bbox_inches="tight"``, which changes its width.

    Examples
    --------
    >>> import credalens as cl
    >>> with cl.plots.paper(columns=1):
    ...     ax = cl.plots.simplex([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3]])
    >>> ax.figure.get_size_inches().round(2).tolist()
    [3.25, 3.02]
    """
    if width is None:
        if columns not in PAPER_WIDTHS:
            _validation.raise_invalid("columns", f"is {columns!r}", "pass 1 or 2, or width=")
        width = PAPER_WIDTHS[columns]
    inches = _validation.positive(width, "width")
    ratio = None if aspect is None else _validation.positive(aspect, "aspect")
    matplotlib = require("matplotlib", "plots")
    settings = {
        "figure.figsize": (inches, inches * (0.75 if ratio is None else ratio)),
        "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "legend.fontsize": 7,
        "xtick.labelsize": 7, "ytick.labelsize": 7, "axes.linewidth": 0.6, "lines.markersize": 4,
        "xtick.major.width": 0.6, "ytick.major.width": 0.6, "pdf.fonttype": 42, "savefig.dpi": 300,
        "legend.handlelength": 1.4, "legend.columnspacing": 1.0, "legend.handletextpad": 0.5,
    }  # fmt: skip
    token = _PAPER.set((inches, ratio))
    try:
        with matplotlib.rc_context(settings):
            yield
    finally:
        _PAPER.reset(token)


def new_axes(width: float, height: float, columns: int = 1, rows: int = 1) -> Any:
    """Return axes, or an array of them, in a new pyplot figure.

    Inside of `paper`, the figure has the width of the paper and the same aspect ratio.
    """
    pyplot = require("matplotlib.pyplot", "plots")
    if (sizes := _PAPER.get()) is not None:
        inches, aspect = sizes
        width, height = inches, inches * (height / width if aspect is None else aspect)
    return pyplot.subplots(rows, columns, figsize=(width, height), layout="constrained")[1]


def line_width(width: float) -> float:
    """Return a line width, which is smaller inside of `paper`."""
    return width if _PAPER.get() is None else 0.6 * width


def font_size(points: float) -> float:
    """Return a font size, which is at most 8 points inside of `paper`."""
    return points if _PAPER.get() is None else min(points, 8.0)


def line(i: int) -> dict[str, Any]:
    """Return colour and line style of curve `i`; the first 49 combinations are distinct."""
    return {"color": COLOURS[i % len(COLOURS)], "ls": LINES[(i + i // len(COLOURS)) % len(LINES)]}


def merged(kind: str, style: dict[str, Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the style of an artist of this class, in which the caller's `kwargs` have priority.

    Aliases such as ``lw`` and ``linewidth`` are the same.
    """
    if not kwargs:
        return style
    module, _, name = kind.rpartition(".")
    artist = getattr(require(f"matplotlib.{module}", "plots"), name)
    normalize = require("matplotlib.cbook", "plots").normalize_kwargs
    return {**normalize(style, artist), **normalize(kwargs, artist)}


def mean_and_band(ax: Any, x: Any, mean: Any, spread: Any, style: dict[str, Any]) -> None:
    """Plot a curve with a band of `spread` around it; without a band if `spread` is zero."""
    (drawn,) = ax.plot(x, mean, **style)
    if spread.any():
        band = {"color": drawn.get_color(), "alpha": 0.15, "lw": 0}
        ax.fill_between(x, mean - spread, mean + spread, **band)


def add_legend(ax: Any, legend: Legend, **defaults: Any) -> None:
    """Add a legend, unless `legend` is False; a mapping replaces `defaults`."""
    if legend is False or not ax.get_legend_handles_labels()[0]:
        return
    own = {} if legend is True else dict(legend)
    if "loc" in own:  # the default place of the box depends on the location
        defaults.pop("bbox_to_anchor", None)
    ax.legend(**{"frameon": False, **defaults, **own})


def finish(ax: Any, xlabel: str, ylabel: str, *, legend: Legend = True, **defaults: Any) -> Any:
    """Add axis labels, a grid and a legend below the axes; return the axes.

    Curves can fill the axes, so that a legend inside would cover them.
    """
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    small = _PAPER.get() is not None
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.24 if small else -0.14),
             "ncols": 2, "fontsize": 7 if small else 9}  # fmt: skip
    add_legend(ax, legend, **{**below, **defaults})
    return ax
