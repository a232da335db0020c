"""Metrics of selective prediction against sorting, and the paired bootstrap."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import credalens as cl
from benchmarks.harness import Row, seconds
from credalens.evaluation.compare import COMPARED

N = 1_000_000
RESAMPLES = 2000
#: Required of the paired bootstrap: seconds, and bytes of the whole process.
SECONDS, MEMORY = 5.0, 1 << 30


def rows():
    y, predicted, score, other = data(N)
    cases = {
        "distinct": score,
        "single precision": score.astype(np.float32),
        "10^4 values": np.round(score, 4),
        "1000 values": np.round(score, 3),
        "10 values": np.round(score, 1),
    }
    for name, values in cases.items():
        yield _against_sorting(f"0/1 loss, {name}", y, predicted, values)
    real = np.abs(score - other)
    yield _against_sorting("real losses, 1000 values", None, None, cases["1000 values"], real)
    yield _paired_bootstrap()


def data(n):
    """Return labels, predictions and two scores, of which errors are more likely the larger."""
    rng = np.random.default_rng(0)
    score = rng.random(n)
    y = rng.integers(0, 10, n)
    predicted = np.where(rng.random(n) < 0.2 * score, (y + 1) % 10, y)
    return y, predicted, score, np.clip(score + 0.1 * rng.standard_normal(n), 0, 1)


def _against_sorting(what, y, predicted, score, loss=None):
    """Time all metrics together and the sorting of the scores in turns."""
    calls = {
        "metrics": lambda: cl.selective_metrics(y, predicted, score, loss=loss),
        "argsort": lambda: np.argsort(score),
    }
    best = dict.fromkeys(calls, np.inf)
    for _ in range(7):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    ratio = best["metrics"] / best["argsort"]
    found, turned = (
        cl.selective_metrics(*(None if x is None else x[order] for x in (y, predicted)),
                             score[order], loss=None if loss is None else loss[order])
        for order in (slice(None), slice(None, None, -1))
    )  # fmt: skip
    return Row(
        f"selective_metrics ({N},), {what}",
        "np.argsort of the scores",
        1e6 * best["metrics"] / N,
        1e6 * best["argsort"] / N,
        "at most 2x the time, i.e. ratio >= 0.50" if loss is None else "none",
        loss is not None or ratio <= 2,
        f"rows reversed: {abs(found.aurc - turned.aurc):.0e}",
    )


def _paired_bootstrap():
    """Time compare_scores in a process of its own, whose peak memory is that of the call."""
    command = [sys.executable, "-m", "benchmarks.selective"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    ours, literal, memory = map(float, shown.split())
    return Row(
        f"compare_scores ({N},), two scores, {RESAMPLES} resamples",
        "the metrics of resampled rows, one resample at a time",
        1e6 * ours / N / RESAMPLES,
        1e6 * literal / N,
        f"under {SECONDS:g} s and {MEMORY >> 20} MiB",
        ours < SECONDS and memory < MEMORY,
        f"{ours:.2f} s, {memory / 2**20:.0f} MiB",
    )


def _peak_memory():
    """Return the peak memory of this process in bytes.

    ``ru_maxrss`` of a new process is at least that of its parent at the time of the fork.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.M)
        return 1024 * int(line[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    """Print the least seconds of all resamples, those of a literal one, and the peak memory."""
    y, predicted, score, other = data(N)
    scores = {"a": score, "b": other}
    correct = y == predicted
    options = {"metrics": tuple(COMPARED), "n_resamples": RESAMPLES, "random_state": 0}
    ours = seconds(lambda: cl.compare_scores(correct, None, scores, **options), repeat=3)
    memory = _peak_memory()
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    drawn = rng.integers(0, N, N)
    for values in scores.values():
        cl.selective_metrics(correct[drawn], None, values[drawn])
    print(ours, time.perf_counter() - start, memory)


if __name__ == "__main__":
    main()
