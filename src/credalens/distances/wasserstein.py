"""The Wasserstein-1 distance: the cost of optimal transport between distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, map_instances
from credalens._protocols import CredalSetLike
from credalens._warnings import warn_caller
from credalens.distances import choquet, optimal_transport
from credalens.distances.base import Distance, Seminorm, block_rows, square_matrix
from credalens.distances.tree_edges import Edges, on_line, on_tree


@dataclass(frozen=True, eq=False, repr=False)
class Wasserstein(Distance):
    """Wasserstein-1 distance, the minimal cost of transport between two distributions.

    ``d(p, delta_y) = E_p[c(., y)]`` is the expected cost of predicting y, so that total uncertainty
    is the worst-case risk of the best decision and the aleatoric interval contains the Bayes risks
    of the distributions in the set.

    Parameters
    ----------
    cost : array-like of shape (K, K)
        Ground cost, ``cost[z, y]`` from class z to class y: finite, not negative, zero on the
        diagonal. If it is not a metric, total and aleatoric uncertainty are still risks, but
        epistemic uncertainty and mean imprecision raise a ValueError.

    Notes
    -----
    Distances and diameters have closed forms on a line (`ordinal`) and on a tree (`tree`). For a
    general metric on up to 7 classes they are maxima over the vertices of the set of 1-Lipschitz
    functions. For more classes, the network simplex algorithm of POT solves the pairs of members
    that are not excluded by bounds.

    Examples
    --------
    Confusing class 0 with class 2 costs twice as much as with class 1:

    >>> import credalens as cl
    >>> d = cl.Wasserstein([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> float(d([1.0, 0.0, 0.0], [0.0, 0.5, 0.5]))
    1.5
    >>> d.is_metric
    True
    """

    n_classes: int
    _edges: Edges | None = None
    _positions: Array | None = None

    def __init__(self, cost: Any) -> None:
        matrix = square_matrix(cost, "cost")
        for problem, bad, fix in (
            ("is negative", matrix < 0, "pass costs >= 0"),
            ("is not 0", (matrix != 0) & np.eye(len(matrix), dtype=bool),
             "pass a zero diagonal"),
        ):  # fmt: skip
            if bad.any():
                z, y = np.argwhere(bad)[0]
                _validation.raise_invalid(
                    "cost", f"cost[{z}, {y}] (zero-based) = {matrix[z, y]:.6g} {problem}", fix
                )
        self._set_cost(matrix, None)

    def _set_cost(self, cost: Array, edges: Edges | None) -> None:
        cost.flags.writeable = False
        vars(self).update(n_classes=len(cost), cost=cost, _edges=edges)
        _warn_of_equal(np.argwhere(np.triu(np.maximum(cost, cost.T) == 0, 1)))

    @cached_property
    def cost(self) -> Array:
        """Ground cost, ``(K, K)``; on a line it is computed when it is first used."""
        at = np.asarray(self._positions)
        cost: Array = np.abs(at[:, None] - at)
        cost.flags.writeable = False
        return cost

    @classmethod
    def ordinal(cls, positions: Any) -> Self:
        """Return the distance for classes on a line.

        Parameters
        ----------
        positions : int, or array-like of shape (K,)
            Position of each class; a number K is short for the positions 0, ..., K - 1.

        Returns
        -------
        Wasserstein

        Examples
        --------
        >>> import credalens as cl
        >>> cl.Wasserstein.ordinal(3).cost
        array([[0., 1., 2.],
               [1., 0., 1.],
               [2., 1., 0.]])
        >>> float(cl.Wasserstein.ordinal([0, 1, 10])([0.0, 1.0, 0.0], [0.0, 0.0, 1.0]))
        9.0
        """
        if np.ndim(positions) == 0:
            K = _validation.whole_number(positions, "positions", 1)
            at = np.arange(K, dtype=np.float64)
        else:
            at = _validation.finite(positions, "positions").astype(np.float64)
            if at.ndim != 1 or at.size == 0:
                _validation.raise_invalid(
                    "positions",
                    f"has shape {at.shape}",
                    "pass one number per class, or the number of classes",
                )
        distance, edges = cls.__new__(cls), on_line(at)
        vars(distance).update(n_classes=len(at), _edges=edges, _positions=at)
        equal = np.flatnonzero(edges.length == 0)
        _warn_of_equal(sorted(zip(edges.order[equal], edges.order[equal + 1], strict=True)))
        return distance

    @classmethod
    def tree(cls, parents: Any, lengths: Any, classes: Any = None) -> Self:
        """Return the distance for classes at the nodes of a tree.

        Parameters
        ----------
        parents : array-like of int, shape (n,)
            Parent of each node (zero-based), -1 for the root.
        lengths : array-like of shape (n,)
            Length of the edge from each node to its parent, >= 0; that of the root is ignored.
        classes : array-like of int, shape (K,), optional
            Node of each class. By default the classes are the leaves, in the order of their
            numbers.

        Returns
        -------
        Wasserstein

        Examples
        --------
        Node 4 joins cat and dog, node 5 joins car and bus, node 6 is the root:

        >>> import credalens as cl
        >>> d = cl.Wasserstein.tree([4, 4, 5, 5, 6, 6, -1], [1, 1, 1, 1, 2, 2, 0])
        >>> d.cost[0]
        array([0., 2., 6., 6.])
        """
        distance = cls.__new__(cls)
        distance._set_cost(*on_tree(parents, lengths, classes))
        return distance

    def _key(self) -> Any:
        return self.cost.shape, self.cost.tobytes()

    @property
    def dirac_costs(self) -> Array:
        """The ground cost, as ``d(p, delta_y) = E_p[cost(., y)]``."""
        return self.cost

    @cached_property
    def violation(self) -> str | None:
        """The first violation of symmetry or of the triangle inequality as text, or ``None``."""
        if self._edges is not None:
            return None
        c = self.cost
        slack = 1e-12 * c.max()
        skew = np.argwhere(np.abs(c - c.T) > slack)
        if len(skew):
            z, y = skew[0]
            return f"cost[{z}, {y}] = {c[z, y]:.6g} but cost[{y}, {z}] = {c[y, z]:.6g}"
        for x in range(len(c)):
            # One class at a time: all triples would need K^3 floats.
            worse = np.argwhere(c > c[:, x : x + 1] + c[x] + slack)
            if len(worse):
                z, y = worse[0]
                return (
                    f"cost[{z}, {y}] = {c[z, y]:.6g} is more than cost[{z}, {x}] + cost[{x}, {y}]"
                    f" = {c[z, x] + c[x, y]:.6g}"
                )
        return None

    @property
    def is_metric(self) -> bool:
        """Whether the cost is a metric on the classes."""
        apart = self.cost[~np.eye(len(self.cost), dtype=bool)]
        return bool((apart > 0).all()) and self.violation is None

    def _require_metric(self) -> None:
        if self.violation is not None:
            _validation.raise_invalid(
                "cost",
                f"is not a metric: {self.violation} (zero-based)",
                "epistemic uncertainty and mean imprecision need a symmetric cost that satisfies "
                "the triangle inequality; total and aleatoric uncertainty do not",
            )

    @cached_property
    def _lipschitz_vertices(self) -> Array | None:
        """Vertices of the set of Lipschitz functions; None for many classes or without a metric."""
        if self.n_classes > choquet.FEW_CLASSES or self.violation is not None:
            return None
        return optimal_transport.lipschitz_vertices(self.cost, ties=False)

    def between(self, p: Array, q: Array) -> Array:
        """Return the distances of float64 arrays ``(..., K)`` that broadcast."""
        if self._edges is not None:
            return np.asarray(np.abs(self._edges.masses(p) - self._edges.masses(q)).sum(axis=-1))
        if self._lipschitz_vertices is not None:
            return np.asarray(np.abs((p - q) @ self._lipschitz_vertices.T).max(axis=-1))
        p, q = np.broadcast_arrays(p, q)
        first, second = p.reshape(-1, self.n_classes), q.reshape(-1, self.n_classes)
        if self.violation is None:
            # By the triangle inequality, the common mass need not be transported.
            first, second = np.maximum(first - second, 0), np.maximum(second - first, 0)
        return optimal_transport.transport_costs(self.cost, first, second).reshape(p.shape[:-1])

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""
        self._require_metric()
        if self._edges is None:
            (diameter,) = map_instances(
                self._diameter_of_block, points, [()], rows=block_rows(points)
            )
        else:
            (diameter,) = map_instances(
                partial(_diameter_on_edges, self._edges), points, [()], large=True
            )
        return np.asarray(diameter)

    def _diameter_of_block(self, block: Array, diameter: Array) -> None:
        rows, vertices = block.astype(np.float64, copy=False), self._lipschitz_vertices
        if vertices is None:
            diameter[:] = optimal_transport.farthest_pair(self.cost, rows)[0]
            return
        means = (rows.reshape(-1, self.n_classes) @ vertices.T).reshape(*rows.shape[:2], -1)
        (means.max(axis=1) - means.min(axis=1)).max(axis=1, out=diameter, initial=0.0)

    def seminorm(self, n_classes: int) -> Seminorm | None:
        """Return the mass across edges, or the test functions for few classes; else ``None``."""
        if self._edges is not None:
            return Seminorm(1, self._edges.matrix)
        vertices = self._lipschitz_vertices
        return None if vertices is None else Seminorm(math.inf, vertices.T)

    def line(self) -> tuple[Array, Array] | None:
        """Return the order of the classes on a line and the lengths between neighbours."""
        edges = self._edges
        return (edges.order, edges.length) if edges is not None and edges.is_line else None

    def diameter_witness(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return the farthest pair of rows of each ``(b, M, K)``, and its test function.

        The test function is 1-Lipschitz, and its expectations differ by the distance.
        """
        self._require_metric()
        first, second = optimal_transport.farthest_pair(self.cost, rows)[1]
        each = np.arange(len(rows))
        return (
            first,
            second,
            optimal_transport.potentials(self.cost, rows[each, first], rows[each, second]),
        )

    @cached_property
    def _steps(self) -> Array:
        return choquet.step_table(optimal_transport.lipschitz_vertices(self.cost, ties=True))

    def imprecision(self, Q: CredalSetLike) -> tuple[Array, Array]:
        """Return the maximum mean imprecision: exact for up to 7 classes, else a lower bound."""
        self._require_metric()
        if self.n_classes <= choquet.FEW_CLASSES:
            sets = Q.detached("maximum mean imprecision")
            value = choquet.largest_integral(self._steps, choquet.event_widths(sets))
            return value, np.zeros_like(value)
        return super().imprecision(Q)

    def __repr__(self) -> str:
        return f"Wasserstein(<cost on {self.n_classes} classes>)"


def _warn_of_equal(pairs: Any) -> None:
    """Warn of the first of the pairs of classes between which the cost is 0."""
    if len(pairs):
        z, y = pairs[0]
        warn_caller(
            f"cost: is 0 between classes {z} and {y} (zero-based), so that the distance is a "
            "pseudo-metric, which does not distinguish them",
            UserWarning,
        )


def _diameter_on_edges(edges: Edges, block: Array, diameter: Array) -> None:
    """Write the largest L1 distance between the edge masses of two rows."""
    if len(edges.length) == 0:
        diameter[:] = 0.0
    else:
        _kernels.tree_wasserstein_diameter(
            block, edges.order, edges.start, edges.stop, edges.length, diameter, DEFAULT_THREADS
        )
