"""Imprecision of the lower and upper probability that a credal set induces."""

from __future__ import annotations

from typing import Any

from credalens._arrays import namespace
from credalens.distances import as_distance
from credalens.measures.distance import warn_of_error
from credalens.sets.anywhere import anywhere


@anywhere
def maximum_mean_imprecision(Q: Any, distance: Any = "tv", *, return_error: bool = False) -> Any:
    """Return the largest difference of upper and lower Choquet integrals over the test functions.

    ``MMI = max over f of (int f d upper - int f d lower)``, the integrals being Choquet's with
    respect to the upper and lower probability of the set.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.
    distance : str or distance, default="tv"
        Its test functions are taken; see `total_uncertainty`.
    return_error : bool, default=False
        Also return how far below the maximum each value may lie, ``(...)``.

    Returns
    -------
    array of shape (...), or (array, array)
        For total variation and Kolmogorov the diameter, twice the epistemic uncertainty. For finite
        classes of test functions the largest over these. For Wasserstein and MMD, where it can
        exceed the diameter, the maximum over all pieces on which the integrals are linear, for up
        to 7 classes; beyond, the diameter, with the distance to a certified upper bound as error. A
        `RuntimeWarning` says if an error above 1e-6 is left that was not asked for.

    Raises
    ------
    ValueError
        If a cost is not symmetric or breaks the triangle inequality.

    Notes
    -----
    Never less than twice the epistemic uncertainty, and equal to it if the lower probability is
    2-monotone and the set holds all distributions above it, as boxes and neighbourhoods do; a hull
    holds fewer, as a rule. The pieces depend on the distance alone: they are listed once, and an
    instance costs ``O(2^K (M + F))`` with about 12 000 pieces F for Wasserstein, 24 000 for MMD, at
    K = 7.

    References
    ----------
    González-García et al. (2026), Proposition 4.6 and Corollary 4.10; Chau et al. (2025), "Integral
    imprecise probability metrics".

    Examples
    --------
    >>> import credalens as cl
    >>> members = [[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]]
    >>> round(float(cl.maximum_mean_imprecision(members)), 3)
    0.2
    >>> round(float(cl.maximum_mean_imprecision(members, "ordinal")), 3)
    0.2
    """
    value, error = as_distance(distance, Q.n_classes).imprecision(Q.plain())
    if return_error:
        return Q.answer(value), Q.answer(error)
    warn_of_error(error, "maximum mean imprecision")
    return Q.answer(value)


@anywhere
def imprecision_bound(Q: Any) -> Any:
    """Return ``1 - sum of the lower probabilities of the classes``, at least the MMI under TV.

    Parameters
    ----------
    Q : credal set, or array-like of shape (..., M, K)
        An array stands for the convex hulls of its M rows.

    Returns
    -------
    array of shape (...)
        In O(M K), where the exact value takes all pairs of members.

    References
    ----------
    Chau et al. (2025), "Integral imprecise probability metrics".

    Examples
    --------
    >>> import credalens as cl
    >>> round(float(cl.imprecision_bound([[0.7, 0.2, 0.1], [0.5, 0.4, 0.1]])), 3)
    0.2
    """
    certain = Q.plain().lower_sum()
    # Precise rows may sum to a little more than 1.
    return Q.answer(namespace(certain).clip(1.0 - certain, 0.0, None))
