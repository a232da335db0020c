"""Total variation compared with the time to read the array, with NumPy and with SciPy."""

from __future__ import annotations

import tracemalloc

import numpy as np

import credalens as cl
from benchmarks import peers
from benchmarks.harness import Row, once, seconds
from credalens import _kernels
from credalens._backend import get_num_threads


def dirichlet(shape, dtype=np.float64, seed=0):
    """Return uniform Dirichlet ensembles by normalising exponential variates."""
    rng = np.random.default_rng(seed)
    P = rng.standard_exponential(shape, dtype=np.float32 if dtype == np.float32 else np.float64)
    P /= P.sum(axis=-1, keepdims=True)
    return P


def rows():
    yield from _against_reading()
    yield from _against_numpy()
    yield _many_members()
    yield from _games()
    yield from _memory()


def _closed(Q):
    return Q.tv_closed_forms(epistemic=True)


def _against_reading():
    n, M, K = 50_000, 10, 1000
    P = dirichlet((n, M, K), np.float32)
    threads = get_num_threads()
    read = seconds(lambda: peers.read_once(P, threads))
    for checked, limit in ((False, 3.0), (True, 4.5)):
        ours = seconds(lambda c=checked: _closed(cl.ConvexHull(P, validate=c)))
        yield Row(
            f"TU + AU_lower + EU ({n}, {M}, {K}) float32, {'not ' * (not checked)}validated",
            "sum of the array, NumPy, one thread per core",
            1e6 * ours / n,
            1e6 * read / n,
            f"at most {limit}x the time, i.e. ratio >= {1 / limit:.2f}",
            ours <= limit * read,
            "",
        )


def _against_numpy():
    n, M, K = 10_000, 10, 100
    P = dirichlet((n, M, K), np.float32)
    Q = cl.ConvexHull(P)
    other, expected = once(lambda: peers.numpy_closed_forms(P))
    ours = seconds(lambda: _closed(Q))
    worst = max(float(np.abs(a - b).max()) for a, b in zip(_closed(Q), expected, strict=True))
    yield Row(
        f"TU + AU_lower + EU ({n}, {M}, {K}) float32",
        "vectorised NumPy, loop over pairs",
        1e6 * ours / n,
        1e6 * other / n,
        "15x",
        other / ours >= 15,
        f"largest difference {worst:.1e}",
    )


def _many_members():
    n, M, K = 1000, 1000, 10
    P = dirichlet((n, M, K))
    wide, plain = np.empty((2, n))
    ours = seconds(
        lambda: _kernels.closed_forms(P, None, None, wide, None, get_num_threads()), repeat=3
    )
    other, _ = once(
        lambda: _kernels.closed_forms(P, None, None, plain, None, get_num_threads(), method=1)
    )
    return Row(
        f"EU ({n}, {M}, {K}) float64",
        "the loop over all pairs of the same kernel",
        1e6 * ours / n,
        1e6 * other / n,
        "6x (formerly 8x)",
        other / ours >= 6,
        f"largest difference {np.abs(wide - plain).max():.1e}",
    )


def _games():
    n, M, some = 10_000, 10, 100
    for K, limit in ((10, 400), (100, 200)):
        P = dirichlet((4 * n, M, K), seed=1)
        first = P.argmax(axis=2)
        P = np.ascontiguousarray(P[(first != first[:, :1]).any(axis=1)][:n])  # all disagree
        interval, gap = cl.aleatoric_uncertainty(P, return_error=True)
        ours = seconds(lambda P=P: cl.ConvexHull(P, validate=False).maximin())
        other, expected = once(lambda P=P: [peers.linprog_upper(p) for p in P[:some]])
        worst = float(np.abs(interval.upper[:some] - expected).max())
        ratio = (other / some) / (ours / n)
        yield Row(
            f"AU_upper ({n}, {M}, {K}) float64, members disagree",
            "SciPy linprog (HiGHS) per instance",
            1e6 * ours / n,
            1e6 * other / some,
            f"{limit}x, gaps <= 1e-9",
            bool(ratio >= limit and gap.max() <= 1e-9),
            f"largest difference {worst:.1e}, largest gap {gap.max():.1e}",
        )


def _memory():
    P = dirichlet((500_000, 10, 10), np.float32)
    for layout, array in (("C order", P), ("Fortran order", np.asfortranarray(P))):
        tracemalloc.start()
        result = cl.quantify(array)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        kept = sum(
            x.nbytes for x in (result.total, *result.aleatoric, result.epistemic, result.error)
        )
        share = (peak - kept) / P.nbytes
        yield Row(
            f"peak extra memory of quantify (500000, 10, 10) float32, {layout}",
            "size of the input (ratios, not microseconds)",
            share,
            1.0,
            "at most 0.5x the input",
            share <= 0.5,
            "",
        )
