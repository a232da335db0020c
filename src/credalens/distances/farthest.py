"""The point of a hull that is farthest from the nearest of the classes, in Euclidean space."""

from __future__ import annotations

import math

import numpy as np

from credalens._arrays import Array
from credalens.distances.branching import Nodes, maximise
from credalens.distances.games import maximin
from credalens.distances.projection import nearest

#: Error at which the search stops.
TOLERANCE = 1e-7
#: Nodes for the first look at all instances, then for those that it leaves open, one by one: of
#: few corners, where `TOLERANCE` is always reached in less, and of more.
FIRST_LIMIT, FEW_LIMIT, MANY_LIMIT = 100, 50_000, 2000
FEW_CORNERS = 5
#: Numbers that the first look may hold for an instance, which lowers its limit for many members.
FIRST_FLOATS = 1 << 17
#: Most members for which a second look is worth its time.
MOST_MEMBERS = 64
#: Most simplices that a hull is cut into at the start.
MOST_SIMPLICES = 10_000


def farthest(points: Array, classes: Array) -> tuple[Array, Array]:
    """Return a distance from the nearest class that a point of each hull has, and its error.

    Points ``(n, M, r)`` span the hulls; classes are ``(K, r)``.
    """
    problems = FarthestFromClasses(points, classes)
    M = points.shape[1]
    limit = min(FIRST_LIMIT, 1 + FIRST_FLOATS // M**2)
    _, bound, weights = maximise(problems, problems.roots(), TOLERANCE, limit)
    value = problems.distance(weights)
    for i in np.flatnonzero(bound > value + TOLERANCE) if M <= MOST_MEMBERS else ():
        # Members that add nothing, and more members than dimensions, hide the shape of a hull.
        corners = _corners(points[i])
        problem = FarthestFromClasses(corners[None], classes)
        few = len(corners) <= FEW_CORNERS
        roots = _simplices(corners)
        limit = len(roots) + (FEW_LIMIT if few else MANY_LIMIT)
        _, upper, at = maximise(problem, roots[None], TOLERANCE, limit)
        value[i] = max(value[i], problem.distance(at)[0])
        bound[i] = min(bound[i], upper[0])
    return value, np.maximum(bound - value, 0.0)


def _corners(points: Array) -> Array:
    """Return the rows of ``(M, r)`` that are not in the hull of the others."""
    alive = np.ones(len(points), bool)
    limit = 1e-12 * np.sqrt(np.square(points - points[0]).sum(axis=1).max())
    for m in range(len(points)):
        alive[m] = False
        if alive.any():
            alive[m] = nearest((points[alive] - points[m])[None])[0][0] > limit
        else:
            alive[m] = True
    return np.asarray(points[alive])


def _simplices(corners: Array) -> Array:
    """Return simplices that make up the hull of ``(M, r)``, as weights ``(parts, s, M)``."""
    M = len(corners)
    whole = np.eye(M)[None]
    _, sizes, axes = np.linalg.svd(corners - corners.mean(axis=0), full_matrices=False)
    rank = int((sizes > 1e-10 * max(float(sizes.max(initial=0.0)), 1e-300)).sum())
    if rank + 1 >= M or (rank > 3 and math.comb(M, rank + 1) > MOST_SIMPLICES):
        return whole
    flat = (corners - corners.mean(axis=0)) @ axes[:rank].T
    if rank == 1:
        order = np.argsort(flat[:, 0])
        return np.asarray(whole[0][np.stack([order[:-1], order[1:]], axis=1)])
    from scipy.spatial import Delaunay, QhullError

    try:
        return np.asarray(whole[0][Delaunay(flat).simplices])
    except QhullError:  # too flat to be cut: one part, and a looser bound
        return whole


class FarthestFromClasses:
    """``max over x in a hull of min over y of |x - v_y|``: hulls ``(n, M, r)``, v ``(K, r)``.

    A node is a simplex in the weights, ``(s, M)``, one corner per row. On it, |x|^2 is at most what
    mixing its values at the corners gives, which leaves a matrix game in the squared distances of
    the corners. Its slack at weights w is ``sum over i < j of w_i w_j |x_i - x_j|^2``; the edge
    with the largest term is cut in two.
    """

    def __init__(self, points: Array, classes: Array) -> None:
        center = points.mean(axis=1, keepdims=True)  # near the points, less is lost to cancellation
        self._x = points - center
        self._v = classes - center
        # |x - v|^2 = |x|^2 + a part that is linear in the weights.
        self._linear = np.einsum("nyr,nyr->ny", self._v, self._v)[:, None] - 2 * np.einsum(
            "nmr,nyr->nmy", self._x, self._v
        )

    def roots(self) -> Array:
        """Return the whole hull of each problem."""
        n, M, _ = self._x.shape
        return np.broadcast_to(np.eye(M), (n, 1, M, M))

    def distance(self, weights: Array) -> Array:
        """Return the distance of the mixtures ``(n, M)`` from their nearest class."""
        x = np.einsum("nm,nmr->nr", weights, self._x)
        apart = x[:, None] - self._v
        return np.asarray(np.sqrt(np.einsum("nyr,nyr->ny", apart, apart).min(axis=1)))

    def bound(self, problem: Array, state: Array) -> tuple[Array, Array, Array, Array]:
        """Return upper bounds, attained distances, the weights that attain them, and the game's."""
        x, linear = self._x[problem], self._linear[problem]
        corners = state @ x
        squares = (corners * corners).sum(axis=2)[..., None] + state @ linear
        value, gap, w = maximin(squares)
        upper = np.sqrt(np.maximum(value + gap, 0.0))
        point = np.einsum("nm,nmk->nk", w, state)
        attained = _least_square(point, x, linear)
        # A corner may do better than the solution of the game.
        at_corners = squares.min(axis=2)
        corner = at_corners.argmax(axis=1)
        rows = np.arange(len(w))
        better = at_corners[rows, corner] > attained
        point[better] = state[rows, corner][better]
        attained = np.maximum(attained, at_corners[rows, corner])
        attained = _climb(point, attained, x, linear)
        return upper, np.sqrt(np.maximum(attained, 0.0)), point, w

    def split(self, nodes: Nodes) -> tuple[Array, Array]:
        """Cut the edge on which the bound loses the most."""
        w, rows = nodes.hint, np.arange(len(nodes.hint))
        corners = nodes.state @ self._x[nodes.problem]
        inner = corners @ corners.transpose(0, 2, 1)
        own = np.einsum("nmm->nm", inner)
        apart = np.maximum(own[:, :, None] + own[:, None, :] - 2 * inner, 0.0)
        s = w.shape[1]
        loss = (w[:, :, None] * w[:, None, :] * apart).reshape(len(w), -1)
        # Where w is a corner nothing is lost, and any cut is as good: the longest edge.
        flat = loss.max(axis=1) <= 0
        loss[flat] = apart[flat].reshape(-1, s * s)
        i, j = np.divmod(loss.argmax(axis=1), s)
        total = w[rows, i] + w[rows, j]
        share = np.where(total > 0, w[rows, i] / np.where(total > 0, total, 1.0), 0.5)
        share = np.clip(share, 0.1, 0.9)[:, None]
        middle = share * nodes.state[rows, i] + (1 - share) * nodes.state[rows, j]
        first, second = nodes.state.copy(), nodes.state.copy()
        first[rows, i] = middle
        second[rows, j] = middle
        return first, second


def _least_square(point: Array, x: Array, linear: Array) -> Array:
    """Return the squared distance of mixtures from their nearest class."""
    at = np.einsum("nm,nmr->nr", point, x)
    return np.asarray((at * at).sum(axis=1) + np.einsum("nm,nmy->ny", point, linear).min(axis=1))


def _climb(point: Array, attained: Array, x: Array, linear: Array) -> Array:
    """Move to a better point of the whole hull where there is one, in place.

    |x|^2 is above its tangent, and with the tangent in its place the maximum is a matrix game.
    """
    at = np.einsum("nm,nmr->nr", point, x)
    tangent = 2 * np.einsum("nmr,nr->nm", x, at)
    _, _, w = maximin(tangent[..., None] + linear)
    value = _least_square(w, x, linear)
    better = value > attained
    point[better] = w[better]
    return np.where(better, value, attained)
