"""Predictions of fitted estimators: credal sets, probabilities and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array, to_numpy

#: What to do with an estimator that predicts labels only.
FIX = "use a classifier that has one of them"


def credal_predictions(estimator: Any, X: Any, fix: str = FIX) -> Any:
    """Return the credal sets that an estimator predicts, or its probabilities as one member.

    Looks into pipelines, whose other steps transform X, and into searches, which have a
    ``best_estimator_``. `fix` is the advice of the error for other estimators.
    """
    if hasattr(estimator, "predict_credal"):
        return estimator.predict_credal(X)
    if hasattr(estimator, "best_estimator_"):
        return credal_predictions(estimator.best_estimator_, X, fix)
    if hasattr(estimator, "steps") and hasattr(estimator, "named_steps"):
        *transforms, (_, last) = estimator.steps
        for _, transform in transforms:
            if transform is not None and transform != "passthrough":
                X = transform.transform(X)
        return credal_predictions(last, X, fix)
    return probabilities(estimator, X, fix)[:, None]


def probabilities(estimator: Any, X: Any, fix: str = FIX) -> Array:
    """Return the predicted probabilities ``(n, K)``."""
    if not hasattr(estimator, "predict_proba"):
        _validation.raise_invalid(
            "estimator",
            f"{type(estimator).__name__} has neither predict_credal nor predict_proba",
            fix,
        )
    return to_numpy(estimator.predict_proba(X), "predict_proba")


def label_probabilities(estimator: Any, X: Any, y: Array) -> tuple[Array, Array]:
    """Return the predictions, and the probability of each label, 0 for an unknown one."""
    P = probabilities(estimator, X).astype(np.float64)
    classes = np.asarray(getattr(estimator, "classes_", np.arange(P.shape[1])))
    return P, np.where(y[:, None] == classes, P, 0.0).sum(axis=1)


def brier_losses(P: Array, own: Array) -> Array:
    """Return ``|p - e_y|^2`` from predictions and the probabilities of the labels."""
    return np.asarray((P**2).sum(axis=1) - 2 * own + 1)
