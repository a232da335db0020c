"""``credalens validate``: whether the models, and their credal set, can be trusted."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import echo, note, print_table
from credalens.cli.options import CommonOptions, Inputs, MeasureOptions, examples
from credalens.cli.policies import calibration_files, check_policy_file, policy_base, save_policy
from credalens.cli.predictions import OpenPredictions, open_predictions, write_skipped
from credalens.cli.reading import skipped_path

if TYPE_CHECKING:
    from credalens._backend import Array
    from credalens.validity.assessment import Assessment

#: Numbers of labelled predictions that the checks hold in memory; more rows are sampled.
HELD_NUMBERS = 50_000_000
METHODS = ("temperature", "vector", "isotonic")

EXAMPLES = examples(
    "credalens validate model_*.npy --labels truth.csv",
    "credalens validate 'runs/*.npz' --fix temperature -o calibrated",
    "credalens validate 'runs/*.npz' --fix temperature --policy repair.json",
)


def command(
    inputs: Inputs,
    common: CommonOptions,
    fix: Annotated[
        str | None,
        typer.Option(
            help="Recalibrate the models, leave out those that do harm, and write the repaired "
            "predictions to -o: temperature, vector or isotonic.",
            show_default="only check",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for one .npz file per repaired model; it must not exist, or be empty.",
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Significance level of the tests and intervals.")
    ] = 0.05,
    resamples: Annotated[int, typer.Option(min=100, help="Resamples of the test.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the test.")] = 0,
    policy: Annotated[
        Path | None,
        typer.Option(
            help="Write the repair of --fix to this file, for score and serve.", show_default=False
        ),
    ] = None,
) -> None:
    """Check whether the models and their credal set can be trusted. Labels are required.

    Answers: is each model calibrated (exact intervals of the accuracy in bins of its confidence);
    is the credal set (frequencies against the bands of lower and upper probabilities, and a test
    of whether some mixture of the models is calibrated); does it contain the label distributions,
    if the labels are distributions or counts; which models and classes are at fault; what to do.

    With --fix, the repair is fitted to all labelled rows and applied to all rows. Its effect is
    reported by cross-validation, before it is applied. Do not evaluate repaired predictions on the
    rows that they were fitted to.
    """
    with common.context():
        if fix is not None and fix not in METHODS:
            raise ValueError(f"--fix: is {fix!r}; choose one of {', '.join(METHODS)}")
        if fix is None and (output is not None or policy is not None):
            option = "-o" if output is not None else "--policy"
            raise ValueError(f"{option}: is where --fix writes; pass both, or neither")
        if fix is not None and output is None and policy is None:
            raise ValueError("--fix: needs -o FOLDER for repaired predictions, or --policy FILE")
        check_policy_file(policy, inputs, [])
        if not 0 < level < 1:
            raise ValueError(f"--level: is {level:g}; pass a number between 0 and 1, e.g. 0.05")
        if output is not None and output.exists() and any(output.iterdir()):
            raise ValueError(f"-o: {output} is not empty; pass a new folder")
        side = skipped_path(output)
        predictions = open_predictions(
            inputs, MeasureOptions(), common, output, side, diagnose=False, several=True
        )
        ensemble = predictions.ensemble
        if not ensemble.has_labels:
            raise ValueError(
                "labels: no file has labels; pass --labels FILE or --label-column NAME"
            )
        members, labels, distributions = _labelled(predictions)
        write_skipped(predictions.skipped, side)
        from credalens.validity.assessment import assess

        found = assess(
            members, labels, distributions=distributions, names=ensemble.names,
            class_names=ensemble.class_names, method=fix or "temperature", level=level,
            n_resamples=resamples, random_state=seed,
        )  # fmt: skip
        if output is not None:
            _write(predictions, found, output, common.quiet)
        if policy is not None:
            _write_policy(predictions, found, policy)
        _print(found, fix is None)


def _labelled(predictions: OpenPredictions) -> "tuple[Array, Array, Array | None]":
    """Return the labelled rows, at equal distances if there are too many."""
    import numpy as np

    from credalens.evaluation.agreement import RowSample

    ensemble = predictions.ensemble
    limit = max(1, HELD_NUMBERS // (2 * len(ensemble.names) * ensemble.n_classes))
    samples: list[Any] = [RowSample(limit) for _ in range(3)]
    found = soft = False
    for chunk in predictions.chunks("reading"):
        kept = chunk.labelled
        if chunk.labels is None or not kept.any():
            continue
        found = True
        labels = chunk.labels[kept]
        known = chunk.label_distributions
        soft |= known is not None
        samples[0].add(chunk.members[kept])
        samples[1].add(labels)
        # Labels that are all certain are read as classes.
        samples[2].add(np.eye(ensemble.n_classes)[labels] if known is None else known[kept])
    if not found:
        raise ValueError("labels: no row has a label; pass a file of labels of these rows")
    members, labels = samples[0].rows(), samples[1].rows()
    return members, np.asarray(labels), samples[2].rows() if soft else None


def _print(found: "Assessment", suggest: bool) -> None:
    from credalens._validation import counted
    from credalens.validity.answers import answers

    table = found._columns()
    columns = {
        "model": list(found.names),
        "accuracy": list(map(float, table["accuracy"])),
        "confidence": list(map(float, table["confidence"])),
        "log-loss": list(map(float, table["log_loss"])),
        "ECE": list(map(float, table["ece"])),
        "temperature": list(map(float, table["temperature"])),
        "ECE then": list(map(float, table["ece_after"])),
        "verdict": table["verdict"].tolist(),
    }
    rows = counted(found.n, "labelled row")
    print_table(f"{counted(len(found.names), 'model')}, {rows}", columns, right=True)
    for answer in answers(found):
        echo(f"\n{answer.question}")
        for sentence in answer.sentences:
            echo(f"  {sentence}")
    if suggest and found.repair.report and _gains(found):
        echo("  To write repaired predictions, pass --fix temperature -o FOLDER.")


def _gains(found: "Assessment") -> bool:
    r = found.repair
    return bool(len(r.kept) < r.n_members or r.scaling.recalibrated.any())


def _write_policy(predictions: OpenPredictions, found: "Assessment", path: Path) -> None:
    """Write the repair as a policy without a rule."""
    from credalens.policy import CalibrationData, Policy

    ensemble, inputs = predictions.ensemble, predictions.inputs
    data = CalibrationData(found.n, found.n, files=calibration_files(inputs, ensemble))
    base = policy_base(inputs, ensemble)
    policy = Policy(rule=None, repair=found.repair.scaling, calibration=data, **base)
    save_policy(policy, path, predictions.common.quiet)


def _write(predictions: OpenPredictions, found: "Assessment", folder: Path, quiet: bool) -> None:
    """Apply the repair to all rows and write one archive per model that is kept."""
    import numpy as np

    from credalens._files import atomic_write

    parts: list[Any] = []
    labels: list[Any] = []
    ids: list[Any] = []
    for chunk in predictions.chunks("repairing"):
        parts.append(np.asarray(found.repair(chunk.members), np.float32))
        labels.append(chunk.labels)
        ids.append(chunk.ids)
    members = np.concatenate(parts)
    extra: dict[str, Any] = {}
    if labels[0] is not None:
        known = np.concatenate(labels)
        extra["labels"] = known if (known >= 0).all() else np.where(known < 0, np.nan, known)
    if ids[0] is not None:
        extra["ids"] = np.concatenate(ids).astype(str)
    if predictions.ensemble.class_names is not None:
        extra["class_names"] = np.array(predictions.ensemble.class_names)
    folder.mkdir(parents=True, exist_ok=True)
    for i, m in enumerate(found.repair.kept.tolist()):
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in found.names[m])
        with atomic_write(folder / f"{name}.npz") as path, open(path, "wb") as file:
            np.savez(file, probs=members[:, i], **extra)
    note(f"wrote {len(found.repair.kept)} models to {folder}", quiet)
