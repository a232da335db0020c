"""The largest distance of a point of a convex hull to the nearest class, in Euclidean space."""

from __future__ import annotations

import math

import numpy as np

from credalens import _matrix_game
from credalens._backend import Array
from credalens.distances.branch_and_bound import Nodes, maximise
from credalens.distances.minimum_norm_point import minimum_norm

#: Error at which the search stops.
TOLERANCE = 1e-7
#: Largest number of nodes: in the first search, which runs over all instances, and in the second
#: search of an instance, with few vertices (which always reaches `TOLERANCE`) and with many.
FIRST_LIMIT, FEW_LIMIT, MANY_LIMIT = 100, 50_000, 2000
FEW_VERTICES = 5
#: Largest number of floats per instance in the first search, which lowers its limit of nodes.
FIRST_FLOATS = 1 << 17
#: Largest number of members for a second search.
MOST_MEMBERS = 64
#: Largest number of simplices of the initial triangulation.
MOST_SIMPLICES = 10_000


def maximin_distance(points: Array, classes: Array) -> tuple[Array, Array]:
    """Return ``max over x of min over y of |x - v_y|`` of each hull, and a bound of its error.

    The hulls are those of the points ``(n, M, r)``; the classes v are ``(K, r)``. The value is
    attained at a point of the hull.
    """
    problems = MaximinDistance(points, classes)
    M = points.shape[1]
    limit = min(FIRST_LIMIT, 1 + FIRST_FLOATS // M**2)
    _, bound, weights = maximise(problems, problems.roots(), TOLERANCE, limit)
    value = problems.distance(weights)
    for i in np.flatnonzero(bound > value + TOLERANCE) if M <= MOST_MEMBERS else ():
        # Redundant members and a missing triangulation make the first bounds loose.
        vertices = _extreme_points(points[i])
        problem = MaximinDistance(vertices[None], classes)
        few = len(vertices) <= FEW_VERTICES
        roots = _simplices(vertices)
        limit = len(roots) + (FEW_LIMIT if few else MANY_LIMIT)
        _, upper, at = maximise(problem, roots[None], TOLERANCE, limit)
        value[i] = max(value[i], problem.distance(at)[0])
        bound[i] = min(bound[i], upper[0])
    return value, np.maximum(bound - value, 0.0)


def _extreme_points(points: Array) -> Array:
    """Return the rows of ``(M, r)`` that are not in the hull of the others."""
    alive = np.ones(len(points), bool)
    limit = 1e-12 * np.sqrt(np.square(points - points[0]).sum(axis=1).max())
    for m in range(len(points)):
        alive[m] = False
        if alive.any():
            alive[m] = minimum_norm((points[alive] - points[m])[None])[0][0] > limit
        else:
            alive[m] = True
    return np.asarray(points[alive])


def _simplices(vertices: Array) -> Array:
    """Return a triangulation of the hull of ``(M, r)``, as weights ``(simplices, s, M)``."""
    M = len(vertices)
    whole = np.eye(M)[None]
    _, sizes, axes = np.linalg.svd(vertices - vertices.mean(axis=0), full_matrices=False)
    rank = int((sizes > 1e-10 * max(float(sizes.max(initial=0.0)), 1e-300)).sum())
    if rank + 1 >= M or (rank > 3 and math.comb(M, rank + 1) > MOST_SIMPLICES):
        return whole
    flat = (vertices - vertices.mean(axis=0)) @ axes[:rank].T
    if rank == 1:
        order = np.argsort(flat[:, 0])
        return np.asarray(whole[0][np.stack([order[:-1], order[1:]], axis=1)])
    from scipy.spatial import Delaunay, QhullError

    try:
        return np.asarray(whole[0][Delaunay(flat).simplices])
    except QhullError:  # degenerate: one part, and a looser bound
        return whole


class MaximinDistance:
    """``max over x in a hull of min over y of |x - v_y|``: hulls ``(n, M, r)``, v ``(K, r)``.

    A node is a simplex of weights, ``(s, M)``, one vertex per row. On it, |x|^2 is at most the
    mixture of its values at the vertices, so that a matrix game of the squared distances of the
    vertices is an upper bound. Its error at weights w is ``sum over i < j of
    w_i w_j |x_i - x_j|^2``; the edge with the largest term is split.
    """

    def __init__(self, points: Array, classes: Array) -> None:
        center = points.mean(axis=1, keepdims=True)  # reduces cancellation
        self._x = points - center
        self._v = classes - center
        # |x - v|^2 = |x|^2 + a term that is linear in the weights.
        self._linear = np.einsum("nyr,nyr->ny", self._v, self._v)[:, None] - 2 * np.einsum(
            "nmr,nyr->nmy", self._x, self._v
        )

    def roots(self) -> Array:
        """Return the whole hull of each problem."""
        n, M, _ = self._x.shape
        return np.broadcast_to(np.eye(M), (n, 1, M, M))

    def distance(self, weights: Array) -> Array:
        """Return the distances of the mixtures ``(n, M)`` to their nearest classes."""
        x = np.einsum("nm,nmr->nr", weights, self._x)
        difference = x[:, None] - self._v
        return np.asarray(np.sqrt(np.einsum("nyr,nyr->ny", difference, difference).min(axis=1)))

    def bound(self, problem: Array, state: Array) -> tuple[Array, Array, Array, Array]:
        """Return upper bounds, attained distances, their weights, and the weights of the games."""
        x, linear = self._x[problem], self._linear[problem]
        vertices = state @ x
        squares = (vertices * vertices).sum(axis=2)[..., None] + state @ linear
        value, gap, w = _matrix_game.maximin(squares, weights=True)
        upper = np.sqrt(np.maximum(value + gap, 0.0))
        point = np.einsum("nm,nmk->nk", w, state)
        attained = _nearest_squared_distance(point, x, linear)
        # A vertex can be better than the solution of the game.
        at_vertices = squares.min(axis=2)
        vertex = at_vertices.argmax(axis=1)
        rows = np.arange(len(w))
        better = at_vertices[rows, vertex] > attained
        point[better] = state[rows, vertex][better]
        attained = np.maximum(attained, at_vertices[rows, vertex])
        attained = _improve(point, attained, x, linear)
        return upper, np.sqrt(np.maximum(attained, 0.0)), point, w

    def split(self, nodes: Nodes) -> tuple[Array, Array]:
        """Split the edge with the largest term of the error."""
        w, rows = nodes.hint, np.arange(len(nodes.hint))
        vertices = nodes.state @ self._x[nodes.problem]
        inner = vertices @ vertices.transpose(0, 2, 1)
        own = np.einsum("nmm->nm", inner)
        difference = np.maximum(own[:, :, None] + own[:, None, :] - 2 * inner, 0.0)
        s = w.shape[1]
        loss = (w[:, :, None] * w[:, None, :] * difference).reshape(len(w), -1)
        # At a vertex the error is zero and any edge can be split: the longest one.
        flat = loss.max(axis=1) <= 0
        loss[flat] = difference[flat].reshape(-1, s * s)
        i, j = np.divmod(loss.argmax(axis=1), s)
        total = w[rows, i] + w[rows, j]
        share = np.where(total > 0, w[rows, i] / np.where(total > 0, total, 1.0), 0.5)
        share = np.clip(share, 0.1, 0.9)[:, None]
        middle = share * nodes.state[rows, i] + (1 - share) * nodes.state[rows, j]
        first, second = nodes.state.copy(), nodes.state.copy()
        first[rows, i] = middle
        second[rows, j] = middle
        return first, second


def _nearest_squared_distance(point: Array, x: Array, linear: Array) -> Array:
    """Return the squared distances of mixtures to their nearest classes."""
    at = np.einsum("nm,nmr->nr", point, x)
    return np.asarray((at * at).sum(axis=1) + np.einsum("nm,nmy->ny", point, linear).min(axis=1))


def _improve(point: Array, attained: Array, x: Array, linear: Array) -> Array:
    """Replace each point by a better point of the hull if linearisation finds one, in place.

    |x|^2 is at least its tangent; with the tangent instead, the maximum is a matrix game.
    """
    at = np.einsum("nm,nmr->nr", point, x)
    tangent = 2 * np.einsum("nmr,nr->nm", x, at)
    _, _, w = _matrix_game.maximin(tangent[..., None] + linear, weights=True)
    value = _nearest_squared_distance(w, x, linear)
    better = value > attained
    point[better] = w[better]
    return np.where(better, value, attained)
