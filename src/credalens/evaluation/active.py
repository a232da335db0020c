"""Which labels to buy next: pool-based active learning with any score."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array, to_numpy
from credalens.evaluation.rejection import rejection_order
from credalens.measures import quantify
from credalens.measures.quantify import COMPONENTS, FAMILIES
from credalens.sets import as_credal_set

Score = str | Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class ActiveLearning:
    """Accuracy against the number of labels; see `active_learning_curve`.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> accuracy = {"tv epistemic": np.array([[0.6, 0.9]]), "random": np.array([[0.6, 0.8]])}
    >>> learned = cl.ActiveLearning(np.array([10, 20]), accuracy)
    >>> learned.mean("tv epistemic").tolist()
    [0.6, 0.9]
    """

    #: Number of labels at each point, ``(n_rounds + 1,)``.
    n_labels: Array
    #: Accuracy on the test part for each score and for "random", ``(n_repeats, n_rounds + 1)``.
    accuracy: dict[str, Array]

    def mean(self, name: str) -> Array:
        """Return the mean curve of a score over the repeats."""
        return np.asarray(self.accuracy[name].mean(axis=0))

    def spread(self, name: str) -> Array:
        """Return the standard deviation over the repeats (ddof = 1; 0 for one repeat)."""
        curves = self.accuracy[name]
        if len(curves) == 1:
            return np.zeros(curves.shape[1])
        return np.asarray(curves.std(axis=0, ddof=1))

    def auc(self, name: str) -> float:
        """Return the area under the mean curve divided by its length: the mean accuracy."""
        curve = self.mean(name)
        return float(((curve[1:] + curve[:-1]) / 2).mean()) if len(curve) > 1 else float(curve[0])

    def gain(self, name: str) -> tuple[float, float]:
        """Return how much larger the area is than that of random, and the standard error.

        The repeats are paired: each starts from the same labels for every score.
        """
        curves = self.accuracy[name] - self.accuracy["random"]
        steps = (curves[:, 1:] + curves[:, :-1]) / 2 if curves.shape[1] > 1 else curves
        each = steps.mean(axis=1)
        error = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        return float(each.mean()), float(error)

    def __repr__(self) -> str:
        areas = ", ".join(f"{name}={self.auc(name):.4f}" for name in self.accuracy)
        return (
            f"ActiveLearning({int(self.n_labels[0])} to {int(self.n_labels[-1])} labels, "
            f"n_repeats={len(self.accuracy['random'])}, auc: {areas})"
        )


def active_learning_curve(
    estimator: Any,
    X_pool: Any,
    y_pool: Any,
    X_test: Any,
    y_test: Any,
    score: Score | Sequence[str] | Mapping[str, Score] = "tv epistemic",
    *,
    members: Callable[[Any, Any], Any] | None = None,
    n_initial: int = 20,
    batch_size: int = 10,
    n_rounds: int = 10,
    n_repeats: int = 5,
    random_state: Any = 0,
    progress: Callable[[Iterable[Any], str], Iterable[Any]] | None = None,
) -> ActiveLearning:
    """Label the inputs that score highest, round by round, and compare with labelling at random.

    Parameters
    ----------
    estimator : object with fit and predict
        Copied for every fit, never changed. Where its ``random_state`` is a parameter that is None,
        it is seeded.
    X_pool, y_pool : array-like of n rows
        Inputs that may be labelled, and the labels that they then get.
    X_test, y_test : array-like
        Where accuracy is measured.
    score : str, callable, sequence of str, or mapping of names to these
        What to label first: ``"tv epistemic"`` and the like, of the families tv, entropy, hartley
        and the components total, aleatoric, epistemic; or a function of a batch of credal sets
        that returns one number, or an `Interval`, each.
    members : callable, optional
        ``members(fitted, X)`` gives the predictions ``(n, M, K)`` or credal sets. By default the
        estimator's ``predict_credal`` or, without one, its ``predict_proba`` as a single member:
        then total uncertainty is 1 minus the largest probability, and epistemic is 0.
    n_initial : int, default=20
        Labels to start with, drawn at random; one of each class first, where there are as many.
    batch_size, n_rounds : int, default=10
        Labels per round, and rounds.
    n_repeats : int, default=5
        Independent repetitions, for the bands.
    random_state : int, RandomState, Generator or None, default=0
        Draws the initial labels, the random order and seeds.
    progress : callable, optional
        ``progress(items, what)`` gives back the items, showing how far they are.

    Returns
    -------
    ActiveLearning

    Notes
    -----
    In a repeat all scores and random start from the same labels and the same first fit. Inputs of
    equal score are taken in random order. Costs one fit per round, score and repeat.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import credalens as cl
    >>> X, y = load_iris(return_X_y=True)
    >>> found = cl.active_learning_curve(GaussianNB(), X[::2], y[::2], X[1::2], y[1::2],
    ...                                  "tv total", n_initial=6, batch_size=3, n_rounds=4)
    >>> found.n_labels
    array([ 6,  9, 12, 15, 18])
    >>> sorted(found.accuracy), found.accuracy["random"].shape
    (['random', 'tv total'], (5, 5))
    """
    labels, test = _validation.vector(y_pool, "y_pool"), _validation.vector(y_test, "y_test")
    plan = {name: _function(one) for name, one in _named(score).items()} | {"random": None}
    start, batch, rounds, repeats = (
        _validation.whole_number(value, name, least)
        for value, name, least in (
            (n_initial, "n_initial", 1), (batch_size, "batch_size", 1), (n_rounds, "n_rounds", 0),
            (n_repeats, "n_repeats", 1),
        )
    )  # fmt: skip
    if start + batch * rounds > len(labels):
        _validation.refuse(
            "y_pool",
            f"has {len(labels)} labels, n_initial + n_rounds * batch_size is "
            f"{start + batch * rounds}",
            "pass a larger pool or fewer rounds",
        )
    for name, X, y in (("X_pool", X_pool, labels), ("X_test", X_test, test)):
        if _length(X) != len(y):
            _validation.refuse(name, f"has {_length(X)} rows", f"pass {len(y)}, as in y")
    accuracy = {name: np.empty((repeats, rounds + 1)) for name in plan}
    seeds = np.random.default_rng(_validation.seed(random_state)).integers(2**32, size=repeats)
    track = progress or (lambda items, _: items)
    for repeat in track(range(repeats), f"{repeats} runs of {len(plan)} x {rounds} rounds"):
        loop = _Loop(estimator, members, (X_pool, labels), (X_test, test), int(seeds[repeat]))
        first = loop.initial(start)
        fitted = loop.fit(first)
        for name, function in plan.items():
            accuracy[name][repeat] = loop.run(first, fitted, function, batch, rounds)
    return ActiveLearning(start + batch * np.arange(rounds + 1), accuracy)


class _Loop:
    """One repeat: the data, and the seed of everything that is drawn in it."""

    def __init__(
        self,
        estimator: Any,
        members: Callable[[Any, Any], Any] | None,
        pool: tuple[Any, Array],
        test: tuple[Any, Array],
        seed: int,
    ) -> None:
        self.estimator, self.members = estimator, members or _members
        self.X, self.y = pool
        self.X_test, self.y_test = test
        self.seed = seed

    def initial(self, size: int) -> Array:
        """Return the positions that are labelled first."""
        order = np.random.default_rng(self.seed).permutation(len(self.y))
        _, first = np.unique(self.y[order], return_index=True)
        if len(first) > size:
            return order[:size]
        rest = np.setdiff1d(np.arange(len(order)), first)
        return np.asarray(order[np.concatenate([first, rest])[:size]])

    def fit(self, known: Array) -> Any:
        """Return a copy of the estimator that has learnt what is known."""
        fresh = copy.deepcopy(self.estimator)
        if hasattr(fresh, "get_params") and fresh.get_params().get("random_state", 0) is None:
            fresh.set_params(random_state=self.seed % 2**31)
        fresh.fit(_rows(self.X, known), self.y[known])
        return fresh

    def run(
        self,
        known: Array,
        fitted: Any,
        score: Callable[[Any], Any] | None,
        batch: int,
        rounds: int,
    ) -> Array:
        """Return the accuracy before and after each round."""
        rng = np.random.default_rng([self.seed, 1])
        curve = [self._accuracy(fitted)]
        for _ in range(rounds):
            left = rng.permutation(np.setdiff1d(np.arange(len(self.y)), known))
            if score is not None:
                sets = as_credal_set(self.members(fitted, _rows(self.X, left)))
                left = left[rejection_order(score(sets))]
            known = np.concatenate([known, left[:batch]])
            fitted = self.fit(known)
            curve.append(self._accuracy(fitted))
        return np.array(curve)

    def _accuracy(self, fitted: Any) -> float:
        return float(np.mean(np.asarray(fitted.predict(self.X_test)) == self.y_test))


def _named(score: Any) -> dict[str, Score]:
    if isinstance(score, str):
        named: dict[str, Score] = {score: score}
    elif isinstance(score, Mapping):
        named = dict(score)
    elif callable(score):
        named = {getattr(score, "__name__", "score"): score}
    else:
        named = {one: one for one in score}
    if not named or "random" in named:
        _validation.refuse(
            "score", f"names {list(named)}", "pass one score or more; random comes by itself"
        )
    return named


def _function(score: Score) -> Callable[[Any], Any]:
    """Return the function of credal sets that a name stands for."""
    if not isinstance(score, str):
        if not callable(score):
            _validation.refuse("score", f"is {score!r}", "pass a name or a function of sets")
        return score
    family, _, component = score.partition(" ")
    if family not in FAMILIES or component not in COMPONENTS:
        _validation.refuse(
            "score",
            f"is {score!r}",
            f"pass one of {', '.join(FAMILIES)} and one of {', '.join(COMPONENTS)}, as in "
            "'tv epistemic'",
        )
    return lambda Q: getattr(quantify(Q, family, random_state=0), component)


def _members(fitted: Any, X: Any) -> Any:
    if hasattr(fitted, "predict_credal"):
        return fitted.predict_credal(X)
    if not hasattr(fitted, "predict_proba"):
        _validation.refuse(
            "estimator",
            f"{type(fitted).__name__} has neither predict_credal nor predict_proba",
            "pass members=, a function of the fitted estimator and X",
        )
    return to_numpy(fitted.predict_proba(X), "predict_proba")[0][:, None]


def _rows(X: Any, positions: Array) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[positions]
    return X[positions] if hasattr(X, "shape") else [X[i] for i in positions]


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
