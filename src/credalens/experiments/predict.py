"""Predictions of pre-trained networks, in the format that ``reproduce figure2`` reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._extras import require
from credalens._files import atomic_write


def batched(images: Iterable[Any], size: int) -> Iterator[Array]:
    """Yield arrays of at most `size` images."""
    _validation.whole_number(size, "batch_size", least=1)
    iterator = iter(images)
    while chunk := list(islice(iterator, size)):
        yield np.stack([np.asarray(image) for image in chunk])


def predict_logits(
    model: Any,
    images: Iterable[Any],
    *,
    batch_size: int = 256,
    to_input: Callable[[Array], Any] = lambda batch: batch,
    advance: Callable[[int], None] = lambda n: None,
) -> Array:
    """Return the output ``(n, K)`` of a model, such as a PyTorch module, for images.

    The images, arrays of equal shape, are read once, one batch at a time. `to_input` converts an
    array to the input of the model, such as `torch.from_numpy`. `advance` is called with the number
    of images of each finished batch.
    """
    if hasattr(model, "eval"):
        model.eval()
    outputs = []
    for batch in batched(images, batch_size):
        output = model(to_input(batch))
        for step in ("detach", "cpu", "numpy"):
            output = getattr(output, step)() if hasattr(output, step) else output
        rows = np.asarray(output)
        if rows.ndim != 2 or len(rows) != len(batch):
            _validation.raise_invalid(
                "model",
                f"returned shape {rows.shape} for {len(batch)} images",
                "it must return (images, classes)",
            )
        outputs.append(rows)
        advance(len(batch))
    if not outputs:
        _validation.raise_invalid("images", "is empty", "pass at least one image")
    return np.concatenate(outputs)


def write_predictions(
    folder: Path,
    models: Mapping[str, Callable[[], Any]],
    images: Any,
    labels: Array,
    **options: Any,
) -> list[Path]:
    """Write ``NAME.npz`` with ``logits`` and ``labels`` for each model that has no file yet.

    `models` maps names to functions that load a model, called one after the other. `images` is
    iterated over once per model. Further options are those of `predict_logits`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.npz" for name in models]
    for path, load in zip(paths, models.values(), strict=True):
        if path.exists():
            continue
        logits = predict_logits(load(), images, **options)
        if len(logits) != len(labels):
            _validation.raise_invalid(
                "labels", f"has {len(labels)} entries", f"pass {len(logits)}, one per image"
            )
        with atomic_write(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, logits=logits.astype(np.float32), labels=labels)
    return paths


def predict_cifar(
    dataset: str,
    out: Path,
    models: Iterable[str],
    *,
    cache: Path,
    advance: Callable[[int], None] = lambda n: None,
) -> list[Path]:
    """Download the test images and the networks, and write one prediction file per network.

    Needs PyTorch, and an internet connection unless everything is in `cache`. Images, the code of
    the networks and their weights are verified by their SHA-256.
    """
    from credalens.datasets.cifar import load_cifar
    from credalens.experiments.networks_hub import load_network

    torch = require("torch", "torch")
    images, labels = load_cifar(dataset, cache)

    def loader(name: str) -> Callable[[], Any]:
        return lambda: load_network(f"{dataset}_{name}", cache)

    with torch.inference_mode():
        return write_predictions(
            out,
            {name: loader(name) for name in models},
            images,
            labels,
            to_input=torch.from_numpy,
            advance=advance,
        )
