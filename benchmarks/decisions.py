"""Admissible actions against linear programs and NumPy, and the command that decides."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import credalens as cl
from benchmarks.harness import Row, once, seconds
from benchmarks.peers_lp import highs_games
from benchmarks.total_variation import dirichlet

N = 10_000
FILE_ROWS = 1_000_000


def rows():
    yield _e_admissible()
    yield _maximal()
    with tempfile.TemporaryDirectory() as folder:
        yield _command(Path(folder), "models that mostly agree", _similar)
        yield _command(Path(folder), "independent models", _independent)


def _e_admissible():
    some, limit = 50, 100
    P = dirichlet((N, 10, 10), seed=11)
    Q = cl.ConvexHull(P)
    ours = seconds(lambda: cl.admissible(Q))
    mask, error = cl.admissible(Q, return_error=True)
    # One program per class j: the largest v with w (p_j - p_k) >= v for all k.
    part = P[:some]
    advantages = (part.swapaxes(1, 2)[..., None] - part[:, None]).reshape(-1, 10, 10)
    other, found = once(lambda: highs_games(advantages, np.eye(10)))
    expected = (found >= -1e-9).reshape(some, 10)
    equal = bool((expected == mask[:some]).all())
    certified = bool((error == 0).all())
    ratio = (other / some) / (ours / N)
    return Row(
        f"E-admissible classes ({N}, 10, 10)",
        "highspy, one program per instance and class, solver reused",
        1e6 * ours / N,
        1e6 * other / some,
        f"{limit}x, all certified",
        bool(ratio >= limit and equal and certified),
        f"{'the same' if equal else 'other'} classes; undecided: {int((error > 0).sum())}",
    )


def _maximal_numpy(P):
    """Return the maximal classes, one class at a time for all instances of a block."""
    found = np.empty((len(P), P.shape[2]), bool)
    for start in range(0, len(P), 1000):
        block = P[start : start + 1000]
        for d in range(P.shape[2]):
            advantage = (block - block[:, :, [d]]).min(axis=1)
            found[start : start + 1000, d] = ~(advantage > 1e-12).any(axis=1)
    return found


def _maximal():
    limit = 10
    P = dirichlet((N, 10, 100), seed=12)
    Q = cl.ConvexHull(P)
    ours = seconds(lambda: cl.admissible(Q, rule="maximal"))
    other, expected = once(lambda: _maximal_numpy(P))
    equal = bool((cl.admissible(Q, rule="maximal") == expected).all())
    return Row(
        f"maximal classes ({N}, 10, 100)",
        "vectorised NumPy",
        1e6 * ours / N,
        1e6 * other / N,
        f"{limit}x",
        bool(other / ours >= limit and equal),
        f"{'the same' if equal else 'other'} classes",
    )


def _similar(rng, shape):
    n, _, K = shape
    logits = 2 * rng.normal(size=(n, 1, K)) + 0.5 * rng.normal(size=shape)
    exp = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exp / exp.sum(axis=-1, keepdims=True)


def _independent(rng, shape):
    return rng.dirichlet(np.full(shape[-1], 0.5), shape[:-1])


def _command(folder, what, make):
    """Time both commands on one file in turns; the ratio is that of `score` to `decide`."""
    limit = 2
    path = folder / "members.npy"
    np.save(path, make(np.random.default_rng(13), (FILE_ROWS, 5, 10)).astype(np.float32))
    calls = {"decide": ["decide"], "score": ["score", "--measures", "tv"]}
    best = dict.fromkeys(calls, np.inf)
    for _ in range(3):
        for name, arguments in calls.items():
            output = folder / f"{name}.csv"
            output.unlink(missing_ok=True)
            command = [sys.executable, "-m", "credalens", *arguments, str(path), "-q",
                       "-o", str(output)]  # fmt: skip
            start = time.perf_counter()
            subprocess.run(command, check=True)
            best[name] = min(best[name], time.perf_counter() - start)
    # Members that were drawn independently disagree on every row; only the first kind is required.
    required = make is _similar
    ratio = best["decide"] / best["score"]
    return Row(
        f"credalens decide, 10^6 rows, M = 5, K = 10, {what}",
        "credalens score --measures tv",
        1e6 * best["decide"] / FILE_ROWS,
        1e6 * best["score"] / FILE_ROWS,
        f"at most {limit}x its time" if required else "stated",
        ratio <= limit or not required,
        f"{ratio:.2f}x its time",
    )
