"""Comparison of the scores of all families as rankings of errors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import credalens as cl
from credalens import _validation
from credalens._backend import Array, limit_threads
from credalens.experiments.protocol import Config, predict_split, seeds
from credalens.io import Predictions
from credalens.measures.hartley import is_sampled

#: The score that the others are compared with.
BASELINE = "tv_total"
#: Family and component of each score; an interval is ordered by its lower, then its upper end.
#: Left out are scores with the order of another one: total zero-one loss and second-order distance
#: (``confidence_total``), total spherical score (``variance_total``), the aleatoric intervals of
#: ``scoring:zero_one`` and ``scoring:log`` (those of total variation and of entropy).
SCORES: dict[str, tuple[str, str]] = {
    f"{family}_{component}": (family, component)
    for family, components in {
        "tv": ("total", "aleatoric", "aleatoric_upper", "epistemic"),
        "confidence": ("total",),
        "information": ("total", "aleatoric", "epistemic"),
        "variance": ("total", "aleatoric", "epistemic"),
        "zero_one": ("aleatoric", "epistemic"),
        "spherical": ("aleatoric", "epistemic"),
        "second_order_distance": ("epistemic",),
        "entropy": ("total", "aleatoric", "epistemic"),
        "hartley": ("aleatoric", "epistemic"),
        "scoring:log": ("total_upper", "epistemic"),
        "scoring:brier": ("total_upper", "aleatoric", "epistemic"),
        "scoring:spherical": ("total_upper", "epistemic"),
        "scoring:zero_one": ("total_upper", "epistemic"),
    }.items()
    for component in components
}
#: The kinds of forests: the prefix of a dataset in stored results, and a phrase.
FORESTS = {"": "of different size and depth", "equal-": "with equal hyperparameters"}
#: The metrics, in the order of the tables.
METRICS = ("auc", "aurc", "augrc", "auroc")
#: Resamples of the paired bootstrap, and its confidence level.
RESAMPLES, CONFIDENCE = 2000, 0.95
#: What a score and a metric have: value and difference to the baseline, each with its interval.
FIELDS = ("value", "lower", "upper", "difference", "difference_lower", "difference_upper")


@dataclass(frozen=True)
class Comparison:
    """The metrics of every score on the predictions of one ensemble."""

    name: str
    n: int
    n_members: int
    n_classes: int
    #: Accuracy of the majority vote, whose errors the scores rank.
    accuracy: float
    #: Accuracy of the most probable class of the mean prediction.
    accuracy_of_mean: float
    #: Models that distort the uncertainty, found by `diagnose_members` with the labels.
    faulty: tuple[str, ...]
    #: Largest standard error of the Hartley measure, 0 if it is exact.
    hartley_error: float
    #: `FIELDS` of each score and metric.
    measures: Mapping[str, Mapping[str, Any]]


def all_scores(Q: Any, seed: int = 0) -> tuple[dict[str, Any], float]:
    """Return every score of sets or members ``(n, M, K)``, and the largest error of Hartley."""
    families = list(dict.fromkeys(family for family, _ in SCORES.values()))
    with warnings.catch_warnings():
        # The error of a sampled Hartley measure is part of the result.
        warnings.simplefilter("ignore", RuntimeWarning)
        found: dict[Any, Any] = cl.quantify(Q, families, random_state=seed)
    scores = {}
    for name, (family, component) in SCORES.items():
        part, _, end = component.partition("_")
        value = getattr(found[family], part)
        scores[name] = getattr(value, end) if end else value
    sampled = is_sampled(cl.as_credal_set(Q).n_classes)
    return scores, float(np.max(found["hartley"].error)) if sampled else 0.0


def compare(members: Array, labels: Array, seed: int = 0) -> dict[str, Any]:
    """Return accuracies and, for each score and metric, the numbers named in `FIELDS`."""
    scores, hartley_error = all_scores(members, seed)
    correct = cl.majority_vote(members) == labels
    with warnings.catch_warnings():
        # Without errors AUROC is NaN, which the tables leave out.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = cl.compare_scores(
            correct, None, scores, metrics=METRICS, baseline=BASELINE,
            n_resamples=RESAMPLES, confidence=CONFIDENCE, random_state=seed,
        )  # fmt: skip
    numbers = np.concatenate([found.value, found.difference], axis=-1)
    return {
        "n_classes": members.shape[2],
        "n_members": members.shape[1],
        "accuracy": float(correct.mean()),
        "accuracy_of_mean": float(np.mean(members.mean(axis=1).argmax(axis=1) == labels)),
        "hartley_error": hartley_error,
        "measures": {
            score: {metric: numbers[m, s].tolist() for m, metric in enumerate(METRICS)}
            for s, score in enumerate(found.scores)
        },
    }


def compare_predictions(name: str, predictions: Predictions, seed: int = 0) -> Comparison:
    """Return the comparison on the labelled predictions of an ensemble."""
    members, labels = predictions.members, predictions.labels
    if labels is None:
        _validation.raise_invalid(name, "has no labels", "pass --labels FILE")
    diagnosis = cl.diagnose_members(members, labels, predictions.names)
    faulty = tuple(predictions.names[m] for m in diagnosis.spoilers)
    return Comparison(name, len(members), faulty=faulty, **compare(members, labels, seed))


@limit_threads(1)
def compare_split(name: str, X: Array, y: Array, split: int, config: Config) -> dict[str, Any]:
    """Train forests on one split of a dataset, by the protocol of Table 2, and compare the scores.

    The prefix of the name selects the kind of forests.
    """
    plain = dataset_of(name)
    predicted = predict_split(plain, X, y, split, config, equal=plain != name)
    found = compare(predicted.members, predicted.labels, seeds(config, plain, split)[2])
    return predicted.describe(name, split) | found


def dataset_of(name: str) -> str:
    """Return the name of a dataset without the prefix of the forests."""
    return name.removeprefix("equal-")
