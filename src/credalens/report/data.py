"""The measurements of a report, collected chunk by chunk; a few columns per row stay in memory."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._html import truncate
from credalens.distances import as_distance
from credalens.evaluation import diagnose_members, majority_vote
from credalens.evaluation.arguments import fraction
from credalens.evaluation.baselines import BASELINES, baseline_scores
from credalens.evaluation.guarantee import guaranteed_threshold
from credalens.evaluation.kinds import KINDS, Rule, largest_distance
from credalens.evaluation.review import Review, choose_review
from credalens.evaluation.scores import measure_families
from credalens.measures import Interval, Uncertainty
from credalens.report.label_sets import LabelSetCounter, LabelSets
from credalens.report.samples import Sample, Top
from credalens.report.trust import Trust, TrustCounter
from credalens.sets import ConvexHull

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
    #: Total uncertainty above which predictions are reviewed, the share to review, or the accuracy
    #: of those that are kept; by default chosen by `choose_review`.
    review_threshold: float | None = None
    review_share: float | None = None
    target_accuracy: float | None = None
    title: str = ""
    #: Costs ``(K, D)`` of decisions, and the names of the actions, None if they are the classes.
    cost: Array | None = None
    actions: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Without:
    """Figures of some rows with all members, and without those that distort the uncertainty."""

    #: Mean total uncertainty.
    mean_total: tuple[float, float]
    #: Share of the rows on which two members disagree, by the rule of the page.
    disagree: tuple[float, float]
    #: Accuracy of the vote, and the largest share that can be kept at the chosen accuracy.
    accuracy: tuple[float, float] | None = None
    target: float | None = None
    kept: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class ReportData:
    """The measurements of all n predictions."""

    config: ReportConfig
    #: Which predictions to review, by total uncertainty, and the thresholds of the reasons.
    review: Review
    rule: Rule
    #: Uncertainty by family, with the largest error of the family.
    families: dict[str, Uncertainty]
    #: Scores of the members as a sample, by name; see `BASELINES`.
    baselines: dict[str, Array]
    #: Row numbers in the files, ``(n,)``.
    rows: Array
    ids: Array | None
    labels: Array | None
    predicted: Array
    #: The class that each model predicts, ``(n, M)``.
    votes: Array
    #: Positions in `KINDS`, ``(n,)``: clear if the prediction is kept, else why it is reviewed.
    kinds: Array
    #: Positions of the most uncertain instances, in decreasing order, and their predictions.
    shown: Array
    shown_members: Array
    #: Result of `diagnose_members`, ``None`` for a single model, and its number of rows.
    diagnosis: Any
    n_diagnosed: int
    #: The diagnosed rows without the members that distort the uncertainty; None without such.
    without: Without | None
    #: Number of invalid rows that were skipped.
    n_skipped: int
    label_sets: LabelSets
    #: Calibration; None without labels, and for a single model or class.
    trust: Trust | None

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
    def kind_labels(self) -> list[str]:
        """Names of the kinds on the page; the first are the predictions below the threshold."""
        first = "keep" if self.review.source == "labels" else "others"
        return [first, *(kind.name for kind in KINDS[1:])]

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


def short_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of models without a common prefix that ends at a separator.

    The prefix is kept if a name without it would not start with a letter, as in model_1, model_2.

    Examples
    --------
    >>> short_names(["run3_resnet", "run3_vgg"]), short_names(["model_1", "model_2"])
    (('resnet', 'vgg'), ('model_1', 'model_2'))
    """
    prefix = os.path.commonprefix(list(names)) if len(names) > 1 else ""  # noqa: RUF071
    prefix = re.sub(r"[^\W_]+$", "", prefix)  # part of a word
    shorter = tuple(name[len(prefix) :] for name in names)
    return shorter if all(name[:1].isalpha() for name in shorter) else tuple(names)


def _check_review(config: ReportConfig) -> None:
    """Raise an error for invalid options that determine which predictions are reviewed."""
    options = ("review_threshold", "review_share", "target_accuracy")
    given = [name for name in options if getattr(config, name) is not None]
    if len(given) > 1:
        _validation.raise_invalid(given[0], f"excludes {given[1]}", "pass one of them")
    for name in given:
        if name == "review_threshold":
            _validation.number(config.review_threshold, name, least=0)
        else:
            fraction(getattr(config, name), name)


class Collector:
    """Measures chunks of predictions and keeps what a report needs.

    Memory use is about ``100 + 2 M`` bytes per row, the identifiers, the predictions of the
    instances that are shown individually, and at most 128 MB of rows to diagnose the members.
    """

    def __init__(self, config: ReportConfig) -> None:
        _check_review(config)
        self.config = replace(config, names=short_names(config.names))
        self._distance = as_distance(config.distance, config.n_classes)
        self._scale = largest_distance(self._distance, config.n_classes)
        self._chunks: list[dict[str, Any]] = []
        self._families: dict[str, list[tuple[Any, Any, Any]]] = {m: [] for m in config.measures}
        self._errors = dict.fromkeys(config.measures, 0.0)
        self._baselines: dict[str, list[Array]] = {name: [] for name in BASELINES}
        self._label_sets = LabelSetCounter(config.n_classes, config.cost, config.actions)
        several = config.n_members > 1 and config.n_classes > 1
        self._trust = TrustCounter(config.n_members) if several else None
        self._top = Top()
        self._sample = Sample()
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
        distributions: Array | None = None,
    ) -> None:
        """Add predictions ``(r, M, K)``, already validated, and their class indices.

        Families that are not in `measured` are computed. `skipped` is the number of invalid rows
        that were skipped in this chunk, `distributions` are those of the labels, ``(r, K)``.
        """
        self._n_skipped += skipped
        hull = ConvexHull(members, validate=False)
        predicted = majority_vote(hull)
        self._label_sets.add(hull, labels, np.asarray(predicted))
        votes = members.argmax(axis=2)
        if self._trust is not None:
            self._trust.add(members, labels, votes, distributions)
        vote_type = np.uint16 if self.config.n_classes <= 1 << 16 else np.uint32
        self._chunks.append({
            "rows": self.n + np.arange(len(members)) if rows is None else rows,
            "ids": None if ids is None else _as_objects(np.asarray(ids)),
            "labels": labels,
            "predicted": predicted,
            "votes": votes.astype(vote_type),
        })  # fmt: skip
        for name, u in self._measure(hull, measured or {}).items():
            parts = (_as_float64(u.total), _as_float64(u.aleatoric), _as_float64(u.epistemic))
            self._families[name].append(parts)
            self._errors[name] = max(self._errors[name], float(np.max(u.error, initial=0.0)))
        for name, score in baseline_scores(hull).items():
            self._baselines[name].append(_as_float64(score))
        self._top.add(self._families["tv"][-1][0], members, self.n)
        self._sample.add(members, labels, self.n)
        self.n += len(members)

    def add_chunk(self, chunk: Any, measured: Mapping[str, Uncertainty] | None = None) -> None:
        """Add a chunk of prediction files, see `credalens.io.Chunk`."""
        skipped = len(chunk.dropped)
        distributions = chunk.label_distributions
        columns = (chunk.members, chunk.labels, chunk.ids, chunk.rows)
        self.add(*columns, measured, skipped, distributions)

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
        baselines = {name: _join(parts) for name, parts in self._baselines.items()}
        labels = columns["labels"]
        correct = None if labels is None else labels == columns["predicted"]
        main = families["tv"]
        review = self._choose(main.total, correct)
        rule = Rule(review.threshold / 2, self._scale)
        return ReportData(
            config=self.config,
            review=review,
            rule=rule,
            families=families,
            baselines=baselines,
            **columns,
            kinds=review_kinds(main, review.threshold, rule),
            shown=self._top.positions,
            shown_members=self._top.members,
            n_skipped=self._n_skipped,
            label_sets=self._label_sets.result(),
            trust=None if self._trust is None else self._trust.result(),
            **self._diagnose(review, rule),
        )

    def _choose(self, total: Array, correct: Array | None) -> Review:
        config = self.config
        return choose_review(
            total,
            correct,
            threshold=config.review_threshold,
            share=config.review_share,
            target=config.target_accuracy,
        )

    def _diagnose(self, review: Review, rule: Rule) -> dict[str, Any]:
        members, labels = self._sample.result()
        names = [truncate(name) for name in self.config.names]
        found: dict[str, Any] = {"diagnosis": None, "n_diagnosed": len(members), "without": None}
        if len(names) > 1:
            found["diagnosis"] = diagnosis = diagnose_members(members, labels, names)
            if diagnosis.spoilers:
                kept = np.delete(members, diagnosis.spoilers, axis=1)
                found["without"] = self._compare(members, kept, labels, review, rule)
        return found

    def _compare(
        self, members: Array, kept: Array, labels: Array | None, review: Review, rule: Rule
    ) -> Without:
        """Return the figures of members ``(n, M, K)`` and of those that are kept."""
        guarantee = review.best or (review.guarantees[-1] if review.guarantees else None)
        totals, disagree, accuracy, share = [], [], [], []
        for part in (members, kept):
            hull = ConvexHull(part, validate=False)
            u = measure_families(hull, ["tv"], self._distance)["tv"]
            totals.append(float(np.mean(u.total)))
            disagree.append(float(np.mean(rule.codes(u.aleatoric, u.epistemic) >= 2)))
            if labels is not None and guarantee is not None:
                correct = majority_vote(hull) == labels
                accuracy.append(float(correct.mean()))
                level, target = guarantee.confidence, guarantee.target
                kept_at = guaranteed_threshold(correct, u.total, target, level, random_state=0)
                share.append(kept_at.kept)
        figures = Without(_pair(totals), _pair(disagree))
        if guarantee is None or not share:
            return figures
        pairs = {"accuracy": _pair(accuracy), "kept": _pair(share)}
        return replace(figures, target=guarantee.target, **pairs)


def review_kinds(u: Uncertainty, threshold: float, rule: Rule) -> Array:
    """Return positions in `KINDS`: 0 if total uncertainty is at most the threshold.

    The thresholds of `rule` are half of it, so that one of the two reasons applies to every other
    prediction: total uncertainty is at most the lower aleatoric end plus twice the epistemic one.
    """
    codes = rule.codes(u.aleatoric, u.epistemic)
    larger = np.where(u.aleatoric.lower >= 2 * u.epistemic, 1, 2)  # neither, by rounding
    return np.where(u.total > threshold, np.where(codes > 0, codes, larger), 0).astype(np.uint8)


def _pair(values: Sequence[float]) -> tuple[float, float]:
    return values[0], values[1]


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
