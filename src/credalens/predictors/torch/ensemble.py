"""What ensembles of networks share: how they are set up, trained in turn and asked."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import torch
from sklearn.exceptions import NotFittedError

from credalens._validation import positive, refuse, seed, whole_number
from credalens.predictors.torch.checkpoints import Checkpoints
from credalens.predictors.torch.data import Data, as_data
from credalens.predictors.torch.training import (
    Trainer,
    as_device,
    build,
    logits,
    placed,
    seeded,
)
from credalens.sets import ConvexHull


class Ensemble(ABC):
    """Networks that are trained one after the other.

    A subclass says in `_train` what is trained, in `_settings` what of its own parameters the
    result depends on, and in `_ask` what the members say about a batch.
    """

    #: The trained networks.
    members_: list[Any]

    def __init__(
        self,
        model_factory: Callable[[], Any],
        *,
        epochs: int,
        batch_size: int,
        learning_rate: float,
        optimizer: Callable[[Any], Any] | None,
        device: Any,
        random_state: Any,
        checkpoint: Any,
        progress: bool | None,
    ) -> None:
        if not callable(model_factory) or isinstance(model_factory, torch.nn.Module):
            refuse("model_factory", f"is {type(model_factory).__name__}",
                   "pass a function without arguments that returns a fresh nn.Module")  # fmt: skip
        if optimizer is not None and not callable(optimizer):
            refuse("optimizer", f"is {optimizer!r}",
                   "pass a function of the parameters, such as torch.optim.Adam")  # fmt: skip
        self.model_factory = model_factory
        self.epochs = whole_number(epochs, "epochs", least=1)
        self.batch_size = whole_number(batch_size, "batch_size", least=1)
        self.learning_rate = positive(learning_rate, "learning_rate")
        self.optimizer = optimizer
        self.device = device
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.progress = progress

    def fit(self, data: Any) -> Self:
        """Train the members.

        Parameters
        ----------
        data : DataLoader, Dataset or pair (X, y)
            Instances with class indices ``0 .. K - 1``. Arrays and tensors are fastest as a pair. A
            loader is gone through as it is, but its generators are seeded before each epoch.

        Returns
        -------
        self
        """
        device, drawn = as_device(self.device), seed(self.random_state)
        training = as_data(data, self.batch_size, labels=True)
        settings = {} if self.checkpoint is None else self._fingerprint(training, device, drawn)
        checkpoints = Checkpoints(self.checkpoint, settings, drawn)
        with bar(self.progress, type(self).__name__, self._total_epochs()) as tell:
            trainer = Trainer(
                factory=self.model_factory,
                data=training,
                device=device,
                seed=checkpoints.seed,
                optimizer=self._optimizer,
                checkpoints=checkpoints,
                tell=tell,
            )
            self._train(trainer)
        return self

    def _fingerprint(self, data: Data, device: Any, drawn: int) -> dict[str, Any]:
        """Return all that the result depends on and that can be told from outside."""
        # The same for every seed, also where the data are augmented at random.
        with seeded(device, 0):
            model, checksum = build(self.model_factory, data, device), data.fingerprint()
        optimizer = self._optimizer(list(model.parameters()))
        return {
            "method": type(self).__name__,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "optimizer": f"{type(optimizer).__name__} {optimizer.defaults}",
            "random_state": None if self.random_state is None else drawn,
            "data": checksum,
            "model": str(model),
            "shapes": {name: list(value.shape) for name, value in model.state_dict().items()},
            **self._settings(),
        }

    def _optimizer(self, parameters: Any) -> Any:
        if self.optimizer is None:
            return torch.optim.Adam(parameters, lr=self.learning_rate)
        return self.optimizer(parameters)

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """Return what the result depends on besides the parameters that all ensembles have."""

    @abstractmethod
    def _total_epochs(self) -> int:
        """Return how many epochs all members take at most."""

    @abstractmethod
    def _train(self, trainer: Trainer) -> None:
        """Train the members and keep them in `members_`."""

    def _fitted(self) -> None:
        if not hasattr(self, "members_"):
            raise NotFittedError(f"{type(self).__name__}: is not fitted; call fit first")
        for model in self.members_:
            model.eval()

    def predict_members(self, data: Any) -> Any:
        """Return the probabilities of all members.

        Parameters
        ----------
        data : array-like, tensor, pair (X, y), Dataset or DataLoader
            Labels are not looked at. A loader's dataset is predicted whole and in its own order.

        Returns
        -------
        tensor of shape (N, M, K)
            On the CPU, whatever `device` is.
        """
        self._fitted()
        return asked(self._ask, as_data(data, self.batch_size, labels=False))

    def _ask(self, x: Any) -> Any:
        """Return what all members say about a batch, ``(n, M, K)``."""
        device = as_device(self.device)
        return torch.stack([softmax(logits(m, placed(x, m, device))) for m in self.members_], dim=1)

    def predict_credal(self, data: Any) -> Any:
        """Return the convex hulls of the members' predictions; `data` as in `predict_members`."""
        return ConvexHull(self.predict_members(data))


def asked(ask: Callable[[Any], Any], data: Data) -> Any:
    """Return ``ask(x)`` of all batches as one tensor on the CPU, with one pass over the data."""
    with torch.no_grad():
        return torch.cat([ask(x).cpu() for x, _ in data.in_order()])


def softmax(outputs: Any) -> Any:
    """Return probabilities, in float32 at least."""
    return torch.softmax(outputs, -1, torch.promote_types(outputs.dtype, torch.float32))


@contextmanager
def bar(progress: bool | None, what: str, total: int) -> Iterator[Callable[[str, int, int], None]]:
    """Show the epochs done and the time left; by default on a terminal only.

    Gives a function to be called with the member's name, its epochs done and its epochs at most.
    """
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield lambda name, done, most: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=total)
        before = 0

        def tell(name: str, done: int, most: int) -> None:
            nonlocal before
            shown.update(task, completed=before + done, description=name)
            before += most if done == most else 0

        yield tell
