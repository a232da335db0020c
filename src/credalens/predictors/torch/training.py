"""The training loop of all networks: seeds, devices, validation of batches, checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

import numpy as np
import torch
from torch import nn

from credalens._validation import raise_invalid
from credalens.predictors.torch.checkpoints import Checkpoints
from credalens.predictors.torch.data import Data
from credalens.predictors.torch.inputs import count, is_dict, map_tensors, take, tensors_of

#: Loss of a batch: ``loss(model, x, y)``, a scalar tensor.
Loss = Callable[[Any, Any, Any], Any]
#: Stopping criterion ``stop(model, loss)``, with the loss after a batch and None after an epoch.
Stop = Callable[[Any, float | None], bool]

#: Purposes of derived seeds.
BUILD, EPOCH, EVALUATION, SAMPLE = range(4)


@dataclass(frozen=True)
class Task:
    """The training of one member.

    `prepare` modifies the new network before training. `every` is the number of batches between
    two calls of `stop`; with 0 it is called after epochs only.
    """

    index: int
    name: str
    epochs: int
    loss: Loss
    prepare: Callable[[Any], Any] | None = None
    stop: Stop | None = None
    every: int = 0


@dataclass(frozen=True)
class Trainer:
    """Trains members one after the other on the same data."""

    factory: Callable[[], Any]
    data: Data
    device: Any
    seed: int
    optimizer: Callable[[Any], Any]
    checkpoints: Checkpoints
    #: Called with the name of a member, its completed epochs and its largest number of epochs.
    report_progress: Callable[[str, int, int], None]
    _created: WeakSet[Any] = field(default_factory=WeakSet)

    def new_model(self, index: int) -> Any:
        """Return the initial network of a member."""
        with seeded(self.device, derived_seed(self.seed, BUILD, index)):
            model = build(self.factory, self.data, self.device)
        if model in self._created:
            raise_invalid("model_factory", "returned the same network twice", "return a new one")
        self._created.add(model)
        return model

    def train(self, task: Task) -> tuple[Any, bool]:
        """Train a member or load it from a checkpoint; return it and whether `stop` ended it.

        Each epoch has its own seed, so that an interrupted run resumes exactly without the states
        of random generators.
        """
        model = self.new_model(task.index)
        model = model if task.prepare is None else task.prepare(model)
        saved = self.checkpoints.load_member(task.index)
        if saved is None:
            saved = {"stopped": self._run(task, model), "model": model.state_dict()}
            self.checkpoints.save_member(task.index, saved)
        else:
            model.load_state_dict(saved["model"])
        self.report_progress(task.name, task.epochs, task.epochs)
        return model.eval(), bool(saved["stopped"])

    def _run(self, task: Task, model: Any) -> bool:
        optimizer = self.optimizer([p for p in model.parameters() if p.requires_grad])
        first = 0
        saved = self.checkpoints.load_current(task.index)
        if saved is not None:
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            first = saved["epochs"]
        for epoch in range(first, task.epochs):
            self.report_progress(task.name, epoch, task.epochs)
            with seeded(self.device, derived_seed(self.seed, EPOCH, task.index, epoch)) as seed:
                stopped = self._epoch(task, model, optimizer, epoch, seed)
            if stopped or (task.stop is not None and task.stop(model, None)):
                return True
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            self.checkpoints.save_current(task.index, {**state, "epochs": epoch + 1})
        return False

    def _epoch(self, task: Task, model: Any, optimizer: Any, epoch: int, seed: int) -> bool:
        model.train()
        for number, (x, y) in enumerate(self.data.shuffled(seed)):
            x, y = to_device(x, model, self.device), labels(y, count(x), self.device)
            optimizer.zero_grad(set_to_none=True)
            loss = task.loss(model, x, y)
            value = float(loss.detach())
            if not math.isfinite(value):
                where = f"({task.name}, epoch {epoch}, batch {number}, zero-based)"
                if not all(map(_is_finite, tensors_of(x))):
                    raise_invalid("data", f"contains NaN or infinity {where}", "drop or impute it")
                raise FloatingPointError(
                    f"the loss became {value} {where}; lower learning_rate, or scale the inputs"
                )
            loss.backward()
            optimizer.step()
            due = task.every > 0 and (number + 1) % task.every == 0
            if due and task.stop is not None and task.stop(model, value):
                return True
        return False


def derived_seed(seed: int, *purpose: int) -> int:
    """Return an independent seed for one purpose."""
    state = np.random.SeedSequence([seed, *purpose]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


@contextmanager
def seeded(device: Any, seed: int) -> Iterator[int]:
    """Seed the global generators that `device` uses, and restore their states afterwards."""
    # torch.manual_seed would seed the generators of all devices, which takes milliseconds.
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
    """Return a device that is available for computations; None is the CPU."""
    try:
        found = torch.device("cpu" if device is None else device)
        torch.empty(1, device=found)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).split("\n")[0]
        raise_invalid(
            "device",
            f"is {device!r}, which cannot be used here ({reason})",
            "pass None for the CPU, or a device that torch has",
        )
    if found.type == "meta":
        raise_invalid("device", "is 'meta', which has no data", "pass None for the CPU")
    return found


def build(factory: Callable[[], Any], data: Data, device: Any) -> Any:
    """Return a new network on `device`, with lazy layers initialised from the data."""
    model = factory()
    if not isinstance(model, nn.Module):
        raise_invalid("model_factory", f"returned {type(model).__name__}", "return a new nn.Module")
    model.to(device)
    if any(isinstance(p, nn.parameter.UninitializedParameter) for p in model.parameters()):
        with evaluating(model):
            call(model, to_device(take(next(data.in_order())[0], slice(1)), model, device))
    return model


def to_device(x: Any, model: Any, device: Any) -> Any:
    """Return `x` on `device`, floating-point values in the dtype of the model's parameters."""
    dtype = next((p.dtype for p in model.parameters() if p.is_floating_point()), None)

    def move(tensor: Any) -> Any:
        return tensor.to(device, dtype if tensor.is_floating_point() else None, non_blocking=True)

    return map_tensors(move, x)


def _is_finite(tensor: Any) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())


def call(model: Any, x: Any) -> Any:
    """Return the outputs of a model, with the inputs of a dict as keyword arguments.

    Of an object or a dict of outputs, as models of language return them, the logits.
    """
    outputs = model(**x) if is_dict(x) else model(x)
    if is_dict(outputs) and "logits" in outputs:
        return outputs["logits"]
    return outputs if isinstance(outputs, torch.Tensor) else getattr(outputs, "logits", outputs)


def labels(y: Any, n: int, device: Any) -> Any:
    """Return the class indices of a batch of n on `device`."""
    if y is None:
        raise_invalid(
            "data", "has no labels", "pass (X, y), a dataset of (x, y), or a DataLoader of one"
        )
    y = torch.as_tensor(y)
    if y.is_floating_point() or y.is_complex() or y.dtype == torch.bool or y.shape != (n,):
        raise_invalid(
            "y",
            f"has dtype {y.dtype} and shape {tuple(y.shape)} in a batch of {n}",
            "pass one integer class index per instance",
        )
    if len(y) and int(y.min()) < 0:
        raise_invalid("y", f"contains {int(y.min())}", "classes are numbered from 0")
    return y.to(device, torch.long, non_blocking=True)


def cross_entropy(model: Any, x: Any, y: Any) -> Any:
    """Return minus the mean log-likelihood of a batch."""
    return nn.functional.cross_entropy(logits(model, x, y), y)


def logits(model: Any, x: Any, y: Any = None, *, ends: tuple[int, ...] = ()) -> Any:
    """Return the outputs ``(n, *ends, K)`` of a model; raise ValueError if `y` has larger labels.

    `ends` is ``(2,)`` for models that end in an `IntervalHead`.
    """
    outputs = call(model, x)
    expected = (count(x), *ends)
    tensor = isinstance(outputs, torch.Tensor)
    if not tensor or outputs.shape[:-1] != expected:
        shape = tuple(outputs.shape) if tensor else type(outputs).__name__
        fix = "end in an IntervalHead, shape (n, 2, K)" if ends else "return logits of shape (n, K)"
        raise_invalid(
            "model_factory",
            f"returned a model that maps {_shape(x)} to {shape}",
            f"it must {fix}",
        )
    if y is not None and len(y) and int(y.max()) >= outputs.shape[-1]:
        raise_invalid(
            "y",
            f"contains class {int(y.max())}, but the model has {outputs.shape[-1]} outputs",
            "number the classes from 0, or add outputs to the last layer",
        )
    return outputs


def _shape(x: Any) -> Any:
    """Return the shapes of inputs, for errors."""
    shapes = map_tensors(lambda tensor: tuple(tensor.shape), x)
    return shapes if is_dict(x) else tuple(shapes)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Set a model to evaluation mode without gradients, and restore the modes afterwards."""
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

    No term is positive, so a partial sum is an upper bound: once it is below `floor`, it is
    returned and the remaining terms are not computed. Random augmentations of the data are seeded.
    """
    total, n = 0.0, len(data)
    with seeded(device, seed), evaluating(model):
        for x, y in data.in_order():
            y = labels(y, count(x), device)
            outputs = logits(model, to_device(x, model, device), y)
            losses = nn.functional.cross_entropy(outputs, y, reduction="none")
            total -= float(losses.cpu().double().sum())
            if total < floor * n:
                break
    return total / n
