"""The score that ranks errors best, and whether it is clearly better than the default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens.evaluation.arguments import fraction
from credalens.evaluation.compare import compare_scores
from credalens.measures import Interval

#: Largest number of rows of the paired bootstrap; of more, a random sample is compared.
COMPARED_ROWS = 1_000_000


@dataclass(frozen=True)
class BestScore:
    """The score with the largest area under the accuracy-rejection curve; see `best_score`."""

    name: str
    default: str
    #: The areas of both.
    auc: float
    default_auc: float
    #: Ends of the confidence interval of the difference, NaN without resamples.
    low: float
    high: float
    confidence: float
    #: Number of scores that were compared with the default.
    n_compared: int

    @property
    def clearly_better(self) -> bool:
        """Whether the interval of the difference is above 0."""
        return self.low > 0

    def describe(self) -> str:
        """Return one or two sentences for the reader of an evaluation."""
        best = f"Best score: {self.name}, AUC {100 * self.auc:.2f} %"
        if self.name == self.default:
            return f"{best}, the default."
        points = 100 * (self.auc - self.default_auc)
        text = f"{best}, {points:.2f} points above {self.default}, the default"
        if np.isnan(self.low):
            return f"{text}; without bootstrap resamples it is unknown whether by chance."
        among = f", {self.n_compared} scores compared" if self.n_compared > 1 else ""
        interval = (
            f"{self.confidence:.0%} interval {100 * self.low:.2f} to {100 * self.high:.2f}{among}"
        )
        if self.clearly_better:
            return f"{text} ({interval}). Rank by {self.name} instead."
        return f"{text} ({interval}). The difference may be chance."


def best_score(
    correct: Any,
    scores: Mapping[str, Any],
    areas: Mapping[str, float],
    *,
    default: str | None = None,
    n_bins: int = 30,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    random_state: Any = 0,
) -> BestScore:
    """Return the score with the largest area, compared with the default by a paired bootstrap.

    Parameters
    ----------
    correct : array-like of bool, shape (n,)
        Whether each prediction is correct.
    scores : mapping of str to array-like of shape (n,) or Interval
        The scores by name.
    areas : mapping of str to float
        `RejectionCurve.auc` of each score.
    default : str, optional
        Name of the score that the best one is compared with; by default the first.
    n_bins, n_resamples, confidence, random_state
        As in `compare_scores`. Of more than a million rows, a random sample is resampled.

    Returns
    -------
    BestScore

    Notes
    -----
    The best of S scores is compared with the default at the level ``1 - (1 - confidence) / (S -
    1)`` (Bonferroni), so that the choice among them does not make a difference by chance likely.

    Examples
    --------
    >>> import numpy as np
    >>> score = np.linspace(0, 1, 2000)
    >>> correct = np.random.default_rng(0).random(2000) > score / 2
    >>> found = best_score(correct, {"none": score * 0, "good": score}, {"none": 0.75, "good": 0.9})
    >>> found.name, found.clearly_better
    ('good', True)
    """
    names = list(scores)
    default = names[0] if default is None else default
    # Of equal areas, the default, then the first.
    best = max([default, *names], key=lambda name: areas[name])
    others = len(names) - 1
    low = high = np.nan
    if best != default and n_resamples:
        rows = np.arange(len(correct))
        if len(rows) > COMPARED_ROWS:
            rows = np.random.default_rng(0).choice(rows, COMPARED_ROWS, replace=False)
        level = 1 - (1 - fraction(confidence, "confidence")) / max(others, 1)
        found = compare_scores(
            np.asarray(correct)[rows],
            None,
            {name: _take(scores[name], rows) for name in (default, best)},
            metrics="auc",
            n_bins=n_bins,
            n_resamples=n_resamples,
            confidence=level,
            random_state=random_state,
        )
        _, low, high = found.difference[0, 1]
    return BestScore(
        best, default, areas[best], areas[default], float(low), float(high), confidence, others
    )


def _take(score: Any, rows: Array) -> Any:
    if isinstance(score, Interval):
        return Interval(*(np.asarray(end)[rows] for end in score))
    return np.asarray(score)[rows]
