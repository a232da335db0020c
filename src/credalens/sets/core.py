"""The core of a lower probability: all distributions that dominate it, and its extreme points."""

from __future__ import annotations

import math

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.sets.box_vertices import MAX_VERTICES

#: Largest number of classes for the double description method.
MAX_CUT_CLASSES = 7
#: A distribution this close to a face lies on it.
ON_FACE = 1e-11


class Core:
    """All distributions that dominate one lower probability ``(2**K,)``, by linear programs."""

    def __init__(self, values: Array, n_classes: int) -> None:
        events = np.flatnonzero(values[:-1] > 0.0)
        self._rows = -(events[:, None] >> np.arange(n_classes) & 1).astype(np.float64)
        self._least = -values[events]
        self._sum = np.ones((1, n_classes))

    def maximiser(self, f: Array) -> Array | None:
        """Return the member with the largest expectation of f ``(K,)``, None if there is none."""
        from scipy.optimize import linprog

        found = linprog(
            -f, self._rows, self._least, self._sum, [1.0], bounds=(0.0, 1.0), method="highs"
        )
        return None if found.x is None else np.asarray(found.x / found.x.sum())


def marginal_vertices(values: Array, n_classes: int) -> Array:
    """List the extreme points of the core of one 2-monotone lower probability ``(2**K,)``.

    They are the marginal vectors of the K! orders of the classes. Many orders share one: the
    distinct vectors of each event are built from those of the events with one class less.
    """
    level: dict[int, Array] = {0: np.zeros((1, n_classes))}
    for _ in range(n_classes):
        grown: dict[int, list[Array]] = {}
        for event, vectors in level.items():
            for y in range(n_classes):
                if event >> y & 1:
                    continue
                more = vectors.copy()
                more[:, y] = values[event | 1 << y] - values[event]
                grown.setdefault(event | 1 << y, []).append(more)
        level = {event: _distinct(np.concatenate(lists)) for event, lists in grown.items()}
        # Distinct vectors of an event never become equal later.
        if max(map(len, level.values())) > MAX_VERTICES:
            _validation.raise_invalid(
                "extreme_points",
                f"the set has more than {MAX_VERTICES:,}, at most {math.factorial(n_classes):,}",
                "pass fewer classes",
            )
    (points,) = level.values()
    return np.maximum(points, 0.0)


def _distinct(points: Array) -> Array:
    _, first = np.unique(np.round(points, 11), axis=0, return_index=True)
    return np.asarray(points[np.sort(first)])


def core_vertices(values: Array, n_classes: int) -> Array:
    """List the extreme points of the core of a lower probability ``(2**K,)``; none if it is empty.

    The double description method intersects the simplex with the half-space of one event after the
    other. Points outside are removed, and each edge from one of them to a point inside gives a new
    one. Two points share an edge if no third lies on all the faces that both lie on.

    References
    ----------
    T. S. Motzkin et al., "The double description method", 1953; K. Fukuda, A. Prodon, "Double
    description method revisited", 1996.
    """
    K = n_classes
    if K > MAX_CUT_CLASSES:
        _validation.raise_invalid(
            "extreme_points",
            f"the set of {K} classes is not 2-monotone, and listing them takes too long",
            f"pass at most {MAX_CUT_CLASSES} classes, or use total variation, the upper entropy, "
            "Hartley or expectations, which need no extreme points",
        )
    points = np.eye(K)
    on_face = np.eye(K) == 0  # faces p_y = 0
    for event in range(1, (1 << K) - 1):
        inside = (event >> np.arange(K) & 1).astype(np.float64)
        slack = points @ inside - values[event]
        keep, out = slack >= -ON_FACE, np.flatnonzero(slack < -ON_FACE)
        new_points, new_faces = [points[keep]], [on_face[keep]]
        # float64: for float32, OpenBLAS may read past a short row and raise the invalid flag.
        faces = on_face.astype(np.float64)
        for i in np.flatnonzero(slack > ON_FACE) if len(out) else ():
            # An edge lies on at least K - 2 faces, which few pairs share.
            near = out[faces[out] @ faces[i] >= K - 2]
            shared = on_face[i] & on_face[near]
            others = shared.astype(np.float64) @ faces.T == shared.sum(axis=1)[:, None]
            edge = others.sum(axis=1) == 2
            ends = near[edge]
            share = (slack[i] / (slack[i] - slack[ends]))[:, None]
            new_points.append((1 - share) * points[i] + share * points[ends])
            new_faces.append(shared[edge])
        count = sum(map(len, new_points[1:]))
        points = np.concatenate(new_points)
        on_face = np.concatenate(new_faces)
        on_new = np.abs(points @ inside - values[event]) <= ON_FACE
        if count:
            on_new[-count:] = True
        on_face = np.column_stack([on_face, on_new])
    return np.maximum(points, 0.0)
