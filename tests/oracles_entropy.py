"""Slow, literal answers for the entropy and Hartley families, in bits, for one instance ``(M, K)``.

The definitions are those of section 3.1 of the paper and of its algorithms in appendix C.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest


def renormalised(P: np.ndarray) -> np.ndarray:
    """Rows in float64 that sum to 1."""
    P = np.asarray(P, np.float64)
    return P / P.sum(axis=-1, keepdims=True)


def entropy(p: np.ndarray) -> float:
    """Shannon entropy of one distribution, ``0 log 0 = 0``."""
    return math.fsum(-x * math.log2(x) for x in np.asarray(p, np.float64).tolist() if x > 0)


def upper_entropy(P: np.ndarray) -> float:
    """max over p of S(p), by CVXPY with Clarabel.

    Returned is the entropy that the solver's weights attain, not the objective that it reports: a
    lower bound, whatever the solver's tolerance.
    """
    cp = pytest.importorskip("cvxpy", reason="the solver comes with the test group only")
    P = renormalised(P)
    P = P[:, P.max(axis=0) > 0]
    weights = cp.Variable(len(P), nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.entr(P.T @ weights))), [cp.sum(weights) == 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the caller compares to 1e-6
        problem.solve(solver=cp.CLARABEL)
    assert problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE), problem.status
    found = np.clip(weights.value, 0, None)
    return entropy(found / found.sum() @ P)


def upper_bound(P: np.ndarray, p: np.ndarray) -> float:
    """An upper bound on S*, from any distribution p.

    Gibbs: ``S(q) <= -sum_y q_y log p_y`` for all q, and the right side, linear in q, is largest at
    a member. A class without mass in p that some member supports makes it infinite, so that p is
    first mixed with a vanishing share of the members' mean.
    """
    P = renormalised(P)
    alive = P.max(axis=0) > 0
    P, p = P[:, alive], np.asarray(p, np.float64)[alive]
    mixed = (1 - 1e-18) * p / p.sum() + 1e-18 * P.mean(axis=0)
    logs = np.where(mixed > 0, np.log2(np.maximum(mixed, 5e-324)), -1100.0)
    return max(math.fsum(-row * logs) for row in P)


def lower_entropy(P: np.ndarray) -> float:
    """min over p of S(p): entropy is concave, so that it is attained at a member."""
    return min(entropy(p) for p in renormalised(P))


def generalized_hartley(P: np.ndarray) -> float:
    """sum over A of m(A) log |A|, with the Moebius inverse m summed over all subsets of each A."""
    rows = renormalised(P).tolist()
    K = len(rows[0])
    lower = [
        min(math.fsum(x for y, x in enumerate(row) if B >> y & 1) for row in rows)
        for B in range(2**K)
    ]
    terms = []
    for A in range(1, 2**K):
        mass, B = [], A
        while B:  # the nonempty subsets of A; the lower probability of no class at all is 0
            sign = -1 if (A & ~B).bit_count() % 2 else 1
            mass.append(sign * lower[B])
            B = (B - 1) & A
        terms.append(math.fsum(mass) * math.log2(A.bit_count()))
    return math.fsum(terms)


def star(shares: np.ndarray) -> np.ndarray:
    """A Dirac at class 0, and members that move the share ``t_j`` of it to class j."""
    shares = np.asarray(shares, np.float64)
    P = np.diag(np.r_[1.0, shares])
    P[1:, 0] = 1 - shares
    return P


def star_hartley(shares: np.ndarray) -> float:
    """GH of a star in closed form: the sum of ``t_(k) log2(k / (k - 1))``, t sorted downwards.

    k starts at 2 and runs over the arms, the largest first.
    """
    falling = sorted(np.asarray(shares).tolist(), reverse=True)
    return math.fsum(t * math.log2(k / (k - 1)) for k, t in enumerate(falling, start=2))
