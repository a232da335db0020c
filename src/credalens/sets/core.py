"""The core of a lower probability: all distributions that dominate it, and its extreme points."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.sets.box_vertices import MAX_VERTICES

#: Largest number of classes for the double description method.
MAX_CUT_CLASSES = 7
#: A distribution this close to a face lies on it.
ON_FACE = 1e-11
#: The smallest tolerances of HiGHS, by default 1e-7.
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
#: Constraints with less slack in a solution of HiGHS may be tight.
NEARLY_TIGHT = 1e-8
#: Violations of constraints that are rounding.
ROUNDING = 1e-15


class Core:
    """All distributions that dominate one lower probability ``(2**K,)``, by linear programs.

    HiGHS accepts violations of constraints up to 1e-10 at least, which is more than rounding. Its
    solution names the constraints that are tight; the vertex is computed from these.
    """

    def __init__(self, values: Array, n_classes: int) -> None:
        events = np.flatnonzero(values[:-1] > 0.0)
        inside = (events[:, None] >> np.arange(n_classes) & 1).astype(np.float64)
        #: Constraints ``rows @ p >= least``: events, and classes.
        self._rows = np.concatenate([inside, np.eye(n_classes)])
        self._least = np.concatenate([values[events], np.zeros(n_classes)])

    def maximiser(self, f: Array) -> Array | None:
        """Return the member with the largest expectation of f ``(K,)``, None if there is none."""
        found = self.certified_maximiser(f)
        return None if found is None else found[0]

    def certified_maximiser(self, f: Array) -> tuple[Array, float] | None:
        """Return a member, and how much larger the expectation of f ``(K,)`` may be for others.

        The second number is the difference to a bound by the dual program. It includes what is left
        of violated constraints, up to rounding.
        """
        unit = float(np.abs(f).max()) or 1.0
        found = self._solve(-f / unit)
        if found is None:
            return None
        p, prices = found
        bound = self._bound(f, prices * unit)
        basis = self._tight(p, prices)
        if basis is not None:
            vertex, own = self._optimum(f, basis)
            bound = min(bound, self._bound(f, own))
            if self._violation(vertex) <= self._violation(p):
                p = vertex
        p = self._repaired(p)
        left = self._violation(p) * unit * len(f)
        return p, max(bound - float(f @ p), 0.0) + left

    def _solve(self, cost: Array) -> tuple[Array, Array] | None:
        """Return a solution of HiGHS and the prices of the constraints, None if there is none."""
        from scipy.optimize import linprog

        K = len(cost)
        events = len(self._rows) - K
        for options in (TIGHT, {}):  # rounding can leave no solution within tight tolerances
            found = linprog(
                cost, -self._rows[:events], -self._least[:events], np.ones((1, K)), [1.0],
                bounds=(0.0, 1.0), method="highs", options=options,
            )  # fmt: skip
            if found.x is not None:
                prices = np.concatenate([-found.ineqlin.marginals, found.lower.marginals])
                p = np.maximum(found.x, 0.0)
                return p / p.sum(), np.maximum(prices, 0.0)
        return None

    def _violation(self, p: Array) -> float:
        """Return by how much p misses a constraint, 0 if it is a member."""
        return max(float((self._least - self._rows @ p).max()), 0.0)

    def _tight(self, p: Array, prices: Array) -> Array | None:
        """Return K - 1 independent constraints that are tight at p, None if there are fewer."""
        K = len(p)
        slack = self._rows @ p - self._least
        tight = np.flatnonzero(slack <= NEARLY_TIGHT)
        tight = tight[np.lexsort((slack[tight], -prices[tight]))]
        chosen: list[int] = []
        normal = np.full((1, K), K**-0.5)  # orthonormal rows of the span
        for i in tight:
            rest = self._rows[i] - normal.T @ (normal @ self._rows[i])
            size = float(np.linalg.norm(rest))
            if size > 1e-6:
                normal = np.concatenate([normal, rest[None] / size])
                chosen.append(int(i))
            if len(normal) == K:
                return np.array(chosen)
        return None

    def _optimum(self, f: Array, basis: Array) -> tuple[Array, Array]:
        """Return the vertex and the prices of an optimal basis, by steps of the simplex method.

        The basis of HiGHS is optimal up to its tolerances only.
        """
        K = len(f)
        for _ in range(4 * K):
            system = np.concatenate([np.ones((1, K)), self._rows[basis]])
            goal = np.concatenate([[1.0], self._least[basis]])
            inverse = np.linalg.inv(system)
            vertex = inverse @ goal
            vertex += inverse @ (goal - system @ vertex)
            rates = f @ inverse[:, 1:]  # of f by the slack of each constraint
            worst = int(rates.argmax())
            if rates[worst] <= ROUNDING * float(np.abs(f).max()):
                break
            change = self._rows @ inverse[:, 1 + worst]
            slack = np.maximum(self._rows @ vertex - self._least, 0.0)
            change[basis] = 0.0
            falling = np.flatnonzero(change < -1e-9)
            if not len(falling):
                break
            basis = basis.copy()
            basis[worst] = falling[(slack[falling] / -change[falling]).argmin()]
        prices = np.zeros(len(self._rows))
        prices[basis] = np.maximum(-rates, 0.0)
        return np.where(np.abs(vertex) < 1e-17, 0.0, vertex), prices

    def _bound(self, f: Array, prices: Array) -> float:
        """Return an upper bound of the expectation of f, for any prices >= 0.

        ``E_p[f] <= max_y (f + prices @ rows)_y - prices @ least`` for every member p.
        """
        return float((f + prices @ self._rows).max() - prices @ self._least)

    def _repaired(self, p: Array) -> Array:
        """Return p, moved towards a member with slack in all constraints until it is a member."""
        violation = self._violation(p)
        if violation <= ROUNDING:
            return p
        inner, slack = self._inner
        if slack <= 0.0:  # no member has slack; the violation is left
            return p
        share = violation / (violation + slack)
        return np.asarray((1 - share) * p + share * inner)

    @cached_property
    def _inner(self) -> tuple[Array, float]:
        """The member with the largest slack in all constraints, and that; 0 if there is none."""
        from scipy.optimize import linprog

        count, K = self._rows.shape
        found = linprog(
            np.r_[np.zeros(K), -1.0], np.c_[-self._rows, np.ones(count)], -self._least,
            np.r_[np.ones(K), 0.0][None], [1.0], bounds=[(0.0, 1.0)] * K + [(0.0, None)],
            method="highs", options=TIGHT,
        )  # fmt: skip
        if found.x is None:
            return np.full(K, 1 / K), 0.0
        p = np.maximum(found.x[:K], 0.0)
        p /= p.sum()
        return p, max(float((self._rows @ p - self._least).min()), 0.0)


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
