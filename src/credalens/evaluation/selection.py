"""Rejection curves of data that does not fit in memory, by radix selection instead of sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from credalens import _validation
from credalens._backend import Array
from credalens.evaluation.bootstrap import BootstrapResult, make_result, metric_ranks
from credalens.evaluation.rejection import RejectionCurve

#: A block of rows: whether each prediction is correct, and the sort keys of the score, most
#: significant first: one array, or the lower and the upper ends of an interval.
ScoredBlock = tuple[Array, Sequence[Array]]
#: Bits of a sort key that one pass over the rows examines.
DIGIT = 16


def streamed_quality(
    blocks: Callable[[], Iterable[ScoredBlock]], n: int, n_bins: int = 30, ties: str = "average"
) -> BootstrapResult:
    """Return what `bootstrap` returns without resamples, reading the n rows block by block.

    `blocks` returns an iterable over all rows, in blocks and in their original order, at each call.
    Curve, AUC, monotonicity ratio and accuracies are bitwise equal to those of `bootstrap`; the
    other metrics, which need all scores at once, and the ends of the intervals are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> score = np.linspace(0, 1, 100)
    >>> halves = [(score[i : i + 50] < 0.9, [score[i : i + 50]]) for i in (0, 50)]
    >>> streamed_quality(lambda: halves, 100).accuracy_at[:, 0].round(3).tolist()
    [0.9, 1.0, 1.0, 1.0]
    """
    ranks = metric_ranks(n, n_bins)
    accuracy = right_among_last(blocks, ranks.tolist(), ties) / (n - ranks)
    curve = RejectionCurve(np.arange(n_bins) / n_bins, accuracy[:n_bins])
    return make_result(curve, accuracy[n_bins:])


def right_among_last(
    blocks: Callable[[], Iterable[ScoredBlock]], ranks: Sequence[int], ties: str = "average"
) -> Array:
    """Return how many rows are correct after the first ones in `rejection_order`.

    For each rank r below the number of rows, the first r are the most uncertain ones. Of equal
    scores, these are the first in the original order for ``ties="first"``, and for
    ``ties="average"`` the result is the expectation over random orders. `blocks` is as in
    `streamed_quality`.

    Most-significant-digit radix selection. Scores are mapped to unsigned integers of the same
    order. A pass over the rows counts rows and correct rows by the first `DIGIT` bits, which gives
    the bin of every rank; the next pass counts the rows of these bins by the next bits. Single
    precision needs two passes, double precision four, intervals twice as many. The last bins have
    the rows that are equal to the row at a rank; for ``ties="first"`` one more pass counts the
    first of them. All counts are exact integers, so the result does not depend on the block size.
    Memory: one block, and ``2**DIGIT`` pairs of counts per rank.

    Examples
    --------
    >>> import numpy as np
    >>> correct = np.array([True, False, True, True])
    >>> score = np.array([0.1, 0.9, 0.9, 0.5])
    >>> right_among_last(lambda: [(correct, [score])], [0, 1, 2, 3], ties="first")
    array([3., 3., 2., 1.])
    >>> right_among_last(lambda: [(correct, [score])], [0, 1, 2, 3])
    array([3. , 2.5, 2. , 1. ])
    """
    wanted = np.asarray(ranks, dtype=np.int64)
    total, digits = 0, 0
    #: For each rank: the known digits of the row there, and the counts before and of the rows with
    #: these: rows, correct rows.
    known: list[tuple[int, ...]] = [()] * len(wanted)
    before, equal = np.zeros((2, 2, len(wanted)), np.int64)
    while True:
        bins = sorted(set(known))
        counts = np.zeros((2, len(bins), 1 << DIGIT), np.int64)
        for correct, columns in _digits(blocks()):
            digits = columns.shape[0]
            if len(known[0]) == digits:
                break
            _count(counts, correct, columns, bins)
        if len(known[0]) == digits:
            break
        ends = np.cumsum(counts, axis=2)
        total = total or int(ends[1, 0, -1])
        for i, prefix in enumerate(known):
            at = bins.index(prefix)
            bin_ = int(np.searchsorted(ends[0, at], wanted[i] - before[0, i], side="right"))
            if bin_:
                before[:, i] += ends[:, at, bin_ - 1]
            equal[:, i] = counts[:, at, bin_]
            known[i] = (*prefix, bin_)
    rejected = wanted - before[0]  # of the rows that are equal to the row at the rank
    if ties == "first":
        return np.asarray(total - before[1] - _first_ties(blocks, known, rejected), np.float64)
    # Summed like `RiskCoverage.quality_at`, from the rows that are less uncertain.
    after = total - before[1] - equal[1]
    return np.asarray(after + (equal[0] - rejected) * equal[1] / equal[0])


def _count(counts: Array, correct: Array, columns: Array, bins: list[tuple[int, ...]]) -> None:
    """Add the rows of a block to the counts of the bins given by their first digits."""
    depth = len(bins[0])
    for i, prefix in enumerate(bins):
        inside = _matching(columns, prefix)
        digit = columns[depth][inside]
        counts[0, i] += np.bincount(digit, minlength=1 << DIGIT)
        counts[1, i] += np.bincount(digit[correct[inside]], minlength=1 << DIGIT)


def _matching(columns: Array, prefix: tuple[int, ...]) -> Any:
    """Return the rows whose first digits are `prefix`."""
    if not prefix:
        return slice(None)
    rows = np.flatnonzero(columns[0] == prefix[0])
    for column, digit in zip(columns[1:], prefix[1:], strict=False):
        rows = rows[column[rows] == digit]
    return rows


def _first_ties(
    blocks: Callable[[], Iterable[ScoredBlock]], known: list[tuple[int, ...]], left: Array
) -> NDArray[np.int64]:
    """Return how many of the first `left` rows with the digits `known` are correct."""
    left = left.copy()
    found = np.zeros(len(left), np.int64)
    for correct, columns in _digits(blocks()):
        if not left.any():
            break
        for i, prefix in enumerate(known):
            if left[i]:
                rows = _matching(columns, prefix)[: left[i]]
                found[i] += np.count_nonzero(correct[rows])
                left[i] -= len(rows)
    return found


def _digits(blocks: Iterable[ScoredBlock]) -> Iterator[tuple[Array, Array]]:
    """Yield correctness and the score digits ``(n_digits, n_rows)`` of each block."""
    for correct, keys in blocks:
        columns = [column for key in keys for column in _split(key)]
        yield np.asarray(correct, bool), np.stack(columns)


def _split(score: Array) -> list[Array]:
    """Return 16-bit digits, most significant first, that sort in descending order of the score."""
    score = np.asarray(score)
    if score.dtype not in (np.float32, np.float64):
        score = score.astype(np.float64)
    if np.isnan(score).any():
        _validation.raise_invalid("score", "has NaN", "pass a score for every instance")
    # Negated for descending order; adding zero maps -0.0 to 0.0.
    bits = (-score + score.dtype.type(0)).view(f"u{score.dtype.itemsize}")
    sign = bits.dtype.type(1) << (8 * bits.dtype.itemsize - 1)
    # IEEE 754 bits as unsigned integers: negative floats sort last and in reverse.
    bits = np.where(bits & sign, ~bits, bits | sign)
    pieces = bits.reshape(-1, 1).view(np.uint16)
    order = slice(None, None, -1) if np.little_endian else slice(None)
    return list(pieces.T[order])
