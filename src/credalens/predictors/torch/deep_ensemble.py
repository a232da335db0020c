"""Networks that differ by their seeds (Lakshminarayanan et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from credalens._validation import whole_number
from credalens.predictors.torch.ensemble import Ensemble
from credalens.predictors.torch.training import Task, Trainer, cross_entropy


class DeepEnsemble(Ensemble):
    """Networks trained on the same data from different beginnings; the hull of what they say.

    Parameters
    ----------
    model_factory : callable
        ``model_factory()`` returns a fresh `nn.Module` that gives logits ``(n, K)``.
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
        self,
        model_factory: Callable[[], Any],
        n_members: int = 10,
        *,
        epochs: int = 20,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        optimizer: Callable[[Any], Any] | None = None,
        device: Any = None,
        random_state: Any = None,
        checkpoint: Any = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(
            model_factory,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            optimizer=optimizer,
            device=device,
            random_state=random_state,
            checkpoint=checkpoint,
            progress=progress,
        )
        self.n_members = whole_number(n_members, "n_members", least=1)

    def _settings(self) -> dict[str, Any]:
        # Members do not depend on how many there are: a run can be continued with more.
        return {}

    def _total_epochs(self) -> int:
        return self.n_members * self.epochs

    def _train(self, trainer: Trainer) -> None:
        tasks = (self._task(i, len(trainer.data)) for i in range(self.n_members))
        self.members_ = [trainer.train(task).model for task in tasks]

    def _task(self, index: int, n_instances: int) -> Task:
        return Task(index, f"member {index}", self.epochs, cross_entropy)
