"""Monitoring against reading the same columns of a Parquet file."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.harness import Row
from credalens.io.tables import write_parquet
from credalens.monitor import ScoreSketch, check
from credalens.monitor.score_files import BLOCK_ROWS, read_sketch
from credalens.policy import Policy, ThresholdRule

N, BATCH = 8_000_000, 500_000
SCORES = ("tv_total", "tv_aleatoric_lower", "tv_aleatoric_upper", "tv_epistemic")
CLASSES = np.array(["cat", "dog", "fox"])
REPEAT = 9


def rows():
    policy = Policy(
        n_classes=3, member_names=["a", "b"], class_names=CLASSES.tolist(), rule=ThresholdRule(0.5)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "scores.parquet")
        write_parquet(batches, path)
        for what, empty in (
            ("sketch", ScoreSketch(SCORES)),
            ("sketch with a policy", ScoreSketch(SCORES, policy=policy)),
        ):
            yield _against_reading(what, path, empty, lambda one: None, 2.0)
        yield _against_reading(
            "sketch and tests with 1000 resamples", path, ScoreSketch(SCORES),
            lambda one: check(one, one), None,
        )  # fmt: skip


def batches():
    """Yield scores as `credalens score` writes them, in single precision."""
    rng = np.random.default_rng(0)
    for _ in range(N // BATCH):
        total = rng.random(BATCH, dtype=np.float32)
        columns = {
            "tv_total": total,
            "tv_aleatoric_lower": total * rng.random(BATCH, dtype=np.float32),
            "tv_aleatoric_upper": total,
            "tv_epistemic": rng.random(BATCH, dtype=np.float32) / 2,
        }
        prediction = pa.array(CLASSES[rng.integers(0, 3, BATCH)])
        yield pa.record_batch({"prediction": prediction, **columns})


def read(path):
    """Read the columns in the same blocks, with the predictions as codes."""
    with parquet.ParquetFile(path, read_dictionary=["prediction"]) as file:
        for _ in file.iter_batches(BLOCK_ROWS, columns=[*SCORES, "prediction"]):
            pass


def _against_reading(what, path, empty, then, most):
    """Compare the CPU time of all threads, in turns: other processes do not count."""
    best = {"ours": np.inf, "read": np.inf}
    calls = {"ours": lambda: then(read_sketch(path, empty)), "read": lambda: read(path)}
    for _ in range(REPEAT):
        for name, call in calls.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    ratio = best["ours"] / best["read"]
    found = read_sketch(path, empty).total
    return Row(
        f"monitor: {what}, ({N}, {len(SCORES)}) and predictions",
        "pyarrow reading the same columns, CPU time of both",
        1e6 * best["ours"] / N,
        1e6 * best["read"] / N,
        "none" if most is None else f"at most {most:g}x the time, i.e. ratio >= {1 / most:.2f}",
        most is None or ratio <= most,
        f"{found.rows} rows counted",
    )
