"""Losses and weights of instances, for metrics of selective prediction."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._warnings import warn_caller
from credalens.evaluation.labels import class_indices, is_missing

#: What `selective_metrics` accepts as `loss`.
Loss = str | Callable[[Any, Any], Any] | Any
#: The losses that have a name.
LOSSES = ("zero_one", "brier", "absolute", "squared")


def instance_losses(
    y: Any, pred: Any, loss: Loss = None, names: tuple[str, str] = ("y", "pred")
) -> Array:
    """Return the loss of each instance, boolean for the 0/1 loss and float64 otherwise.

    See `selective_metrics`; `names` are those of the arguments `y` and `pred`.
    """
    if loss is None or (isinstance(loss, str) and loss == "zero_one"):
        losses = _errors(y, pred, names)
    elif isinstance(loss, str):
        _validation.one_of(loss, "loss", LOSSES)
        losses = _brier(y, pred, names) if loss == "brier" else _deviations(y, pred, loss, names)
    else:
        losses = _given(loss(y, pred) if callable(loss) else loss)
        for name, labels in zip(names, (y, pred), strict=True):
            if labels is not None:
                check_length(np.shape(labels)[:1] or (0,), name, len(losses), "loss")
    if len(losses) == 0:
        _validation.raise_invalid(names[0], "is empty", "pass at least one instance")
    return losses


def instance_weights(sample_weight: Any, n: int) -> Array | None:
    """Return `sample_weight` as float64 of shape ``(n,)``, or None if all weights are 1."""
    if sample_weight is None:
        return None
    name = "sample_weight"
    weights = _validation.vector(_validation.finite(sample_weight, name), name)
    check_length(weights.shape, name, n, "y")
    _validation.raise_first(
        weights < 0, weights, name, "is {:.6g}{}, negative", "pass numbers >= 0"
    )
    total = float(weights.sum(dtype=np.float64))
    if total == 0:
        _validation.raise_invalid(name, "is 0 for every instance", "pass positive weights")
    if abs(total - 1) < 1e-6 and np.count_nonzero(weights) > 1:
        warn_caller(
            "sample_weight sums to 1, so that the metrics are those of one instance; a weight is a "
            f"number of instances: multiply by {n}",
            UserWarning,
        )
    return None if (weights == 1).all() else weights.astype(np.float64)


def drop_weightless(
    losses: Array, weights: Array | None, keys: list[Array]
) -> tuple[Array, Array | None, list[Array]]:
    """Return losses, weights and sort keys without the instances of weight 0."""
    if weights is None or weights.all():
        return losses, weights, keys
    rows = np.flatnonzero(weights)
    return losses[rows], weights[rows], [key[rows] for key in keys]


def check_length(shape: tuple[int, ...], name: str, n: int, like: str) -> None:
    """Raise if an argument does not have n entries."""
    if shape[0] != n:
        _validation.raise_invalid(name, f"has {shape[0]} entries", f"pass {n}, as in {like}")


def _errors(y: Any, pred: Any, names: tuple[str, str]) -> Array:
    if pred is None:
        return ~_correct(y, names)
    if np.ndim(pred) == 2:
        _validation.raise_invalid(
            names[1],
            f"has shape {np.shape(pred)}",
            'pass predicted labels, such as pred.argmax(axis=1), or loss="brier"',
        )
    truth, predicted = labels_of(y, names[0]), labels_of(pred, names[1])
    check_length(predicted.shape, names[1], len(truth), names[0])
    if (truth.dtype.kind in "biuf") != (predicted.dtype.kind in "biuf"):
        _validation.raise_invalid(
            names[1],
            f"has dtype {predicted.dtype}, {names[0]} has {truth.dtype}",
            "pass labels of the same kind",
        )
    return np.asarray(truth != predicted)


def _correct(y: Any, names: tuple[str, str]) -> Array:
    """Return `y`, which says whether each prediction is correct."""
    correct = _validation.vector(y, names[0])
    if correct.dtype.kind not in "biuf" or not np.isin(correct, (0, 1)).all():
        _validation.raise_invalid(
            names[1],
            "is None",
            f"pass the predictions, or as {names[0]} whether each is correct, True or False",
        )
    return correct.astype(bool)


def _given(loss: Any) -> Array:
    losses = _validation.vector(loss, "loss")
    if losses.dtype == np.bool_:
        return losses
    return _validation.finite(losses, "loss").astype(np.float64, copy=False)


def _brier(y: Any, pred: Any, names: tuple[str, str]) -> Array:
    probabilities = _validation.distributions(pred, names[1])
    if probabilities.ndim != 2:
        _validation.raise_invalid(
            names[1],
            f"has shape {probabilities.shape}",
            'pass probabilities of shape (n, classes) with loss="brier"',
        )
    labels = class_indices(y, probabilities.shape[:1], probabilities.shape[1])
    own = probabilities[np.arange(len(labels)), labels].astype(np.float64)
    squares = np.einsum("ij,ij->i", probabilities, probabilities, dtype=np.float64)
    return np.asarray(squares - 2 * own + 1)


def _deviations(y: Any, pred: Any, loss: str, names: tuple[str, str]) -> Array:
    truth, predicted = (
        _validation.vector(_validation.finite(x, name), name).astype(np.float64)
        for x, name in zip((y, pred), names, strict=True)
    )
    check_length(predicted.shape, names[1], len(truth), names[0])
    deviation = np.abs(truth - predicted)
    return np.asarray(deviation if loss == "absolute" else deviation**2)


def labels_of(y: Any, name: str) -> Array:
    """Return a vector of labels, numbers or strings, without missing values."""
    labels = _validation.vector(y, name)
    kind = labels.dtype.kind
    if kind == "S":
        return np.char.decode(labels, "utf-8")
    if kind == "O":
        missing = np.array([is_missing(label) for label in labels], bool)
    else:
        missing = np.isnan(labels) if kind == "f" else np.zeros(1, bool)
    if missing.any():
        first = int(np.argmax(missing))
        word = str(labels[first]).replace("nan", "NaN")
        _validation.raise_invalid(
            name, f"is {word} at index {first} (zero-based)", "drop unlabelled rows"
        )
    if kind == "O" and any(all(isinstance(y, one) for y in labels) for one in (str, Number)):
        return np.array(labels.tolist())  # infers the common dtype
    return labels
