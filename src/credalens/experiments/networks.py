"""Networks for images: the small one of Figures 3 and 4, and whatever a user brings."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from credalens import _validation

#: The network that is trained unless another is asked for.
SMALL = "credalens.experiments.networks:small"


def small(shape: Sequence[int], classes: int) -> Any:
    """Return two strided convolutions and one hidden layer.

    Strides in place of pooling: an epoch takes a third of the time. As the likelihood on all
    training images is looked at often, a network that is quick to evaluate counts for more than
    the last point of accuracy.

    Parameters
    ----------
    shape : (colours, height, width)
        Of an image.
    classes : int

    Returns
    -------
    torch.nn.Module
        Takes ``(n, colours, height, width)``, gives logits ``(n, classes)``.
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


def find_factory(backbone: str) -> Callable[[Sequence[int], int], Any]:
    """Return the function that ``MODULE:FACTORY`` names.

    The current folder is looked through as well, as with ``python -m``.

    Examples
    --------
    >>> from credalens.experiments.networks import find_factory, small
    >>> find_factory("credalens.experiments.networks:small") is small
    True
    """
    module, colon, name = backbone.partition(":")
    if not (module and colon and name):
        _validation.refuse("backbone", f"is {backbone!r}", "pass MODULE:FACTORY")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there; something that it needs is not
        _validation.refuse("backbone", f"there is no module {module}", "pass MODULE:FACTORY")
    finally:
        sys.path.remove(here)
    factory = getattr(found, name, None)
    if not callable(factory):
        _validation.refuse(
            "backbone",
            f"{module} has no function {name}",
            "name one that takes (colours, height, width) and the number of classes",
        )
    return factory  # type: ignore[no-any-return]


def standardized(network: Any, mean: Sequence[float], spread: Sequence[float]) -> Any:
    """Return a network that takes bytes: each colour is scaled to mean 0 and deviation 1 first.

    Images stay bytes in memory, a quarter of what floats would take.
    """
    import torch
    from torch import nn

    class Standardize(nn.Module):  # type: ignore[misc]
        """Bytes to numbers of mean 0 and deviation 1."""

        def __init__(self) -> None:
            super().__init__()
            for name, values in (("mean", mean), ("spread", spread)):
                column = torch.tensor(values, dtype=torch.float32)[:, None, None]
                self.register_buffer(name, column)

        def forward(self, x: Any) -> Any:
            return (x.to(self.mean.dtype) - self.mean) / self.spread

    return nn.Sequential(Standardize(), network)
