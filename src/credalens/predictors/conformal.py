"""Split conformal prediction with credal sets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from credalens import _validation
from credalens.predictors.single_model import SingleModelClassifier
from credalens.sets import CredalSet, Possibility
from credalens.validity.conformal_sets import SCORES, conformal

#: The sets of `credalens.validity.conformal`, and conformal possibility distributions.
CONFORMAL_SCORES = (*SCORES, "possibility")


class ConformalCredalClassifier(SingleModelClassifier):
    """A classifier whose credal sets contain the label with a given probability.

    The model is fitted to a part of the data; the rest, the calibration data, determines the size
    of the sets (`credalens.validity.conformal`).

    Parameters
    ----------
    estimator : estimator or None
        A classifier with ``predict_proba``. By default logistic regression on standardised
        features.
    alpha : float in (0, 1), default=0.1
        The sets contain the Dirac measure of the label with probability at least ``1 - alpha``.
    nonconformity : {"tv", "kl", "inner", "wasserstein", "possibility"}, default="tv"
        Nonconformity score, which determines the shape of the sets. ``"wasserstein"`` assumes that
        ``classes_``, the sorted labels, are in their order. ``"possibility"``: the sets are
        `Possibility.from_conformal` with one minus the predicted probability as the score; they do
        not depend on `alpha`, and the classes with a degree above any alpha are the conformal
        region of that level.
    calibration : float in (0, 1), default=0.3
        Share of the data that the model is not fitted to, drawn without stratification, which
        would violate exchangeability.
    random_state : int, RandomState or None
        Seeds the split and the estimator.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    conformal_ : ConformalSets or None
        The function from predictions to sets; its ``quantile`` is the size of the sets. ``None``
        for ``nonconformity="possibility"``.
    calibration_scores_ : array of shape (n_calibration,)
        The scores of the calibration data in increasing order.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The guarantee needs exchangeable instances, and ``1 / alpha - 1`` calibration instances; with
    fewer the sets contain all distributions. As labels are Dirac measures, the sets of the scores
    other than ``"possibility"`` are large. With label distributions, fit a model and pass its
    predictions to `credalens.validity.conformal`. ``sample_weight`` is passed to the estimator; the
    quantile is not weighted.

    References
    ----------
    A. Javanmardi, D. Stutz, E. Hüllermeier (2024), "Conformalized credal set predictors".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from credalens.predictors import ConformalCredalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalCredalClassifier(alpha=0.1, random_state=0).fit(X, y)
    >>> round(model.conformal_.quantile, 3)
    0.347
    >>> model.predict_set(X[[0, 70, 100]])
    array([[ True, False, False],
           [ True,  True,  True],
           [False, False,  True]])
    """

    def __init__(
        self,
        estimator: Any = None,
        alpha: float = 0.1,
        *,
        nonconformity: str = "tv",
        calibration: float = 0.3,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.nonconformity = nonconformity
        self.calibration = calibration
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the model to one part of the data and calibrate the sets on the other.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Passed to the estimator unchanged.
        y : array-like of shape (n,)
            The class of each instance.
        **fit_params
            ``sample_weight``, or with metadata routing what the estimator requests.

        Returns
        -------
        self
        """
        _validation.one_of(self.nonconformity, "nonconformity", CONFORMAL_SCORES)
        _validation.fraction(self.alpha, "alpha")
        share = _validation.fraction(self.calibration, "calibration")
        predictions, labels, _ = self._fit_and_predict(X, y, share, fit_params, stratify=False)
        if self.nonconformity == "possibility":
            self.conformal_ = None
            self.calibration_scores_ = np.sort(1 - predictions[np.arange(len(labels)), labels])
        else:
            self.conformal_ = conformal(predictions, labels, self.nonconformity, self.alpha)
            self.calibration_scores_ = self.conformal_.scores
        return self

    def predict_credal(self, X: Any) -> CredalSet:
        """Return the credal set of each instance; see `ConformalSets`.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        CredalSet
            A batch of n sets over the classes in ``classes_``.
        """
        predictions = self.predict_proba(X)
        if self.conformal_ is None:
            return Possibility.from_conformal(self.calibration_scores_, 1 - predictions)
        return self.conformal_(predictions)
