"""The one training loop, and what it is sure of: seeds, devices, finite losses, checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np
import torch
from torch import nn

from credalens._validation import refuse
from credalens.predictors.torch.checkpoints import Checkpoints
from credalens.predictors.torch.data import Data

#: Loss of a batch: ``loss(model, x, y)``, a scalar tensor.
Loss = Callable[[Any, Any, Any], Any]
#: Asked after a batch, ``stop(model, loss)`` with its loss, or after an epoch, with None.
Stop = Callable[[Any, float | None], bool]

#: Seeds are drawn for these purposes, each with its own numbers.
BUILD, EPOCH, EVALUATION, SAMPLE = range(4)


@dataclass(frozen=True)
class Task:
    """One member to be trained.

    `prepare` is given the fresh network and returns what is trained. `every` is the number of
    batches between two questions to `stop`; 0 asks after epochs alone.
    """

    index: int
    name: str
    epochs: int
    loss: Loss
    prepare: Callable[[Any], Any] | None = None
    stop: Stop | None = None
    every: int = 0


@dataclass(frozen=True)
class Trained:
    """A trained member, and whether `stop` was content with it."""

    model: Any
    stopped: bool


@dataclass(frozen=True)
class Trainer:
    """Trains one member after the other, on the same data in the same way."""

    factory: Callable[[], Any]
    data: Data
    device: Any
    seed: int
    optimizer: Callable[[Any], Any]
    checkpoints: Checkpoints
    tell: Callable[[str, int, int], None]
    _made: WeakSet[Any] = field(default_factory=WeakSet)

    def fresh(self, index: int) -> Any:
        """Return the network with which a member begins."""
        with seeded(self.device, derived(self.seed, BUILD, index)):
            model = build(self.factory, self.data, self.device)
        if model in self._made:
            refuse("model_factory", "returned the same network twice", "return a fresh one")
        self._made.add(model)
        return model

    def train(self, task: Task) -> Trained:
        """Train a member, or take it from the checkpoints.

        Each epoch has a seed of its own, so that an interrupted run needs no generator's state to
        go on exactly as it would have.
        """
        model = self.fresh(task.index)
        model = model if task.prepare is None else task.prepare(model)
        kept = self.checkpoints.load_member(task.index)
        if kept is not None:
            model.load_state_dict(kept["model"])
            self.tell(task.name, task.epochs, task.epochs)
            return Trained(model.eval(), bool(kept["stopped"]))
        stopped = self._run(task, model)
        self.tell(task.name, task.epochs, task.epochs)
        state = {"model": model.state_dict(), "stopped": stopped}
        self.checkpoints.save_member(task.index, state)
        return Trained(model.eval(), stopped)

    def _run(self, task: Task, model: Any) -> bool:
        optimizer = self.optimizer([p for p in model.parameters() if p.requires_grad])
        first = 0
        kept = self.checkpoints.load_current(task.index)
        if kept is not None:
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            first = kept["epochs"]
        for epoch in range(first, task.epochs):
            self.tell(task.name, epoch, task.epochs)
            with seeded(self.device, derived(self.seed, EPOCH, task.index, epoch)) as seed:
                stopped = self._epoch(task, model, optimizer, epoch, seed)
            if stopped or (task.stop is not None and task.stop(model, None)):
                return True
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            self.checkpoints.save_current(task.index, {**state, "epochs": epoch + 1})
        return False

    def _epoch(self, task: Task, model: Any, optimizer: Any, epoch: int, seed: int) -> bool:
        model.train()
        for number, (x, y) in enumerate(self.data.shuffled(seed), start=1):
            x, y = placed(x, model, self.device), labels(y, len(x), self.device)
            optimizer.zero_grad(set_to_none=True)
            loss = task.loss(model, x, y)
            value = float(loss.detach())
            if not math.isfinite(value):
                _refuse_loss(value, x, f"{task.name}, epoch {epoch}, batch {number - 1}")
            loss.backward()
            optimizer.step()
            due = task.every > 0 and number % task.every == 0
            if due and task.stop is not None and task.stop(model, value):
                return True
        return False


def _refuse_loss(value: float, x: Any, where: str) -> NoReturn:
    if x.is_floating_point() and not bool(torch.isfinite(x).all()):
        refuse("data", f"holds NaN or infinity ({where}, zero-based)", "drop or impute it first")
    raise FloatingPointError(
        f"the loss became {value} ({where}, zero-based); lower learning_rate, or scale the inputs"
    )


def derived(seed: int, *purpose: int) -> int:
    """Return a seed for one purpose, which tells nothing about the others."""
    state = np.random.SeedSequence([seed, *purpose]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


@contextmanager
def seeded(device: Any, seed: int) -> Iterator[int]:
    """Seed the generators that `device` draws from, and leave them as they were after the block."""
    # torch.manual_seed would seed every kind of device there is, which takes milliseconds and
    # reaches farther than the block.
    generators = [torch.default_generator]
    if device.type in ("cuda", "xpu"):
        library = getattr(torch, device.type)
        index = library.current_device() if device.index is None else device.index
        generators.append(library.default_generators[index])
    states = [generator.get_state() for generator in generators]
    try:
        for generator in generators:
            generator.manual_seed(seed)
        yield seed
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)


def as_device(device: Any) -> Any:
    """Return a device on which numbers can be computed."""
    try:
        found = torch.device("cpu" if device is None else device)
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).split("\n")[0]
        refuse("device", f"is {device!r}, which cannot be used here ({reason})",
               "pass None for the CPU, or a device that torch has")  # fmt: skip
    if found.type == "meta":
        refuse("device", "is 'meta', which holds no numbers", "pass None for the CPU, or a GPU")
    return found


def build(factory: Callable[[], Any], data: Data, device: Any) -> Any:
    """Return a fresh network on `device`, its lazy layers made by a first look at the data."""
    model = factory()
    if not isinstance(model, nn.Module):
        refuse("model_factory", f"returned {type(model).__name__}", "return a fresh nn.Module")
    model.to(device)
    if any(isinstance(p, nn.parameter.UninitializedParameter) for p in model.parameters()):
        with evaluating(model):
            model(placed(next(data.in_order())[0][:1], model, device))
    return model


def placed(x: Any, model: Any, device: Any) -> Any:
    """Return `x` on `device`; floating numbers in the precision of the model's own."""
    if not x.is_floating_point():
        return x.to(device, non_blocking=True)
    # Arrays come as float64 by default, networks as float32.
    kinds = (p.dtype for p in model.parameters() if p.is_floating_point())
    return x.to(device, next(kinds, x.dtype), non_blocking=True)


def labels(y: Any, n: int, device: Any) -> Any:
    """Return the class indices of a batch of n on `device`."""
    if y is None:
        refuse("data", "has no labels", "pass (X, y), a dataset of (x, y), or a DataLoader of one")
    y = torch.as_tensor(y)
    if y.is_floating_point() or y.is_complex() or y.dtype == torch.bool or y.shape != (n,):
        refuse("y", f"has dtype {y.dtype} and shape {tuple(y.shape)} in a batch of {n}",
               "pass one integer class index per instance")  # fmt: skip
    if len(y) and int(y.min()) < 0:
        refuse("y", f"holds {int(y.min())}", "classes are numbered from 0")
    return y.to(device, torch.long, non_blocking=True)


def cross_entropy(model: Any, x: Any, y: Any) -> Any:
    """Return minus the mean log-likelihood of a batch."""
    return nn.functional.cross_entropy(logits(model, x, y), y)


def logits(model: Any, x: Any, y: Any = None) -> Any:
    """Return the outputs ``(n, K)`` of a model, which must have room for the labels."""
    outputs = model(x)
    if not isinstance(outputs, torch.Tensor) or outputs.ndim != 2 or len(outputs) != len(x):
        shape = getattr(outputs, "shape", type(outputs).__name__)
        refuse("model_factory", f"made a model that turns {tuple(x.shape)} into {shape}",
               "return one row of logits per instance, shape (n, K)")  # fmt: skip
    if y is not None and len(y) and int(y.max()) >= outputs.shape[1]:
        refuse("y", f"holds class {int(y.max())}, but the model has {outputs.shape[1]} outputs",
               "number the classes from 0, or give the last layer an output for each")  # fmt: skip
    return outputs


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Put a model into evaluation mode without gradients, and every layer back after it."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def mean_log_likelihood(
    model: Any, data: Data, device: Any, *, seed: int, floor: float = -math.inf
) -> float:
    """Return the mean of ``log p(y | x)`` over all data, in evaluation mode.

    No term is positive, so that a partial sum bounds the whole from above: where the bound falls
    below `floor`, it is returned and the rest is not computed. Random augmentations in the data are
    seeded, the same for every model.
    """
    total, n = 0.0, len(data)
    with seeded(device, seed), evaluating(model):
        for x, y in data.in_order():
            y = labels(y, len(x), device)
            outputs = logits(model, placed(x, model, device), y)
            losses = nn.functional.cross_entropy(outputs, y, reduction="none")
            total -= float(losses.cpu().double().sum())
            if total < floor * n:
                break
    return total / n
