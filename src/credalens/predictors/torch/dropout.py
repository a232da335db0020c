"""Dropout that stays on when a network is asked (Gal and Ghahramani 2016)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from credalens._validation import refuse, seed, whole_number
from credalens.predictors.torch.data import as_data
from credalens.predictors.torch.ensemble import asked, softmax
from credalens.predictors.torch.training import evaluating, logits, placed, seeded
from credalens.sets import ConvexHull


class MCDropout:
    """Predictions of a trained network with random units dropped; the hull of the samples.

    Only dropout layers draw: batch normalisation and all else stay in evaluation mode.

    Parameters
    ----------
    model : nn.Module
        A trained network with dropout layers (`nn.Dropout` and its kin; dropout inside
        `nn.MultiheadAttention` or recurrent layers is no layer of its own and stays off). It is
        asked on the device where it is, and left as it was.
    n_samples : int, default=50
        Number of samples, each a member of the hull.
    batch_size : int, default=64
        Instances asked at once.
    random_state : int, Generator, RandomState or None, default=None
        An int gives the same samples in every call; PyTorch's global generators are left alone.

    Notes
    -----
    Units are dropped anew for each instance, as the layers do, so that the samples of an instance
    depend on its place in the data and on `batch_size`.

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
            refuse("model", f"is {type(model).__name__}", "pass a trained nn.Module")
        if not any(layer.p > 0 for layer in _dropouts(model)):
            refuse("model", "has no dropout layer with p > 0", "pass a network with nn.Dropout")
        self.model = model
        self.n_samples = whole_number(n_samples, "n_samples", least=1)
        self.batch_size = whole_number(batch_size, "batch_size", least=1)
        self.random_state = random_state

    def predict_members(self, data: Any) -> Any:
        """Return the samples, a tensor ``(N, n_samples, K)`` on the CPU.

        Parameters
        ----------
        data : array-like, tensor, pair (X, y), Dataset or DataLoader
            Labels are not looked at. A loader's dataset is predicted whole and in its own order.
        """
        model, first = self.model, next(self.model.parameters(), None)
        device = torch.device("cpu") if first is None else first.device

        def ask(x: Any) -> Any:
            x = placed(x, model, device)
            samples = [softmax(logits(model, x)) for _ in range(self.n_samples)]
            return torch.stack(samples, dim=1)

        with evaluating(model), seeded(device, seed(self.random_state)):
            for layer in _dropouts(model):
                layer.train()
            return asked(ask, as_data(data, self.batch_size, labels=False))

    def predict_credal(self, data: Any) -> Any:
        """Return the convex hulls of the samples; `data` as in `predict_members`."""
        return ConvexHull(self.predict_members(data))


def _dropouts(model: Any) -> list[Any]:
    return [layer for layer in model.modules() if isinstance(layer, _DropoutNd)]
