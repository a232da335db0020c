"""The test of calibration, and measures of Kullback-Leibler balls, against required times."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

import credalens as cl
from benchmarks.harness import Row, once, seconds
from benchmarks.total_variation import dirichlet

#: Required seconds of the test and of the measures of 10 000 balls.
TEST_SECONDS, BALL_SECONDS = 60.0, 0.2


def rows():
    yield _calibration_test()
    yield _kl_ball()


def _calibration_test():
    n, M, K = 10_000, 10, 10
    members = dirichlet((n, M, K), seed=14)
    rng = np.random.default_rng(0)
    y = (members.mean(axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    ours, found = once(
        lambda: cl.validity.calibration_test(members, y, "predictions", random_state=0)
    )
    return Row(
        f"calibration test ({n}, {M}, {K}), 1000 resamples",
        f"the required {TEST_SECONDS:g} s",
        1e6 * ours,
        1e6 * TEST_SECONDS,
        "1x",
        ours <= TEST_SECONDS,
        f"labels of the mean of the members, p = {found.pvalue:.2f}",
    )


def _slsqp_upper_entropy(center, radius):
    """Return the largest entropy over one ball in bits."""
    start = np.maximum(center, 1e-9)
    solution = minimize(
        lambda p: float(p @ np.log2(np.maximum(p, 1e-300))),
        start / start.sum(),
        method="SLSQP",
        bounds=[(0, 1)] * len(center),
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "ineq", "fun": lambda p: radius - p @ np.log2(np.maximum(p, 1e-300) / start)},
        ],
        options={"ftol": 1e-12, "maxiter": 200},
    )
    return -solution.fun


def _kl_ball():
    n, some = 10_000, 50
    center = np.random.default_rng(15).dirichlet(np.ones(10), n)
    Q = cl.KLBall(center, np.full(n, 0.1))

    def measure():
        u = cl.quantify(Q, "tv"), cl.upper_entropy(Q, return_error=True)
        return u[0].error, *u[1]

    ours = seconds(measure)
    _, value, gap = measure()
    other, expected = once(lambda: np.array([_slsqp_upper_entropy(c, 0.1) for c in center[:some]]))
    short = float((value[:some] - expected).max())
    return Row(
        f"KL balls, TU, AU, EU and S* ({n}, 10)",
        "SLSQP for each instance, S* only",
        1e6 * ours / n,
        1e6 * other / some,
        f"below {BALL_SECONDS:g} s, certified",
        bool(ours <= BALL_SECONDS and gap.max() <= 1e-9),
        f"{ours:.3f} s together; largest gap {gap.max():.1e}; SLSQP falls short by {short:.1e}",
    )
