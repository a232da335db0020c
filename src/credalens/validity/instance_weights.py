"""Weights of a mixture of members that depend on the instance, by penalised maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens.validity.scaling import softmax

#: Largest number of features of the weights: principal components of what is given.
MAX_FEATURES = 20
#: Names of the features that are not given as an array.
WEIGHTS = ("constant", "predictions")


def weight_features(weights: Any, points: Array, fitted: NDArray[np.intp]) -> Array:
    """Return the features of the weights ``(n, d)``, the first of them constant.

    ``"constant"`` has no others. The predictions of all members, or an array ``(n, ...)``, are
    replaced by their leading principal components, at most `MAX_FEATURES`, scaled to unit
    variance; mean, components and scale are those of the rows `fitted`.
    """
    ones = np.ones((len(points), 1))
    if isinstance(weights, str):
        if _validation.one_of(weights, "weights", WEIGHTS) == "constant":
            return ones
        columns = points.reshape(len(points), -1).astype(np.float64)
    else:
        columns = _validation.finite(weights, "weights").astype(np.float64)
        if columns.ndim != 2 or len(columns) != len(points):
            _validation.raise_invalid(
                "weights",
                f"has shape {columns.shape}",
                f"pass features ({len(points)}, d), 'constant' or 'predictions'",
            )
    centered = columns - columns[fitted].mean(axis=0)
    variances, axes = np.linalg.eigh(centered[fitted].T @ centered[fitted] / len(fitted))
    leading = np.argsort(-variances)[:MAX_FEATURES]
    leading = leading[variances[leading] > 1e-10 * max(float(variances.max(initial=0.0)), 1e-300)]
    return np.hstack([ones, centered @ axes[:, leading] / np.sqrt(variances[leading])])


@dataclass(frozen=True, eq=False)
class SoftmaxWeights:
    """``softmax(x theta)`` of features x, fitted to labels.

    `theta` ``(d, M)`` minimises ``-sum_i log f_i(y_i) + |theta|**2 / 2`` with the mixtures
    ``f_i = sum_m w_m(x_i) p_im``.
    """

    theta: Array
    #: Inverse of the Fisher information of the labels plus the identity, ``(d M, d M)``.
    covariance: Array

    def __call__(self, features: Array) -> Array:
        """Return the weights ``(n, M)``."""
        return softmax(features @ self.theta)

    def changed(self, features: Array, scores: Array) -> Array:
        """Return the weights ``(b, n, M)`` after refits to other labels, to first order.

        `scores` ``(b, d, M)`` are the gradients of the log-likelihoods of these labels. The prior
        shrinks the refits as it did the fit.
        """
        steps = (scores - self.theta).reshape(len(scores), -1) @ self.covariance
        return softmax(features @ (self.theta + steps.reshape(scores.shape)))


def mixture(weights: Array, points: Array) -> Array:
    """Return the mixtures ``(..., n, K)`` of members ``(n, M, K)`` with weights ``(..., n, M)``."""
    return np.asarray(np.einsum("...nm,nmk->...nk", weights, points, optimize=True))


def label_scores(features: Array, weights: Array, likelihoods: Array) -> Array:
    """Return the gradients of the log-likelihood in theta, ``(..., d, M)``.

    For weights ``(n, M)`` and likelihoods of the labels ``(..., n, M)``.
    """
    joint = weights * likelihoods
    sums = joint.sum(axis=-1, keepdims=True)
    shares = np.divide(
        joint, sums, out=np.broadcast_to(weights, joint.shape).copy(), where=sums > 0
    )
    return np.asarray(features.T @ (shares - weights))


def fit_softmax_weights(features: Array, points: Array, labels: NDArray[np.intp]) -> SoftmaxWeights:
    """Fit `SoftmaxWeights` to members ``(n, M, K)`` and labels."""
    from scipy.optimize import minimize

    n, M, _ = points.shape
    d = features.shape[1]
    likelihoods = points[np.arange(n), :, labels].astype(np.float64)
    tiny = np.finfo(np.float64).tiny

    def objective(flat: Array) -> tuple[float, Array]:
        weights = softmax(features @ flat.reshape(d, M))
        logs = np.log(np.maximum((weights * likelihoods).sum(axis=1), tiny))
        gradient = label_scores(features, weights, likelihoods).ravel() - flat
        return float(flat @ flat / 2 - logs.sum()), -gradient

    found = minimize(objective, np.zeros(d * M), jac=True, method="L-BFGS-B")
    theta = np.asarray(found.x).reshape(d, M)
    information = _fisher_information(features, softmax(features @ theta), points)
    return SoftmaxWeights(theta, np.linalg.inv(information + np.eye(d * M)))


def _fisher_information(features: Array, weights: Array, points: Array) -> Array:
    """Return the Fisher information of theta, ``(d M, d M)``, of labels drawn from the mixtures."""
    d, M = features.shape[1], points.shape[1]
    joint = weights[..., None] * points
    sums = joint.sum(axis=1, keepdims=True)
    shares = np.divide(joint, sums, out=np.zeros_like(joint), where=sums > 0)
    # The covariance of the gradient at each instance, over its labels.
    spread = joint @ np.swapaxes(shares, 1, 2) - weights[:, :, None] * weights[:, None]
    result = np.empty((d, M, d, M))
    for m in range(M):
        for other in range(m + 1):
            block = (features * spread[:, m, other, None]).T @ features
            result[:, m, :, other] = result[:, other, :, m] = block
    return result.reshape(d * M, d * M)
