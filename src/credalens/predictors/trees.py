"""The trees of one forest, or the parts of one bag, as members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_array

from credalens import _validation
from credalens._arrays import Array


def parts_of(ensemble: Any) -> tuple[Any, list[Any]]:
    """Return a fitted forest or bag, and its fitted parts."""
    inner = ensemble.estimator if isinstance(ensemble, FrozenEstimator) else ensemble
    parts = getattr(inner, "estimators_", None)
    if not isinstance(parts, list) or not all(hasattr(part, "predict_proba") for part in parts):
        _validation.refuse(
            "estimators",
            f"{type(inner).__name__} has no list of probabilistic estimators_",
            "pass a RandomForestClassifier, ExtraTreesClassifier or BaggingClassifier, "
            "or members='estimators'",
        )
    return inner, parts


def columns_of(parts: list[Any], columns: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return the classes of each part, of which `columns` are those of the whole.

    Parts are fitted to the positions of the labels in the ``classes_`` of the whole.
    """
    return [columns[np.asarray(part.classes_).astype(np.intp)] for part in parts]


def ask_parts(ensemble: Any, parts: list[Any], X: Any, smoothing: float) -> Iterator[Array]:
    """Yield what each part predicts, ``(n, K_m)``, its leaf counts raised by `smoothing`."""
    if hasattr(ensemble, "apply"):  # a forest: one pass over all trees, which checks X once
        leaves = ensemble.apply(X)
        for m, part in enumerate(parts):
            yield leaf_shares(part, smoothing)[leaves[:, m]]
        return
    X = check_array(X, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False)
    subsets = getattr(ensemble, "estimators_features_", None)
    if subsets is None:
        subsets = [slice(None)] * len(parts)
    for part, features in zip(parts, subsets, strict=True):
        own = _safe_indexing(X, features, axis=1)
        if smoothing == 0:
            yield part.predict_proba(own)
        else:
            yield leaf_shares(part, smoothing)[part.apply(own)]


def leaf_shares(tree: Any, smoothing: float) -> Array:
    """Return the class frequencies at every node of a tree, ``(nodes, K)``.

    ``(n_y + smoothing) / (n + K smoothing)`` with n the training weight at the node: Laplace's
    rule for 1.
    """
    if not hasattr(tree, "tree_"):
        _validation.refuse(
            "smoothing", f"is {smoothing} but {type(tree).__name__} has no leaves", "pass 0"
        )
    nodes = tree.tree_
    shares = nodes.value[:, 0, :]
    # Older versions of scikit-learn keep counts in place of shares.
    shares = shares / shares.sum(axis=1, keepdims=True)
    if smoothing == 0:
        return np.asarray(shares)
    weight = nodes.weighted_n_node_samples[:, None]
    return np.asarray((shares * weight + smoothing) / (weight + smoothing * shares.shape[1]))
