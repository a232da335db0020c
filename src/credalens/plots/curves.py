"""Rejection, active learning and ROC curves, and cumulative distributions of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation import ActiveLearning, OODScores, RejectionCurve, RiskCurve
from credalens.evaluation.arguments import score_keys
from credalens.plots.style import (
    LINES,
    QUIET,
    Legend,
    finish,
    line,
    line_width,
    mean_and_band,
    merged,
    new_axes,
)


def curve_style(i: int, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the style of curve `i`."""
    return merged("lines.Line2D", {**line(i), "lw": line_width(2)}, kwargs)


def rejection_curves(
    curves: Mapping[str, RejectionCurve | Sequence[RejectionCurve]],
    *,
    reference: Mapping[str, RejectionCurve | Sequence[RejectionCurve]] | None = None,
    legend: Legend = True,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot accuracy-rejection curves, with the area under each in the legend.

    Parameters
    ----------
    curves : mapping of str to RejectionCurve or sequence of RejectionCurve
        Several curves under one name, with equal numbers of bins, are plotted as their mean with a
        band of one standard deviation.
    reference : mapping, optional
        Curves plotted thin and grey, e.g. those of the oracle and of a random order.
    legend : bool or dict, default=True
        Whether to add a legend; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.plot` for the curves.

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
        _validation.raise_invalid("curves", "is empty", "pass at least one named curve")
    ax = new_axes(6.4, 5.0) if ax is None else ax
    _all_curves(ax, curves, reference, kwargs, "accuracy", "AUC")
    return finish(ax, "rejection rate", "accuracy after rejection", legend=legend)


def risk_curves(
    curves: Mapping[str, RiskCurve | Sequence[RiskCurve]],
    *,
    reference: Mapping[str, RiskCurve | Sequence[RiskCurve]] | None = None,
    ylabel: str = "mean loss after rejection",
    legend: Legend = True,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot risk-rejection curves of real-valued targets, with the mean of each in the legend.

    Parameters
    ----------
    curves : mapping of str to RiskCurve or sequence of RiskCurve
        As in `rejection_curves`; results of `credalens.risk_curve`.
    reference, legend, ax, **kwargs
        As in `rejection_curves`.
    ylabel : str
        Label of the axis, e.g. with the unit of the target.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import credalens as cl
    >>> curve = cl.risk_curve([1.0, 2.0, 4.0], [1.5, 2.0, 3.0], [2, 1, 3], n_bins=3)
    >>> ax = cl.plots.risk_curves({"TU": curve})
    >>> ax.get_legend_handles_labels()[1]
    ['TU (mean 0.25)']
    """
    if not curves:
        _validation.raise_invalid("curves", "is empty", "pass at least one named curve")
    ax = new_axes(6.4, 5.0) if ax is None else ax
    _all_curves(ax, curves, reference, kwargs, "risk", "mean")
    ax.set_ylim(bottom=0)
    return finish(ax, "rejection rate", ylabel, legend=legend)


def _all_curves(
    ax: Any, curves: Any, reference: Any, kwargs: dict[str, Any], field: str, area: str
) -> None:
    for i, (name, value) in enumerate(curves.items()):
        _rejection(ax, name, value, curve_style(i, kwargs), field, area)
    for i, (name, value) in enumerate((reference or {}).items()):
        style = {"color": QUIET, "ls": LINES[(2 * i + 4) % len(LINES)], "lw": line_width(1.1)}
        _rejection(ax, name, value, style, field, area)


def _rejection(
    ax: Any, name: str, value: Any, style: dict[str, Any], field: str, area: str
) -> None:
    several = [value] if isinstance(value, RejectionCurve | RiskCurve) else list(value)
    if not several:
        _validation.raise_invalid("curves", f"{name!r} has no curve", "pass at least one")
    bins = sorted({len(curve.rejection) for curve in several})
    if len(bins) > 1:
        _validation.raise_invalid(
            "curves", f"{name!r} has curves of {bins} bins", "pass curves of the same n_bins"
        )
    heights = np.stack([getattr(curve, field) for curve in several])
    spread = heights.std(axis=0, ddof=1) if len(several) > 1 else np.zeros(bins)
    value = np.mean([getattr(curve, area.lower()) for curve in several])
    style["label"] = f"{name} ({area} {value:{'.3f' if area == 'AUC' else '.3g'}})"
    mean_and_band(ax, several[0].rejection, heights.mean(axis=0), spread, style)


def active_learning_curves(
    found: ActiveLearning, *, legend: Legend = True, ax: Any = None, **kwargs: Any
) -> Any:
    """Plot the mean curve of each score and of random, with bands of one standard deviation.

    Parameters
    ----------
    found : ActiveLearning
        Result of `credalens.active_learning_curve`.
    legend : bool or dict, default=True
        Whether to add a legend; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.plot` for the curves.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> curves = {"TU": np.array([[0.5, 0.8]]), "random": np.array([[0.5, 0.7]])}
    >>> ax = cl.plots.active_learning_curves(cl.ActiveLearning(np.array([10, 20]), curves))
    >>> ax.get_legend_handles_labels()[1]
    ['TU (mean 0.650)', 'random (mean 0.600)']
    """
    ax = new_axes(6.4, 5.0) if ax is None else ax
    for i, name in enumerate(found.accuracy):
        random = {"color": QUIET, "ls": LINES[4], "lw": line_width(1.3)}
        style = random if name == "random" else curve_style(i, kwargs)
        style["label"] = f"{name} (mean {found.auc(name):.3f})"
        mean_and_band(ax, found.n_labels, found.mean(name), found.spread(name), style)
    return finish(ax, "labels", "accuracy on the test part", legend=legend)


def ood_curves(
    found: Mapping[str, OODScores], *, legend: Legend = True, ax: Any = None, **kwargs: Any
) -> Any:
    """Plot ROC curves, with the area under each and its false positive rate in the legend.

    Parameters
    ----------
    found : mapping of str to OODScores
        Results of `credalens.ood_scores` with the same `positive` and `tpr`.
    legend : bool or dict, default=True
        Whether to add a legend; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.plot` for the curves.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import credalens as cl
    >>> scores = cl.ood_scores([0.1, 0.2, 0.3, 0.4], [0.4, 0.8, 0.9])
    >>> ax = cl.plots.ood_curves({"TU": scores})
    >>> ax.get_legend_handles_labels()[1]
    ['TU (AUROC 0.958, FPR 0.250)']
    """
    if not found:
        _validation.raise_invalid("found", "is empty", "pass at least one named result")
    settings = {(one.positive, one.tpr) for one in found.values()}
    if len(settings) > 1:
        _validation.raise_invalid(
            "found", f"mixes {sorted(settings)}", "pass results of the same positive and tpr"
        )
    ((positive, tpr),) = settings
    ax = new_axes(5.4, 5.6) if ax is None else ax
    ax.plot([0, 1], [0, 1], color=QUIET, lw=1, ls=LINES[-1])
    ax.axhline(tpr, color=QUIET, lw=0.8, alpha=0.6)
    for i, (name, one) in enumerate(found.items()):
        label = f"{name} (AUROC {one.auroc:.3f}, FPR {one.fpr:.3f})"
        style = {**curve_style(i, kwargs), "label": label}
        ax.plot(one.false_positive_rate, one.true_positive_rate, **style)
    ax.set(xlim=(-0.01, 1), ylim=(0, 1.01), aspect="equal")
    names = ("in-distribution", "out-of-distribution")
    negative, positive = names if positive == "out" else names[::-1]
    title = f"FPR: at {tpr:.0%} true positives"
    return finish(
        ax,
        f"false positive rate ({negative})",
        f"true positive rate ({positive})",
        legend=legend,
        title=title,
        ncols=1,
    )


def distributions(
    scores: Mapping[str, Any], *, legend: Legend = True, ax: Any = None, **kwargs: Any
) -> Any:
    """Plot the empirical distribution function of each score, with a dashed line at its median.

    Parameters
    ----------
    scores : mapping of str to array-like of shape (n,), or Interval
        Both ends of an interval are plotted in one colour, with the area between them filled. The
        area shows the distributions of the ends, not the intervals of single instances.
    legend : bool or dict, default=True
        Whether to add a legend; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.plot` for the curves.

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
        _validation.raise_invalid("scores", "is empty", "pass at least one named score")
    checked = {name: _ends(score, f"scores[{name!r}]") for name, score in scores.items()}
    ax = new_axes(6.4, 5.0) if ax is None else ax
    for i, (name, ends) in enumerate(checked.items()):
        colour, dashes = line(i).values()
        suffixes = ("",) if len(ends) == 1 else (", lower", ", upper")
        for suffix, values, ls in zip(suffixes, ends, (dashes, LINES[-1]), strict=False):
            style = {"color": colour, "ls": ls, "lw": line_width(2)}
            _step_function(ax, f"{name}{suffix}", values, merged("lines.Line2D", style, kwargs))
        if len(ends) == 2:
            share = np.arange(1, len(ends[0]) + 1) / len(ends[0])
            ax.fill_betweenx(share, *ends, step="pre", color=colour, alpha=0.12, lw=0)
    ax.set_ylim(0, 1.02)
    return finish(ax, "score", "share of instances at or below", legend=legend)


def _ends(score: Any, name: str) -> tuple[Array, ...]:
    """Return the sorted values of a score, or of both ends of an interval."""
    ends = tuple(np.sort(_validation.finite(key, name)) for key in score_keys(score, name))
    if not len(ends[0]):
        _validation.raise_invalid(name, "is empty", "pass at least one value")
    return ends


def _step_function(ax: Any, name: str, values: Array, style: dict[str, Any]) -> None:
    median = float(np.median(values))
    # Not `Axes.ecdf`: with ties it either draws every instance or stops short of 1.
    steps, counts = np.unique(values, return_counts=True)
    (drawn,) = ax.plot(
        np.concatenate([steps[:1], steps]),
        np.concatenate([[0.0], np.cumsum(counts) / len(values)]),
        **{**style, "drawstyle": "steps-post", "label": f"{name} (median {median:.3f})"},
    )
    colour, width = drawn.get_color(), line_width(1.1)
    ax.plot([median, median], [0, 0.5], color=colour, ls=(0, (4, 3)), lw=width)
