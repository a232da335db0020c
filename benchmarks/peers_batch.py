"""Hulls in vectorised NumPy, and pairs of members with SciPy's pdist and POT."""

from __future__ import annotations

import functools
import math
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import wasserstein_distance


@functools.cache
def _pool():
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))


def read(*arrays):
    """Sum the first array, with one thread per core if it is large: the time to read it."""
    flat = arrays[0].reshape(-1)
    if flat.nbytes < 1 << 20:
        return flat.sum()
    pool = _pool()
    return sum(pool.map(np.sum, np.array_split(flat, len(os.sched_getaffinity(0)))))


def total(P):
    return 1 - P.min(axis=1).max(axis=1)


def aleatoric_lower(P):
    return 1 - P.max(axis=(1, 2))


def imprecision_bound(P):
    return 1 - P.min(axis=1).sum(axis=1)


def pairs(P, distance):
    """Return the largest distance between two members, vectorised over instances."""
    widest = np.zeros(len(P))
    for i, j in combinations(range(P.shape[1]), 2):
        np.maximum(widest, distance(P[:, i] - P[:, j]), out=widest)
    return widest


def absolute(x):
    return np.abs(x).sum(axis=-1)


def epistemic(P):
    return pairs(P, absolute) / 4


def by_pdist(points, metric, scale):
    """Return the largest of SciPy's pairwise distances, one instance at a time."""
    if points.shape[1] < 2:
        return np.zeros(len(points))
    return scale * np.array([pdist(p, metric).max() for p in points])


def lower_entropy(P):
    safe = np.where(P > 0, P, 1.0)
    return -(P * np.log2(safe)).sum(axis=2).max(axis=1)


@functools.cache
def events(K):
    """Return all events as rows of zeros and ones, ``(2^K, K)``; index = bit mask."""
    return ((np.arange(1 << K)[:, None] >> np.arange(K)) & 1).astype(float)


def event_bounds(P):
    """Return the lower and upper probability of every event, ``(N, 2^K)``."""
    sums = P @ events(P.shape[-1]).T
    return sums.min(axis=1), sums.max(axis=1)


def widest_event(lower, upper):
    return (upper - lower).max(axis=1)


def moebius(values):
    """Return the masses of every event, ``(N, 2^K)``, by the fast transform."""
    masses = np.array(values)
    step = 1
    while step < masses.shape[1]:
        view = masses.reshape(len(masses), -1, 2, step)
        view[:, :, 1] -= view[:, :, 0]
        step *= 2
    return masses


def hartley_of_masses(masses):
    sizes = np.bitwise_count(np.arange(masses.shape[1], dtype=np.uint32)).astype(float)
    return masses[:, 1:] @ np.log2(sizes[1:])


def hartley(P):
    return hartley_of_masses(moebius(event_bounds(P)[0]))


def hartley_sample(P, pairs, seed=0):
    """Return an estimate of GH from antithetic random permutations, one instance at a time."""
    N, K = len(P), P.shape[2]
    by_size = np.exp(_log_weights(K))
    orders = np.random.default_rng(seed).permuted(np.tile(np.arange(K), (pairs, 1)), axis=1)
    found = np.empty(N)
    for n, p in enumerate(P):
        chain = np.cumsum(p[:, orders], axis=2)[:, :, :-1]  # (M, pairs, K - 1)
        front, back = chain.min(axis=0), 1 - chain.max(axis=0)
        both = (front @ by_size[1:K] + back @ by_size[1:K][::-1]) / 2
        found[n] = math.log2(K) - both.mean()
    return found


def _log_weights(K):
    from credalens.measures.hartley import weights  # depends on K only

    return weights(K)[1]


# ---------------------------------------------------------------- other distances
def ordinal(P):
    """Return EU under W1 on a line: differences of the cumulative distributions."""
    return pairs(np.cumsum(P, axis=2)[:, :, :-1], absolute) / 2


def ordinal_scipy(P):
    """Return the same by pairs with SciPy."""
    places = np.arange(P.shape[2])
    return np.array([
        max(wasserstein_distance(places, places, a, b) for a, b in combinations(p, 2)) / 2
        for p in P
    ])  # fmt: skip


def kolmogorov(P):
    return pairs(np.cumsum(P, axis=2)[:, :, :-1], lambda x: np.abs(x).max(axis=-1)) / 2


def cumulated(P):
    return np.cumsum(P, axis=2)[:, :, :-1]


def tree_parents(K, group=5):
    """Return groups of five leaves under one root, as parents of the leaves and inner nodes."""
    groups = -(-K // group)
    return [K + i // group for i in range(K)] + [K + groups] * groups + [-1]


def tree_flows(P, group=5):
    """Return the mass below every edge of that tree: the classes, then their groups."""
    starts = np.arange(0, P.shape[2], group)
    return np.concatenate([P, np.add.reduceat(P, starts, axis=2)], axis=2)


def tree_cost(K, group=5):
    """Return the path lengths between leaves."""
    part = np.arange(K) // group
    cost = np.where(part[:, None] == part, 2.0, 4.0)
    np.fill_diagonal(cost, 0.0)
    return cost


def line_cost(K):
    return np.abs(np.subtract.outer(np.arange(K), np.arange(K))).astype(float)


@functools.cache
def cloud_cost(K):
    """Return the Euclidean distances of K random points: a general metric."""
    points = np.random.default_rng(0).random((K, 3))
    return np.ascontiguousarray(np.linalg.norm(points[:, None] - points, axis=2))


def by_pot(P, cost):
    """Return half the largest transport cost by POT, over all pairs."""
    import ot

    return np.array([max(ot.emd2(a, b, cost) for a, b in combinations(p, 2)) / 2 for p in P])


@functools.cache
def kernel(K):
    """Return a Gaussian kernel on the positions 0, ..., K - 1."""
    return np.exp(-(np.subtract.outer(np.arange(K), np.arange(K)) ** 2) / 8.0)


@functools.cache
def kernel_root(K):
    values, vectors = np.linalg.eigh(kernel(K))
    return vectors * np.sqrt(np.clip(values, 0, None))


def mmd(P):
    return pairs(P @ kernel_root(P.shape[2]), lambda x: np.sqrt((x * x).sum(axis=-1))) / 2


def ordinal_total(P):
    return (P @ line_cost(P.shape[2])).max(axis=1).min(axis=1)
