"""Metrics, kernels and test functions for the tests of distances, and the definition of each."""

from __future__ import annotations

import itertools

import numpy as np

import oracles_distances as oracle
from credalens.distances import (
    MMD,
    Distance,
    Kolmogorov,
    TestFunctions,
    TotalVariation,
    Wasserstein,
)


def plane_metric(K: int, seed: int = 0) -> np.ndarray:
    """Distances of random points in the plane: a metric in general position."""
    points = np.random.default_rng(seed).random((K, 2))
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))


def random_kernel(K: int, seed: int = 0) -> np.ndarray:
    L = np.random.default_rng(seed).standard_normal((K, K))
    return L @ L.T / K


def indicators(K: int) -> np.ndarray:
    return np.array(list(itertools.product([0.0, 1.0], repeat=K)))


def definition(d: Distance) -> oracle.Distance:
    if isinstance(d, Wasserstein):
        return lambda p, q: oracle.wasserstein(p, q, d.cost)
    if isinstance(d, MMD):
        return lambda p, q: oracle.mmd(p, q, d.kernel)
    if isinstance(d, TestFunctions):
        return lambda p, q: oracle.finite(p, q, d.matrix)
    if isinstance(d, Kolmogorov):
        return oracle.kolmogorov
    if isinstance(d, TotalVariation):
        return lambda p, q: float(np.abs(p - q).sum()) / 2
    raise NotImplementedError(f"write down the definition of {type(d).__name__} here")
