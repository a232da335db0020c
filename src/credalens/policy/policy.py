"""Policies: what was decided about the predictions of an ensemble, in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

import credalens
from credalens import _validation
from credalens._backend import Array
from credalens._files import atomic_write
from credalens.distances import as_distance
from credalens.evaluation.scores import ScoreColumns
from credalens.policy.application import PolicyResult, PreparedColumns
from credalens.policy.distance_values import distance_as_json, distance_from_json
from credalens.policy.records import CalibrationData, PolicyGuarantee
from credalens.policy.repairs import repair_as_dict, repair_from_dict
from credalens.policy.rules import HAND_OVER, DecisionRule, ThresholdRule, prediction_indices
from credalens.policy.schema import find_error, read_json
from credalens.sets import ConvexHull, CredalSet
from credalens.validity.ensemble_repair import RepairScaling
from credalens.validity.folds import apply_in_blocks

#: What a policy file says it is, and the version of its schema.
FORMAT, VERSION = "credalens policy", 1


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Policy:
    """What to do with the predictions of an ensemble: repair, score, and keep or hand over.

    Parameters
    ----------
    n_classes : int
        Number of classes K.
    member_names : sequence of str
        One name per member.
    rule : ThresholdRule, DecisionRule or None
        What is kept. None if the policy only repairs predictions.
    class_names : sequence of str, optional
        Names of the classes; by default their indices.
    column, measure : str, default="tv_total" and "tv"
        The score: a column of a table of scores, and the measure it belongs to.
    distance : str or distance, default="tv"
        The distance of the measure.
    weights : array-like of shape (M,), optional
        Weights of the members, in votes and in measures of the members as a sample.
    repair : Repair or RepairScaling, optional
        The map of the predictions before anything else, of `credalens.validity.repair`.
    guarantees : sequence of PolicyGuarantee
        What the rule guarantees.
    calibration : CalibrationData, optional
        The data from which the rule was chosen.
    reading : mapping of str to str, optional
        Options of the command line that change the probabilities that are read.

    Notes
    -----
    A policy file is JSON, described by ``policy.schema.json`` in the package. It contains no code.

    See Also
    --------
    fit_policy : choose a policy from labelled predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.policy import Policy, ThresholdRule
    >>> policy = Policy(n_classes=2, member_names=["a", "b"], rule=ThresholdRule(0.3))
    >>> members = [[[0.9, 0.1], [0.8, 0.2]], [[0.9, 0.1], [0.4, 0.6]]]
    >>> policy.apply(members).action.tolist()
    ['keep', 'hand over']
    """

    n_classes: int
    member_names: tuple[str, ...]
    rule: ThresholdRule | DecisionRule | None
    class_names: tuple[str, ...] | None = None
    column: str = "tv_total"
    measure: str = "tv"
    distance: Any = "tv"
    weights: Array | None = None
    repair: RepairScaling | None = None
    guarantees: tuple[PolicyGuarantee, ...] = ()
    calibration: CalibrationData | None = None
    reading: Mapping[str, str] = field(default_factory=dict)
    #: The version of credalens that wrote the file.
    created_by: str = ""

    def __post_init__(self) -> None:
        _validation.whole_number(self.n_classes, "n_classes", least=1)
        given: dict[str, Any] = {
            "member_names": tuple(self.member_names),
            "guarantees": tuple(self.guarantees),
            "repair": getattr(self.repair, "scaling", None)
            if not isinstance(self.repair, RepairScaling)
            else self.repair,
        }
        if self.class_names is not None:
            given["class_names"] = tuple(self.class_names)
            _check_length("classes.names", given["class_names"], self.n_classes)
        if self.weights is not None:
            weights = np.asarray(self.weights, np.float64)
            _check_length("members.weights", weights, len(self.member_names))
            if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
                _validation.raise_invalid(
                    "members.weights", f"is {weights.tolist()}", "write numbers >= 0, one positive"
                )
            given["weights"] = weights
        vars(self).update(given)
        as_distance(self.distance, self.n_classes)
        thresholds = self.thresholds
        if thresholds is not None and thresholds.ndim:
            _check_length("rule.threshold", thresholds, self.n_classes)
        if isinstance(self.rule, DecisionRule) and self.rule.n_classes != self.n_classes:
            _validation.raise_invalid(
                "rule", f"is for {self.rule.n_classes} classes", f"pass one for {self.n_classes}"
            )
        if self.column not in self.score_columns.names:
            _validation.raise_invalid(
                "score.column",
                f"is {self.column!r}",
                f"choose a column of {self.measure}: {', '.join(self.score_columns.names)}",
            )

    # ------------------------------------------------------------ what it contains

    @property
    def n_members(self) -> int:
        """Number of members M, before any is left out."""
        return len(self.member_names)

    @property
    def thresholds(self) -> Array | None:
        """The thresholds of the score, ``()`` or one per class ``(K,)``; None if there are none."""
        return self.rule.threshold if isinstance(self.rule, ThresholdRule) else None

    @cached_property
    def score_columns(self) -> ScoreColumns:
        """The columns of the measure."""
        return ScoreColumns((self.measure,), self.distance)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, or their indices as text."""
        return self.class_names or tuple(map(str, range(self.n_classes)))

    def __repr__(self) -> str:
        rule = "no rule" if self.rule is None else self.rule.describe(self.column, self.labels)
        repair = "" if self.repair is None else f", {len(self.repair.kept)} kept and repaired"
        return (
            f"Policy({self.n_members} members{repair}, {self.n_classes} classes: {rule}, "
            f"{_validation.counted(len(self.guarantees), 'guarantee')})"
        )

    # ------------------------------------------------------------ application

    def prepare(self, members: Any) -> ConvexHull:
        """Return the repaired credal sets of predictions ``(n, M, K)``, with the weights."""
        hull = members if isinstance(members, ConvexHull) else None
        if hull is None:
            if isinstance(members, CredalSet):
                _validation.raise_invalid(
                    "members", f"is a {type(members).__name__}", "pass the predictions, (n, M, K)"
                )
            hull = ConvexHull(members, weights=self.weights)
        elif hull.weights is None and self.weights is not None:
            hull = hull.with_weights(self.weights)
        hull = hull.to_numpy_backed()
        if len(hull.batch_shape) != 1:
            shape = (*hull.batch_shape, hull.n_members, hull.n_classes)
            _validation.raise_invalid("members", f"has shape {shape}", "pass (n, M, K)")
        self.check_shape(hull.n_members, hull.n_classes)
        return hull if self.repair is None else self._repaired(hull, self.repair)

    def _repaired(self, hull: ConvexHull, repair: RepairScaling) -> ConvexHull:
        points = np.asarray(hull.members)
        mapped = apply_in_blocks(repair, points, len(repair.kept))
        weights = None if hull.weights is None else np.asarray(hull.weights)[..., repair.kept]
        mask = np.asarray(hull.mask)[..., repair.kept] if hull.backend.ragged else None
        return ConvexHull(mapped, weights=weights, mask=mask, validate=False)

    def check_shape(self, n_members: int, n_classes: int) -> None:
        """Raise ValueError for another number of members or classes."""
        counts = (
            ("member", "members", self.n_members, n_members, self.member_names),
            ("class", "classes", self.n_classes, n_classes, self.labels),
        )
        for one, several, own, other, names in counts:
            if own != other:
                _validation.raise_invalid(
                    "members",
                    f"has {other} {one if other == 1 else several}, the policy is for {own}",
                    f"pass the {several} of the policy: {', '.join(names)}",
                )

    def apply(self, members: Any) -> PolicyResult:
        """Apply the policy to predictions.

        Parameters
        ----------
        members : array-like of shape (n, M, K), or ConvexHull
            Predictions of the members of the policy, in their order.

        Returns
        -------
        PolicyResult
            Actions, kept instances, predictions and scores.
        """
        return PreparedColumns(self).result(self.prepare(members))

    def keep_from_scores(self, columns: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return which rows of a table of scores are kept.

        Parameters
        ----------
        columns : mapping of str to array-like of shape (n,)
            Columns that ``credalens score`` writes: that of the score (`column`), and
            ``"prediction"`` if each class has a threshold. For decisions, ``"action"`` and, if the
            action is a set of labels, ``"size"``.

        Returns
        -------
        array of bool, shape (n,)

        Examples
        --------
        >>> from credalens.policy import Policy, ThresholdRule
        >>> policy = Policy(n_classes=2, member_names=["a", "b"], rule=ThresholdRule(0.3))
        >>> policy.keep_from_scores({"tv_total": [0.1, 0.4]}).tolist()
        [True, False]
        """
        rule = self._rule()
        for name in self.needed_columns:
            if name not in columns:
                _validation.raise_invalid(
                    "columns", f"has no {name!r}", "write the scores with score --policy"
                )
        if isinstance(rule, DecisionRule):
            if rule.report == "labels":
                return np.asarray(np.asarray(columns["size"]) == 1)
            return np.asarray(np.asarray(columns["action"]) != HAND_OVER)
        predicted = None
        if rule.by_class:
            predicted = prediction_indices(columns["prediction"], self.class_names, self.n_classes)
        return rule.keep(columns[self.column], predicted)

    @property
    def needed_columns(self) -> tuple[str, ...]:
        """The columns of a table of scores that `keep_from_scores` reads."""
        rule = self._rule()
        if isinstance(rule, DecisionRule):
            return ("size",) if rule.report == "labels" else ("action",)
        return (self.column, "prediction") if rule.by_class else (self.column,)

    def _rule(self) -> ThresholdRule | DecisionRule:
        if self.rule is None:
            _validation.raise_invalid(
                "policy", "only repairs predictions", "write one with evaluate or decide --policy"
            )
        return self.rule

    # ------------------------------------------------------------ files

    def as_dict(self) -> dict[str, Any]:
        """Return the content of a policy file."""
        weights = None if self.weights is None else self.weights.tolist()
        names = None if self.class_names is None else list(self.class_names)
        return {
            "format": FORMAT,
            "version": VERSION,
            "created_by": self.created_by or f"credalens {credalens.__version__}",
            "classes": {"count": self.n_classes, "names": names},
            "members": {"names": list(self.member_names), "weights": weights},
            "reading": dict(self.reading),
            "repair": None if self.repair is None else repair_as_dict(self.repair),
            "score": {
                "column": self.column,
                "measure": self.measure,
                "distance": distance_as_json(self.distance),
            },
            "rule": None if self.rule is None else self.rule.as_dict(),
            "guarantees": [one.as_dict() for one in self.guarantees],
            "calibration": None if self.calibration is None else self.calibration.as_dict(),
        }

    @classmethod
    def from_dict(cls, document: Any, name: str = "policy") -> Policy:
        """Return the policy of a JSON document; errors start with `name`."""
        found = document.get("format") if isinstance(document, dict) else None
        if found != FORMAT:
            _validation.raise_invalid(
                name, "is not a policy", "pass a file that evaluate, decide or validate wrote"
            )
        if document.get("version") != VERSION:
            _validation.raise_invalid(
                name,
                f"has version {document.get('version')!r}, this credalens reads {VERSION}",
                "install the version of credalens that wrote it"
                + (f" ({document['created_by']})" if "created_by" in document else ""),
            )
        error = find_error(document)
        if error is not None:
            raise ValueError(f"{name}: {error}")
        try:
            return cls._from_valid(document)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    @classmethod
    def _from_valid(cls, document: Mapping[str, Any]) -> Policy:
        K, names = document["classes"]["count"], document["classes"]["names"]
        member_names = tuple(document["members"]["names"])
        repair, rule, data = (document[key] for key in ("repair", "rule", "calibration"))
        kinds: dict[str, Any] = {"threshold": ThresholdRule, "decision": DecisionRule}
        score = document["score"]
        return cls(
            n_classes=K,
            member_names=member_names,
            rule=None if rule is None else kinds[rule["kind"]].from_dict(rule, K),
            class_names=None if names is None else tuple(names),
            column=score["column"],
            measure=score["measure"],
            distance=distance_from_json(score["distance"], K),
            weights=document["members"]["weights"],
            repair=None if repair is None else repair_from_dict(repair, len(member_names), K),
            guarantees=tuple(map(PolicyGuarantee.from_dict, document["guarantees"])),
            calibration=None if data is None else CalibrationData.from_dict(data),
            reading=document.get("reading", {}),
            created_by=document.get("created_by", ""),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a JSON file; an existing one is replaced when it is complete."""
        text = json.dumps(self.as_dict(), indent=2, allow_nan=False, ensure_ascii=False)
        with atomic_write(Path(path)) as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy from a JSON file.

        Parameters
        ----------
        path : str or path
            A file that `save` or the command line wrote.

        Returns
        -------
        Policy

        Raises
        ------
        ValueError
            If the file is not a policy, of another version of the schema, or invalid.
        """
        name = os.fspath(path)
        try:
            text = Path(path).read_text(encoding="utf-8")
            document = read_json(text)
        except (ValueError, RecursionError) as error:
            _raise_not_json(name, error)
        return cls.from_dict(document, name)


def _raise_not_json(name: str, error: Exception) -> NoReturn:
    problem = str(error) if "is not finite" in str(error) else f"is not JSON ({error})"
    _validation.raise_invalid(name, problem, "pass a policy file")


def _check_length(name: str, values: Sequence[Any] | Array, expected: int) -> None:
    if len(values) != expected:
        _validation.raise_invalid(name, f"has {len(values)} entries", f"write {expected}")
