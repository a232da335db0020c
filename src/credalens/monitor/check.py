"""Whether new scores differ from those of a reference, and whether guarantees still hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens._validation import fraction
from credalens.monitor.effects import Effect, effect, share_difference
from credalens.monitor.histogram import Histogram, common_table
from credalens.monitor.outcomes import Target
from credalens.monitor.sequential import evidence_over_time
from credalens.monitor.significance import (
    category_pvalue,
    distribution_pvalue,
    holm,
    hypergeometric_pvalue,
)
from credalens.monitor.sketch import GroupCounts, ScoreSketch

#: Names of the tests that are not of a column of scores.
VOTE, KEEP_RATE = "prediction", "keep rate"


@dataclass(frozen=True, eq=False)
class Change:
    """A test of whether a column of new rows is distributed as in the reference.

    Examples
    --------
    >>> from credalens.monitor import ScoreSketch, check
    >>> parts = [ScoreSketch(["mmi"]) for _ in range(2)]
    >>> parts[0].add({"mmi": [0.1, 0.2, 0.3]})
    >>> parts[1].add({"mmi": [0.4, 0.5, 0.6]})
    >>> change = check(*parts).changes[0]
    >>> change.distance, change.direction, round(change.pvalue, 3)
    (1.0, 'higher', 0.1)
    """

    #: Name of the column, ``"prediction"`` for the frequencies of the predicted classes, or
    #: ``"keep rate"``.
    column: str
    #: Group of the rows; "" for all.
    group: str
    n_reference: int
    n_new: int
    #: Largest difference of the shares of rows below a threshold; of ``"prediction"`` the total
    #: variation distance of the class frequencies, of ``"keep rate"`` the absolute difference.
    distance: float
    #: Of a column of scores: probability that a new row is larger than a reference row (ties count
    #: half), and the difference of the means, each with the ends of its interval. Of the others:
    #: NaN, and the difference of the shares of the class that changed most, or of the keep rates.
    superiority: Array
    difference: Array
    #: Means, or shares.
    reference: float
    new: float
    #: ``"higher"``, ``"lower"``, "" if the direction is not clear, or the class that changed most.
    direction: str
    pvalue: float
    #: Corrected for the number of tests.
    adjusted: float = math.nan
    alarm: bool = False


@dataclass(frozen=True, eq=False)
class TargetCheck:
    """A sequential test of whether a guarantee still holds.

    Examples
    --------
    >>> from credalens.monitor import ScoreSketch, check
    >>> sketch = ScoreSketch(["mmi"], target_accuracy=0.95)
    >>> sketch.add({"mmi": [0.2] * 100, "correct": [True] * 80 + [False] * 20})
    >>> found = check(sketch, sketch).targets[0]
    >>> found.share, found.alarm
    (0.8, True)
    """

    target: Target
    #: Labelled instances to which it applies, and errors among them.
    trials: int
    errors: int
    #: Evidence against it after each part, and its bound: at `limit`, an alarm is raised.
    evidence: Array
    limit: float

    @property
    def share(self) -> float:
        """Observed share of instances that are not errors; NaN without instances."""
        return 1 - self.errors / self.trials if self.trials else math.nan

    @property
    def largest(self) -> float:
        """The largest evidence so far."""
        return float(self.evidence.max(initial=1.0))

    @property
    def pvalue(self) -> float:
        """An upper bound of the probability of evidence as large as this, at any time."""
        return 1 / self.largest

    @property
    def alarm(self) -> bool:
        """Whether the evidence has reached the limit at any time."""
        return self.largest >= self.limit


@dataclass(frozen=True, eq=False, repr=False)
class MonitorResult(TableResult):
    """What `check` finds: one row per test.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.monitor import ScoreSketch, check
    >>> rng = np.random.default_rng(0)
    >>> parts = [ScoreSketch(["tv_total"]) for _ in range(2)]
    >>> parts[0].add({"tv_total": rng.random(1000)})
    >>> parts[1].add({"tv_total": rng.random(1000) ** 0.5})
    >>> found = check(*parts)
    >>> found.alarm, found.changes[0].direction
    (True, 'higher')
    """

    changes: tuple[Change, ...]
    targets: tuple[TargetCheck, ...]
    #: Groups without rows in the reference, which are not tested.
    unknown_groups: tuple[str, ...]
    n_reference: int
    n_new: int
    #: Probability of a false alarm of the tests of change, and of those of the guarantees.
    change_level: float
    target_level: float
    least_change: float
    confidence: float

    _repr_rows: ClassVar[int] = 20

    @property
    def alarm(self) -> bool:
        """Whether an alarm is raised."""
        return self.n_alarms > 0

    @property
    def n_alarms(self) -> int:
        """Number of tests that raise an alarm."""
        return sum(one.alarm for one in self.changes) + sum(one.alarm for one in self.targets)

    def _columns(self) -> dict[str, Any]:
        return {
            "group": [one.group for one in self.changes],
            "reference": np.array([one.reference for one in self.changes]),
            "new": np.array([one.new for one in self.changes]),
            "distance": np.array([one.distance for one in self.changes]),
            "direction": [one.direction for one in self.changes],
            "pvalue": np.array([one.pvalue for one in self.changes]),
            "adjusted": np.array([one.adjusted for one in self.changes]),
            "alarm": [one.alarm for one in self.changes],
        }

    def _index(self) -> tuple[str, list[str]]:
        return "column", [one.column for one in self.changes]

    def __len__(self) -> int:
        return len(self.changes)

    def _summary(self) -> str:
        tests = _validation.counted(len(self.changes) + len(self.targets), "test")
        return f"MonitorResult({self.n_alarms} of {tests} raise an alarm)"


def check(
    reference: ScoreSketch,
    new: ScoreSketch,
    *,
    level: float = 0.05,
    least_change: float = 0.02,
    run: int | None = None,
    outcomes: Sequence[Any] | None = None,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> MonitorResult:
    """Test whether new scores are distributed as those of a reference.

    Parameters
    ----------
    reference, new : ScoreSketch
        Summaries of both tables, with the same settings.
    level : float in (0, 1), default=0.05
        Largest probability of a false alarm.
    least_change : float, default=0.02
        Smaller changes, by `Change.distance`, raise no alarm, however significant.
    run : int, optional
        Number of this run, from 1, if tests are repeated: run k uses the share 6 / (pi k)**2 of
        the level, so that `level` holds for all runs together. None for a single run.
    outcomes : sequence of array-like of shape (targets, 2), optional
        Trials and errors of each target, part by part in the order of arrival; by default those
        of `new`, as one part.
    n_resamples : int, default=1000
        Bootstrap resamples of the intervals.
    confidence : float, default=0.95
        Confidence level of the intervals of the effect sizes, each on its own.
    random_state : int, RandomState, Generator or None
        Draws the resamples.

    Returns
    -------
    MonitorResult

    Notes
    -----
    Rows must be independent, given whether they belong to the reference. Frames of one video, for
    example, are not.

    The distribution of each column is tested by its largest difference (`distribution_pvalue`),
    the frequencies of the predicted classes and the keep rate by Fisher's exact test, for all rows
    and for each group. The p-values are corrected by the method of Holm. With guarantees of a
    policy, or a target accuracy, half of the level belongs to these tests and half to the
    sequential tests of the guarantees, in equal shares; see `evidence_over_time`.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.monitor import ScoreSketch, check
    >>> reference, new = (ScoreSketch(["tv_total"]) for _ in range(2))
    >>> reference.add({"tv_total": np.linspace(0, 1, 400)})
    >>> new.add({"tv_total": np.linspace(0, 1, 300)})
    >>> check(reference, new).alarm
    False
    """
    new.check_same_settings(reference)
    fraction(level, "level")
    _validation.number(least_change, "least_change", least=0)
    _validation.whole_number(n_resamples, "n_resamples", least=1)
    fraction(confidence, "confidence")
    for name, sketch in (("reference", reference), ("new", new)):
        if not sketch.rows:
            _validation.raise_invalid(name, "has no rows", "add at least one")
    rng = np.random.default_rng(_validation.seed(random_state))
    own_level = (level / 2 if new.targets else level) * (1.0 if run is None else share_of_run(run))
    options = {"n_resamples": n_resamples, "confidence": confidence, "rng": rng}
    changes = list(_changes(reference.total, new.total, "", new, options))
    unknown = []
    if new.by is not None:
        for name, group in new.groups.items():
            if name not in reference.groups:
                unknown.append(name)
            else:
                changes += _changes(reference.groups[name], group, name, new, options)
    adjusted = holm([one.pvalue for one in changes]).tolist()
    tested = tuple(
        replace(one, adjusted=p, alarm=p <= own_level and one.distance >= least_change)
        for one, p in zip(changes, adjusted, strict=True)
    )
    parts = [new.outcomes] if outcomes is None else outcomes
    counts = np.array(parts, np.int64).reshape(len(parts), len(new.targets), 2)
    limit = len(new.targets) / (level / 2) if new.targets else math.inf
    checked = tuple(_target_check(one, counts[:, i], limit) for i, one in enumerate(new.targets))
    return MonitorResult(
        tested, checked, tuple(unknown), reference.rows, new.rows, own_level,
        level / 2 if new.targets else 0.0, least_change, confidence,
    )  # fmt: skip


def share_of_run(run: int) -> float:
    """Return the share of the level that belongs to run `run`, from 1; all of them sum to 1."""
    return 6 / (math.pi * _validation.whole_number(run, "run", least=1)) ** 2


def _target_check(target: Target, counts: Array, limit: float) -> TargetCheck:
    evidence = evidence_over_time(counts[:, 0], counts[:, 1], 1 - target.share)
    trials, errors = counts.sum(axis=0).tolist()
    return TargetCheck(target, trials, errors, evidence, limit)


def _changes(
    reference: GroupCounts, new: GroupCounts, group: str, sketch: ScoreSketch, options: Any
) -> Iterator[Change]:
    """Yield the tests of a group."""
    for column in sketch.columns:
        found = _column_change(
            column, group, reference.histograms[column], new.histograms[column], options
        )
        if found is not None:
            yield found
    constant = bool(group) and sketch.by == VOTE  # groups of equal predictions
    if reference.votes and new.votes and not constant:
        yield _vote_change(group, reference.votes, new.votes, options)
    if sketch.policy is not None:
        counts = (reference.kept, reference.rows, new.kept, new.rows)
        difference = share_difference(*counts, **options)
        yield Change(
            KEEP_RATE, group, reference.rows, new.rows, abs(float(difference[0])),
            np.full(3, np.nan), difference, reference.kept / reference.rows, new.kept / new.rows,
            _direction(difference), hypergeometric_pvalue(*counts[2:], *counts[:2]),
        )  # fmt: skip


def _column_change(
    column: str, group: str, reference: Histogram, new: Histogram, options: Any
) -> Change | None:
    """Return the test of a column; None if one of the samples has NaN only."""
    values, a, b = common_table(reference, new)
    n, m = int(a.sum()), int(b.sum())
    if not n or not m:
        return None
    found: Effect = effect(values, a, b, **options)
    return Change(
        column, group, n, m, found.distance, found.superiority, found.mean_difference,
        found.mean_reference, found.mean_new, found.direction, distribution_pvalue(a, b),
    )  # fmt: skip


def _vote_change(
    group: str, reference: dict[str, int], new: dict[str, int], options: Any
) -> Change:
    names = sorted({*reference, *new})
    a, b = (np.array([one.get(name, 0) for name in names]) for one in (reference, new))
    n, m = int(a.sum()), int(b.sum())
    moved = b / m - a / n
    k = int(np.argmax(np.abs(moved)))
    difference = share_difference(int(a[k]), n, int(b[k]), m, **options)
    return Change(
        VOTE, group, n, m, float(np.abs(moved).sum() / 2), np.full(3, np.nan), difference,
        float(a[k] / n), float(b[k] / m), f"{names[k]} {_direction(difference)}".rstrip(),
        category_pvalue(a, b),
    )  # fmt: skip


def _direction(difference: Array) -> str:
    _, low, high = difference
    return "higher" if low > 0 else "lower" if high < 0 else ""
