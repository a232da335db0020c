"""The numbers behind the pictures: what is counted is exact, what is listed may be a sample."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens._arrays import Array
from credalens.evaluation import RejectionCurve, rejection_curve, rejection_order
from credalens.evaluation.kinds import KINDS
from credalens.measures.quantify import COMPONENTS
from credalens.report.data import Findings
from credalens.report.markup import cut

#: Values on the page are whole numbers of these parts of the scale, i.e. have four decimals.
PARTS = 10_000
#: Cells of the map that counts are kept for, in `PARTS`: a brush snaps to them.
CELL = (100, 50)
#: Rows that can be listed, and about how many characters they may take.
MOST_ROWS, MOST_CHARACTERS = 20_000, 2_800_000
#: Up to so many predictions are all drawn; of more, this many of those to look at.
ALL_MARKS, SOME_MARKS = 2_000, 1_500
#: Votes and classes told for a row or a picture.
TOLD_VOTES, TOLD_CLASSES = 3, 20
BINS = 40
CURVE_BINS, RANDOM_ORDERS = 30, 1000


def parts(values: Array, scale: float) -> Array:
    """Return uncertainties as whole numbers of `PARTS` of the scale."""
    return np.rint(values / scale * PARTS).astype(np.int64)


def cells(found: Findings) -> list[list[int]]:
    """Return ``[column, row, count]`` of every cell of the map that is not empty."""
    scale, main = found.rule.scale, found.main
    # The largest values that can be, the scale and half of it, close the last cells.
    x = np.minimum(parts(main.aleatoric.midpoint, scale) // CELL[0], PARTS // CELL[0] - 1)
    y = np.minimum(parts(main.epistemic, scale) // CELL[1], PARTS // 2 // CELL[1] - 1)
    width = int(x.max()) + 1
    key, count = np.unique(y * width + x, return_counts=True)
    return np.stack([key % width, key // width, count], axis=1).tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Listed:
    """Which rows the page carries, and which of them are drawn as marks."""

    #: Positions, most uncertain first.
    places: Array
    drawn: Array
    #: How many of the most uncertain are among them without a gap.
    n_top: int


def listed(found: Findings) -> Listed:
    """Choose the rows that the page can list: all, or the most uncertain and a sample."""
    rng = np.random.default_rng(0)
    n = found.n
    order = rejection_order(found.main.total)
    drawn: Array = np.arange(n)
    if n > ALL_MARKS:
        looked = np.flatnonzero(found.kinds)
        pool = looked if len(looked) else np.arange(n)
        drawn = rng.choice(pool, min(SOME_MARKS, len(pool)), replace=False)
    room = min(MOST_ROWS, max(ALL_MARKS, MOST_CHARACTERS // _characters(found)))
    if n <= room:
        return Listed(order, np.flatnonzero(np.isin(order, drawn)), n)
    top = order[: room // 2]
    chosen = np.zeros(n, bool)
    chosen[top] = chosen[drawn] = True
    left = np.flatnonzero(~chosen)
    chosen[rng.choice(left, room - int(chosen.sum()), replace=False)] = True
    places = order[chosen[order]]
    return Listed(places, np.flatnonzero(np.isin(places, drawn)), len(top))


def _characters(found: Findings) -> int:
    """Return about how many characters a row takes on the page."""
    digits = len(str(found.subject.n_classes))
    ids = 8
    if found.ids is not None:
        some = found.ids[:: max(1, found.n // 1000)]
        ids = 4 + max(len(cut(i).encode()) for i in some)
    return 40 + 2 * digits + TOLD_VOTES * (digits + 6) + ids


def rows(found: Findings, places: Array) -> dict[str, list[Any]]:
    """Return the columns of the listed rows; numbers in `PARTS` of the scale."""
    scale, main = found.rule.scale, found.main
    values = {
        "t": main.total, "l": main.aleatoric.lower, "u": main.aleatoric.upper,
        "m": main.aleatoric.midpoint, "e": main.epistemic,
    }  # fmt: skip
    columns: dict[str, list[Any]] = {
        key: parts(value[places], scale).tolist() for key, value in values.items()
    }
    columns["r"] = found.rows[places].tolist()
    columns["p"] = found.predicted[places].tolist()
    columns["q"] = found.kinds[places].tolist()
    columns["v"] = [_votes(vote) for vote in found.votes[places].tolist()]
    if found.labels is not None:
        columns["y"] = found.labels[places].tolist()
    if found.ids is not None:
        columns["id"] = [cut(i) for i in found.ids[places]]
    return columns


def _votes(votes: list[int]) -> list[int]:
    """Return class and count, class and count ... of the classes with most votes."""
    tally = sorted(Counter(votes).items(), key=lambda item: (-item[1], item[0]))
    return [number for item in tally[:TOLD_VOTES] for number in item]


def histograms(found: Findings) -> list[dict[str, Any]]:
    """Return counts and median of TU, both aleatoric ends and EU, on one axis for all but EU."""
    main = found.main
    wide = _round_up(float(main.total.max()), found.rule.scale)
    narrow = _round_up(float(main.epistemic.max()), found.rule.scale / 2)
    found_in = (
        ("Total uncertainty", main.total, wide),
        ("Aleatoric, lower end", main.aleatoric.lower, wide),
        ("Aleatoric, upper end", main.aleatoric.upper, wide),
        ("Epistemic uncertainty", main.epistemic, narrow),
    )
    pictures = []
    for title, values, end in found_in:
        count, edges = np.histogram(values, BINS, (0.0, end))
        pictures.append({
            "title": title, "median": float(np.median(values)), "end": end,
            "bins": [
                {"from": float(a), "to": float(b), "n": int(c)}
                for a, b, c in zip(edges, edges[1:], count, strict=False)
            ],
        })  # fmt: skip
    return pictures


def _round_up(largest: float, scale: float) -> float:
    """Return the end of an axis: a tenth of the scale or more, whatever the largest value."""
    tenths = max(1, int(np.ceil(10 * largest / scale - 1e-9)))
    return tenths * scale / 10


def by_class(found: Findings) -> list[dict[str, Any]]:
    """Return the predicted classes with most to look at: counts by kind, and medians."""
    K, main = found.subject.n_classes, found.main
    table = np.bincount(found.predicted * 4 + found.kinds, minlength=4 * K).reshape(K, 4)
    n, look = table.sum(axis=1), table[:, 1:].sum(axis=1)
    order = np.lexsort((np.arange(K), -n, -look))
    result = []
    for k in order[:TOLD_CLASSES].tolist():
        if n[k]:
            mine = found.predicted == k
            columns = (main.total, main.aleatoric.midpoint, main.epistemic)
            medians = [float(np.median(column[mine])) for column in columns]
            entry = {"class": k, "n": int(n[k]), "counts": table[k].tolist(), "medians": medians}
            if found.correct is not None:
                entry["right"] = int(found.correct[mine].sum())
            result.append(entry)
    return result


@dataclass(frozen=True, eq=False)
class Curves:
    """Rejection curves by component and family, and what to compare them with."""

    scores: dict[tuple[str, str], RejectionCurve]
    oracle: RejectionCurve
    #: Expected accuracy of a random order, and its mean monotonicity ratio.
    random: RejectionCurve
    random_ratio: float


def curves(found: Findings) -> Curves | None:
    """Return the rejection curves, ``None`` without labels.

    The expected curve of a random order is flat and needs no draws; its monotonicity ratio is the
    mean of `RANDOM_ORDERS` seeded ones.
    """
    if found.labels is None or found.correct is None:
        return None
    truth, predicted = found.labels, found.predicted

    def curve(score: Any) -> RejectionCurve:
        return rejection_curve(truth, predicted, score, CURVE_BINS)

    scores = {}
    for family, columns in found.families.items():
        for component in COMPONENTS:
            # The Hartley family has the total uncertainty of the entropy family.
            if (component, family) != ("total", "hartley") or "entropy" not in found.families:
                scores[component, family] = curve(getattr(columns, component))
    right = int(found.correct.sum())
    share = np.arange(CURVE_BINS) / CURVE_BINS
    random = RejectionCurve(share, np.full(CURVE_BINS, right / found.n))
    return Curves(scores, curve(~found.correct), random, _random_ratio(right, found.n))


def _random_ratio(right: int, n: int) -> float:
    """Return the mean monotonicity ratio of random orders.

    No row is ordered for that: how many of the right ones fall between two points of the curve is
    what a draw from an urn tells.
    """
    rejected = np.arange(CURVE_BINS) * n // CURVE_BINS
    steps = np.diff(rejected, append=n)
    draws = np.random.default_rng(0).multivariate_hypergeometric(steps, right, RANDOM_ORDERS)
    kept = draws[:, ::-1].cumsum(axis=1)[:, ::-1] / (n - rejected)
    return float(np.mean(np.diff(kept) >= 0))


def accuracy_by_kind(found: Findings) -> list[tuple[int, int]]:
    """Return how many are right, and of how many, of each kind."""
    correct = found.correct
    return [
        (0 if correct is None else int(correct[found.kinds == code].sum()),
         int((found.kinds == code).sum()))
        for code in range(len(KINDS))
    ]  # fmt: skip
