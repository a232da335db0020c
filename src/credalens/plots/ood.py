"""How well scores find inputs of another distribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from credalens import _validation
from credalens.evaluation import OODScores
from credalens.plots.style import LINES, QUIET, line, new_axes


def ood_curves(found: Mapping[str, OODScores], *, ax: Any = None) -> Any:
    """Draw ROC curves, with the area under each and its false positive rate in the legend.

    Parameters
    ----------
    found : mapping of str to OODScores
        What `credalens.ood_scores` returned for each score; all with the same `positive` and `tpr`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import credalens as cl
    >>> found = cl.ood_scores([0.1, 0.2, 0.3, 0.4], [0.4, 0.8, 0.9])
    >>> ax = cl.plots.ood_curves({"TU": found})
    >>> ax.get_legend_handles_labels()[1]
    ['TU (AUROC 0.958, FPR 0.250)']
    """
    if not found:
        _validation.refuse("found", "is empty", "pass at least one named result")
    kinds = {(one.positive, one.tpr) for one in found.values()}
    if len(kinds) > 1:
        _validation.refuse(
            "found", f"mixes {sorted(kinds)}", "pass results of the same positive and tpr"
        )
    ((positive, tpr),) = kinds
    if ax is None:
        ax = new_axes(5.4, 4.8)
    ax.plot([0, 1], [0, 1], color=QUIET, lw=1, ls=LINES[-1])
    ax.axhline(tpr, color=QUIET, lw=0.8, alpha=0.6)
    for i, (name, one) in enumerate(found.items()):
        ax.plot(
            one.false_positive_rate,
            one.true_positive_rate,
            **line(i),
            lw=2,
            label=f"{name} (AUROC {one.auroc:.3f}, FPR {one.fpr:.3f})",
        )
    words = {"out": ("inside, false alarms", "outside, found"), "in": ("outside, let in", "inside")}
    ax.set_xlabel(f"false positive rate ({words[positive][0]})")
    ax.set_ylabel(f"true positive rate ({words[positive][1]})")
    ax.set_aspect("equal")
    ax.set_xlim(-0.01, 1)
    ax.set_ylim(0, 1.01)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    legend = ax.legend(
        loc="lower right", title=f"FPR: at {tpr:.0%} true positives", framealpha=0.85
    )
    legend.get_frame().set_edgecolor("none")
    return ax
