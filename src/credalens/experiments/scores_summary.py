"""Summaries of score comparisons: over splits, datasets and repetitions of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.evaluation.compare import verdict_of
from credalens.experiments.protocol import Config
from credalens.experiments.scores_compare import (
    BASELINE,
    CONFIDENCE,
    FORESTS,
    METRICS,
    SCORES,
    Comparison,
    dataset_of,
)
from credalens.experiments.scores_tasks import N_DIGITS, TASKS
from credalens.experiments.split_runs import Outcome, SplitResult
from credalens.experiments.table2_summary import by_dataset

#: Resamples of the datasets.
DATASET_RESAMPLES = 10_000


@dataclass(frozen=True)
class GroupRow:
    """A score and a metric over a group of datasets."""

    score: str
    metric: str
    #: Mean over the datasets.
    value: float
    #: Mean difference to the baseline, and the ends of its bootstrap interval over the datasets.
    difference: float
    difference_lower: float
    difference_upper: float
    #: Numbers of datasets on which the score is better and worse.
    n_better: int
    n_worse: int
    n_datasets: int


@dataclass(frozen=True)
class TaskRow:
    """A score in one task: mean, difference to the baseline and its interval."""

    score: str
    value: float
    difference: float
    difference_lower: float
    difference_upper: float


@dataclass
class Report:
    """What was compared: ensembles, splits of datasets, and tasks."""

    comparisons: list[Comparison]
    outcome: Outcome
    config: Config
    #: The command, as it can be run again.
    command: str
    #: Sentences about the ensembles.
    notes: list[str] = field(default_factory=list)

    def splits(self) -> dict[str, list[SplitResult]]:
        """Return the results of the splits of datasets, by kind of forests."""
        found: dict[str, list[SplitResult]] = {}
        for one in self.outcome.results:
            if one["dataset"] not in TASKS:
                plain = dataset_of(one["dataset"])
                kind = one["dataset"].removesuffix(plain)
                found.setdefault(kind, []).append(one | {"dataset": plain})
        return {kind: found[kind] for kind in FORESTS if kind in found}

    def tasks(self) -> dict[str, list[TaskRow]]:
        """Return the rows of each task that was computed."""
        rows = {task: task_rows(self.outcome.results, task) for task in TASKS}
        return {task: found for task, found in rows.items() if found}


def mean_over_splits(splits: Sequence[Mapping[str, Any]], score: str, metric: str) -> list[float]:
    """Return the means of the numbers of a score and metric, over the splits that define them.

    The mean of the ends of intervals is a conservative interval of the mean: splits share rows.
    """
    numbers = np.array([split["measures"][score][metric] for split in splits])
    defined = numbers[~np.isnan(numbers).any(axis=1)]
    means = defined.mean(axis=0) if len(defined) else np.full(numbers.shape[1], np.nan)
    return [float(x) for x in means]


def group_rows(results: Sequence[SplitResult], seed: int = 0) -> list[GroupRow]:
    """Return a row for each score and metric, over the datasets where the metric is defined."""
    datasets = by_dataset(results)
    return [_group_row(score, metric, datasets, seed) for metric in METRICS for score in SCORES]


def _group_row(
    score: str, metric: str, datasets: Mapping[str, Sequence[Any]], seed: int
) -> GroupRow:
    numbers = np.array([mean_over_splits(one, score, metric) for one in datasets.values()])
    numbers = numbers[~np.isnan(numbers).any(axis=1)]
    if not len(numbers):
        return GroupRow(score, metric, np.nan, np.nan, np.nan, np.nan, 0, 0, 0)
    value, _, _, difference, low, high = numbers.T
    verdicts = [verdict_of(metric, *ends) for ends in zip(low, high, strict=True)]
    return GroupRow(
        score,
        metric,
        float(value.mean()),
        float(difference.mean()),
        *bootstrap_interval(difference, seed),
        verdicts.count("better"),
        verdicts.count("worse"),
        len(numbers),
    )


def bootstrap_interval(values: Array, seed: int = 0) -> tuple[float, float]:
    """Return a percentile interval of the mean, from resamples of the values."""
    rng = np.random.default_rng(seed)
    draws = values[rng.integers(0, len(values), (DATASET_RESAMPLES, len(values)))].mean(axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)


def task_rows(results: Sequence[SplitResult], task: str) -> list[TaskRow]:
    """Return a row for each score of a task, with t intervals over digits or repetitions."""
    selected = [result for result in results if result["dataset"] == task]
    if not selected:
        return []
    unit = (lambda split: split % N_DIGITS) if task.startswith("ood") else (lambda split: split)
    return [
        _task_row(score, selected, unit) for score in (*SCORES, "random")
        if score in selected[0]["measures"]
    ]  # fmt: skip


def _task_row(score: str, results: Sequence[SplitResult], unit: Callable[[int], int]) -> TaskRow:
    from scipy.stats import t

    units: dict[int, list[list[float]]] = {}
    for result in results:
        values = [result["measures"][name] for name in (score, BASELINE)]
        units.setdefault(unit(result["split"]), []).append(values)
    means = np.array([np.mean(pairs, axis=0) for pairs in units.values()])
    differences = means[:, 0] - means[:, 1]
    n = len(differences)
    spread = float(differences.std(ddof=1)) / np.sqrt(n) if n > 1 else np.nan
    half = float(t.ppf((1 + CONFIDENCE) / 2, n - 1)) * spread if n > 1 else np.nan
    middle = float(differences.mean())
    return TaskRow(score, float(means[:, 0].mean()), middle, middle - half, middle + half)
