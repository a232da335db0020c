"""``credalens predict``: what pre-trained networks say of images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from credalens.experiments.commands._running import progress, refuse

predict = typer.Typer(
    help="Write the predictions of pre-trained networks.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _predict(dataset: str, models: str, out: Path, cache: Path) -> None:
    from credalens.experiments import predict as experiment

    names = [name.strip() for name in models.split(",") if name.strip()]
    try:
        with progress(10_000 * len(names), dataset) as advance:
            paths = experiment.predict_cifar(
                dataset, out, names, cache=cache.expanduser(), advance=lambda n: advance(n, dataset)
            )
    except ModuleNotFoundError as error:
        refuse(error)
    except (OSError, ValueError, RuntimeError) as error:
        # One line, whatever a failed download prints.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        refuse(f"{reason}; fetching images and networks needs the internet")
    for path in paths:
        typer.echo(f"wrote {path}", err=True)


_Models = Annotated[
    str, typer.Option(help="Networks of chenyaofo/pytorch-cifar-models, separated by commas.")
]
_Cache = Annotated[Path, typer.Option(help="Where fetched images are kept.", file_okay=False)]
_Out = Annotated[
    Path,
    typer.Option("--output", "-o", "--out", help="Folder for the predictions.", file_okay=False),
]
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
