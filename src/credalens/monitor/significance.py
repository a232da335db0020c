"""Exact tests of whether two samples have the same distribution, from counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens._backend import Array

#: Number of rows of both samples up to which the permutation distribution is computed.
EXACT_ROWS = 5000
#: Terms of a tail that are summed at once.
_TERMS = 4096


def distribution_distance(first: Any, second: Any) -> float:
    """Return the largest difference of two distribution functions.

    Parameters
    ----------
    first, second : array-like of int, shape (values,)
        How often each value occurs in each sample, in increasing order of the values.
    """
    counts = np.asarray(first, np.int64), np.asarray(second, np.int64)
    shares = (np.cumsum(one) / one.sum() for one in counts)
    return float(np.abs(np.subtract(*shares)).max())


def distribution_pvalue(first: Any, second: Any) -> float:
    """Return the p-value of the largest difference of two distribution functions.

    Parameters
    ----------
    first, second : array-like of int, shape (values,)
        How often each value occurs in each sample, in increasing order of the values.

    Returns
    -------
    float
        Share of the permutations of the rows over the samples in which the difference is at least
        as large: exact, for any ties, if both samples together have at most `EXACT_ROWS` rows.
        Beyond, ``2 exp(-2 D**2 n m / (n + m))``, the leading term of the limiting distribution,
        which is an upper bound of it, the more so if there are ties.

    Notes
    -----
    The exact value is that of the two-sample Kolmogorov-Smirnov test conditional on the pooled
    values. A permutation is a path on a lattice, and the probability of those that leave the
    region of smaller differences is summed where they leave it, so that small values do not
    suffer from cancellation. It costs O((n + m) w) if the region is w wide.

    References
    ----------
    J. Hodges, "The significance probability of the Smirnov two-sample test", Arkiv for Matematik
    3, 1958. F. Wei, R. Dudley, "Two-sample Dvoretzky-Kiefer-Wolfowitz inequalities", Statistics
    and Probability Letters 82, 2012.

    Examples
    --------
    >>> distribution_pvalue([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1])  # 2 of 20 permutations
    0.1
    """
    first, second = np.asarray(first, np.int64), np.asarray(second, np.int64)
    n, m = int(first.sum()), int(second.sum())
    if n + m > EXACT_ROWS:
        distance = distribution_distance(first, second)
        return float(min(1.0, 2 * math.exp(-2 * distance**2 * (n / (n + m)) * m)))
    # Differences are multiples of 1 / (n m).
    largest = int(np.abs(np.cumsum(first) * m - np.cumsum(second) * n).max())
    if largest == 0:
        return 1.0
    return min(1.0, _leaving_probability(first + second, n, m, largest))


def _leaving_probability(pooled: NDArray[np.int64], n: int, m: int, largest: int) -> float:
    """Return the probability that a random path reaches a difference of `largest` / (n m)."""
    total, seen, low = n + m, 0, 0
    # Probability of each number of rows of the first sample, from `low` on, among those seen.
    mass = np.ones(1)
    left = 0.0
    for block in pooled.tolist():
        for _ in range(block):
            from_first = np.arange(low, low + len(mass))
            up = mass * (n - from_first) / (total - seen)
            mass = np.append(mass * (m - (seen - from_first)) / (total - seen), 0.0)
            mass[1:] += up
            seen += 1
        from_first = np.arange(low, low + len(mass))
        # Paths with more rows of a sample than it has have probability 0.
        outside = np.abs(from_first * total - seen * n) >= largest
        left += float(mass[outside].sum())
        inside = np.flatnonzero(~outside)
        if not len(inside):
            return left
        mass, low = mass[inside[0] : inside[-1] + 1], low + int(inside[0])
    return left


def hypergeometric_pvalue(hits: int, draws: int, other_hits: int, other_draws: int) -> float:
    """Return the p-value of the difference of two proportions, exact for any sample sizes.

    Parameters
    ----------
    hits, draws : int
        Number of hits, and of rows, of the first sample.
    other_hits, other_draws : int
        Those of the second sample.

    Returns
    -------
    float
        Twice the smaller one-sided p-value of Fisher's exact test, at most 1.

    Examples
    --------
    >>> round(hypergeometric_pvalue(3, 3, 0, 3), 3)
    0.1
    """
    total, marked = draws + other_draws, hits + other_hits
    return min(
        1.0,
        2
        * min(
            _upper_tail(hits, total, marked, draws),
            _upper_tail(draws - hits, total, total - marked, draws),
        ),
    )


def _upper_tail(x: int, total: int, marked: int, draws: int) -> float:
    """Return the probability of at least `x` marked ones among `draws` of `total`."""
    from scipy.special import gammaln

    low, high = max(0, draws + marked - total), min(draws, marked)
    if x <= low:
        return 1.0
    if x > high:
        return 0.0

    def choose(n: int, k: int) -> float:
        return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

    rest = total - marked
    term = math.exp(choose(marked, x) + choose(rest, draws - x) - choose(total, draws))
    found = term
    while x < high and term > 1e-17 * found:
        j = np.arange(x, min(x + _TERMS, high), dtype=np.float64)
        ratios = (marked - j) / (j + 1) * (draws - j) / (rest - draws + j + 1)
        terms = term * np.cumprod(ratios)
        found += float(terms.sum())
        term, x = float(terms[-1]), x + len(j)
    return min(1.0, found)


def category_pvalue(first: Any, second: Any) -> float:
    """Return the p-value of the difference of the frequencies of categories.

    Parameters
    ----------
    first, second : array-like of int, shape (categories,)
        How often each category occurs in each sample.

    Returns
    -------
    float
        The smallest `hypergeometric_pvalue` of a category, times their number, at most 1: exact
        tests with Bonferroni's correction, for any number of rows.

    Examples
    --------
    >>> round(category_pvalue([50, 30, 20], [20, 30, 50]), 5)
    4e-05
    """
    first, second = np.asarray(first, np.int64), np.asarray(second, np.int64)
    n, m = int(first.sum()), int(second.sum())
    each = [
        hypergeometric_pvalue(a, n, b, m)
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
        if a or b
    ]
    # The second of two categories is the complement of the first.
    return min(1.0, (1 if len(each) == 2 else len(each)) * min(each, default=1.0))


def holm(pvalues: Any) -> Array:
    """Return p-values that are corrected for their number by the method of Holm.

    Parameters
    ----------
    pvalues : array-like of float, shape (n,)

    Returns
    -------
    array of float, shape (n,)
        Rejecting those that are at most a level has a probability of at most this level of
        rejecting a true hypothesis, however the tests depend on each other.

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6, 1979.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = np.asarray(pvalues, np.float64)
    order = np.argsort(given, kind="stable")
    factors = len(given) - np.arange(len(given))
    corrected = np.empty(len(given))
    corrected[order] = np.minimum(1, np.maximum.accumulate(factors * given[order]))
    return corrected
