"""Options and opened files of the commands that support real-valued targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import note
from credalens.cli.options import CommonOptions, EnsembleInputs, MeasureOptions
from credalens.cli.predictions import OpenPredictions, ReadingFindings
from credalens.cli.reading import split_axes, split_columns

if TYPE_CHECKING:
    from credalens.evaluation.real_scores import RealColumns
    from credalens.io import Chunk
    from credalens.io.real_ensemble import RealEnsemble

#: Options of classes that do not apply, with their values if they are not passed.
OF_CLASSES = {
    "logits": False, "force_logits": False, "temperature": 1.0, "normalize": False,
    "percent": False, "class_names": None,
}  # fmt: skip


@dataclass(frozen=True)
class RegressionOptions:
    """Options for real-valued targets."""

    regression: Annotated[
        bool,
        typer.Option(
            "--regression",
            help="The models predict distributions of a real-valued target: tables with columns "
            "mean and std, or quantiles such as q0.05, q0.5, q0.95; arrays (rows, samples) or "
            "(rows, models, samples). Measures are wasserstein and variance; --labels are the true "
            "values.",
        ),
    ] = False
    distribution: Annotated[
        str | None,
        typer.Option(
            help="With --regression, what the values are: normal (mean and standard deviation), "
            "samples, or levels of quantiles, e.g. 0.05,0.5,0.95.",
            show_default="from the names of columns; samples in arrays",
        ),
    ] = None
    point: Annotated[
        str | None,
        typer.Option(
            help="With --regression, the prediction: mean or median of the mixture of the models, "
            "or minimax, whose largest expected absolute error over the models is smallest.",
            show_default="mean",
        ),
    ] = None

    def check_unused(self) -> None:
        """Raise ValueError if an option is passed without ``--regression``."""
        for name in ("distribution", "point"):
            if getattr(self, name) is not None:
                raise ValueError(f"--{name}: applies to --regression; pass both, or neither")


class RealFindings(ReadingFindings):
    """What was found while rows were read; models are not compared."""

    def compare(self, chunk: "Chunk") -> None:
        """Do nothing: the comparison is one of distributions over classes."""


def open_regression(
    options: RegressionOptions,
    inputs: EnsembleInputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    *outputs: Path | None,
    summary: str = "interval",
) -> OpenPredictions:
    """Open the files; check the options and the `outputs` before any row is read."""
    from credalens.io import ReadOptions
    from credalens.io.real_ensemble import open_real_ensemble

    for name, default in OF_CLASSES.items():
        if getattr(inputs, name) != default:
            option = name.replace("_", "-")
            raise ValueError(f"--{option}: applies to classes; omit it, or --regression")
    if measure_options.distance != "tv":
        raise ValueError("--distance: real-valued targets have wasserstein; omit it")
    columns = _columns(options, measure_options, summary)
    ensemble = open_real_ensemble(
        inputs.files,
        options=ReadOptions(
            split_columns(inputs.columns), inputs.label_column, inputs.id_column, inputs.header,
            inputs.format, inputs.key, inputs.label_key, split_axes(inputs.axes),
        ),
        distribution=options.distribution,
        targets=inputs.labels,
        ignore=inputs.ignored,
        exclude=inputs.other_files,
        **inputs.ensemble_options,
    )  # fmt: skip
    inputs.check_outputs(ensemble, [], *outputs)
    _describe(ensemble, common)
    return OpenPredictions(
        ensemble, columns, inputs, measure_options, common, findings=RealFindings()
    )


def _columns(
    options: RegressionOptions, measure_options: MeasureOptions, summary: str
) -> "RealColumns":
    from credalens.evaluation.real_scores import RealColumns

    names = measure_options.names
    if names == ("tv",):  # the default of classes
        names = RealColumns.measures
    if not names:
        raise ValueError("--measures: is empty; choose from wasserstein, variance")
    return RealColumns(names, summary, options.point or "mean", options.distribution or "")


def _describe(ensemble: "RealEnsemble", common: CommonOptions) -> None:
    from credalens._validation import counted

    if common.verbose:
        rows = "unknown number of rows" if ensemble.n_rows is None else (
            counted(ensemble.n_rows, "row"))  # fmt: skip
        models = f"{counted(len(ensemble.names), 'model')}: {', '.join(ensemble.names)}"
        note(f"{counted(len(ensemble.sources), 'file')}, {models}")
        what = ensemble.layout.described
        if ensemble.layout.kind == "samples":
            what = f"{ensemble.n_classes} samples"
        note(f"{rows}, {what}, targets: {'yes' if ensemble.has_labels else 'no'}")
    if len(ensemble.names) == 1:
        note("credalens: warning: there is only one model, so epistemic uncertainty is 0; pass "
             "the files of all models", common.quiet)  # fmt: skip


def labelled_columns(
    predictions: OpenPredictions, names: Sequence[str]
) -> tuple[dict[str, Any], int]:
    """Return the scores, predictions and targets of all rows with a target, and their number."""
    import numpy as np

    blocks: list[dict[str, Any]] = []
    for chunk, values, _ in predictions.scored():
        kept = chunk.labelled
        blocks.append({name: np.ma.getdata(values[name])[kept] for name in names})
    found = {name: np.concatenate([block[name] for block in blocks]) for name in names}
    return found, len(found[names[0]])
