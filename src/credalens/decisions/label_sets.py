"""Sets of labels with the largest lower expected utility."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, overload

import numpy as np

from credalens import _validation
from credalens._backend import Array, TensorT
from credalens.sets import CredalSet, SetLike, set_function

#: Utility of a set of s labels that contains the true one, by name.
UTILITIES: Mapping[str, Callable[[Any], Any]] = {
    "discounted": lambda s: 1 / s,
    "u65": lambda s: 1.6 / s - 0.6 / s**2,
    "u80": lambda s: 2.2 / s - 1.2 / s**2,
}
#: Largest number of classes for which all sets of labels are compared.
EXACT_CLASSES = 20
#: Numbers that the comparison of all sets may hold at once.
EVENT_NUMBERS = 1 << 24


@overload
def best_label_set(
    Q: TensorT, utility: Any = ..., *, return_error: Literal[False] = ...
) -> TensorT: ...
@overload
def best_label_set(
    Q: SetLike, utility: Any = ..., *, return_error: Literal[False] = ...
) -> Array: ...
@overload
def best_label_set(
    Q: TensorT, utility: Any = ..., *, return_error: Literal[True]
) -> tuple[TensorT, TensorT]: ...
@overload
def best_label_set(
    Q: SetLike, utility: Any = ..., *, return_error: Literal[True]
) -> tuple[Array, Array]: ...
@set_function()
def best_label_set(Q: Any, utility: Any = "u65", *, return_error: bool = False) -> Any:
    """Return the set of labels with the largest lower expected utility.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    utility : {"u65", "u80", "discounted"} or array-like of shape (K,), default="u65"
        Utility u(s) of a set of s = 1, ..., K labels that contains the true one; a set that does
        not has utility 0.
    return_error : bool, default=False
        Also return the certified error of the utility, ``(...)``: no set of labels has a larger
        lower expected utility by more than this.

    Returns
    -------
    array of bool, shape (..., K), or (mask, error)
        Of equal sets the one with fewer labels.

    Notes
    -----
    The lower expected utility of a set S is ``u(|S|) lower(S)``. Prefixes of a few orders of the
    classes are compared first. No set of s labels has a lower probability above the sum of the s
    largest probabilities of any distribution of the credal set, which bounds what they miss. Where
    the bound is not attained, all 2^K sets are compared for up to 20 classes, and the remaining
    difference is the error for more.

    References
    ----------
    M. Zaffalon, G. Corani, D. Mauá, "Evaluating credal classifiers by utility-discounted predictive
    accuracy", International Journal of Approximate Reasoning 53(8), 2012 (u65 and u80).

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[0.45, 0.4, 0.15], [0.4, 0.5, 0.1]]
    >>> cl.decisions.best_label_set(members)
    array([ True,  True, False])
    >>> cl.decisions.best_label_set([[0.9, 0.06, 0.04], [0.8, 0.1, 0.1]])
    array([ True, False, False])
    """
    u = _utilities(utility, Q.n_classes)
    if Q.backend.placement == "device":
        Q = Q.to_numpy_backed()
    mask, value, bound = _prefixes(Q, u)
    open_ = bound - value > 1e-12 * u.max()
    if Q.n_classes <= EXACT_CLASSES and np.any(open_):
        mask, value = _compare_all(Q, u, mask, value, open_)
        bound = np.where(open_, value, bound)
    error = np.where(open_, np.maximum(bound - value, 0.0), 0.0)
    return (mask, error) if return_error else mask


def _utilities(utility: Any, n_classes: int) -> Array:
    if isinstance(utility, str):
        name = _validation.one_of(utility, "utility", UTILITIES)
        return np.asarray(UTILITIES[name](np.arange(1.0, n_classes + 1)))
    u = _validation.finite(utility, "utility").astype(np.float64, copy=False)
    if u.shape != (n_classes,) or (u < 0).any():
        _validation.raise_invalid(
            "utility",
            f"has shape {u.shape}" if u.shape != (n_classes,) else "has negative entries",
            f"pass {n_classes} utilities >= 0, of sets of 1, ..., {n_classes} labels",
        )
    return u


def _prefixes(Q: CredalSet, u: Array) -> tuple[Array, Array, Array]:
    """Return the best prefix of some orders of the classes, its utility, and an upper bound."""
    center = np.asarray(Q.center(), np.float64)
    bound = u * np.cumsum(-np.sort(-center, axis=-1), axis=-1)
    mask = np.zeros(center.shape, bool)
    value = np.full(center.shape[:-1], -np.inf)
    for score in (center, np.asarray(Q.lower()), np.asarray(Q.upper())):
        order = np.argsort(-score, axis=-1, kind="stable")
        utility = u * np.asarray(Q.lower_prefixes(order), np.float64)
        size = np.argmax(utility, axis=-1)
        best = np.take_along_axis(utility, size[..., None], axis=-1)[..., 0]
        rank = np.argsort(order, axis=-1)
        better = best > value
        mask = np.where(better[..., None], rank <= size[..., None], mask)
        value = np.maximum(best, value)
    for p in Q.probes():
        bound = np.minimum(bound, u * np.cumsum(-np.sort(-p, axis=-1), axis=-1))
    # All labels have lower probability 1.
    return mask, value, np.maximum(bound.max(axis=-1), value)


def _compare_all(
    Q: CredalSet, u: Array, mask: Array, value: Array, open_: Array
) -> tuple[Array, Array]:
    """Return the best of all sets of labels where it is `open_`, else what is given."""
    K = Q.n_classes
    events = np.arange(1 << K)
    members = (events[:, None] >> np.arange(K) & 1).astype(bool)
    weights = np.concatenate([[0.0], u])[members.sum(axis=1)]
    mask, value = mask.reshape(-1, K).copy(), value.reshape(-1).copy()
    flat = np.flatnonzero(open_)
    step = max(1, EVENT_NUMBERS >> K)
    for start in range(0, len(flat), step):
        rows = flat[start : start + step]
        part = Q[np.unravel_index(rows, Q.batch_shape)] if Q.batch_shape else Q
        utility = weights * np.asarray(part.lower_probabilities(), np.float64)
        best = np.atleast_1d(utility.argmax(axis=-1))
        found = np.atleast_1d(utility.max(axis=-1))
        better = found > value[rows]
        mask[rows[better]] = members[best[better]]
        value[rows] = np.maximum(found, value[rows])
    return mask.reshape(*Q.batch_shape, K), value.reshape(Q.batch_shape)
