"""Probability intervals, contamination models and balls compared with SciPy per instance."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog, minimize

import credalens as cl
from benchmarks.harness import Row, cpu_seconds, once, seconds
from benchmarks.total_variation import dirichlet


def rows():
    yield _box_measures()
    yield _limit("S_* of intervals (10000, K = 10)", _box(10_000, 10), cl.lower_entropy, 200.0)
    for low, high, K in ((0.03, 0.17, 12), (0.02, 0.13, 15)):
        box = cl.ProbabilityIntervals(np.full((1, K), low), np.full((1, K), high))
        yield _limit(f"S_* of [{low}, {high}]^{K}, exact", box, cl.lower_entropy, 10_000.0)
    yield _limit("EU of intervals (200, K = 20)", _box(200, 20), cl.epistemic_uncertainty, 1000.0)
    yield from _ordered(15)
    center = dirichlet((10_000, 10), seed=12)
    spread = np.random.default_rng(0).uniform(0.05, 0.5, 10_000)
    for Q in (cl.Contamination(center, spread), cl.TotalVariationBall(center, spread)):
        for measure in (
            cl.total_uncertainty,
            cl.aleatoric_uncertainty,
            cl.epistemic_uncertainty,
            cl.upper_entropy,
            cl.lower_entropy,
        ):
            what = f"{measure.__name__} of {type(Q).__name__} (10000, K = 10)"
            yield _limit(what, Q, measure, 1.0)


def _ordered(K, n=5000, some=2, required=50):
    """Ordered classes: closed forms, against the hull of the extreme points of a few boxes."""
    rng = np.random.default_rng(13)
    Q = cl.ConvexHull(rng.dirichlet(np.ones(K), size=(n, 5))).to_intervals()
    for distance in ("ordinal", "kolmogorov"):
        ours = cpu_seconds(lambda d=distance: cl.epistemic_uncertainty(Q, d)) / n
        hull = Q[:some].to_hull
        other = cpu_seconds(
            lambda d=distance, h=hull: cl.epistemic_uncertainty(h(), d), repeat=1
        ) / some  # fmt: skip
        found, exact = cl.epistemic_uncertainty(Q[:some], distance), cl.epistemic_uncertainty(
            hull(), distance)  # fmt: skip
        yield Row(
            f"EU, {distance}, of intervals ({n}, K = {K})",
            f"the hull of the extreme points, {some} instances; CPU time",
            1e6 * ours,
            1e6 * other,
            f"{required}x, equal values",
            other >= required * ours and bool(np.allclose(found, exact, atol=1e-12)),
            f"largest difference {np.abs(found - exact).max():.1e}",
        )


def _box(n, K):
    return cl.ProbabilityIntervals.from_members(dirichlet((n, 10, K), seed=11))


def _limit(what, Q, measure, most):
    n = len(Q)
    ours = seconds(lambda: measure(Q))
    return Row(
        what,
        "time limit",
        1e6 * ours / n,
        most,
        f"under {most:g} us",
        1e6 * ours / n < most,
        "",
    )


def _scipy(low, high):
    """Return the upper aleatoric end and the upper entropy of probability intervals."""
    K = len(low)
    game = linprog(
        np.r_[np.zeros(K), 1.0],
        A_ub=np.c_[np.eye(K), -np.ones(K)],
        b_ub=np.zeros(K),
        A_eq=np.r_[np.ones(K), 0.0][None],
        b_eq=[1.0],
        bounds=[*zip(low, high, strict=True), (0, 1)],
        method="highs",
    )
    start = low + (high - low) * (1 - low.sum()) / (high - low).sum()
    entropy = minimize(
        lambda p: float((p * np.log2(np.clip(p, 1e-300, None))).sum()),
        start,
        method="SLSQP",
        bounds=list(zip(low, high, strict=True)),
        constraints=[{"type": "eq", "fun": lambda p: p.sum() - 1}],
    )
    return 1 - game.fun, -entropy.fun


def _box_measures():
    n, some = 10_000, 30
    Q = _box(n, 10)

    def box_measures():
        return cl.total_uncertainty(Q), cl.aleatoric_uncertainty(Q), cl.upper_entropy(Q)

    ours = seconds(box_measures)
    _, aleatoric, entropy = box_measures()
    lower, upper = np.asarray(Q.lower())[:some], np.asarray(Q.upper())[:some]
    other, expected = once(
        lambda: np.array([_scipy(a, b) for a, b in zip(lower, upper, strict=True)])
    )
    worst = np.abs(np.stack([aleatoric.upper[:some], entropy[:some]], axis=1) - expected).max()
    return Row(
        f"TU, both ends of AU, S* of intervals ({n}, K = 10)",
        "SciPy per instance, AU_upper and S* only",
        1e6 * ours / n,
        1e6 * other / some,
        "1000x, under 2 us",
        bool((other / some) / (ours / n) >= 1000 and ours / n < 2e-6),
        f"largest difference {worst:.1e}",
    )
