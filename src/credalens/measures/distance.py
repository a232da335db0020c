"""The paper's measures: total, aleatoric and epistemic uncertainty by distances."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from credalens._arrays import Array
from credalens._arrays.host import glimpse
from credalens.distances import as_distance
from credalens.measures.interval import Interval
from credalens.sets.anywhere import anywhere
from credalens.sets.members import tv_of_array

#: Certified errors up to this need no word.
CERTIFIED = 1e-6


def _total(members: Array) -> Any:
    found = tv_of_array(members, ((), None, None, None, None))
    return found and found[0]


def _aleatoric(members: Array) -> Any:
    found = tv_of_array(members, ((), (), (), None, ()))
    if found is None:
        return None
    _, lower, upper, _, error = found
    warn_of_error(error, "aleatoric uncertainty")
    return Interval(lower, upper)


def _epistemic(members: Array) -> Any:
    found = tv_of_array(members, (None, None, None, (), None))
    return found and found[3]


@partial(anywhere, directly=_total)
def total_uncertainty(Q: Any, distance: Any = "tv") -> Any:
    """Return the distance of the set from full certainty, ``min_y max_{p in Q} d(p, delta_y)``.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or distance, default="tv"
        The geometry on distributions: a distance, or its name (`credalens.distances.as_distance`),
        say ``"tv"``, or ``"ordinal"`` (Wasserstein on 0, ..., K-1).

    Returns
    -------
    array of shape (...)
        For total variation ``1 - max_y lower({y})``, in O(M K). Exact for every distance: it is
        convex in p, so that the largest is at a corner of the set.

    References
    ----------
    González-García et al. (2026), equation (1) and Proposition 4.7.

    Examples
    --------
    >>> import credalens as cl
    >>> cl.total_uncertainty([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])
    np.float64(0.5)

    On ordered classes it matters how far off a decision can be:

    >>> round(float(cl.total_uncertainty([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]], "ordinal")), 3)
    0.6
    """
    return Q.origin.wrap(as_distance(distance, Q.n_classes).total(Q.plain()))


@partial(anywhere, directly=_aleatoric)
def aleatoric_uncertainty(Q: Any, distance: Any = "tv", *, return_error: bool = False) -> Any:
    """Return the interval of ``min_y d(p, delta_y)``, p in the set.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or distance, default="tv"
        The geometry on distributions; see `total_uncertainty`.
    return_error : bool, default=False
        Also return the certified error of the ends, ``(...)``: the larger of how far the lower
        end may lie above the smallest value and the upper end below the largest.

    Returns
    -------
    Interval, or (Interval, array)
        Both ends are attained by members of the set, not only by its generators: where the
        generators disagree on the most probable class, the upper end is the value of a matrix
        game, found by an exact simplex method for each instance on its own. For MMD and finite
        classes of test functions the upper end is not a convex problem and comes from branch and
        bound; a `RuntimeWarning` says if an error above 1e-6 is left that was not asked for.

    References
    ----------
    González-García et al. (2026), equation (3), Propositions 4.7 and 4.9, and Algorithm 4.

    Examples
    --------
    Two members that are sure of different classes leave room for a fair coin between them:

    >>> import credalens as cl
    >>> cl.aleatoric_uncertainty([[0.9, 0.1], [0.2, 0.8]]).upper
    np.float64(0.5)
    """
    lower, upper, error = as_distance(distance, Q.n_classes).aleatoric(Q.plain())
    wrap = Q.origin.wrap
    interval = Interval(wrap(lower), wrap(upper))
    if return_error:
        return interval, wrap(error)
    warn_of_error(error, "aleatoric uncertainty")
    return interval


@partial(anywhere, directly=_epistemic)
def epistemic_uncertainty(Q: Any, distance: Any = "tv", *, return_error: bool = False) -> Any:
    """Return half the diameter of the set, ``max_{p, q in Q} d(p, q) / 2``.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or distance, default="tv"
        The geometry on distributions; see `total_uncertainty`.
    return_error : bool, default=False
        Also return how far below the maximum each value may lie, ``(...)``: 0 for hulls.

    Returns
    -------
    array of shape (...), or (array, array)
        For hulls half the largest distance between two members, in O(M^2 K); with total variation
        in O(M 2^K) where that is less, and in less than M^2 pairs for many members close together.
        For probability intervals over more than 40 classes it may be known only between bounds:
        then the lower one, with its error.

    Raises
    ------
    ValueError
        If a cost is not symmetric or breaks the triangle inequality, or if only bounds are known
        and the error was not asked for.

    References
    ----------
    González-García et al. (2026), equation (4) and Proposition 4.7.

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.epistemic_uncertainty([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])), 3)
    0.1
    """
    geometry = as_distance(distance, Q.n_classes)
    if not return_error:
        return Q.origin.wrap(geometry.epistemic(Q.plain()))
    lower, upper = Q.plain().diameter_bounds(geometry)
    return Q.origin.wrap(lower / 2), Q.origin.wrap((upper - lower) / 2)


def warn_of_error(error: Any, what: str) -> None:
    """Warn of instances with an error above `CERTIFIED`, which the caller did not ask for."""
    seen = error if type(error) is np.ndarray else glimpse(error)
    if seen is None:  # traced: nobody knows yet
        return
    if seen.size == 1 and seen.item() <= CERTIFIED:  # without what it takes to begin a loop
        return
    count = int(np.count_nonzero(seen > CERTIFIED))
    if count:
        warnings.warn(
            f"{what}: {count} of {seen.size} instances are certified only to "
            f"{float(np.max(seen)):.3g}; pass return_error=True for the error of each",
            RuntimeWarning,
            stacklevel=4,
        )
