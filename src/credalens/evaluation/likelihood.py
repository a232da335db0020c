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


def member_array(members: Any) -> tuple[ConvexHull, Array]:
    """Return predictions ``(..., M, K)`` as a hull and as a NumPy array."""
    if isinstance(members, CredalSet) and not isinstance(members, ConvexHull):
        _validation.raise_invalid(
            "members", f"is a {type(members).__name__}", "pass the predictions, (n, M, K)"
        )
    hull = members if isinstance(members, ConvexHull) else ConvexHull(members)
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
    likelihood : array-like of shape (M,), optional
        Relative likelihoods, from training or from
        ``diagnose_members(validation, y).relative_likelihood``. Pass either this or `y`.
    scale : {"mean", "total"}, default="mean"
        The likelihood ratio per instance (geometric mean), or that of all labels together, which
        from a few hundred labels on keeps little more than the best member at any `alpha`.
    return_kept : bool, default=False
        Also return the indices of the kept members.

    Returns
    -------
    array or ConvexHull
        Of the type of `members`, with fewer members.
    kept : array of int
        Indices of the kept members, if `return_kept`.

    Raises
    ------
    ValueError
        If all likelihoods are 0 and `alpha` is not.
    TypeError
        For Dask arrays; compute them first.

    Notes
    -----
    The relative likelihood of a member is its likelihood divided by that of the best member. It is
    0 if the member assigns probability 0 to an observed label.

    Without `y` and `likelihood`, the majority vote of the members replaces the labels, which
    removes outliers but does not measure accuracy; prefer labels of held-out data.

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
    hull, points = member_array(members)
    alpha = fraction(alpha, "alpha", zero=True, one=True)
    if likelihood is None:
        ratio = _relative_likelihood(hull, points, y, scale)
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
    result = ConvexHull(cut, validate=False) if isinstance(members, ConvexHull) else cut
    return (result, kept) if return_kept else result


def _relative_likelihood(hull: ConvexHull, points: Array, y: Any, scale: str) -> Array:
    if y is None:
        labels = np.asarray(majority_vote(ConvexHull(points, validate=False)))
    else:
        labels = class_indices(y, hull.batch_shape, hull.n_classes)
    logs = np.zeros(hull.n_members)
    for start, stop, (block,) in blocks((points,), (2,)):
        with np.errstate(divide="ignore"):
            logs = add_rows(logs, np.log(label_probabilities(block, labels.ravel()[start:stop])))
    return relative_likelihood(logs, labels.size, scale)


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
