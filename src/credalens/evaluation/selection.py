"""Rejection curves of more rows than memory holds: exact counts, without sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._arrays import Array
from credalens.evaluation.bootstrap import REJECTED, ScoreQuality
from credalens.evaluation.rejection import RejectionCurve

#: A block of rows: whether each was right, and the ends of its score, most important first. A
#: score has one end, an interval its lower and its upper end.
ScoredBlock = tuple[Array, Sequence[Array]]
#: Bits of a score that are looked at in one pass over the rows.
DIGIT = 16


def streamed_quality(
    blocks: Callable[[], Iterable[ScoredBlock]], n: int, n_bins: int = 30
) -> ScoreQuality:
    """Return what `score_quality` returns without resamples, from rows that stay where they are.

    Parameters
    ----------
    blocks : callable
        Gives all rows, block by block, in their original order, each time it is called.
    n : int
        Number of rows.
    n_bins : int, default=30
        Points on the curve.

    Returns
    -------
    ScoreQuality
        Bit for bit that of `score_quality`; the ends of the intervals are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> score = np.linspace(0, 1, 100)
    >>> halves = [(score[i : i + 50] < 0.9, [score[i : i + 50]]) for i in (0, 50)]
    >>> streamed_quality(lambda: halves, 100).accuracy_at[:, 0].round(3).tolist()
    [0.9, 1.0, 1.0, 1.0]
    """
    rejected = [b * n // n_bins for b in range(n_bins)]
    shares = [round(100 * share) * n // 100 for share in REJECTED]
    ranks = np.array([*rejected, *shares])
    right = right_among_first(blocks, [*ranks.tolist(), n])
    accuracy = (right[-1] - right[:-1]) / (n - ranks)
    curve = RejectionCurve(np.arange(n_bins) / n_bins, accuracy[:n_bins])
    values = np.array([curve.auc, curve.monotonicity_ratio, *accuracy[n_bins:]])
    told = np.stack([values, *2 * [np.full(len(values), np.nan)]], axis=1)
    return ScoreQuality(curve, told[0], told[1], told[2:])


def right_among_first(
    blocks: Callable[[], Iterable[ScoredBlock]], ranks: Sequence[int]
) -> NDArray[np.int64]:
    """Return how many of the first rows in `rejection_order` are right.

    Parameters
    ----------
    blocks : callable
        Gives all rows, block by block, in their original order, each time it is called.
    ranks : sequence of int
        For each r, the first r rows of the order are counted: the most uncertain ones, equal scores
        in their original order.

    Returns
    -------
    array of int, shape (len(ranks),)

    Notes
    -----
    A selection by digits, as in a radix sort, but nothing is moved. Scores are read as integers
    that have the same order. A pass over the rows counts them, and those that are right, by the
    first `DIGIT` bits, which tells for every rank in which bin it falls; the next pass counts the
    rows of these bins by the next bits, and so on: two passes for single and four for double
    precision, twice as many for intervals. A last pass counts among rows that are equal to the row
    at a rank, in their order. All counts are exact, so that the result does not depend on how the
    rows are cut. Memory: one block, and ``2**DIGIT`` pairs of counts a rank.

    Examples
    --------
    >>> import numpy as np
    >>> right = np.array([True, False, True, True])
    >>> score = np.array([0.1, 0.9, 0.9, 0.5])
    >>> right_among_first(lambda: [(right, [score])], [1, 2, 3])
    array([0, 1, 2])
    """
    wanted = np.asarray(ranks, dtype=np.int64)
    digits = 0
    #: Of each rank: the digits known of the row there, and what lies before all rows with these.
    known: list[tuple[int, ...]] = [()] * len(wanted)
    before = np.zeros((2, len(wanted)), np.int64)  # rows, right rows
    while True:
        bins = sorted(set(known))
        counts = np.zeros((2, len(bins), 1 << DIGIT), np.int64)
        for hits, columns in _digits(blocks()):
            digits = columns.shape[0]
            if len(known[0]) == digits:
                break
            _count(counts, hits, columns, bins)
        if len(known[0]) == digits:
            break
        ends = np.cumsum(counts, axis=2)
        for i, prefix in enumerate(known):
            at = bins.index(prefix)
            rank = wanted[i] - before[0, i]
            # The bin that holds the row at the rank, the last one where all rows come before it.
            bin_ = min(int(np.searchsorted(ends[0, at], rank, side="right")), (1 << DIGIT) - 1)
            if bin_:
                before[:, i] += ends[:, at, bin_ - 1]
            known[i] = (*prefix, bin_)
    right: NDArray[np.int64] = before[1] + _ties(blocks, known, wanted - before[0])
    return right


def _count(counts: Array, right: Array, columns: Array, bins: list[tuple[int, ...]]) -> None:
    """Add the rows of a block to the counts of the bins that their first digits belong to."""
    depth = len(bins[0])
    for i, prefix in enumerate(bins):
        inside = _matching(columns, prefix)
        digit, hits = columns[depth][inside], right[inside]
        counts[0, i] += np.bincount(digit, minlength=1 << DIGIT)
        counts[1, i] += np.bincount(digit[hits], minlength=1 << DIGIT)


def _matching(columns: Array, prefix: tuple[int, ...]) -> Any:
    """Return which rows begin with these digits."""
    if not prefix:
        return slice(None)
    rows = np.flatnonzero(columns[0] == prefix[0])
    for column, digit in zip(columns[1:], prefix[1:], strict=False):
        rows = rows[column[rows] == digit]
    return rows


def _ties(
    blocks: Callable[[], Iterable[ScoredBlock]], known: list[tuple[int, ...]], left: Array
) -> NDArray[np.int64]:
    """Return how many of the first `left` rows with the digits `known` are right."""
    left = left.copy()
    found = np.zeros(len(left), np.int64)
    for right, columns in _digits(blocks()):
        if not left.any():
            break
        for i, prefix in enumerate(known):
            if left[i]:
                rows = _matching(columns, prefix)[: left[i]]
                found[i] += np.count_nonzero(right[rows])
                left[i] -= len(rows)
    return found


def _digits(blocks: Iterable[ScoredBlock]) -> Iterator[tuple[Array, Array]]:
    """Yield what was right and the scores as digits ``(d, r)``, larger scores first."""
    for right, ends in blocks:
        columns = [column for end in ends for column in _split(end)]
        yield np.asarray(right, bool), np.stack(columns)


def _split(score: Array) -> list[Array]:
    score = np.asarray(score)
    if score.dtype not in (np.float32, np.float64):
        score = score.astype(np.float64)
    if np.isnan(score).any():
        _validation.refuse("score", "has NaN", "give every instance a score")
    # Negated, so that larger scores come first; adding zero makes -0.0 and 0.0 the same.
    bits = (-score + score.dtype.type(0)).view(f"u{score.dtype.itemsize}")
    top = bits.dtype.type(1) << (8 * bits.dtype.itemsize - 1)
    # Read as integers, negative numbers come after positive ones and in the wrong order.
    bits = np.where(bits & top, ~bits, bits | top)
    pieces = bits.reshape(-1, 1).view(np.uint16)
    order = slice(None, None, -1) if np.little_endian else slice(None)
    return list(pieces.T[order])
