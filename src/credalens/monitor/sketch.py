"""Mergeable summaries of tables of scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _kernels, _validation
from credalens.monitor.histogram import Histogram
from credalens.monitor.outcomes import (
    Coded,
    Target,
    as_coded,
    class_indices,
    kept_rows,
    targets,
)
from credalens.policy import Policy

#: Most groups of rows that are compared with the reference.
MOST_GROUPS = 200
#: Name of the group of rows without one.
_NO_GROUP = "(none)"


@dataclass(eq=False)
class GroupCounts:
    """Counts of the rows of one group."""

    rows: int = 0
    #: Number of rows that the policy keeps.
    kept: int = 0
    histograms: dict[str, Histogram] = field(default_factory=dict)
    #: Number of predictions of each class.
    votes: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: GroupCounts) -> GroupCounts:
        """Return the counts of both."""
        names = dict.fromkeys([*self.histograms, *other.histograms])
        none = Histogram()
        return GroupCounts(
            self.rows + other.rows,
            self.kept + other.kept,
            {n: self.histograms.get(n, none) + other.histograms.get(n, none) for n in names},
            {
                n: self.votes.get(n, 0) + other.votes.get(n, 0)
                for n in dict.fromkeys([*self.votes, *other.votes])
            },
        )


class ScoreSketch:
    """The summary of a table of scores that monitoring needs.

    Sketches of parts of a table are merged by ``+``. Counts are exact, so the result is the sketch
    of the whole table, bit for bit, in whatever order the parts are merged.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns of scores.
    by : str, optional
        Name of a column whose values are groups, which are compared separately, too.
    policy : Policy, optional
        Also count the rows that the policy keeps and, with labels, its errors.
    target_accuracy : float, optional
        Also count the errors of all rows, or of those that the policy keeps.

    Examples
    --------
    >>> from credalens.monitor import ScoreSketch
    >>> sketch = ScoreSketch(["tv_total"])
    >>> sketch.add({"tv_total": [0.1, 0.25], "prediction": ["cat", "dog"]})
    >>> (sketch + sketch).total.votes
    {'cat': 2, 'dog': 2}
    """

    def __init__(
        self,
        columns: Sequence[str],
        *,
        by: str | None = None,
        policy: Policy | None = None,
        target_accuracy: float | None = None,
    ) -> None:
        self.columns, self.by, self.policy = tuple(columns), by, policy
        self.target_accuracy = target_accuracy
        self.targets: tuple[Target, ...] = targets(policy, target_accuracy)
        if policy is not None:
            policy._rule()  # raises for a policy that only repairs
        #: Counts by group; the only one is "" without groups.
        self.groups: dict[str, GroupCounts] = {}
        #: Trials and errors of each target.
        self.outcomes = np.zeros((len(self.targets), 2), np.int64)

    @property
    def settings(self) -> dict[str, Any]:
        """What sketches that are merged or compared have in common, as JSON values."""
        return {
            "columns": list(self.columns),
            "by": self.by,
            "policy": None if self.policy is None else self.policy.as_dict(),
            "target_accuracy": self.target_accuracy,
        }

    @property
    def total(self) -> GroupCounts:
        """The counts of all rows."""
        return sum(self.groups.values(), GroupCounts())

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(group.rows for group in self.groups.values())

    # ------------------------------------------------------------ rows

    def add(self, columns: Mapping[str, Any], *, scores: bool = True) -> None:
        """Add rows.

        Parameters
        ----------
        columns : mapping of str to array-like of shape (n,)
            The columns of scores; ``"prediction"``, if there is one; the column of the groups;
            those that the policy needs; and, for rows with labels, ``"correct"``, and ``"label"``
            if the policy has guarantees of a class. Masked entries are rows without a label.
        scores : bool, default=True
            Count scores and predictions. With False, only the outcomes of rows whose labels
            arrived later than their scores.
        """
        kept = None if self.policy is None else kept_rows(self.policy, columns)
        if scores:
            self._add_scores(columns, kept)
        if self.targets and "correct" in columns:
            self._add_outcomes(columns, kept)

    def _add_scores(self, columns: Mapping[str, Any], kept: NDArray[np.bool_] | None) -> None:
        for name in self.columns:
            if name not in columns:
                _validation.raise_invalid("columns", f"has no {name!r}", "pass all columns")
        votes = None
        if "prediction" in columns:
            votes = as_coded(columns["prediction"], "prediction")
        values = {name: np.asarray(columns[name]) for name in self.columns}
        if self.by is None:
            self._add_group("", values, votes, kept)
            return
        groups = as_coded(columns[self.by], self.by)
        codes = np.asarray(groups.codes)
        present = np.arange(-1, len(groups.names))
        if len(present) > np.iinfo(np.int16).max:
            present, codes = np.unique(codes, return_inverse=True)
        else:
            codes = codes + 1
        counts = np.bincount(codes, minlength=len(present))
        names = {
            i: str(groups.names[present[i]]) if present[i] >= 0 else _NO_GROUP
            for i in np.flatnonzero(counts).tolist()
        }
        self._check_groups(set(names.values()))
        # Stable sorting of 16-bit integers takes linear time.
        order = np.argsort(codes.astype(np.int16), kind="stable")
        values = {name: column[order] for name, column in values.items()}
        ends = np.cumsum(counts)
        for code, name in names.items():
            start, end = int(ends[code] - counts[code]), int(ends[code])
            rows = order[start:end]
            self._add_group(
                name,
                {key: column[start:end] for key, column in values.items()},
                None if votes is None else Coded(votes.codes[rows], votes.names),
                None if kept is None else kept[rows],
            )

    def _add_group(self, name: str, values: dict[str, Any], votes: Coded | None, kept: Any) -> None:
        group = self.groups.setdefault(name, GroupCounts())
        group.rows += len(next(iter(values.values()), ()))
        group.kept += 0 if kept is None else int(kept.sum())
        for column, given in values.items():
            group.histograms.setdefault(column, Histogram()).add(given)
        if votes is not None:
            counts = np.zeros(len(votes.names), np.int64)
            _kernels.code_counts(np.ascontiguousarray(votes.codes, np.int32), counts)
            for label, count in zip(votes.names.tolist(), counts.tolist(), strict=True):
                if count:
                    group.votes[str(label)] = group.votes.get(str(label), 0) + count

    def _check_groups(self, names: set[str]) -> None:
        if len({*self.groups, *names} - {_NO_GROUP}) > MOST_GROUPS:
            _validation.raise_invalid(
                "by",
                f"column {self.by!r} has more than {MOST_GROUPS} values",
                "choose a column with fewer values",
            )

    def _add_outcomes(self, columns: Mapping[str, Any], kept: NDArray[np.bool_] | None) -> None:
        given = columns["correct"]
        correct = np.where(
            np.ma.getmaskarray(given), -1, np.ma.getdata(np.ma.asarray(given)).astype(np.int64)
        )
        if not (correct >= 0).any():
            return
        keep = np.ones(len(correct), bool) if kept is None else kept
        predicted = truth = None
        if any(one.class_index is not None for one in self.targets) and self.policy is not None:
            names, K = self.policy.class_names, self.policy.n_classes
            predicted, truth = (
                class_indices(columns[name], name, names, K) for name in ("prediction", "label")
            )
        self.outcomes += [one.count(keep, correct, predicted, truth) for one in self.targets]

    # ------------------------------------------------------------ merging and storage

    def empty(self) -> ScoreSketch:
        """Return a sketch of no rows with the same settings."""
        return ScoreSketch(
            self.columns, by=self.by, policy=self.policy, target_accuracy=self.target_accuracy
        )

    def check_same_settings(self, other: ScoreSketch) -> None:
        """Raise ValueError for a sketch of other columns or of another policy."""
        own, others = self.settings, other.settings
        for key in own:
            if own[key] != others[key]:
                _validation.raise_invalid(
                    "sketch", f"has another {key}", "create both with the same settings"
                )

    def __add__(self, other: ScoreSketch) -> ScoreSketch:
        """Return the sketch of the rows of both."""
        self.check_same_settings(other)
        merged = self.empty()
        for name in dict.fromkeys([*self.groups, *other.groups]):
            none = GroupCounts()
            merged.groups[name] = self.groups.get(name, none) + other.groups.get(name, none)
        merged._check_groups(set())
        merged.outcomes = self.outcomes + other.outcomes
        return merged

    def as_arrays(self) -> dict[str, Any]:
        """Return the counts as arrays by name, for `from_arrays` and ``numpy.savez``."""
        arrays: dict[str, Any] = {"outcomes": self.outcomes}
        entries = []
        for g, (name, group) in enumerate(self.groups.items()):
            entries.append(
                {"name": name, "rows": group.rows, "kept": group.kept, "votes": group.votes}
            )
            for c, column in enumerate(self.columns):
                histogram = group.histograms.get(column, Histogram())
                arrays |= {f"{g}.{c}.{k}": v for k, v in histogram.as_arrays().items()}
        return {"groups": np.array(json.dumps(entries)), **arrays}

    def from_arrays(self, arrays: Mapping[str, Any]) -> ScoreSketch:
        """Return the sketch of `as_arrays`, with the settings of this one."""
        sketch = self.empty()
        sketch.outcomes = np.asarray(arrays["outcomes"], np.int64).copy()
        for g, entry in enumerate(json.loads(str(arrays["groups"]))):
            histograms = {
                column: Histogram.from_arrays(
                    {key: arrays[f"{g}.{c}.{key}"] for key in ("buckets", "counts", "missing")}
                )
                for c, column in enumerate(self.columns)
            }
            sketch.groups[entry["name"]] = GroupCounts(
                entry["rows"], entry["kept"], histograms, entry["votes"]
            )
        return sketch
