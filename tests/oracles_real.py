"""Uncertainty of hulls of distributions on the real line, slow and literal."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, minimize_scalar
from scipy.stats import norm, wasserstein_distance


def sample_uncertainty(x: np.ndarray) -> tuple[float, float, float, float]:
    """Total, lower and upper aleatoric, and epistemic uncertainty of samples ``(M, S)``.

    The upper aleatoric end is the value of a matrix game, by linear programming: the mixture
    against the prediction, for which the sample points are enough. The total is a linear programme
    over the prediction. Neither uses the minimax theorem.
    """
    M, S = x.shape
    points = np.unique(x)
    errors = np.abs(x[:, :, None] - points).mean(axis=1)  # (M, T)
    lower = errors.min(axis=1).min()
    # max v subject to w @ errors >= v.
    game = linprog(
        np.r_[np.zeros(M), -1.0],
        A_ub=np.column_stack([-errors.T, np.ones(len(points))]),
        b_ub=np.zeros(len(points)),
        A_eq=np.r_[np.ones(M), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * M + [(None, None)],
    )
    # min v subject to v >= mean_k d_mk, d_mk >= |x_mk - t|: variables t, v, d.
    n = 2 + M * S
    rows, sides = [], []
    for m in range(M):
        row = np.zeros(n)
        row[1] = -1
        row[2 + m * S : 2 + (m + 1) * S] = 1 / S
        rows.append(row)
        sides.append(0.0)
    for i, value in enumerate(x.ravel()):
        for sign in (1, -1):
            row = np.zeros(n)
            row[0], row[2 + i] = -sign, -1
            rows.append(row)
            sides.append(-sign * value)
    best = linprog(
        np.r_[0.0, 1.0, np.zeros(M * S)],
        A_ub=np.array(rows),
        b_ub=sides,
        bounds=[(None, None)] * 2 + [(0, None)] * (M * S),
    )
    widest = max((wasserstein_distance(a, b) for a in x for b in x), default=0.0)
    return best.fun, lower, -game.fun, widest / 2


def uncertainty_on_grid(quantiles: np.ndarray, mass: np.ndarray) -> tuple[float, float, float]:
    """Total, lower aleatoric and epistemic uncertainty of quantile functions ``(M, U)``.

    They are given on a grid of U levels with the probability `mass` ``(U,)`` each.
    """

    def error(q, t):
        return np.abs(q - t) @ mass

    medians = [q[np.searchsorted(np.cumsum(mass), 0.5)] for q in quantiles]
    total = minimize_scalar(
        lambda t: max(error(q, t) for q in quantiles),
        bounds=(min(medians) - 1e-6, max(medians) + 1e-6), method="bounded",
        options={"xatol": 1e-10},
    ).fun  # fmt: skip
    lower = min(error(q, m) for q, m in zip(quantiles, medians, strict=True))
    widest = max(np.abs(p - q) @ mass for p in quantiles for q in quantiles)
    return total, lower, widest / 2


def piecewise_on_grid(levels: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantile functions that are linear between levels, at the middle of small intervals."""
    n = 20_000
    u = (np.arange(n) + 0.5) / n
    return np.array([np.interp(u, levels, row) for row in values]), np.full(n, 1 / n)


def normals_on_grid(mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantile functions of normal distributions, on a grid of standard normal quantiles."""
    z = np.linspace(-9, 9, 18_001)
    mass = norm.pdf(z) * (z[1] - z[0])
    return mean[:, None] + std[:, None] * z, mass
