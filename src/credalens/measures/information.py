"""Entropies of the members as a sample: the information-theoretic decomposition."""

from __future__ import annotations

from typing import Any, overload

from credalens._backend import Array, TensorT
from credalens.measures.entropy import Base, log_base
from credalens.sets import CredalSet, SetLike, set_function


def _nats(Q: CredalSet, base: Base, part: int) -> Any:
    return Q.second_order("log")[part] / log_base(base, Q.n_classes)


@overload
def predictive_entropy(Q: TensorT, base: Base = ...) -> TensorT: ...
@overload
def predictive_entropy(Q: SetLike, base: Base = ...) -> Array: ...
@set_function()
def predictive_entropy(Q: Any, base: Base = 2) -> Any:
    """Return the Shannon entropy of the mean of the members, ``H(mean_m p_m)``.

    Parameters
    ----------
    Q : ConvexHull, or array-like of shape (..., M, K)
        M predictions, a sample of a distribution over distributions: a member that occurs twice
        counts twice.
    base : number > 1, "e" or "classes", default=2
        Unit of the result; ``"classes"`` divides by log K, for values in [0, 1].

    Returns
    -------
    array of shape (...)
        The sum of `expected_entropy` and `mutual_information`, in O(M K).

    Raises
    ------
    ValueError
        If the set has no members.

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.predictive_entropy([[0.9, 0.1], [0.1, 0.9]])), 3)
    1.0
    """
    return _nats(Q, base, 0)


@overload
def expected_entropy(Q: TensorT, base: Base = ...) -> TensorT: ...
@overload
def expected_entropy(Q: SetLike, base: Base = ...) -> Array: ...
@set_function()
def expected_entropy(Q: Any, base: Base = 2) -> Any:
    """Return the mean of the Shannon entropies of the members, ``mean_m H(p_m)``.

    Parameters
    ----------
    Q : ConvexHull, or array-like of shape (..., M, K)
        M predictions; see `predictive_entropy`.
    base : number > 1, "e" or "classes", default=2
        Unit of the result.

    Returns
    -------
    array of shape (...)
        In O(M K).

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.expected_entropy([[0.9, 0.1], [0.1, 0.9]])), 3)
    0.469
    """
    return _nats(Q, base, 1)


@overload
def mutual_information(Q: TensorT, base: Base = ...) -> TensorT: ...
@overload
def mutual_information(Q: SetLike, base: Base = ...) -> Array: ...
@set_function()
def mutual_information(Q: Any, base: Base = 2) -> Any:
    """Return the mutual information of the label and the member, ``H(mean) - mean H``.

    Also known as the Jensen-Shannon divergence of the members, and as BALD.

    Parameters
    ----------
    Q : ConvexHull, or array-like of shape (..., M, K)
        M predictions; see `predictive_entropy`.
    base : number > 1, "e" or "classes", default=2
        Unit of the result.

    Returns
    -------
    array of shape (...)
        Not negative, 0 if all members are equal; in O(M K).

    References
    ----------
    Houlsby et al. (2011), "Bayesian active learning for classification and preference learning";
    Depeweg et al. (2018), "Decomposition of uncertainty in Bayesian deep learning".

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.mutual_information([[0.9, 0.1], [0.1, 0.9]])), 3)
    0.531
    """
    return _nats(Q, base, 2)
