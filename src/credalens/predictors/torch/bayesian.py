"""Mean-field variational networks under several priors (Caprio et al. 2024)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parametrize

from credalens._validation import positive, raise_invalid, whole_number
from credalens.predictors.torch.ensemble import DeepEnsemble
from credalens.predictors.torch.predictions import softmax
from credalens.predictors.torch.training import (
    SAMPLE,
    Task,
    Trainer,
    as_device,
    cross_entropy,
    derived_seed,
    logits,
    seeded,
)

#: Layers whose weights and biases are random.
LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


@dataclass(frozen=True)
class Prior:
    """The normal prior of all weights of a network."""

    mean: float
    scale: float


class CredalBayesianEnsemble(DeepEnsemble):
    r"""Variational networks under several priors; the hull of their sampled predictions.

    Weights and biases of linear and convolutional layers have independent normal posteriors, fitted
    by Bayes by backprop: each batch draws weights once, and the loss is

    .. math:: -\log p(y \mid x, w) / n + \lambda\, \mathrm{KL}(q \,\|\, p) / N,

    the negative evidence lower bound per instance for ``kl_weight`` :math:`\lambda = 1`. Other
    layers (normalisation, embeddings) are not changed.

    Parameters
    ----------
    model_factory : callable
        ``model_factory()`` returns a new `nn.Module` whose outputs are logits ``(n, K)``;
        `make_bayesian` converts it to a variational network.
    n_priors : int, default=5
        Number of priors; one network is trained under each.
    n_samples : int, default=10
        Number of predictions sampled from each network.
    prior_means : (float, float), default=(0.0, 1.0)
        Smallest and largest prior mean; the means are equally spaced.
    prior_scales : (float, float), default=(0.1, 1.0)
        Range from which the prior standard deviations are drawn uniformly.
    kl_weight : float, default=1.0
        Values below 1 increase the weight of the data, useful for many weights and few data.
    epochs, batch_size, learning_rate, optimizer, device, random_state, checkpoint, progress
        As in `RelativeLikelihoodEnsemble`.

    Attributes
    ----------
    members_ : list of nn.Module
        One network per prior; each call draws new weights.
    priors_ : list of Prior
        The priors of the members, each with ``mean`` and ``scale``.

    Notes
    -----
    The weights of a sample are the same for all instances, calls and batch sizes.

    References
    ----------
    .. [1] Caprio et al., "Credal Bayesian Deep Learning", TMLR 2024.
    .. [2] Blundell et al., "Weight Uncertainty in Neural Networks", ICML 2015.

    Examples
    --------
    >>> import torch
    >>> from credalens.predictors.torch import CredalBayesianEnsemble
    >>> X = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    >>> y = (X[:, 0] > 0).long()
    >>> ensemble = CredalBayesianEnsemble(
    ...     lambda: torch.nn.Linear(2, 2), n_priors=3, n_samples=4, epochs=2, random_state=0
    ... ).fit((X, y))
    >>> [prior.mean for prior in ensemble.priors_]
    [0.0, 0.5, 1.0]
    >>> ensemble.predict_credal(X[:4])
    ConvexHull(batch_shape=(4,), n_members=12, n_classes=2, dtype=float32)
    """

    def __init__(
        self,
        model_factory: Callable[[], Any],
        n_priors: int = 5,
        n_samples: int = 10,
        *,
        prior_means: tuple[float, float] = (0.0, 1.0),
        prior_scales: tuple[float, float] = (0.1, 1.0),
        kl_weight: float = 1.0,
        **settings: Any,
    ) -> None:
        super().__init__(model_factory, whole_number(n_priors, "n_priors", least=1), **settings)
        self.n_priors = self.n_members
        self.n_samples = whole_number(n_samples, "n_samples", least=1)
        self.prior_means = _range(prior_means, "prior_means")
        self.prior_scales = _range(prior_scales, "prior_scales")
        positive(self.prior_scales[0], "prior_scales")
        self.kl_weight = positive(kl_weight, "kl_weight")

    _fitted_attributes: ClassVar[tuple[str, ...]] = ("priors_", "_sampling_seed")

    def _attributes(self) -> dict[str, Any]:
        priors = [(prior.mean, prior.scale) for prior in self.priors_]
        return {**super()._attributes(), "priors_": priors}

    def _restore(self, attributes: dict[str, Any]) -> None:
        super()._restore(attributes)
        self.priors_ = [Prior(*pair) for pair in attributes["priors_"]]

    def _prepare(self, model: Any) -> Any:
        return make_bayesian(model)

    def _settings(self) -> dict[str, Any]:
        # The spacing of the means depends on n_priors.
        names = ("n_priors", "prior_means", "prior_scales", "kl_weight")
        return {name: getattr(self, name) for name in names}

    def _train(self, trainer: Trainer) -> None:
        rng = np.random.default_rng(derived_seed(trainer.seed, SAMPLE))
        means = np.linspace(*self.prior_means, self.n_priors)
        scales = rng.uniform(*self.prior_scales, self.n_priors)
        self.priors_ = [Prior(float(m), float(s)) for m, s in zip(means, scales, strict=True)]
        self._sampling_seed = trainer.seed
        super()._train(trainer)

    def _task(self, index: int, n_instances: int) -> Task:
        prior = self.priors_[index]
        loss = partial(_evidence_loss, prior=prior, weight=self.kl_weight / n_instances)
        return Task(index, f"prior {index}", self.epochs, loss, prepare=make_bayesian)

    def predict_members(self, data: Any) -> Any:
        """Return the sampled predictions, a tensor ``(N, n_priors * n_samples, K)`` on the CPU."""
        return super().predict_members(data)

    def _predict_batch(self, x: Any) -> Any:
        device, samples = as_device(self.device), []
        for i, (model, inputs) in enumerate(self._inputs(x)):
            for s in range(self.n_samples):
                # Only weights are drawn, so the seed determines the sampled network.
                with seeded(device, derived_seed(self._sampling_seed, SAMPLE, i, s)):
                    samples.append(softmax(logits(model, inputs)))
        return torch.stack(samples, dim=1)


def _range(ends: Any, name: str) -> tuple[float, float]:
    pair = isinstance(ends, tuple | list) and len(ends) == 2
    if not pair or not all(isinstance(e, Real) and math.isfinite(e) for e in ends):
        raise_invalid(name, f"is {ends!r}", "pass two numbers, the smallest and the largest")
    if ends[0] > ends[1]:
        raise_invalid(name, f"is {ends!r}", "pass the smaller number first")
    return float(ends[0]), float(ends[1])


class Normal(nn.Module):  # type: ignore[misc]
    """Parametrization that samples a parameter from a normal distribution in each forward pass."""

    def __init__(self, mean: Any, scale: float) -> None:
        super().__init__()
        self.rho = nn.Parameter(torch.full_like(mean, math.log(math.expm1(scale))))

    @property
    def scale(self) -> Any:
        """The posterior standard deviations, ``softplus(rho)``."""
        return nn.functional.softplus(self.rho)

    def forward(self, mean: Any) -> Any:
        """Return ``mean + scale * noise``."""
        return mean + self.scale * torch.randn_like(mean)


def make_bayesian(model: Any, initial_scale: float = 0.05) -> Any:
    """Replace the weights and biases of a network's layers by normal distributions, in place.

    Parameters
    ----------
    model : nn.Module
        Its weights are the initial posterior means.
    initial_scale : float, default=0.05
        The initial posterior standard deviations.

    Returns
    -------
    nn.Module
        The same network. It draws new weights in each forward pass, also in evaluation mode.

    Examples
    --------
    >>> import torch
    >>> from credalens.predictors.torch import make_bayesian
    >>> model = make_bayesian(torch.nn.Linear(2, 2))
    >>> x = torch.ones(1, 2)
    >>> bool(torch.equal(model(x), model(x)))
    False
    """
    positive(initial_scale, "initial_scale")
    layers = [layer for layer in model.modules() if isinstance(layer, LAYERS)]
    if not layers:
        raise_invalid("model", "has no linear or convolutional layer", "pass a network with one")
    for layer in layers:
        for name in ("weight", "bias"):
            parameter = getattr(layer, name)
            if parameter is not None:
                parametrize.register_parametrization(
                    layer, name, Normal(parameter.detach(), initial_scale)
                )
    return model


def kl_divergence(model: Any, prior: Prior) -> Any:
    """Return ``KL(q || p)`` summed over all weights of a variational network."""
    total = 0.0
    for module in model.modules():
        if isinstance(module, parametrize.ParametrizationList) and isinstance(module[0], Normal):
            scale, shift = module[0].scale, module.original - prior.mean
            ratio = scale / prior.scale
            total = total + 0.5 * (ratio**2 + (shift / prior.scale) ** 2 - 1).sum()
            total = total - ratio.log().sum()
    return total


def _evidence_loss(model: Any, x: Any, y: Any, prior: Prior, weight: float) -> Any:
    return cross_entropy(model, x, y) + weight * kl_divergence(model, prior)
