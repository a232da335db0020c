"""A finite class of test functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from credalens import _validation
from credalens._arrays import Array, per_instance
from credalens.distances import choquet
from credalens.distances.base import Distance, Questions, Seminorm, block_rows
from credalens.distances.branching import Nodes, maximise
from credalens.distances.games import least_minimax, maximin

#: Parts of the search for the upper aleatoric end that an instance may have, and the numbers that
#: all of them may look at, which lowers the limit for many classes and functions.
NODE_LIMIT = 2000
NODE_FLOATS = 1 << 23
#: Bounds closer than this, times the largest step of a function, are equal but for rounding.
TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class TestFunctions(Distance):
    """Largest difference in expectation over finitely many test functions.

    ``d(p, q) = max over f of |E_p[f] - E_q[f]|``. All indicators of events give total variation,
    those of the first k classes the Kolmogorov distance.

    Parameters
    ----------
    matrix : array-like of shape (F, K)
        One test function per row. Constants, signs and repetitions do not matter and cost nothing.

    Notes
    -----
    Total and epistemic uncertainty are exact, O(M F K) and no pairs. The lower aleatoric end is K
    small matrix games between members and functions, each certified. The upper end is not a convex
    problem: which function is active at each class is searched by branch and bound, which ends
    with the exact value for small classes, and otherwise, at a limit of nodes, with a certified
    error.

    Examples
    --------
    Only the risk of the last class matters:

    >>> import credalens as cl
    >>> d = cl.TestFunctions([[0, 0, 1]])
    >>> float(d([0.5, 0.25, 0.25], [0.0, 0.5, 0.5]))
    0.25
    >>> d.is_metric
    False
    """

    __test__: ClassVar[bool] = False  # the name would make pytest collect it

    matrix: Array

    def __init__(self, matrix: Any) -> None:
        array = _validation.finite(matrix, "matrix").astype(np.float64)
        if array.ndim != 2 or array.size == 0:
            _validation.refuse(
                "matrix", f"has shape {array.shape}", "pass one test function per row, (F, K)"
            )
        array.flags.writeable = False
        object.__setattr__(self, "matrix", array)

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # read off the parameters
        """Number of classes K."""
        return int(self.matrix.shape[1])

    @cached_property
    def is_metric(self) -> bool:
        """Whether the functions tell all distributions apart."""
        return bool(np.linalg.matrix_rank(self._functions) == self.n_classes - 1)

    @cached_property
    def _functions(self) -> Array:
        """The functions, zero at the first class, without repetitions up to sign: ``(F', K)``."""
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
        means, apart = self._means(points), np.empty(points.shape)
        for y, at in enumerate(self._functions.T):
            apart[..., y] = np.abs(means - at).max(axis=2, initial=0.0)
        return apart

    def diameter(self, points: Array) -> Array:
        """Return the largest distance between two rows of each ``(..., V, K)``."""

        def kernel(block: Array, wide: Array) -> None:
            means = self._means(block)
            (means.max(axis=1) - means.min(axis=1)).max(axis=1, out=wide, initial=0.0)

        (wide,) = per_instance(points, kernel, [()], rows=self._rows(points))
        return wide

    def reach(self, points: Array) -> Array:
        """Return ``min over y of max over rows p of d(p, delta_y)`` of each ``(..., V, K)``."""

        def kernel(block: Array, worst: Array) -> None:
            self.to_diracs(block).max(axis=1).min(axis=1, out=worst)

        (worst,) = per_instance(points, kernel, [()], rows=self._rows(points))
        return worst

    def aleatoric(self, Q: Questions) -> tuple[Array, Array, Array]:
        """Return the ends of ``{min over y of d(p, delta_y) : p in Q}`` and their largest error."""
        if len(self._functions) == 0:  # constants tell nothing apart
            zero = np.zeros_like(self.total(Q))
            return zero, zero.copy(), zero.copy()
        tolerance = TOLERANCE * float(np.ptp(self._functions, axis=1).max())

        def kernel(block: Array, lower: Array, upper: Array, error: Array) -> None:
            # (b, K, M, F): how much f(p_m) is above f(y); and both signs of it.
            above = self._means(block)[:, None] - self._functions.T[:, None]
            signed = np.concatenate([above, -above], axis=3)
            lower[:], below_error = least_minimax(signed)
            search = _ActiveFunctions(signed)
            upper[:], bound, _ = maximise(search, search.roots(), tolerance, limit)
            np.minimum(lower, upper, out=lower)  # true by definition, but for rounding
            np.maximum(below_error, bound - upper, out=error)

        points = Q.to_hull().members
        size = 2 * len(self._functions) * points.shape[-1] * points.shape[-2]
        limit = min(NODE_LIMIT, 1 + NODE_FLOATS // size)
        rows = block_rows(points, 2 * len(self._functions))
        lower, upper, error = per_instance(points, kernel, [()] * 3, rows=rows)
        return lower, upper, error

    def imprecision(self, Q: Questions) -> tuple[Array, Array]:
        """Return the largest width of the Choquet integrals, which is exact."""
        value = choquet.finite_imprecision(self._functions, Q)
        return value, np.zeros_like(value)

    def _rows(self, points: Array) -> int:
        return block_rows(points, 1 + len(self._functions) // self.n_classes)

    def __repr__(self) -> str:
        F, K = self.matrix.shape
        return f"TestFunctions(<{F} functions on {K} classes>)"


class _ActiveFunctions:
    """``max over p of min over y of max over g of E_p[g] - g(y)`` for signed functions g.

    A node allows some functions at each class, ``(K, G)``. The largest of them is convex in p, so
    that mixing its values at the members bounds it from above: a matrix game. Splitting the
    functions allowed at a class makes that bound exact in the end.
    """

    def __init__(self, signed: Array) -> None:
        self._signed = signed  # (n, K, M, G)

    def roots(self) -> Array:
        """Allow, at each class, all functions but those below another at every member."""
        A = self._signed
        n, K, _, G = A.shape
        allowed = np.ones((n, K, G), bool)
        for g in range(G):
            over = (A[..., g : g + 1] <= A).all(axis=2) & allowed
            over[..., g] = False
            allowed[..., g] = ~over.any(axis=2)
        return allowed[:, None]

    def bound(self, problem: Array, state: Array) -> tuple[Array, Array, Array, Array]:
        """Return upper bounds, attained values, the weights that attain them, twice."""
        A = self._signed[problem]
        largest = np.where(state[:, :, None, :], A, -np.inf).max(axis=3)
        empty = (state.sum(axis=2) == 0).any(axis=1)
        largest[empty] = 0.0
        value, gap, weights = maximin(largest.transpose(0, 2, 1))
        means = np.einsum("nm,nymg->nyg", weights, A)
        upper = np.where(empty, -np.inf, value + gap)
        return upper, means.max(axis=2).min(axis=1), weights, weights

    def split(self, nodes: Nodes) -> tuple[Array, Array]:
        """Split the functions at the class where the bound is furthest from the truth."""
        A, w, allowed = self._signed[nodes.problem], nodes.hint, nodes.state
        n = np.arange(len(w))
        largest = np.where(allowed[:, :, None, :], A, -np.inf).max(axis=3)
        means = np.where(allowed, np.einsum("nm,nymg->nyg", w, A), -np.inf)
        truth = means.max(axis=2)
        # Where the truth reaches the bound, splitting could not lower it.
        short = truth < nodes.upper[:, None]
        y = np.where(short, np.einsum("nm,nym->ny", w, largest) - truth, -np.inf).argmax(axis=1)
        active = means[n, y].argmax(axis=1)
        # The member at which the active function falls short the most, and the best one there.
        lead = w * (largest[n, y] - A[n, y, :, active])
        member = lead.argmax(axis=1)
        here = np.where(allowed[n, y], A[n, y, member], -np.inf)
        rival = here.argmax(axis=1)
        tilt = np.where(allowed[n, y], A[n, y, member] - means[n, y], 0.0)
        steep = tilt > (tilt[n, active] + tilt[n, rival])[:, None] / 2
        # Both parts get something, unless the bound is off by nothing but rounding.
        steep[n, rival], steep[n, active] = True, False
        first, second = allowed.copy(), allowed.copy()
        first[n, y] &= steep
        second[n, y] &= ~steep
        return first, second
