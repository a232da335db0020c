"""Total, aleatoric and epistemic uncertainty as distances in the triangle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.measures import quantify
from credalens.plots.simplex import simplex, to_plane
from credalens.plots.style import COLOURS, QUIET, new_axes
from credalens.sets import as_credal_set


@dataclass(frozen=True)
class Witness:
    """Two distributions, and the uncertainty that their distance shows."""

    start: Array
    end: Array
    value: float


@dataclass(frozen=True)
class Witnesses:
    """Where each uncertainty is attained under total variation.

    `total`: the member farthest from the vertex that is nearest to the whole set. `lower`,
    `upper`: the least and the most ambiguous member, and its nearest vertex. `epistemic`: the two
    members farthest apart; the value is half of their distance.
    """

    total: Witness
    lower: Witness
    upper: Witness
    epistemic: Witness


def witnesses(Q: Any) -> Witnesses:
    """Return the distributions at which one set attains its uncertainties.

    Parameters
    ----------
    Q : credal set, or array-like of shape (M, K)

    Returns
    -------
    Witnesses

    Examples
    --------
    >>> from credalens.plots.decomposition import witnesses
    >>> found = witnesses([[0.7, 0.2, 0.1], [0.4, 0.3, 0.3]])
    >>> found.total.start, found.total.end, round(found.total.value, 3)
    (array([0.4, 0.3, 0.3]), array([1., 0., 0.]), 0.6)
    """
    Q = as_credal_set(Q)
    if Q.batch_shape:
        _validation.refuse("Q", f"is a batch of shape {Q.batch_shape}", "pass one set")
    P = np.asarray(Q.plain().to_hull().members, np.float64)
    u = quantify(Q, "tv")
    corners = np.eye(P.shape[1])
    y = int(np.argmax(P.min(axis=0)))
    total = Witness(P[np.argmin(P[:, y])], corners[y], float(u.total))
    sure = P[np.argmax(P.max(axis=1))]
    unsure = _most_ambiguous(P)
    apart = np.abs(P[:, None] - P[None]).sum(axis=-1)
    i, j = np.unravel_index(np.argmax(apart), apart.shape)
    return Witnesses(
        total,
        Witness(sure, corners[np.argmax(sure)], float(u.aleatoric.lower)),
        Witness(unsure, corners[_other(unsure, int(np.argmax(sure)))], float(u.aleatoric.upper)),
        Witness(P[i], P[j], float(u.epistemic)),
    )


def _other(p: Array, y: int) -> int:
    """Return a most probable class of `p`; one of several that are equally so is not `y`."""
    best = np.flatnonzero(p >= p.max() - 1e-9)
    return int(next((k for k in best if k != y), best[0]))


def _most_ambiguous(P: Array) -> Array:
    """Return the mixture of the rows of `P` whose largest probability is smallest."""
    from scipy.optimize import linprog

    M, K = P.shape
    # Variables: weights of the members, then the largest probability.
    above = np.column_stack([P.T, -np.ones(K)])
    found = linprog(
        np.r_[np.zeros(M), 1.0],
        A_ub=above,
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
    axes: Any = None,
) -> Any:
    """Draw the total, aleatoric and epistemic uncertainty of a set over three classes.

    Each arrow joins two distributions whose total variation distance is the number below.
    Total: the member farthest from the vertex that is nearest to the whole set. Aleatoric: the
    least and the most ambiguous distribution of the set, each with its nearest vertex. Epistemic:
    the two members farthest apart; the uncertainty is half of their distance.

    Parameters
    ----------
    Q : credal set, or array-like of shape (M, 3)
        One set over three classes; an array stands for the hull of its rows.
    class_names : three strings
        Names at the corners.
    axes : three matplotlib Axes, optional
        Where to draw; a new figure by default.

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
    if axes is None:
        axes = new_axes(12.6, 4.4, columns=3)
    for ax in axes:
        simplex(Q, class_names=class_names, ax=ax)
    found = witnesses(Q)
    _arrow(axes[0], found.total, "TU")
    axes[0].set_title(f"(a) Total: {found.total.value:.2f}")
    _levels(axes[1])
    _arrow(axes[1], found.lower, "lower", COLOURS[2])
    _arrow(axes[1], found.upper, "upper")
    axes[1].set_title(f"(b) Aleatoric: {found.lower.value:.2f} to {found.upper.value:.2f}")
    _arrow(axes[2], found.epistemic, "2 EU", times=2)
    axes[2].set_title(f"(c) Epistemic: {found.epistemic.value:.2f}")
    return axes


def _arrow(ax: Any, witness: Witness, name: str, colour: str = COLOURS[1], times: int = 1) -> None:
    """Join two distributions; the number stands below the triangle, where nothing is in its way."""
    start, end = to_plane(witness.start), to_plane(witness.end)
    ax.plot(
        *start, "o-", ms=6, color=colour, zorder=4, label=f"{name} = {times * witness.value:.2f}"
    )
    if not np.array_equal(start, end):
        ax.annotate(
            "", end, start, arrowprops={"arrowstyle": "<->", "color": colour, "lw": 1.8}, zorder=4
        )
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.1), ncols=2)


def _levels(ax: Any) -> None:
    """Draw lines on which precise distributions have the same aleatoric uncertainty."""
    steps = 60
    grid = np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)])
    p = grid / steps
    limits = ax.get_xlim(), ax.get_ylim()
    ax.tricontour(
        *to_plane(p).T, 1 - p.max(axis=1), levels=[0.2, 0.4, 0.6], colors=QUIET, linewidths=0.7
    )
    ax.set(xlim=limits[0], ylim=limits[1])
