"""What the credal classifiers and regressors share: tags, metadata routing, abstention."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from credalens import _validation
from credalens._warnings import warn_caller
from credalens.evaluation import rejection_order
from credalens.evaluation.arguments import fraction
from credalens.measures import Interval, Uncertainty
from credalens.measures.quantify import COMPONENTS
from credalens.predictors.members import mixed_rows

#: Rows on which the predictions of fitted members are compared.
COMPARED_ROWS = 100


class CredalEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator with members, which subclasses name in `_pairs`."""

    random_state: Any
    n_jobs: int | None
    #: The fitted members.
    estimators_: list[Any]

    def _pairs(self, rng: np.random.RandomState) -> list[tuple[str, Any]]:
        """Return the unfitted members, or their prototypes, and their names."""
        raise NotImplementedError

    def _prototypes(self) -> list[Any]:
        """Return estimators with the tags of the members."""
        return [estimator for _, estimator in self._pairs(np.random.RandomState(0))]

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that ``fit`` of the members requests."""
        router = MetadataRouter(owner=self)
        for name, estimator in self._pairs(np.random.RandomState(0)):
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(**{name: estimator}, method_mapping=mapping)
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        each = [get_tags(estimator).input_tags for estimator in self._prototypes()]
        tags.input_tags.sparse = all(own.sparse for own in each)
        tags.input_tags.allow_nan = all(own.allow_nan for own in each)
        return tags

    def _check_features(self, X: Any) -> None:
        check_is_fitted(self)
        axes = np.ndim(X[:1]) if isinstance(X, list | tuple) else getattr(X, "ndim", 2)
        if axes == 1:
            _validation.raise_invalid(
                "X", "has one axis", "Reshape your data: X.reshape(1, -1) is one instance"
            )
        validate_data(self, X, reset=False, skip_check_array=True)

    def _predict_members(self, X: Any) -> NDArray[Any]:
        """Return the predictions of the members, ``(n, M, ...)``."""
        raise NotImplementedError

    def _warn_if_identical(self, X: Any) -> None:
        """Warn if all members predict the same for training rows and rows of mixed features."""
        if len(self.estimators_) < 2:
            return
        rows = np.unique(np.linspace(0, _num_samples(X) - 1, COMPARED_ROWS).astype(np.intp))
        some = _safe_indexing(X, rows)
        mixed = mixed_rows(some)
        for inputs in (some, *(() if mixed is None else (mixed,))):
            members = self._predict_members(inputs)
            if (members != members[:, :1]).any() or (members == members[:1]).all():
                return
        warn_caller(
            f"estimators: all {len(self.estimators_)} members predict the same, so that epistemic "
            "uncertainty is 0; pass bootstrap=True, or different estimators",
            UserWarning,
        )


def check_abstention(reject: Any, threshold: Any, component: str) -> None:
    """Raise unless exactly one of a share to reject and a threshold is given, and valid."""
    if (reject is None) == (threshold is None):
        which = "neither" if reject is None else "both"
        _validation.raise_invalid(
            "reject", f"{which} of reject and threshold given", "pass one, e.g. reject=0.1"
        )
    _validation.one_of(component, "component", COMPONENTS)
    if reject is not None:
        fraction(reject, "reject", zero=True, one=True)
    elif (
        isinstance(threshold, bool)
        or not isinstance(threshold, Real)
        or math.isnan(float(threshold))
    ):
        _validation.raise_invalid("threshold", f"is {threshold!r}", "pass a number")


def abstained_rows(
    u: Uncertainty, reject: float | None, threshold: float | None, measure: Any, component: str
) -> NDArray[np.intp]:
    """Return the instances to abstain on: the most uncertain share, or those above a threshold."""
    score = getattr(u, component)
    if score is None:
        _validation.raise_invalid(
            "component", f"is {component!r}, which {measure!r} has not", "pass 'total'"
        )
    if reject is not None:
        order = rejection_order(score)
        # As a decimal fraction: 0.29 of 100 instances are 29, not 28.
        return order[: math.floor(Fraction(str(reject)) * len(order))]
    values = score.lower if isinstance(score, Interval) else score
    return np.flatnonzero(np.asarray(values) > threshold)
