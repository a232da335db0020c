"""One piece of the paper's tabular experiment: one split of one dataset."""

from __future__ import annotations

import os
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

import credalens as cl
from credalens._arrays import Array
from credalens.predictors import random_forests
from credalens.predictors.forests import MAX_DEPTH, N_ESTIMATORS

#: Families of measures in the paper's order. The name of any other distance is a family too.
FAMILIES = ("hartley", "entropy", "tv")


def components(family: str) -> tuple[str, ...]:
    """Return the components that a family has; the Hartley total is that of the entropy family.

    Examples
    --------
    >>> from credalens.experiments.protocol import components
    >>> components("hartley"), components("tv")
    (('AU', 'EU'), ('AU', 'EU', 'TU'))
    """
    return ("AU", "EU") if family == "hartley" else ("AU", "EU", "TU")


@dataclass(frozen=True)
class Config:
    """What decides the numbers of a piece, besides its data."""

    seed: int = 0
    members: int = 10
    bins: int = 30
    test_share: float = 0.3

    def describe(self) -> dict[str, Any]:
        """Return all that the numbers depend on, as it is written beside the results."""
        return {
            **asdict(self),
            **{name: version(name) for name in ("credalens", "numpy", "scikit-learn")},
            "n_estimators": list(N_ESTIMATORS),
            "max_depth": [depth if depth is not None else "none" for depth in MAX_DEPTH],
        }


def seeds(config: Config, name: str, split: int) -> tuple[int, int, int]:
    """Return the seeds of the split, the forests and the samples of one piece.

    They depend on the seed, the dataset's name and the number of the split alone, so that a piece
    is the same in whatever order and beside whatever others it is computed.

    Examples
    --------
    >>> from credalens.experiments.protocol import Config, seeds
    >>> seeds(Config(), "iris", 0) == seeds(Config(members=3), "iris", 0)
    True
    """
    state = np.random.SeedSequence([config.seed, zlib.crc32(name.encode()), split])
    first, second, third = state.generate_state(3)
    return int(first), int(second), int(third)


def stratified_split(y: Array, test_share: float, seed: int) -> tuple[Array, Array]:
    """Return the rows of the training and of the test part, stratified by class.

    A class with a single instance cannot be in both; it goes to the training part.

    Examples
    --------
    >>> import numpy as np
    >>> from credalens.experiments.protocol import stratified_split
    >>> train, test = stratified_split(np.array([0, 0, 0, 0, 1, 1, 1, 2]), 0.3, seed=0)
    >>> len(train), len(test), 7 in train
    (5, 3, True)
    """
    from sklearn.model_selection import train_test_split

    lonely = np.bincount(y)[y] < 2
    rows = np.flatnonzero(~lonely)
    train, test = train_test_split(rows, test_size=test_share, stratify=y[rows], random_state=seed)
    return np.concatenate([train, np.flatnonzero(lonely)]), test


def predict(forest: Any, X: Array, n_classes: int) -> Array:
    """Return a fitted forest's probabilities over all classes, also those it never saw."""
    probabilities = np.zeros((len(X), n_classes))
    probabilities[:, forest.classes_] = forest.predict_proba(X)
    return probabilities


def timed(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Return what a call gives, and the seconds that its thread spent on it.

    Everything timed here runs in one thread. The processor's time is that of the clock on an idle
    machine, and does not grow with the pieces that run beside this one.
    """
    start = time.thread_time()
    result = function(*args, **kwargs)
    return result, time.thread_time() - start


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the kernels use one thread, so that times do not depend on the pieces beside this one."""
    name = "CREDALENS_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@one_thread()
def measure(
    members: Array, families: Sequence[str], seed: int
) -> tuple[dict[tuple[str, str], Any], dict[tuple[str, str], float], float]:
    """Return scores and seconds of each (component, family), and the largest Hartley error.

    The upper entropy, the lower entropy and the Hartley measure are computed once each. The time of
    a difference is that of both its terms, as if it had been asked for alone.
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
            # That an estimate stayed above its relative error is in the piece, as a number.
            warnings.simplefilter("ignore", RuntimeWarning)
            (hartley, errors), hartley_seconds = timed(
                cl.generalized_hartley, members, random_state=seed, return_error=True
            )
        scores |= {("EU", "hartley"): hartley, ("AU", "hartley"): upper - hartley}
        seconds["EU", "hartley"] = hartley_seconds
        seconds["AU", "hartley"] = upper_seconds + hartley_seconds
        error = float(np.max(errors))
    return scores, seconds, error


def run_piece(
    name: str, X: Array, y: Array, split: int, config: Config, families: Sequence[str]
) -> dict[str, Any]:
    """Train the forests on one split, measure its test part, and return what is worth keeping.

    Examples
    --------
    >>> from credalens.datasets import load_bundled
    >>> from credalens.experiments.protocol import Config, run_piece
    >>> iris = load_bundled("iris")
    >>> piece = run_piece("iris", iris.X, iris.y, 0, Config(members=2), ["tv"])
    >>> piece["n_train"], piece["n_test"], sorted(piece["measures"])
    (105, 45, ['AU tv', 'EU tv', 'TU tv'])
    """
    n_classes = int(y.max()) + 1
    split_seed, forest_seed, sample_seed = seeds(config, name, split)
    train, test = stratified_split(y, config.test_share, split_seed)
    forests = random_forests(config.members, forest_seed)
    training = predicting = 0.0
    predictions = []
    for forest in forests:
        # One thread: threads add up the trees in any order, enough to flip ties between runs.
        _, seconds = timed(forest.set_params(n_jobs=1).fit, X[train], y[train])
        training += seconds
        probabilities, seconds = timed(predict, forest, X[test], n_classes)
        predicting += seconds
        predictions.append(probabilities)
        forest.estimators_ = []  # deep forests on large data take gigabytes
    members = np.stack(predictions, axis=1)
    vote = cl.majority_vote(members)
    scores, times, error = measure(members, families, sample_seed)
    measures = {}
    for (component, family), score in scores.items():
        curve = cl.rejection_curve(y[test], vote, score, n_bins=config.bins)
        measures[f"{component} {family}"] = {
            "auc": curve.auc,
            "area": curve.area,
            "mr": curve.monotonicity_ratio,
            "seconds": times[component, family],
            "accuracy": curve.accuracy.tolist(),
        }
    return {
        "dataset": name,
        "split": split,
        "n_train": len(train),
        "n_test": len(test),
        "n_features": X.shape[1],
        "n_classes": n_classes,
        "accuracy": float(np.mean(vote == y[test])),
        "training_seconds": training,
        "predicting_seconds": predicting,
        "hartley_error": error,
        "measures": measures,
    }
