"""Spaces of the hyper-parameters of random forests, by name.

The paper does not state the space of its Table 2. `credalens reproduce spaces` compares these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credalens import _validation
from credalens._backend import Array

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier

#: The space whose Table 2 is closest to the published one, by `credalens reproduce spaces`.
DEFAULT_SPACE = "mixed-depth"
#: Number of folds of the validation.
FOLDS = 3
#: A drawn set of hyper-parameters.
Parameters = dict[str, Any]


@dataclass(frozen=True)
class Space:
    """A distribution of the hyper-parameters of a forest; others have scikit-learn's defaults."""

    name: str
    #: In words, as the pages print it.
    description: str
    #: Draws the hyper-parameters of one forest.
    draw: Callable[[np.random.RandomState], Parameters]
    #: Number of forests that are drawn; the best of them in cross-validation are kept. 0 keeps
    #: every forest that is drawn.
    n_candidates: int = 0

    def forests(
        self, n_members: int, seed: int, X: Array, y: Array
    ) -> list[RandomForestClassifier]:
        """Return unfitted forests for the training part `X`, `y`, each with its own seed."""
        from sklearn.ensemble import RandomForestClassifier

        rng = np.random.RandomState(seed)
        forests = [
            RandomForestClassifier(
                **self.draw(rng), random_state=int(rng.randint(np.iinfo(np.int32).max))
            )
            for _ in range(max(self.n_candidates, n_members))
        ]
        if self.n_candidates <= n_members:
            return forests
        accuracies = [validated_accuracy(forest, X, y, seed) for forest in forests]
        best = np.argsort(-np.array(accuracies), kind="stable")[:n_members]
        return [forests[i] for i in sorted(best)]


def validated_accuracy(forest: Any, X: Array, y: Array, seed: int) -> float:
    """Return the accuracy of a forest in stratified cross-validation."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed % 2**32)
    correct = 0
    with warnings.catch_warnings():
        # A class may have fewer rows than there are folds.
        warnings.simplefilter("ignore", UserWarning)
        for train, test in folds.split(X, y):
            fitted = clone(forest).fit(X[train], y[train])
            correct += int(np.sum(fitted.predict(X[test]) == y[test]))
    return correct / len(y)


def _trees(rng: np.random.RandomState, low: int, high: int) -> int:
    return int(rng.randint(low, high + 1))


def _mixed_depth(rng: np.random.RandomState) -> Parameters:
    # As in `credalens.predictors.random_forests`, which cannot be imported without scikit-learn.
    return {
        "n_estimators": _trees(rng, 50, 200),
        "max_depth": (5, 10, 15, 20, None)[rng.randint(5)],
    }


def _deep(rng: np.random.RandomState) -> Parameters:
    return {
        "n_estimators": _trees(rng, 10, 100),
        "max_depth": (10, 20, 30, None)[rng.randint(4)],
    }


def _few_deep(rng: np.random.RandomState) -> Parameters:
    return {
        "n_estimators": _trees(rng, 5, 100),
        "max_depth": (10, 20, 30, None)[rng.randint(4)],
    }


def _max_features(rng: np.random.RandomState) -> Parameters:
    return {
        "n_estimators": _trees(rng, 10, 100),
        "max_depth": int(rng.randint(5, 51)),
        "max_features": float(rng.uniform(0.1, 1.0)),
    }


def _full_depth(rng: np.random.RandomState) -> Parameters:
    return {"n_estimators": _trees(rng, 5, 50)}


def _any_depth(rng: np.random.RandomState) -> Parameters:
    return {"n_estimators": 100, "max_depth": int(rng.randint(1, 50))}


SPACES = {
    space.name: space
    for space in (
        Space(
            "mixed-depth",
            "n_estimators 50-200, max_depth from 5, 10, 15, 20, none",
            _mixed_depth,
        ),
        Space("deep", "n_estimators 10-100, max_depth from 10, 20, 30, none", _deep),
        Space(
            "max-features", "n_estimators 10-100, max_depth 5-50, max_features 0.1-1", _max_features
        ),
        Space("few-deep", "n_estimators 5-100, max_depth from 10, 20, 30, none", _few_deep),
        Space("full-depth", "n_estimators 5-50, no limit of the depth", _full_depth),
        Space("any-depth", "100 trees, max_depth 1-49", _any_depth),
        Space(
            "validated",
            f"100 trees, max_depth 1-49; of 25 forests, the best in {FOLDS}-fold cross-validation "
            "are kept",
            _any_depth,
            n_candidates=25,
        ),
    )
}


def find_space(name: str) -> Space:
    """Return the space of a name."""
    return SPACES[_validation.one_of(name, "space", SPACES)]
