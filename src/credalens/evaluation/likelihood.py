"""Likelihoods of the members relative to the best one, and the alpha-cut by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np

from credalens import _validation
from credalens._backend import Array, blocks
from credalens.evaluation.arguments import fraction
from credalens.evaluation.labels import class_indices
from credalens.evaluation.vote import majority_vote
from credalens.sets import ConvexHull, CredalSet

#: Per instance (geometric mean), or of all instances together.
SCALES = ("mean", "total")

#: A hull, or an array of members in any library.
MembersT = TypeVar("MembersT")


def check_levels(levels: Any) -> list[float]:
    """Return levels of relative likelihood as floats in (0, 1]."""
    sequence = isinstance(levels, Sequence) or hasattr(levels, "__array__")
    if not sequence or len(levels) == 0:
        problem = "is empty" if sequence else f"is {levels!r}"
        _validation.raise_invalid("levels", problem, "pass numbers in (0, 1], e.g. (0.2, 0.6)")
    return [fraction(level, f"levels[{i}]", one=True) for i, level in enumerate(levels)]


def member_array(members: Any, *, missing: bool = False) -> tuple[ConvexHull, Array]:
    """Return predictions ``(..., M, K)`` as a hull and as a NumPy array.

    Missing members raise ValueError; with `missing` they are NaN.
    """
    if isinstance(members, CredalSet) and not isinstance(members, ConvexHull):
        _validation.raise_invalid(
            "members", f"is a {type(members).__name__}", "pass the predictions, (n, M, K)"
        )
    hull = members if isinstance(members, ConvexHull) else ConvexHull(members)
    if hull.backend.ragged and not missing:
        mask = np.asarray(hull.to_numpy_backed().mask)
        *where, m = np.argwhere(~mask)[0].tolist()
        at = f" at index {_validation.format_index(where)} (zero-based)" if where else ""
        _validation.raise_invalid(
            "members",
            f"member {m} is missing{at}, and all members are needed here",
            "pass the instances with all members, Q[Q.mask.all(axis=-1)]",
        )
    return hull, np.asarray(hull.to_numpy_backed().members)


def label_probabilities(block: Array, labels: Array) -> Array:
    """Return the probability that each member of ``(b, M, K)`` gives to the label, ``(b, M)``."""
    picked = block[np.arange(len(block))[:, None], np.arange(block.shape[1]), labels[:, None]]
    return np.asarray(picked, np.float64)


def add_rows(sums: Array, rows: Array) -> Array:
    """Return `sums` ``(M,)`` plus every row of ``(b, M)``, added sequentially.

    The result is bitwise independent of the block size.
    """
    return np.asarray(np.add.reduce(np.concatenate([sums[None], rows]), axis=0))


def relative_likelihood(log_likelihood: Array, n: int, scale: str = "mean") -> Array:
    """Return likelihoods relative to the best, from total log-likelihoods over `n` instances.

    ``scale="total"`` is the ratio of the likelihoods of all labels, ``"mean"`` its n-th root: the
    geometric mean of the ratios per instance. A member of likelihood 0 has the ratio 0.

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


@overload
def trim(
    members: MembersT,
    alpha: float = ...,
    y: Any = ...,
    *,
    likelihood: Any = ...,
    scale: str = ...,
    return_kept: Literal[False] = ...,
) -> MembersT: ...
@overload
def trim(
    members: MembersT,
    alpha: float = ...,
    y: Any = ...,
    *,
    likelihood: Any = ...,
    scale: str = ...,
    return_kept: Literal[True],
) -> tuple[MembersT, Array]: ...
def trim(
    members: Any,
    alpha: float = 0.2,
    y: Any = None,
    *,
    likelihood: Any = None,
    scale: str = "mean",
    return_kept: bool = False,
) -> Any:
    """Return the alpha-cut of an ensemble: its members of relative likelihood at least `alpha`.

    Parameters
    ----------
    members : array-like of shape (n, M, K), or ConvexHull
        M predictions over K classes for each of n instances.
    alpha : float in [0, 1], default=0.2
        0 keeps all members, 1 only the best.
    y : array-like of int, shape (n,), optional
        Labels of these instances, as class indices.
    likelihood : array-like of shape (M,), or "weights", optional
        Relative likelihoods, from training or from
        ``diagnose_members(validation, y).relative_likelihood``. Pass either this or `y`.
        ``"weights"`` are the weights of the members, which must be the same for all instances,
        divided by the largest.
    scale : {"mean", "total"}, default="mean"
        The likelihood ratio per instance (geometric mean), or that of all labels together, which
        from a few hundred labels on keeps little more than the best member at any `alpha`.
    return_kept : bool, default=False
        Also return the indices of the kept members.

    Returns
    -------
    array or ConvexHull
        Of the type of `members`, with fewer members; a hull keeps their weights.
    kept : array of int
        Indices of the kept members, if `return_kept`.

    Raises
    ------
    ValueError
        If all likelihoods are 0 and `alpha` is not, or if an instance has none of the members that
        are kept.
    TypeError
        For Dask arrays; compute them first.

    Notes
    -----
    The relative likelihood of a member is its likelihood divided by that of the best member. It is
    0 if the member assigns probability 0 to an observed label.

    Without `y` and `likelihood`, the majority vote of the members, by their weights, replaces the
    labels, which removes outliers but does not measure accuracy; prefer labels of held-out data.

    The log-likelihood of a member that is missing for some instances is its mean over the others:
    a member that is missing for difficult instances has an advantage.

    References
    ----------
    T. Löhr, P. Hofman, F. Mohr, E. Hüllermeier, "Credal prediction based on relative likelihood".
    González-García et al. (2026), appendix E.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> P = np.array([[[0.9, 0.1], [0.7, 0.3], [0.0, 1.0]], [[0.2, 0.8], [0.4, 0.6], [0.0, 1.0]]])
    >>> cut, kept = cl.trim(P, alpha=0.5, y=[0, 1], return_kept=True)
    >>> cut.shape, kept.tolist()
    ((2, 2, 2), [0, 1])
    """
    hull, points = member_array(members, missing=True)
    alpha = fraction(alpha, "alpha", zero=True, one=True)
    if likelihood is None:
        ratio = _relative_likelihood(hull, points, y, scale)
    elif y is None and isinstance(likelihood, str):
        _validation.one_of(likelihood, "likelihood", ("weights",))
        ratio = _relative_weights(hull)
    elif y is None:
        ratio = _check_ratios(likelihood, hull.n_members)
    else:
        _validation.raise_invalid("likelihood", "is passed together with y", "pass one of them")
    if alpha > 0 and not (ratio > 0).any():
        _validation.raise_invalid(
            "members",
            "all members assign probability 0 to an observed label, so relative likelihoods are "
            "undefined",
            "smooth the predictions, or pass alpha=0 to keep all",
        )
    kept = np.flatnonzero(ratio >= alpha)
    if not len(kept):
        _validation.raise_invalid(
            "alpha", f"is {alpha:g}, above every likelihood", "pass a smaller one"
        )
    cut = hull.backend.wrap(points[..., kept, :])
    result = _kept_members(hull, cut, kept) if isinstance(members, ConvexHull) else cut
    return (result, kept) if return_kept else result


def _kept_members(hull: ConvexHull, members: Any, kept: Array) -> ConvexHull:
    sets = hull.to_numpy_backed()
    weights = None if sets.weights is None else sets.weights[..., kept]
    if not sets.may_lack_members:
        return ConvexHull(members, weights=weights, validate=False)
    mask = sets.mask[..., kept]
    left = np.count_nonzero(mask, axis=-1)
    _validation.raise_first(
        left == 0, left, "alpha", "leaves {:.0f} members{}", "pass a smaller one"
    )
    return ConvexHull(members, weights=weights, mask=mask, validate=False)


def _relative_likelihood(hull: ConvexHull, points: Array, y: Any, scale: str) -> Array:
    if y is None:
        labels = np.asarray(majority_vote(hull.to_numpy_backed()))
    else:
        labels = class_indices(y, hull.batch_shape, hull.n_classes)
    logs, present = np.zeros(hull.n_members), np.zeros(hull.n_members)
    for start, stop, (block,) in blocks((points,), (2,)):
        with np.errstate(divide="ignore"):
            own = np.log(label_probabilities(block, labels.ravel()[start:stop]))
        missing = np.isnan(own)
        logs = add_rows(logs, np.where(missing, 0.0, own))
        present += np.count_nonzero(~missing, axis=0)
    return relative_likelihood(scaled_sums(logs, present, labels.size), labels.size, scale)


def scaled_sums(sums: Array, present: Array, n: int) -> Array:
    """Return sums over the instances `present` ``(M,)`` as if these were all `n`.

    Minus infinity for members that are never present.
    """
    if (present == n).all():
        return sums
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(present > 0, sums * (n / present), -np.inf)


def _relative_weights(hull: ConvexHull) -> Array:
    weights = hull.to_numpy_backed().weights
    if weights is None:
        _validation.raise_invalid(
            "likelihood", "is 'weights', and the members have none", "pass ConvexHull(..., weights)"
        )
    rows = weights.reshape(-1, hull.n_members)
    if len(rows) and (rows != rows[:1]).any():
        _validation.raise_invalid(
            "likelihood",
            "is 'weights', and these differ between instances",
            "pass one likelihood per member",
        )
    if not len(rows):
        return np.ones(hull.n_members)
    return np.asarray(rows[0] / rows[0].max(), np.float64)


def _check_ratios(likelihood: Any, n_members: int) -> Array:
    ratio = _validation.vector(_validation.finite(likelihood, "likelihood"), "likelihood")
    if len(ratio) != n_members:
        _validation.raise_invalid("likelihood", f"has {len(ratio)} entries", f"pass {n_members}")
    outside = (ratio < 0) | (ratio > 1)
    if outside.any():
        first = int(np.argmax(outside))
        _validation.raise_invalid(
            "likelihood",
            f"is {ratio[first]:g} at index {first} (zero-based)",
            "pass likelihoods relative to the best, from 0 to 1",
        )
    return ratio
