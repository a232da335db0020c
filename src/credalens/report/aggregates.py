"""The numbers behind the charts. Counts are exact; listed and drawn rows may be a sample."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._html import truncate
from credalens.evaluation import rejection_order
from credalens.evaluation.kinds import KINDS
from credalens.report.data import ReportData

#: Values on the page are multiples of the scale divided by this, i.e. have four decimals.
STEPS = 10_000
#: Width and height of the cells of the map, in steps. A selection snaps to cells.
CELL = (100, 50)
#: Largest number of rows that the page lists, and their approximate number of characters.
MAX_ROWS, MAX_CHARACTERS = 20_000, 2_800_000
#: Up to this many predictions are all drawn; of more, a sample of the second number.
ALL_MARKS, SAMPLED_MARKS = 2_000, 1_500
#: Votes shown per row, and classes shown in a chart.
MAX_VOTES, MAX_CLASSES = 3, 20
BINS = 40


def to_steps(values: Array, scale: float) -> Array:
    """Return uncertainties as integer numbers of steps."""
    return np.rint(values / scale * STEPS).astype(np.int64)


def cells(data: ReportData) -> list[list[int]]:
    """Return ``[column, row, count]`` of every cell of the map that is not empty."""
    scale, main = data.rule.scale, data.main
    # The largest possible values, the scale and half of it, belong to the last cells.
    x = np.minimum(to_steps(main.aleatoric.lower, scale) // CELL[0], STEPS // CELL[0] - 1)
    y = np.minimum(to_steps(main.epistemic, scale) // CELL[1], STEPS // 2 // CELL[1] - 1)
    width = int(x.max()) + 1
    key, count = np.unique(y * width + x, return_counts=True)
    return np.stack([key % width, key // width, count], axis=1).tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Listing:
    """The rows that the page lists, and those that it draws."""

    #: Positions of the listed rows, most uncertain first.
    positions: Array
    #: Positions in `positions` of the rows that are drawn as marks.
    drawn: Array
    #: Number of most uncertain rows that are listed without a gap.
    n_top: int


def select_rows(data: ReportData) -> Listing:
    """Select the rows to list: all, or the most uncertain and a random sample."""
    rng = np.random.default_rng(0)
    n = data.n
    order = rejection_order(data.main.total)
    drawn: Array = np.arange(n)
    if n > ALL_MARKS:
        pool = np.flatnonzero(data.kinds)
        pool = pool if len(pool) else np.arange(n)
        drawn = rng.choice(pool, min(SAMPLED_MARKS, len(pool)), replace=False)
    room = min(MAX_ROWS, max(ALL_MARKS, MAX_CHARACTERS // _characters_per_row(data)))
    if n <= room:
        return Listing(order, np.flatnonzero(np.isin(order, drawn)), n)
    top = order[: room // 2]
    selected = np.zeros(n, bool)
    selected[top] = selected[drawn] = True
    others = np.flatnonzero(~selected)
    selected[rng.choice(others, room - int(selected.sum()), replace=False)] = True
    positions = order[selected[order]]
    return Listing(positions, np.flatnonzero(np.isin(positions, drawn)), len(top))


def _characters_per_row(data: ReportData) -> int:
    digits = len(str(data.config.n_classes))
    ids = 8
    if data.ids is not None:
        sample = data.ids[:: max(1, data.n // 1000)]
        ids = 4 + max(len(truncate(i).encode()) for i in sample)
    return 40 + 2 * digits + MAX_VOTES * (digits + 6) + ids


def rows(data: ReportData, positions: Array) -> dict[str, list[Any]]:
    """Return the columns of the listed rows, uncertainties in steps."""
    scale, main = data.rule.scale, data.main
    values = {
        "t": main.total, "l": main.aleatoric.lower, "u": main.aleatoric.upper, "e": main.epistemic,
    }  # fmt: skip
    columns: dict[str, list[Any]] = {
        key: to_steps(value[positions], scale).tolist() for key, value in values.items()
    }
    columns["r"] = data.rows[positions].tolist()
    columns["p"] = data.predicted[positions].tolist()
    columns["q"] = data.kinds[positions].tolist()
    columns["v"] = [_votes(votes) for votes in data.votes[positions].tolist()]
    if data.labels is not None:
        columns["y"] = data.labels[positions].tolist()
    if data.ids is not None:
        columns["id"] = [truncate(i) for i in data.ids[positions]]
    return columns


def _votes(votes: list[int]) -> list[int]:
    """Return class, count, class, count, ... of the classes with most votes."""
    tally = sorted(Counter(votes).items(), key=lambda item: (-item[1], item[0]))
    return [number for item in tally[:MAX_VOTES] for number in item]


def histograms(data: ReportData) -> list[dict[str, Any]]:
    """Return histogram and median of TU, both ends of AU, and EU; all but EU share an axis."""
    main, scale = data.main, data.rule.scale
    wide, narrow = _axis_end(main.total, scale), _axis_end(main.epistemic, scale / 2)
    panels = (
        ("Total uncertainty", main.total, wide),
        ("Aleatoric, lower end", main.aleatoric.lower, wide),
        ("Aleatoric, upper end", main.aleatoric.upper, wide),
        ("Epistemic uncertainty", main.epistemic, narrow),
    )
    result = []
    for title, values, end in panels:
        count, edges = np.histogram(values, BINS, (0.0, end))
        result.append({
            "title": title, "median": float(np.median(values)), "end": end,
            "bins": [
                {"from": float(a), "to": float(b), "n": int(c)}
                for a, b, c in zip(edges, edges[1:], count, strict=False)
            ],
        })  # fmt: skip
    return result


def _axis_end(values: Array, scale: float) -> float:
    """Return the largest value rounded up to a tenth of the scale, at least one tenth."""
    return max(1, int(np.ceil(10 * float(values.max()) / scale - 1e-9))) * scale / 10


def by_class(data: ReportData) -> list[dict[str, Any]]:
    """Return counts by kind and medians of the predicted classes, most to review first."""
    K, main = data.config.n_classes, data.main
    table = np.bincount(data.predicted * 4 + data.kinds, minlength=4 * K).reshape(K, 4)
    n, review = table.sum(axis=1), table[:, 1:].sum(axis=1)
    result = []
    for k in np.lexsort((np.arange(K), -n, -review))[:MAX_CLASSES].tolist():
        if n[k]:
            mask = data.predicted == k
            columns = (main.total, main.aleatoric.lower, main.epistemic)
            medians = [float(np.median(column[mask])) for column in columns]
            entry = {"class": k, "n": int(n[k]), "counts": table[k].tolist(), "medians": medians}
            if data.correct is not None:
                entry["correct"] = int(data.correct[mask].sum())
            result.append(entry)
    return result


def correct_by_kind(data: ReportData) -> list[int]:
    """Return the number of correct predictions of each kind, 0 without labels."""
    if data.correct is None:
        return [0] * len(KINDS)
    return np.bincount(data.kinds, data.correct, len(KINDS)).astype(int).tolist()  # type: ignore[no-any-return]
