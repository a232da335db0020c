"""Creation, fitting and prediction of the members of an ensemble."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable, Sequence
from typing import Any

import joblib
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.metadata_routing import _routing_enabled, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples, has_fit_parameter

from credalens import _validation
from credalens._backend import Array

SEEDS = np.iinfo(np.int32).max


def named(estimators: Any) -> list[tuple[str, Any]] | None:
    """Return `estimators` if it is a list of pairs (name, estimator), else None."""
    if not isinstance(estimators, list | tuple) or not estimators:  # a forest is iterable too
        return None
    pairs = all(isinstance(e, tuple) and len(e) == 2 and isinstance(e[0], str) for e in estimators)
    return list(estimators) if pairs else None


def with_names(estimators: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return pairs (name, estimator), with class and index as the default name."""
    default = [(f"{type(e).__name__.lower()}-{m}", e) for m, e in enumerate(estimators)]
    return named(estimators) or default


def seeded(estimator: Any, rng: np.random.RandomState, *, reseed: bool) -> Any:
    """Return a clone whose random states, also those of nested estimators, are drawn from `rng`.

    With `reseed` all of them, otherwise those that are None. Frozen estimators are unchanged.
    """
    new = clone(estimator)
    parameters = new.get_params(deep=True)
    keys = sorted(k for k, v in parameters.items() if is_seed(k) and (reseed or v is None))
    return new.set_params(**{key: int(rng.randint(SEEDS)) for key in keys}) if keys else new


def is_seed(parameter: str) -> bool:
    """Return whether the name of a parameter is that of a random state."""
    return parameter == "random_state" or parameter.endswith("__random_state")


def mixed_rows(X: Any) -> Any:
    """Return rows with the values of each feature in another order, ``None`` without columns.

    Members that agree on all training rows, such as trees without a limit of depth, usually
    disagree on these unless they are equal.
    """
    rng = np.random.default_rng(0)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return rng.permuted(X, axis=0)
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        mixed = X.copy()
        for j in range(X.shape[1]):
            mixed.isetitem(j, X.iloc[:, j].array[rng.permutation(len(X))])
        return mixed
    return None


def have_equal_state(members: Sequence[Any]) -> bool:
    """Return whether fitted estimators are equal but for their random states."""

    def digest(member: Any) -> str:
        member = copy.deepcopy(member)
        if hasattr(member, "set_params"):
            seeds = [key for key in member.get_params(deep=True) if is_seed(key)]
            member.set_params(**dict.fromkeys(seeds))
        return str(joblib.hash(member))

    try:
        first = digest(members[0])
        return all(digest(member) == first for member in members[1:])
    except (pickle.PicklingError, TypeError, AttributeError):
        return False  # a class that cannot be pickled


def bootstrap_rows(y: Array, rng: np.random.RandomState, share: float = 1.0) -> NDArray[np.intp]:
    """Draw a share of the rows of each class, at least one, with replacement.

    The stratification ensures that every member is fitted to all classes.
    """
    order = np.argsort(y, kind="stable")
    sizes = np.unique(y, return_counts=True)[1]
    parts = np.split(order, np.cumsum(sizes)[:-1])
    drawn = [part[rng.randint(len(part), size=max(1, round(share * len(part))))] for part in parts]
    return np.sort(np.concatenate(drawn))


def split_rows(
    y: Array, share: float, rng: np.random.RandomState, *, stratify: bool = True
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows to fit a model on and the share to hold out.

    Stratified, unless `stratify` is False, if each class has two instances and both parts have one
    of each class.
    """
    counts = np.unique(y, return_counts=True)[1]
    held = int(np.ceil(share * len(y)))
    stratify &= counts.min() > 1 and len(counts) <= min(held, len(y) - held)
    train, test = train_test_split(
        np.arange(len(y)), test_size=share, stratify=y if stratify else None, random_state=rng
    )
    return train, test


def check_probabilistic(pairs: Sequence[tuple[str, Any]]) -> None:
    """Raise ValueError if a member does not predict probabilities."""
    for name, estimator in pairs:
        if not hasattr(estimator, "predict_proba"):
            _validation.raise_invalid(
                "estimators",
                f"{name} ({type(estimator).__name__}) has no predict_proba",
                "pass probabilistic classifiers, or wrap it in CalibratedClassifierCV",
            )


def route(owner: Any, pairs: Sequence[tuple[str, Any]], params: dict[str, Any]) -> list[Any]:
    """Return the metadata for the ``fit`` of each member.

    With metadata routing, what the members request; without, ``sample_weight`` for all, and
    TypeError if a member does not support it.
    """
    if _routing_enabled():
        routed = process_routing(owner, "fit", **params)
        return [routed[name].fit for name, _ in pairs]
    params = {key: value for key, value in params.items() if value is not None}
    for _, estimator in pairs:
        frozen = isinstance(estimator, FrozenEstimator)
        if params and not frozen and not has_fit_parameter(estimator, "sample_weight"):
            raise TypeError(
                f"sample_weight: {type(estimator).__name__} does not support it; fit without "
                "weights, or choose members that do"
            )
    return [Bunch(**params) for _ in pairs]


def fit_member(
    estimator: Any, X: Any, y: Array, rows: NDArray[np.intp] | None, params: dict[str, Any]
) -> Any:
    """Fit one member on `rows`, by default on all."""
    if rows is None:
        return estimator.fit(X, y, **params)
    params = _check_method_params(X, params, indices=rows)
    return estimator.fit(_safe_indexing(X, rows), y[rows], **params)


def classes_of(name: str, member: Any, like: Array) -> Array:
    """Return the classes of a fitted member, which must be labels of the same kind as `like`."""
    classes = getattr(member, "classes_", None)
    if classes is None:
        _validation.raise_invalid(
            "estimators", f"{name} has no classes_", "pass scikit-learn classifiers"
        )
    classes = np.asarray(classes)
    if (classes.dtype.kind in "biuf") != (like.dtype.kind in "biuf"):
        _validation.raise_invalid(
            "estimators",
            f"{name} was fitted to labels of dtype {classes.dtype}, y has {like.dtype}",
            "pass y with the labels of the prefit members",
        )
    return classes


def predict_all(
    members: Sequence[Any],
    columns: Sequence[NDArray[np.intp]],
    X: Any,
    n_classes: int,
    n_jobs: int | None,
) -> Array:
    """Return the predictions of fitted members, ``(n, M, K)``; see `stack`."""
    if len(members) > 1 and effective_n_jobs(n_jobs) > 1:
        # Threads: most members predict in compiled code, and X is not copied.
        predictions: Iterable[Any] = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(member.predict_proba)(X) for member in members
        )
    else:
        predictions = (member.predict_proba(X) for member in members)
    return stack(predictions, columns, _num_samples(X), n_classes)


def stack(
    predictions: Iterable[Any], columns: Sequence[NDArray[np.intp]], n: int, n_classes: int
) -> Array:
    """Return predictions ``(n, K_m)`` of M members for the classes `columns` as ``(n, M, K)``.

    Classes that a member does not predict have probability 0. The dtype is that of the least
    precise member: rows normalised in single precision do not sum to 1 in double precision. Each
    prediction is released before the next is computed.
    """
    complete = all(len(own) == n_classes for own in columns)
    table = (np.empty if complete else np.zeros)((n, len(columns), n_classes))
    for m, (predicted, own) in enumerate(zip(predictions, columns, strict=True)):
        predicted = np.asarray(predicted)
        if predicted.shape != (n, len(own)):
            _validation.raise_invalid(
                "estimators",
                f"member {m} (zero-based) predicted an array of shape {predicted.shape}",
                f"predict_proba must return ({n}, {len(own)})",
            )
        if predicted.dtype.kind == "f" and predicted.dtype.itemsize < table.itemsize:
            narrow = np.zeros(table.shape, predicted.dtype)
            narrow[:, :m] = table[:, :m]  # the rest is uninitialised memory
            table = narrow
        table[:, m, own] = predicted
    return table
