"""Random forests as members, and the trees of one forest as members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_array, check_random_state

from credalens import _validation
from credalens._backend import Array
from credalens.sets.adapters import leaf_table

#: Hyper-parameter space.
N_ESTIMATORS = (50, 200)
MAX_DEPTH = (5, 10, 15, 20, None)


def random_forests(n_members: int, random_state: Any = None) -> list[RandomForestClassifier]:
    """Return unfitted forests with random hyper-parameters.

    ``n_estimators`` is drawn uniformly from 50 to 200, ``max_depth`` from 5, 10, 15, 20 and None,
    and each forest has its own seed. Other parameters have the defaults of scikit-learn.
    González-García et al. (2026) do not state their space; ``credalens reproduce spaces`` compares
    this one, ``mixed-depth``, with others.

    Parameters
    ----------
    n_members : int
        Number of forests.
    random_state : int, RandomState or None
        Draws the hyper-parameters and the seeds.

    Returns
    -------
    list of RandomForestClassifier

    Examples
    --------
    >>> from credalens.predictors import random_forests
    >>> [forest.max_depth for forest in random_forests(3, random_state=0)]
    [5, 10, 15]
    """
    rng = check_random_state(random_state)
    return [
        RandomForestClassifier(
            n_estimators=int(rng.randint(N_ESTIMATORS[0], N_ESTIMATORS[1] + 1)),
            max_depth=MAX_DEPTH[rng.randint(len(MAX_DEPTH))],
            random_state=int(rng.randint(np.iinfo(np.int32).max)),
        )
        for _ in range(n_members)
    ]


def base_estimators(ensemble: Any) -> tuple[Any, list[Any]]:
    """Return a fitted forest or bagging classifier, and its fitted base estimators."""
    inner = ensemble.estimator if isinstance(ensemble, FrozenEstimator) else ensemble
    parts = getattr(inner, "estimators_", None)
    if not isinstance(parts, list) or not all(hasattr(part, "predict_proba") for part in parts):
        _validation.raise_invalid(
            "estimators",
            f"{type(inner).__name__} has no list of probabilistic estimators_",
            "pass a RandomForestClassifier, ExtraTreesClassifier or BaggingClassifier, "
            "or members='estimators'",
        )
    return inner, parts


def predict_base_estimators(
    ensemble: Any, parts: list[Any], X: Any, smoothing: float
) -> Iterator[Array]:
    """Yield the predictions ``(n, K)`` of each base estimator, over the classes of the ensemble.

    `smoothing` is added to the class counts of a leaf, also for classes that the base estimator
    was not fitted to.
    """
    K = len(ensemble.classes_)
    if hasattr(ensemble, "apply"):  # a forest: one pass over all trees, which validates X once
        leaves = ensemble.apply(X)
        for m, part in enumerate(parts):
            yield leaf_table(part, K, smoothing)[leaves[:, m]]
        return
    X = check_array(X, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False)
    subsets = getattr(ensemble, "estimators_features_", None)
    if subsets is None:
        subsets = [slice(None)] * len(parts)
    for part, features in zip(parts, subsets, strict=True):
        own = _safe_indexing(X, features, axis=1)
        if smoothing == 0:
            predicted = part.predict_proba(own)
            whole = np.zeros((len(predicted), K), predicted.dtype)
            # The classes of a base estimator are indices into those of the ensemble.
            whole[:, np.asarray(part.classes_).astype(np.intp)] = predicted
            yield whole
        elif hasattr(part, "tree_"):
            yield leaf_table(part, K, smoothing)[part.apply(own)]
        else:
            _validation.raise_invalid(
                "smoothing", f"is {smoothing} but {type(part).__name__} has no leaves", "pass 0"
            )
