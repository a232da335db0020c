"""Choice of the level of an alpha-cut by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credalens._backend import Array
from credalens.evaluation.likelihood import relative_likelihood
from credalens.evaluation.rejection import rejection_curve
from credalens.evaluation.vote import majority_vote
from credalens.measures import total_uncertainty
from credalens.sets import ConvexHull


@dataclass(frozen=True, eq=False)
class AlphaChoice:
    """Levels of an alpha-cut with their areas under the accuracy-rejection curve."""

    #: Candidate levels, increasing.
    alphas: Array
    #: Numbers of members that they keep.
    n_kept: NDArray[np.intp]
    #: Area of each fold ``(levels, folds)`` by total uncertainty.
    areas: Array
    #: Index of the chosen level.
    chosen: int

    @property
    def alpha(self) -> float:
        """The chosen level."""
        return float(self.alphas[self.chosen])


def candidate_levels(ratios: Array, min_members: int) -> tuple[Array, NDArray[np.intp]]:
    """Return levels between the relative likelihoods, and how many members each keeps.

    Levels are geometric means of consecutive likelihoods, so that small differences between the
    folds do not change the members; level 0 keeps all.

    Examples
    --------
    >>> import numpy as np
    >>> levels, kept = candidate_levels(np.array([1.0, 0.04, 0.25]), min_members=1)
    >>> levels, kept
    (array([0. , 0.1, 0.5]), array([3, 2, 1]))
    """
    falling = np.sort(ratios)[::-1]
    counts = np.arange(min(min_members, len(falling)), len(falling))
    counts = counts[falling[counts - 1] > falling[counts]][::-1]
    levels = np.sqrt(falling[counts - 1] * falling[counts])
    return np.append(0.0, levels), np.append(len(falling), counts).astype(np.intp)


def rejection_area(points: Array, labels: NDArray[np.intp]) -> float:
    """Return the area under the accuracy-rejection curve of the vote by total uncertainty."""
    hull = ConvexHull(points, validate=False)
    return rejection_curve(labels, np.asarray(majority_vote(hull)), total_uncertainty(hull)).auc


def choose_alpha(
    held_out: Array,
    labels: NDArray[np.intp],
    folds: NDArray[np.intp],
    fold_log_likelihoods: Array,
    ratios: Array,
    min_members: int,
) -> AlphaChoice:
    """Choose the smallest level whose area is within one standard error of the largest.

    Parameters
    ----------
    held_out : array of shape (n, M, K)
        Recalibrated members, each fold by maps that were fitted without it.
    labels, folds : arrays of shape (n,)
        Labels and fold of each instance.
    fold_log_likelihoods : array of shape (folds, M)
        Mean log-likelihoods of the members outside of each fold.
    ratios : array of shape (M,)
        Relative likelihoods on all instances, from which the levels are derived.
    min_members : int
        Smallest number of members to keep.
    """
    levels, n_kept = candidate_levels(ratios, min_members)
    areas = np.empty((len(levels), len(fold_log_likelihoods)))
    for fold, logs in enumerate(fold_log_likelihoods):
        rows = folds == fold
        own = relative_likelihood(logs, 1)
        for i, level in enumerate(levels):
            areas[i, fold] = rejection_area(held_out[rows][:, own >= level], labels[rows])
    best = int(areas.mean(axis=1).argmax())
    loss = areas[best] - areas
    error = loss.std(axis=1, ddof=1) / np.sqrt(areas.shape[1])
    chosen = int(np.argmax(loss.mean(axis=1) <= error))  # levels increase: the first keeps most
    return AlphaChoice(levels, n_kept, areas, chosen)
