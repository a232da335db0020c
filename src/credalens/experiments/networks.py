"""Image classifiers of Figures 3 and 4: a small network, or one that the user selects."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from credalens import _validation

#: The default network.
SMALL = "credalens.experiments.networks:small"


def small(shape: Sequence[int], classes: int) -> Any:
    """Return a network with two strided convolutions and one hidden layer.

    Strides instead of pooling reduce the time of an epoch to a third. The likelihood on all
    training images is computed often, so speed is more important than the highest accuracy.
    It maps images ``(n, colours, height, width)`` to logits ``(n, classes)``.
    """
    from torch import nn

    colours, height, width = shape
    quarter = -(-height // 4) * -(-width // 4)
    return nn.Sequential(
        nn.Conv2d(colours, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * quarter, 64),
        nn.ReLU(),
        nn.Linear(64, classes),
    )


def load_factory(backbone: str) -> Callable[[Sequence[int], int], Any]:
    """Import the function ``MODULE:FACTORY``; the current folder is searched first."""
    module, colon, name = backbone.partition(":")
    if not (module and colon and name):
        _validation.raise_invalid("backbone", f"is {backbone!r}", "pass MODULE:FACTORY")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module exists, but one of its own imports does not
        _validation.raise_invalid(
            "backbone", f"module {module} does not exist", "pass MODULE:FACTORY"
        )
    finally:
        sys.path.remove(here)
    factory = getattr(imported, name, None)
    if not callable(factory):
        _validation.raise_invalid(
            "backbone",
            f"{module} has no function {name}",
            "pass one that takes (colours, height, width) and the number of classes",
        )
    return factory  # type: ignore[no-any-return]


def with_standardized_input(network: Any, mean: Sequence[float], spread: Sequence[float]) -> Any:
    """Return a network for images of bytes, which scales each colour to mean 0 and deviation 1.

    Images stay bytes in memory, a quarter of the size of floats.
    """
    import torch
    from torch import nn

    class Standardize(nn.Module):  # type: ignore[misc]
        """Scales each colour."""

        def __init__(self) -> None:
            super().__init__()
            for name, values in (("mean", mean), ("spread", spread)):
                column = torch.tensor(values, dtype=torch.float32)[:, None, None]
                self.register_buffer(name, column)

        def forward(self, x: Any) -> Any:
            return (x.to(self.mean.dtype) - self.mean) / self.spread

    return nn.Sequential(Standardize(), network)
