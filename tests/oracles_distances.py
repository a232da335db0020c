"""Slow, literal answers for distances other than total variation, from the definitions.

Everything takes one instance and works in float64. Linear programs are HiGHS's, quadratic programs
Clarabel's, non-negative least squares SciPy's.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import cvxpy as cp
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp, nnls

Distance = Callable[[np.ndarray, np.ndarray], float]

#: With its default of 1e-7, HiGHS leaves out small masses and was off by 1e-8.
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def wasserstein(p: np.ndarray, q: np.ndarray, cost: np.ndarray) -> float:
    """Least cost over all plans with marginals p and q."""
    K = len(p)
    rows = np.kron(np.eye(K), np.ones(K))
    columns = np.kron(np.ones(K), np.eye(K))
    # One marginal is implied by the others; rounding must not make the program infeasible.
    A, b = np.r_[rows, columns[:-1]], np.r_[p, q[:-1]]
    return float(linprog(cost.ravel(), A_eq=A, b_eq=b, options=TIGHT).fun)


def mmd(p: np.ndarray, q: np.ndarray, kernel: np.ndarray) -> float:
    """``sqrt(E k(x, x') - 2 E k(x, y) + E k(y, y'))``, sum by sum."""
    K = range(len(p))
    square = sum(kernel[i, j] * (p[i] * p[j] - 2 * p[i] * q[j] + q[i] * q[j]) for i in K for j in K)
    return float(np.sqrt(max(square, 0.0)))


def kolmogorov(p: np.ndarray, q: np.ndarray) -> float:
    return max(abs(sum(p[:k]) - sum(q[:k])) for k in range(len(p) + 1))


def finite(p: np.ndarray, q: np.ndarray, functions: np.ndarray) -> float:
    return max(abs(float(f @ p) - float(f @ q)) for f in functions)


def mixtures(M: int, steps: int) -> np.ndarray:
    """All weights of M members in multiples of ``1 / steps``."""
    cuts = itertools.combinations(range(steps + M - 1), M - 1)
    return np.array([np.diff([-1, *c, steps + M - 1]) - 1 for c in cuts]) / steps


def by_grid(P: np.ndarray, d: Distance, steps: int) -> dict[str, float]:
    """TU, both ends of AU and EU over a grid of the hull that has the members in it.

    EU is over the members and a few mixtures; the rest over all mixtures.
    """
    K = P.shape[1]
    points = mixtures(len(P), steps) @ P
    to_diracs = np.array([[d(p, delta) for delta in np.eye(K)] for p in points])
    some = np.r_[P, points[:: 1 + len(points) // 4]]
    return {
        "total": to_diracs.max(axis=0).min(),
        "lower": to_diracs.min(),
        "upper": to_diracs.min(axis=1).max(),
        "epistemic": max((d(p, q) for p, q in itertools.combinations(some, 2)), default=0.0) / 2,
    }


def mmd_lower(P: np.ndarray, kernel: np.ndarray) -> float:
    """Least distance of a Dirac measure from the hull: K quadratic programs."""
    M, K = P.shape
    # v^T k v for v that sum to 0, written so that the solver sees that it is convex.
    center = np.eye(K) - 1 / K
    values, axes = np.linalg.eigh(center @ kernel @ center)
    root = axes * np.sqrt(np.maximum(values, 0.0))
    best = np.inf
    for y in range(K):
        w = cp.Variable(M, nonneg=True)
        objective = cp.Minimize(cp.norm2(root.T @ (P.T @ w - np.eye(K)[y])))
        best = min(best, cp.Problem(objective, [cp.sum(w) == 1]).solve(solver=cp.CLARABEL))
    return float(best)


def finite_lower(P: np.ndarray, functions: np.ndarray) -> float:
    """Least distance of a Dirac measure from the hull: K linear programs."""
    M = len(P)
    best = np.inf
    for y in range(P.shape[1]):
        A = (P @ functions.T - functions[:, y]).T
        both = np.r_[np.c_[A, -np.ones(len(A))], np.c_[-A, -np.ones(len(A))]]
        solution = linprog(
            np.r_[np.zeros(M), 1.0], A_ub=both, b_ub=np.zeros(len(both)),
            A_eq=np.r_[np.ones(M), 0.0][None], b_eq=[1.0], options=TIGHT,
        )  # fmt: skip
        best = min(best, solution.fun)
    return float(best)


def finite_upper(P: np.ndarray, functions: np.ndarray) -> float:
    """``max_p min_y max_f |f(p) - f(y)|``: binaries choose a signed function for each y."""
    M, K = P.shape
    signed = np.r_[functions, -functions]
    G = len(signed)
    big = 2 * np.ptp(functions, axis=1).max() + 1
    rows, high = [], []
    for y in range(K):
        above = P @ signed.T - signed[:, y]  # (M, G)
        for g in range(G):
            row = np.zeros(M + 1 + K * G)
            row[:M], row[M], row[M + 1 + y * G + g] = -above[:, g], 1.0, big
            rows.append(row)
            high.append(big)  # t <= above . w + big (1 - z)
    one = np.zeros((1 + K, M + 1 + K * G))
    one[0, :M] = 1
    for y in range(K):
        one[1 + y, M + 1 + y * G : M + 1 + (y + 1) * G] = 1
    objective = np.zeros(M + 1 + K * G)
    objective[M] = -1
    solution = milp(
        objective,
        constraints=[LinearConstraint(np.array(rows), ub=high), LinearConstraint(one, 1, 1)],
        integrality=np.r_[np.zeros(M + 1), np.ones(K * G)],
        bounds=Bounds(0, np.r_[np.ones(M), np.inf, np.ones(K * G)]),
    )
    return float(-solution.fun)


def event_width(P: np.ndarray, event: tuple[int, ...]) -> float:
    mass = P[:, list(event)].sum(axis=1)
    return float(mass.max() - mass.min())


def choquet_width(f: np.ndarray, P: np.ndarray) -> float:
    """Upper minus lower Choquet integral of f, one level set after the other."""
    order = [int(y) for y in np.argsort(-f, kind="stable")]
    return sum(
        (f[order[i - 1]] - f[order[i]]) * event_width(P, tuple(order[:i]))
        for i in range(1, len(f))
    )  # fmt: skip


def wasserstein_imprecision(P: np.ndarray, cost: np.ndarray) -> float:
    """Largest Choquet width of a Lipschitz function: a linear program for every ordering."""
    K = P.shape[1]
    best = 0.0
    for order in itertools.permutations(range(K)):
        width = [event_width(P, order[:i]) for i in range(1, K)]
        # Steps g_i >= 0 from order[i] to order[i + 1]; from order[i] to order[j] at most the cost.
        pairs = list(itertools.combinations(range(K), 2))
        A = np.array([[i <= step < j for step in range(K - 1)] for i, j in pairs], float)
        b = [cost[order[i], order[j]] for i, j in pairs]
        best = max(best, -linprog(-np.array(width), A_ub=A, b_ub=b, options=TIGHT).fun)
    return best


def mmd_imprecision(P: np.ndarray, kernel: np.ndarray) -> float:
    """Largest Choquet width over the unit ball: a projection on a cone for every ordering.

    With ``f(y) = theta . v_y`` and the steps of f along an ordering ``D theta >= 0``, the largest
    ``b . theta`` with ``|theta| <= 1`` is the least ``|b + D^T lam|`` with ``lam >= 0``.
    """
    K = P.shape[1]
    values, axes = np.linalg.eigh(kernel)
    v = axes * np.sqrt(np.maximum(values, 0.0))
    best = 0.0
    for order in itertools.permutations(range(K)):
        D = v[list(order[:-1])] - v[list(order[1:])]
        b = D.T @ [event_width(P, order[:i]) for i in range(1, K)]
        best = max(best, nnls(D.T, -b)[1])
    return best
