"""Out-of-distribution detection: how well a score separates two samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens.distances import Distance
from credalens.evaluation.arguments import fraction, n_workers, score_keys
from credalens.evaluation.score_functions import Score, named_scores
from credalens.measures import Interval
from credalens.sets import as_credal_set

#: The class to detect.
POSITIVES = ("out", "in")
#: The metrics of a detector.
OOD_METRICS = ("auroc", "aupr", "fpr")


@dataclass(frozen=True, eq=False, repr=False)
class OODScores(TableResult):
    """Metrics of an out-of-distribution detector and its ROC curve; see `ood_scores`.

    ``len(scores)`` is the number of points on the curves.

    Examples
    --------
    >>> import credalens as cl
    >>> scores = cl.ood_scores([0.1, 0.2, 0.3], [0.25, 0.8])
    >>> round(scores.auroc, 3), scores.n_in, scores.n_out
    (0.833, 3, 2)
    """

    #: Number of in-distribution instances.
    n_in: int
    #: Number of out-of-distribution instances.
    n_out: int
    #: Area under the ROC curve: the probability that an out-of-distribution instance scores
    #: higher, with ties counted half.
    auroc: float
    #: Area under the precision-recall curve as a step function (average precision).
    aupr: float
    #: Smallest false positive rate of a threshold whose true positive rate is at least `tpr`.
    fpr: float
    #: The true positive rate at which `fpr` is reported.
    tpr: float
    #: The positive class, "out" or "in".
    positive: str
    #: False positive rate at each threshold, from 0 to 1.
    false_positive_rate: Array
    #: True positive rate at each threshold, from 0 to 1.
    true_positive_rate: Array
    #: Precision at each threshold, 1 at the first point.
    precision: Array

    _repr_rows: ClassVar[int] = 0

    def _columns(self) -> dict[str, Array]:
        names = ("false_positive_rate", "true_positive_rate", "precision")
        return {name: getattr(self, name) for name in names}

    def _summary(self) -> str:
        return (
            f"OODScores(auroc={self.auroc:.4f}, aupr={self.aupr:.4f}, "
            f"fpr at {self.tpr:.0%} tpr={self.fpr:.4f}, positive={self.positive!r}, "
            f"n_in={self.n_in}, n_out={self.n_out})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class OODComparison(TableResult, Mapping[str, OODScores]):
    """Several scores as out-of-distribution detectors; see `ood_scores`.

    A mapping of the names of the scores to their `OODScores`, in the order given. `to_pandas` has
    one row per score and one column per metric.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> inside, outside = rng.dirichlet([9, 1, 1], (50, 4)), rng.dirichlet([1, 1, 1], (20, 4))
    >>> found = cl.ood_scores(inside, outside, ["tv total", "upper_entropy"])
    >>> list(found), found["tv total"].n_out
    (['tv total', 'upper_entropy'], 20)
    >>> found.to_pandas().columns.tolist()
    ['auroc', 'aupr', 'fpr']
    """

    #: The result of each score.
    scores: Mapping[str, OODScores]
    #: The metrics in the table.
    metrics: tuple[str, ...] = OOD_METRICS

    def __getitem__(self, name: str) -> OODScores:
        return self.scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def _columns(self) -> dict[str, list[float]]:
        each = self.scores.values()
        return {metric: [getattr(one, metric) for one in each] for metric in self.metrics}

    def _index(self) -> tuple[str, list[str]]:
        return "score", list(self.scores)

    def _summary(self) -> str:
        one = next(iter(self.scores.values()))
        return f"OODComparison(n_in={one.n_in}, n_out={one.n_out}, positive={one.positive!r})"


@overload
def ood_scores(
    score_in: Any,
    score_out: Any,
    score: str | Distance | Callable[[Any], Any] | None = ...,
    *,
    metrics: Sequence[str] = ...,
    tpr: float = ...,
    positive: str = ...,
    n_jobs: int | None = ...,
) -> OODScores: ...
@overload
def ood_scores(
    score_in: Any,
    score_out: Any,
    score: Sequence[Score] | Mapping[str, Score],
    *,
    metrics: Sequence[str] = ...,
    tpr: float = ...,
    positive: str = ...,
    n_jobs: int | None = ...,
) -> OODComparison: ...
def ood_scores(
    score_in: Any,
    score_out: Any,
    score: Any = None,
    *,
    metrics: Sequence[str] = OOD_METRICS,
    tpr: float = 0.95,
    positive: str = "out",
    n_jobs: int | None = None,
) -> OODScores | OODComparison:
    """Return AUROC, AUPR and false positive rate of a score as an out-of-distribution detector.

    Parameters
    ----------
    score_in, score_out : array-like of shape (n,), or Interval
        Scores of in-distribution and of out-of-distribution instances. Larger means more
        uncertain. Intervals are ordered by the lower end, then the upper end; use `summarize` for
        another order. If `score` is given: credal sets, or members ``(n, M, K)``.
    score : str, distance, callable, a sequence of these, or a mapping of names to these, optional
        Scores of credal sets: a row of the measure table (``"upper_entropy"``), a family and a
        component (``"tv epistemic"``), a family or a distance (its total uncertainty), or a
        function from a batch of credal sets to one number, or an `Interval`, per set.
    metrics : sequence of {"auroc", "aupr", "fpr"}, default=("auroc", "aupr", "fpr")
        The columns of the table of several scores.
    tpr : float in (0, 1], default=0.95
        True positive rate at which the false positive rate is reported.
    positive : {"out", "in"}, default="out"
        The class to detect. With ``"out"`` the false positive rate is the share of in-distribution
        instances above the threshold that detects 95 % of the others; with ``"in"`` the share of
        out-of-distribution instances below the threshold that accepts 95 % of the others. Both
        conventions are in use; AUROC is the same, AUPR and FPR are not.
    n_jobs : int, optional
        Number of scores that are computed at the same time, in threads; -1 uses all cores.

    Returns
    -------
    OODScores, or OODComparison for a sequence or mapping of scores

    Notes
    -----
    Exact, from one sort in O(n log n): instances of equal score share a threshold, and nothing is
    interpolated. AUPR is the sum of precision times the increase in recall. A score without
    information has an AUPR equal to the share of positives.

    Examples
    --------
    >>> import credalens as cl
    >>> scores = cl.ood_scores([0.1, 0.2, 0.4, 0.3], [0.9, 0.4, 0.8])
    >>> round(scores.auroc, 4), round(scores.aupr, 4), scores.fpr
    (0.9583, 0.9167, 0.25)
    """
    _validation.one_of(positive, "positive", POSITIVES)
    tpr = fraction(tpr, "tpr", one=True)
    for metric in metrics:
        _validation.one_of(metric, "metrics", OOD_METRICS)
    workers = n_workers(n_jobs)
    if score is None:
        return _detector(score_in, score_out, tpr, positive)
    functions = named_scores(score)
    sets = as_credal_set(score_in), as_credal_set(score_out)

    def evaluate(function: Callable[[Any], Any]) -> OODScores:
        return _detector(function(sets[0]), function(sets[1]), tpr, positive)

    with ThreadPoolExecutor(min(workers, len(functions))) as pool:
        found = dict(zip(functions, pool.map(evaluate, functions.values()), strict=True))
    if isinstance(score, str | Distance) or callable(score):
        return next(iter(found.values()))
    return OODComparison(found, tuple(metrics))


def _detector(score_in: Any, score_out: Any, tpr: float, positive: str) -> OODScores:
    inside, outside = _counts(score_in, score_out)
    hits, alarms = outside, inside
    if positive == "in":  # ranked from the least uncertain
        hits, alarms = inside[::-1], outside[::-1]
    tp, fp = np.cumsum(hits), np.cumsum(alarms)
    precision, recall = tp / (tp + fp), tp / tp[-1]
    # Twice the area in integers: false positives of a step times the true ones up to its middle.
    doubled = int(alarms @ (2 * tp - hits))
    return OODScores(
        n_in=int(inside.sum()),
        n_out=int(outside.sum()),
        auroc=doubled / (2 * int(tp[-1]) * int(fp[-1])),
        aupr=math.fsum(precision * hits) / int(tp[-1]),
        fpr=float((fp / fp[-1])[np.argmax(recall >= tpr)]),
        tpr=tpr,
        positive=positive,
        false_positive_rate=np.concatenate([[0.0], fp / fp[-1]]),
        true_positive_rate=np.concatenate([[0.0], recall]),
        precision=np.concatenate([[1.0], precision]),
    )


def _counts(score_in: Any, score_out: Any) -> tuple[Array, Array]:
    """Return the numbers of inside and outside instances at each distinct score, descending."""
    if isinstance(score_in, Interval) != isinstance(score_out, Interval):
        _validation.raise_invalid(
            "score_out",
            "is not of the type of score_in",
            "pass two Intervals or two arrays; see cl.summarize",
        )
    columns = []
    for name, score in (("score_in", score_in), ("score_out", score_out)):
        columns.append(np.stack(score_keys(score, name), axis=1))
        if not len(columns[-1]):
            _validation.raise_invalid(name, "is empty", "pass at least one score")
    keys = np.concatenate(columns)
    order = np.lexsort(-keys.T[::-1])
    group = np.cumsum(np.any(keys[order] != keys[np.roll(order, 1)], axis=1))
    group -= group[0]
    outside = np.bincount(group, weights=order >= len(columns[0])).astype(np.int64)
    return np.bincount(group) - outside, outside
