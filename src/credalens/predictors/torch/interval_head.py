"""Networks with lower and upper probabilities of each class (Wang et al. 2024)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn

from credalens._validation import whole_number
from credalens.evaluation.arguments import fraction
from credalens.predictors.torch.ensemble import DeepEnsemble
from credalens.predictors.torch.training import Task, logits
from credalens.sets import ProbabilityIntervals


class IntervalHead(nn.Module):  # type: ignore[misc]
    r"""A last layer with an interval of logits for each class.

    A linear layer returns a centre c and a half-width h >= 0 (softplus) for each class. The
    interval softmax combines each end of a class with the centres of the other classes:

    .. math:: l_k = \frac{e^{c_k - h_k}}{e^{c_k - h_k} + \sum_{j \ne k} e^{c_j}}, \qquad
              u_k = \frac{e^{c_k + h_k}}{e^{c_k + h_k} + \sum_{j \ne k} e^{c_j}}

    With ``z_k = c_k - log sum_{j != k} exp c_j`` these are ``sigmoid(z - h)`` and
    ``sigmoid(z + h)``. The layer returns these two logits; `interval_bounds` converts them to
    probabilities, and `interval_loss` is their loss.

    Parameters
    ----------
    in_features : int
        Number of input features.
    n_classes : int
        At least 2.

    Examples
    --------
    >>> import torch
    >>> from credalens.predictors.torch import IntervalHead, interval_bounds
    >>> logits = IntervalHead(8, 3)(torch.zeros(5, 8))
    >>> logits.shape
    torch.Size([5, 2, 3])
    >>> lower, upper = interval_bounds(logits)
    >>> bool((lower <= upper).all()), bool((lower.sum(-1) <= 1).all())
    (True, True)
    """

    def __init__(self, in_features: int, n_classes: int) -> None:
        super().__init__()
        self.n_classes = whole_number(n_classes, "n_classes", least=2)
        self.linear = nn.Linear(in_features, 2 * self.n_classes)

    def forward(self, x: Any) -> Any:
        """Return the logits of the lower and the upper bounds, ``(n, 2, K)``, of ``(n, F)``."""
        centre, width = self.linear(x).split(self.n_classes, dim=-1)
        against = centre - _log_sum_of_others(centre)
        half = nn.functional.softplus(width)
        return torch.stack([against - half, against + half], dim=-2)


def _log_sum_of_others(c: Any) -> Any:
    """Return ``log sum_{j != k} exp c_j`` for each k, in O(K) and without cancellation."""
    # Subtracting class k from the whole sum is accurate if k has at most half of it. Only the
    # largest class can have more; its others are summed separately.
    largest = torch.zeros_like(c, dtype=torch.bool)
    largest.scatter_(-1, c.argmax(dim=-1, keepdim=True), True)
    others = c.masked_fill(largest, -torch.inf).logsumexp(dim=-1, keepdim=True)
    share = torch.softmax(c, dim=-1).masked_fill(largest, 0.0)
    rest = c.logsumexp(dim=-1, keepdim=True) + torch.log1p(-share)
    return torch.where(largest, others, rest)


def interval_bounds(logits: Any) -> tuple[Any, Any]:
    """Return the lower and upper probabilities ``(..., K)`` of an `IntervalHead`'s outputs.

    The softmax of the centres lies between them, so the intervals contain a distribution. Bounds
    are narrowed to reachable ones, i.e. those attained by a distribution within all intervals,
    which does not change the set.

    Parameters
    ----------
    logits : tensor of shape (..., 2, K)
        Of the lower bounds, then of the upper bounds.

    Returns
    -------
    lower, upper : tensor of shape (..., K)

    Examples
    --------
    An upper bound of 0.9 is not reachable if the other class has at least 0.2:

    >>> import torch
    >>> from credalens.predictors.torch import interval_bounds
    >>> ends = torch.logit(torch.tensor([[0.3, 0.2], [0.9, 0.6]]))
    >>> lower, upper = interval_bounds(ends)
    >>> [round(x, 3) for x in (*lower.tolist(), *upper.tolist())]
    [0.4, 0.2, 0.8, 0.6]
    """
    lower, upper = torch.sigmoid(logits).unbind(dim=-2)
    low_sum, high_sum = lower.sum(-1, keepdim=True), upper.sum(-1, keepdim=True)
    narrow = torch.maximum(lower, 1 - (high_sum - upper))
    high = torch.minimum(upper, 1 - (low_sum - lower))
    # If the set is a single point, rounding may exchange the ends.
    return torch.minimum(narrow, high), high


def interval_loss(logits: Any, y: Any, hardest: float = 0.5) -> Any:
    """Return the loss of an `IntervalHead`'s outputs ``(n, 2, K)`` for labels ``(n,)``.

    The cross-entropy of the upper bounds over the batch, plus that of the lower bounds over the
    `hardest` share of the batch, the instances with the largest loss of the lower bounds. These
    represent a shifted distribution and keep the intervals wide where the lower bounds are poor.

    Parameters
    ----------
    logits : tensor of shape (n, 2, K)
        Outputs of `IntervalHead`.
    y : tensor of int, shape (n,)
        The true classes, from 0 to K - 1.
    hardest : float in (0, 1], default=0.5
        Share of the batch on which the lower bounds are trained; at least one instance.

    Returns
    -------
    tensor of shape ()
        The loss.

    Examples
    --------
    Bounds 1/3 and 2/3 for the true class of both instances:

    >>> import torch
    >>> from credalens.predictors.torch import interval_loss
    >>> ends = torch.logit(torch.tensor([[1 / 3, 1 / 3], [2 / 3, 2 / 3]]))
    >>> loss = interval_loss(ends.expand(2, 2, 2), torch.tensor([0, 1]))
    >>> bool(torch.isclose(loss.exp(), torch.tensor(3 / 1 * 3 / 2)))
    True
    """
    rows = torch.arange(len(y), device=y.device)
    low = -nn.functional.logsigmoid(logits[rows, 0, y])
    high = -nn.functional.logsigmoid(logits[rows, 1, y])
    n_hard = max(1, int(hardest * len(y)))
    return high.mean() + low.topk(n_hard).values.mean()


class CredalDeepEnsemble(DeepEnsemble):
    """Networks with interval heads; probability intervals from the means of their bounds.

    Parameters
    ----------
    model_factory : callable
        ``model_factory()`` returns a new `nn.Module` that ends in an `IntervalHead`.
    n_members : int, default=5
        Number of networks.
    hardest : float in (0, 1], default=0.5
        Share of each batch on which the lower bounds are trained.
    epochs, batch_size, learning_rate, optimizer, device, random_state, checkpoint, progress
        As in `RelativeLikelihoodEnsemble`.

    Attributes
    ----------
    members_ : list of nn.Module
        The trained networks.

    References
    ----------
    .. [1] Wang et al., "Credal Deep Ensembles for Uncertainty Quantification", NeurIPS 2024.

    Examples
    --------
    >>> import torch
    >>> from credalens.predictors.torch import CredalDeepEnsemble, IntervalHead
    >>> X = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    >>> y = (X[:, 0] > 0).long()
    >>> ensemble = CredalDeepEnsemble(
    ...     lambda: IntervalHead(2, 2), n_members=2, epochs=2, random_state=0
    ... )
    >>> ensemble.fit((X, y)).predict_credal(X[:4])
    ProbabilityIntervals(batch_shape=(4,), n_classes=2, dtype=float32)
    """

    def __init__(
        self,
        model_factory: Callable[[], Any],
        n_members: int = 5,
        *,
        hardest: float = 0.5,
        **settings: Any,
    ) -> None:
        super().__init__(model_factory, n_members, **settings)
        self.hardest = fraction(hardest, "hardest", one=True)

    def _settings(self) -> dict[str, Any]:
        return {"hardest": self.hardest}

    def _task(self, index: int, n_instances: int) -> Task:
        return Task(index, f"member {index}", self.epochs, partial(_loss, hardest=self.hardest))

    def predict_members(self, data: Any) -> Any:
        """Return the reachable bounds of all members, a tensor ``(N, M, 2, K)`` on the CPU."""
        return super().predict_members(data)

    def _predict_batch(self, x: Any) -> Any:
        ends = [logits(model, inputs, ends=(2,)) for model, inputs in self._inputs(x)]
        return torch.stack(interval_bounds(torch.stack(ends, dim=1)), dim=-2)

    def _as_credal(self, members: Any) -> Any:
        bounds = members.mean(dim=1)
        return ProbabilityIntervals(bounds[:, 0], bounds[:, 1])


def _loss(model: Any, x: Any, y: Any, hardest: float) -> Any:
    return interval_loss(logits(model, x, y, ends=(2,)), y, hardest)
