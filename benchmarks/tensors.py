"""PyTorch and JAX compared with NumPy arrays, and gradients compared with values.

Libraries that are not installed are skipped.
"""

from __future__ import annotations

import importlib.util
import time

import credalens as cl
from benchmarks.harness import Row
from benchmarks.total_variation import dirichlet


def rows():
    if importlib.util.find_spec("torch"):
        yield from _torch()
    if importlib.util.find_spec("jax"):
        yield from _jax()


def interleaved(*functions, repeat=15):
    """Return the minimal time of each function, timed in turns so that other load affects all."""
    best = [float("inf")] * len(functions)
    for function in functions:
        function()
    for _ in range(repeat):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def _torch():
    import torch

    for n, M, K in ((100_000, 10, 10), (5_000, 10, 100)):
        for measure in ("tv", "entropy"):
            P = dirichlet((n, M, K))
            x = torch.from_numpy(P)
            plain, ours = interleaved(
                lambda P=P, m=measure: cl.quantify(P, m), lambda x=x, m=measure: cl.quantify(x, m)
            )
            yield _against_numpy(f"PyTorch, quantify {measure} ({n}, {M}, {K})", n, ours, plain)
    for n, M, K in ((100_000, 10, 10), (100_000, 5, 3), (5_000, 10, 100), (1_000, 300, 8)):
        x = torch.from_numpy(dirichlet((n, M, K))).requires_grad_()
        yield _backward(torch, x, n, M, K)


def _backward(torch, x, n, M, K):
    held = []

    def forward():
        u = cl.quantify(x)
        held[:] = [u.total.sum() + u.aleatoric.lower.sum() + u.aleatoric.upper.sum()
                   + u.epistemic.sum()]  # fmt: skip

    def both():
        forward()
        torch.autograd.grad(held[0], x)

    value, total = interleaved(forward, both)
    gradient = total - value
    return Row(
        f"backward of quantify ({n}, {M}, {K}), total variation, all four values",
        "forward pass",
        1e6 * gradient / n,
        1e6 * value / n,
        "at most 4x the time, i.e. ratio >= 0.25",
        gradient <= 4 * value,
        "",
    )


def _jax():
    import jax

    jax.config.update("jax_enable_x64", True)
    n, M, K = 100_000, 10, 10
    P = dirichlet((n, M, K))
    x = jax.numpy.asarray(P)
    plain, ours = interleaved(lambda: cl.quantify(P), lambda: cl.quantify(x))
    yield _against_numpy(f"JAX, quantify tv ({n}, {M}, {K})", n, ours, plain)
    x = x.astype("float32")
    P = P.astype("float32")
    plain, ours = interleaved(lambda: cl.quantify(P), lambda: cl.quantify(x))
    yield _against_numpy(f"JAX, quantify tv ({n}, {M}, {K}) float32", n, ours, plain)


def _against_numpy(what, n, ours, plain):
    return Row(
        what,
        "the same measure of a NumPy array",
        1e6 * ours / n,
        1e6 * plain / n,
        "at most 1.2x the time, i.e. ratio >= 0.83",
        ours <= 1.2 * plain,
        "",
    )
