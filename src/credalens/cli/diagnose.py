"""``credalens diagnose``: the influence of each model on the uncertainty."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credalens.cli.command_context import echo, note, print_table
from credalens.cli.options import CommonOptions, EnsembleInputs, MeasureOptions, examples
from credalens.cli.predictions import open_predictions, write_skipped
from credalens.cli.reading import skipped_path

if TYPE_CHECKING:
    from credalens.evaluation.diagnosis import MemberDiagnosis

EXAMPLES = examples(
    "credalens diagnose model_*.npy --labels truth.csv",
    "credalens diagnose 'runs/*.npz' -o diagnosis.csv",
)


def command(
    inputs: EnsembleInputs,
    common: CommonOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file with one row per model: .csv, .parquet, .npz or .jsonl.",
            show_default="print only",
        ),
    ] = None,
) -> None:
    """Find models that distort the uncertainty, by leaving out each model in turn.

    Measures of total variation depend on the extreme predictions, so that one faulty model can
    determine them for every row. For each model: the share of the rows on which it alone sets total
    uncertainty (sets TU) or is one of the two models that are farthest apart (widest); the change
    of mean total and epistemic uncertainty without it; with labels its accuracy, the change of the
    area under the accuracy-rejection curve without it, and its likelihood relative to the best
    model. A model is reported if it is poor and does harm; a weak model that does no harm is not.
    """
    with common.context():
        from credalens._files import atomic_write, check_folder
        from credalens.evaluation.diagnosis import MemberDiagnosis
        from credalens.evaluation.member_sums import MemberSums
        from credalens.io.output import check_output
        from credalens.io.tables import WRITERS, as_batch

        if output is not None:
            check_output(output)
            check_folder(output.parent)
        side = skipped_path(output)
        predictions = open_predictions(
            inputs, MeasureOptions(), common, output, side, diagnose=False, several=True
        )
        ensemble = predictions.ensemble
        sums = MemberSums(len(ensemble.names), ensemble.n_classes, ensemble.has_labels)
        for chunk in predictions.chunks("leaving out each model"):
            kept = chunk if chunk.labels is None else chunk.take(chunk.labelled)
            sums.add(kept.members, kept.labels, kept.row_weights, kept.mask)
        write_skipped(predictions.skipped, side)
        if not sums.n:
            raise ValueError("rows: no valid row is left; correct the files")
        diagnosis = MemberDiagnosis(names=ensemble.names, **sums.figures())
        if output is not None:
            columns = {"model": list(ensemble.names), **diagnosis._columns()}
            batch = as_batch({**columns, "verdict": diagnosis.verdicts})
            with atomic_write(output) as path:
                WRITERS[output.suffix.lower()](lambda: iter([batch]), path)
            note(f"wrote {output}", common.quiet)
        _print(diagnosis)


def _print(d: "MemberDiagnosis") -> None:
    from credalens._validation import counted
    from credalens.evaluation.verdicts import remarks, table_columns

    title = (
        f"{counted(d.n_members, 'model')}, {counted(d.n_instances, 'row')}, mean total uncertainty "
        f"{d.mean_total:.4f}, mean epistemic uncertainty {d.mean_epistemic:.4f}"
    )
    print_table(title, {"model": list(d.names), **table_columns(d)}, right=True)
    for m in d.spoilers:
        echo(f"Warning: model {d.verdicts[m]}.")
    for text in remarks(d):
        echo(f"Note: model {text}.")
    if not d.spoilers:
        echo("No model distorts the uncertainty.")
