"""``credalens demo``: the library at work on a small dataset."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import command_context, note, print_table, tracker
from credalens.cli.options import folder_option

if TYPE_CHECKING:
    from credalens.experiments.demo import Demo
    from credalens.experiments.demo_ordinal import OrdinalDemo

EXAMPLES = "Example: credalens demo -o /tmp/demo --seed 1"


def command(
    out: Annotated[
        Path, folder_option("Folder for the report, scores, predictions and figures.")
    ] = Path("credalens-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and the forests.")] = 0,
    distance: Annotated[
        str, typer.Option(help="tv, or ordinal for a dataset with ordered classes.")
    ] = "tv",
) -> None:
    """Train ten random forests on handwritten digits and measure their uncertainty.

    Splits scikit-learn's digits 70/30, measures the uncertainty of the test part, prints how well
    each measure finds the errors, and writes report.html, scores.csv, rejection_curves.png,
    simplex.png and a folder of predictions for the other commands. With --distance ordinal, the
    classes are five grades of diabetes, and ordinal.png shows where the order of the classes
    matters.
    """
    if distance not in ("tv", "ordinal"):
        raise typer.BadParameter(f"{distance!r} is not one of tv, ordinal", param_hint="--distance")
    with command_context(), tracker() as track:
        if distance == "ordinal":
            from credalens.experiments import demo_ordinal

            _print_ordinal(demo_ordinal.run(out, seed, track))
        else:
            from credalens.experiments import demo

            _print_demo(demo.run(out, seed, track))


def _print_ordinal(result: OrdinalDemo) -> None:
    from credalens.experiments.demo_ordinal import REJECTED

    rows = [(*key, *(f"{e:.3f}" for e in errors)) for key, errors in sorted(result.errors.items())]
    head = ("uncertainty", "distance", *(f"{share:.0%} rejected" for share in REJECTED))
    title = f"Mean error in grades, {result.n_test} patients, most uncertain rejected"
    print_table(title, dict(zip(head, map(list, zip(*rows, strict=True)), strict=True)))
    typer.echo(f"Rank correlation of the two epistemic uncertainties: {result.correlation:.3f}")
    for path in result.files:
        note(f"wrote {path}")


def _print_demo(result: Demo) -> None:
    from credalens.experiments.demo import COMPONENTS

    rows = [
        (COMPONENTS[row.component], row.family, [row.curve], f"{1e3 * row.seconds:.2f} ms")
        for row in result.rows
    ]
    rows.append(("", f"random order, mean of {len(result.random)}", result.random, ""))
    rows.append(("", "oracle order, errors first", [result.oracle], ""))
    columns: dict[str, list[Any]] = {
        "uncertainty": [row[0] for row in rows],
        "measure": [row[1] for row in rows],
        "AUC": [fmean(curve.auc for curve in row[2]) for row in rows],
        "MR": [f"{fmean(curve.monotonicity_ratio for curve in row[2]):.2f}" for row in rows],
        "time": [row[3] for row in rows],
    }
    typer.echo(f"Accuracy of the vote: {result.accuracy:.4f}")
    print_table(f"Rejecting the most uncertain of {result.n_test} digits first", columns)
    typer.echo("AUC: area under accuracy against the share rejected; 1 is perfect.")
    typer.echo("MR: share of the steps of the curve that do not lose accuracy.")
    healthy, constant = result.diagnosis, result.diagnosis_with_constant
    typer.echo(f"Diagnosis: mean TU {healthy.mean_total:.2f}; {'; '.join(healthy.notes)}.")
    typer.echo(
        f"With a constant model added: mean TU {constant.mean_total:.2f}; {constant.notes[0]}."
    )
    for path in result.files:
        note(f"wrote {path}")
    if result.report_error:
        note(f"no report.html: {result.report_error}")
