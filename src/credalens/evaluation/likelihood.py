"""How well each member fits the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._arrays import Array, to_numpy

#: Whether a relative likelihood is that of one instance, on average, or of all of them.
SCALES = ("mean", "total")


def class_indices(y: Any, batch_shape: tuple[int, ...], n_classes: int) -> NDArray[np.intp]:
    """Return labels as class indices of shape `batch_shape`, refusing what is none."""
    labels = to_numpy(y, "y")[0]
    if labels.shape != batch_shape:
        _validation.refuse("y", f"has shape {labels.shape}", f"pass labels of shape {batch_shape}")
    if labels.size == 0:
        return np.zeros(batch_shape, np.intp)
    if labels.dtype.kind not in "iub":
        _validation.refuse(
            "y",
            f"has dtype {labels.dtype}",
            f"pass class indices, whole numbers from 0 to {n_classes - 1}, in the order of the "
            "columns",
        )
    outside = (labels < 0) | (labels >= n_classes)
    if outside.any():
        where = tuple(np.argwhere(outside)[0])
        at = f" at index {_validation.place(where)} (zero-based)" if where else ""
        _validation.refuse("y", f"is {labels[where]}{at}", f"classes are 0 to {n_classes - 1}")
    return labels.astype(np.intp)


def label_probabilities(block: Array, labels: Array) -> Array:
    """Return what each member of ``(b, M, K)`` gives to the label of each instance, ``(b, M)``."""
    picked = block[np.arange(len(block))[:, None], np.arange(block.shape[1]), labels[:, None]]
    return np.asarray(picked, np.float64)


def add_rows(sums: Array, rows: Array) -> Array:
    """Return `sums` ``(M,)`` plus every row of ``(b, M)``, one after the other.

    So the result does not depend on how instances are cut into blocks, to the bit.
    """
    return np.asarray(np.add.reduce(np.concatenate([sums[None], rows]), axis=0))


def relative_likelihood(log_likelihood: Array, n: int, scale: str = "mean") -> Array:
    """Return likelihoods relative to the best, from total log-likelihoods over `n` instances.

    ``scale="total"`` is the ratio of the likelihoods of all labels, ``"mean"`` its n-th root: the
    ratio for one instance, in the geometric mean. A member of likelihood 0 has 0.

    Examples
    --------
    >>> import numpy as np
    >>> logs = np.array([-2000.0, -2010.0, -np.inf])
    >>> relative_likelihood(logs, n=1000).round(3).tolist()
    [1.0, 0.99, 0.0]
    >>> relative_likelihood(logs, n=1000, scale="total").round(6).tolist()
    [1.0, 4.5e-05, 0.0]
    """
    _validation.one_of(scale, "scale", SCALES)
    best = log_likelihood.max()
    if best == -np.inf:
        return np.zeros_like(log_likelihood)
    return np.asarray(np.exp((log_likelihood - best) / (max(n, 1) if scale == "mean" else 1)))
