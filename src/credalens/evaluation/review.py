"""Which predictions to keep and which to review: a threshold on a score, and what supports it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation.arguments import fraction
from credalens.evaluation.guarantee import Guarantee, guaranteed_threshold

#: Accuracies that are tried if none is requested.
TARGETS = (0.99, 0.95, 0.9)
#: Share of the predictions to review if neither labels nor the caller determine a threshold.
REVIEWED_SHARE = 0.1
#: Of several accuracies, the largest at which at least this share can be kept is chosen.
LEAST_KEPT = 0.5


@dataclass(frozen=True, eq=False)
class Review:
    """A threshold on a score: predictions with a larger score are reviewed; see `choose_review`."""

    #: Predictions with at most this score are kept.
    threshold: float
    #: Number of predictions to review.
    n_review: int
    #: What determines the threshold: ``"given"``, ``"labels"`` or ``"share"``.
    source: str
    #: Results of `guaranteed_threshold`, one per accuracy that was tried, largest accuracy first.
    guarantees: tuple[Guarantee, ...] = ()

    @property
    def best(self) -> Guarantee | None:
        """The guarantee of the chosen accuracy; None if no part can be kept, or without labels."""
        return _chosen(self.guarantees)


def choose_review(
    score: Any,
    correct: Any = None,
    *,
    threshold: float | None = None,
    share: float | None = None,
    target: float | None = None,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> Review:
    """Choose which predictions to review, from labels, a budget or a threshold.

    Parameters
    ----------
    score : array-like of shape (n,)
        Larger means more uncertain.
    correct : array-like of bool, shape (n,), optional
        Whether each prediction is correct.
    threshold : float, optional
        Review the predictions with a larger score.
    share : float in (0, 1), optional
        Review this share of the predictions, more if scores are equal.
    target : float in (0, 1), optional
        Accuracy of the predictions that are kept, which needs `correct`.
    confidence : float in (0, 1), default=0.95
        Confidence level of the guarantees, all of them together.
    random_state : int, RandomState, Generator or None
        That of `guaranteed_threshold`.

    Returns
    -------
    Review

    Notes
    -----
    With labels, and if nothing else is requested, the accuracies 0.99, 0.95 and 0.9 are tried; the
    largest at which at least half of the predictions can be kept determines the threshold, or else
    the one at which most can. Where labels determine no threshold, or all predictions can be
    kept, the share is 0.1.

    Examples
    --------
    >>> import numpy as np
    >>> score = np.linspace(0, 1, 5000)
    >>> correct = np.random.default_rng(0).random(5000) > score / 5
    >>> review = choose_review(score, correct)
    >>> review.source, review.best.target, review.n_review < 2500
    ('labels', 0.9, True)
    >>> choose_review(score, share=0.2).n_review
    1000
    """
    values = _validation.finite(score, "score").astype(np.float64, copy=False)
    guarantees: tuple[Guarantee, ...] = ()
    if correct is not None:
        targets = TARGETS if target is None else (fraction(target, "target_accuracy"),)
        level = 1 - (1 - confidence) / len(targets)  # Bonferroni correction
        guarantees = tuple(
            guaranteed_threshold(correct, values, one, level, random_state) for one in targets
        )
    elif target is not None:
        _validation.raise_invalid(
            "target_accuracy", "needs labels, and there are none", "pass labels, or a share"
        )
    best, source = _chosen(guarantees), "given"
    if threshold is None and share is None and best is not None and best.threshold != math.inf:
        threshold, source = best.threshold, "labels"
    if threshold is None:
        share = REVIEWED_SHARE if share is None else fraction(share, "share")
        threshold, source = _threshold_of_share(values, share), "share"
    threshold = _validation.number(threshold, "review_threshold", least=0)
    return Review(threshold, int(np.count_nonzero(values > threshold)), source, guarantees)


def _chosen(guarantees: tuple[Guarantee, ...]) -> Guarantee | None:
    possible = [one for one in guarantees if one.threshold is not None]
    enough = (one for one in possible if one.kept >= LEAST_KEPT)
    return next(enough, max(possible, key=lambda one: one.kept, default=None))


def _threshold_of_share(values: Array, share: float) -> float:
    """Return the largest threshold that at least this share of the values exceeds.

    It lies between two values, so that rounding of the scores does not matter. If the smallest
    values, which are equal, would have to exceed it, it is this value.
    """
    count = math.ceil(share * len(values) - 1e-9)
    if not count:
        return 0.0
    least = float(np.partition(values, len(values) - count)[len(values) - count])
    smaller = values[values < least]
    return (float(smaller.max()) + least) / 2 if len(smaller) else least
