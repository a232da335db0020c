"""Ternary plots of sets over any number of classes: marginal or conditional on three groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.plots.simplex import simplex
from credalens.plots.style import QUIET, Legend, font_size
from credalens.sets import as_credal_set

#: One class, by its index or name, or several of them together.
Group = int | str | Sequence[int | str]


def ternary(
    Q: Any,
    classes: Sequence[Group] | None = None,
    *,
    class_names: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    scale: bool = False,
    legend: Legend = True,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot credal sets over any number of classes in the triangle of three groups of classes.

    Parameters
    ----------
    Q : credal set, or array-like of shape (M, K) or (n, M, K)
        A single set or a short batch, over K >= 3 classes.
    classes : two or three groups, optional
        Each group is a class, by its index or name, or a sequence of classes. With two groups, the
        third one has all other classes. By default the two classes of largest upper probability.
    class_names : sequence of K str, optional
        Names of the classes; their indices by default.
    labels : sequence of str, optional
        Names of the sets for the legend.
    scale : bool, default=False
        Label each grid line with the probability of its group.
    legend : bool or dict, default=True
        Whether to add a legend of the `labels`; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.plot` for the members; a colour applies to the sets too.

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    If the groups contain all classes, which holds for two groups, the plot shows *marginal*
    distributions: the probabilities of the classes in a group are added. This is a linear map, so
    that the plotted set is the exact image of the set.

    If three groups leave classes out, the plot shows *conditional* distributions given the groups,
    ``p(A) / p(all groups)``. Segments are mapped to segments, so that this set is exact too, but
    the remaining probability is not visible; a text below the triangle states which probability the
    groups have in the sets. Uncertainties of the plotted sets are in general not those of ``Q``.

    See Also
    --------
    simplex : sets over three classes.
    credal_bars : lower and upper probability of each class.

    Examples
    --------
    >>> import credalens as cl
    >>> members, names = [[0.6, 0.2, 0.1, 0.1], [0.3, 0.4, 0.2, 0.1]], ["cat", "dog", "fox", "owl"]
    >>> ax = cl.plots.ternary(members, class_names=names)
    >>> [text.get_text() for text in ax.texts]
    ['cat', 'dog', 'fox or owl']
    >>> ax = cl.plots.ternary(members, ["cat", "dog", "fox"], class_names=names)
    >>> ax.texts[-1].get_text()
    'conditional on these groups, of probability 0.90'
    """
    Q = as_credal_set(Q)
    points = np.asarray(Q.to_numpy_backed().to_hull().generators, np.float64)
    K = points.shape[-1]
    if K < 3:
        _validation.raise_invalid("Q", f"has {K} classes", "pass sets over at least three classes")
    names = _class_names(class_names, K)
    if classes is None:
        upper = points.reshape(-1, K).max(axis=0)
        classes = np.sort(np.argsort(-upper, kind="stable")[:2]).tolist()
    groups = _groups(classes, names)
    mass = np.stack([points[..., group].sum(axis=-1) for group in groups], axis=-1)
    total = mass.sum(axis=-1)
    conditional = len(np.concatenate(groups)) < K
    if conditional and not total.all():
        _validation.raise_invalid(
            "classes", "have probability 0 in a distribution of the set, so that conditional "
            "distributions do not exist", "pass two groups; the third one has all other classes",
        )  # fmt: skip
    texts = [_group_name(group, names, i == len(classes)) for i, group in enumerate(groups)]
    ax = simplex(
        mass / total[..., None], class_names=texts, labels=labels, scale=scale, legend=legend,
        ax=ax, **kwargs,
    )  # fmt: skip
    if conditional:
        low, high = f"{total.min():.2f}", f"{total.max():.2f}"
        share = low if low == high else f"{low} to {high}"
        ax.text(0.5, -0.12, f"conditional on these groups, of probability {share}", ha="center",
                va="top", color=QUIET, fontsize=font_size(9))  # fmt: skip
    return ax


def _class_names(class_names: Sequence[str] | None, K: int) -> list[str]:
    names = [str(y) for y in range(K)] if class_names is None else [str(n) for n in class_names]
    if len(names) != K:
        _validation.raise_invalid("class_names", f"has {len(names)} names", f"pass {K}")
    return names


def _groups(classes: Sequence[Group], names: list[str]) -> list[Array]:
    """Return three groups of class indices."""
    if isinstance(classes, str) or len(classes) not in (2, 3):
        _validation.raise_invalid(
            "classes", f"is {classes!r}", "pass two or three classes or groups of classes"
        )
    groups = [_indices(group, names) for group in classes]
    listed = np.concatenate(groups)
    if len(np.unique(listed)) < len(listed):
        _validation.raise_invalid("classes", f"is {classes!r}", "pass each class once")
    if len(groups) == 2:
        groups.append(np.setdiff1d(np.arange(len(names)), listed))
    if not all(map(len, groups)):
        _validation.raise_invalid("classes", f"is {classes!r}", "leave a class for each group")
    return groups


def _indices(group: Group, names: list[str]) -> Array:
    members = [group] if isinstance(group, str | int | np.integer) else list(group)
    found = []
    for one in members:
        if isinstance(one, str) and one in names:
            found.append(names.index(one))
        elif isinstance(one, int | np.integer) and 0 <= one < len(names):
            found.append(int(one))
        else:
            _validation.raise_invalid(
                "classes", f"has {one!r}",
                f"pass indices 0 to {len(names) - 1}, or names in class_names",
            )  # fmt: skip
    return np.asarray(found, np.intp)


def _group_name(group: Array, names: list[str], rest: bool) -> str:
    """Return the name of a group; `rest`: the classes that no other group has."""
    if len(group) <= 2:
        return " or ".join(names[y] for y in group)
    return f"{len(group)} others" if rest else f"{names[group[0]]} and {len(group) - 1} more"
