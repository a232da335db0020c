"""``credalens reproduce scores``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credalens.cli.command_context import command_context, note, progress
from credalens.cli.options import folder_option
from credalens.cli.reading import ReadingOptions
from credalens.cli.reproduce import _options

if TYPE_CHECKING:
    from credalens.io import Predictions

EXAMPLES = (
    "Examples: credalens reproduce scores --predictions cifar10=networks/; "
    "credalens reproduce scores --datasets small --data keel/ --tasks"
)


def command(
    context: typer.Context,
    reading: ReadingOptions,
    predictions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]PATH",
            help="Predictions of an ensemble: a folder with one file per model, a file with all, "
            "or a quoted pattern; may be repeated.",
        ),
    ] = None,
    ensemble: Annotated[
        Path | None,
        typer.Option(help="Folder of a trained ensemble of reproduce figure3.", file_okay=False),
    ] = None,
    datasets: Annotated[
        str,
        typer.Option(help="Datasets for forests: names separated by commas, 'all' or 'small'."),
    ] = "",
    data: _options.KeelFolder = None,
    splits: Annotated[int, typer.Option(min=1, help="Splits per dataset.")] = 3,
    members: _options.Forests = 10,
    equal: Annotated[
        bool, typer.Option("--equal", help="Also train forests with equal hyperparameters.")
    ] = False,
    tasks: Annotated[
        bool,
        typer.Option(
            "--tasks", help="Include out-of-distribution detection and active learning (digits)."
        ),
    ] = False,
    out: Annotated[
        Path, folder_option("Folder for the page and the results of the finished splits.")
    ] = Path("credalens-scores"),
    store: _options.Store = None,
    jobs: _options.Jobs = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of splits, forests and resamples.")] = 0,
    minutes: _options.Minutes = None,
) -> None:
    """Compare the scores of all families as rankings of errors.

    Every score is compared with total uncertainty under total variation, by paired bootstrap
    intervals. Prediction files are read as by credalens score. An interrupted run continues when
    the command is started again.
    """
    from credalens.experiments import scores as experiment
    from credalens.experiments.protocol import Config
    from credalens.experiments.scores_compare import dataset_of
    from credalens.experiments.table2 import keel

    with command_context(resumes=True):
        from joblib import cpu_count  # a dependency of scikit-learn, which the forests require

        if not (predictions or ensemble or datasets or tasks):
            raise ValueError("nothing to compare; pass --predictions, --datasets or --tasks")
        sources = keel(datasets, data) if datasets else experiment.NO_SOURCES
        named = _options.named_paths(predictions or [])
        loaded = {name: _options.load_labelled(reading, path) for name, path in named.items()}
        notes = _add_trained(loaded, ensemble) if ensemble else []
        order = experiment.pieces(sources, splits, equal, tasks)
        with progress("scores") as update:
            rows = {name: sources.sizes.get(dataset_of(name), 0) for name, _ in order}
            work = {name: _options.SPLIT_ROWS + rows[name] for name in rows}
            done, total = 0, sum(work[name] for name, _ in order)

            def advance(name: str, split: int) -> None:
                nonlocal done
                done += work[name]
                update(done, total, f"{name} {split}")

            result = experiment.run(
                loaded,
                out,
                store=store,
                sources=sources,
                splits=splits,
                equal=equal,
                tasks=tasks,
                config=Config(seed=seed, members=members, space=experiment.SPACE),
                command=_options.command_line(context),
                notes=notes,
                jobs=jobs or cpu_count(),
                minutes=minutes,
                advance=advance,
            )
    typer.echo(result.text, nl=False)
    for path in result.files:
        note(f"wrote {path}")
    if result.outcome.failures:
        raise typer.Exit(1)


def _add_trained(loaded: "dict[str, Predictions]", folder: Path) -> list[str]:
    """Add the predictions of a trained ensemble; return sentences about it."""
    from credalens.experiments.relative_likelihood import load_trained

    trained = load_trained(folder)
    name = trained.settings.dataset
    if name in loaded:
        raise ValueError(f"--predictions: {name} is the name of --ensemble; pass another name")
    loaded[name] = trained.predictions
    low, high = trained.levels[0], trained.levels[-1]
    return [
        f"{name}: networks trained by `credalens reproduce figure3`, relative likelihoods from "
        f"{low:g} to {high:g}."
    ]
