"""Why an instance is uncertain, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens._arrays import Array
from credalens.distances import Distance, as_distance
from credalens.evaluation.kinds import KINDS, SECOND_LOOK, make_rule
from credalens.measures import quantify
from credalens.sets import ConvexHull


@dataclass(frozen=True)
class Reason:
    """What makes one instance uncertain."""

    #: Name of one of the `KINDS`.
    kind: str
    #: A sentence for the person who gets the case.
    text: str
    #: The two members that are farthest apart, and the class that each puts first; ``None`` where
    #: all are alike.
    models: tuple[str, str] | None
    classes: tuple[str, str] | None


def explain(
    members: Any,
    distance: Any = "tv",
    *,
    models: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    second_look: float = SECOND_LOOK,
) -> list[Reason]:
    """Say for each instance whether it is clear, ambiguous, unknown, or both, and what shows it.

    Parameters
    ----------
    members : array-like of shape (n, M, K), or ConvexHull
    distance : str or distance, default="tv"
        The geometry on distributions.
    models, classes : sequence of str, optional
        Names of members and classes; their positions by default.
    second_look : float, default=0.4
        The level of the rule, see `credalens.evaluation.kinds.Rule`.

    Returns
    -------
    list of Reason

    Examples
    --------
    >>> explain([[[0.9, 0.1], [0.2, 0.8]]], models=["a", "b"], classes=["cat", "dog"])[0].text
    'the models disagree: a says cat (0.90), b says dog (0.80)'
    """
    Q = members if isinstance(members, ConvexHull) else ConvexHull(members)
    points = np.asarray(Q.plain().members)
    _, M, K = points.shape
    models = [f"model {m}" for m in range(M)] if models is None else models
    called = [f"class {k}" for k in range(K)] if classes is None else classes
    classes = [str(k) for k in range(K)] if classes is None else classes
    geometry = as_distance(distance, K)
    u = quantify(Q, geometry)
    codes = make_rule(second_look, geometry, K).codes(u.aleatoric, u.epistemic)
    reasons = []
    for i, pair in enumerate(widest_pairs(points, geometry)):
        kind, shown = KINDS[codes[i]], []
        if kind.ambiguous:
            shown.append(f"risk {_range(float(u.aleatoric.lower[i]), float(u.aleatoric.upper[i]))}")
        if kind.unknown and pair is not None:
            shown.append("".join(apart(points[i, pair], [models[m] for m in pair], called)))
        if not shown:
            shown.append(f"total uncertainty {float(u.total[i]):.2f}")
        text = f"{kind.told(M)}: {'; '.join(shown)}"
        if pair is None:
            reasons.append(Reason(kind.name, text, None, None))
        else:
            (a, b), (first, second) = pair, points[i, pair].argmax(axis=1)
            reasons.append(
                Reason(kind.name, text, (models[a], models[b]), (classes[first], classes[second]))
            )
    return reasons


def _range(lower: float, upper: float) -> str:
    ends = dict.fromkeys((f"{lower:.2f}", f"{upper:.2f}"))
    return " to ".join(ends)


def widest_pairs(points: Array, distance: Distance) -> list[list[int] | None]:
    """Return the two members farthest apart in each instance of ``(n, M, K)``, if there are two."""
    n, M, _ = points.shape
    rows = points.astype(np.float64)
    widest, pairs = np.zeros(n), np.full((n, 2), -1)
    for m in range(1, M):
        distances = distance.between(rows[:, :m], rows[:, m : m + 1])
        wider = distances.max(axis=1) > widest
        pairs[wider] = np.stack([distances.argmax(axis=1), np.full(n, m)], axis=1)[wider]
        widest = np.maximum(widest, distances.max(axis=1))
    return [None if a < 0 else [a, b] for a, b in pairs.tolist()]


def apart(rows: Array, models: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Say what two models make of an instance, each by the class that it puts first.

    Where that is the same, both by the class that they differ on most. Names stay pieces of their
    own, for pages that mark them.

    Examples
    --------
    >>> "".join(apart(np.array([[0.9, 0.1], [0.2, 0.8]]), ["a", "b"], ["cat", "dog"]))
    'a says cat (0.90), b says dog (0.80)'
    >>> "".join(apart(np.array([[0.9, 0.1], [0.5, 0.5]]), ["a", "b"], ["cat", "dog"]))
    'a gives cat 0.90, b 0.50'
    """
    (a, b), (first, second) = models, rows.argmax(axis=1).tolist()
    if first != second:
        return [
            *(a, " says ", classes[first], f" ({rows[0, first]:.2f}), "),
            *(b, " says ", classes[second], f" ({rows[1, second]:.2f})"),
        ]
    most = int(np.abs(rows[0] - rows[1]).argmax())
    return [a, " gives ", classes[most], f" {rows[0, most]:.2f}, ", b, f" {rows[1, most]:.2f}"]
