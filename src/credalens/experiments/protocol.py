"""The tabular experiment of the paper on one split of one dataset."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

import credalens as cl
from credalens._backend import Array, limit_threads
from credalens.experiments.forest_spaces import DEFAULT_SPACE, find_space

#: Families of measures in the order of the paper. The name of a distance is a family too.
PAPER_FAMILIES = ("hartley", "entropy", "tv")


def components(family: str) -> tuple[str, ...]:
    """Return the components of a family; the Hartley total is that of the entropy family."""
    return ("AU", "EU") if family == "hartley" else ("AU", "EU", "TU")


def measure_names(families: Sequence[str]) -> set[str]:
    """Return the names of the measures of families in stored results."""
    return {f"{component} {family}" for family in families for component in components(family)}


#: Further scores by name, from the scores of a split by (component, family) and the number of
#: classes.
Variants = Callable[[dict[tuple[str, str], Any], int], dict[str, Any]]


@dataclass(frozen=True)
class Config:
    """The settings on which the result of a split depends, besides the data."""

    seed: int = 0
    members: int = 10
    bins: int = 30
    test_share: float = 0.3
    #: Name of the space of the hyper-parameters, see `forest_spaces`.
    space: str = DEFAULT_SPACE

    def describe(self) -> dict[str, Any]:
        """Return the settings and versions that are stored with the results.

        Every result contains the version of credalens, so that a run can be continued with another
        one; the forests depend on those of NumPy and scikit-learn.
        """
        return {
            **asdict(self),
            **{name: version(name) for name in ("numpy", "scikit-learn")},
            "hyperparameters": find_space(self.space).description,
        }


def seeds(config: Config, name: str, split: int) -> tuple[int, int, int]:
    """Return the seeds of the split, of the forests and of sampled measures.

    They depend only on the seed, the name of the dataset and the number of the split, so that the
    result does not depend on the order of computation.
    """
    state = np.random.SeedSequence([config.seed, zlib.crc32(name.encode()), split])
    first, second, third = state.generate_state(3)
    return int(first), int(second), int(third)


def stratified_split(y: Array, test_share: float, seed: int) -> tuple[Array, Array]:
    """Return the rows of the training and the test part, stratified by class.

    The instance of a class that has only one belongs to the training part.
    """
    from sklearn.model_selection import train_test_split

    single = np.bincount(y)[y] < 2
    rows = np.flatnonzero(~single)
    train, test = train_test_split(rows, test_size=test_share, stratify=y[rows], random_state=seed)
    return np.concatenate([train, np.flatnonzero(single)]), test


def predict(forest: Any, X: Array, n_classes: int) -> Array:
    """Return the probabilities of all classes, 0 for classes that are not in the training part."""
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, forest.classes_] = forest.predict_proba(X)
    return probabilities


def timed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Return the result of a call and its CPU time in seconds.

    All calls run in one thread, so that the CPU time equals the elapsed time on an idle machine
    and does not depend on splits that are computed concurrently.
    """
    start = time.thread_time()
    result = function(*args, **kwargs)
    return result, time.thread_time() - start


@limit_threads(1)
def measure(
    members: Array, families: Sequence[str], seed: int
) -> tuple[dict[tuple[str, str], Any], dict[tuple[str, str], float], float]:
    """Return scores and seconds of each (component, family), and the largest Hartley error.

    The upper entropy, the lower entropy and the Hartley measure are computed once each. The time of
    a difference is the sum of the times of its terms.
    """
    scores: dict[tuple[str, str], Any] = {}
    seconds: dict[tuple[str, str], float] = {}
    error = 0.0
    for family in set(families) - {"entropy", "hartley"}:
        for component, function in (
            ("TU", cl.total_uncertainty),
            ("AU", cl.aleatoric_uncertainty),
            ("EU", cl.epistemic_uncertainty),
        ):
            key = component, family
            scores[key], seconds[key] = timed(function, members, family)
    if "entropy" in families or "hartley" in families:
        upper, upper_seconds = timed(cl.upper_entropy, members)
    if "entropy" in families:
        lower, lower_seconds = timed(cl.lower_entropy, members)
        scores |= {("TU", "entropy"): upper, ("AU", "entropy"): lower}
        scores["EU", "entropy"] = upper - lower
        seconds |= {("TU", "entropy"): upper_seconds, ("AU", "entropy"): lower_seconds}
        seconds["EU", "entropy"] = upper_seconds + lower_seconds
    if "hartley" in families:
        with warnings.catch_warnings():
            # The result contains the standard error of an estimate.
            warnings.simplefilter("ignore", RuntimeWarning)
            (hartley, errors), hartley_seconds = timed(
                cl.generalized_hartley, members, random_state=seed, return_error=True
            )
        scores |= {("EU", "hartley"): hartley, ("AU", "hartley"): upper - hartley}
        seconds["EU", "hartley"] = hartley_seconds
        seconds["AU", "hartley"] = upper_seconds + hartley_seconds
        error = float(np.max(errors))
    return scores, seconds, error


@dataclass(frozen=True, eq=False)
class SplitPredictions:
    """Predictions of the forests of one split for its test part."""

    #: ``(n, M, K)``.
    members: Array
    #: Labels of the test part.
    labels: Array
    n_train: int
    n_features: int
    training_seconds: float
    predicting_seconds: float

    def describe(self, name: str, split: int) -> dict[str, Any]:
        """Return the part of the stored result that does not depend on the measures."""
        return {
            "dataset": name,
            "split": split,
            "n_train": self.n_train,
            "n_test": len(self.labels),
            "n_features": self.n_features,
            "n_classes": self.members.shape[2],
            "training_seconds": self.training_seconds,
            "predicting_seconds": self.predicting_seconds,
        }


def predict_split(
    name: str, X: Array, y: Array, split: int, config: Config, equal: bool = False
) -> SplitPredictions:
    """Train the forests on one split and predict its test part.

    With `equal`, all forests have the default hyperparameters of scikit-learn. The seconds of the
    training include the validation of a space that has one.
    """
    split_seed, forest_seed, _ = seeds(config, name, split)
    train, test = stratified_split(y, config.test_share, split_seed)
    forests, training = timed(
        find_space(config.space).forests, config.members, forest_seed, X[train], y[train]
    )
    if equal:
        forests = [type(one)(random_state=one.random_state) for one in forests]
    predicting = 0.0
    predictions = []
    for forest in forests:
        # Threads would sum the trees in any order, and rounding would change ties between runs.
        _, seconds = timed(forest.set_params(n_jobs=1).fit, X[train], y[train])
        training += seconds
        probabilities, seconds = timed(predict, forest, X[test], int(y.max()) + 1)
        predicting += seconds
        predictions.append(probabilities)
        forest.estimators_ = []  # deep forests on large data need gigabytes
    members = np.stack(predictions, axis=1)
    return SplitPredictions(members, y[test], len(train), X.shape[1], training, predicting)


def run_split(
    name: str,
    X: Array,
    y: Array,
    split: int,
    config: Config,
    families: Sequence[str],
    variants: Variants | None = None,
) -> dict[str, Any]:
    """Train the forests on one split, measure the test part and return the result.

    `variants` maps the scores to further ones, which are stored by name.
    """
    predicted = predict_split(name, X, y, split, config)
    vote = cl.majority_vote(predicted.members)
    scores, times, error = measure(predicted.members, families, seeds(config, name, split)[2])
    named = {f"{component} {family}": score for (component, family), score in scores.items()}
    seconds = {f"{component} {family}": time for (component, family), time in times.items()}
    more = {} if variants is None else variants(scores, predicted.members.shape[2])
    measures = {}
    for key, score in (named | more).items():
        curve = cl.rejection_curve(predicted.labels, vote, score, config.bins, ties="first")
        measures[key] = {
            "auc": curve.auc,
            "area": curve.area,
            "mr": curve.monotonicity_ratio,
            "seconds": seconds.get(key, 0.0),
            "accuracy": curve.accuracy.tolist(),
        }
    return predicted.describe(name, split) | {
        "accuracy": float(np.mean(vote == predicted.labels)),
        "hartley_error": error,
        "measures": measures,
    }
