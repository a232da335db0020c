"""Bootstrap confidence intervals of the metrics of a score."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens._results import TableResult
from credalens.evaluation.arguments import fraction, score_keys
from credalens.evaluation.curve_metrics import METRICS
from credalens.evaluation.losses import (
    Loss,
    check_length,
    drop_weightless,
    instance_losses,
    instance_weights,
)
from credalens.evaluation.rejection import RejectionCurve, rejected_counts
from credalens.evaluation.resampling import resample_blocks, resample_rows
from credalens.evaluation.selective import compute_metrics

#: Rejected shares at which the accuracy is reported.
REJECTED = (0.0, 0.1, 0.2, 0.5)


def _undefined() -> Array:
    return np.full(3, np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult(TableResult):
    """Metrics of a score with confidence intervals; see `bootstrap`.

    Each metric is an array of three numbers: the estimate, the lower and the upper end of its
    confidence interval.

    Examples
    --------
    >>> import credalens as cl
    >>> result = cl.bootstrap([True] * 3 + [False], [1, 3, 2, 9], n_bins=2, random_state=0)
    >>> result.to_pandas().loc["auc"].round(3).tolist()
    [0.875, 0.375, 1.0]
    """

    #: The curve of all instances.
    curve: RejectionCurve
    #: `RejectionCurve.auc`, ``(3,)``.
    auc: Array
    #: `RejectionCurve.monotonicity_ratio`, ``(3,)``.
    monotonicity_ratio: Array
    #: Accuracy of the retained instances with 0, 10, 20 and 50 % rejected, ``(4, 3)``.
    accuracy_at: Array
    #: `SelectiveMetrics.aurc`, ``(3,)``.
    aurc: Array = field(default_factory=_undefined)
    #: `SelectiveMetrics.eaurc`, ``(3,)``.
    eaurc: Array = field(default_factory=_undefined)
    #: `SelectiveMetrics.auarc`, ``(3,)``.
    auarc: Array = field(default_factory=_undefined)
    #: `SelectiveMetrics.augrc`, ``(3,)``.
    augrc: Array = field(default_factory=_undefined)
    #: `SelectiveMetrics.eaugrc`, ``(3,)``.
    eaugrc: Array = field(default_factory=_undefined)
    #: `SelectiveMetrics.prr`, ``(3,)``.
    prr: Array = field(default_factory=_undefined)
    #: `SelectiveMetrics.auroc`, ``(3,)``.
    auroc: Array = field(default_factory=_undefined)

    _repr_rows: ClassVar[int] = 0

    def _columns(self) -> dict[str, Array]:
        rows = [self.auc, self.monotonicity_ratio, self.accuracy_at]
        metrics = np.vstack([*rows, *(getattr(self, name) for name in METRICS)])
        return dict(zip(("estimate", "lower", "upper"), metrics.T, strict=True))

    def _index(self) -> tuple[str, list[str]]:
        shares = [f"accuracy at {share:.0%} rejected" for share in REJECTED]
        return "metric", ["auc", "monotonicity_ratio", *shares, *METRICS]

    def _summary(self) -> str:
        shown = []
        for name in ("auc", "aurc", "auroc"):
            value, low, high = getattr(self, name)
            shown.append(f"{name}={value:.4f} [{low:.4f}, {high:.4f}]")
        return f"BootstrapResult({', '.join(shown)})"


def bootstrap(
    correct: Any,
    score: Any,
    *,
    loss: Loss = None,
    sample_weight: Any = None,
    n_bins: int = 30,
    max_rejection: float = 1.0,
    n_resamples: int = 2000,
    confidence: float = 0.95,
    random_state: Any = None,
) -> BootstrapResult:
    """Return bootstrap confidence intervals of the metrics of a score.

    Parameters
    ----------
    correct : array-like of bool, shape (n,)
        Whether each prediction is correct. May be None if `loss` is given.
    score : array-like of shape (n,), or Interval
        Larger means more uncertain; see `rejection_order`.
    loss : array-like of shape (n,), optional
        The loss of each instance, instead of `correct`.
    sample_weight : array-like of shape (n,), optional
        As in `selective_metrics`. A resample has n instances, which keep their weights.
    n_bins : int, default=30
        Number of points on the rejection curve.
    max_rejection : float in (0, 1], default=1
        Largest rejected share of the prediction-rejection ratio.
    n_resamples : int, default=2000
        Number of bootstrap resamples; with 0 the ends of the intervals are NaN.
    confidence : float, default=0.95
        Confidence level of the percentile intervals.
    random_state : int, RandomState, Generator or None
        Draws the resamples.

    Returns
    -------
    BootstrapResult

    See Also
    --------
    compare_scores : differences between scores, on the same resamples.

    Notes
    -----
    Equal scores are averaged over their orders, as with ``ties="average"`` of `selective_metrics`.
    AUROC and PRR are NaN without errors; their intervals are those of the resamples in which they
    are defined.

    Without weights and other losses, instances are sorted once and grouped into a few hundred
    blocks of similar scores; only the numbers of errors and correct instances of each block are
    drawn, which makes a resample independent of n. This is exact if there are no more than 256
    distinct scores. Otherwise the curve of a resample is a straight line within a block, which
    changes the width of an interval by less than the standard error of 2000 resamples. With weights
    or other losses, a resample costs O(n).

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> score = np.linspace(0, 1, 100)
    >>> result = cl.bootstrap(score < 0.9, score, random_state=0)
    >>> result.accuracy_at[:, 0].round(3).tolist()
    [0.9, 1.0, 1.0, 1.0]
    """
    losses = instance_losses(correct, None, loss, ("correct", "loss"))
    n_resamples = _validation.whole_number(n_resamples, "n_resamples", least=0)
    tail = (1 - fraction(confidence, "confidence")) / 2
    most = fraction(max_rejection, "max_rejection", one=True)
    bins = _validation.whole_number(n_bins, "n_bins", least=2)
    keys = score_keys(score)
    check_length(keys[0].shape, "score", len(losses), "correct" if correct is not None else "loss")
    weights = instance_weights(sample_weight, len(losses))
    losses, weights, keys = drop_weightless(losses, weights, keys)
    metrics = compute_metrics(losses, weights, keys, "average", most)
    total = float(metrics._curve.end_weight[-1])
    retained = total - metric_ranks(int(total) if total.is_integer() else total, bins)
    accuracy = metrics._curve.quality_at(retained)
    curve = RejectionCurve(np.arange(bins) / bins, accuracy[:bins])
    values = np.array([getattr(metrics, name) for name in METRICS])
    if not n_resamples:
        return make_result(curve, accuracy[bins:], values)
    options: dict[str, Any] = {
        "cuts": retained, "max_rejection": most, "n_resamples": n_resamples,
        "random_state": random_state,
    }  # fmt: skip
    if weights is None and losses.dtype == np.bool_:
        drawn = resample_blocks(metrics._curve, **options)
    else:
        drawn = resample_rows(losses, weights, [keys], **options)
    found = np.vstack([_curve_draws(drawn.accuracy[0], bins), *drawn.metrics().values()])
    return make_result(curve, accuracy[bins:], values, *quantiles(found, [tail, 1 - tail]))


def metric_ranks(n: float, n_bins: int) -> NDArray[Any]:
    """Return the rejected weights at the points of the curve, then at the shares `REJECTED`."""
    percents = np.round(100 * np.array(REJECTED))
    shares = [int(p) * n // 100 if isinstance(n, int) else p * n / 100 for p in percents]
    return np.concatenate([rejected_counts(n, n_bins), shares])


def make_result(
    curve: RejectionCurve,
    accuracy_at: Array,
    values: Array | float = np.nan,
    low: Array | float = np.nan,
    high: Array | float = np.nan,
) -> BootstrapResult:
    """Return the metrics with the ends of their intervals, by default NaN."""
    given = np.broadcast_to(values, len(METRICS))
    estimates = np.array([curve.auc, curve.monotonicity_ratio, *accuracy_at, *given])
    auc, ratio, *rest = np.stack(np.broadcast_arrays(estimates, low, high), axis=1)
    shares, metrics = rest[: len(REJECTED)], rest[len(REJECTED) :]
    named = dict(zip(METRICS, metrics, strict=True))
    return BootstrapResult(curve, auc, ratio, np.array(shares), **named)


def quantiles(draws: Array, levels: list[float]) -> Array:
    """Return quantiles along the last axis, of the values that are defined, NaN without any."""
    undefined = np.asarray(np.isnan(draws).all(axis=-1))
    filled = np.where(undefined[..., None], 0.0, draws)
    found = np.nanquantile(filled, levels, axis=-1)
    return np.where(undefined, np.nan, found)


def curve_areas(accuracy: Array) -> Array:
    """Return `RejectionCurve.auc` of curves with the points along the first axis."""
    return np.asarray((accuracy[:-1] + accuracy[1:]).mean(axis=0) / 2)


def _curve_draws(accuracy: Array, n_bins: int) -> Array:
    """Return AUC, monotonicity ratio and the accuracies at `REJECTED` of each resample."""
    curve = accuracy[:n_bins]
    rising = (np.diff(curve, axis=0) >= 0).mean(axis=0)
    return np.vstack([curve_areas(curve), rising, accuracy[n_bins:]])
