"""Accuracy-rejection curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens.evaluation import RejectionCurve
from credalens.plots.style import LINES, QUIET, line, new_axes


def rejection_curves(
    curves: Mapping[str, RejectionCurve | Sequence[RejectionCurve]],
    *,
    reference: Mapping[str, RejectionCurve | Sequence[RejectionCurve]] | None = None,
    ax: Any = None,
) -> Any:
    """Draw accuracy-rejection curves, with the area under each in the legend.

    Parameters
    ----------
    curves : mapping of str to RejectionCurve or sequence of RejectionCurve
        Several curves under one name, of the same number of bins, are drawn as their mean with a
        band of one standard deviation.
    reference : mapping, optional
        Curves drawn thin and grey, such as the oracle and the random order.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import credalens as cl
    >>> curve = cl.rejection_curve([0, 1, 1], [0, 1, 0], [0.1, 0.2, 0.9])
    >>> ax = cl.plots.rejection_curves({"TU": curve})
    >>> ax.get_legend_handles_labels()[1]
    ['TU (AUC 0.891)']
    """
    if not curves:
        _validation.refuse("curves", "is empty", "pass at least one named curve")
    if ax is None:
        ax = new_axes(6.4, 4.4)
    for i, (name, value) in enumerate(curves.items()):
        _draw(ax, name, value, line(i))
    for i, (name, value) in enumerate((reference or {}).items()):
        _draw(ax, name, value, {"color": QUIET, "ls": LINES[(2 * i + 4) % len(LINES)]}, width=1.1)
    ax.set_xlabel("share rejected")
    ax.set_ylabel("accuracy on the rest")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _draw(ax: Any, name: str, value: Any, style: dict[str, Any], width: float = 2.0) -> None:
    several = [value] if isinstance(value, RejectionCurve) else list(value)
    if not several:
        _validation.refuse("curves", f"{name!r} has no curve", "pass at least one")
    bins = sorted({len(curve.rejection) for curve in several})
    if len(bins) > 1:
        _validation.refuse(
            "curves", f"{name!r} has curves of {bins} bins", "pass curves of the same n_bins"
        )
    accuracy = np.stack([curve.accuracy for curve in several])
    mean = accuracy.mean(axis=0)
    x = several[0].rejection
    auc = np.mean([curve.auc for curve in several])
    ax.plot(x, mean, lw=width, label=f"{name} (AUC {auc:.3f})", **style)
    if len(several) > 1:
        spread = accuracy.std(axis=0, ddof=1)
        ax.fill_between(x, mean - spread, mean + spread, color=style["color"], alpha=0.15, lw=0)
