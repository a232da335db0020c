"""Monte Carlo dropout (Gal and Ghahramani 2016)."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from credalens._validation import raise_invalid, seed, whole_number
from credalens.predictors.torch.predictions import (
    NetworkPredictor,
    check_state,
    load_network,
    predict_batches,
    softmax,
)
from credalens.predictors.torch.training import evaluating, logits, seeded, to_device
from credalens.sets import ConvexHull


class MCDropout(NetworkPredictor):
    """Predictions of a trained network with active dropout; the hull of the samples.

    Only dropout layers are active: batch normalisation and all other layers are in evaluation mode.

    Parameters
    ----------
    model : nn.Module
        A trained network with dropout layers such as `nn.Dropout`; dropout inside
        `nn.MultiheadAttention` or recurrent layers stays inactive. The network is evaluated on its
        own device and not modified.
    n_samples : int, default=50
        Number of samples, the members of the hull.
    batch_size : int, default=64
        Number of instances per batch.
    random_state : int, Generator, RandomState or None, default=None
        With an int every call returns the same samples; PyTorch's global generators are restored.

    Notes
    -----
    Dropout masks differ between instances, so the samples of an instance depend on its position in
    the data and on `batch_size`.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> from credalens.predictors.torch import MCDropout
    >>> model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))
    >>> MCDropout(model, n_samples=5, random_state=0).predict_credal(torch.zeros(4, 2))
    ConvexHull(batch_shape=(4,), n_members=5, n_classes=3, dtype=float32)
    """

    def __init__(
        self, model: Any, n_samples: int = 50, *, batch_size: int = 64, random_state: Any = None
    ) -> None:
        if not isinstance(model, nn.Module):
            raise_invalid("model", f"is {type(model).__name__}", "pass a trained nn.Module")
        if not any(layer.p > 0 for layer in _dropout_layers(model)):
            raise_invalid(
                "model", "has no dropout layer with p > 0", "pass a network with nn.Dropout"
            )
        self.model = model
        self.n_samples = whole_number(n_samples, "n_samples", least=1)
        self.batch_size = whole_number(batch_size, "batch_size", least=1)
        self.random_state = random_state

    def predict_members(self, data: Any) -> Any:
        """Return the samples, a tensor ``(N, n_samples, K)`` on the CPU.

        Parameters
        ----------
        data : array-like, tensor, dict, pair (X, y), Dataset or DataLoader
            Labels are ignored. The dataset of a loader is predicted as a whole and in order.
        """
        model, first = self.model, next(self.model.parameters(), None)
        device = torch.device("cpu") if first is None else first.device

        def predict(x: Any) -> Any:
            x = to_device(x, model, device)
            samples = [softmax(logits(model, x)) for _ in range(self.n_samples)]
            return torch.stack(samples, dim=1)

        with evaluating(model), seeded(device, seed(self.random_state)):
            for layer in _dropout_layers(model):
                layer.train()
            return predict_batches(predict, data, self.batch_size)

    def _as_credal(self, members: Any) -> Any:
        return ConvexHull(members)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the network, as that of an ensemble of one."""
        return {"method": type(self).__name__, "members": [self.model.state_dict()]}

    def load_state_dict(self, state: dict[str, Any]) -> Self:
        """Load the state of the network, and return the predictor."""
        known = check_state(state, type(self).__name__, ())
        load_network(self.model, known["members"][0], "state['members'][0]")
        return self

    def __repr__(self) -> str:
        return (
            f"MCDropout({type(self.model).__name__}, n_samples={self.n_samples}, "
            f"batch_size={self.batch_size}, random_state={self.random_state!r})"
        )


def _dropout_layers(model: Any) -> list[Any]:
    return [layer for layer in model.modules() if isinstance(layer, _DropoutNd)]
