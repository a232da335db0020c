"""Metrics of set-valued predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, overload

import numpy as np

from credalens import _validation
from credalens._backend import Array, to_numpy
from credalens._results import TableResult
from credalens.decisions.label_sets import UTILITIES

#: The metrics by name.
SET_METRICS = (
    "determinacy", "single_accuracy", "set_accuracy", "coverage", "mean_size", "discounted", "u65",
    "u80",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class SetMetrics(TableResult):
    """Metrics of set-valued predictions; see `set_metrics`.

    Examples
    --------
    >>> import credalens as cl
    >>> m = cl.set_metrics([0, 1], [[True, False, False], [True, True, False]])
    >>> m.determinacy, m.coverage, m.mean_size, round(m.u65, 3)
    (0.5, 1.0, 1.5, 0.825)
    """

    #: Number of instances.
    n: int
    #: Share of the predictions with exactly one label.
    determinacy: float
    #: Accuracy of the predictions with one label, NaN if there are none.
    single_accuracy: float
    #: Share of the predictions with several labels that contain the true one, NaN without such.
    set_accuracy: float
    #: Share of all predictions that contain the true label.
    coverage: float
    #: Mean number of labels.
    mean_size: float
    #: Mean of 1 / size if the set contains the true label, else 0.
    discounted: float
    #: Utility-discounted accuracy: two labels are worth 0.65 of a correct one.
    u65: float
    #: Utility-discounted accuracy: two labels are worth 0.8 of a correct one.
    u80: float
    #: Lower and upper ends of the bootstrap intervals, by the name of the metric.
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    _repr_rows: ClassVar[int] = len(SET_METRICS)

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {"value": [getattr(self, name) for name in SET_METRICS]}
        if self.intervals:
            ends = [self.intervals[name] for name in SET_METRICS]
            columns |= {"lower": [low for low, _ in ends], "upper": [high for _, high in ends]}
        return columns

    def _index(self) -> tuple[str, list[str]]:
        return "metric", list(SET_METRICS)

    def _summary(self) -> str:
        return f"SetMetrics(n={self.n})"


@dataclass(frozen=True, eq=False, repr=False)
class GroupedSetMetrics(TableResult):
    """Metrics of set-valued predictions by group; see `set_metrics`.

    ``found[group]`` is a `SetMetrics`; `to_pandas` has one row per group.

    Examples
    --------
    >>> import credalens as cl
    >>> sets = [[True, False], [True, True], [False, True]]
    >>> found = cl.set_metrics([0, 0, 0], sets, groups=["a", "a", "b"])
    >>> found["a"].coverage, found["b"].coverage
    (1.0, 0.0)
    """

    groups: Mapping[Any, SetMetrics]

    def __getitem__(self, group: Any) -> SetMetrics:
        if group not in self.groups:
            _validation.raise_invalid(
                "group", f"is {group!r}", f"choose one of {', '.join(map(repr, self.groups))}"
            )
        return self.groups[group]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def _columns(self) -> dict[str, Any]:
        each = list(self.groups.values())
        columns: dict[str, Any] = {"n": [one.n for one in each]}
        for name in SET_METRICS:
            columns[name] = [getattr(one, name) for one in each]
            if each and each[0].intervals:
                columns[f"{name}_lower"] = [one.intervals[name][0] for one in each]
                columns[f"{name}_upper"] = [one.intervals[name][1] for one in each]
        return columns

    def _index(self) -> tuple[str, list[Any]]:
        return "group", list(self.groups)


@overload
def set_metrics(
    y: Any,
    sets: Any,
    *,
    groups: None = ...,
    n_resamples: int = ...,
    confidence: float = ...,
    random_state: Any = ...,
) -> SetMetrics: ...
@overload
def set_metrics(
    y: Any,
    sets: Any,
    *,
    groups: Any,
    n_resamples: int = ...,
    confidence: float = ...,
    random_state: Any = ...,
) -> GroupedSetMetrics: ...
def set_metrics(
    y: Any,
    sets: Any,
    *,
    groups: Any = None,
    n_resamples: int = 0,
    confidence: float = 0.95,
    random_state: Any = None,
) -> SetMetrics | GroupedSetMetrics:
    """Return metrics of set-valued predictions.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        True classes.
    sets : array-like of bool, shape (n, K)
        Which labels each prediction contains, as `admissible` returns; at least one.
    groups : array-like of shape (n,), or "class", optional
        Compute the metrics for each group, or for each true class.
    n_resamples : int, default=0
        Number of bootstrap resamples of the intervals; 0 for none.
    confidence : float in (0, 1), default=0.95
        Confidence level of the intervals.
    random_state : int, RandomState, Generator or None
        Draws the resamples.

    Returns
    -------
    SetMetrics, or GroupedSetMetrics with `groups`

    References
    ----------
    M. Zaffalon, G. Corani, D. Mauá, "Evaluating credal classifiers by utility-discounted predictive
    accuracy", International Journal of Approximate Reasoning 53(8), 2012.

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[[0.9, 0.1, 0.0], [0.8, 0.1, 0.1]], [[0.6, 0.4, 0.0], [0.3, 0.7, 0.0]]]
    >>> cl.set_metrics([0, 1], cl.admissible(members))
    SetMetrics(n=2)
    metric           value
    determinacy        0.5
    single_accuracy      1
    set_accuracy         1
    coverage             1
    mean_size          1.5
    discounted        0.75
    u65              0.825
    u80                0.9
    """
    labels, mask = _checked(y, sets)
    n_resamples = _validation.whole_number(n_resamples, "n_resamples", least=0)
    tail = (1 - _validation.fraction(confidence, "confidence")) / 2
    rng = np.random.default_rng(_validation.seed(random_state)) if n_resamples else None
    size, hit = mask.sum(axis=1), mask[np.arange(len(mask)), labels]

    def metrics(rows: Any) -> SetMetrics:
        # Equal rows count together: few sizes and outcomes are different.
        pairs, counts = np.unique(2 * size[rows] + hit[rows], return_counts=True)
        return _metrics(_sums(pairs // 2, pairs % 2), counts, n_resamples, tail, rng)

    if groups is None:
        return metrics(slice(None))
    keys = labels if isinstance(groups, str) and groups == "class" else to_numpy(groups, "groups")
    if keys.shape != labels.shape:
        _validation.raise_invalid("groups", f"has shape {keys.shape}", f"pass {labels.shape}")
    names, index = np.unique(keys, return_inverse=True)
    return GroupedSetMetrics({name: metrics(index == i) for i, name in enumerate(names.tolist())})


def _checked(y: Any, sets: Any) -> tuple[Array, Array]:
    mask = to_numpy(sets, "sets")
    if mask.ndim != 2 or not mask.size:
        _validation.raise_invalid("sets", f"has shape {mask.shape}", "pass one row per instance")
    if mask.dtype != np.bool_:
        if not np.isin(mask, (0, 1)).all():
            _validation.raise_invalid("sets", "is not boolean", "pass a mask, (n, classes)")
        mask = mask.astype(bool)
    empty = ~mask.any(axis=1)
    if empty.any():
        row = int(np.argmax(empty))
        _validation.raise_invalid(
            "sets", f"row {row} (zero-based) has no label", "add at least one"
        )
    labels = _validation.vector(y, "y")
    if labels.shape != mask.shape[:1]:
        _validation.raise_invalid("y", f"has {len(labels)} entries", f"pass {len(mask)}")
    if labels.dtype.kind not in "iu":
        _validation.raise_invalid("y", f"has dtype {labels.dtype}", "pass class indices")
    outside = (labels < 0) | (labels >= mask.shape[1])
    if outside.any():
        row = int(np.argmax(outside))
        _validation.raise_invalid(
            "y", f"is {labels[row]} at index {row} (zero-based)",
            f"classes are 0 to {mask.shape[1] - 1}",
        )  # fmt: skip
    return labels, mask


class OutcomeCounts:
    """Numbers of set-valued predictions by size and outcome, and the cost of decisions.

    Examples
    --------
    >>> counts = OutcomeCounts()
    >>> counts.add(np.array([1, 2]), np.array([True, False]), np.array([0.0, 1.0]))
    >>> counts.metrics().coverage, counts.mean_cost
    (0.5, 0.5)
    """

    def __init__(self) -> None:
        self.n, self._cost = 0, 0.0
        self._counts: dict[tuple[int, bool], int] = {}

    def add(self, size: Array, hit: Array | None, cost: Array) -> None:
        """Add predictions: their sizes, whether they contain the label, and the costs."""
        self.n += len(size)
        self._cost += float(np.sum(cost))
        if hit is not None:
            pairs, counts = np.unique(2 * np.asarray(size, np.int64) + hit, return_counts=True)
            for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
                key = (pair // 2, bool(pair % 2))
                self._counts[key] = self._counts.get(key, 0) + count

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as a JSON value, for `merge`."""
        counts = [[size, hit, count] for (size, hit), count in self._counts.items()]
        return {"n": self.n, "cost": self._cost, "counts": counts}

    def merge(self, other: dict[str, Any]) -> None:
        """Add counts that `as_dict` returned."""
        self.n += other["n"]
        self._cost += other["cost"]
        for size, hit, count in other["counts"]:
            self._counts[size, hit] = self._counts.get((size, hit), 0) + count

    @property
    def mean_cost(self) -> float:
        """Mean cost of the decisions."""
        return self._cost / self.n

    def metrics(
        self, n_resamples: int = 0, confidence: float = 0.95, random_state: Any = None
    ) -> SetMetrics | None:
        """Return the metrics of the sets; None if it is not known whether they have the label."""
        if not self._counts:
            return None
        keys = sorted(self._counts)  # so that the order of the rows does not matter
        sizes, hits = (np.array(x) for x in zip(*keys, strict=True))
        rng = np.random.default_rng(_validation.seed(random_state)) if n_resamples else None
        counts = np.array([self._counts[key] for key in keys])
        tail = (1 - _validation.fraction(confidence, "confidence")) / 2
        return _metrics(_sums(sizes, hits), counts, n_resamples, tail, rng)


def _sums(size: Array, hit: Array) -> Array:
    """Return what each instance adds to the numerators and denominators, ``(n, 9)``."""
    size, hit = size.astype(np.float64), hit.astype(np.float64)
    single = (size == 1).astype(np.float64)
    several = 1 - single
    utilities = [hit * u(size) for u in UTILITIES.values()]
    return np.stack([single, single * hit, several, several * hit, hit, size, *utilities], axis=1)


def _values(sums: Array, n: float) -> Array:
    """Return the metrics of sums over instances, ``(..., 9)`` to ``(..., 8)``."""
    single, right, several, held, hit, size, discounted, u65, u80 = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore"):
        return np.stack([single / n, right / single, held / several, hit / n, size / n,
                         discounted / n, u65 / n, u80 / n], axis=-1)  # fmt: skip


def _metrics(sums: Array, counts: Array, n_resamples: int, tail: float, rng: Any) -> SetMetrics:
    """Return the metrics of distinct instances with the numbers of their occurrences."""
    n = int(counts.sum())
    values = _values(counts @ sums, n)
    intervals: dict[str, tuple[float, float]] = {}
    if n_resamples:
        draws = _values(rng.multinomial(n, counts / n, n_resamples) @ sums, n)
        for name, column in zip(SET_METRICS, draws.T, strict=True):
            defined = column[~np.isnan(column)]
            ends = np.quantile(defined, [tail, 1 - tail]) if len(defined) else [np.nan, np.nan]
            intervals[name] = (float(ends[0]), float(ends[1]))
    named = dict(zip(SET_METRICS, values.tolist(), strict=True))
    return SetMetrics(n=n, **named, intervals=intervals)
