"""The Wasserstein-1 distance: the least cost of moving one distribution to another."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from credalens import _kernels, _validation
from credalens._arrays import AS_WANTED, Array, per_instance
from credalens.distances import choquet, transport
from credalens.distances.base import Distance, Questions, Seminorm, block_rows, square_matrix
from credalens.distances.edges import Edges, on_line, on_tree


@dataclass(frozen=True, eq=False, repr=False)
class Wasserstein(Distance):
    """Wasserstein-1 distance, the least cost of moving one distribution to another.

    ``d(p, delta_y) = E_p[c(., y)]`` is the expected cost of deciding for y, so that total
    uncertainty is the worst-case risk of the best decision and the aleatoric interval holds the
    Bayes risks of the plausible models.

    Parameters
    ----------
    cost : array-like of shape (K, K)
        Ground cost, ``cost[z, y]`` from class z to class y: finite, not negative, zero on the
        diagonal. If it is not a metric, total and aleatoric uncertainty keep their meaning as
        risks, but epistemic uncertainty and mean imprecision are refused.

    Notes
    -----
    Distances and diameters are closed forms on a line (`ordinal`) and on a tree (`tree`). For a
    general metric on up to 7 classes they are maxima over the corners of the set of Lipschitz
    functions; beyond, an exact network simplex of the POT package solves the pairs of members that
    bounds cannot settle.

    Examples
    --------
    Mistaking class 0 for class 2 costs twice as much as for class 1:

    >>> import credalens as cl
    >>> d = cl.Wasserstein([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> float(d([1.0, 0.0, 0.0], [0.0, 0.5, 0.5]))
    1.5
    >>> d.is_metric
    True
    """

    cost: Array
    _edges: Edges | None = None

    def __init__(self, cost: Any) -> None:
        matrix = square_matrix(cost, "cost")
        for problem, bad, fix in (
            ("is negative", matrix < 0, "pass costs >= 0"),
            ("is not 0", (matrix != 0) & np.eye(len(matrix), dtype=bool),
             "staying in a class must cost nothing: pass a zero diagonal"),
        ):  # fmt: skip
            if bad.any():
                z, y = np.argwhere(bad)[0]
                _validation.refuse(
                    "cost", f"cost[{z}, {y}] (zero-based) = {matrix[z, y]:.6g} {problem}", fix
                )
        self._set(matrix, None)

    def _set(self, cost: Array, edges: Edges | None) -> None:
        cost.flags.writeable = False
        object.__setattr__(self, "cost", cost)
        object.__setattr__(self, "_edges", edges)
        same = np.argwhere(np.triu(np.maximum(cost, cost.T) == 0, 1))
        if len(same):
            z, y = same[0]
            warnings.warn(
                f"cost: moving between classes {z} and {y} (zero-based) is free, so that the "
                "distance does not tell them apart (a pseudo-metric)",
                UserWarning,
                stacklevel=4,
            )

    @classmethod
    def ordinal(cls, positions: Any) -> Self:
        """Return the distance for classes on a line.

        Parameters
        ----------
        positions : int, or array-like of shape (K,)
            Where each class lies; a number K puts the classes at 0, ..., K - 1.

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
                _validation.refuse(
                    "positions", f"has shape {at.shape}", "pass one number per class, or how many"
                )
        distance = cls.__new__(cls)
        distance._set(*on_line(at))
        return distance

    @classmethod
    def tree(cls, parents: Any, lengths: Any, classes: Any = None) -> Self:
        """Return the distance for classes at the nodes of a tree.

        Parameters
        ----------
        parents : array-like of int, shape (n,)
            Parent of each node (zero-based), -1 for the root.
        lengths : array-like of shape (n,)
            Length of the edge from each node to its parent, >= 0; the root's is not used.
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
        distance._set(*on_tree(parents, lengths, classes))
        return distance

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # read off the parameters
        """Number of classes K."""
        return len(self.cost)

    @property
    def dirac_costs(self) -> Array:
        """The ground cost, as ``d(p, delta_y) = E_p[cost(., y)]``."""
        return self.cost

    @cached_property
    def violation(self) -> str | None:
        """Where the cost is not symmetric or breaks the triangle inequality, or ``None``."""
        c = self.cost
        if self._edges is not None:
            return None
        slack = 1e-12 * c.max()
        skew = np.argwhere(np.abs(c - c.T) > slack)
        if len(skew):
            z, y = skew[0]
            return f"cost[{z}, {y}] = {c[z, y]:.6g} but cost[{y}, {z}] = {c[y, z]:.6g}"
        for x in range(len(c)):
            # Columns one by one: all triples at once would take K^3 numbers.
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
            _validation.refuse(
                "cost",
                f"is not a metric: {self.violation} (zero-based)",
                "epistemic uncertainty and mean imprecision need a symmetric cost that keeps the "
                "triangle inequality; total and aleatoric uncertainty do not",
            )

    @cached_property
    def _corners(self) -> Array | None:
        """Corners of the Lipschitz functions, where they are few and the cost is a metric."""
        if self.n_classes > choquet.FEW_CLASSES or self.violation is not None:
            return None
        return transport.lipschitz_functions(self.cost, ties=False)

    def between(self, p: Array, q: Array) -> Array:
        """Return the distances of float64 arrays ``(..., K)`` that broadcast."""
        if self._edges is not None:
            return np.asarray(np.abs(self._edges.masses(p) - self._edges.masses(q)).sum(axis=-1))
        if self._corners is not None:
            return np.asarray(np.abs((p - q) @ self._corners.T).max(axis=-1))
        p, q = np.broadcast_arrays(p, q)
        first, second = p.reshape(-1, self.n_classes), q.reshape(-1, self.n_classes)
        if self.violation is None:
            # What both have in common stays where it is, by the triangle inequality.
            first, second = np.maximum(first - second, 0), np.maximum(second - first, 0)
        return transport.transport_costs(self.cost, first, second).reshape(p.shape[:-1])

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""
        self._require_metric()
        if self._edges is None:
            (wide,) = per_instance(points, self._widest, [()], rows=block_rows(points))
        else:
            (wide,) = per_instance(points, partial(_widest_on, self._edges), [()], large=True)
        return wide

    def _widest(self, block: Array, wide: Array) -> None:
        rows = block.astype(np.float64, copy=False)
        if self._corners is None:
            wide[:] = transport.widest_pair(self.cost, rows)[0]
            return
        means = (rows.reshape(-1, self.n_classes) @ self._corners.T).reshape(*rows.shape[:2], -1)
        (means.max(axis=1) - means.min(axis=1)).max(axis=1, out=wide, initial=0.0)

    def seminorm(self, n_classes: int) -> Seminorm | None:
        """Return the mass across edges, or the test functions if they are few; else ``None``."""
        if self._edges is not None:
            return Seminorm(1, self._edges.matrix)
        return None if self._corners is None else Seminorm(math.inf, self._corners.T)

    def widest_functions(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return the two rows of the widest pair of each ``(b, M, K)``, and its test function.

        The function is 1-Lipschitz, and its expectations differ by the distance.
        """
        self._require_metric()
        first, second = transport.widest_pair(self.cost, rows)[1]
        each = np.arange(len(rows))
        return first, second, transport.potentials(self.cost, rows[each, first], rows[each, second])

    @cached_property
    def _steps(self) -> Array:
        return choquet.step_table(transport.lipschitz_functions(self.cost, ties=True))

    def imprecision(self, Q: Questions) -> tuple[Array, Array]:
        """Return the maximum mean imprecision: exact for up to 7 classes, else a bound below."""
        self._require_metric()
        if self.n_classes <= choquet.FEW_CLASSES:
            value = choquet.largest_integral(self._steps, choquet.event_widths(Q))
            return value, np.zeros_like(value)
        return super().imprecision(Q)

    def __repr__(self) -> str:
        return f"Wasserstein(<cost on {self.n_classes} classes>)"


def _widest_on(edges: Edges, block: Array, wide: Array) -> None:
    """Write the largest L1 distance between what two rows send across the edges."""
    if len(edges.length) == 0:
        wide[:] = 0.0
    else:
        _kernels.edge_diameter(
            block, edges.order, edges.start, edges.stop, edges.length, wide, AS_WANTED
        )
