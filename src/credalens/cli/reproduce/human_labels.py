"""``credalens reproduce human-labels``."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context, note
from credalens.cli.options import folder_option
from credalens.cli.reading import ReadingOptions
from credalens.cli.reproduce import _options
from credalens.experiments.human_labels import NAME

EXAMPLES = (
    "Example: credalens reproduce human-labels --predictions cifar10/ --annotators cifar10h.npz"
)


def command(
    context: typer.Context,
    reading: ReadingOptions,
    predictions: Annotated[
        str,
        typer.Option(
            help="Folder with one file per network, a file with all, or a quoted pattern."
        ),
    ],
    annotators: Annotated[
        Path,
        typer.Option(
            help="Counts of the annotators' answers, (images, classes), .npy or .npz with the "
            "array counts."
        ),
    ],
    out: Annotated[Path, folder_option("Folder for figure and tables.")] = Path(
        f"credalens-{NAME}"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the halves and of the draws.")] = 0,
) -> None:
    """Compare the aleatoric interval of an ensemble with the disagreement of annotators.

    Whether the interval contains the annotators' risk, 1 minus the relative frequency of their most
    frequent answer, compared with single networks, before and after temperature scaling.
    """
    import numpy as np

    from credalens._files import check_folder
    from credalens.experiments import human_labels as experiment
    from credalens.io.opening import load

    with command_context():
        check_folder(out)
        ensemble = reading.open_files([predictions])
        loaded = load(ensemble, reading.skip)
        for text in ensemble.notes:
            note(f"credalens: {text}")
        archive = np.load(annotators)
        if not isinstance(archive, np.ndarray):
            if "counts" not in archive:
                raise ValueError(f"{annotators}: has no array counts; save it under this name")
            archive = archive["counts"]
        text = experiment.run(
            loaded, archive, out, seed=seed, command=_options.command_line(context)
        )
    typer.echo(text)
    typer.echo(f"wrote {out}/{NAME}.png, .pdf, .csv and .md", err=True)
