"""Uncertainty of several binary labels per instance."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import NUMPY, Array, backend_of, dispatch, is_lazy, to_numpy
from credalens._backend.lazy import LazyBatch
from credalens._row_kinds import EXACT
from credalens.measures.results import Interval, Uncertainty

#: Number of axes of `members` after those of the batch: members and labels.
_CORE = 2


def quantify_multilabel(
    members: Any, aggregate: str = "hamming", *, mask: Any = None
) -> Uncertainty:
    """Return total, aleatoric and epistemic uncertainty of several binary labels per instance.

    Parameters
    ----------
    members : array-like of shape (..., M, L)
        The probability of each of L labels, which any number of may be present, predicted by M
        members. Rows do not sum to 1.
    aggregate : {"hamming", "max", "labels"}, default="hamming"
        ``"labels"`` returns the uncertainty of each label, ``(..., L)``; ``"hamming"`` that of the
        share of wrong labels; ``"max"`` that of the most uncertain label.
    mask : array-like of bool, shape (M,) or (..., M), optional
        Which members are present; the predictions of others are not read.

    Returns
    -------
    Uncertainty
        In the array library, dtype and device of `members`. All values are exact: ``error`` is 0.
        Gradients are not supported.

    See Also
    --------
    credalens.decide_multilabel : the labels to predict.

    Notes
    -----
    The set of a label is the hull of the members' distributions ``(1 - p, p)``: the probabilities
    between the smallest one, a, and the largest one, b. Total variation has closed forms there::

        total        min(b, 1 - a)
        aleatoric    [min(a, 1 - b), min(b, 1 - a, 1 / 2)]
        epistemic    (b - a) / 2

    The credal set of an instance consists of the distributions of independent labels whose
    probability of each label is in the interval of that label. With ``"hamming"``, the distance is
    the Wasserstein distance whose ground cost is the share of labels that differ: total uncertainty
    is the smallest, over all predictions, of the largest expected share of wrong labels (the
    Gamma-minimax risk of the Hamming loss), and each value is the mean over the labels. With
    ``"max"``, it is the largest difference of the probabilities of a label, and each value is the
    largest one over the labels.

    O(M L) per instance.

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[0.9, 0.4, 0.0], [0.7, 0.6, 0.1]]
    >>> cl.quantify_multilabel(members)
    Uncertainty(total=0.3333, aleatoric_lower=0.1667, aleatoric_upper=0.3, epistemic=0.08333,
    error=0)
    >>> cl.quantify_multilabel(members, "labels").total
    array([0.3, 0.6, 0.1])
    """
    name = _validation.one_of(aggregate, "aggregate", AGGREGATES)
    found: Uncertainty = over_instances(partial(_quantify, name=name), members, mask)
    return found


def over_instances(function: Callable[..., Any], members: Any, mask: Any) -> Any:
    """Return ``function(members, mask)`` of host arrays as arrays of the caller's library."""
    if is_lazy(members) or is_lazy(mask):
        given = [(members, _CORE, "members"), *([] if mask is None else [(mask, 1, "mask")])]
        arrays, core_ndims, names = zip(*given, strict=True)
        return LazyBatch.of(arrays, core_ndims, names).map(function)
    backend = backend_of(members)
    found = function(members, mask)
    return found if backend is NUMPY else dispatch.to_backend(found, backend)


def label_bounds(members: Any, mask: Any = None) -> tuple[Array, Array]:
    """Return the smallest and the largest probability of each label, ``(..., L)``, validated."""
    array = _validation.numeric(members, "members")
    if array.ndim < _CORE or 0 in array.shape[-_CORE:]:
        _validation.raise_invalid(
            "members",
            f"has shape {array.shape}",
            "pass one probability per member and label, (..., M, L)",
        )
    present = None if mask is None else _as_mask(mask, array.shape[:-1])[..., None]
    if present is None:
        low, high = array.min(axis=-2), array.max(axis=-2)
    else:
        low = array.min(axis=-2, where=present, initial=np.inf)
        high = array.max(axis=-2, where=present, initial=-np.inf)
    inside = (low >= -EXACT) & (high <= 1 + EXACT)
    if not inside.all():
        _raise_outside(array, present)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def _as_mask(mask: Any, shape: tuple[int, ...]) -> Array:
    array = to_numpy(mask, "mask")
    if array.dtype != bool:
        _validation.raise_invalid("mask", f"has dtype {array.dtype}", "pass booleans")
    if array.shape not in (shape, shape[-1:]):
        _validation.raise_invalid(
            "mask", f"has shape {array.shape}", f"pass one entry per member, shape {shape}"
        )
    empty = ~array.any(axis=-1)
    if empty.any():
        where = tuple(np.argwhere(empty)[0])
        at = f" of instance {_validation.format_index(where)} (zero-based)" if where else ""
        _validation.raise_invalid(
            "mask", f"has no member{at}", "leave the instance out, or correct the mask"
        )
    return np.broadcast_to(array, shape)


def _raise_outside(array: Array, present: Array | None) -> None:
    values = array if present is None else np.where(present, array, array.dtype.type(0))
    fix = "pass probabilities; leave out missing members by mask"
    _validation.raise_first(np.isnan(values), values, "members", "is NaN{1}", fix)
    bad = ~((values >= -EXACT) & (values <= 1 + EXACT))
    fix = "pass probabilities: of logits 1 / (1 + exp(-x))"
    if values.min() >= 0 and 2 <= values.max() <= 100:
        fix = "pass probabilities: divide percentages by 100, or take 1 / (1 + exp(-x)) of logits"
    _validation.raise_first(bad, values, "members", "is {:.6g}{}", fix)


#: The smallest and the largest probability, and what follows from them.
Parts = tuple[Array, Array, Array, Array]


def label_parts(low: Array, high: Array) -> Parts:
    """Return TU, both aleatoric ends and EU of each label, from its bounds."""
    total = np.minimum(high, 1 - low)
    upper = np.minimum(total, high.dtype.type(0.5))
    return total, np.minimum(low, 1 - high), upper, (high - low) / 2


def _mean(values: Array) -> Array:
    return np.asarray(values.mean(axis=-1, dtype=np.float64))


def _largest(values: Array) -> Array:
    return np.asarray(values.max(axis=-1))


#: What becomes of the labels of an instance, by name; None: one value per label.
AGGREGATES: dict[str, Callable[[Array], Array] | None] = {
    "hamming": _mean,
    "max": _largest,
    "labels": None,
}


def _quantify(members: Any, mask: Any = None, *, name: str) -> Uncertainty:
    return aggregated(label_parts(*label_bounds(members, mask)), name)


def aggregated(parts: Parts, name: str) -> Uncertainty:
    """Return the parts of labels ``(..., L)`` as the uncertainty of an aggregate."""
    combine, dtype = AGGREGATES[name], parts[0].dtype
    if combine is not None:
        parts = tuple(combine(part).astype(dtype) for part in parts)  # type: ignore[assignment]
    total, lower, upper, epistemic = (part[()] for part in parts)
    return Uncertainty(total, Interval(lower, upper), epistemic, np.zeros_like(total)[()])
