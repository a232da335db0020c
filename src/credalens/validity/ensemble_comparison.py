"""Comparison of two ensembles on the same instances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import BLOCK_BYTES, Array
from credalens._results import TableResult
from credalens._validation import fraction
from credalens.decisions import admissible
from credalens.decisions.label_sets import UTILITIES
from credalens.evaluation.bootstrap import quantiles
from credalens.evaluation.labels import class_indices
from credalens.evaluation.resampling import resample_rows
from credalens.evaluation.selective import compute_metrics
from credalens.evaluation.vote import majority_vote
from credalens.measures import quantify
from credalens.sets import ConvexHull, CredalSet, as_credal_set

#: The metrics, their meaning, and whether a larger value is better; None if neither is.
METRICS: Mapping[str, tuple[str, bool | None]] = {
    "accuracy": ("accuracy of the majority vote", True),
    "accuracy_at_10": ("accuracy with the most uncertain 10 % rejected", True),
    "accuracy_at_20": ("accuracy with the most uncertain 20 % rejected", True),
    "aurc": ("area under the risk-coverage curve", False),
    "augrc": ("area under the generalized risk-coverage curve", False),
    "auroc": ("detection of errors by the total uncertainty", True),
    "log_loss": ("log-loss of the mean, in nats", False),
    "brier": ("Brier score of the mean", False),
    "ece": ("calibration error of the mean, 10 bins", False),
    "coverage": ("share of the label sets that contain the label", True),
    "mean_size": ("mean size of the label sets", False),
    "determinacy": ("share of the label sets with one label", True),
    "u65": ("utility-discounted accuracy u65 of the label sets", True),
    "u80": ("utility-discounted accuracy u80 of the label sets", True),
    "total": ("mean total uncertainty", None),
    "epistemic": ("mean epistemic uncertainty", None),
}
#: Metrics that are means over the instances, and the shares rejected by the others.
_MEANS = ("log_loss", "brier", "coverage", "mean_size", "determinacy", "u65", "u80", "total",
          "epistemic")  # fmt: skip
_REJECTED = (0.0, 0.1, 0.2)
_CURVES = ("aurc", "augrc", "auroc")
#: Bins of the calibration error, and the least probability of a label in the log-loss.
BINS, LEAST_PROBABILITY = 10, 1e-12


@dataclass(frozen=True, eq=False)
class EnsembleOutcomes:
    """What an ensemble predicts for each instance, compared with the labels; ``(n,)`` each."""

    prediction: NDArray[np.intp]
    correct: NDArray[np.bool_]
    total: Array
    epistemic: Array
    #: Probability of the most probable class of the mean, and whether it is the label.
    confidence: Array
    hit: NDArray[np.bool_]
    log_loss: Array
    brier: Array
    #: Size of the set of labels that are E-admissible, and whether it contains the label.
    size: NDArray[np.intp]
    covered: NDArray[np.bool_]

    @classmethod
    def of(cls, Q: CredalSet, labels: Any, distance: Any = "tv") -> EnsembleOutcomes:
        """Return the outcomes of credal sets ``(n,)`` with labels ``(n,)``."""
        rows = np.arange(len(labels))
        center = np.asarray(Q.center(), np.float64)
        own, top = center[rows, labels], center.argmax(axis=1)
        predicted, u = np.asarray(majority_vote(Q)), quantify(Q, distance)
        sets = np.asarray(admissible(Q))
        return cls(
            predicted, predicted == labels, np.asarray(u.total, np.float64),
            np.asarray(u.epistemic, np.float64), center[rows, top], top == labels,
            -np.log(np.maximum(own, LEAST_PROBABILITY)),
            (center**2).sum(axis=1) - 2 * own + 1, sets.sum(axis=1), sets[rows, labels],
        )  # fmt: skip

    @classmethod
    def concatenate(cls, parts: Sequence[EnsembleOutcomes]) -> EnsembleOutcomes:
        """Return the outcomes of consecutive instances."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def take(self, rows: Any) -> EnsembleOutcomes:
        """Return the outcomes of some instances."""
        return EnsembleOutcomes(*(getattr(self, field.name)[rows] for field in fields(self)))

    def __len__(self) -> int:
        return len(self.correct)

    def means(self) -> dict[str, Array]:
        """Return the numbers whose means are metrics."""
        utilities = {name: self.covered * UTILITIES[name](self.size) for name in ("u65", "u80")}
        return {
            "log_loss": self.log_loss, "brier": self.brier,
            "coverage": self.covered.astype(np.float64),
            "mean_size": self.size.astype(np.float64),
            "determinacy": (self.size == 1).astype(np.float64), **utilities,
            "total": self.total, "epistemic": self.epistemic,
        }  # fmt: skip

    def kept(self, rejected: float) -> NDArray[np.bool_]:
        """Return which instances are kept if the most uncertain share is rejected."""
        keep = np.ones(len(self), bool)
        order = np.argsort(-self.total, kind="stable")
        keep[order[: math.floor(rejected * len(self) + 1e-9)]] = False
        return keep


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleComparison(TableResult):
    """Metrics of two ensembles and their differences; see `compare_ensembles`.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 400)
    >>> members = 0.3 * np.eye(3)[y][:, None] + 0.7 * rng.dirichlet(np.ones(3), (400, 4))
    >>> found = cl.validity.compare_ensembles(y, members[:, :1], members, random_state=0)
    >>> found.verdict("coverage"), found.verdict("mean_size")
    ('better', 'worse')
    """

    #: Names of the metrics.
    metrics: tuple[str, ...]
    #: Values of the first and of the second ensemble, ``(metrics,)``.
    first: Array
    second: Array
    #: Second minus first, with the ends of the interval, ``(metrics, 3)``.
    difference: Array
    #: Outcomes of both, in the same order.
    outcomes: tuple[EnsembleOutcomes, EnsembleOutcomes]
    confidence: float
    #: Share of the most uncertain instances that `kept` leaves out.
    rejected: float

    _repr_rows: ClassVar[int] = len(METRICS)

    @property
    def n(self) -> int:
        """Number of instances."""
        return len(self.outcomes[0])

    def verdict(self, metric: str) -> str:
        """Return whether the second ensemble is "better" or "worse", "" if that is not clear."""
        _validation.one_of(metric, "metric", self.metrics)
        _, low, high = self.difference[self.metrics.index(metric)]
        larger = METRICS[metric][1]
        if larger is None or not (low > 0 or high < 0):
            return ""
        return "better" if (low > 0) == larger else "worse"

    @property
    def correctness(self) -> NDArray[np.int64]:
        """Counts ``[[both wrong, only second right], [only first right, both right]]``."""
        first, second = (one.correct for one in self.outcomes)
        return np.bincount(2 * first + second, minlength=4).reshape(2, 2)

    @property
    def correctness_pvalue(self) -> float:
        """Exact p-value of the difference of the accuracies (McNemar's test)."""
        from scipy.special import bdtr

        (_, gained), (lost, _) = self.correctness.tolist()
        if not gained + lost:
            return 1.0
        return float(min(1.0, 2 * bdtr(min(gained, lost), gained + lost, 0.5)))

    @property
    def kept(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which instances each ensemble keeps if the share `rejected` is handed over."""
        return self.outcomes[0].kept(self.rejected), self.outcomes[1].kept(self.rejected)

    @property
    def changed(self) -> NDArray[np.intp]:
        """The instances of which the prediction changed, or whether it is right or kept.

        Those whose correctness changed come first, then in decreasing order of the change of total
        uncertainty.
        """
        first, second = self.outcomes
        kept = self.kept
        flipped = first.correct != second.correct
        any_change = flipped | (first.prediction != second.prediction) | (kept[0] != kept[1])
        rows = np.flatnonzero(any_change)
        moved = np.abs(second.total - first.total)[rows]
        return np.asarray(rows[np.lexsort((rows, -moved, ~flipped[rows]))])

    def _columns(self) -> dict[str, Any]:
        return {
            "first": self.first, "second": self.second, "difference": self.difference[:, 0],
            "lower": self.difference[:, 1], "upper": self.difference[:, 2],
            "verdict": [self.verdict(metric) for metric in self.metrics],
        }  # fmt: skip

    def _index(self) -> tuple[str, list[str]]:
        return "metric", list(self.metrics)

    def _summary(self) -> str:
        rows = _validation.counted(self.n, "row")
        return f"EnsembleComparison({rows}, confidence {self.confidence:g})"


def compare_ensembles(
    y: Any,
    first: Any,
    second: Any,
    *,
    distance: Any = "tv",
    rejected: float = 0.1,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: Any = None,
) -> EnsembleComparison:
    """Compare two ensembles on the same instances.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        True classes.
    first, second : array-like of shape (n, M, K), or ConvexHull
        Predictions of the members of each; the numbers of members may differ.
    distance : str or distance, default="tv"
        Distance of the total and epistemic uncertainty.
    rejected : float in [0, 1), default=0.1
        Share of the most uncertain instances that is handed over, for `EnsembleComparison.kept`.
    n_resamples : int, default=1000
        Number of bootstrap resamples.
    confidence : float in (0, 1), default=0.95
        Confidence level of the percentile intervals, each on its own.
    random_state : int, RandomState, Generator or None
        Draws the resamples.

    Returns
    -------
    EnsembleComparison

    See Also
    --------
    credalens.compare_scores : compare several scores of the same predictions.

    Notes
    -----
    The metrics are those of `METRICS`: accuracy, selective prediction by total uncertainty with the
    exact expectation over ties, log-loss (probabilities below 1e-12 are replaced by it), Brier
    score and calibration error of the mean prediction, and metrics of the sets of E-admissible
    labels. Each resample draws n instances with replacement and computes the difference of the two
    ensembles on the same instances. The calibration error of a resample is biased upwards, in both
    ensembles. A resample costs O(n).

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 300)
    >>> members = 0.3 * np.eye(3)[y][:, None] + 0.7 * rng.dirichlet(np.ones(3), (300, 4))
    >>> found = cl.validity.compare_ensembles(y, members[:, :1], members, random_state=0)
    >>> found.verdict("accuracy"), found.verdict("log_loss")
    ('better', 'better')
    """
    parts = []
    for name, given in (("first", first), ("second", second)):
        Q = given if isinstance(given, ConvexHull) else as_credal_set(given)
        if not isinstance(Q, ConvexHull) or len(Q.batch_shape) != 1:
            _validation.raise_invalid(name, "is not an array (n, M, K)", "pass predictions")
        Q = Q.to_numpy_backed()
        labels = class_indices(y, Q.batch_shape, Q.n_classes)
        rows = max(1, BLOCK_BYTES // (8 * Q.n_members * Q.n_classes))
        blocks = [slice(start, start + rows) for start in range(0, len(labels), rows)]
        if not blocks:
            _validation.raise_invalid("y", "is empty", "pass at least one instance")
        parts.append(
            EnsembleOutcomes.concatenate(
                [EnsembleOutcomes.of(Q[block], labels[block], distance) for block in blocks]
            )
        )
    return compare_outcomes(
        *parts, rejected=rejected, n_resamples=n_resamples, confidence=confidence,
        random_state=random_state,
    )  # fmt: skip


def compare_outcomes(
    first: EnsembleOutcomes,
    second: EnsembleOutcomes,
    *,
    rejected: float = 0.1,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: Any = None,
) -> EnsembleComparison:
    """Compare the outcomes of two ensembles; see `compare_ensembles`."""
    _validation.whole_number(n_resamples, "n_resamples", least=1)
    fraction(rejected, "rejected", zero=True)
    tail = (1 - fraction(confidence, "confidence")) / 2
    seed = _validation.seed(random_state)
    pair = (first, second)
    values = [_estimates(one) for one in pair]
    curves = [_curve_draws(one, n_resamples, seed) for one in pair]
    draws = {name: curves[1][name] - curves[0][name] for name in curves[0]}
    draws |= _mean_draws(first, second, n_resamples, seed)
    ends = np.array([quantiles(draws[name], [tail, 1 - tail]) for name in METRICS])
    own, other = (np.array([value[name] for name in METRICS]) for value in values)
    difference = np.column_stack([other - own, ends])
    return EnsembleComparison(
        tuple(METRICS), own, other, difference, pair, float(confidence), float(rejected)
    )


def _cuts(n: int) -> Array:
    return np.array([n - math.floor(share * n + 1e-9) for share in _REJECTED], np.float64)


def _estimates(one: EnsembleOutcomes) -> dict[str, float]:
    """Return the metrics of an ensemble."""
    found = compute_metrics(~one.correct, None, [one.total], "average", 1.0)
    shares = found._curve.quality_at(_cuts(len(one))).tolist()
    accuracy = dict(zip(("accuracy", "accuracy_at_10", "accuracy_at_20"), shares, strict=True))
    curves = {name: float(getattr(found, name)) for name in _CURVES}
    means = {name: float(column.mean()) for name, column in one.means().items()}
    return accuracy | curves | means | {"ece": float(_ece(one, np.ones(len(one))))}


def _curve_draws(one: EnsembleOutcomes, n_resamples: int, seed: int) -> dict[str, Array]:
    """Return the metrics of resamples; equal seeds and lengths draw the same instances."""
    drawn = resample_rows(
        ~one.correct, None, [[one.total]], cuts=_cuts(len(one)), max_rejection=1.0,
        n_resamples=n_resamples, random_state=seed,
    )  # fmt: skip
    names = ("accuracy", "accuracy_at_10", "accuracy_at_20")
    metrics = drawn.metrics()
    return dict(zip(names, drawn.accuracy[0], strict=True)) | {n: metrics[n] for n in _CURVES}


def _mean_draws(
    first: EnsembleOutcomes, second: EnsembleOutcomes, n_resamples: int, seed: int
) -> dict[str, Array]:
    """Return differences of means and of the calibration error in resamples."""
    means = first.means(), second.means()
    columns = np.column_stack([means[1][name] - means[0][name] for name in _MEANS])
    n, rng = len(first), np.random.default_rng(seed)
    found, ece = np.empty((n_resamples, len(_MEANS))), np.empty(n_resamples)
    for r in range(n_resamples):
        counts = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
        found[r] = counts @ columns / n
        ece[r] = _ece(second, counts) - _ece(first, counts)
    return dict(zip(_MEANS, found.T, strict=True)) | {"ece": ece}


def _ece(one: EnsembleOutcomes, counts: Array) -> Any:
    """Return the calibration error: mean difference of accuracy and confidence of bins."""
    bins = np.minimum((BINS * one.confidence).astype(np.intp), BINS - 1)
    gaps = np.bincount(bins, counts * (one.hit - one.confidence), BINS)
    return np.abs(gaps).sum() / counts.sum()
