"""Comparison of scores on the same instances, with paired bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens.evaluation.arguments import fraction, score_keys
from credalens.evaluation.bootstrap import curve_areas, quantiles
from credalens.evaluation.curve_metrics import METRICS
from credalens.evaluation.losses import (
    Loss,
    check_length,
    drop_weightless,
    instance_losses,
    instance_weights,
)
from credalens.evaluation.rejection import rejected_counts
from credalens.evaluation.resampling import resample_rows
from credalens.evaluation.selective import SelectiveMetrics, compute_metrics, warn_undefined

#: The metrics that can be compared, and whether a larger value is better.
COMPARED: Mapping[str, bool] = {**METRICS, "auc": True}


@dataclass(frozen=True, eq=False, repr=False)
class ScoreComparison(TableResult):
    """Metrics of several scores and their differences to a baseline; see `compare_scores`.

    The last axis of the arrays is the estimate, the lower and the upper end of its confidence
    interval. `to_pandas` has one row per metric and score.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> correct = np.arange(200) % 10 != 0
    >>> scores = {"index": np.arange(200.0), "oracle": 1.0 - correct}
    >>> found = cl.compare_scores(correct, None, scores, metrics="auroc", random_state=0)
    >>> found
    ScoreComparison(baseline='index', 200 rows, confidence 0.95)
    score   metric  value   lower   upper  difference  difference_lower  difference_upper  verdict
    index    auroc  0.475  0.3372  0.6119           0                 0                 0
    oracle   auroc      1       1       1       0.525            0.3881            0.6628   better
    """

    #: Names of the scores.
    scores: tuple[str, ...]
    #: Names of the metrics.
    metrics: tuple[str, ...]
    #: Name of the score that the others are compared with.
    baseline: str
    #: Values of the metrics, ``(metrics, scores, 3)``.
    value: Array
    #: Value minus that of the baseline, ``(metrics, scores, 3)``.
    difference: Array
    #: Confidence level of the intervals.
    confidence: float
    #: Number of instances.
    n: int

    def verdict(self, score: str, metric: str) -> str:
        """Return "better" or "worse" than the baseline, "" if the interval contains 0."""
        _validation.one_of(score, "score", self.scores)
        _validation.one_of(metric, "metric", self.metrics)
        at = self.metrics.index(metric), self.scores.index(score)
        return verdict_of(metric, *self.difference[at][1:])

    def _columns(self) -> dict[str, Any]:
        pairs = [(metric, score) for metric in self.metrics for score in self.scores]
        columns: dict[str, Any] = {"metric": [metric for metric, _ in pairs]}
        names = ("value", "lower", "upper")
        columns |= dict(zip(names, self.value.reshape(-1, 3).T, strict=True))
        names = ("difference", "difference_lower", "difference_upper")
        columns |= dict(zip(names, self.difference.reshape(-1, 3).T, strict=True))
        return columns | {"verdict": [self.verdict(score, metric) for metric, score in pairs]}

    def _index(self) -> tuple[str, list[str]]:
        return "score", list(self.scores) * len(self.metrics)

    def _summary(self) -> str:
        rows = _validation.counted(self.n, "row")
        return (
            f"ScoreComparison(baseline={self.baseline!r}, {rows}, confidence {self.confidence:g})"
        )


def compare_scores(
    y: Any,
    pred: Any,
    scores: Mapping[str, Any],
    *,
    metrics: str | Sequence[str] = ("aurc", "augrc", "auroc"),
    baseline: str | None = None,
    loss: Loss = None,
    sample_weight: Any = None,
    n_bins: int = 30,
    max_rejection: float = 1.0,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    random_state: Any = None,
) -> ScoreComparison:
    """Compare scores by paired bootstrap intervals of the differences of their metrics.

    Parameters
    ----------
    y, pred : array-like of shape (n,)
        Labels and predictions as in `selective_metrics`; if `pred` is None, `y` is whether each
        prediction is correct.
    scores : mapping of str to array-like of shape (n,) or Interval
        The scores by name. Larger means more uncertain.
    metrics : str or sequence of str, default=("aurc", "augrc", "auroc")
        Metrics of `selective_metrics` by name, or ``"auc"``, that of `rejection_curve`.
    baseline : str, optional
        Name of the score that the others are compared with; by default the first.
    loss, sample_weight, max_rejection : optional
        As in `selective_metrics`. A row that is drawn keeps its weight.
    n_bins : int, default=30
        Number of points of the curve of ``"auc"``.
    n_resamples : int, default=2000
        Number of bootstrap resamples.
    confidence : float in (0, 1), default=0.95
        Confidence level of the percentile intervals, each on its own.
    random_state : int, RandomState, Generator or None
        Draws the resamples. The result depends on the seed, not on the number of threads.

    Returns
    -------
    ScoreComparison

    Notes
    -----
    Each resample draws n rows with replacement and computes the metrics of all scores on the same
    rows, with the exact expectation over tied scores. The interval of a difference is then narrower
    than those of the two values suggest, since both scores are computed on the same errors.

    The resamples have exactly the distribution of n draws with replacement: independent Poisson
    counts with a mean slightly below 1, which are multinomial given their sum, plus the draws that
    are missing, made one by one. A kernel computes 64 resamples at a time. The sum of the risks is
    exact to a relative error of about 1e-9, since harmonic numbers are replaced by cubics over
    short ranges. A resample costs O(n) per score; memory is 64 bytes per row and thread, and 6
    bytes per row and score.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> risk = rng.random(1000)
    >>> correct = rng.random(1000) > risk / 2
    >>> scores = {"noisy": risk + rng.random(1000), "exact": risk}
    >>> found = cl.compare_scores(correct, None, scores, metrics="augrc", random_state=0)
    >>> found.verdict("exact", "augrc")
    'better'
    """
    losses = instance_losses(y, pred, loss)
    names, keys = _checked_scores(scores, len(losses))
    base = names[0] if baseline is None else _validation.one_of(baseline, "baseline", names)
    chosen = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    for name in chosen:
        _validation.one_of(name, "metrics", COMPARED)
    if not chosen:
        _validation.raise_invalid("metrics", "is empty", f"choose from {', '.join(COMPARED)}")
    most = fraction(max_rejection, "max_rejection", one=True)
    bins = _validation.whole_number(n_bins, "n_bins", least=2)
    tail = (1 - fraction(confidence, "confidence")) / 2
    n_resamples = _validation.whole_number(n_resamples, "n_resamples", least=1)
    weights = instance_weights(sample_weight, len(losses))
    losses, weights, flat = drop_weightless(losses, weights, [k for key in keys for k in key])
    rest = iter(flat)
    keys = [[next(rest) for _ in key] for key in keys]
    each = [compute_metrics(losses, weights, key, "average", most) for key in keys]
    warn_undefined(*each)
    total = float(each[0]._curve.end_weight[-1])
    cuts = total - rejected_counts(int(total) if total.is_integer() else total, bins)
    drawn = resample_rows(
        losses, weights, keys, cuts=cuts if "auc" in chosen else cuts[:0], max_rejection=most,
        n_resamples=n_resamples, random_state=random_state,
    )  # fmt: skip
    draws = np.empty((len(chosen), len(names), n_resamples))
    for s in range(len(names)):
        found = drawn.metrics(s)
        if "auc" in chosen:
            found["auc"] = curve_areas(drawn.accuracy[s])
        draws[:, s] = [found[metric] for metric in chosen]
    estimates = np.array([[_value(one, m, cuts) for one in each] for m in chosen])
    at = names.index(base)
    value, difference = (
        np.concatenate(
            [point[..., None], np.moveaxis(quantiles(d, [tail, 1 - tail]), 0, -1)], axis=-1
        )
        for point, d in (
            (estimates, draws),
            (estimates - estimates[:, at, None], draws - draws[:, at, None]),
        )
    )
    return ScoreComparison(names, chosen, base, value, difference, float(confidence), each[0].n)


def verdict_of(metric: str, low: float, high: float) -> str:
    """Return "better" or "worse" by the interval of a difference, "" if it contains 0."""
    if not (low > 0 or high < 0):
        return ""
    return "better" if (low > 0) == COMPARED[metric] else "worse"


def _checked_scores(scores: Any, n: int) -> tuple[tuple[str, ...], list[list[Array]]]:
    """Return the names and the sort keys of the scores."""
    if not isinstance(scores, Mapping) or not scores:
        _validation.raise_invalid(
            "scores",
            "is empty" if isinstance(scores, Mapping) else f"is a {type(scores).__name__}",
            'pass a mapping of names to scores, such as {"total": u.total}',
        )
    keys = []
    for name, score in scores.items():
        keys.append(score_keys(score, f"scores[{name!r}]"))
        check_length(keys[-1][0].shape, f"scores[{name!r}]", n, "y")
    return tuple(map(str, scores)), keys


def _value(found: SelectiveMetrics, metric: str, cuts: Array) -> float:
    if metric == "auc":
        return float(curve_areas(found._curve.quality_at(cuts)))
    return float(getattr(found, metric))
