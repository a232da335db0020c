"""What a report says: measured chunk by chunk, a few columns per row kept in memory."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.distances import as_distance
from credalens.evaluation import diagnose_members, majority_vote, rejection_order
from credalens.evaluation.kinds import SECOND_LOOK, Rule, make_rule
from credalens.evaluation.scores import measure_families
from credalens.measures import Interval, Uncertainty
from credalens.measures.quantify import FAMILIES
from credalens.report.markup import cut
from credalens.sets import ConvexHull

#: Instances that are shown one by one.
SHOWN = 20
#: Bytes of predictions that the members are diagnosed on; of more, every second row is dropped.
#: They are there twice while they are put together.
DIAGNOSED_BYTES = 1 << 27
#: Seconds that the Hartley family may be expected to take before it waits to be asked for, and the
#: number of classes: the weights of so many alone take seconds.
HARTLEY_SECONDS, HARTLEY_CLASSES = 30.0, 1000


@dataclass(frozen=True)
class Subject:
    """What the predictions are about, and how to measure them."""

    n_members: int
    n_classes: int
    #: One name per model.
    names: tuple[str, ...]
    #: ``None`` if classes have no names but their indices.
    class_names: tuple[str, ...] | None = None
    distance: Any = "tv"
    #: Of `FAMILIES`; "tv" stands for the distance.
    measures: tuple[str, ...] = FAMILIES
    second_look: float = SECOND_LOOK
    title: str = ""


@dataclass(frozen=True, eq=False)
class Family:
    """The columns of one family of measures."""

    total: Array
    #: An `Interval` for distances.
    aleatoric: Any
    epistemic: Array
    #: Largest certified error or standard error.
    error: float


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that was measured."""

    subject: Subject
    rule: Rule
    families: dict[str, Family]
    #: Numbers of the rows in their files, ``(n,)``.
    rows: Array
    ids: Array | None
    labels: Array | None
    predicted: Array
    #: The class that each member puts first, ``(n, M)``.
    votes: Array
    #: Codes of the kinds, ``(n,)``.
    kinds: Array
    #: Positions of the most uncertain instances, most uncertain first, and their predictions.
    shown: Array
    shown_members: Array
    #: What `diagnose_members` said, ``None`` for a single model, and of how many rows.
    diagnosis: Any
    n_diagnosed: int
    #: Rows that were left out because they are bad.
    n_skipped: int

    @property
    def n(self) -> int:
        """Number of predictions."""
        return len(self.rows)

    @property
    def main(self) -> Family:
        """The family of the distance, which the map is drawn with."""
        return self.families["tv"]

    @property
    def correct(self) -> Array | None:
        """Which predictions are right, if there are labels."""
        return None if self.labels is None else self.labels == self.predicted

    @property
    def class_names(self) -> Sequence[str]:
        """Names of the classes, their indices if they have none."""
        return self.subject.class_names or [str(k) for k in range(self.subject.n_classes)]

    @property
    def class_words(self) -> Sequence[str]:
        """Names that can stand in a sentence."""
        return self.subject.class_names or [f"class {k}" for k in range(self.subject.n_classes)]


def choose_measures(measures: Sequence[str] | None, shape: tuple[int | None, int, int]) -> Any:
    """Return the families to compute for predictions ``(n, M, K)``.

    By default all, but Hartley only where it is expected to take less than `HARTLEY_SECONDS`.

    Examples
    --------
    >>> choose_measures(None, (100_000, 10, 10))
    ('tv', 'entropy', 'hartley')
    >>> choose_measures(None, (10_000, 10, 1000))
    ('tv', 'entropy')
    """
    if measures is not None:
        for name in measures:
            _validation.one_of(name, "measures", FAMILIES)
        return tuple(name for name in FAMILIES if name == "tv" or name in measures)
    n, M, K = shape
    # Microseconds a row on two cores: the sum over events, or some 400 permutations (benchmarks).
    cost = M * min(0.12 * 2.0 ** min(K - 10, 60), 1.6 * K)
    cheap = cost * (100_000 if n is None else n) < 1e6 * HARTLEY_SECONDS
    return FAMILIES if cheap and K <= HARTLEY_CLASSES else FAMILIES[:2]


class Collector:
    """Measures chunks of predictions and keeps what a report needs.

    In memory stay about ``100 + 2 M`` bytes per row besides its identifier, the predictions of the
    rows that are shown one by one, and at most 128 MB of rows to diagnose the members on.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._distance = as_distance(subject.distance, subject.n_classes)
        self.rule = make_rule(subject.second_look, self._distance, subject.n_classes)
        self._columns: dict[str, list[Array]] = {}
        self._errors = dict.fromkeys(subject.measures, 0.0)
        self._top = _Top()
        self._sample = _Sample()
        #: Rows that were taken so far.
        self.n = 0
        self._skipped = 0

    def add(
        self,
        members: Array,
        labels: Array | None = None,
        ids: Any = None,
        rows: Any = None,
        measured: Mapping[str, Uncertainty] | None = None,
        skipped: int = 0,
    ) -> None:
        """Take ``(r, M, K)`` predictions, known to be good, and their class indices.

        Families that are not `measured` yet are measured here. `skipped` is the number of bad rows
        that were left out beside them.
        """
        self._skipped += skipped
        hull = ConvexHull(members, validate=False)
        columns: dict[str, Any] = {
            "rows": self.n + np.arange(len(members)) if rows is None else rows,
            "ids": None if ids is None else _objects(np.asarray(ids)),
            "labels": labels,
            "predicted": majority_vote(hull),
            "votes": members.argmax(axis=2).astype(
                np.uint16 if self.subject.n_classes <= 1 << 16 else np.uint32
            ),
        }
        for family, u in self._families(hull, measured or {}).items():
            ends = u.aleatoric
            lower, upper = ends if isinstance(ends, Interval) else (ends, None)
            columns |= {
                f"{family} {part}": None if values is None else np.asarray(values, np.float64)
                for part, values in (
                    ("total", u.total), ("lower", lower), ("upper", upper),
                    ("epistemic", u.epistemic),
                )
            }  # fmt: skip
            self._errors[family] = max(self._errors[family], float(np.max(u.error, initial=0.0)))
        for name, values in columns.items():
            if values is not None:
                self._columns.setdefault(name, []).append(values)
        self._top.add(columns["tv total"], members, self.n)
        self._sample.add(members, labels, self.n)
        self.n += len(members)

    def _families(
        self, hull: ConvexHull, measured: Mapping[str, Uncertainty]
    ) -> dict[str, Uncertainty]:
        missing = [name for name in self.subject.measures if name not in measured]
        with warnings.catch_warnings():
            # Estimates that stay uncertain are told by their standard error on the page.
            warnings.filterwarnings("ignore", "generalized_hartley", RuntimeWarning)
            found = {**measured, **measure_families(hull, missing, self._distance)}
        return {name: found[name] for name in self.subject.measures}

    def finish(self) -> Findings:
        """Return what was found."""
        if self.n == 0:
            _validation.refuse("members", "has no rows", "a report needs at least one prediction")
        # One column after the other, so that no two copies of all are held.
        columns = {name: np.concatenate(self._columns.pop(name)) for name in list(self._columns)}
        families = {}
        for name in self.subject.measures:
            lower, upper = columns[f"{name} lower"], columns.get(f"{name} upper")
            families[name] = Family(
                columns[f"{name} total"],
                lower if upper is None else Interval(lower, upper),
                columns[f"{name} epistemic"],
                self._errors[name],
            )
        main = families["tv"]
        members, labels = self._sample.taken()
        return Findings(
            subject=self.subject,
            rule=self.rule,
            families=families,
            rows=columns["rows"],
            ids=columns.get("ids"),
            labels=columns.get("labels"),
            predicted=columns["predicted"],
            votes=columns["votes"],
            kinds=self.rule.codes(main.aleatoric, main.epistemic),
            shown=self._top.places,
            shown_members=self._top.members,
            diagnosis=_diagnosed(members, labels, self.subject.names),
            n_diagnosed=len(members),
            n_skipped=self._skipped,
        )


def _objects(ids: Array) -> Array:
    if ids.dtype == "M8[ns]":
        ids = ids.astype("M8[us]")  # Python has no finer times: NumPy would give plain integers
    return ids.astype(object, copy=False)


def _diagnosed(members: Array, labels: Array | None, names: tuple[str, ...]) -> Any:
    if members.shape[1] == 1:
        return None
    return diagnose_members(members, labels, [cut(name) for name in names])


class _Top:
    """The most uncertain instances so far."""

    def __init__(self) -> None:
        self.score: Array = np.empty(0)
        self.places: Array = np.empty(0, np.intp)
        self.members: Array = np.empty((0, 1, 1))

    def add(self, score: Array, members: Array, start: int) -> None:
        best = rejection_order(score)[:SHOWN]
        rows = np.array(members[best])
        both = np.concatenate([self.score, score[best]])
        keep = rejection_order(both)[:SHOWN]
        self.members = np.concatenate([self.members.reshape(-1, *rows.shape[1:]), rows])[keep]
        self.places = np.concatenate([self.places, start + best])[keep]
        self.score = both[keep]


class _Sample:
    """Rows at a regular stride, which doubles whenever they take too much memory."""

    def __init__(self) -> None:
        self.stride = 1
        self._parts: list[tuple[Array, Array | None, Array]] = []

    def add(self, members: Array, labels: Array | None, start: int) -> None:
        self._parts.append(self._thinned(members, labels, start + np.arange(len(members))))
        while sum(part[0].nbytes for part in self._parts) > DIAGNOSED_BYTES:
            self.stride *= 2
            self._parts = [self._thinned(*part) for part in self._parts]

    def _thinned(
        self, members: Array, labels: Array | None, places: Array
    ) -> tuple[Array, Array | None, Array]:
        if self.stride == 1:
            return members, labels, places
        wanted = places % self.stride == 0
        return members[wanted], None if labels is None else labels[wanted], places[wanted]

    def taken(self) -> tuple[Array, Array | None]:
        members = np.concatenate([part[0] for part in self._parts])
        labels = [part[1] for part in self._parts if part[1] is not None]
        return members, np.concatenate(labels) if labels else None
