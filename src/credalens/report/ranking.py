"""How well each score ranks the errors: curves, metrics and the best score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens.evaluation import (
    RejectionCurve,
    SelectiveMetrics,
    rejection_curve,
    selective_metrics,
)
from credalens.evaluation.baselines import BASELINES
from credalens.evaluation.best_score import BestScore, best_score
from credalens.measures.quantify import COMPONENTS
from credalens.report.data import ReportData

CURVE_BINS, RANDOM_ORDERS = 30, 1000
#: A score is a component of a family of measures.
Score = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Ranking:
    """Curves and metrics by (component, family), reference curves and the best score."""

    scores: dict[Score, RejectionCurve]
    metrics: dict[Score, SelectiveMetrics]
    oracle: RejectionCurve
    #: Expected curve of a random order, and its mean monotonicity ratio.
    random: RejectionCurve
    random_ratio: float
    best: BestScore
    #: Share of the most frequent label.
    majority_class: float


def rank_scores(data: ReportData) -> Ranking | None:
    """Return the rejection curves and metrics, ``None`` without labels.

    The expected curve of a random order is constant; its monotonicity ratio is the mean over
    `RANDOM_ORDERS` seeded orders.
    """
    labels, correct = data.labels, data.correct
    if labels is None or correct is None:
        return None
    scores = _scores(data)
    curves = {key: rejection_curve(correct, None, s, CURVE_BINS) for key, s in scores.items()}
    defined = 0 < int(correct.sum()) < data.n
    metrics = (
        {key: selective_metrics(correct, None, s) for key, s in scores.items()} if defined else {}
    )
    named = {score_label(data, *key): score for key, score in scores.items()}
    areas = {score_label(data, *key): curve.auc for key, curve in curves.items()}
    n_correct = int(correct.sum())
    share = np.arange(CURVE_BINS) / CURVE_BINS
    random = RejectionCurve(share, np.full(CURVE_BINS, n_correct / data.n))
    return Ranking(
        curves,
        metrics,
        rejection_curve(correct, None, ~correct, CURVE_BINS),
        random,
        _random_ratio(n_correct, data.n),
        best_score(correct, named, areas, n_bins=CURVE_BINS),
        float(np.bincount(labels).max() / data.n),
    )


def _scores(data: ReportData) -> dict[Score, Any]:
    scores: dict[Score, Any] = {}
    for family, columns in data.families.items():
        for component in COMPONENTS:
            # The Hartley family has the total uncertainty of the entropy family.
            if (component, family) != ("total", "hartley") or "entropy" not in data.families:
                scores[component, family] = getattr(columns, component)
    for name in BASELINES:
        family, _, component = name.rpartition("_")
        scores[component, family] = data.baselines[name]
    return scores


#: Labels of the baselines by component and family.
BASELINE_LABELS = {
    ("total", "confidence"): "Confidence of the mean",
    ("total", "information"): "Entropy of the mean",
    ("epistemic", "information"): "Mutual information",
}


def family_label(data: ReportData, family: str, component: str = "total") -> str:
    """Return the label of a family; that of "tv" is the name of the distance."""
    distance = data.config.distance
    if family == "tv" and distance != "tv":
        return str(distance if isinstance(distance, str) else type(distance).__name__).capitalize()
    if (component, family) in BASELINE_LABELS:
        return BASELINE_LABELS[component, family]
    return {"tv": "Total variation", "entropy": "Entropy", "hartley": "Hartley"}[family]


def score_label(data: ReportData, component: str, family: str) -> str:
    """Return the name of a score in a sentence or a table of all scores."""
    label = family_label(data, family, component)
    if (component, family) in BASELINE_LABELS:
        return label.lower()
    return f"{component} uncertainty ({label.lower() if family != 'hartley' else label})"


def _random_ratio(n_correct: int, n: int) -> float:
    """Return the mean monotonicity ratio of random orders.

    The numbers of correct predictions between the points of the curve of a random order have a
    multivariate hypergeometric distribution, so no rows are permuted.
    """
    rejected = np.arange(CURVE_BINS) * n // CURVE_BINS
    steps = np.diff(rejected, append=n)
    draws = np.random.default_rng(0).multivariate_hypergeometric(steps, n_correct, RANDOM_ORDERS)
    accuracy = draws[:, ::-1].cumsum(axis=1)[:, ::-1] / (n - rejected)
    return float(np.mean(np.diff(accuracy) >= 0))
