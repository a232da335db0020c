"""Second-order measures and scoring rules against vectorised NumPy and SciPy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

import credalens as cl
from benchmarks.harness import Row, once, seconds
from benchmarks.total_variation import dirichlet
from credalens.measures import reference
from credalens.measures.table_families import median_distances

LIMIT = 1e-9


def rows():
    for K in (10, 100):
        yield _against_numpy("information", (10_000, 10, K), _information, 5)
    yield _against_numpy("variance", (10_000, 10, 10), _variance, 1)
    yield _against_numpy("second_order_distance", (10_000, 10, 10), _second_order_distance, 1)
    yield _brier()
    yield _zero_one()
    yield _possibility()


def _entropy(P):
    return -(P * np.log2(np.where(P > 0, P, 1.0))).sum(axis=-1)


def _information(P):
    total, aleatoric = _entropy(P.mean(axis=1)), _entropy(P).mean(axis=1)
    return total, aleatoric, total - aleatoric


def _variance(P):
    mean = P.mean(axis=1)
    total, epistemic = 1 - (mean**2).sum(axis=1), P.var(axis=1).sum(axis=1)
    return total, total - epistemic, epistemic


def _second_order_distance(P):
    top = P.max(axis=2).mean(axis=1)
    return 1 - P.mean(axis=1).max(axis=1), 1 - top, median_distances(P)


def _against_numpy(family, shape, peer, limit):
    P = dirichlet(shape, seed=7)
    ours = seconds(lambda: cl.quantify(P, family))
    other = seconds(lambda: peer(P))
    u = cl.quantify(P, family)
    parts = zip((u.total, u.aleatoric, u.epistemic), peer(P), strict=True)
    difference = max(float(np.abs(a - b).max()) for a, b in parts)
    return Row(
        f"{family} {shape}",
        "vectorised NumPy",
        1e6 * ours / len(P),
        1e6 * other / len(P),
        f"{limit}x",
        bool(other / ours >= limit and difference <= LIMIT),
        f"largest difference {difference:.1e}",
    )


def _slsqp_brier(P):
    """Return the largest ``1 - |p|^2`` over one hull, with the gradient passed."""
    M = len(P)
    gram = P @ P.T
    solution = minimize(
        lambda w: w @ gram @ w,
        np.full(M, 1 / M),
        jac=lambda w: 2 * gram @ w,
        method="SLSQP",
        bounds=[(0, 1)] * M,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(M)},
        options={"ftol": 1e-12, "maxiter": 200},
    )
    return 1 - solution.fun


def _brier():
    n, some, limit = 10_000, 200, 500
    P = dirichlet((n, 10, 10), seed=8)
    Q = cl.ConvexHull(P)
    ours = seconds(Q.min_norm_point)
    square, gap = Q.min_norm_point()
    other, expected = once(lambda: np.array([_slsqp_brier(one) for one in P[:some]]))
    short = float((1 - square[:some] - expected).max())
    return Row(
        f"scoring:brier, upper end ({n}, 10, 10)",
        "SLSQP for each instance",
        1e6 * ours / n,
        1e6 * other / some,
        f"{limit}x, gaps <= 1e-9",
        bool((other / some) / (ours / n) >= limit and 2 * gap.max() <= LIMIT),
        f"SLSQP falls short by up to {short:.1e}; largest gap {2 * gap.max():.1e}",
    )


def _zero_one():
    n, some = 2_000, 50
    P = dirichlet((n, 10, 10), seed=9)
    Q = cl.ConvexHull(P)
    ours = seconds(Q.max_zero_one_divergence)
    value = Q.max_zero_one_divergence()
    other, expected = once(lambda: np.array([reference.zero_one_divergence(p) for p in P[:some]]))
    difference = float(np.abs(value[:some] - expected).max())
    return Row(
        f"scoring:zero_one, epistemic ({n}, 10, 10)",
        "HiGHS, one programme for each class",
        1e6 * ours / n,
        1e6 * other / some,
        "the same value",
        difference <= LIMIT,
        f"largest difference {difference:.1e}",
    )


def _possibility():
    n, K = 2_000, 16
    contour = np.random.default_rng(10).random((n, K))
    contour[np.arange(n), np.arange(n) % K] = 1.0
    Q, B = cl.Possibility(contour), cl.BeliefFunction.possibility(contour[:20])
    families = ["tv", "hartley"]
    ours = seconds(lambda: cl.quantify(Q, families))
    other = seconds(lambda: cl.quantify(B, families), repeat=3)
    u, v = cl.quantify(Q, families), cl.quantify(B, families)
    difference = max(
        float(np.abs(x[:20] - y).max())
        for name in families
        for x, y in ((u[name].total, v[name].total), (u[name].epistemic, v[name].epistemic))
    )
    return Row(
        f"Possibility, tv and hartley ({n}, {K})",
        "BeliefFunction, 2^K masses",
        1e6 * ours / n,
        1e6 * other / 20,
        "the same value",
        difference <= LIMIT,
        f"largest difference {difference:.1e}",
    )
