"""The measurements of a report, collected chunk by chunk; a few columns per row stay in memory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.distances import as_distance
from credalens.evaluation import diagnose_members, majority_vote, rejection_order
from credalens.evaluation.kinds import REVIEW_THRESHOLD, Rule, make_rule
from credalens.evaluation.scores import measure_families
from credalens.measures import Interval, Uncertainty
from credalens.report.markup import truncate
from credalens.sets import ConvexHull

#: Number of most uncertain instances that are shown individually.
SHOWN = 20
#: Bytes of predictions on which the members are diagnosed; above, every second row is dropped.
#: Concatenating them needs as much again.
DIAGNOSED_BYTES = 1 << 27
#: Largest expected time of the Hartley family, and largest number of classes, for which it is
#: computed by default; above, its weights alone take seconds.
HARTLEY_SECONDS, HARTLEY_CLASSES = 30.0, 1000
#: The families that a report shows; "tv" is the family of the distance.
REPORT_FAMILIES = ("tv", "entropy", "hartley")


@dataclass(frozen=True)
class ReportConfig:
    """The shape and the names of the predictions, and how to measure them."""

    n_members: int
    n_classes: int
    #: Names of the models.
    names: tuple[str, ...]
    #: ``None`` if the classes have no names.
    class_names: tuple[str, ...] | None = None
    distance: Any = "tv"
    #: Some of `REPORT_FAMILIES`.
    measures: tuple[str, ...] = REPORT_FAMILIES
    second_look: float = REVIEW_THRESHOLD
    title: str = ""


@dataclass(frozen=True, eq=False)
class ReportData:
    """The measurements of all n predictions."""

    config: ReportConfig
    rule: Rule
    #: Uncertainty by family, with the largest error of the family.
    families: dict[str, Uncertainty]
    #: Row numbers in the files, ``(n,)``.
    rows: Array
    ids: Array | None
    labels: Array | None
    predicted: Array
    #: The class that each model predicts, ``(n, M)``.
    votes: Array
    #: Positions in `KINDS`, ``(n,)``.
    kinds: Array
    #: Positions of the most uncertain instances, in decreasing order, and their predictions.
    shown: Array
    shown_members: Array
    #: Result of `diagnose_members`, ``None`` for a single model, and its number of rows.
    diagnosis: Any
    n_diagnosed: int
    #: Number of invalid rows that were skipped.
    n_skipped: int

    @property
    def n(self) -> int:
        """Number of predictions."""
        return len(self.rows)

    @property
    def main(self) -> Uncertainty:
        """The family of the distance, which the map shows."""
        return self.families["tv"]

    @property
    def correct(self) -> Array | None:
        """Which predictions are correct, if there are labels."""
        return None if self.labels is None else self.labels == self.predicted

    @property
    def kind_counts(self) -> list[int]:
        """Number of predictions of each kind."""
        return np.bincount(self.kinds, minlength=4).tolist()  # type: ignore[no-any-return]

    @property
    def class_names(self) -> Sequence[str]:
        """Names of the classes; their indices if they have none."""
        return self.config.class_names or [str(k) for k in range(self.config.n_classes)]

    @property
    def class_phrases(self) -> Sequence[str]:
        """Names of the classes for use in a sentence."""
        return self.config.class_names or [f"class {k}" for k in range(self.config.n_classes)]


def choose_measures(
    measures: Sequence[str] | None, shape: tuple[int | None, int, int]
) -> tuple[str, ...]:
    """Return the families to compute for predictions ``(n, M, K)``.

    By default all families, but Hartley only if it should take less than `HARTLEY_SECONDS`.
    """
    if measures is not None:
        for name in measures:
            _validation.one_of(name, "measures", REPORT_FAMILIES)
        return tuple(name for name in REPORT_FAMILIES if name == "tv" or name in measures)
    n, M, K = shape
    # Microseconds per row on two cores: the sum over events, or about 400 permutations.
    cost = M * min(0.12 * 2.0 ** min(K - 10, 60), 1.6 * K)
    cheap = cost * (100_000 if n is None else n) < 1e6 * HARTLEY_SECONDS
    return REPORT_FAMILIES if cheap and K <= HARTLEY_CLASSES else REPORT_FAMILIES[:2]


class Collector:
    """Measures chunks of predictions and keeps what a report needs.

    Memory use is about ``100 + 2 M`` bytes per row, the identifiers, the predictions of the
    instances that are shown individually, and at most 128 MB of rows to diagnose the members.
    """

    def __init__(self, config: ReportConfig) -> None:
        self.config = config
        self._distance = as_distance(config.distance, config.n_classes)
        self.rule = make_rule(config.second_look, self._distance, config.n_classes, "second_look")
        self._chunks: list[dict[str, Any]] = []
        self._families: dict[str, list[tuple[Any, Any, Any]]] = {m: [] for m in config.measures}
        self._errors = dict.fromkeys(config.measures, 0.0)
        self._top = _Top()
        self._sample = _Sample()
        #: Number of rows collected so far.
        self.n = 0
        self._n_skipped = 0

    def add(
        self,
        members: Array,
        labels: Array | None = None,
        ids: Any = None,
        rows: Any = None,
        measured: Mapping[str, Uncertainty] | None = None,
        skipped: int = 0,
    ) -> None:
        """Add predictions ``(r, M, K)``, already validated, and their class indices.

        Families that are not in `measured` are computed. `skipped` is the number of invalid rows
        that were skipped in this chunk.
        """
        self._n_skipped += skipped
        hull = ConvexHull(members, validate=False)
        vote_type = np.uint16 if self.config.n_classes <= 1 << 16 else np.uint32
        self._chunks.append({
            "rows": self.n + np.arange(len(members)) if rows is None else rows,
            "ids": None if ids is None else _as_objects(np.asarray(ids)),
            "labels": labels,
            "predicted": majority_vote(hull),
            "votes": members.argmax(axis=2).astype(vote_type),
        })  # fmt: skip
        for name, u in self._measure(hull, measured or {}).items():
            parts = (_as_float64(u.total), _as_float64(u.aleatoric), _as_float64(u.epistemic))
            self._families[name].append(parts)
            self._errors[name] = max(self._errors[name], float(np.max(u.error, initial=0.0)))
        self._top.add(self._families["tv"][-1][0], members, self.n)
        self._sample.add(members, labels, self.n)
        self.n += len(members)

    def add_chunk(self, chunk: Any, measured: Mapping[str, Uncertainty] | None = None) -> None:
        """Add a chunk of prediction files, see `credalens.io.Chunk`."""
        skipped = len(chunk.dropped)
        self.add(chunk.members, chunk.labels, chunk.ids, chunk.rows, measured, skipped)

    def _measure(
        self, hull: ConvexHull, measured: Mapping[str, Uncertainty]
    ) -> dict[str, Uncertainty]:
        missing = [name for name in self.config.measures if name not in measured]
        with warnings.catch_warnings():
            # The page reports the standard error of estimates.
            warnings.filterwarnings("ignore", "generalized_hartley", RuntimeWarning)
            results = {**measured, **measure_families(hull, missing, self._distance)}
        return {name: results[name] for name in self.config.measures}

    def finish(self) -> ReportData:
        """Return the measurements of all rows."""
        if self.n == 0:
            _validation.raise_invalid(
                "members", "has no rows", "a report needs at least one prediction"
            )
        # Column by column, so that at most one column is held twice.
        columns = {
            name: _join([chunk.pop(name) for chunk in self._chunks])
            for name in list(self._chunks[0])
        }
        families = {}
        for name, chunks in self._families.items():
            total, aleatoric, epistemic = (_join(parts) for parts in zip(*chunks, strict=True))
            families[name] = Uncertainty(total, aleatoric, epistemic, self._errors[name])
        members, labels = self._sample.result()
        names = [truncate(name) for name in self.config.names]
        return ReportData(
            config=self.config,
            rule=self.rule,
            families=families,
            **columns,
            kinds=self.rule.codes(families["tv"].aleatoric, families["tv"].epistemic),
            shown=self._top.positions,
            shown_members=self._top.members,
            diagnosis=diagnose_members(members, labels, names) if len(names) > 1 else None,
            n_diagnosed=len(members),
            n_skipped=self._n_skipped,
        )


def _as_float64(values: Any) -> Any:
    if isinstance(values, Interval):
        return Interval(*(np.asarray(end, np.float64) for end in values))
    return np.asarray(values, np.float64)


def _join(parts: Sequence[Any]) -> Any:
    """Return arrays or intervals as one; ``None`` if there are none."""
    if isinstance(parts[0], Interval):
        return Interval(*(np.concatenate(ends) for ends in zip(*parts, strict=True)))
    return None if parts[0] is None else np.concatenate(parts)


def _as_objects(ids: Array) -> Array:
    if ids.dtype == "M8[ns]":
        ids = ids.astype("M8[us]")  # NumPy converts nanoseconds to integers, not to datetimes
    return ids.astype(object, copy=False)


class _Top:
    """The most uncertain instances so far."""

    def __init__(self) -> None:
        self.score: Array = np.empty(0)
        self.positions: Array = np.empty(0, np.intp)
        self.members: Array = np.empty((0, 1, 1))

    def add(self, score: Array, members: Array, start: int) -> None:
        best = rejection_order(score)[:SHOWN]
        rows = np.array(members[best])
        scores = np.concatenate([self.score, score[best]])
        keep = rejection_order(scores)[:SHOWN]
        self.members = np.concatenate([self.members.reshape(-1, *rows.shape[1:]), rows])[keep]
        self.positions = np.concatenate([self.positions, start + best])[keep]
        self.score = scores[keep]


class _Sample:
    """Rows at a regular stride, which doubles when they exceed `DIAGNOSED_BYTES`."""

    def __init__(self) -> None:
        self.stride = 1
        self._parts: list[tuple[Array, Array | None, Array]] = []

    def add(self, members: Array, labels: Array | None, start: int) -> None:
        self._parts.append(self._thin(members, labels, start + np.arange(len(members))))
        while sum(part[0].nbytes for part in self._parts) > DIAGNOSED_BYTES:
            self.stride *= 2
            self._parts = [self._thin(*part) for part in self._parts]

    def _thin(
        self, members: Array, labels: Array | None, positions: Array
    ) -> tuple[Array, Array | None, Array]:
        if self.stride == 1:
            return members, labels, positions
        keep = positions % self.stride == 0
        return members[keep], None if labels is None else labels[keep], positions[keep]

    def result(self) -> tuple[Array, Array | None]:
        members = np.concatenate([part[0] for part in self._parts])
        labels = [part[1] for part in self._parts if part[1] is not None]
        return members, np.concatenate(labels) if labels else None
