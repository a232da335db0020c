"""Real-valued targets against SciPy, one instance at a time, and against vectorised NumPy.

CPU time over all threads, which other load on the machine does not change.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import foldnorm, wasserstein_distance

import credalens as cl
from benchmarks.harness import Row, cpu_seconds

N, M, S = 10_000, 10, 200
LIMIT = 1e-9


def rows():
    rng = np.random.default_rng(20)
    x = rng.normal(size=(N, M, 1)) + rng.normal(size=(N, M, S))
    yield _against("samples", x, _scipy_of_samples, 40, "SciPy for each pair and instance", 200)
    yield _against("samples", x, _numpy_of_samples, 2000, "vectorised NumPy")
    levels = np.linspace(0.05, 0.95, 19)
    values = np.quantile(x[:2000], levels, axis=-1).transpose(1, 2, 0)
    yield _against("quantiles", values, _numpy_of_quantiles, 2000, "vectorised NumPy")
    normal = np.stack([x.mean(axis=-1), x.std(axis=-1)], axis=-1)
    yield _against("normal", normal, _scipy_of_normals, 40, "SciPy for each pair and instance")


def _hull(kind, x):
    if kind == "samples":
        return cl.RealHull.from_samples(x)
    if kind == "quantiles":
        return cl.RealHull.from_quantiles(np.linspace(0.05, 0.95, 19), x)
    return cl.RealHull.from_normal(x[..., 0], x[..., 1])


def _against(kind, x, peer, some, name, limit=None):
    """Return the row of total, aleatoric and epistemic uncertainty, validation included."""
    ours = cpu_seconds(lambda: cl.quantify(_hull(kind, x)), repeat=3)
    u = cl.quantify(_hull(kind, x))
    start = time.process_time()
    expected = peer(x[:some])
    other = time.process_time() - start
    found = (u.total, u.aleatoric.lower, u.epistemic)
    difference = max(
        float(np.abs(a[:some] - b).max()) for a, b in zip(found, expected, strict=True)
    )
    ratio = (other / some) / (ours / len(x))
    # The searches of the peers stop at their tolerances.
    agrees = difference <= 1e-6 and float(np.abs(found[2][:some] - expected[2]).max()) <= LIMIT
    shape = ", ".join(map(str, x.shape))
    return Row(
        f"RealHull of {kind}, TU, AU, EU ({shape})",
        name,
        1e6 * ours / len(x),
        1e6 * other / some,
        "stated" if limit is None else f"{limit}x",
        bool((limit is None or ratio >= limit) and agrees),
        f"largest difference {difference:.1e}; largest gap {float(u.error.max()):.1e}; CPU time",
    )


def _scipy_of_samples(x):
    found = np.empty((len(x), 3))
    for i, one in enumerate(x):
        medians = np.median(one, axis=1)
        found[i] = (
            minimize_scalar(
                lambda t, one=one: np.abs(one - t).mean(axis=1).max(),
                bounds=(medians.min(), medians.max()), method="bounded",
                options={"xatol": 1e-8},
            ).fun,
            np.abs(one - medians[:, None]).mean(axis=1).min(),
            max(wasserstein_distance(a, b) for a, b in combinations(one, 2)) / 2,
        )  # fmt: skip
    return found.T


def _search(largest, low, high):
    """Return the minimum over t of a convex function of all instances, by golden section."""
    golden = (np.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    left, right = largest(a), largest(b)
    for _ in range(35):
        lower = left < right
        low, high = np.where(lower, low, a), np.where(lower, b, high)
        a, b = high - golden * (high - low), low + golden * (high - low)
        left, right = largest(a), largest(b)
    return np.minimum(left, right)


def _numpy_of_samples(x):
    ordered = np.sort(x, axis=-1)
    medians = np.median(ordered, axis=-1)
    widest = np.zeros(len(x))
    for i, j in combinations(range(x.shape[1]), 2):
        np.maximum(widest, np.abs(ordered[:, i] - ordered[:, j]).mean(axis=-1), out=widest)
    total = _search(
        lambda t: np.abs(x - t[:, None, None]).mean(axis=-1).max(axis=1),
        medians.min(axis=1), medians.max(axis=1),
    )  # fmt: skip
    return total, np.abs(x - medians[..., None]).mean(axis=-1).min(axis=1), widest / 2


def _numpy_of_quantiles(values):
    levels = np.linspace(0.05, 0.95, 19)
    length = np.diff(levels)

    def integral(d):  # of |d|, where d is linear between the levels
        a, b = np.abs(d[..., :-1]), np.abs(d[..., 1:])
        crossing = np.maximum(-d[..., :-1] * d[..., 1:], 0) / np.where(a + b > 0, a + b, 1)
        inside = ((a + b) / 2 - crossing) @ length
        return inside + levels[0] * np.abs(d[..., 0]) + (1 - levels[-1]) * np.abs(d[..., -1])

    medians = values[..., 9]
    widest = np.zeros(len(values))
    for i, j in combinations(range(values.shape[1]), 2):
        np.maximum(widest, integral(values[:, i] - values[:, j]), out=widest)
    total = _search(
        lambda t: integral(values - t[:, None, None]).max(axis=1),
        medians.min(axis=1), medians.max(axis=1),
    )  # fmt: skip
    return total, integral(values - medians[..., None]).min(axis=1), widest / 2


def _folded(shift, scale):
    return foldnorm.mean(np.abs(shift) / scale, scale=scale)


def _scipy_of_normals(x):
    found = np.empty((len(x), 3))
    for i, (mean, std) in enumerate(np.moveaxis(x, -1, 1)):
        found[i] = (
            minimize_scalar(
                lambda t, mean=mean, std=std: _folded(mean - t, std).max(),
                bounds=(mean.min(), mean.max()), method="bounded", options={"xatol": 1e-8},
            ).fun,
            np.sqrt(2 / np.pi) * std.min(),
            max(
                _folded(mean[a] - mean[b], abs(std[a] - std[b]))
                for a, b in combinations(range(len(mean)), 2)
            ) / 2,
        )  # fmt: skip
    return found.T
