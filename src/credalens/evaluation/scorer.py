"""Scorers of scikit-learn for metrics of selective prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation.arguments import fraction, score_keys
from credalens.evaluation.curve_metrics import METRICS
from credalens.evaluation.estimators import (
    brier_losses,
    credal_predictions,
    label_probabilities,
    probabilities,
)
from credalens.evaluation.losses import instance_losses, instance_weights, labels_of
from credalens.evaluation.score_functions import Score, name_of, score_function
from credalens.evaluation.selective import compute_metrics
from credalens.sets import as_credal_set

#: The measure that needs probabilities only.
CONFIDENCE = "confidence"


@dataclass(frozen=True)
class SelectiveScorer:
    """A scorer ``scorer(estimator, X, y, sample_weight=None)``; see `make_selective_scorer`.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.make_selective_scorer("augrc", measure="tv epistemic")
    SelectiveScorer(metric='augrc', measure='tv epistemic', loss=None, max_rejection=1.0)
    """

    #: Name of the metric.
    metric: str
    #: The uncertainty score.
    measure: Score
    #: The loss of a prediction.
    loss: str | Callable[[Any, Any], Any] | None
    #: Largest rejected share of the prediction-rejection ratio.
    max_rejection: float

    @property
    def __name__(self) -> str:
        """Metric and measure, as in ``"augrc tv"``."""
        return f"{self.metric} {name_of(self.measure)}"

    @property
    def greater_is_better(self) -> bool:
        """Whether the metric, rather than its negative, is returned."""
        return METRICS[self.metric]

    def __call__(self, estimator: Any, X: Any, y_true: Any, sample_weight: Any = None) -> float:
        """Return the metric on test data, negated if smaller values are better.

        Parameters
        ----------
        estimator : fitted classifier
        X : array-like of shape (n, n_features)
        y_true : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        labels = labels_of(y_true, "y_true")
        losses = self._losses(estimator, X, labels)
        weights = instance_weights(sample_weight, len(losses))
        keys = score_keys(self._scores(estimator, X))
        found = compute_metrics(losses, weights, keys, "average", self.max_rejection)
        value = float(getattr(found, self.metric))
        return value if self.greater_is_better else -value

    def _losses(self, estimator: Any, X: Any, y: Array) -> Array:
        if self.loss == "brier":
            return brier_losses(*label_probabilities(estimator, X, y))
        return instance_losses(y, estimator.predict(X), self.loss, ("y_true", "predictions"))

    def _scores(self, estimator: Any, X: Any) -> Any:
        if self.measure == CONFIDENCE:
            return 1 - probabilities(estimator, X).astype(np.float64).max(axis=1)
        Q = as_credal_set(credal_predictions(estimator, X))
        return score_function(self.measure, "measure")(Q)


def make_selective_scorer(
    metric: str = "augrc",
    *,
    measure: Score = "tv",
    loss: str | Callable[[Any, Any], Any] | None = None,
    max_rejection: float = 1.0,
) -> SelectiveScorer:
    """Return a scorer for scikit-learn from a metric of `selective_metrics`.

    Parameters
    ----------
    metric : {"aurc", "eaurc", "auarc", "augrc", "eaugrc", "prr", "auroc"}, default="augrc"
        The metric. Metrics of which smaller values are better are negated, as in ``"neg_log_loss"``
        of scikit-learn, so that larger values of the scorer are better.
    measure : str, distance or callable, default="tv"
        The uncertainty score: a row of the measure table (``"upper_entropy"``), a family and a
        component (``"tv epistemic"``), a family or a distance (its total uncertainty), or a
        function of a batch of credal sets. ``"confidence"`` is 1 minus the largest probability of
        ``predict_proba``.
    loss : {"zero_one", "brier"} or callable, optional
        The loss of a prediction, by default 1 for an error of ``predict`` and 0 otherwise.
        ``"brier"`` uses ``predict_proba``; a function takes labels and predictions.
    max_rejection : float in (0, 1], default=1
        Largest rejected share of the prediction-rejection ratio.

    Returns
    -------
    SelectiveScorer
        For ``scoring=`` of `GridSearchCV`, `cross_val_score` and the like.

    Notes
    -----
    Estimators of `credalens.predictors` predict credal sets, also as the last step of a pipeline or
    as the best estimator of a search. Of other classifiers, ``predict_proba`` is a credal set of
    one distribution: total uncertainty under total variation is then 1 minus the largest
    probability, and epistemic uncertainty is 0. A metric that is undefined on a test part is NaN.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> import credalens as cl
    >>> X, y = load_iris(return_X_y=True)
    >>> scorer = cl.make_selective_scorer("augrc", measure="confidence")
    >>> search = GridSearchCV(LogisticRegression(max_iter=500), {"C": [1e-3, 1]}, scoring=scorer)
    >>> search.fit(X, y).best_params_
    {'C': 1}
    """
    _validation.one_of(metric, "metric", METRICS)
    if isinstance(loss, str):
        _validation.one_of(loss, "loss", ("zero_one", "brier"))
    if measure != CONFIDENCE:
        score_function(measure, "measure")
    most = fraction(max_rejection, "max_rejection", one=True)
    return SelectiveScorer(metric, measure, loss, most)
