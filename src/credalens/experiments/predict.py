"""Predictions of pre-trained networks, written as the folder that ``reproduce figure2`` reads."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens._files import replacing

#: Where the paper's networks are, as `torch.hub` spells it.
HUB = "chenyaofo/pytorch-cifar-models"


def batched(images: Iterable[Any], size: int) -> Iterator[Array]:
    """Yield arrays of at most `size` images.

    Examples
    --------
    >>> from credalens.experiments.predict import batched
    >>> [batch.tolist() for batch in batched([1, 2, 3], 2)]
    [[1, 2], [3]]
    """
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
    """Return what a model says of images, ``(n, K)``.

    Parameters
    ----------
    model : callable
        Takes a batch, returns ``(batch, K)``: a PyTorch module, or anything like one. Its ``eval``
        is called if it has one.
    images : iterable
        Arrays of one shape; read once, a batch at a time.
    batch_size : int, default=256
    to_input : callable
        Makes of an array what the model takes, such as `torch.from_numpy`.
    advance : callable
        Told the number of images of each finished batch.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.experiments.predict import predict_logits
    >>> predict_logits(lambda x: x @ np.eye(2), [[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.],
           [3., 4.]])
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
            _validation.refuse(
                "model",
                f"returned shape {rows.shape} for {len(batch)} images",
                "it must return (images, classes)",
            )
        outputs.append(rows)
        advance(len(batch))
    if not outputs:
        _validation.refuse("images", "are none", "pass at least one")
    return np.concatenate(outputs)


def write_predictions(
    folder: Path,
    models: Mapping[str, Callable[[], Any]],
    images: Any,
    labels: Array,
    **options: Any,
) -> list[Path]:
    """Write ``NAME.npz`` with ``logits`` and ``labels`` for each model that has no file yet.

    `models` maps names to functions that load the model, called one after the other. `images` is
    iterated over once for each. Further options go to `predict_logits`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, load in models.items():
        path = folder / f"{name}.npz"
        paths.append(path)
        if path.exists():
            continue
        logits = predict_logits(load(), images, **options)
        if len(logits) != len(labels):
            _validation.refuse("labels", f"are {len(labels)}", f"pass {len(logits)}, one per image")
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, logits=logits.astype(np.float32), labels=labels)
    return paths


class NeedsTorchError(ModuleNotFoundError):
    """PyTorch is not installed."""


def predict_cifar(
    dataset: str,
    out: Path,
    models: Iterable[str],
    *,
    cache: Path,
    advance: Callable[[int], None] = lambda n: None,
) -> list[Path]:
    """Fetch the test images and the networks, and write one prediction file per network.

    Needs PyTorch, and the internet for what is not in the caches yet.
    """
    from credalens.datasets.cifar import load_cifar

    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise NeedsTorchError("predict needs PyTorch: pip install 'credalens[torch]'") from error
    images, labels = load_cifar(dataset, cache)

    def loader(name: str) -> Callable[[], Any]:
        return lambda: torch.hub.load(HUB, f"{dataset}_{name}", pretrained=True, trust_repo=True)

    with torch.inference_mode():
        return write_predictions(
            out,
            {name: loader(name) for name in models},
            images,
            labels,
            to_input=torch.from_numpy,
            advance=advance,
        )
