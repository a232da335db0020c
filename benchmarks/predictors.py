"""Cost of predicting credal sets in addition to the predictions of the members."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.harness import Row, seconds
from credalens.predictors import (
    CredalEnsembleClassifier,
    CredalEnsemblingClassifier,
    CredalWrapperClassifier,
)


def rows():
    X, y = make_classification(
        6_000, 40, n_informative=20, n_classes=10, n_clusters_per_class=1, random_state=0
    )
    train, test = slice(0, 1_000), slice(1_000, None)
    forests = CredalEnsembleClassifier(n_members=10, random_state=0).fit(X[train], y[train])
    yield _added(forests, "ten forests of the paper", X[test])
    for kind in (CredalWrapperClassifier, CredalEnsemblingClassifier):
        model = kind(n_members=10, random_state=0).fit(X[train], y[train])
        yield _added(model, "ten forests of the paper", X[test])
    trees = CredalEnsembleClassifier(RandomForestClassifier(100), members="trees", random_state=0)
    yield _trees(trees.fit(X[train], y[train]), X[test])
    cheap = [LogisticRegression(C=C, max_iter=500) for C in np.geomspace(1e-3, 10, 10)]
    model = CredalEnsembleClassifier(cheap).fit(X[train], y[train])
    yield _added(model, "ten logistic regressions", X[test], required=None)


class Timed:
    """A member that records the time of its predictions."""

    spent = 0.0

    def __init__(self, member):
        self._member = member

    def predict_proba(self, X):
        start = time.perf_counter()
        probabilities = self._member.predict_proba(X)
        Timed.spent += time.perf_counter() - start
        return probabilities


def _added(model, members, X, required=0.05):
    """Time one call in total and within the members, so that noise affects both."""
    expected = np.stack([m.predict_proba(X) for m in model.estimators_], axis=1)
    assert np.array_equal(model.predict_members(X), expected)
    model.estimators_ = [Timed(member) for member in model.estimators_]
    times = []
    for _ in range(9):
        Timed.spent = 0.0
        start = time.perf_counter()
        model.predict_credal(X)
        whole = time.perf_counter() - start
        times.append((whole / Timed.spent, whole, Timed.spent))
    ratio, ours, other = sorted(times)[len(times) // 2]
    return Row(
        f"{type(model).__name__}.predict_credal, {members}",
        "predict_proba of the members",
        1e6 * ours / len(X),
        1e6 * other / len(X),
        "adds less than 5 %" if required else "none",
        required is None or ratio - 1 < required,
        f"adds {100 * (ratio - 1):.2f} %",
    )


def _trees(model, X):
    forest = model.named_estimators_["ensemble"]
    single = X.astype(np.float32)
    ours = seconds(lambda: model.predict_credal(X))
    other = seconds(lambda: [tree.predict_proba(single) for tree in forest.estimators_])
    return Row(
        "CredalEnsembleClassifier.predict_credal, the 100 trees of a forest",
        "predict_proba of the trees",
        1e6 * ours / len(X),
        1e6 * other / len(X),
        "none",
        True,
        f"adds {100 * (ours / other - 1):.1f} %",
    )
