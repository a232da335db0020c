"""Validation of arguments that several functions share."""

from __future__ import annotations

import os
from numbers import Real
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.measures import Interval


def fraction(value: Any, name: str, *, zero: bool = False, one: bool = False) -> float:
    """Return `value` as a float between 0 and 1; `zero` and `one` include the ends."""
    valid = isinstance(value, Real) and not isinstance(value, bool)
    if not (valid and (0 < value < 1 or (zero and value == 0) or (one and value == 1))):
        interval = f"{'[' if zero else '('}0, 1{']' if one else ')'}"
        _validation.raise_invalid(name, f"is {value!r}", f"pass a number in {interval}")
    return float(value)


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
