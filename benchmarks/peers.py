"""Peers for convex hulls: the paper's pseudocode, NumPy and other packages."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import math
import sys
import types
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, combinations

import numpy as np
from scipy.optimize import linprog, minimize


def load_probly():
    """Return probly's module of measures.

    The package's ``__init__`` imports its image datasets and torchvision, which the measures do not
    need. A module object with the path of the package is used instead.
    """
    if "probly" not in sys.modules:
        spec = importlib.util.find_spec("probly")
        if spec is None:
            raise ImportError("probly is not installed; pip install --no-deps probly tqdm torch")
        package = types.ModuleType("probly")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules["probly"] = package
    return importlib.import_module("probly.quantification.classification")


def read_once(P, threads):
    """Sum the array with one thread per core: the time to read it."""
    parts = np.array_split(P.reshape(-1), threads)
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(lambda part: part.sum(), parts))


def numpy_closed_forms(P):
    """Return TU, the lower aleatoric end and EU, vectorised over instances; a loop over pairs."""
    total = 1 - P.min(axis=1).max(axis=1)
    lower = 1 - P.max(axis=(1, 2))
    widest = np.zeros(len(P))
    for i, j in combinations(range(P.shape[1]), 2):
        np.maximum(widest, np.abs(P[:, i] - P[:, j]).sum(axis=1), out=widest)
    return total, lower, widest / 4


def linprog_upper(P):
    """Algorithm 4 of the paper: a linear program if the members disagree."""
    M, K = P.shape
    best = P.argmax(axis=1)
    if (best == best[0]).all():
        return float((1 - P.max(axis=1)).max())
    cost = np.r_[np.zeros(M), 1.0]
    answer = linprog(
        cost,
        A_ub=np.c_[P.T, -np.ones(K)],
        b_ub=np.zeros(K),
        A_eq=np.r_[np.ones(M), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * (M + 1),
        method="highs",
    )
    return 1 - answer.fun


def slsqp_upper_entropy(P):
    """Algorithm 2 of the paper with SciPy's SLSQP, in bits."""

    def objective(w):
        p = np.clip(w @ P, 1e-300, None)
        return float((p * np.log2(p)).sum())

    M = len(P)
    answer = minimize(
        objective,
        np.full(M, 1 / M),
        method="SLSQP",
        bounds=[(0, 1)] * M,
        constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1}],
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return -answer.fun


def entropies(P):
    """Algorithm 6 of the paper, in bits."""
    safe = np.where(P > 0, P, 1.0)
    return float((-(P * np.log2(safe)).sum(axis=1)).min())


def literal_hartley(P):
    """Algorithm 9 of the paper with Python sets: a sum over subsets of subsets, 3^K terms."""
    K = P.shape[1]
    classes = range(K)

    def subsets(items):
        return chain.from_iterable(combinations(items, r) for r in range(len(items) + 1))

    lower = {frozenset(A): min(math.fsum(row[y] for y in A) for row in P) for A in subsets(classes)}
    total = 0.0
    for A in subsets(classes):
        if A:
            mass = sum((-1) ** (len(A) - len(B)) * lower[frozenset(B)] for B in subsets(A))
            total += mass * math.log2(len(A))
    return total


def numpy_moebius_hartley(P):
    """Fast Moebius transform of the lower probability, K 2^K steps in NumPy."""
    K = P.shape[1]
    lower = np.full(1 << K, np.inf)
    for row in P:
        sums = np.zeros(1)
        for y in range(K):
            sums = np.concatenate([sums, sums + row[y]])
        np.minimum(lower, sums, out=lower)
    for y in range(K):
        view = lower.reshape(-1, 2, 1 << y)
        view[:, 1] -= view[:, 0]
    sizes = np.bitwise_count(np.arange(1 << K, dtype=np.uint32)).astype(np.float64)
    return float((lower[1:] * np.log2(sizes[1:])).sum())


def literal_total_variation(P):
    """Return TU, both aleatoric ends and EU of one instance by the paper's pseudocode."""
    total = 1 - P.min(axis=0).max()
    aleatoric = min(1 - row.max() for row in P), linprog_upper(P)
    widest = max((np.abs(a - b).sum() for a, b in itertools.combinations(P, 2)), default=0.0) / 4
    return total, *aleatoric, widest


def literal_families(P):
    """Return all three families of one instance by the paper's pseudocode."""
    upper = slsqp_upper_entropy(P)
    lower = entropies(P)
    hartley = literal_hartley(P)
    return {
        "tv": literal_total_variation(P),
        "entropy": (upper, lower, upper - lower),
        "hartley": (upper, upper - hartley, hartley),
    }
