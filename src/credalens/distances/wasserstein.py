"""The Wasserstein-1 distance: the cost of optimal transport between distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._backend import DEFAULT_THREADS, Array, map_instances
from credalens._edges import Edges, Line, on_line
from credalens._protocols import CredalSetLike
from credalens._warnings import warn_caller
from credalens.distances import choquet, optimal_transport
from credalens.distances.base import Distance, Seminorm, block_rows, square_matrix
from credalens.distances.tree_edges import on_tree

#: Up to this number of classes distances on lines and trees are compared by their ground costs.
MAX_COMPARED = 512


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
    that are not excluded by bounds; its plans and dual solutions are certified bounds, whose
    difference is the error of epistemic uncertainty.

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
    _separates: bool = True

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
        equal = np.argwhere(np.triu(np.maximum(matrix, matrix.T) == 0, 1))
        vars(self).update(n_classes=len(matrix), cost=matrix)
        self._warn_of_equal(tuple(equal[0]) if len(equal) else None)

    @classmethod
    def _on_edges(cls, edges: Edges, equal: tuple[int, int] | None) -> Self:
        distance = cls.__new__(cls)
        vars(distance).update(n_classes=edges.n_classes, _edges=edges)
        distance._warn_of_equal(equal)
        return distance

    @cached_property
    def cost(self) -> Array:
        """Ground cost, ``(K, K)``; on lines and trees it is computed when it is first used."""
        cost = np.asarray(self._edges and self._edges.dense())
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
        edges = on_line(at)
        equal = np.flatnonzero(edges.length == 0)
        pairs = zip(edges.order[equal], edges.order[equal + 1], strict=True)
        return cls._on_edges(edges, min(((int(z), int(y)) for z, y in pairs), default=None))

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
        return cls._on_edges(*on_tree(parents, lengths, classes))

    def _key(self) -> Any:
        edges = self._edges
        if edges is None or self.n_classes <= MAX_COMPARED:
            return self.cost.shape, self.cost.tobytes()
        return tuple(x.tobytes() for x in (edges.order, edges.start, edges.stop, edges.length))

    def ground_costs(self) -> Array | Edges:
        """Return the edges of a line or tree, otherwise the ground cost."""
        return self.cost if self._edges is None else self._edges

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
        if self._edges is not None:
            return self._separates
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
        return self.diameter_bounds(points)[0]

    def diameter_bounds(self, points: Array) -> tuple[Array, Array]:
        """Return certified bounds of `diameter`, the same array twice if it has a closed form."""
        self._require_metric()
        if self._edges is not None:
            kernel, rows = partial(_diameter_on_edges, self._edges), None
        elif self._lipschitz_vertices is not None:
            kernel, rows = partial(_largest_range, self._lipschitz_vertices), block_rows(points)
        else:
            lower, upper = map_instances(
                self._bounds_of_block, points, [(), ()], rows=block_rows(points)
            )
            return lower, upper
        (diameter,) = map_instances(kernel, points, [()], rows=rows, large=rows is None)
        return diameter, diameter

    def _bounds_of_block(self, block: Array, lower: Array, upper: Array) -> None:
        rows = block.astype(np.float64, copy=False)
        lower[:], upper[:], _ = optimal_transport.farthest_pair(self.cost, rows)

    def seminorm(self, n_classes: int) -> Seminorm | None:
        """Return the mass across edges, or the test functions for few classes; else ``None``."""
        if self._edges is not None:
            return Seminorm(1, self._edges)
        vertices = self._lipschitz_vertices
        return None if vertices is None else Seminorm(math.inf, vertices.T)

    def line(self, n_classes: int) -> Line | None:
        """Return the classes on a line, ``None`` for a tree or another cost."""
        return None if self._edges is None else self._edges.line

    def diameter_witness(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return the farthest pair of rows of each ``(b, M, K)``, and its test function.

        The test function is 1-Lipschitz, and its expectations differ by the distance.
        """
        self._require_metric()
        first, second = optimal_transport.farthest_pair(self.cost, rows)[2]
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

    def _warn_of_equal(self, pair: tuple[int, int] | None) -> None:
        """Warn of two classes between which the cost is 0."""
        if pair is None:
            return
        vars(self).update(_separates=False)
        warn_caller(
            f"cost: is 0 between classes {pair[0]} and {pair[1]} (zero-based), so that the "
            "distance is a pseudo-metric, which does not distinguish them",
            UserWarning,
        )

    def __repr__(self) -> str:
        return f"Wasserstein(<cost on {self.n_classes} classes>)"


def _largest_range(functions: Array, block: Array, diameter: Array) -> None:
    """Write the largest range of the expectations of test functions ``(F, K)``."""
    rows = block.reshape(-1, functions.shape[1]).astype(np.float64, copy=False)
    means = (rows @ functions.T).reshape(*block.shape[:2], -1)
    (means.max(axis=1) - means.min(axis=1)).max(axis=1, out=diameter, initial=0.0)


def _diameter_on_edges(edges: Edges, block: Array, diameter: Array) -> None:
    """Write the largest L1 distance between the edge masses of two rows."""
    if len(edges.length) == 0:
        diameter[:] = 0.0
    else:
        _kernels.tree_wasserstein_diameter(
            block, edges.order, edges.start, edges.stop, edges.length, diameter, DEFAULT_THREADS
        )
