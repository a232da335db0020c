"""Tens of thousands of classes: dense arrays, truncated predictions, memory; CPU times."""

from __future__ import annotations

import multiprocessing

import numpy as np

import credalens as cl
from benchmarks import peers
from benchmarks.cells import peak_megabytes
from benchmarks.harness import Row, cpu_seconds
from benchmarks.total_variation import dirichlet
from credalens._backend import get_num_threads

#: Classes of common vocabularies of language models.
SMALL, LARGE = 32_000, 128_256
#: Largest share of the input that a measure may need in addition.
MEMORY = 0.5


def language(n, M, K, dtype=np.float64, seed=0):
    """Return predictions like those of a language model: few probable classes, a long tail."""
    rng = np.random.default_rng(seed)
    kind = np.float32 if dtype == np.float32 else np.float64
    P = 5 * rng.standard_normal((n, 1, K), dtype=kind)
    P = P + kind(0.3) * rng.standard_normal((n, M, K), dtype=kind)
    np.exp(P, out=P)
    P /= P.sum(axis=-1, keepdims=True)
    return P


def truncate(P, k):
    """Return the classes and the probabilities of the k largest entries."""
    ids = np.argpartition(-P, k, axis=-1)[..., :k]
    return ids, np.take_along_axis(P, ids, axis=-1)


def rows():
    yield from _against_reading()
    yield from _truncated()
    yield from _memory()


def _against_reading():
    n, M, limit = 64, 5, 4.0
    threads = get_num_threads()
    for name, P in (
        ("language model", language(n, M, LARGE, np.float32)),
        ("uniform Dirichlet", dirichlet((n, M, LARGE), np.float32)),
    ):
        read = cpu_seconds(lambda P=P: peers.read_once(P, threads))
        ours = cpu_seconds(lambda P=P: cl.quantify(P))
        yield Row(
            f"TV, all components ({n}, {M}, {LARGE}) float32, {name}, validated",
            "sum of the array, NumPy; CPU time",
            1e6 * ours / n,
            1e6 * read / n,
            f"at most {limit:g}x the time, i.e. ratio >= {1 / limit:.2f}",
            ours <= limit * read,
            f"largest gap {float(cl.quantify(P).error.max()):.0e}",
        )


def _truncated():
    n, some, M, k = 10_000, 32, 5, 20
    P = language(some, M, LARGE)
    ids, probs = truncate(P, k)
    # As many different lists as can be made in some seconds, repeated.
    lists = [(ids, probs), *(truncate(language(some, M, LARGE, seed=s), k) for s in range(1, 8))]
    rows = np.resize(np.arange(some * len(lists)), n)
    many = tuple(np.concatenate(part)[rows] for part in zip(*lists, strict=True))
    dense = cpu_seconds(lambda: cl.quantify(P)) / some
    ours = cpu_seconds(lambda: cl.quantify(cl.ConvexHull.from_topk(*many, LARGE)), 25) / n
    u, known = cl.quantify(cl.ConvexHull.from_topk(ids, probs, LARGE)), cl.quantify(P)
    pairs = [
        (u.total, known.total, u.errors.total),
        (u.aleatoric.upper, known.aleatoric.upper, u.errors.aleatoric.upper),
        (u.epistemic, known.epistemic, u.errors.epistemic),
    ]
    covered = all(bool((abs(a - b) <= e + 1e-12).all()) for a, b, e in pairs)
    yield Row(
        f"TV, all components ({n}, {M}, k = {k} of K = {LARGE}), validated",
        f"the dense array ({some}, {M}, {LARGE}), float64; CPU time",
        1e6 * ours,
        1e6 * dense,
        "500x, dense values within the errors",
        bool(dense / ours >= 500 and covered),
        f"mean error of EU {float(u.errors.epistemic.mean()):.2g}",
    )
    own = sum(x.nbytes for x in many) / n
    yield Row(
        f"bytes per instance (..., {M}, k = {k} of K = {LARGE})",
        "the dense array (bytes, not microseconds)",
        own,
        P.nbytes / some,
        "1000x",
        P.nbytes / some / own >= 1000,
        "",
    )


MEASURES = {
    "tv": lambda P: cl.quantify(P),
    "total_uncertainty": lambda P: cl.total_uncertainty(P),
    "epistemic_uncertainty": lambda P: cl.epistemic_uncertainty(P),
    "lower_entropy": lambda P: cl.lower_entropy(P),
    "information": lambda P: cl.quantify(P, "information"),
    "upper_entropy": lambda P: cl.upper_entropy(P),
    "hartley, 32 permutations": (lambda P: cl.generalized_hartley(P, n_samples=32, random_state=0)),
}


def _memory():
    """Yield the peak memory of each measure, in a new process, as a share of the input."""
    context = multiprocessing.get_context("spawn")
    for n, M, K in ((64, 10, SMALL), (64, 5, LARGE)):
        for name in MEASURES:
            with context.Pool(1) as pool:
                share, us = pool.apply(measure_share, (name, n, M, K))
            yield Row(
                f"peak extra memory of {name} ({n}, {M}, {K}) float32",
                "size of the input (ratios, not microseconds)",
                share,
                1.0,
                f"at most {MEMORY}x the input",
                share <= MEMORY,
                f"{us / 1e3:.3g} ms of CPU time per instance",
            )


def measure_share(name, n, M, K):
    """Return the peak extra memory as a share of the input, and the CPU time per instance."""
    P = language(n, M, K, np.float32)
    run = MEASURES[name]
    run(P[:2])  # imports, threads and caches are not counted
    share = peak_megabytes(lambda: run(P)) * 2**20 / P.nbytes
    return share, 1e6 * cpu_seconds(lambda: run(P), repeat=2) / n
