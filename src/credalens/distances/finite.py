"""Integral probability metrics with a finite number of test functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from credalens import _matrix_game, _validation
from credalens._backend import Array, map_instances
from credalens._protocols import CredalSetLike
from credalens.distances import choquet
from credalens.distances.base import Distance, Seminorm, block_rows
from credalens.distances.branch_and_bound import Nodes, maximise

#: Largest number of nodes per instance of the search for the upper aleatoric end, and largest
#: number of floats of all nodes, which lowers the limit for many classes and functions.
NODE_LIMIT = 2000
NODE_FLOATS = 1 << 23
#: Tolerance of the search, relative to the largest range of a test function.
TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class TestFunctions(Distance):
    """Largest difference in expectation over a finite number of test functions.

    ``d(p, q) = max over f of |E_p[f] - E_q[f]|``. The indicators of all events give total
    variation, those of the first k classes the Kolmogorov distance.

    Parameters
    ----------
    matrix : array-like of shape (F, K)
        One test function per row. Constants, signs and repetitions have no effect.

    Notes
    -----
    Total and epistemic uncertainty are exact and cost O(M F K), without pairs of members. The lower
    aleatoric end is the smallest value of K matrix games between members and functions, each with
    a certificate. The upper end is a non-convex problem, solved by branch and bound over the
    function that is active at each class: exactly for few functions, otherwise, at a limit of
    nodes, with a certified error.

    Examples
    --------
    One test function, the probability of the last class:

    >>> import credalens as cl
    >>> d = cl.TestFunctions([[0, 0, 1]])
    >>> float(d([0.5, 0.25, 0.25], [0.0, 0.5, 0.5]))
    0.25
    >>> d.is_metric
    False
    """

    __test__: ClassVar[bool] = False  # pytest collects classes named Test*

    matrix: Array

    def __init__(self, matrix: Any) -> None:
        array = _validation.finite(matrix, "matrix").astype(np.float64)
        if array.ndim != 2 or array.size == 0:
            _validation.raise_invalid(
                "matrix", f"has shape {array.shape}", "pass one test function per row, (F, K)"
            )
        array.flags.writeable = False
        object.__setattr__(self, "matrix", array)

    def _key(self) -> Any:
        return self.matrix.shape, self.matrix.tobytes()

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # from the parameters
        """Number of classes K."""
        return int(self.matrix.shape[1])

    @cached_property
    def is_metric(self) -> bool:
        """Whether the functions separate all distributions."""
        return bool(np.linalg.matrix_rank(self._functions) == self.n_classes - 1)

    @cached_property
    def _functions(self) -> Array:
        """The distinct functions up to sign and constants, zero at the first class: ``(F', K)``."""
        shifted = self.matrix - self.matrix[:, :1]
        first = np.argmax(shifted != 0, axis=1)
        shifted = (
            shifted * np.where(shifted[np.arange(len(shifted)), first] < 0, -1.0, 1.0)[:, None]
        )
        distinct = np.unique(shifted + 0.0, axis=0)
        return np.asarray(distinct[(distinct != 0).any(axis=1)])

    def between(self, p: Array, q: Array) -> Array:
        """Return the distances of float64 arrays ``(..., K)`` that broadcast."""
        return np.asarray(np.abs((p - q) @ self._functions.T).max(axis=-1, initial=0.0))

    def seminorm(self, n_classes: int) -> Seminorm:
        """Return the largest difference of the expectations."""
        return Seminorm(math.inf, self._functions.T)

    def _means(self, block: Array) -> Array:
        """Return the expectations of the functions under rows ``(b, M, K)``: ``(b, M, F)``."""
        flat = block.reshape(-1, self.n_classes).astype(np.float64, copy=False)
        return np.asarray(flat @ self._functions.T).reshape(*block.shape[:2], -1)

    def to_diracs(self, points: Array) -> Array:
        """Return ``d(p, delta_y)`` for the rows p of float64 ``(b, M, K)`` and every y."""
        means, distance = self._means(points), np.empty(points.shape)
        for y, at in enumerate(self._functions.T):
            distance[..., y] = np.abs(means - at).max(axis=2, initial=0.0)
        return distance

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""

        def kernel(block: Array, diameter: Array) -> None:
            means = self._means(block)
            (means.max(axis=1) - means.min(axis=1)).max(axis=1, out=diameter, initial=0.0)

        (diameter,) = map_instances(kernel, points, [()], rows=self._rows(points))
        return np.asarray(diameter)

    def minimax_dirac_distance(self, points: Array) -> Array:
        """Return ``min over y of max over rows p of d(p, delta_y)`` of each ``(..., V, K)``."""

        def kernel(block: Array, worst: Array) -> None:
            self.to_diracs(block).max(axis=1).min(axis=1, out=worst)

        (worst,) = map_instances(kernel, points, [()], rows=self._rows(points))
        return np.asarray(worst)

    def aleatoric(self, Q: CredalSetLike) -> tuple[Array, Array, Array]:
        """Return the ends of ``{min over y of d(p, delta_y) : p in Q}`` and their largest error."""
        if len(self._functions) == 0:  # all functions are constant
            zero = np.zeros_like(self.total(Q))
            return zero, zero.copy(), zero.copy()
        tolerance = TOLERANCE * float(np.ptp(self._functions, axis=1).max())

        def kernel(block: Array, lower: Array, upper: Array, error: Array) -> None:
            # (b, K, M, F): E_m[f] - f(y), with both signs.
            above = self._means(block)[:, None] - self._functions.T[:, None]
            signed = np.concatenate([above, -above], axis=3)
            lower[:], below_error = _matrix_game.smallest_minimax(signed)
            search = _ActiveFunctions(signed)
            upper[:], bound, _ = maximise(search, search.roots(), tolerance, limit)
            np.minimum(lower, upper, out=lower)  # can be violated by rounding only
            np.maximum(below_error, bound - upper, out=error)

        points = Q.detached("aleatoric uncertainty of TestFunctions").to_hull().generators
        size = 2 * len(self._functions) * points.shape[-1] * points.shape[-2]
        limit = min(NODE_LIMIT, 1 + NODE_FLOATS // size)
        rows = block_rows(points, 2 * len(self._functions))
        lower, upper, error = map_instances(kernel, points, [()] * 3, rows=rows)
        return lower, upper, error

    def imprecision(self, Q: CredalSetLike) -> tuple[Array, Array]:
        """Return the largest width of the Choquet integrals, which is exact."""
        sets = Q.detached("maximum mean imprecision")
        value = choquet.finite_imprecision(self._functions, sets)
        return value, np.zeros_like(value)

    def _rows(self, points: Array) -> int:
        return block_rows(points, 1 + len(self._functions) // self.n_classes)

    def __repr__(self) -> str:
        F, K = self.matrix.shape
        return f"TestFunctions(<{F} functions on {K} classes>)"


class _ActiveFunctions:
    """``max over p of min over y of max over g of E_p[g] - g(y)`` for signed functions g.

    A node allows some functions at each class, ``(K, G)``. The largest of them is convex in p, so
    that the mixture of its values at the members is an upper bound, which gives a matrix game.
    Splitting the functions that are allowed at a class makes the bound exact.
    """

    def __init__(self, signed: Array) -> None:
        self._signed = signed  # (n, K, M, G)

    def roots(self) -> Array:
        """Allow, at each class, all functions that are not dominated at every member."""
        A = self._signed
        n, K, _, G = A.shape
        allowed = np.ones((n, K, G), bool)
        for g in range(G):
            over = (A[..., g : g + 1] <= A).all(axis=2) & allowed
            over[..., g] = False
            allowed[..., g] = ~over.any(axis=2)
        return allowed[:, None]

    def bound(self, problem: Array, state: Array) -> tuple[Array, Array, Array, Array]:
        """Return upper bounds, attained values and their weights, which are also the hints."""
        A = self._signed[problem]
        largest = np.where(state[:, :, None, :], A, -np.inf).max(axis=3)
        empty = (state.sum(axis=2) == 0).any(axis=1)
        largest[empty] = 0.0
        value, gap, weights = _matrix_game.maximin(largest.transpose(0, 2, 1), weights=True)
        means = np.einsum("nm,nymg->nyg", weights, A)
        upper = np.where(empty, -np.inf, value + gap)
        return upper, means.max(axis=2).min(axis=1), weights, weights

    def split(self, nodes: Nodes) -> tuple[Array, Array]:
        """Split the functions at the class with the largest error of the bound."""
        A, w, allowed = self._signed[nodes.problem], nodes.hint, nodes.state
        n = np.arange(len(w))
        largest = np.where(allowed[:, :, None, :], A, -np.inf).max(axis=3)
        means = np.where(allowed, np.einsum("nm,nymg->nyg", w, A), -np.inf)
        exact = means.max(axis=2)
        # If the exact value reaches the bound, a split cannot lower it.
        short = exact < nodes.upper[:, None]
        y = np.where(short, np.einsum("nm,nym->ny", w, largest) - exact, -np.inf).argmax(axis=1)
        active = means[n, y].argmax(axis=1)
        # The member with the largest deficit of the active function, and the best function there.
        lead = w * (largest[n, y] - A[n, y, :, active])
        member = lead.argmax(axis=1)
        here = np.where(allowed[n, y], A[n, y, member], -np.inf)
        rival = here.argmax(axis=1)
        tilt = np.where(allowed[n, y], A[n, y, member] - means[n, y], 0.0)
        steep = tilt > (tilt[n, active] + tilt[n, rival])[:, None] / 2
        # Both parts are not empty, unless the error of the bound is rounding.
        steep[n, rival], steep[n, active] = True, False
        first, second = allowed.copy(), allowed.copy()
        first[n, y] &= steep
        second[n, y] &= ~steep
        return first, second
