"""``credalens predict``: predictions of pre-trained networks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context, exit_with_error, note, progress
from credalens.cli.commands import SETTINGS
from credalens.cli.options import folder_option

app = typer.Typer(
    help="Write the predictions of pre-trained networks.",
    no_args_is_help=True,
    add_completion=False,
    **SETTINGS,
)
TEN_NETWORKS = (
    "resnet20,resnet32,resnet44,resnet56,vgg11_bn,vgg16_bn,mobilenetv2_x1_0,shufflenetv2_x1_0,"
    "repvgg_a0,repvgg_a1"
)


def _command(dataset: str) -> Callable[..., None]:
    def run(
        models: Annotated[
            str,
            typer.Option(help="Networks of chenyaofo/pytorch-cifar-models, separated by commas."),
        ] = TEN_NETWORKS,
        out: Annotated[Path, folder_option("Folder for the predictions.")] = Path(dataset),
        cache: Annotated[
            Path, typer.Option(help="Folder for downloaded images.", file_okay=False)
        ] = Path("~/.cache/credalens"),
    ) -> None:
        from credalens.experiments.predict import predict_cifar

        names = [name.strip() for name in models.split(",") if name.strip()]
        with command_context(), progress(dataset) as update:
            done = 0

            def advance(n: int) -> None:
                nonlocal done
                done += n
                update(done, 10_000 * len(names))

            try:
                paths = predict_cifar(
                    dataset, out, names, cache=cache.expanduser(), advance=advance
                )
            except (OSError, ValueError, RuntimeError) as error:
                # A failed download may print several lines.
                reason = (str(error).splitlines() or [type(error).__name__])[0]
                exit_with_error(f"{reason}; images and networks are downloaded from the internet")
        for path in paths:
            note(f"wrote {path}")

    return run


for _dataset in ("cifar10", "cifar100"):
    app.command(
        _dataset,
        epilog=f"Example: credalens predict {_dataset} --models resnet20,vgg16_bn",
        help="Write the predictions of pre-trained networks for the "
        f"{_dataset.replace('cifar', 'CIFAR-')} test images (needs PyTorch and the internet).",
    )(_command(_dataset))
