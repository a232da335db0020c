"""Likelihoods of models relative to the best one, in logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array
from credalens.evaluation.likelihood import relative_likelihood


def log_likelihood(model: Any, X: Any, y: Array, weights: Array | None, scale: str) -> float:
    """Return the log-likelihood of labels under a fitted model, minus infinity if ruled out.

    The mean over the instances for ``scale="mean"``, the sum for ``"total"``; instances of weight
    0 do not count.
    """
    classes = np.asarray(model.classes_)
    at = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    predicted = np.asarray(model.predict_proba(X), np.float64)[np.arange(len(y)), at]
    predicted = np.where(classes[at] == y, predicted, 0.0)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
    counts = weights > 0
    with np.errstate(divide="ignore"):
        logs = np.log(predicted[counts])
    total = float(weights[counts] @ logs)
    return total / float(weights.sum()) if scale == "mean" else total


def relative_to_best(logs: Array) -> Array:
    """Return ``exp(logs - max(logs))``: 1 for the best, 0 where a label was ruled out.

    Examples
    --------
    >>> import numpy as np
    >>> relative_to_best(np.array([-100000.0, -100000.5, -np.inf])).round(4)
    array([1.    , 0.6065, 0.    ])
    """
    if logs.max() == -np.inf:
        _validation.refuse(
            "estimator",
            "every candidate gives probability 0 to a label that occurred, so that all likelihoods "
            "are 0",
            "pass estimators that rule nothing out (smoothed or calibrated)",
        )
    return relative_likelihood(logs, 1, "total")
