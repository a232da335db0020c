"""Validation of arguments that several functions share."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._validation import fraction
from credalens.measures import Interval

__all__ = ["fraction", "n_workers", "score_keys"]


def n_workers(n_jobs: Any) -> int:
    """Return the number of workers of an argument `n_jobs` like that of scikit-learn."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        _validation.raise_invalid("n_jobs", f"is {n_jobs!r}", "pass a whole number, or -1")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(n_jobs) if n_jobs > 0 else max(1, (cores or 1) + 1 + int(n_jobs))


def score_keys(score: Any, name: str = "score") -> list[Array]:
    """Return the sort keys of a score as float64 vectors: its values, or both interval ends."""
    if not isinstance(score, Interval):
        return [_score_vector(score, name)]
    ends = {f"{name}.lower": score.lower, f"{name}.upper": score.upper}
    keys = [_score_vector(values, end) for end, values in ends.items()]
    if keys[0].shape != keys[1].shape:
        _validation.raise_invalid(
            name,
            f"has ends of lengths {len(keys[0])} and {len(keys[1])}",
            "pass an Interval with ends of equal length",
        )
    return keys


def _score_vector(x: Any, name: str) -> Array:
    score = _validation.vector(_validation.numeric(x, name), name).astype(np.float64)
    if np.isnan(score).any():
        first = int(np.argmax(np.isnan(score)))
        _validation.raise_invalid(
            name, f"is NaN at index {first} (zero-based)", "pass a score for every instance"
        )
    return score
