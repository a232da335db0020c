"""Pool-based active learning with an uncertainty score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._extras import require
from credalens._results import TableResult, check_slice
from credalens.evaluation.active_loop import ActiveLoop, named_metrics
from credalens.evaluation.arguments import n_workers
from credalens.evaluation.estimators import credal_predictions
from credalens.evaluation.score_functions import Score, named_scores


@dataclass(frozen=True, eq=False, repr=False)
class ActiveLearning(TableResult):
    """Accuracy against the number of labels; see `active_learning_curve`.

    ``len(result)`` is the number of points; a slice such as ``result[:5]`` is the result at these
    points.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> accuracy = {"tv epistemic": np.array([[0.6, 0.9]]), "random": np.array([[0.6, 0.8]])}
    >>> result = cl.ActiveLearning(np.array([10, 20]), accuracy)
    >>> result.mean("tv epistemic").tolist()
    [0.6, 0.9]
    """

    #: Number of labels at each point, ``(n_rounds + 1,)``.
    n_labels: Array
    #: Test accuracy of each score and of "random", ``(n_repeats, n_rounds + 1)``.
    accuracy: dict[str, Array]
    #: Other metrics by name, each as `accuracy`.
    others: dict[str, dict[str, Array]] = field(default_factory=dict)

    _repr_rows: ClassVar[int] = 0

    def values(self, name: str, metric: str = "accuracy") -> Array:
        """Return the curves of a score, ``(n_repeats, n_rounds + 1)``."""
        _validation.one_of(metric, "metric", ("accuracy", *self.others))
        curves = self.accuracy if metric == "accuracy" else self.others[metric]
        return curves[_validation.one_of(name, "name", curves)]

    def mean(self, name: str, metric: str = "accuracy") -> Array:
        """Return the mean curve of a score over the repeats."""
        return np.asarray(self.values(name, metric).mean(axis=0))

    def spread(self, name: str, metric: str = "accuracy") -> Array:
        """Return the standard deviation over the repeats (ddof = 1; 0 for one repeat)."""
        curves = self.values(name, metric)
        if len(curves) == 1:
            return np.zeros(curves.shape[1])
        return np.asarray(curves.std(axis=0, ddof=1))

    def auc(self, name: str, metric: str = "accuracy") -> float:
        """Return the area under the mean curve divided by its length."""
        return float(_heights(self.mean(name, metric)[None]).mean())

    def gain(self, name: str, metric: str = "accuracy") -> tuple[float, float]:
        """Return the difference in `auc` to random, and its standard error.

        The repeats are paired: in each, all scores start from the same labels.
        """
        curves = self.values(name, metric) - self.values("random", metric)
        each = _heights(curves).mean(axis=1)
        error = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        return float(each.mean()), float(error)

    def __getitem__(self, points: slice) -> ActiveLearning:
        points = check_slice(points, self)

        def part(curves: dict[str, Array]) -> dict[str, Array]:
            return {name: values[:, points] for name, values in curves.items()}

        others = {metric: part(curves) for metric, curves in self.others.items()}
        return ActiveLearning(self.n_labels[points], part(self.accuracy), others)

    def _columns(self) -> dict[str, Array]:
        columns: dict[str, Array] = {}
        for metric in ("accuracy", *self.others):
            suffix = "" if metric == "accuracy" else f" {metric}"
            columns |= {f"{name}{suffix}": self.mean(name, metric) for name in self.accuracy}
            columns |= {
                f"{name}{suffix} (std)": self.spread(name, metric) for name in self.accuracy
            }
        return columns

    def _index(self) -> tuple[str, Array]:
        return "n_labels", self.n_labels

    def _summary(self) -> str:
        areas = ", ".join(f"{name}={self.auc(name):.4f}" for name in self.accuracy)
        return (
            f"ActiveLearning({int(self.n_labels[0])} to {int(self.n_labels[-1])} labels, "
            f"n_repeats={len(self.accuracy['random'])}, auc: {areas})"
        )


def _heights(curves: Array) -> Array:
    """Return the heights of the trapezoids under each curve."""
    return np.asarray((curves[:, 1:] + curves[:, :-1]) / 2 if curves.shape[1] > 1 else curves)


def active_learning_curve(
    estimator: Any,
    X_pool: Any,
    y_pool: Any,
    X_test: Any,
    y_test: Any,
    score: Score | Sequence[Score] | Mapping[str, Score] = "tv epistemic",
    *,
    members: Callable[[Any, Any], Any] | None = None,
    metrics: Any = "accuracy",
    n_initial: int = 20,
    batch_size: int = 10,
    n_rounds: int = 10,
    n_repeats: int = 5,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Callable[[Iterable[Any], str], Iterable[Any]] | None = None,
) -> ActiveLearning:
    """Label the instances of highest score in rounds, and compare with random sampling.

    Parameters
    ----------
    estimator : object with fit and predict
        Copied for every fit and not modified. If its parameter ``random_state`` is None, the copy
        is seeded.
    X_pool, y_pool : array-like of n rows
        The pool of instances that may be labelled, and their labels.
    X_test, y_test : array-like
        Data on which the metrics are measured.
    score : str, distance, callable, a sequence of these, or a mapping of names to these
        The acquisition score: a row of the measure table (``"upper_entropy"``), a family and a
        component (``"tv epistemic"``), a family or a distance (its total uncertainty), or a
        function from a batch of credal sets to one number, or an `Interval`, per set.
    members : callable, optional
        ``members(fitted, X)`` returns predictions ``(n, M, K)`` or credal sets. By default the
        estimator's ``predict_credal`` or, without one, its ``predict_proba`` as a single member;
        then total uncertainty is 1 minus the largest probability, and epistemic uncertainty is 0.
    metrics : str, callable, a sequence of these, or a mapping of names to these
        Metrics besides the accuracy: ``"brier"``, ``"log_loss"``, or a function
        ``metric(fitted, X_test, y_test)`` such as a scorer of scikit-learn or of
        `make_selective_scorer`.
    n_initial : int, default=20
        Number of initial labels, drawn at random, with at least one of each class if possible.
    batch_size, n_rounds : int, default=10
        Number of labels per round, and number of rounds.
    n_repeats : int, default=5
        Number of independent repetitions.
    random_state : int, RandomState, Generator or None, default=0
        Draws the initial labels, the random order and the seeds of the estimators.
    n_jobs : int, optional
        Number of repetitions that run at the same time, in processes of joblib; -1 uses all cores.
        The result does not depend on it.
    progress : callable, optional
        ``progress(items, description)`` yields the items and shows the progress.

    Returns
    -------
    ActiveLearning

    Notes
    -----
    In a repetition all scores, and random sampling, start from the same labels and the same first
    fit. Ties are broken at random. The cost is one fit per round, score and repetition.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import credalens as cl
    >>> X, y = load_iris(return_X_y=True)
    >>> result = cl.active_learning_curve(GaussianNB(), X[::2], y[::2], X[1::2], y[1::2],
    ...                                   "tv total", n_initial=6, batch_size=3, n_rounds=4)
    >>> result.n_labels
    array([ 6,  9, 12, 15, 18])
    >>> sorted(result.accuracy), result.accuracy["random"].shape
    (['random', 'tv total'], (5, 5))
    """
    labels, test = _validation.vector(y_pool, "y_pool"), _validation.vector(y_test, "y_test")
    given = [score] if isinstance(score, str) or not isinstance(score, Iterable) else list(score)
    if "random" in given:
        _validation.raise_invalid(
            "score", f"names {given}", "pass at least one other score; random is always included"
        )
    functions: dict[str, Any] = {**named_scores(score), "random": None}
    measured = named_metrics(metrics)
    start = _validation.whole_number(n_initial, "n_initial", least=1)
    batch = _validation.whole_number(batch_size, "batch_size", least=1)
    rounds = _validation.whole_number(n_rounds, "n_rounds", least=0)
    repeats = _validation.whole_number(n_repeats, "n_repeats", least=1)
    workers = n_workers(n_jobs)
    needed = start + batch * rounds
    if needed > len(labels):
        _validation.raise_invalid(
            "y_pool",
            f"has {len(labels)} labels, n_initial + n_rounds * batch_size is {needed}",
            "pass a larger pool or fewer rounds",
        )
    for name, X, y in (("X_pool", X_pool, labels), ("X_test", X_test, test)):
        n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        if n_rows != len(y):
            _validation.raise_invalid(name, f"has {n_rows} rows", f"pass {len(y)}, as in y")
    seeds = np.random.default_rng(_validation.seed(random_state)).integers(2**32, size=repeats)
    data = X_pool, labels, X_test, test
    predict = members or partial(
        credal_predictions, fix="pass members=, a function of the fitted estimator and X"
    )
    loops = [ActiveLoop(estimator, predict, measured, *data, int(seed)) for seed in seeds]
    track = progress or (lambda items, _: items)
    results = _results(loops, (functions, start, batch, rounds), workers)
    description = f"{repeats} runs of {len(functions)} x {rounds} rounds"
    curves = np.stack([next(results) for _ in track(range(repeats), description)])
    named = {
        metric: {name: curves[:, m, s] for s, name in enumerate(functions)}
        for m, metric in enumerate(measured)
    }
    return ActiveLearning(start + batch * np.arange(rounds + 1), named.pop("accuracy"), named)


def _results(loops: list[ActiveLoop], arguments: tuple[Any, ...], workers: int) -> Iterator[Array]:
    """Yield the curves of each repetition, in order."""
    if workers == 1 or len(loops) == 1:
        yield from (loop.run(*arguments) for loop in loops)
        return
    joblib = require("joblib", "sklearn")
    run = joblib.Parallel(n_jobs=workers, return_as="generator")
    yield from run(joblib.delayed(ActiveLoop.run)(loop, *arguments) for loop in loops)
