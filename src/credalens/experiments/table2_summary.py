"""The rows of Table 2 of the paper from the results of splits, with the published numbers."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from credalens.experiments.protocol import components

GROUPS = ("K<=10", "K>10")
COMPONENTS = ("AU", "EU", "TU")


class Printed(NamedTuple):
    """A row of the published table: mean and standard deviation of area, MR and seconds."""

    area: float
    area_sd: float
    mr: float
    mr_sd: float
    time: float
    time_sd: float


#: The published table, which has no Hartley measures for more than ten classes.
PAPER: dict[tuple[str, str, str], Printed] = {
    ("K<=10", "AU", "hartley"): Printed(83.8, 11.5, 52.4, 18.6, 18.054, 49.8),
    ("K<=10", "AU", "entropy"): Printed(89.2, 9.5, 77.6, 15.1, 0.001, 0.0),
    ("K<=10", "AU", "tv"): Printed(89.2, 9.5, 77.6, 15.0, 0.323, 1.0),
    ("K<=10", "EU", "hartley"): Printed(87.1, 11.5, 65.9, 17.5, 8.725, 33.0),
    ("K<=10", "EU", "entropy"): Printed(79.5, 17.0, 46.7, 23.0, 9.291, 27.0),
    ("K<=10", "EU", "tv"): Printed(86.8, 12.0, 64.6, 17.9, 0.004, 0.0),
    ("K<=10", "TU", "entropy"): Printed(88.4, 10.3, 73.0, 16.2, 9.290, 26.567),
    ("K<=10", "TU", "tv"): Printed(88.6, 10.2, 73.2, 16.2, 0.001, 0.003),
    ("K>10", "AU", "entropy"): Printed(92.9, 4.2, 89.9, 6.9, 0.006, 0.0),
    ("K>10", "AU", "tv"): Printed(92.9, 4.1, 90.0, 7.3, 1.249, 1.8),
    ("K>10", "EU", "entropy"): Printed(84.5, 11.3, 49.2, 17.1, 11.669, 14.0),
    ("K>10", "EU", "tv"): Printed(89.8, 7.1, 69.0, 13.8, 0.018, 0.0),
    ("K>10", "TU", "entropy"): Printed(90.6, 5.9, 78.1, 10.6, 11.663, 14.0),
    ("K>10", "TU", "tv"): Printed(91.0, 5.8, 79.8, 9.3, 0.002, 0.0),
}


#: Numbers of datasets in the published table.
PAPER_DATASETS = {"K<=10": 59, "K>10": 5}


@dataclass(frozen=True)
class Row:
    """One measure in one group of datasets; areas, AUC and MR in percent, times in seconds."""

    group: str
    component: str
    family: str
    n_datasets: int
    auc_mean: float
    auc_sd: float
    area_mean: float
    area_sd: float
    mr_mean: float
    mr_sd: float
    time_mean: float
    time_sd: float
    paper_area: float | None
    paper_mr: float | None
    paper_time: float | None


#: Columns of ``table2.csv``.
COLUMNS = tuple(field.name for field in fields(Row))


def group_of(n_classes: int) -> str:
    """Return the group of a dataset."""
    return GROUPS[0] if n_classes <= 10 else GROUPS[1]


def mean_sd(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation with ddof = 1 (NaN for a single value)."""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return float(np.mean(values)), sd


def by_dataset(results: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the results of each dataset, in the order of the splits."""
    datasets: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for result in sorted(results, key=lambda result: (result["dataset"], result["split"])):
        datasets[result["dataset"]].append(result)
    return dict(datasets)


def mean_over_splits(results: Sequence[Mapping[str, Any]], measure: str, quantity: str) -> float:
    """Return the mean of a quantity (``auc``, ``area``, ``mr``, ``seconds``) over splits."""
    return float(np.mean([result["measures"][measure][quantity] for result in results]))


def summarize(results: Iterable[Mapping[str, Any]], families: Sequence[str]) -> list[Row]:
    """Return the rows of the table: statistics over datasets of the means over splits.

    A group without datasets has no rows.
    """
    groups: dict[str, list[Sequence[Mapping[str, Any]]]] = {group: [] for group in GROUPS}
    for splits in by_dataset(results).values():
        groups[group_of(splits[0]["n_classes"])].append(splits)
    return [
        _row(group, component, family, datasets)
        for group, datasets in groups.items()
        for component in COMPONENTS
        for family in families
        if datasets and component in components(family)
    ]


def _row(
    group: str, component: str, family: str, datasets: Sequence[Sequence[Mapping[str, Any]]]
) -> Row:
    def statistics(quantity: str, unit: float) -> tuple[float, float]:
        measure = f"{component} {family}"
        return mean_sd([unit * mean_over_splits(one, measure, quantity) for one in datasets])

    paper = PAPER.get((group, component, family))
    return Row(
        group,
        component,
        family,
        len(datasets),
        *statistics("auc", 100),
        *statistics("area", 100),
        *statistics("mr", 100),
        *statistics("seconds", 1),
        paper.area if paper else None,
        paper.mr if paper else None,
        paper.time if paper else None,
    )


def ties(
    rows: Sequence[Row], quantity: str, best: Callable[[Iterable[float]], float] = max
) -> list[bool]:
    """Return which rows of one group and component tie with the best one.

    A row ties if the best mean is within its own standard error, sd / sqrt(number of datasets).
    """
    top = best(getattr(row, f"{quantity}_mean") for row in rows)

    def tied(row: Row) -> bool:
        gap = abs(getattr(row, f"{quantity}_mean") - top)
        sem = getattr(row, f"{quantity}_sd") / math.sqrt(row.n_datasets)
        return bool(gap == 0 or gap <= sem)

    return [tied(row) for row in rows]


@dataclass(frozen=True)
class PublishedCell:
    """An area or a monotonicity ratio of the published table, and ours; both in percent."""

    group: str
    component: str
    family: str
    #: ``"area"`` or ``"mr"``.
    quantity: str
    ours: float
    printed: float
    #: Standard error of the printed mean: its standard deviation / sqrt(number of datasets).
    standard_error: float

    @property
    def distance(self) -> float:
        """Distance to the printed mean in its standard errors."""
        return abs(self.ours - self.printed) / self.standard_error

    @property
    def name(self) -> str:
        """Group, component, family and quantity, for sentences."""
        quantity = "MR" if self.quantity == "mr" else self.quantity
        return f"{self.group} {self.component} {self.family} {quantity}"


def cells(rows: Iterable[Row]) -> list[PublishedCell]:
    """Return the areas and monotonicity ratios that the paper prints, next to ours."""
    found = []
    for row in rows:
        printed = PAPER.get((row.group, row.component, row.family))
        if printed is None:
            continue
        root = math.sqrt(PAPER_DATASETS[row.group])
        for quantity, ours in (("area", row.area_mean), ("mr", row.mr_mean)):
            mean, sd = getattr(printed, quantity), getattr(printed, f"{quantity}_sd")
            key = row.group, row.component, row.family
            found.append(PublishedCell(*key, quantity, ours, mean, sd / root))
    return found


def mean_distance(found: Sequence[PublishedCell]) -> float:
    """Return the mean distance of cells to the printed ones, in standard errors."""
    return float(np.mean([cell.distance for cell in found]))
