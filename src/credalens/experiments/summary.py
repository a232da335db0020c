"""The paper's Table 2 from finished pieces, beside what the paper prints."""

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
    """A row of the paper's table: mean and standard deviation of area, MR and seconds."""

    area: float
    area_sd: float
    mr: float
    mr_sd: float
    time: float
    time_sd: float


#: The paper's Table 2. It leaves the Hartley cells for more than ten classes empty.
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


@dataclass(frozen=True)
class Row:
    """One measure in one group of datasets; areas, AUC and MR in percent, times in seconds.

    The fields are the columns of ``table2.csv``.
    """

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
    """Return the group of the table to which a dataset belongs."""
    return GROUPS[0] if n_classes <= 10 else GROUPS[1]


def mean_sd(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation with ddof = 1 (NaN for a single value).

    Examples
    --------
    >>> from credalens.experiments.summary import mean_sd
    >>> mean_sd([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return float(np.mean(values)), sd


def by_dataset(pieces: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the pieces of each dataset, in the order of the splits."""
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for piece in sorted(pieces, key=lambda piece: (piece["dataset"], piece["split"])):
        found[piece["dataset"]].append(piece)
    return dict(found)


def mean_over_splits(pieces: Sequence[Mapping[str, Any]], measure: str, quantity: str) -> float:
    """Return the mean of a quantity (``auc``, ``area``, ``mr``, ``seconds``) over splits."""
    return float(np.mean([piece["measures"][measure][quantity] for piece in pieces]))


def summarize(pieces: Iterable[Mapping[str, Any]], families: Sequence[str]) -> list[Row]:
    """Return the rows of the table: spread over datasets of the means over splits.

    Rows of a group without any dataset are left out.
    """
    datasets = by_dataset(pieces)
    rows = []
    for group in GROUPS:
        members = [
            pieces for pieces in datasets.values() if group_of(pieces[0]["n_classes"]) == group
        ]
        if not members:
            continue
        for component in COMPONENTS:
            for family in families:
                if component in components(family):
                    rows.append(_row(group, component, family, members))
    return rows


def _row(
    group: str, component: str, family: str, datasets: Sequence[Sequence[Mapping[str, Any]]]
) -> Row:
    def over_datasets(quantity: str, unit: float) -> tuple[float, float]:
        measure = f"{component} {family}"
        return mean_sd([unit * mean_over_splits(one, measure, quantity) for one in datasets])

    paper = PAPER.get((group, component, family))
    return Row(
        group,
        component,
        family,
        len(datasets),
        *over_datasets("auc", 100),
        *over_datasets("area", 100),
        *over_datasets("mr", 100),
        *over_datasets("seconds", 1),
        paper.area if paper else None,
        paper.mr if paper else None,
        paper.time if paper else None,
    )


def ties(
    rows: Sequence[Row], quantity: str, best: Callable[[Iterable[float]], float] = max
) -> list[bool]:
    """Say which rows of one group and component tie with the best by the 1-SEM rule.

    A row ties if its mean is within its own standard error, sd / sqrt(number of datasets).

    Examples
    --------
    >>> from dataclasses import replace
    >>> from credalens.experiments.summary import Row, ties
    >>> row = Row("K<=10", "TU", "tv", 4, 90, 2, 87, 2, 70, 9, 0.1, 0.1, None, None, None)
    >>> worse = [replace(row, area_mean=86.0), replace(row, area_mean=85.9)]
    >>> ties([row, *worse], "area")
    [True, True, False]
    """
    top = best(getattr(row, f"{quantity}_mean") for row in rows)

    def tied(row: Row) -> bool:
        away = abs(getattr(row, f"{quantity}_mean") - top)
        sem = getattr(row, f"{quantity}_sd") / math.sqrt(row.n_datasets)
        return bool(away == 0 or away <= sem)

    return [tied(row) for row in rows]
