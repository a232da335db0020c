"""Members trained until their relative likelihood reaches a level (Löhr et al. 2026)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import nn

from credalens._validation import one_of, positive, raise_invalid, whole_number
from credalens.evaluation.likelihood import SCALES, check_levels
from credalens.predictors.torch.ensemble import Ensemble
from credalens.predictors.torch.inputs import take
from credalens.predictors.torch.training import (
    EVALUATION,
    Task,
    Trainer,
    cross_entropy,
    derived_seed,
    evaluating,
    logits,
    mean_log_likelihood,
    to_device,
)

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

#: Within an epoch, the training set is evaluated only if the relative likelihood of the last batch
#: is at least this share of the level.
PROMISING = 0.8


class RelativeLikelihoodEnsemble(Ensemble):
    r"""Networks trained until their relative likelihood reaches a level.

    The maximum-likelihood model is trained first, for `epochs`. Then, for each level below 1, a
    new network is trained until

    .. math:: R = L / L^* \ge \mathrm{level}

    on the training set in evaluation mode. A level that is not reached within `member_epochs` is
    reported in a warning and in `unreached_`, and its network is not a member.

    Parameters
    ----------
    model_factory : callable
        ``model_factory()`` returns a new `nn.Module` whose outputs are logits ``(n, K)``.
    levels : sequence of float, default=(0.1, 0.2, ..., 1.0)
        In (0, 1]. The maximum-likelihood model has level 1 and is always a member.
    init : {"tobias", None}, default="tobias"
        "tobias" sets the bias of the last linear layer (the last `nn.Linear` in
        ``model.modules()``) to `bias` for one class, so that the initial networks differ strongly:
        class ``i mod K`` for member i, except the maximum-likelihood model, which is member 0. None
        does not change the network.
    scale : {"mean", "total"}, default="mean"
        "mean" compares mean log-likelihoods, ``R = exp(mean ll - mean ll*)``, the N-th root of the
        definition. "total" is the definition, a product over all instances, which for tens of
        thousands of instances is close to 0 for all members.
    bias : float, default=100.0
        The bias of "tobias".
    epochs : int, default=20
        Number of epochs of the maximum-likelihood model.
    member_epochs : int, optional
        Largest number of epochs of every other member; by default twice `epochs`.
    batch_size : int, default=64
        Number of instances per batch.
    learning_rate : float, default=1e-3
        Learning rate of Adam; ignored if `optimizer` is passed.
    optimizer : callable, optional
        ``optimizer(parameters)`` returns an optimizer, such as
        ``functools.partial(torch.optim.SGD, lr=0.1)``.
    check_every : {"epoch", "batch"} or int, default="epoch"
        When the condition is checked: after epochs, after batches (for small data, where an epoch
        may exceed the level by far), or after this number of batches and after epochs.
    device : str or torch.device, optional
        By default the CPU.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the factory, the order of the data and random layers. PyTorch's global generators are
        restored.
    checkpoint : path, optional
        A folder for finished members and the state after each epoch, from which an interrupted run
        resumes with the same result.
    progress : bool, optional
        Show a progress bar; by default on a terminal only.

    Attributes
    ----------
    members_ : list of nn.Module
        The maximum-likelihood model, then the members that reached their levels.
    levels_ : list of float
        The level of each member.
    relative_likelihoods_ : list of float
        R of each member, relative to the maximum-likelihood model. A value above 1 issues a
        warning: the maximum-likelihood model needs more epochs.
    classes_ : list of int or None
        The class whose bias was set for each member.
    unreached_ : list of float
        The levels without a member.

    Notes
    -----
    The condition is verified exactly before a member is accepted. No term of a log-likelihood is
    positive, so a pass over the training set stops as soon as the level cannot be reached; within
    an epoch it starts only if the last batch reaches four fifths of the level.

    References
    ----------
    .. [1] Löhr et al., "Credal Prediction based on Relative Likelihood", 2026.

    Examples
    --------
    >>> import torch
    >>> from credalens.predictors.torch import RelativeLikelihoodEnsemble
    >>> X = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
    >>> y = (X[:, 0] > 0).long()
    >>> ensemble = RelativeLikelihoodEnsemble(
    ...     lambda: torch.nn.Linear(2, 2), levels=(0.5, 0.9, 1.0), bias=3.0, epochs=20,
    ...     batch_size=20, learning_rate=0.05, check_every="batch", random_state=0
    ... ).fit((X, y))
    >>> ensemble.levels_
    [1.0, 0.5, 0.9]
    >>> [R >= level for R, level in zip(ensemble.relative_likelihoods_, ensemble.levels_)]
    [True, True, True]
    >>> ensemble.predict_credal(X[:4])
    ConvexHull(batch_shape=(4,), n_members=3, n_classes=2, dtype=float32)
    """

    _fitted_attributes: ClassVar[tuple[str, ...]] = (
        "levels_",
        "relative_likelihoods_",
        "classes_",
        "unreached_",
    )

    def __init__(
        self,
        model_factory: Callable[[], Any],
        *,
        levels: Sequence[float] = LEVELS,
        init: str | None = "tobias",
        scale: str = "mean",
        bias: float = 100.0,
        member_epochs: int | None = None,
        check_every: str | int = "epoch",
        **settings: Any,
    ) -> None:
        super().__init__(model_factory, **settings)
        self.levels = check_levels(levels)
        self.init = None if init is None else one_of(init, "init", ("tobias",))
        self.scale = one_of(scale, "scale", SCALES)
        self.bias = positive(bias, "bias")
        member_epochs = 2 * self.epochs if member_epochs is None else member_epochs
        self.member_epochs = whole_number(member_epochs, "member_epochs", least=1)
        self.check_every = check_every
        if isinstance(check_every, str):
            one_of(check_every, "check_every", ("epoch", "batch"))
            self._every = int(check_every == "batch")
        else:
            self._every = whole_number(check_every, "check_every", least=1)

    def _settings(self) -> dict[str, Any]:
        names = ("levels", "init", "scale", "bias", "member_epochs")
        return {name: getattr(self, name) for name in names} | {"check_every": self._every}

    def _levels_below_one(self) -> list[float]:
        return [level for level in self.levels if level < 1]

    def _total_epochs(self) -> int:
        return self.epochs + len(self._levels_below_one()) * self.member_epochs

    def _train(self, trainer: Trainer) -> None:
        n_classes = None if self.init is None else _check_bias(trainer)
        best, _ = trainer.train(Task(0, "maximum likelihood", self.epochs, cross_entropy))
        likelihood = _Likelihood(trainer, len(trainer.data) if self.scale == "total" else 1)
        likelihood.best = likelihood.mean_log(best)
        if not math.isfinite(likelihood.best):
            raise FloatingPointError(
                "the maximum-likelihood model's outputs are not finite; lower learning_rate"
            )
        self.members_, self.levels_, self.relative_likelihoods_ = [best], [1.0], [1.0]
        self.classes_: list[int | None] = [None]
        self.unreached_: list[float] = []
        missed: list[str] = []
        for index, level in enumerate(self._levels_below_one(), start=1):
            k = None if n_classes is None else index % n_classes
            task = Task(
                index,
                f"level {level:g}",
                self.member_epochs,
                cross_entropy,
                prepare=None if k is None else partial(set_bias, k=k, bias=self.bias),
                stop=partial(likelihood.reaches, level),
                every=self._every,
            )
            model, reached = trainer.train(task)
            R = likelihood.relative(likelihood.mean_log(model))
            if reached:
                self.members_.append(model)
                self.levels_.append(level)
                self.relative_likelihoods_.append(R)
                self.classes_.append(k)
            else:
                self.unreached_.append(level)
                missed.append(f"{level:g} (R = {R:.3g})")
        if missed:
            hint = "" if self.scale == "mean" else ", or pass scale='mean'"
            warnings.warn(
                f"levels not reached in {self.member_epochs} epochs and omitted: "
                f"{', '.join(missed)}; raise member_epochs or learning_rate{hint}",
                UserWarning,
                stacklevel=3,
            )
        largest = max(self.relative_likelihoods_)
        if largest > 1:
            warnings.warn(
                f"member {self.relative_likelihoods_.index(largest)} has a larger likelihood than "
                f"the maximum-likelihood model (R = {largest:.3g}); raise epochs",
                UserWarning,
                stacklevel=3,
            )


@dataclass
class _Likelihood:
    """Likelihoods on the training set, relative to the best model."""

    trainer: Trainer
    weight: int
    #: Mean log-likelihood of the best model.
    best: float = math.nan

    def mean_log(self, model: Any, floor: float = -math.inf) -> float:
        """Return the mean log-likelihood, or an upper bound if it is below `floor`."""
        t = self.trainer
        seed = derived_seed(t.seed, EVALUATION)
        return mean_log_likelihood(model, t.data, t.device, seed=seed, floor=floor)

    def relative(self, mean: float) -> float:
        """Return R of a mean log-likelihood; infinity if it overflows."""
        try:
            return math.exp(self.weight * (mean - self.best))
        except OverflowError:
            return math.inf

    def reaches(self, level: float, model: Any, loss: float | None) -> bool:
        """Return whether a model has reached a level; `loss` is that of the last batch."""
        needed = self.best + math.log(level) / self.weight
        if loss is not None and -loss < needed + math.log(PROMISING):
            return False
        # The slack is larger than the rounding of a sum, so that no model at the level is missed.
        return self.relative(self.mean_log(model, floor=needed - 1e-9)) >= level


def set_bias(model: Any, k: int, bias: float) -> Any:
    """Set the bias of class `k` in the last linear layer (TOBIAS)."""
    with torch.no_grad():
        last_linear(model).bias[k] = bias
    return model


def last_linear(model: Any) -> Any:
    """Return the last `nn.Linear` in ``model.modules()``; it must have a bias."""
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    if not layers or layers[-1].bias is None:
        problem = "without a bias in its last nn.Linear" if layers else "without an nn.Linear"
        raise_invalid(
            "model_factory", f"returned a model {problem}", "give it one, or pass init=None"
        )
    return layers[-1]


def _check_bias(trainer: Trainer) -> int:
    """Return the number of classes; raise ValueError if the last layer has no bias for each."""
    model = trainer.new_model(0)
    x, _ = next(trainer.data.in_order())
    with evaluating(model):
        first = to_device(take(x, slice(1)), model, trainer.device)
        n_classes = int(logits(model, first).shape[1])
    n_biases = last_linear(model).out_features
    if n_biases != n_classes:
        raise_invalid(
            "model_factory",
            f"returned a model of {n_classes} classes whose last nn.Linear has {n_biases} outputs",
            "define the layer that returns the logits last, or pass init=None",
        )
    return n_classes
