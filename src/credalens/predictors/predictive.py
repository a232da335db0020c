"""Predictive distributions of regressors: leaves, residuals, quantile losses, standard errors."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree

from credalens import _validation
from credalens._backend import Array

#: How the distribution of a member is made.
DISTRIBUTIONS = ("leaves", "quantiles", "normal", "residuals")
#: Estimators with leaves.
LEAVES = RandomForestRegressor | ExtraTreesRegressor | BaseDecisionTree
#: Number of entries of a block of leaf weights.
BLOCK_ENTRIES = 1 << 22


def inner(estimator: Any) -> Any:
    """Return an estimator without the wrapper that freezes it."""
    return estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator


def last_step(estimator: Any) -> tuple[Any, str]:
    """Return what predicts in an estimator or a pipeline, and the prefix of its parameters."""
    own = inner(estimator)
    if not isinstance(own, Pipeline):
        return own, ""
    name, step = own.steps[-1]
    return step, f"{name}__"


def supported(estimator: Any) -> str:
    """Return the distribution that ``distribution="auto"`` takes from an estimator."""
    own, _ = last_step(estimator)
    if isinstance(own, LEAVES):
        return "leaves"
    if level_parameter(estimator) is not None:
        return "quantiles"
    predict = getattr(type(own), "predict", None)
    if predict is not None and "return_std" in inspect.signature(predict).parameters:
        return "normal"
    return "residuals"


def level_parameter(estimator: Any) -> str | None:
    """Return the parameter that is the level of a quantile regression, None for other models."""
    own, prefix = last_step(estimator)
    if isinstance(own, QuantileRegressor):
        return f"{prefix}quantile"
    parameters = own.get_params(deep=False)
    if parameters.get("loss") != "quantile":
        return None
    return next((prefix + name for name in ("quantile", "alpha") if name in parameters), None)


def at_level(estimator: Any, level: float) -> Any:
    """Return an unfitted clone of a quantile regression at a level."""
    parameter = level_parameter(estimator)
    if isinstance(estimator, FrozenEstimator) or parameter is None:
        _validation.raise_invalid(
            "distribution",
            f"is 'quantiles', which {type(estimator).__name__} does not support",
            "pass unfitted estimators with loss='quantile', or QuantileRegressor",
        )
    return clone(estimator).set_params(**{parameter: float(level)})


def middle_levels(n_samples: int) -> Array:
    """Return the levels in the middle of equally probable intervals."""
    return (np.arange(n_samples) + 0.5) / n_samples


def weighted_quantiles(values: Array, weights: Array, levels: Array) -> Array:
    """Return the smallest values up to which the share of the weights is at least the levels."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order])
    found = np.searchsorted(share, levels * share[-1] * (1 - 1e-12))
    return np.asarray(values[order][np.minimum(found, len(values) - 1)])


def residual_quantiles(
    estimator: Any, X: Any, y: Array, weights: Array | None, params: dict[str, Any], folds: Any,
    levels: Array,
) -> Array:  # fmt: skip
    """Return quantiles of ``y - prediction``, where rows are predicted by models of other folds."""
    predicted = cross_val_predict(estimator, X, y, cv=folds, params=dict(params) or None)
    residuals = y - np.asarray(predicted, np.float64).reshape(len(y))
    return weighted_quantiles(residuals, _weights(y, weights), levels)


def make_folds(cv: Any, n: int, rng: np.random.RandomState) -> Any:
    """Return shuffled folds for a number of them, other splitters unchanged."""
    if not isinstance(cv, int | np.integer) or isinstance(cv, bool):
        return cv
    cv = _validation.whole_number(cv, "cv", least=2)
    if n < 2:
        _validation.raise_invalid(
            "X", f"has n_samples={n}", "pass at least 2 rows, so that residuals are out of fold"
        )
    return KFold(min(cv, n), shuffle=True, random_state=rng)


class LeafTargets:
    """The training targets in the leaves of one tree, or of the trees of a forest.

    As in quantile regression forests (Meinshausen 2006), the distribution of an instance gives each
    training target the weight ``mean over trees of 1 / size of the leaf``, if it is in the leaf of
    the instance. It is returned as equally probable values, its quantiles in the middle of equally
    probable intervals.
    """

    def __init__(self, leaves: Array, y: Array, weights: Array | None, n_samples: int) -> None:
        order = np.argsort(y, kind="stable")
        self._y, self._levels = y[order], middle_levels(n_samples)
        own = _weights(y, weights)[order]
        parts = []
        self._columns: list[NDArray[np.intp]] = []
        for column in leaves[order].T:
            nodes, index = np.unique(column, return_inverse=True)
            self._columns.append(nodes)
            shape = (len(nodes), len(y))
            part = sparse.csr_array((own, (index, np.arange(len(y)))), shape=shape)
            sums = part.sum(axis=1)
            # A leaf whose rows all have weight 0 has their frequencies.
            if (sums == 0).any():
                part = part + sparse.csr_array(
                    ((sums == 0)[index] * 1.0, (index, np.arange(len(y)))), shape=shape
                )
                sums = part.sum(axis=1)
            parts.append(sparse.diags_array(1 / sums) @ part)
        everything = own if own.any() else np.ones(len(y))
        parts.append(sparse.csr_array((everything / everything.sum())[None]))
        # The rows are the leaves of all trees, and all training targets.
        self._weights = sparse.vstack(parts, format="csr")
        self._starts = np.cumsum([0, *(len(nodes) for nodes in self._columns)])
        self._table = self._leaf_table() if len(self._columns) == 1 else None

    def _leaf_table(self) -> Array:
        """Return the samples of every leaf of a single tree, and of all training targets."""
        n_rows = self._weights.shape[0]
        return np.concatenate(list(self._quantiles(sparse.eye_array(n_rows).tocsr())))

    def samples(self, leaves: Array) -> Array:
        """Return equally probable values ``(n, S)`` for the leaves ``(n, trees)`` of instances."""
        n, n_rows = len(leaves), self._weights.shape[0]
        at = np.empty(leaves.shape, np.intp)
        for t, nodes in enumerate(self._columns):
            found = np.minimum(np.searchsorted(nodes, leaves[:, t]), len(nodes) - 1)
            known = nodes[found] == leaves[:, t]
            at[:, t] = np.where(known, self._starts[t] + found, n_rows - 1)
        if self._table is not None:
            return np.asarray(self._table[at[:, 0]])
        counted = at < n_rows - 1
        counted[~counted.any(axis=1), 0] = True
        rows, trees = np.nonzero(counted)
        chosen = sparse.csr_array((np.ones(len(rows)), (rows, at[rows, trees])), shape=(n, n_rows))
        return np.concatenate([*self._quantiles(chosen), np.empty((0, len(self._levels)))])

    def _quantiles(self, chosen: Any) -> Any:
        """Yield the quantiles of blocks of rows of ``chosen @ weights``."""
        step = max(1, BLOCK_ENTRIES // len(self._y))
        for start in range(0, chosen.shape[0], step):
            shares = np.cumsum((chosen[start : start + step] @ self._weights).toarray(), axis=1)
            shares /= shares[:, -1:]
            # One search for all rows: each is moved to an interval of its own.
            offset = 2.0 * np.arange(len(shares))[:, None]
            wanted = np.broadcast_to(self._levels * (1 - 1e-12), (len(shares), len(self._levels)))
            found = np.searchsorted((shares + offset).ravel(), (wanted + offset).ravel())
            found = found.reshape(wanted.shape) - len(self._y) * np.arange(len(shares))[:, None]
            yield self._y[np.clip(found, 0, len(self._y) - 1)]


def leaves_of(estimator: Any, X: Any) -> Array:
    """Return the leaf of each instance in each tree, ``(n, trees)``."""
    own = inner(estimator)
    if isinstance(own, Pipeline):
        own, X = own[-1], own[:-1].transform(X)
    found = np.asarray(own.apply(X))
    return found[:, None] if found.ndim == 1 else found


def check_supported(pairs: Sequence[tuple[str, Any]], distribution: str) -> None:
    """Raise if a member does not have a distribution."""
    for name, estimator in pairs:
        (own, _), problem = last_step(estimator), ""
        if not hasattr(own, "predict"):
            problem = "has no predict"
        elif distribution == "leaves" and not isinstance(own, LEAVES):
            problem = "has no leaves"
        elif distribution == "normal" and supported(own) != "normal":
            problem = "has no predict(X, return_std=True)"
        if problem:
            _validation.raise_invalid(
                "estimators",
                f"{name} ({type(own).__name__}) {problem}, distribution is {distribution!r}",
                "pass other estimators, or distribution='residuals'",
            )
        if distribution == "quantiles":
            at_level(estimator, 0.5)


def _weights(y: Array, weights: Array | None) -> Array:
    return np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
