"""Total, aleatoric and epistemic uncertainty as distances in the probability simplex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.measures import quantify
from credalens.plots.simplex import simplex, to_plane
from credalens.plots.style import COLOURS, QUIET, Legend, add_legend, line_width, new_axes
from credalens.sets import as_credal_set


class Witness(NamedTuple):
    """Two distributions, and the uncertainty that their distance attains."""

    start: Array
    end: Array
    value: float


class Witnesses(NamedTuple):
    """The distributions that attain each uncertainty; see `decomposition`."""

    total: Witness
    lower: Witness
    upper: Witness
    epistemic: Witness


def witnesses(Q: Any) -> Witnesses:
    """Return the distributions at which a single set attains its uncertainties.

    Examples
    --------
    >>> found = witnesses([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3]])
    >>> found.total.start, found.total.end, round(found.total.value, 3)
    (array([0.4, 0.3, 0.3]), array([1., 0., 0.]), 0.6)
    """
    Q = as_credal_set(Q)
    if Q.batch_shape:
        _validation.raise_invalid("Q", f"is a batch of shape {Q.batch_shape}", "pass one set")
    P = np.asarray(Q.to_numpy_backed().to_hull().generators, np.float64)
    u = quantify(Q, "tv")
    vertices = np.eye(P.shape[1])
    y = int(np.argmax(P.min(axis=0)))
    certain, ambiguous = P[np.argmax(P.max(axis=1))], _most_ambiguous(P)
    top = int(np.argmax(certain))
    # A most probable class of the ambiguous member, other than that of the certain one if tied.
    best = np.flatnonzero(ambiguous >= ambiguous.max() - 1e-9)
    other = next((k for k in best if k != top), best[0])
    apart = np.abs(P[:, None] - P[None]).sum(axis=-1)
    i, j = np.unravel_index(np.argmax(apart), apart.shape)
    return Witnesses(
        Witness(P[np.argmin(P[:, y])], vertices[y], float(u.total)),
        Witness(certain, vertices[top], float(u.aleatoric.lower)),
        Witness(ambiguous, vertices[other], float(u.aleatoric.upper)),
        Witness(P[i], P[j], float(u.epistemic)),
    )


def _most_ambiguous(P: Array) -> Array:
    """Return the mixture of the rows of `P` whose largest probability is smallest."""
    from scipy.optimize import linprog

    M, K = P.shape
    # Variables: weights of the members, then the largest probability.
    found = linprog(
        np.r_[np.zeros(M), 1.0],
        A_ub=np.column_stack([P.T, -np.ones(K)]),
        b_ub=np.zeros(K),
        A_eq=np.r_[np.ones(M), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * (M + 1),
    )
    return np.asarray(found.x[:M] @ P)


def decomposition(
    Q: Any,
    *,
    class_names: Sequence[str] = (r"$\delta_1$", r"$\delta_2$", r"$\delta_3$"),
    legend: Legend = True,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot the total, aleatoric and epistemic uncertainty of a set over three classes.

    Each arrow joins two distributions whose total variation distance is the number below.
    Total: the member farthest from the vertex that is nearest to the whole set. Aleatoric: the
    least and the most ambiguous distribution of the set, each with its nearest vertex. Epistemic:
    the two members with the largest distance; the uncertainty is half of it.

    Parameters
    ----------
    Q : credal set, or array-like of shape (M, 3)
        One set over three classes; an array stands for the convex hull of its rows.
    class_names : three strings
        Names at the vertices.
    legend : bool or dict, default=True
        Whether to add the distances below each triangle; a mapping has keyword arguments of
        `Axes.legend`.
    axes : three matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `simplex`.

    Returns
    -------
    array of three matplotlib Axes

    Examples
    --------
    >>> import credalens as cl
    >>> axes = cl.plots.decomposition([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3], [0.3, 0.6, 0.1]])
    >>> axes[0].get_title()
    '(a) Total: 0.70'
    """
    axes = new_axes(12.6, 4.4, columns=3) if axes is None else axes
    for ax in axes:
        simplex(Q, class_names=class_names, ax=ax, legend=False, **kwargs)
    found = witnesses(Q)
    _arrow(axes[0], found.total, "TU")
    axes[0].set_title(f"(a) Total: {found.total.value:.2f}")
    _levels(axes[1])
    _arrow(axes[1], found.lower, "lower", COLOURS[2])
    _arrow(axes[1], found.upper, "upper")
    axes[1].set_title(f"(b) Aleatoric: {found.lower.value:.2f} to {found.upper.value:.2f}")
    _arrow(axes[2], found.epistemic, "2 EU", times=2)
    axes[2].set_title(f"(c) Epistemic: {found.epistemic.value:.2f}")
    for ax in axes:
        add_legend(ax, legend, loc="upper center", bbox_to_anchor=(0.5, 0.1), ncols=2)
    return axes


def _arrow(ax: Any, witness: Witness, name: str, colour: str = COLOURS[1], times: int = 1) -> None:
    """Join two distributions by an arrow; the legend below the triangle has the number."""
    start, end = to_plane(witness.start), to_plane(witness.end)
    label = f"{name} = {times * witness.value:.2f}"
    ax.plot(*start, "o-", ms=line_width(6), color=colour, zorder=4, label=label)
    if not np.array_equal(start, end):
        style = {"arrowstyle": "<->", "color": colour, "lw": line_width(1.8)}
        ax.annotate("", end, start, arrowprops=style, zorder=4)


def _levels(ax: Any) -> None:
    """Plot contour lines of the aleatoric uncertainty of single distributions."""
    steps = 60
    grid = np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)])
    p = grid / steps
    limits = ax.get_xlim(), ax.get_ylim()
    style = {"levels": [0.2, 0.4, 0.6], "colors": QUIET, "linewidths": 0.7}
    ax.tricontour(*to_plane(p).T, 1 - p.max(axis=1), **style)
    ax.set(xlim=limits[0], ylim=limits[1])
