"""Decalibration: probability intervals from the plausible shifts of one model's logits."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._warnings import warn_caller
from credalens.predictors.single_model import SingleModelClassifier
from credalens.sets import CredalSet, ProbabilityIntervals

#: A shift of this size that is still plausible is infinite.
LARGEST_SHIFT = 700.0


class DecalibrationClassifier(SingleModelClassifier):
    """A classifier whose credal sets are the predictions of one model with shifted logits.

    A constant is added to the logit of one class at a time, as long as the likelihood of the data
    is at least `alpha` times that of the model. The credal sets are the smallest probability
    intervals that contain all these predictions.

    Parameters
    ----------
    estimator : estimator or None
        A classifier with ``predict_proba``. By default logistic regression on standardised
        features.
    alpha : float in (0, 1], default=0.8
        Smallest relative likelihood of a shifted model, ``exp(mean ll - mean ll of the model)``:
        it refers to the mean over the instances, not to their product.
    validation : float in (0, 1) or None
        Share of the data to hold out for the likelihoods, stratified if each class has two
        instances; by default likelihoods are computed on the training data.
    random_state : int, RandomState or None
        Seeds the held-out share and the estimator.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.
    shifts_ : array of shape (K, 2)
        Smallest and largest shift of the logit of each class. Infinite if any shift is plausible,
        as downwards for a class that does not occur in the data.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    With the frequency ``r_k`` of class k and the prediction p, a shift x changes the mean
    log-likelihood by ``x r_k - mean log(1 - p_k + p_k e^x)``, which is concave in x and 0 at 0. One
    model and 2 K scalars describe all sets; a prediction costs O(K). The prediction of the model
    itself is in every set and is the point prediction.

    References
    ----------
    P. Hofman, T. Löhr, M. Muschalik, Y. Sale, E. Hüllermeier (2026), "Efficient credal prediction
    through decalibration".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from credalens.predictors import DecalibrationClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecalibrationClassifier(alpha=0.9).fit(X, y)
    >>> Q = model.predict_credal(X[70:71])
    >>> Q.lower().round(2), Q.upper().round(2)
    (array([[0.  , 0.12, 0.17]]), array([[0.18, 0.81, 0.88]]))
    """

    def __init__(
        self,
        estimator: Any = None,
        alpha: float = 0.8,
        *,
        validation: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.validation = validation
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the model and find the plausible shifts.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Passed to the estimator unchanged.
        y : array-like of shape (n,)
            The class of each instance.
        **fit_params
            ``sample_weight``, which also weights the likelihoods, or with metadata routing what the
            estimator requests.

        Returns
        -------
        self
        """
        alpha = _validation.fraction(self.alpha, "alpha", one=True)
        share = self.validation
        share = None if share is None else _validation.fraction(share, "validation")
        predictions, labels, weights = self._fit_and_predict(X, y, share, fit_params)
        if not weights.sum() > 0:
            _validation.raise_invalid(
                "sample_weight", "is 0 for all held-out instances", "pass positive weights"
            )
        weights = weights / weights.sum()
        self.shifts_ = plausible_shifts(predictions.astype(np.float64), labels, weights, alpha)
        self._warn_of_absent(labels, weights)
        return self

    def _warn_of_absent(self, labels: Array, weights: Array) -> None:
        seen = np.bincount(labels, weights, minlength=len(self.classes_)) > 0
        if not seen.all():
            names = ", ".join(map(str, self.classes_[~seen][:5]))
            warn_caller(
                f"y: no held-out instance has class {names}, whose lower probability is therefore "
                "0; pass validation=None, or more data",
                UserWarning,
            )

    def predict_credal(self, X: Any) -> CredalSet:
        """Return the `ProbabilityIntervals` of each instance.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Inputs, as in ``fit``.

        Returns
        -------
        ProbabilityIntervals
            A batch of n sets over the classes in ``classes_``.
        """
        predictions = self.predict_proba(X)
        return ProbabilityIntervals(*shifted_bounds(predictions, self.shifts_))


def plausible_shifts(predictions: Array, labels: Array, weights: Array, alpha: float) -> Array:
    """Return the smallest and largest shift of each logit with relative likelihood `alpha`.

    Parameters
    ----------
    predictions : array of shape (n, K)
        Predicted distributions.
    labels : array of shape (n,)
        Class indices.
    weights : array of shape (n,)
        Weights of the instances, which sum to 1.
    alpha : float
        The smallest relative likelihood.

    Returns
    -------
    array of shape (K, 2)
    """
    K = predictions.shape[1]
    share = np.bincount(labels, weights, minlength=K)
    with np.errstate(divide="ignore"):
        logs, rest = np.log(predictions), np.log1p(-np.minimum(predictions, 1.0))

    def is_plausible(x: Array) -> Array:
        change = x * share - weights @ np.logaddexp(rest, logs + x)
        return np.asarray(change >= math.log(alpha))

    shifts = np.empty((K, 2))
    for side, sign in enumerate((-1.0, 1.0)):
        inside, outside = np.zeros(K), np.full(K, sign * LARGEST_SHIFT)
        endless = is_plausible(outside)
        for _ in range(100):
            middle = (inside + outside) / 2
            plausible = is_plausible(middle)
            inside = np.where(plausible, middle, inside)
            outside = np.where(plausible, outside, middle)
        shifts[:, side] = np.where(endless, sign * math.inf, inside)
    return shifts


def shifted_bounds(predictions: Array, shifts: Array) -> tuple[Array, Array]:
    """Return the classwise bounds of predictions ``(n, K)`` over all shifts of one logit.

    A shift x of logit k multiplies the odds of class k by ``e^x`` and divides the probability of
    every other class by ``g_k = 1 - p_k + p_k e^x``; the extreme ones of the other classes are the
    two largest, or smallest, of all.
    """
    p = predictions.astype(np.float64)
    p = p / p.sum(axis=1, keepdims=True)
    rest = p.sum(axis=1, keepdims=True) - p
    bounds = []
    for own, other in ((0, 1), (1, 0)):
        with np.errstate(over="ignore"):
            growth, others = np.exp(shifts[:, own]), np.exp(shifts[:, other])
        with np.errstate(invalid="ignore"):
            # p e^x / (1 - p + p e^x), also for infinite e^x
            shifted = p / (p + rest / np.where(growth > 0, growth, 1.0))
            factor = np.where(p > 0, rest + p * others, 1.0)
        shifted = np.where((growth > 0) & (p > 0), shifted, np.where(rest > 0, 0.0, p))
        bounds.append((shifted, _extreme_of_others(factor, largest=other == 1)))
    low = np.minimum(bounds[0][0], p / bounds[0][1])
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.where(p > 0, np.maximum(bounds[1][0], p / bounds[1][1]), 0.0)
    dtype = predictions.dtype
    return np.minimum(low, p).astype(dtype), np.clip(high, p, 1.0).astype(dtype)


def _extreme_of_others(x: Array, *, largest: bool) -> Array:
    """Return the largest or smallest entry of the other columns, 1 if there are none."""
    n, K = x.shape
    if K == 1:
        return np.ones((n, 1))
    sign = 1.0 if largest else -1.0
    rows, first = np.arange(n), (sign * x).argmax(axis=1)
    best = x[rows, first]
    rest = sign * x
    rest[rows, first] = -np.inf
    second = sign * rest.max(axis=1)
    result = np.repeat(best[:, None], K, axis=1)
    result[rows, first] = second
    return result
