"""The times of Table 2, measured in a pass of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from credalens._backend import Array
from credalens.experiments.protocol import Config, measure, predict_split, seeds
from credalens.experiments.split_runs import Outcome, SplitResult

#: Folder of the times, in the folder of the results.
FOLDER = "timing"
#: Each measure is computed so many times; the shortest time counts.
REPEATS = 5


def time_split(
    name: str, X: Array, y: Array, split: int, config: Config, families: Sequence[str]
) -> SplitResult:
    """Train the forests on one split and return the time of each measure on the test part."""
    predicted = predict_split(name, X, y, split, config)
    seed = seeds(config, name, split)[2]
    runs = [measure(predicted.members, families, seed)[1] for _ in range(REPEATS)]
    return predicted.describe(name, split) | {
        "load": _load(),
        "measures": {
            f"{component} {family}": {"seconds": min(run[component, family] for run in runs)}
            for component, family in runs[0]
        },
    }


def _load() -> float | None:
    """Return the number of processes that compete for the processors, if it is known."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def with_times(outcome: Outcome, times: Mapping[tuple[str, int], SplitResult | None]) -> Outcome:
    """Return the outcome with the times of the timing pass, if that has all of its datasets.

    If a dataset has not been timed, all results keep the times of their own run.
    """
    timed = [one for one in times.values() if one is not None]
    found = {one["dataset"]: one["measures"] for one in timed}
    complete = {one["dataset"] for one in outcome.results} <= set(found)
    if not outcome.results or not complete:
        return replace(outcome, times=timed)

    def replaced(one: SplitResult) -> SplitResult:
        own: dict[str, Any] = found[one["dataset"]]
        measures = {name: value | own.get(name, {}) for name, value in one["measures"].items()}
        return one | {"measures": measures}

    results = [replaced(one) for one in outcome.results]
    return replace(outcome, results=results, times=timed, is_timed=True)


def describe_times(times: Sequence[SplitResult], complete: bool) -> str:
    """Return how the times were measured, in a sentence."""
    if not complete:
        return (
            "Time: CPU seconds of one core for the test part of a split, measured while other "
            "splits were computed; the time of a difference includes both terms."
        )
    loads = [one["load"] for one in times if one["load"] is not None]
    load = f"; load average of the machine {min(loads):.1f} to {max(loads):.1f}" if loads else ""
    return (
        "Time: CPU seconds of one core for the test part of the first split, measured in a pass "
        f"of its own, the shortest of {REPEATS}{load}; the time of a difference includes both "
        "terms."
    )
