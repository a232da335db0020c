"""Split conformal prediction of credal sets that contain the label distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array, backend_of, to_numpy
from credalens.sets import ConvexHull, CredalSet, KLBall, OrdinalBall, TotalVariationBall
from credalens.validity.half_spaces import half_space_vertices

#: Nonconformity scores of a label distribution and a prediction.
SCORES = ("inner", "kl", "tv", "wasserstein")


@dataclass(frozen=True)
class ConformalSets:
    """A function that maps predictions to credal sets; returned by `conformal`.

    Examples
    --------
    >>> import credalens as cl
    >>> known = [[0.5, 0.5], [0.75, 0.25], [0.5, 0.5]]
    >>> sets = cl.validity.conformal([[0.5, 0.5], [0.5, 0.5], [0.75, 0.25]], known, alpha=0.25)
    >>> sets.quantile, sets([[0.5, 0.5]]).upper().tolist()
    (0.25, [[0.75, 0.75]])
    """

    #: Name of the nonconformity score.
    score: str
    #: Largest probability that a set does not contain the label distribution.
    alpha: float
    #: Size of the sets: the quantile of the calibration scores, infinite for all distributions.
    quantile: float
    n_classes: int
    #: The scores of the calibration instances in increasing order, ``(n,)``.
    scores: Array = field(repr=False)

    @property
    def n_calibration(self) -> int:
        """Number of calibration instances."""
        return len(self.scores)

    def __call__(self, predictions: Any) -> CredalSet:
        """Return the credal set of each prediction.

        Parameters
        ----------
        predictions : array-like of shape (..., K)
            Predicted distributions.

        Returns
        -------
        CredalSet
            `TotalVariationBall` for ``"tv"``, `KLBall` for ``"kl"``, `OrdinalBall` for
            ``"wasserstein"``, and the `ConvexHull` of the extreme points for ``"inner"``.
        """
        shape = np.shape(predictions)
        if not shape or shape[-1] != self.n_classes:
            _validation.raise_invalid(
                "predictions",
                f"has shape {tuple(shape)}",
                f"pass distributions over {self.n_classes} classes, as for the calibration",
            )
        if self.score == "tv":
            return TotalVariationBall(predictions, min(self.quantile, 1.0))
        if self.score == "kl":
            return KLBall(predictions, self.quantile)
        if self.score == "wasserstein":
            return OrdinalBall(predictions, self.quantile)
        rows = _validation.distributions(predictions, "predictions")
        points = backend_of(predictions).wrap(half_space_vertices(rows, 1 - self.quantile))
        return ConvexHull(points, validate=False)


def conformal(
    calibration_predictions: Any, calibration_targets: Any, score: str = "tv", alpha: float = 0.1
) -> ConformalSets:
    """Return a function from predictions to credal sets that contain the label distribution.

    Split conformal prediction: the sets consist of all distributions whose nonconformity score is
    at most a quantile of the scores of calibration data, which the model was not fitted to.

    Parameters
    ----------
    calibration_predictions : array-like of shape (n, K)
        Predicted distributions.
    calibration_targets : array-like of shape (n, K) or (n,)
        Label distributions, such as frequencies of annotators, or class indices.
    score : {"tv", "kl", "inner", "wasserstein"}, default="tv"
        Nonconformity of a label distribution t to the prediction p:

        - ``"tv"``: their total variation distance. The sets are `TotalVariationBall`.
        - ``"kl"``: ``KL(t || p)`` in bits. The sets are `KLBall`.
        - ``"inner"``: ``1 - sum_y t_y p_y``. The sets are the half-space where this is small,
          intersected with the simplex, by their extreme points.
        - ``"wasserstein"``: the Wasserstein-1 distance of ordered classes,
          ``sum_k |F_t(k) - F_p(k)|``. The sets are `OrdinalBall`.
    alpha : float in (0, 1), default=0.1
        The sets contain the label distribution with probability at least ``1 - alpha``.

    Returns
    -------
    ConformalSets
        Called with predictions ``(..., K)``, it returns their credal sets. ``.quantile`` is the
        size of the sets.

    Notes
    -----
    The quantile is the k-th smallest of the n scores with ``k = ceil((n + 1) (1 - alpha))``. If k
    exceeds n, the sets contain all distributions: no smaller set has the guarantee, which needs
    ``n >= 1 / alpha - 1``. With exchangeable instances the guarantee holds on average over
    calibration and new data, for any model, and without ties the probability is at most
    ``1 - alpha + 1 / (n + 1)``.

    What is covered are the targets as they were passed. The frequencies of few annotators are not
    the distribution that they are drawn from. Labels stand for Dirac measures, which makes the sets
    large; `Possibility.from_conformal` is the usual way to use labels.

    A half-space that contains no distribution is enlarged to the most probable class.

    References
    ----------
    A. Javanmardi, D. Stutz, E. Hüllermeier (2024), "Conformalized credal set predictors"; V. Vovk,
    A. Gammerman, G. Shafer (2005), "Algorithmic learning in a random world".

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> predictions = rng.dirichlet([4, 2, 1], 100)
    >>> targets = np.array([rng.multinomial(20, p) / 20 for p in predictions])
    >>> sets = cl.validity.conformal(predictions, targets, "tv", alpha=0.1)
    >>> Q = sets([0.7, 0.2, 0.1])
    >>> Q, round(float(Q.radius), 4)
    (TotalVariationBall(batch_shape=(), n_classes=3, dtype=float64), 0.1968)
    """
    predictions = _validation.distributions(calibration_predictions, "calibration_predictions")
    if predictions.ndim != 2:
        _validation.raise_invalid(
            "calibration_predictions",
            f"has shape {predictions.shape}",
            "pass one distribution per instance, shape (n, K)",
        )
    _validation.one_of(score, "score", SCORES)
    level = _validation.fraction(alpha, "alpha")
    predictions = predictions.astype(np.float64)
    targets = _targets(calibration_targets, predictions.shape)
    scores = np.sort(_scores(targets, predictions, score))
    return ConformalSets(score, level, quantile(scores, alpha), predictions.shape[1], scores)


def quantile(scores: Array, alpha: float) -> float:
    """Return the k-th smallest score, ``k = ceil((n + 1) (1 - alpha))``; infinite if k exceeds n.

    `scores` are sorted.
    """
    # As a decimal fraction: in floating point, 10 * (1 - 0.1) may round up to more than 9.
    k = math.ceil((len(scores) + 1) * (1 - Fraction(str(float(alpha)))))
    return float(scores[k - 1]) if k <= len(scores) else math.inf


def _targets(x: Any, shape: tuple[int, ...]) -> Array:
    """Return label distributions; class indices become Dirac measures."""
    given = to_numpy(x, "calibration_targets")
    n, K = shape
    if given.ndim == 1 and len(given) == n and given.dtype.kind in "iub":
        bad = (given < 0) | (given >= K)
        _validation.raise_first(
            bad,
            given,
            "calibration_targets",
            "is {:.0f}{}",
            f"pass class indices from 0 to {K - 1}",
        )
        return np.eye(K)[given.astype(np.intp)]
    if given.shape != shape:
        _validation.raise_invalid(
            "calibration_targets",
            f"has shape {given.shape} and dtype {given.dtype}",
            f"pass one distribution per prediction, shape {shape}, or class indices, shape ({n},)",
        )
    return _validation.distributions(x, "calibration_targets").astype(np.float64)


def _scores(targets: Array, predictions: Array, score: str) -> Array:
    """Return the nonconformity of each target to its prediction."""
    if score == "tv":
        return np.asarray(np.abs(targets - predictions).sum(axis=1) / 2)
    if score == "inner":
        return np.asarray(1 - (targets * predictions).sum(axis=1))
    if score == "wasserstein":
        return np.asarray(np.abs(np.cumsum(targets - predictions, axis=1)[:, :-1]).sum(axis=1))
    predictions = predictions / predictions.sum(axis=1, keepdims=True)
    positive = targets > 0
    with np.errstate(divide="ignore"):
        logs = np.log2(np.where(positive, targets, 1.0)) - np.log2(
            np.where(positive, predictions, 1.0)
        )
    return np.asarray(np.maximum(np.where(positive, targets * logs, 0.0).sum(axis=1), 0.0))
