"""Members whose relative likelihood reaches a level (Löhr et al. 2026)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from credalens._validation import one_of, positive, refuse, whole_number
from credalens.predictors.torch.ensemble import Ensemble
from credalens.predictors.torch.training import (
    EVALUATION,
    Task,
    Trainer,
    cross_entropy,
    derived,
    evaluating,
    logits,
    mean_log_likelihood,
    placed,
)

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

#: Between epochs the whole training set is gone through only if the last batch alone promises at
#: least this share of the level.
PROMISING = 0.8


class RelativeLikelihoodEnsemble(Ensemble):
    r"""Networks trained until their relative likelihood reaches a level.

    The maximum-likelihood model is trained first, for `epochs`. Then, for each level below 1, a
    fresh network is trained until

    .. math:: R = L / L^* \ge \mathrm{level}

    on the whole training set in evaluation mode, and stopped there. A level that is not reached
    within `member_epochs` is told in a warning, kept in `unreached_`, and its network left out.

    Parameters
    ----------
    model_factory : callable
        ``model_factory()`` returns a fresh `nn.Module` that gives logits ``(n, K)``.
    levels : sequence of float, default=(0.1, 0.2, ..., 1.0)
        In (0, 1]. The maximum-likelihood model stands for level 1 and is a member in any case.
    init : {"tobias", None}, default="tobias"
        "tobias" sets the bias of the last linear layer (the last `nn.Linear` in the order of
        ``model.modules()``) to `bias` for one class, so that members start far apart: for member i,
        class ``i mod K``, the maximum-likelihood model, which is not pushed, being member 0. None
        leaves the network as the factory made it.
    scale : {"mean", "total"}, default="mean"
        "mean" compares mean log-likelihoods, ``R = exp(mean ll - mean ll*)``, the N-th root of the
        printed definition. "total" is the definition itself, a product over all instances, which no
        member comes near when there are tens of thousands.
    bias : float, default=100.0
        The push of "tobias".
    epochs : int, default=20
        Of the maximum-likelihood model.
    member_epochs : int, optional
        At most so many for every other member; twice `epochs` by default, as they start far away.
    batch_size : int, default=64
        Instances in one step of training.
    learning_rate : float, default=1e-3
        Of Adam; an `optimizer` of your own has its own.
    optimizer : callable, optional
        ``optimizer(parameters)`` returns an optimizer, such as
        ``functools.partial(torch.optim.SGD, lr=0.1)``.
    check_every : {"epoch", "batch"} or int, default="epoch"
        How often the condition is looked at: after epochs, after batches (for small data, where
        an epoch may run far past the level), or after so many batches, and after epochs.
    device : str or torch.device, optional
        The CPU by default.
    random_state : int, Generator, RandomState or None, default=None
        Seeds the factory, the order of the data and the layers that draw. PyTorch's global
        generators are left as they were.
    checkpoint : path, optional
        A folder. Finished members and the state after each epoch are kept there, and a run that was
        stopped goes on from there, to the same result.
    progress : bool, optional
        A progress bar; by default on a terminal only.

    Attributes
    ----------
    members_ : list of nn.Module
        The maximum-likelihood model first, then those that reached their levels.
    levels_ : list of float
        The level of each member.
    relative_likelihoods_ : list of float
        R of each member, relative to the maximum-likelihood model. One above 1 is warned of: the
        model that was to have the largest likelihood has not, and should be trained longer.
    classes_ : list of int or None
        The class to which each member was pushed.
    unreached_ : list of float
        The levels without a member.

    Notes
    -----
    The condition is verified exactly before a member is accepted. As no term of a log-likelihood
    is positive, a pass over the training set ends as soon as the level is out of reach; between
    epochs it is begun only if the last batch alone promises four fifths of the level.

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

    def __init__(
        self,
        model_factory: Callable[[], Any],
        *,
        levels: Sequence[float] = LEVELS,
        init: str | None = "tobias",
        scale: str = "mean",
        bias: float = 100.0,
        epochs: int = 20,
        member_epochs: int | None = None,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        optimizer: Callable[[Any], Any] | None = None,
        check_every: str | int = "epoch",
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
        self.levels = _checked_levels(levels)
        self.init = None if init is None else one_of(init, "init", ("tobias",))
        self.scale = one_of(scale, "scale", ("mean", "total"))
        self.bias = positive(bias, "bias")
        twice = 2 * self.epochs if member_epochs is None else member_epochs
        self.member_epochs = whole_number(twice, "member_epochs", least=1)
        self.check_every = check_every
        if isinstance(check_every, str):
            one_of(check_every, "check_every", ("epoch", "batch"))
            self._every = int(check_every == "batch")
        else:
            self._every = whole_number(check_every, "check_every", least=1)

    def _settings(self) -> dict[str, Any]:
        names = ("levels", "init", "scale", "bias", "member_epochs")
        return {name: getattr(self, name) for name in names} | {"check_every": self._every}

    def _below(self) -> list[float]:
        return [level for level in self.levels if level < 1]

    def _total_epochs(self) -> int:
        return self.epochs + len(self._below()) * self.member_epochs

    def _train(self, trainer: Trainer) -> None:
        n_classes = None if self.init is None else _pushable_classes(trainer)
        best = trainer.train(Task(0, "maximum likelihood", self.epochs, cross_entropy)).model
        likelihood = _Likelihood(trainer, len(trainer.data) if self.scale == "total" else 1)
        likelihood.best = likelihood.of(best)
        if not math.isfinite(likelihood.best):
            raise FloatingPointError(
                "the maximum-likelihood model's outputs are not finite; lower learning_rate"
            )
        members: list[_Member] = [_Member(best, 1.0, 1.0, None)]
        missed: list[_Member] = []
        for index, level in enumerate(self._below(), start=1):
            pushed = None if n_classes is None else index % n_classes
            task = Task(
                index,
                f"level {level:g}",
                self.member_epochs,
                cross_entropy,
                prepare=None if pushed is None else partial(push, to=pushed, bias=self.bias),
                stop=_Reached(likelihood, level),
                every=self._every,
            )
            trained = trainer.train(task)
            R = likelihood.relative(likelihood.of(trained.model))
            kept = members if trained.stopped else missed
            kept.append(_Member(trained.model, level, R, pushed))
        self.members_ = [m.model for m in members]
        self.levels_ = [m.level for m in members]
        self.relative_likelihoods_ = [m.R for m in members]
        self.classes_ = [m.pushed for m in members]
        self.unreached_ = [m.level for m in missed]
        self._warn([f"{m.level:g} (R = {m.R:.3g})" for m in missed])

    def _warn(self, missed: list[str]) -> None:
        if missed:
            hint = "" if self.scale == "mean" else ", or pass scale='mean'"
            warnings.warn(
                f"levels not reached in {self.member_epochs} epochs and left out: "
                f"{', '.join(missed)}; raise member_epochs or learning_rate{hint}",
                UserWarning,
                stacklevel=4,
            )
        largest = max(self.relative_likelihoods_)
        if largest > 1:
            warnings.warn(
                f"member {self.relative_likelihoods_.index(largest)} is likelier than the "
                f"maximum-likelihood model (R = {largest:.3g}); raise epochs",
                UserWarning,
                stacklevel=4,
            )


def _checked_levels(levels: Any) -> list[float]:
    if not isinstance(levels, Sequence) and not hasattr(levels, "__array__"):
        refuse("levels", f"is {levels!r}", "pass numbers in (0, 1], such as (0.2, 0.6, 1.0)")
    for i, level in enumerate(levels):
        if positive(level, f"levels entry {i} (zero-based)") > 1:
            refuse("levels", f"entry {i} (zero-based) is {level!r}", "pass numbers in (0, 1]")
    if len(levels) == 0:
        refuse("levels", "is empty", "pass numbers in (0, 1]; 1.0 is the best model alone")
    return [float(level) for level in levels]


@dataclass(frozen=True)
class _Member:
    model: Any
    level: float
    R: float
    pushed: int | None


@dataclass
class _Likelihood:
    """Likelihoods on the training set, relative to the best model's."""

    trainer: Trainer
    weight: int
    best: float = math.nan

    def of(self, model: Any, floor: float = -math.inf) -> float:
        """Return the mean log-likelihood, or a bound below `floor` if it lies there."""
        t = self.trainer
        seed = derived(t.seed, EVALUATION)
        return mean_log_likelihood(model, t.data, t.device, seed=seed, floor=floor)

    def relative(self, mean: float) -> float:
        """Return R of a mean log-likelihood; infinity where it is too large for a float."""
        try:
            return math.exp(self.weight * (mean - self.best))
        except OverflowError:
            return math.inf

    def needed(self, level: float) -> float:
        """Return the mean log-likelihood at which R is `level`."""
        return self.best + math.log(level) / self.weight


@dataclass(frozen=True)
class _Reached:
    """Whether a model has reached its level."""

    likelihood: _Likelihood
    level: float

    def __call__(self, model: Any, loss: float | None) -> bool:
        needed = self.likelihood.needed(self.level)
        if loss is not None and -loss < needed + math.log(PROMISING):
            return False
        # Less than the rounding of a sum, so that no model at the level is sent away.
        mean = self.likelihood.of(model, floor=needed - 1e-9)
        return self.likelihood.relative(mean) >= self.level


def push(model: Any, to: int, bias: float) -> Any:
    """Let a network begin with one class in mind: TOBIAS."""
    with torch.no_grad():
        last_linear(model).bias[to] = bias
    return model


def last_linear(model: Any) -> Any:
    """Return the last `nn.Linear` in the order of ``model.modules()``; it must have a bias."""
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    if not layers or layers[-1].bias is None:
        problem = "without a bias in its last nn.Linear" if layers else "without an nn.Linear"
        refuse("model_factory", f"made a model {problem}", "give it one, or pass init=None")
    return layers[-1]


def _pushable_classes(trainer: Trainer) -> int:
    """Return the number of classes, before hours of training, if there is a bias for each."""
    model = trainer.fresh(0)
    x, _ = next(trainer.data.in_order())
    with evaluating(model):
        n_classes = int(logits(model, placed(x[:1], model, trainer.device)).shape[1])
    n_biases = last_linear(model).out_features
    if n_biases != n_classes:
        refuse(
            "model_factory",
            f"made a model of {n_classes} classes whose last nn.Linear has {n_biases} outputs",
            "let the layer that gives the logits be the last one defined, or pass init=None",
        )
    return n_classes
