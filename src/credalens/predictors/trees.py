"""The trees of one forest, or the parts of one bag, as members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_array

from credalens import _validation
from credalens._arrays import Array
from credalens.sets.adapters import leaf_table


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


def ask_parts(ensemble: Any, parts: list[Any], X: Any, smoothing: float) -> Iterator[Array]:
    """Yield what each part predicts, ``(n, K)``, over the classes of the whole.

    The class counts of a leaf are raised by `smoothing`, also for classes that the part has not
    seen.
    """
    K = len(ensemble.classes_)
    if hasattr(ensemble, "apply"):  # a forest: one pass over all trees, which checks X once
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
            yield _over_all(part, part.predict_proba(own), K)
        elif hasattr(part, "tree_"):
            yield leaf_table(part, K, smoothing)[part.apply(own)]
        else:
            _validation.refuse(
                "smoothing", f"is {smoothing} but {type(part).__name__} has no leaves", "pass 0"
            )


def _over_all(part: Any, predicted: Array, n_classes: int) -> Array:
    """Return predictions over all classes; a part knows its own by their number in the whole."""
    if len(part.classes_) == n_classes:
        return predicted
    whole = np.zeros((len(predicted), n_classes), predicted.dtype)
    whole[:, np.asarray(part.classes_).astype(np.intp)] = predicted
    return whole
