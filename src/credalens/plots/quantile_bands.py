"""Bands of quantile functions of hulls of distributions on the real line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array, concrete_values
from credalens.plots.style import COLOURS, QUIET, Legend, finish, line_width, merged, new_axes
from credalens.sets import RealHull

#: Levels of the bands over an input, and the number of levels of a quantile function.
LEVELS = (0.05, 0.5, 0.95)
RESOLUTION = 199


def quantile_bands(
    x: Any,
    Q: RealHull,
    y: Any = None,
    *,
    levels: Sequence[float] = LEVELS,
    xlabel: str = "input",
    ylabel: str = "target",
    legend: Legend = True,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot the quantiles of a hull over a real-valued input, one band for each level.

    A band is between the smallest and the largest quantile of a distribution of the set. Its width
    is epistemic: without disagreement it is a line. The distance between the bands of a low and a
    high level is aleatoric.

    Parameters
    ----------
    x : array-like of shape (n,)
        The input of each instance, in any order.
    Q : RealHull
        A batch of n sets.
    y : array-like of shape (n,), optional
        Targets, plotted as points.
    levels : sequence of float, default=(0.05, 0.5, 0.95)
        Levels of the quantiles, between 0 and 1.
    xlabel, ylabel : str
        Labels of the axes.
    legend : bool or dict, default=True
        Whether to add a legend; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.fill_between` for the bands.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    uncertainty_curves : the decomposition over the input, of ``credalens.quantify(Q)``.
    quantile_functions : the quantile functions of one instance.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> x = np.linspace(0, 3, 16)
    >>> Q = cl.RealHull.from_normal(np.outer(x, [1.0, 1.2, 0.9]), 0.2 + 0.1 * x[:, None])
    >>> ax = cl.plots.quantile_bands(x, Q)
    >>> ax.get_legend_handles_labels()[1]
    ['5 % quantile', '50 % quantile', '95 % quantile']
    """
    at = _real(x, "x")
    _check_hull(Q, (len(at),), "pass a batch of one set per input")
    order = np.argsort(at, kind="stable")
    low, high = (_host(end) for end in Q.quantile_bounds(list(levels)))
    ax = new_axes(6.4, 4.2) if ax is None else ax
    for k, level in enumerate(levels):
        colour = COLOURS[0] if level == 0.5 else COLOURS[1 if level < 0.5 else 2]
        style = {"color": colour, "alpha": 0.35, "lw": line_width(1.0),
                 "label": f"{100 * level:g} % quantile"}  # fmt: skip
        style = merged("collections.PolyCollection", style, kwargs)
        ax.fill_between(at[order], low[order, k], high[order, k], **style)
    if y is not None:
        targets = _real(y, "y")
        if targets.shape != at.shape:
            _validation.raise_invalid("y", f"has shape {targets.shape}", f"pass {at.shape}")
        size = 3 * line_width(2)
        ax.plot(at, targets, ".", color=QUIET, ms=size, zorder=3, label="targets")
    return finish(ax, xlabel, ylabel, legend=legend, ncols=4)


def quantile_functions(
    Q: RealHull,
    y: float | None = None,
    *,
    xlabel: str = "level",
    ylabel: str = "target",
    legend: Legend = True,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot the quantile functions of one instance, and the prediction that hedges against them.

    The mean distance of a quantile function from a horizontal line is the expected absolute error
    of that prediction. That of the minimax prediction is at most the total uncertainty, the number
    in the legend. The largest area between two quantile functions is twice the epistemic
    uncertainty.

    Parameters
    ----------
    Q : RealHull
        One set.
    y : float, optional
        The target, plotted as a line.
    xlabel, ylabel : str
        Labels of the axes.
    legend : bool or dict, default=True
        Whether to add a legend; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.plot` for the quantile functions.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import credalens as cl
    >>> ax = cl.plots.quantile_functions(cl.RealHull.from_normal([0.0, 1.0], [1.0, 2.0]))
    >>> ax.get_legend_handles_labels()[1]
    ['members', 'set', 'minimax prediction (total 1.60)']
    """
    _check_hull(Q, (), "index the batch, e.g. Q[0]")
    levels = (np.arange(RESOLUTION) + 0.5) / RESOLUTION
    members = _host(Q.member_quantiles(levels))
    members = members[~np.isnan(members).any(axis=1)]
    found = Q.minimax()
    ax = new_axes(6.4, 4.2) if ax is None else ax
    style = {"color": COLOURS[0], "lw": line_width(1.0), "zorder": 2}
    for m, row in enumerate(members):
        named = {"label": "members" if m == 0 else f"_member {m}"}
        ax.plot(levels, row, **merged("lines.Line2D", {**style, **named}, kwargs))
    band = {"color": COLOURS[0], "alpha": 0.15, "lw": 0, "label": "set"}
    ax.fill_between(levels, members.min(axis=0), members.max(axis=0), **band)
    label = f"minimax prediction (total {float(_host(found.risk)):.2f})"
    ax.axhline(float(_host(found.prediction)), color=COLOURS[1], ls="--", lw=line_width(1.5),
               label=label)  # fmt: skip
    if y is not None:
        value = _validation.finite(y, "y")
        ax.axhline(float(value), color=QUIET, ls=":", lw=line_width(1.5), label="target")
    ax.set_xlim(0, 1)
    return finish(ax, xlabel, ylabel, legend=legend)


def _check_hull(Q: Any, shape: tuple[int, ...], fix: str) -> None:
    if not isinstance(Q, RealHull):
        _validation.raise_invalid("Q", f"is a {type(Q).__name__}", "pass a RealHull")
    if Q.batch_shape != shape:
        _validation.raise_invalid("Q", f"has batch_shape {Q.batch_shape}", fix)


def _real(values: Any, name: str) -> Array:
    array = _validation.finite(concrete_values(values), name)
    if array.ndim != 1:
        _validation.raise_invalid(name, f"has shape {array.shape}", "pass one number per instance")
    return array


def _host(values: Any) -> Array:
    return np.asarray(concrete_values(values), np.float64)
