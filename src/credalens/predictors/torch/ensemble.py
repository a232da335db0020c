"""Ensembles of networks: the base class, and deep ensembles (Lakshminarayanan et al. 2017)."""

from __future__ import annotations

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import torch
from sklearn.exceptions import NotFittedError

from credalens._extras import require
from credalens._validation import positive, raise_invalid, seed, whole_number
from credalens.predictors.torch.checkpoints import Checkpoints
from credalens.predictors.torch.data import Data, as_data
from credalens.predictors.torch.predictions import (
    NetworkPredictor,
    check_state,
    load_network,
    predict_batches,
    softmax,
)
from credalens.predictors.torch.training import (
    Task,
    Trainer,
    as_device,
    build,
    cross_entropy,
    logits,
    seeded,
    to_device,
)
from credalens.sets import ConvexHull


@dataclass(eq=False, repr=False)
class Ensemble(NetworkPredictor, ABC):
    """Networks that are trained one after the other.

    Parameters are documented in `RelativeLikelihoodEnsemble`. Subclasses implement `_train`,
    `_settings` and `_total_epochs`, and may override `_predict_batch`, `_as_credal` and `_prepare`.
    """

    #: The attributes that `fit` sets besides `members_`.
    _fitted_attributes: ClassVar[tuple[str, ...]] = ()

    model_factory: Callable[[], Any]
    _: KW_ONLY
    epochs: int = 20
    batch_size: int = 64
    learning_rate: float = 1e-3
    optimizer: Callable[[Any], Any] | None = None
    device: Any = None
    random_state: Any = None
    checkpoint: Any = None
    progress: bool | None = None
    #: The trained networks.
    members_: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        factory, optimizer = self.model_factory, self.optimizer
        if not callable(factory) or isinstance(factory, torch.nn.Module):
            raise_invalid(
                "model_factory",
                f"is {type(factory).__name__}",
                "pass a function without arguments that returns a new nn.Module",
            )
        if optimizer is not None and not callable(optimizer):
            raise_invalid(
                "optimizer",
                f"is {optimizer!r}",
                "pass a function of the parameters, such as torch.optim.Adam",
            )
        self.epochs = whole_number(self.epochs, "epochs", least=1)
        self.batch_size = whole_number(self.batch_size, "batch_size", least=1)
        self.learning_rate = positive(self.learning_rate, "learning_rate")

    def fit(self, data: Any) -> Self:
        """Train the members.

        Parameters
        ----------
        data : DataLoader, Dataset, pair (X, y) or dict
            Instances with class indices ``0 .. K - 1``. A pair of arrays or tensors is fastest. A
            loader is iterated over unchanged, but its generators are seeded before each epoch.

            Inputs may be a dict of arrays, which the networks receive as keyword arguments, such as
            ``input_ids`` and ``attention_mask``; a dict may have the labels among them, with the
            key ``labels`` or ``label``. Networks return logits, or an object with ``logits``.

        Returns
        -------
        self
        """
        device, drawn = as_device(self.device), seed(self.random_state)
        training = as_data(data, self.batch_size, labels=True)
        settings = {} if self.checkpoint is None else self._fingerprint(training, device, drawn)
        checkpoints = Checkpoints(self.checkpoint, settings, drawn)
        with progress_bar(self.progress, type(self).__name__, self._total_epochs()) as report:
            trainer = Trainer(
                factory=self.model_factory,
                data=training,
                device=device,
                seed=checkpoints.seed,
                optimizer=self._optimizer,
                checkpoints=checkpoints,
                report_progress=report,
            )
            self._train(trainer)
        return self

    def _fingerprint(self, data: Data, device: Any, drawn: int) -> dict[str, Any]:
        """Return everything that the result depends on, as far as it can be compared."""
        # A fixed seed, since data may be augmented at random.
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
        """Return the parameters of the subclass that the result depends on."""

    @abstractmethod
    def _total_epochs(self) -> int:
        """Return the largest number of epochs of all members together."""

    @abstractmethod
    def _train(self, trainer: Trainer) -> None:
        """Train the members and set `members_`."""

    def predict_members(self, data: Any) -> Any:
        """Return the predictions of all members.

        Parameters
        ----------
        data : array-like, tensor, dict, pair (X, y), Dataset or DataLoader
            Labels are ignored. The dataset of a loader is predicted as a whole and in order.

        Returns
        -------
        tensor of shape (N, M, K)
            On the CPU, independent of `device`.
        """
        self._check_fitted()
        for model in self.members_:
            model.eval()
        return predict_batches(self._predict_batch, data, self.batch_size)

    def _check_fitted(self) -> None:
        if not hasattr(self, "members_"):
            raise NotFittedError(f"{type(self).__name__}: is not fitted; call fit first")

    def _predict_batch(self, x: Any) -> Any:
        """Return the predictions of all members for a batch, ``(n, M, K)``."""
        return torch.stack([softmax(logits(*pair)) for pair in self._inputs(x)], dim=1)

    def _inputs(self, x: Any) -> Iterator[tuple[Any, Any]]:
        """Yield each member with the batch on its device and in its dtype."""
        device = as_device(self.device)
        return ((model, to_device(x, model, device)) for model in self.members_)

    def _as_credal(self, members: Any) -> Any:
        return ConvexHull(members)

    def state_dict(self) -> dict[str, Any]:
        """Return the trained networks and what else predictions depend on.

        Returns
        -------
        dict
            Of tensors, numbers and text, so that ``torch.save(state, path)`` and
            ``torch.load(path, weights_only=True)`` store it without pickled code.
        """
        self._check_fitted()
        return {
            "method": type(self).__name__,
            "members": [model.state_dict() for model in self.members_],
            "attributes": self._attributes(),
        }

    def _attributes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fitted_attributes}

    def _restore(self, attributes: dict[str, Any]) -> None:
        for name in self._fitted_attributes:
            setattr(self, name, attributes[name])

    def load_state_dict(self, state: dict[str, Any]) -> Self:
        """Create the networks by `model_factory` and load their states, instead of `fit`.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.

        Returns
        -------
        self
        """
        known = check_state(state, type(self).__name__, self._fitted_attributes)
        device, members = as_device(self.device), []
        for index, own in enumerate(known["members"]):
            with seeded(device, 0):  # the initial weights are replaced
                model = self._prepare(self.model_factory())
            load_network(model, own, f"state['members'][{index}]")
            members.append(model.to(device).eval())
        self._restore(known["attributes"])
        self.members_ = members
        return self

    def _prepare(self, model: Any) -> Any:
        """Return a network of `model_factory` as it is trained."""
        return model

    def __repr__(self) -> str:
        known: dict[str, inspect.Parameter] = {}
        for init in (type(self).__init__, Ensemble.__init__):
            known = {**known, **inspect.signature(init).parameters}
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, parameter in known.items()
            if parameter.default not in (inspect.Parameter.empty, getattr(self, name, None))
        ]
        state = f"{len(self.members_)} members" if hasattr(self, "members_") else "not fitted"
        return f"{type(self).__name__}({', '.join([*changed, state])})"


class DeepEnsemble(Ensemble):
    """Networks trained on the same data from different initial weights.

    The credal set is the convex hull of their predictions.

    Parameters
    ----------
    model_factory : callable
        ``model_factory()`` returns a new `nn.Module` whose outputs are logits ``(n, K)``.
    n_members : int, default=10
        Number of networks.
    epochs, batch_size, learning_rate, optimizer, device, random_state, checkpoint, progress
        As in `RelativeLikelihoodEnsemble`.

    Attributes
    ----------
    members_ : list of nn.Module
        The trained networks.

    Examples
    --------
    >>> import torch
    >>> from credalens.predictors.torch import DeepEnsemble
    >>> X = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    >>> y = (X[:, 0] > 0).long()
    >>> ensemble = DeepEnsemble(lambda: torch.nn.Linear(2, 2), 3, epochs=2, random_state=0)
    >>> ensemble.fit((X, y)).predict_credal(X[:4])
    ConvexHull(batch_shape=(4,), n_members=3, n_classes=2, dtype=float32)
    """

    def __init__(
        self, model_factory: Callable[[], Any], n_members: int = 10, **settings: Any
    ) -> None:
        super().__init__(model_factory, **settings)
        self.n_members = whole_number(n_members, "n_members", least=1)

    def _settings(self) -> dict[str, Any]:
        # Without n_members, so that a run can be continued with more members.
        return {}

    def _total_epochs(self) -> int:
        return self.n_members * self.epochs

    def _train(self, trainer: Trainer) -> None:
        tasks = (self._task(i, len(trainer.data)) for i in range(self.n_members))
        self.members_ = [trainer.train(task)[0] for task in tasks]

    def _task(self, index: int, n_instances: int) -> Task:
        return Task(index, f"member {index}", self.epochs, cross_entropy)


@contextmanager
def progress_bar(
    progress: bool | None, title: str, total: int
) -> Iterator[Callable[[str, int, int], None]]:
    """Show completed epochs and the remaining time; by default on a terminal, if rich is installed.

    Yields a function of a member's name, its completed epochs and its largest number of epochs.
    """
    if progress is None:
        progress = sys.stderr.isatty() and find_spec("rich") is not None
    if not progress:
        yield lambda name, done, most: None
        return
    rich = require("rich.progress", "cli")
    with rich.Progress(console=rich.Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        before = 0

        def report(name: str, done: int, most: int) -> None:
            nonlocal before
            bar.update(task, completed=before + done, description=name)
            before += most if done == most else 0

        yield report
