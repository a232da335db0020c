"""Accuracy against the number of labels."""

from __future__ import annotations

from typing import Any

from credalens.evaluation import ActiveLearning
from credalens.plots.style import LINES, QUIET, line, new_axes


def active_learning_curves(found: ActiveLearning, *, ax: Any = None) -> Any:
    """Draw the mean curve of each score and of random, with bands of one standard deviation.

    Parameters
    ----------
    found : ActiveLearning
        What `credalens.active_learning_curve` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> from credalens.evaluation import ActiveLearning
    >>> curves = {"TU": np.array([[0.5, 0.8]]), "random": np.array([[0.5, 0.7]])}
    >>> ax = cl.plots.active_learning_curves(ActiveLearning(np.array([10, 20]), curves))
    >>> ax.get_legend_handles_labels()[1]
    ['TU (mean 0.650)', 'random (mean 0.600)']
    """
    if ax is None:
        ax = new_axes(6.4, 4.4)
    for i, name in enumerate(found.accuracy):
        quiet = name == "random"
        style = {"color": QUIET, "ls": LINES[4]} if quiet else line(i)
        mean, spread = found.mean(name), found.spread(name)
        ax.plot(
            found.n_labels,
            mean,
            **style,
            lw=1.3 if quiet else 2,
            label=f"{name} (mean {found.auc(name):.3f})",
        )
        if spread.any():
            ax.fill_between(
                found.n_labels,
                mean - spread,
                mean + spread,
                color=style["color"],
                alpha=0.15,
                lw=0,
            )
    ax.set_xlabel("labels")
    ax.set_ylabel("accuracy on the test part")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right")
    return ax
