"""The alpha-cut: the members that are plausible enough."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from credalens import _validation
from credalens._arrays import Array, blocks
from credalens.evaluation.diagnosis import _as_hull
from credalens.evaluation.likelihood import (
    add_rows,
    class_indices,
    label_probabilities,
    relative_likelihood,
)
from credalens.evaluation.vote import majority_vote
from credalens.sets import ConvexHull


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
        0 keeps every member, 1 the best alone.
    y : array-like of int, shape (n,), optional
        Labels of these instances, as positions of the columns, by which the members are judged.
    likelihood : array-like of shape (M,), optional
        Relative likelihoods that are already known, from training or from
        ``diagnose_members(validation, y).relative_likelihood``; `y` is then not asked for.
    scale : {"mean", "total"}, default="mean"
        The likelihood ratio of one instance (geometric mean), or that of all labels together,
        which beyond some hundred labels leaves hardly more than the best member at any `alpha`.
    return_kept : bool, default=False
        Return the positions of the members that were kept, too.

    Returns
    -------
    array or ConvexHull of the same kind, with fewer members; with `return_kept` also an array

    Raises
    ------
    TypeError
        For Dask arrays, whose values are needed at once: compute them first.

    Notes
    -----
    Relative likelihood is a member's likelihood divided by that of the best one; it is 0 for a
    member that gives probability 0 to a label that occurred. If all are 0, no cut but alpha = 0
    is defined, and it is refused.

    A likelihood needs labels. Without `y` and `likelihood` the majority vote of the members stands
    for them: the cut then keeps the members that agree with the ensemble, which removes an
    outsider but says nothing about who is right. Labels that were held out are better.

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
    hull = _as_hull(members)
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 <= alpha <= 1:
        _validation.refuse("alpha", f"is {alpha!r}", "pass a number from 0 to 1")
    if likelihood is None:
        ratio = _relative_likelihood(hull, y, scale)
    elif y is None:
        ratio = _given(likelihood, hull.n_members)
    else:
        _validation.refuse("likelihood", "is given together with y", "pass one of them")
    if alpha > 0 and not (ratio > 0).any():
        _validation.refuse(
            "members",
            "every one gives probability 0 to a label that occurred, so that no likelihood is "
            "relative to another",
            "smooth the predictions, or pass alpha=0 to keep all",
        )
    kept = np.flatnonzero(ratio >= alpha)
    if not len(kept):
        _validation.refuse("alpha", f"is {alpha:g}, above every likelihood", "pass a smaller one")
    cut = hull._of(hull.plain().members[..., kept, :], hull.origin)
    result = cut if isinstance(members, ConvexHull) else cut.members
    return (result, kept) if return_kept else result


def _relative_likelihood(hull: ConvexHull, y: Any, scale: str) -> Array:
    n = int(np.prod(hull.batch_shape))
    if y is None:
        labels = np.asarray(majority_vote(hull.plain())).ravel()
    else:
        labels = class_indices(y, hull.batch_shape, hull.n_classes).ravel()
    logs = np.zeros(hull.n_members)
    for start, stop, block in blocks(hull.plain().members, 2):
        with np.errstate(divide="ignore"):
            logs = add_rows(logs, np.log(label_probabilities(block, labels[start:stop])))
    return relative_likelihood(logs, n, scale)


def _given(likelihood: Any, n_members: int) -> Array:
    ratio = _validation.vector(_validation.finite(likelihood, "likelihood"), "likelihood")
    if len(ratio) != n_members:
        _validation.refuse("likelihood", f"has {len(ratio)} entries", f"pass {n_members}")
    if ((ratio < 0) | (ratio > 1)).any():
        first = int(np.argmax((ratio < 0) | (ratio > 1)))
        _validation.refuse(
            "likelihood",
            f"is {ratio[first]:g} at index {first} (zero-based)",
            "pass likelihoods relative to the best, from 0 to 1",
        )
    return ratio
