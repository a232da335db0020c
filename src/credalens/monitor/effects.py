"""How far two samples differ, in which direction, with bootstrap intervals, from counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens._backend import Array
from credalens.monitor.significance import distribution_distance

#: Values are merged into about this many blocks of equal size for the resamples.
BLOCKS = 100


@dataclass(frozen=True)
class Effect:
    """The difference of the distributions of two samples.

    Intervals are arrays of the estimate and of both ends.
    """

    #: Largest difference of the distribution functions: no threshold on the column changes the
    #: share of rows below it by more.
    distance: float
    #: Probability that a new row is larger than a reference row, plus half of that of a tie.
    superiority: Array
    #: Mean of the new rows minus that of the reference rows.
    mean_difference: Array
    mean_reference: float
    mean_new: float

    @property
    def direction(self) -> str:
        """``"higher"`` or ``"lower"`` if the interval of the superiority excludes 1/2, else ""."""
        _, low, high = self.superiority
        return "higher" if low > 0.5 else "lower" if high < 0.5 else ""


def effect(
    values: Any,
    reference: Any,
    new: Any,
    *,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Effect:
    """Return the difference of two samples of the same values.

    Parameters
    ----------
    values : array-like of shape (values,)
        The values that occur, in increasing order.
    reference, new : array-like of int, shape (values,)
        How often each occurs in the two samples, each of which has at least one row.
    n_resamples : int, default=1000
        Number of bootstrap resamples of the rows of both samples.
    confidence : float, default=0.95
        Confidence level of the percentile intervals.
    rng : numpy.random.Generator, optional
        Draws the resamples.

    Returns
    -------
    Effect

    Notes
    -----
    A resample draws the numbers of rows of blocks of neighbouring values. Within a block, rows of a
    resample have the mean of the block, and half of the pairs are taken as larger: exact if there
    are at most `BLOCKS` values. The cost of a resample does not depend on the number of rows.

    Examples
    --------
    >>> found = effect([0.0, 1.0], [60, 40], [40, 60], rng=np.random.default_rng(0))
    >>> round(found.distance, 3), found.superiority.round(2).tolist(), found.direction
    (0.2, [0.6, 0.54, 0.67], 'higher')
    """
    x = np.asarray(values, np.float64)
    a, b = np.asarray(reference, np.int64), np.asarray(new, np.int64)
    rng = np.random.default_rng(0) if rng is None else rng
    with np.errstate(invalid="ignore"):  # of both infinities
        means = float(_weighted_means(a, x)), float(_weighted_means(b, x))
    blocks = [_merged(x, counts, _starts(a + b)) for counts in (a, b)]
    draws = [_resampled(counts, n_resamples, rng) for counts, _ in blocks]
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    ends = np.quantile(_superiority(draws[0], draws[1]), tails)
    with np.errstate(invalid="ignore"):  # infinite values
        drawn = [_weighted_means(d, m) for d, (_, m) in zip(draws, blocks, strict=True)]
        differences = drawn[1] - drawn[0]
        mean_ends = np.quantile(differences, tails)
    return Effect(
        distribution_distance(a, b),
        np.array([float(_superiority(a[None], b[None])[0]), *ends]),
        np.array([means[1] - means[0], *mean_ends]),
        *means,
    )


def share_difference(
    hits: int,
    total: int,
    new_hits: int,
    new_total: int,
    *,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Array:
    """Return the difference of two shares, new minus reference, with a bootstrap interval."""
    rng = np.random.default_rng(0) if rng is None else rng
    shares = hits / total, new_hits / new_total
    drawn = (
        rng.binomial(new_total, shares[1], n_resamples) / new_total
        - rng.binomial(total, shares[0], n_resamples) / total
    )
    ends = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return np.array([shares[1] - shares[0], *ends])


def _weighted_means(counts: Any, values: Array) -> Any:
    """Return means of values ``(n,)`` that occur `counts` ``(..., n)`` times."""
    return np.where(counts > 0, counts * values, 0.0).sum(axis=-1) / counts.sum(axis=-1)


def _starts(pooled: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the first value of each block."""
    if len(pooled) <= BLOCKS:
        return np.arange(len(pooled))
    middle = np.cumsum(pooled) - pooled / 2
    return np.flatnonzero(np.diff(np.floor(BLOCKS * middle / pooled.sum()), prepend=-1))


def _merged(
    values: Array, counts: NDArray[np.int64], starts: NDArray[np.intp]
) -> tuple[NDArray[np.int64], Array]:
    """Return the rows of each block and their mean."""
    rows = np.add.reduceat(counts, starts)
    # Blocks without rows of this sample are never drawn.
    sums = np.add.reduceat(
        np.where(counts > 0, counts * np.where(counts > 0, values, 0), 0), starts
    )
    return rows, sums / np.maximum(rows, 1)


def _resampled(counts: NDArray[np.int64], n_resamples: int, rng: np.random.Generator) -> Array:
    """Return the numbers of rows of each block in resamples, ``(n_resamples, blocks)``."""
    total = int(counts.sum())
    return np.asarray(rng.multinomial(total, counts / total, n_resamples), np.float64)


def _superiority(a: Any, b: Any) -> Array:
    """Return the share of pairs in which the second is larger, ties counted half."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    below = np.cumsum(a, axis=-1) - a / 2
    return np.asarray((b * below).sum(axis=-1) / (a.sum(axis=-1) * b.sum(axis=-1)))
