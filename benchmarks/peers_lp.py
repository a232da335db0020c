"""Linear programs and SLSQP: matrix games and inequalities with SciPy and highspy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, minimize

from benchmarks.peers_batch import events, moebius


def linprog_game(C):
    """Return ``max over mixtures w of min over y of (w C)_y`` with SciPy."""
    M, K = C.shape
    answer = linprog(
        np.r_[np.zeros(M), -1.0],
        A_ub=np.c_[-C.T, np.ones(K)],
        b_ub=np.zeros(K),
        A_eq=np.r_[np.ones(M), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * M + [(None, None)],
        method="highs",
    )
    return -answer.fun


def _solver():
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("presolve", "off")  # slower for programs of this size
    solver.setOptionValue("solver", "simplex")
    return solver


def highs_games(P, cost=None, *, keep=True):
    """Return the same for every instance with highspy, which gets arrays.

    With `keep`, one solver is reused; otherwise every program has a new solver.
    """
    N, M, K = P.shape
    matrix = np.zeros((K + 1, M + 1))
    matrix[:K, M], matrix[K, :M] = 1.0, 1.0  # v - (w C)_y <= 0, and weights that sum to 1
    starts = np.arange(0, (M + 1) * (K + 1) + 1, M + 1, dtype=np.int32)
    index = np.tile(np.arange(M + 1, dtype=np.int32), K + 1)
    inf = 1e30
    objective = np.r_[np.zeros(M), 1.0]
    col = np.r_[np.zeros(M), -inf], np.full(M + 1, inf)
    row = np.r_[np.full(K, -inf), 1.0], np.r_[np.zeros(K), 1.0]
    whole = np.zeros(M + 1, dtype=np.int32)
    solver = _solver() if keep else None
    found = np.empty(N)
    for n, p in enumerate(P):
        used = solver or _solver()
        matrix[:K, :M] = -(1 - p if cost is None else p @ cost).T
        used.passModel(M + 1, K + 1, matrix.size, 2, -1, 0.0, objective, *col, *row,
                       starts[:-1], index, matrix.ravel(), whole)  # fmt: skip
        used.run()
        found[n] = used.getInfo().objective_function_value
    return found


def _minimax(K, bounds, A_ub, b_ub, extra=0, A_eq=None, b_eq=None):
    """Return the upper aleatoric end, 1 minus the minimax class probability, with SciPy.

    The variables are p, `extra` auxiliary variables, and the largest probability.
    """
    A_ub = np.zeros((0, K + extra)) if A_ub is None else A_ub
    top = np.c_[np.eye(K), np.zeros((K, extra)), -np.ones(K)]
    one = np.r_[np.ones(K), np.zeros(extra + 1)][None]
    equal = one if A_eq is None else np.r_[one, np.c_[A_eq, np.zeros(len(A_eq))]]
    answer = linprog(
        np.r_[np.zeros(K + extra), 1.0],
        A_ub=np.r_[top, np.c_[A_ub, np.zeros(len(A_ub))]],
        b_ub=np.r_[np.zeros(K), b_ub],
        A_eq=equal,
        b_eq=[1.0] if b_eq is None else np.r_[1.0, b_eq],
        bounds=[*bounds, (0, 1)],
        method="highs",
    )
    return 1 - answer.fun


def box_upper(low, high):
    return np.array([
        _minimax(len(a), list(zip(a, b, strict=True)), None, []) for a, b in zip(low, high,
                                                                               strict=True)
    ])  # fmt: skip


def contamination_upper(center, epsilon):
    low = (1 - epsilon[:, None]) * center
    return box_upper(low, low + epsilon[:, None])


def ball_upper(center, radius):
    """Use p = center + a - b, where the sum of a and b is at most twice the radius."""
    K = center.shape[1]
    found = []
    for c, r in zip(center, radius, strict=True):
        found.append(_minimax(
            K, [(0, 1)] * (3 * K), np.r_[np.zeros(K), np.ones(2 * K)][None], [2 * r], 2 * K,
            np.c_[np.eye(K), -np.eye(K), np.eye(K)], c,
        ))  # fmt: skip
    return np.array(found)


def capacity_upper(values):
    """Use one inequality per event."""
    K = values.shape[1].bit_length() - 1
    inside = -events(K)[1:-1]
    return np.array([_minimax(K, [(0, 1)] * K, inside, -v[1:-1]) for v in values])


def _slsqp_entropy(start, bounds, constraints, to_p=lambda x: x):
    def objective(x):
        p = np.clip(to_p(x), 1e-300, None)
        return float((p * np.log2(p)).sum())

    return -minimize(objective, start, method="SLSQP", bounds=bounds, constraints=constraints,
                     options={"ftol": 1e-12, "maxiter": 500}).fun  # fmt: skip


_SUM = {"type": "eq", "fun": lambda p: p.sum() - 1}


def box_entropy(low, high):
    """Return S* of probability intervals with SciPy's SLSQP."""
    found = []
    for a, b in zip(low, high, strict=True):
        width = (b - a).sum()
        start = a + (b - a) * (1 - a.sum()) / width if width else a
        found.append(_slsqp_entropy(start, list(zip(a, b, strict=True)), [_SUM]))
    return np.array(found)


def contamination_entropy(center, epsilon):
    low = (1 - epsilon[:, None]) * center
    return box_entropy(low, low + epsilon[:, None])


def ball_entropy(center, radius):
    K = center.shape[1]
    found = []
    for c, r in zip(center, radius, strict=True):
        constraints = [
            {"type": "eq", "fun": lambda x: x[:K].sum() - x[K:].sum()},
            {"type": "ineq", "fun": lambda x, r=r: 2 * r - x.sum()},
        ]
        bounds = [(0, 1)] * K + [(0, x) for x in c]
        found.append(_slsqp_entropy(np.zeros(2 * K), bounds, constraints,
                                    lambda x, c=c: c + x[:K] - x[K:]))  # fmt: skip
    return np.array(found)


def capacity_entropy(values):
    """Return S*, starting at the pignistic probability, with one inequality per event."""
    K = values.shape[1].bit_length() - 1
    inside = events(K)[1:-1]
    sizes = inside.sum(axis=1)
    found = []
    for v, m in zip(values, moebius(values), strict=True):
        start = (m[1:-1] / sizes) @ inside + m[-1] / K
        constraints = [_SUM, {"type": "ineq", "fun": lambda p, v=v: inside @ p - v[1:-1]}]
        found.append(_slsqp_entropy(start, [(0, 1)] * K, constraints))
    return np.array(found)
