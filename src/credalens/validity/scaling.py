"""Maps that recalibrate the predictions of each member, and their fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from credalens._backend import Array
from credalens._extras import require

#: Largest absolute logarithm of a temperature.
MAX_LOG_TEMPERATURE = 5.0


class Scaling(Protocol):
    """A map of predictions ``(n, M, K)``, float64."""

    def __call__(self, points: Array) -> Array:
        """Return recalibrated predictions."""
        ...


def log_probabilities(points: Array) -> Array:
    """Return logarithms in float64; probabilities below the precision of the dtype count as that.

    The precision is that of single precision also for half precision.
    """
    small = np.finfo(np.float64 if points.dtype.itemsize > 4 else np.float32).eps
    return np.asarray(np.log(np.maximum(points.astype(np.float64), small)))


def softmax(scores: Array) -> Array:
    """Return the softmax along the last axis; the scores are overwritten."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


@dataclass(frozen=True, eq=False)
class TemperatureScaling:
    """``p_k ** (1 / T) / sum`` with one temperature T per member."""

    temperature: Array

    def __call__(self, points: Array) -> Array:
        """Return recalibrated predictions."""
        return softmax(log_probabilities(points) / self.temperature[:, None])

    @classmethod
    def fit(cls, points: Array, labels: NDArray[np.intp]) -> TemperatureScaling:
        """Minimise the mean log-loss plus ``log(T)**2 / (2 n)`` for each member."""
        logs = log_probabilities(points)
        columns = (logs[:, m] for m in range(logs.shape[1]))
        return cls(np.array([best_temperature(own[:, None], labels) for own in columns]))


def best_temperature(logs: Array, labels: NDArray[np.intp]) -> float:
    """Return the temperature of all members of ``(n, M, K)`` that is best for their mean.

    It minimises the mean log-loss of the mean of the members plus ``log(T)**2 / (2 n)``.
    """
    from scipy.optimize import minimize_scalar

    rows = np.arange(len(labels))

    def objective(log_temperature: float) -> float:
        mean = softmax(logs * np.exp(-log_temperature)).mean(axis=1)[rows, labels]
        loss = -np.log(np.maximum(mean, np.finfo(np.float64).tiny)).mean()
        return float(loss + log_temperature**2 / (2 * len(labels)))

    bounds = (-MAX_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE)
    found = minimize_scalar(objective, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x))


@dataclass(frozen=True, eq=False)
class VectorScaling:
    """``softmax(scale * log p + bias)`` with vectors ``(K,)`` per member."""

    scale: Array
    bias: Array

    def __call__(self, points: Array) -> Array:
        """Return recalibrated predictions."""
        return softmax(log_probabilities(points) * self.scale + self.bias)

    @classmethod
    def fit(cls, points: Array, labels: NDArray[np.intp]) -> VectorScaling:
        """Minimise the mean log-loss plus ``(|scale - 1|**2 + |bias|**2) / (2 n)``."""
        columns = (points[:, m] for m in range(points.shape[1]))
        each = [_fit_vectors(log_probabilities(own), labels) for own in columns]
        scale, bias = np.moveaxis(np.array(each), 1, 0)
        return cls(scale, bias)


def _fit_vectors(logs: Array, labels: NDArray[np.intp]) -> Array:
    """Return scale and bias ``(2, K)`` of one member with logarithms ``(n, K)``."""
    from scipy.optimize import minimize

    n, K = logs.shape
    rows = np.arange(n)

    def objective(parameters: Array) -> tuple[float, Array]:
        scale, bias = parameters.reshape(2, K)
        p = softmax(logs * scale + bias)
        loss = -np.log(np.maximum(p[rows, labels], np.finfo(np.float64).tiny)).mean()
        prior = np.concatenate([scale - 1, bias])
        p[rows, labels] -= 1
        gradient = np.concatenate([(p * logs).mean(axis=0), p.mean(axis=0)])
        return float(loss + prior @ prior / (2 * n)), gradient + prior / n

    start = np.concatenate([np.ones(K), np.zeros(K)])
    found = minimize(objective, start, jac=True, method="L-BFGS-B")
    return np.asarray(found.x).reshape(2, K)


@dataclass(frozen=True, eq=False)
class IsotonicScaling:
    """Isotonic regression of each class against the others, divided by the sum over the classes.

    A row of zeros becomes uniform, as in scikit-learn.
    """

    #: For each member and class, the increasing knots and the values there.
    knots: tuple[tuple[tuple[Array, Array], ...], ...]

    def __call__(self, points: Array) -> Array:
        """Return recalibrated predictions."""
        values = np.empty(points.shape)
        for m, classes in enumerate(self.knots):
            for k, (x, y) in enumerate(classes):
                values[:, m, k] = np.interp(points[:, m, k], x, y)
        sums = values.sum(axis=-1, keepdims=True)
        values[sums[..., 0] == 0] = 1.0
        return np.asarray(values / values.sum(axis=-1, keepdims=True))

    @classmethod
    def fit(cls, points: Array, labels: NDArray[np.intp]) -> IsotonicScaling:
        """Fit scikit-learn's `IsotonicRegression` for each member and class."""
        isotonic = require("sklearn.isotonic", "sklearn").IsotonicRegression
        _, M, K = points.shape

        def knots(m: int, k: int) -> tuple[Array, Array]:
            fitted = isotonic(y_min=0.0, y_max=1.0, out_of_bounds="clip")
            fitted.fit(points[:, m, k].astype(np.float64), labels == k)
            return fitted.X_thresholds_, fitted.y_thresholds_

        return cls(tuple(tuple(knots(m, k) for k in range(K)) for m in range(M)))


#: The fit of each method to predictions ``(n, M, K)`` and labels.
SCALINGS: dict[str, Callable[[Array, NDArray[np.intp]], Scaling]] = {
    "isotonic": IsotonicScaling.fit,
    "temperature": TemperatureScaling.fit,
    "vector": VectorScaling.fit,
}
