"""Options and opened files of predictions of several binary labels per row."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credalens.cli.command_context import note
from credalens.cli.options import CommonOptions, EnsembleInputs, MeasureOptions
from credalens.cli.predictions import OpenPredictions, ReadingFindings
from credalens.cli.reading import read_names

if TYPE_CHECKING:
    from credalens.io import Chunk
    from credalens.io.multilabel_ensemble import MultilabelEnsemble


@dataclass(frozen=True)
class MultilabelOptions:
    """Options for several labels."""

    multilabel: Annotated[
        bool,
        typer.Option(
            "--multilabel",
            help="A row has any number of labels: tables with one column per label, arrays (rows, "
            "labels) or (rows, models, labels), whose numbers are probabilities that need not sum "
            "to 1. Measures are hamming (the expected share of wrong labels), max (of the most "
            "uncertain label) and labels (of each label); --labels are 0 or 1 for each label.",
        ),
    ] = False


class MultilabelFindings(ReadingFindings):
    """What was found while rows were read; models are not compared."""

    def compare(self, chunk: "Chunk") -> None:
        """Do nothing: the comparison is one of distributions over classes."""


def open_multilabel(
    inputs: EnsembleInputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    *outputs: Path | None,
    summary: str = "interval",
) -> OpenPredictions:
    """Open the files; check the options and the `outputs` before any row is read."""
    from credalens.evaluation.multilabel_scores import DEFAULT, MultilabelColumns
    from credalens.io.multilabel_ensemble import open_multilabel_ensemble

    refused = {
        "--normalize": inputs.normalize, "--weights": inputs.weights,
        "--ignore-label": inputs.ignored, "--distance": measure_options.distance != "tv",
    }  # fmt: skip
    for option in (name for name, given in refused.items() if given):
        raise ValueError(f"{option}: does not apply to --multilabel; leave one of them out")
    ensemble = open_multilabel_ensemble(
        inputs.files,
        options=inputs.read_options,
        labels=inputs.labels,
        label_names=read_names(inputs.class_names),
        logits=inputs.logits,
        force_logits=inputs.force_logits,
        temperature=inputs.temperature,
        percent=inputs.percent,
        exclude=inputs.other_files,
        missing=inputs.allows_missing,
    )
    measures = measure_options.names
    if measures == ("tv",):  # the default of classes
        measures = DEFAULT
    if not measures:
        raise ValueError("--measures: is empty; choose from hamming, max, labels")
    names = ensemble.class_names or tuple(str(k) for k in range(ensemble.n_classes))
    separator = ";" if any(" " in name for name in names) else " "
    columns = MultilabelColumns(measures, summary, names, separator)
    inputs.check_outputs(ensemble, [], *outputs)
    _describe(ensemble, common)
    return OpenPredictions(
        ensemble, columns, inputs, measure_options, common, findings=MultilabelFindings()
    )


def _describe(ensemble: "MultilabelEnsemble", common: CommonOptions) -> None:
    from credalens._validation import counted

    if common.verbose:
        rows = "unknown number of rows" if ensemble.n_rows is None else (
            counted(ensemble.n_rows, "row"))  # fmt: skip
        models = f"{counted(len(ensemble.names), 'model')}: {', '.join(ensemble.names)}"
        note(f"{counted(len(ensemble.sources), 'file')}, {models}")
        names = ", ".join(ensemble.class_names or ()) or "without names"
        what = f"{counted(ensemble.n_classes, 'label')} ({names})"
        note(f"{rows}, {what}, true labels: {'yes' if ensemble.has_labels else 'no'}")
    if len(ensemble.names) == 1:
        note("credalens: warning: there is only one model, so epistemic uncertainty is 0; pass "
             "the files of all models", common.quiet)  # fmt: skip
