"""What each member does alone, by leaving it out and measuring again."""

from __future__ import annotations

import itertools
import math

import numpy as np


def total(P: np.ndarray) -> float:
    """TU of one instance ``(M, K)``, from its definition: the best decision in the worst model."""
    return min(max(1 - float(row[y]) for row in P) for y in range(P.shape[1]))


def epistemic(P: np.ndarray) -> float:
    """EU of one instance: half of the largest total variation distance."""
    pairs = itertools.combinations(P.astype(np.float64), 2)
    return max((float(np.abs(a - b).sum()) / 4 for a, b in pairs), default=0.0)


def without(P: np.ndarray, m: int) -> np.ndarray:
    """One instance without one of its members."""
    return np.delete(P, m, axis=0)


def leave_one_out(P: np.ndarray) -> dict[str, np.ndarray]:
    """The figures of `diagnose_members` without labels, by M passes."""
    n, M, _ = P.shape
    tu = np.array([total(p) for p in P])
    eu = np.array([epistemic(p) for p in P])
    tu_without = np.array([[total(without(p, m)) for m in range(M)] for p in P])
    eu_without = np.array([[epistemic(without(p, m)) for m in range(M)] for p in P])
    widest = np.zeros((n, M), bool)
    for i, p in enumerate(P):
        for a, b in itertools.combinations(range(M), 2):
            if eu[i] > 0 and epistemic(p[[a, b]]) >= eu[i] * (1 - 1e-12):
                widest[i, [a, b]] = True
    return {
        "decides_total": (np.abs(tu_without - tu[:, None]) > 1e-12).mean(axis=0),
        "in_widest_pair": widest.mean(axis=0),
        "total_change": (tu_without - tu[:, None]).mean(axis=0),
        "epistemic_change": (eu_without - eu[:, None]).mean(axis=0),
    }


def log_likelihood(P: np.ndarray, y: np.ndarray, m: int) -> float:
    """Sum of the logarithms of what member m gives to the labels."""
    given = [float(P[i, m, label]) for i, label in enumerate(y)]
    return -math.inf if 0 in given else math.fsum(math.log(p) for p in given)


def brier(P: np.ndarray, y: np.ndarray, m: int) -> float:
    """Mean squared distance of what member m predicts to the label's Dirac."""
    K = P.shape[2]
    return math.fsum(
        (float(P[i, m, k]) - (k == label)) ** 2 for i, label in enumerate(y) for k in range(K)
    ) / len(y)


def forests(n=600, M=10, K=4, noise=0.35, seed=0):
    """Members that know the label, each with errors of its own, and the labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    y[:K] = np.arange(K)
    logits = 3 * np.eye(K)[y][:, None] + rng.standard_normal((n, 1, K))
    P = np.exp(logits + noise * rng.standard_normal((n, M, K)))
    return P / P.sum(axis=2, keepdims=True), y


def with_member(P, p0):
    """The same with one more member, `p0` for every input or one row an input."""
    return np.concatenate([P, np.broadcast_to(p0, (len(P), 1, P.shape[2]))], axis=1)
