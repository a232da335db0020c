"""Cost matrices: one row per class, one column per action."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array


def as_cost(cost: Any, n_classes: int) -> Array | None:
    """Return a cost matrix as float64 ``(K, D)``; None stands for the 0-1 costs and stays None."""
    if cost is None:
        return None
    array = _validation.finite(cost, "cost").astype(np.float64, copy=False)
    if array.ndim != 2 or array.shape[0] != n_classes or not array.shape[1]:
        transposed = array.ndim == 2 and array.shape[1] == n_classes
        _validation.raise_invalid(
            "cost",
            f"has shape {array.shape}, and there are {n_classes} classes",
            "transpose it: rows are classes, columns are actions"
            if transposed
            else f"pass one row per class and one column per action, ({n_classes}, actions)",
        )
    return array


def cost_with_abstention(n_classes: int, price: float, cost: Any = None) -> Array:
    """Return a cost matrix with abstention as its last action.

    Parameters
    ----------
    n_classes : int
        Number of classes K.
    price : float
        Cost of abstaining, whatever the class is. With 0-1 costs, abstention is preferred to a
        class if the probability of an error exceeds it.
    cost : array-like of shape (K, D), optional
        Costs of the other actions; by default the 0-1 costs of predicting a class.

    Returns
    -------
    array of shape (K, D + 1)

    Notes
    -----
    The Gamma-minimax decision with 0-1 costs abstains if and only if total uncertainty under total
    variation exceeds the price: Chow's rule for credal sets.

    References
    ----------
    C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions on Information
    Theory 16(1), 1970.

    Examples
    --------
    >>> import credalens as cl
    >>> cost = cl.cost_with_abstention(2, 0.3)
    >>> cost
    array([[0. , 1. , 0.3],
           [1. , 0. , 0.3]])
    >>> cl.decide([[[0.8, 0.2], [0.9, 0.1]], [[0.8, 0.2], [0.4, 0.6]]], cost)
    array([0, 2])
    """
    K = _validation.whole_number(n_classes, "n_classes", least=1)
    costs = as_cost(cost, K)
    costs = 1 - np.eye(K) if costs is None else costs
    price = float(_validation.finite(price, "price"))
    return np.hstack([costs, np.full((K, 1), price)])
