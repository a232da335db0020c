"""Why an instance is uncertain, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens._arrays import Array
from credalens.distances import as_distance
from credalens.measures import aleatoric_uncertainty, total_uncertainty
from credalens.sets import ConvexHull

#: Above the second share of irreducible uncertainty a case is ambiguous, below the first unknown.
SHARES = (1 / 3, 2 / 3)


@dataclass(frozen=True)
class Reason:
    """What makes one instance uncertain."""

    #: "ambiguous", "unknown", "both" or "certain".
    kind: str
    #: A sentence for the person who gets the case.
    text: str
    #: The two members that disagree most, and the class that each puts above the other's value.
    models: tuple[str, str] | None
    classes: tuple[str, str] | None


def explain(
    members: Any,
    distance: Any = "tv",
    *,
    models: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
) -> list[Reason]:
    """Say for each instance whether it is ambiguous, unknown, or both.

    Parameters
    ----------
    members : array-like of shape (n, M, K), or ConvexHull
    distance : str or distance, default="tv"
        The geometry on distributions.
    models, classes : sequence of str, optional
        Names of members and classes; their positions by default.

    Returns
    -------
    list of Reason

    Notes
    -----
    The lower aleatoric end is the risk that is left under the most confident plausible model: no
    model of the set finds the case easier. If it makes up at least two thirds of the total
    uncertainty, the case is *ambiguous*, and training will not help; if at most one third,
    *unknown*: the models disagree, and data or training would help; between, *both*.

    Examples
    --------
    >>> explain([[[0.9, 0.1], [0.2, 0.8]]], models=["a", "b"], classes=["cat", "dog"])[0].text
    'the models disagree: a gives cat 0.90, b gives dog 0.80; data or training would help'
    """
    Q = members if isinstance(members, ConvexHull) else ConvexHull(members)
    points = np.asarray(Q.plain().members)
    n, M, K = points.shape
    models = [f"model {m}" for m in range(M)] if models is None else models
    called = [f"class {k}" for k in range(K)] if classes is None else classes
    classes = [str(k) for k in range(K)] if classes is None else classes
    total = np.asarray(total_uncertainty(Q, distance), np.float64)
    least = np.asarray(aleatoric_uncertainty(Q, distance).lower, np.float64)
    first, second = _farthest(points, as_distance(distance, K))
    return [
        _reason(total[i], least[i], points[i], (first[i], second[i]), models, (classes, called))
        for i in range(n)
    ]


def _farthest(points: Array, distance: Any) -> tuple[Array, Array]:
    """Return the pair of members of each instance that are farthest apart."""
    n, M, _ = points.shape
    widest = np.full(n, -1.0)
    pair = np.zeros((2, n), dtype=np.intp)
    for a in range(M):
        for b in range(a + 1, M):
            apart = distance.between(
                points[:, a].astype(np.float64), points[:, b].astype(np.float64)
            )
            wider = apart > widest
            widest[wider] = apart[wider]
            pair[:, wider] = [[a], [b]]
    return pair[0], pair[1]


def _reason(
    total: float,
    least: float,
    rows: Array,
    pair: tuple[int, int],
    models: Sequence[str],
    classes: tuple[Sequence[str], Sequence[str]],
) -> Reason:
    if total <= 0:
        return Reason("certain", "every model is sure of the same class", None, None)
    names, called = classes
    share = least / total
    kind = "unknown" if share <= SHARES[0] else "ambiguous" if share >= SHARES[1] else "both"
    hard = (
        f"every plausible model finds it hard: the most confident one still leaves {least:.2f} of "
        f"{total:.2f}"
    )
    difference = rows[pair[0]].astype(np.float64) - rows[pair[1]]
    if not difference.any():
        return Reason(kind, f"{hard}; no training will help", None, None)
    above, below = int(np.argmax(difference)), int(np.argmin(difference))
    apart = (
        f"the models disagree: {models[pair[0]]} gives {called[above]} "
        f"{rows[pair[0], above]:.2f}, {models[pair[1]]} gives {called[below]} "
        f"{rows[pair[1], below]:.2f}"
    )
    text = {
        "ambiguous": f"{hard}; no training will help",
        "unknown": f"{apart}; data or training would help",
        "both": f"{hard}; and {apart}; training would help in part",
    }[kind]
    named = (models[pair[0]], models[pair[1]]), (names[above], names[below])
    return Reason(kind, text, *named)
