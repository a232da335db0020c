"""Slow, literal answers, written from the definitions and not from the formulas of the package.

Everything takes one instance ``(M, K)`` and works in float64. "The definitions" are equations (1)
to (4) of the paper with the test class of all events. Where a maximum runs over a whole credal set,
it is taken over its generators if the function is convex there, and by a linear program (HiGHS)
otherwise.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.optimize import linprog


@cache
def events(K: int) -> np.ndarray:
    """All 2^K events, as masks ``(2**K, K)``."""
    return np.array(list(itertools.product([False, True], repeat=K)))


def distance(p: np.ndarray, q: np.ndarray) -> float:
    """Total variation as the largest difference over all events."""
    A = events(len(p))
    return float(np.abs(A @ p - A @ q).max())


def dirac(y: int, K: int) -> np.ndarray:
    return np.eye(K)[y]


def total_uncertainty(P: np.ndarray) -> float:
    """min over y of the largest distance to delta_y; a distance is convex, so over generators."""
    P = P.astype(np.float64)
    K = P.shape[1]
    return min(max(distance(p, dirac(y, K)) for p in P) for y in range(K))


def aleatoric(p: np.ndarray) -> float:
    """Aleatoric uncertainty of one distribution: the distance to the nearest Dirac measure."""
    p = np.asarray(p, np.float64)
    return min(distance(p, dirac(y, len(p))) for y in range(len(p)))


def bayes_error(p: np.ndarray) -> float:
    """The same as `aleatoric`, for many classes."""
    return 1 - float(np.max(p))


def aleatoric_lower(P: np.ndarray) -> float:
    """min over p, y of d(p, delta_y): for each y a linear program over the weights."""
    P = P.astype(np.float64)
    M, K = P.shape
    best = np.inf
    for y in range(K):
        # d(p, delta_y) is the mass that p puts elsewhere.
        elsewhere = np.delete(P, y, axis=1).sum(axis=1)
        solution = linprog(elsewhere, A_eq=np.ones((1, M)), b_eq=[1], bounds=(0, None))
        best = min(best, solution.fun)
    return float(best)


def aleatoric_upper(P: np.ndarray) -> float:
    """max over p of min over y of d(p, delta_y), as a linear program in the weights and t."""
    P = P.astype(np.float64)
    M, K = P.shape
    # Smallest t with (w P)_y <= t for every y; the answer is 1 - t.
    solution = linprog(
        np.r_[np.zeros(M), 1.0],
        A_ub=np.c_[P.T, -np.ones(K)],
        b_ub=np.zeros(K),
        A_eq=np.r_[np.ones(M), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * M + [(None, None)],
        method="highs",
    )
    assert solution.status == 0, solution.message
    weights = np.clip(solution.x[:M], 0, None)
    # The value that these weights attain, not the one that the solver reports.
    return 1 - float((weights / weights.sum() @ P).max())


def epistemic_uncertainty(P: np.ndarray) -> float:
    """Half the largest distance between two generators."""
    P = P.astype(np.float64)
    return max(distance(p, q) for p in P for q in P) / 2


def epistemic_by_pairs(P: np.ndarray) -> float:
    """The same for many classes, by the half L1 form of total variation."""
    P = P.astype(np.float64)
    return max(float(np.abs(P - p).sum(axis=1).max()) for p in P) / 4


def lower_probability(P: np.ndarray, event: np.ndarray) -> float:
    return min(float(p[event].sum()) for p in P.astype(np.float64))


def upper_probability(P: np.ndarray, event: np.ndarray) -> float:
    return max(float(p[event].sum()) for p in P.astype(np.float64))


def maximum_mean_imprecision(P: np.ndarray) -> float:
    """max over events of upper minus lower probability."""
    return max(upper_probability(P, A) - lower_probability(P, A) for A in events(P.shape[1]))


def mixtures(P: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    """Points of the hull, ``(n, K)``: some inside, some near edges, and the members."""
    rng = np.random.default_rng(seed)
    M = len(P)
    inside = rng.dirichlet(np.ones(M), n // 2)
    edges = rng.dirichlet(np.full(M, 0.2), n - n // 2)
    return np.concatenate([inside, edges, np.eye(M)]) @ P.astype(np.float64)


def distance_to_hull(P: np.ndarray, p: np.ndarray) -> float:
    """Largest coordinate difference between `p` and the nearest mixture, by a linear program."""
    P = P.astype(np.float64)
    M, K = P.shape
    solution = linprog(
        np.r_[np.zeros(M), 1.0],
        A_ub=np.r_[np.c_[P.T, -np.ones(K)], np.c_[-P.T, -np.ones(K)]],
        b_ub=np.r_[p, -np.asarray(p)],
        A_eq=np.r_[np.ones(M), 0.0][None],
        b_eq=[1.0],
        bounds=(0, None),
        method="highs",
    )
    assert solution.status == 0, solution.message
    return float(solution.fun)


def majority_vote(P: np.ndarray) -> int:
    """Most first places, then the larger mean (in exact arithmetic), then the smaller index."""
    votes: Counter[int] = Counter()
    for p in P.tolist():
        votes[p.index(max(p))] += 1
    columns = P.T.tolist()
    return min(votes, key=lambda y: (-votes[y], -sum(map(Fraction, columns[y])), y))


def rejection_order(score: list[float] | list[tuple[float, float]]) -> list[int]:
    """Largest first, by sorting pairs of negated score and position."""
    return [i for _, i in sorted((_descending(s), i) for i, s in enumerate(score))]


def _descending(score: float | tuple[float, float]) -> tuple[float, ...]:
    ends = score if isinstance(score, tuple) else (score,)
    return tuple(-end for end in ends)


def rejection_curve(
    y_true: list, y_pred: list, score: list, n_bins: int
) -> tuple[list[float], list[float], float, float]:
    """Rejection rates, accuracies, area divided by its length, share of steps not decreasing."""
    n = len(y_true)
    order = rejection_order(score)
    rates, accuracies = [], []
    for b in range(n_bins):
        kept = order[(b * n) // n_bins :]
        rates.append(b / n_bins)
        accuracies.append(sum(y_true[i] == y_pred[i] for i in kept) / len(kept))
    area = 0.0
    for left, right in itertools.pairwise(accuracies):
        area += (left + right) / 2 / n_bins
    rises = sum(b >= a for a, b in itertools.pairwise(accuracies))
    return rates, accuracies, area * n_bins / (n_bins - 1), rises / (n_bins - 1)
