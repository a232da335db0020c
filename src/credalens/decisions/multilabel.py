"""Predictions of several binary labels per instance."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from credalens._backend import Array, TensorT
from credalens.measures.multilabel import label_bounds, over_instances


@overload
def decide_multilabel(members: TensorT, *, mask: Any = ...) -> TensorT: ...
@overload
def decide_multilabel(members: ArrayLike, *, mask: Any = ...) -> NDArray[np.bool_]: ...
def decide_multilabel(members: Any, *, mask: Any = None) -> Any:
    """Return the Gamma-minimax prediction of several binary labels per instance.

    Parameters
    ----------
    members : array-like of shape (..., M, L)
        The probability of each of L labels, predicted by M members.
    mask : array-like of bool, shape (M,) or (..., M), optional
        Which members are present.

    Returns
    -------
    array of bool, shape (..., L)
        Which labels to predict: those for which ``1 - a < b``, with the smallest and the largest
        probability a and b of the label. No prediction has a smaller largest expected share of
        wrong labels, which is total uncertainty (`credalens.quantify_multilabel`).

    Examples
    --------
    >>> import credalens as cl
    >>> cl.decide_multilabel([[0.9, 0.4, 0.0], [0.7, 0.7, 0.1]])
    array([ True,  True, False])
    """
    return over_instances(_decide, members, mask)


def _decide(members: Any, mask: Any = None) -> Array:
    low, high = label_bounds(members, mask)
    return 1 - low < high
