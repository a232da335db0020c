"""Members of an ensemble: made, fitted and asked, each on its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.metadata_routing import _routing_enabled, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples, has_fit_parameter

from credalens import _validation
from credalens._arrays import Array

SEEDS = np.iinfo(np.int32).max


def named(estimators: Any) -> list[tuple[str, Any]] | None:
    """Return `estimators` if it is a list of pairs (name, estimator), else ``None``.

    A forest is iterable too, so that trying to unpack will not do.
    """
    if not isinstance(estimators, list | tuple) or not estimators:
        return None
    pairs = all(isinstance(e, tuple) and len(e) == 2 and isinstance(e[0], str) for e in estimators)
    return list(estimators) if pairs else None


def with_names(estimators: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return pairs (name, estimator), named after class and position where there is no name."""
    pairs = named(estimators)
    if pairs is not None:
        return pairs
    return [(f"{type(e).__name__.lower()}-{m}", e) for m, e in enumerate(estimators)]


def seeded(estimator: Any, rng: np.random.RandomState, *, all_anew: bool) -> Any:
    """Return a clone with its ``random_state``, and those of estimators inside, from `rng`.

    All of them, so that clones differ, or only those that are ``None``. What is frozen stays.
    """
    copy = clone(estimator)
    parameters = copy.get_params(deep=True)
    keys = sorted(k for k, v in parameters.items() if is_seed(k) and (all_anew or v is None))
    return copy.set_params(**{key: int(rng.randint(SEEDS)) for key in keys}) if keys else copy


def is_seed(parameter: str) -> bool:
    """Say whether a parameter of an estimator, or of one inside it, is a random state."""
    return parameter == "random_state" or parameter.endswith("__random_state")


def bootstrap_rows(y: Array, rng: np.random.RandomState, share: float = 1.0) -> NDArray[np.intp]:
    """Draw with replacement as many rows of each class as it has, or that share, at least one.

    Drawn within the classes, every member meets all of them.
    """
    order = np.argsort(y, kind="stable")
    sizes = np.unique(y, return_counts=True)[1]
    parts = np.split(order, np.cumsum(sizes)[:-1])
    drawn = [part[rng.randint(len(part), size=max(1, round(share * len(part))))] for part in parts]
    return np.sort(np.concatenate(drawn))


def check_probabilistic(pairs: Sequence[tuple[str, Any]]) -> None:
    """Refuse a member that does not predict probabilities."""
    for name, estimator in pairs:
        if not hasattr(estimator, "predict_proba"):
            _validation.refuse(
                "estimators",
                f"{name} ({type(estimator).__name__}) has no predict_proba",
                "pass probabilistic classifiers, or wrap it in CalibratedClassifierCV",
            )


def route(owner: Any, pairs: Sequence[tuple[str, Any]], params: dict[str, Any]) -> list[Any]:
    """Return the metadata that each member's ``fit`` gets.

    With metadata routing, what the members asked for; without, ``sample_weight`` for all, and a
    member that cannot use it is refused rather than fitted without.
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
    """Fit one member on `rows`, or on all."""
    if rows is None:
        return estimator.fit(X, y, **params)
    params = _check_method_params(X, params, indices=rows)
    return estimator.fit(_safe_indexing(X, rows), y[rows], **params)


def classes_of(name: str, member: Any, like: Array) -> Array:
    """Return the classes of a fitted member, which must be labels of the same kind as `like`."""
    classes = getattr(member, "classes_", None)
    if classes is None:
        _validation.refuse("estimators", f"{name} has no classes_", "pass scikit-learn classifiers")
    classes = np.asarray(classes)
    if (classes.dtype.kind in "biuf") != (like.dtype.kind in "biuf"):
        _validation.refuse(
            "estimators",
            f"{name} was fitted to labels of dtype {classes.dtype}, y has {like.dtype}",
            "pass y with the labels that the members know",
        )
    return classes


def ask(
    members: Sequence[Any],
    columns: Sequence[NDArray[np.intp]],
    X: Any,
    n_classes: int,
    n_jobs: int | None,
) -> Array:
    """Return what fitted members predict, ``(n, M, K)``; `columns` are the classes of each.

    A class that a member has never seen gets probability 0 from it.
    """
    if len(members) > 1 and effective_n_jobs(n_jobs) > 1:
        # Threads: predicting is compiled code in most members, and nothing has to be sent.
        answers: Iterable[Any] = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(member.predict_proba)(X) for member in members
        )
    else:
        answers = (member.predict_proba(X) for member in members)
    return stack(answers, columns, _num_samples(X), n_classes)


def stack(
    answers: Iterable[Any], columns: Sequence[NDArray[np.intp]], n: int, n_classes: int
) -> Array:
    """Return predictions ``(n, K_m)`` of M members over classes `columns` as ``(n, M, K)``.

    In the precision of the least precise member: rows that were normalised in single precision are
    no distributions in double precision. Each answer is let go before the next is asked for.
    """
    complete = all(len(own) == n_classes for own in columns)
    table = (np.empty if complete else np.zeros)((n, len(columns), n_classes))
    for m, (answer, own) in enumerate(zip(answers, columns, strict=True)):
        answer = np.asarray(answer)
        if answer.shape != (n, len(own)):
            _validation.refuse(
                "estimators",
                f"member {m} (zero-based) predicted an array of shape {answer.shape}",
                f"predict_proba must return ({n}, {len(own)})",
            )
        if answer.dtype.kind == "f" and answer.dtype.itemsize < table.itemsize:
            narrow = np.zeros(table.shape, answer.dtype)
            narrow[:, :m] = table[:, :m]  # beyond is memory that no one has written to
            table = narrow
        if len(own) == n_classes:
            table[:, m] = answer
        else:
            table[:, m, own] = answer
    return table
