"""One repetition of active learning, and the metrics of a fitted estimator."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation.estimators import brier_losses, label_probabilities
from credalens.evaluation.rejection import rejection_order
from credalens.sets import as_credal_set

#: A score of a batch of credal sets.
SetScore = Callable[[Any], Any]
#: A metric of a fitted estimator on test data.
Metric = Callable[[Any, Any, Array], float]


@dataclass(frozen=True)
class ActiveLoop:
    """One repetition: the data, and the seed of all its random draws."""

    estimator: Any
    members: Callable[[Any, Any], Any]
    metrics: Mapping[str, Metric]
    X: Any
    y: Array
    X_test: Any
    y_test: Array
    seed: int

    def run(
        self,
        scores: Mapping[str, SetScore | None],
        n_initial: int,
        batch: int,
        rounds: int,
    ) -> Array:
        """Return the metrics before and after each round, ``(metrics, scores, rounds + 1)``.

        A score of None selects at random.
        """
        first = self._initial(n_initial)
        fitted = self._fit(first)
        curves = [self._curve(first, fitted, score, batch, rounds) for score in scores.values()]
        return np.stack(curves, axis=1)

    def _initial(self, size: int) -> Array:
        """Return the indices of the initial labels."""
        order = np.random.default_rng(self.seed).permutation(len(self.y))
        _, first = np.unique(self.y[order], return_index=True)
        if len(first) > size:
            return order[:size]
        others = np.setdiff1d(np.arange(len(order)), first)
        return np.asarray(order[np.concatenate([first, others])[:size]])

    def _fit(self, labelled: Array) -> Any:
        """Return a copy of the estimator fitted to the labelled instances."""
        fresh = copy.deepcopy(self.estimator)
        if hasattr(fresh, "get_params") and fresh.get_params().get("random_state", 0) is None:
            fresh.set_params(random_state=self.seed % 2**31)
        fresh.fit(_rows(self.X, labelled), self.y[labelled])
        return fresh

    def _curve(
        self,
        labelled: Array,
        fitted: Any,
        score: SetScore | None,
        batch: int,
        rounds: int,
    ) -> Array:
        """Return the metrics before and after each round, ``(metrics, rounds + 1)``."""
        rng = np.random.default_rng([self.seed, 1])
        curve = [self._measure(fitted)]
        for _ in range(rounds):
            pool = rng.permutation(np.setdiff1d(np.arange(len(self.y)), labelled))
            if score is not None:
                sets = as_credal_set(self.members(fitted, _rows(self.X, pool)))
                pool = pool[rejection_order(score(sets))]
            labelled = np.concatenate([labelled, pool[:batch]])
            fitted = self._fit(labelled)
            curve.append(self._measure(fitted))
        return np.array(curve).T

    def _measure(self, fitted: Any) -> list[float]:
        return [float(f(fitted, self.X_test, self.y_test)) for f in self.metrics.values()]


def named_metrics(metrics: Any) -> dict[str, Metric]:
    """Return metrics by name, accuracy first: names of `METRICS`, or functions with a name."""
    if isinstance(metrics, Mapping):
        pairs = list(metrics.items())
    else:
        several = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
        pairs = [(one if isinstance(one, str) else str(one), one) for one in several]
        pairs = [(getattr(one, "__name__", name), one) for name, one in pairs]
    found: dict[str, Metric] = {"accuracy": METRICS["accuracy"]}
    for name, one in pairs:
        if not callable(one):
            found[name] = METRICS[_validation.one_of(one, "metrics", METRICS)]
        elif name in found:
            _validation.raise_invalid(
                "metrics", f"has two metrics named {name!r}", "pass a mapping of different names"
            )
        else:
            found[name] = one
    return found


def _accuracy(fitted: Any, X: Any, y: Array) -> float:
    return float(np.mean(np.asarray(fitted.predict(X)) == y))


def _brier(fitted: Any, X: Any, y: Array) -> float:
    return float(np.mean(brier_losses(*label_probabilities(fitted, X, y))))


def _log_loss(fitted: Any, X: Any, y: Array) -> float:
    """Return the mean of ``-ln p_y``, with probabilities of at least the rounding unit."""
    _, own = label_probabilities(fitted, X, y)
    return float(-np.mean(np.log(np.maximum(own, np.finfo(np.float64).eps))))


#: Metrics that have a name; the first is always computed.
METRICS: Mapping[str, Metric] = {"accuracy": _accuracy, "brier": _brier, "log_loss": _log_loss}


def _rows(X: Any, positions: Array) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[positions]
    return X[positions] if hasattr(X, "shape") else [X[i] for i in positions]
