"""The policy that ``credalens evaluate`` chooses and writes."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import echo
from credalens.cli.options import Inputs
from credalens.cli.policies import (
    calibration_files,
    check_policy_file,
    check_targets,
    parse_targets,
    policy_base,
    save_policy,
)

if TYPE_CHECKING:
    from credalens._backend import Array
    from credalens.evaluation.scores import ScoreColumns
    from credalens.io import Ensemble
    from credalens.policy import Policy


@dataclass
class EvaluatedRows:
    """The labelled rows of an evaluation, from which a policy is chosen."""

    ensemble: "Ensemble"
    columns: "ScoreColumns"
    #: The map of the predictions before they were scored.
    repair: Any = None
    #: The scores that need a guarantee.
    scores: "dict[str, Array]" = field(default_factory=dict)
    _labels: list[Any] = field(default_factory=list)
    _predictions: list[Any] = field(default_factory=list)

    def add(self, labels: "Array", predictions: "Array") -> None:
        """Add labels, as indices, and predictions, as names or indices."""
        self._labels.append(labels)
        self._predictions.append(predictions)

    def outcomes(self) -> "tuple[Array, Array]":
        """Return predictions and labels as class indices."""
        import numpy as np

        from credalens.policy.rules import prediction_indices

        ensemble = self.ensemble
        predicted = prediction_indices(
            np.concatenate(self._predictions), ensemble.class_names, ensemble.n_classes
        )
        return predicted, np.concatenate(self._labels)

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, or their indices."""
        return self.ensemble.class_names or tuple(map(str, range(self.ensemble.n_classes)))


@dataclass(frozen=True)
class PolicyOptions:
    """Options about targets by class, and about the policy file."""

    target_precision: Annotated[
        str | None,
        typer.Option(
            help="Find one threshold per class with this precision of the kept predictions: a "
            "number for all classes, or CLASS=0.95,CLASS=0.9; other classes are kept.",
            show_default=False,
        ),
    ] = None
    target_sensitivity: Annotated[
        str | None,
        typer.Option(
            help="Find a threshold at which this share of the rows of a class is not kept as "
            "another class: a number, or CLASS=0.95,CLASS=0.9.",
            show_default=False,
        ),
    ] = None
    repair: Annotated[
        Path | None,
        typer.Option(
            help="Repair the predictions first, as this policy says that validate --policy wrote. "
            "Pass rows other than those from which it was fitted.",
            show_default=False,
        ),
    ] = None
    policy: Annotated[
        Path | None,
        typer.Option(
            help="Write the threshold with its guarantee to this file, for score and serve.",
            show_default=False,
        ),
    ] = None

    @property
    def by_class(self) -> bool:
        """Whether there are targets by class."""
        return self.target_precision is not None or self.target_sensitivity is not None

    @property
    def given(self) -> dict[str, Any]:
        """The options and their values."""
        return {
            "--target-precision": self.target_precision,
            "--target-sensitivity": self.target_sensitivity,
            "--repair": self.repair,
            "--policy": self.policy,
        }

    def check(
        self, target_accuracy: float | None, score: str | None, inputs: Inputs,
        others: Sequence[Path],
    ) -> None:  # fmt: skip
        """Raise ValueError for options that contradict each other."""
        if self.target_precision is not None and (
            target_accuracy is not None or self.target_sensitivity is not None
        ):
            raise ValueError("--target-precision: has one threshold per class, other targets have "
                             "one for all; omit the others")  # fmt: skip
        if self.policy is not None and target_accuracy is None and not self.by_class:
            raise ValueError("--policy: needs a target; pass --target-accuracy, --target-precision "
                             "or --target-sensitivity")  # fmt: skip
        if score is not None and "," in score and (self.policy is not None or self.by_class):
            raise ValueError(f"--score: is {score!r}; pass the one score of the policy")
        for option, text in (("--target-precision", self.target_precision),
                             ("--target-sensitivity", self.target_sensitivity)):  # fmt: skip
            check_targets(text, option)
        repair = [] if self.repair is None else [self.repair]
        check_policy_file(self.policy, inputs, [*others, *repair])

    def choose(
        self, rows: EvaluatedRows | None, inputs: Inputs, target_accuracy: float | None,
        confidence: float, seed: int,
    ) -> "Policy | None":  # fmt: skip
        """Return the policy that the rows lead to, None if it is not needed."""
        if rows is None or not (self.by_class or self.policy is not None):
            return None
        from credalens.policy import Policy
        from credalens.policy.fitting import Targets, calibration_data, fit_rule

        names, ensemble = rows.class_names, rows.ensemble
        targets = Targets(
            target_accuracy,
            parse_targets(self.target_precision, "--target-precision", names),
            parse_targets(self.target_sensitivity, "--target-sensitivity", names),
        )
        (column, score), *_ = rows.scores.items()
        predicted, labels = rows.outcomes()
        rule, guarantees = fit_rule(
            score, predicted, labels, ensemble.n_classes, targets, confidence, seed
        )
        measure = next(
            m for m in rows.columns.measures
            if column in replace(rows.columns, measures=(m,)).names
        )  # fmt: skip
        files = () if self.policy is None else calibration_files(inputs, ensemble)
        data = calibration_data(rule, score, predicted, labels, files)
        return Policy(
            rule=rule, column=column, measure=measure, distance=rows.columns.distance,
            guarantees=guarantees, calibration=data, repair=rows.repair,
            **policy_base(inputs, ensemble),
        )  # fmt: skip

    def finish(self, policy: "Policy | None", quiet: bool) -> None:
        """Print guarantees by class, and write the policy."""
        if policy is None or policy.calibration is None or policy.rule is None:
            return
        if self.by_class:
            confidence = policy.guarantees[0].confidence
            echo(f"{policy.column}: {policy.calibration.keep_rate:.1%} of the predictions "
                       f"are kept; with confidence {confidence:g}:")  # fmt: skip
            for one in policy.guarantees:
                echo(f"  {one.describe(policy.labels)}")
            echo(f"Rule: {policy.rule.describe(policy.column, policy.labels)}.")
        if self.policy is not None:
            save_policy(policy, self.policy, quiet)


@dataclass(frozen=True)
class RepairedColumns:
    """Columns of predictions that a policy repairs first."""

    policy: "Policy"
    columns: "ScoreColumns"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of numbers."""
        return self.columns.names

    @property
    def settings(self) -> dict[str, Any]:
        """What the columns depend on, as JSON values."""
        return {**self.columns.settings, "policy": self.policy.as_dict()}

    def rows(self, Q: Any, labels: Any, class_names: Any) -> tuple[dict[str, Any], Any]:
        """Return the columns of a batch."""
        return self.columns.rows(self.policy.prepare(Q), labels, class_names)
