"""The paper's measures: total, aleatoric and epistemic uncertainty by distances."""

from __future__ import annotations

from typing import Any

from credalens.distances import as_distance
from credalens.measures.interval import Interval
from credalens.sets import as_credal_set


def total_uncertainty(Q: Any, distance: Any = "tv") -> Any:
    """Return the distance of the set from full certainty, ``min_y max_{p in Q} d(p, delta_y)``.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or distance, default="tv"
        The geometry on distributions.

    Returns
    -------
    array of shape (...)
        For total variation ``1 - max_y lower({y})``, in O(M K).

    References
    ----------
    The paper, equation (1) and Proposition 4.6.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.total_uncertainty([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])
    np.float64(0.5)
    """
    Q = as_credal_set(Q)
    return Q.origin.wrap(as_distance(distance).total(Q.plain()))


def aleatoric_uncertainty(Q: Any, distance: Any = "tv", *, return_error: bool = False) -> Any:
    """Return the interval of ``min_y d(p, delta_y)``, p in the set.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or distance, default="tv"
        The geometry on distributions.
    return_error : bool, default=False
        Also return the certified duality gap of the upper end, ``(...)``.

    Returns
    -------
    Interval, or (Interval, array)
        Both ends are attained by members of the set, not only by its generators: where the
        generators disagree on the most probable class, the upper end is the value of a matrix
        game, found by an exact simplex method for each instance on its own.

    References
    ----------
    The paper, equation (3), Propositions 4.6 and 4.8, and Algorithm 4.

    Examples
    --------
    Two members that are sure of different classes leave room for a fair coin between them:

    >>> import credalens as cl
    >>> cl.aleatoric_uncertainty([[0.9, 0.1], [0.2, 0.8]]).upper
    np.float64(0.5)
    """
    Q = as_credal_set(Q)
    lower, upper, gap = as_distance(distance).aleatoric(Q.plain())
    interval = Interval(Q.origin.wrap(lower), Q.origin.wrap(upper))
    return (interval, Q.origin.wrap(gap)) if return_error else interval


def epistemic_uncertainty(Q: Any, distance: Any = "tv") -> Any:
    """Return half the diameter of the set, ``max_{p, q in Q} d(p, q) / 2``.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or distance, default="tv"
        The geometry on distributions; it must be a metric.

    Returns
    -------
    array of shape (...)
        For hulls the largest distance between two members, in O(M^2 K); with total variation in
        O(M 2^K) where that is less, and in less than M^2 pairs for many members close together.

    References
    ----------
    The paper, equation (4) and Proposition 4.6.

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.epistemic_uncertainty([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])), 3)
    0.1
    """
    Q = as_credal_set(Q)
    return Q.origin.wrap(as_distance(distance).epistemic(Q.plain()))
