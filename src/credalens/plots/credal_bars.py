"""Bars from the lower to the upper probability of each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.plots.style import (
    COLOURS,
    Legend,
    add_legend,
    line_width,
    merged,
    new_axes,
)
from credalens.sets import ConvexHull, as_credal_set


def credal_bars(
    Q: Any,
    *,
    class_names: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    max_classes: int = 12,
    legend: Legend = True,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot the lower and the upper probability of each class, with the members.

    Parameters
    ----------
    Q : credal set, or array-like of shape (M, K) or (n, M, K)
        A single set or a short batch, over any number of classes.
    class_names : sequence of K str, optional
        Names of the classes; their indices by default.
    labels : sequence of n str, optional
        Names of the sets for the legend.
    max_classes : int, default=12
        If there are more classes, those of largest upper probability are plotted.
    legend : bool or dict, default=True
        Whether to add a legend; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.barh` for the bars.

    Returns
    -------
    matplotlib Axes
        One group of bars per class, from top to bottom in the order of the classes. The members of
        hulls are ticks on the bars.

    Notes
    -----
    The bars are the smallest box that contains the set: a set is in general smaller than its box.

    See Also
    --------
    ternary : the set itself, for three groups of classes.

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[0.6, 0.2, 0.1, 0.1], [0.3, 0.4, 0.2, 0.1]]
    >>> ax = cl.plots.credal_bars(members, class_names=["cat", "dog", "fox", "owl"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['cat', 'dog', 'fox', 'owl']
    >>> [round(float(bar.get_x()), 2) for bar in ax.patches]  # lower probabilities
    [0.3, 0.2, 0.1, 0.1]
    """
    Q = as_credal_set(Q).to_numpy_backed()
    K = Q.n_classes
    if len(Q.batch_shape) > 1:
        _validation.raise_invalid("Q", f"has batch shape {Q.batch_shape}", "pass one axis of sets")
    lower, upper = (np.asarray(x, np.float64).reshape(-1, K) for x in (Q.lower(), Q.upper()))
    names = [str(y) for y in range(K)] if class_names is None else [str(n) for n in class_names]
    for argument, given, count in (("class_names", names, K), ("labels", labels, len(lower))):
        if given is not None and len(given) != count:
            _validation.raise_invalid(argument, f"has {len(given)} names", f"pass {count}")
    shown = _classes_shown(upper, _validation.whole_number(max_classes, "max_classes", least=1))
    n, height = len(lower), 0.76 / len(lower)
    ax = new_axes(6.0, 1.1 + 0.36 * len(shown) * max(1.0, 0.62 * n)) if ax is None else ax
    for i in range(n):
        label = labels[i] if labels is not None else "lower to upper probability"
        places = np.arange(len(shown)) + (i - (n - 1) / 2) * height
        style = {"color": COLOURS[i % len(COLOURS)], "alpha": 0.35, "lw": 0, "height": 0.9 * height}
        style = merged("patches.Rectangle", style, kwargs)
        _bars(ax, lower[i, shown], upper[i, shown], places, {**style, "label": label})
        if isinstance(Q, ConvexHull):
            members = np.asarray(Q.members, np.float64).reshape(n, -1, K)[i][:, shown]
            colour = COLOURS[i % len(COLOURS)] if n > 1 else "black"
            _ticks(ax, members, places, 0.3 * height, colour, "members" if n == 1 else None)
    ax.set_yticks(np.arange(len(shown)), [names[y] for y in shown])
    ax.set(xlim=(-0.01, 1.01), ylim=(len(shown) - 0.5, -0.5), xlabel="probability")
    if len(shown) < K:
        ax.set_ylabel(f"{len(shown)} of {K} classes")
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    add_legend(ax, legend, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return ax


def _bars(ax: Any, lower: Array, upper: Array, places: Array, style: dict[str, Any]) -> None:
    """Draw bars with lines at their ends, which are visible for bars without width too."""
    drawn = ax.barh(places, upper - lower, left=lower, **style)
    half, colour = drawn[0].get_height() / 2, drawn[0].get_facecolor()[:3]
    for end in (lower, upper):
        ax.vlines(end, places - half, places + half, color=colour, lw=line_width(1.0))


def _classes_shown(upper: Array, count: int) -> Array:
    """Return the classes of largest upper probability in a set, in their order."""
    largest = upper.max(axis=0)
    return np.sort(np.argsort(-largest, kind="stable")[:count])


def _ticks(
    ax: Any, members: Array, places: Array, half: float, colour: str, label: str | None
) -> None:
    """Mark the members ``(M, classes)`` on the bars; NaN in place of missing ones is not drawn."""
    y = np.repeat(places[None], len(members), axis=0).ravel()
    style = {"color": colour, "lw": line_width(1.2), "label": label}
    ax.vlines(members.ravel(), y - half, y + half, **style)
