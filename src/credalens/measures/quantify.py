"""Everything that a family of measures says of a set, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from credalens.distances import as_distance
from credalens.measures.interval import Interval
from credalens.sets import as_credal_set


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Total, aleatoric and epistemic uncertainty of a batch of credal sets.

    `aleatoric` is an `Interval` for distances, an array otherwise. `error` is the certified error
    of what needed a solver: for distances, the duality gap of the upper aleatoric end.
    """

    total: Any
    aleatoric: Any
    epistemic: Any
    error: Any


def quantify(Q: Any, measure: Any = "tv") -> Uncertainty:
    """Return total, aleatoric and epistemic uncertainty of each set.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    measure : str or distance, default="tv"
        The family of measures: a distance, or its name.

    Returns
    -------
    Uncertainty
        With fields ``total``, ``aleatoric`` (an `Interval`), ``epistemic`` and ``error``. For
        total variation the data are read once for all of them.

    Examples
    --------
    >>> import credalens as cl
    >>> u = cl.quantify([[0.6, 0.4], [0.2, 0.8]])
    >>> [round(float(x), 3) for x in (u.total, *u.aleatoric, u.epistemic)]
    [0.6, 0.2, 0.5, 0.2]
    """
    Q = as_credal_set(Q)
    total, lower, upper, epistemic, gap = map(
        Q.origin.wrap, as_distance(measure).everything(Q.plain())
    )
    return Uncertainty(total, Interval(lower, upper), epistemic, gap)
